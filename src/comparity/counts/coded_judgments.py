"""Judged pairs of an engine as small numbers in memory, coded batch by batch.

DuckDB hands rows over in Arrow record batches. A judgment then takes fourteen bytes: the numbers of
both items and of who judged, and the kind of judgment. Ids that are whole numbers close together
are looked up in a table, which takes a fifth of the time of the engine's join; others are joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.counts.running_moments import HIT, MISS, TIE
from comparity.tables.coded_columns import batches_of_duckdb
from comparity.tables.frames import translate_duckdb
from comparity.tables.memory import current_limits

Ints = NDArray[np.int32]
Codes = NDArray[np.int64]

ORDERS = 3
"""The model agrees, ties or disagrees."""

ROOM = 8
"""A table for looking up may have so many places for each item."""

LARGEST_ID = 2**62
"""Whole numbers beyond this are joined: their distances have no room in 64 bits."""

MOST_NAMES = 2**17
"""So many evaluators get their numbers here; more get them by a join."""

PLACE_BITS, RANK = 27, 32
"""Bits for the number of an item where it is looked up, and from which bit on the rank of its score
stands; the profile, one of eighteen at most, is between them."""

FLAGS = ("unknown", "same", "unjudged")
"""What is wrong with a judgment: an item is not known, both are one, nobody judged."""


class ItemPlaces(NamedTuple):
    """Where items are looked up by ids that are whole numbers.

    Attributes
    ----------
    first : int
        The smallest id.
    known : ndarray of int64
        Of each id from the first on the rank of the score, the profile and the number, in one
        number so that the cache is missed once; 0 where no item has it.
    """

    first: int
    known: Codes

    @classmethod
    def of(cls, items: Mapping[str, NDArray[Any]]) -> ItemPlaces | None:
        """Make a table of items (key, place, score, profile); nothing where ids are far apart."""
        key = items["key"].astype(np.int64)
        if not 0 < len(key) < 2**PLACE_BITS:
            return None
        first, last = int(key.min()), int(key.max())
        if last - first >= ROOM * len(key) or max(-first, last) > LARGEST_ID:
            return None
        rank = np.unique(items["score"], return_inverse=True)[1].reshape(-1).astype(np.int64)
        place, profile = (items[name].astype(np.int64) for name in ("place", "profile"))
        known = np.zeros(last - first + 1, np.int64)
        known[key - first] = rank << RANK | profile << PLACE_BITS | place
        return cls(first, known)


class NumberedJudgments(NamedTuple):
    """Ordered judgments in memory.

    Attributes
    ----------
    better, worse : ndarray of int32
        Numbers of the items, from 1 on.
    judge : ndarray of int32
        Numbers of the evaluators, from 1 on; empty where they are unknown.
    kind : ndarray of int16
    judges : tuple
        The names of the evaluators.
    tally : dict of str to ndarray
        How many there are by ``kind`` and ``tied`` (1, 0, or -1 where it says neither), tied ones
        included, and with each of the `FLAGS`.
    """

    better: Ints
    worse: Ints
    judge: Ints
    kind: NDArray[np.int16]
    judges: tuple[Any, ...]
    tally: Mapping[str, Codes]

    def has_more_than(self, most: int) -> bool:
        """Return whether more judgments than that are different from each other."""
        columns = [one for one in (self.better, self.worse, self.judge, self.kind) if len(one)]
        # The first ones often settle it.
        for rows in (slice(2 * most + 2), slice(None)):
            listed = np.column_stack([one[rows] for one in columns] or [self.better])
            if len(np.unique(listed, axis=0)) > most:
                return True
        return False


def code_judgments(
    frame: nw.LazyFrame[Any], places: ItemPlaces | None, n_profiles: int, most: int
) -> NumberedJudgments | None:
    """Bring judgments to memory; nothing where they, or their evaluators, are too many.

    Parameters
    ----------
    frame : narwhals.LazyFrame
        Of DuckDB, with columns ``tied`` and perhaps ``evaluator``; besides ``better_key`` and
        ``worse_key`` if `places` is given, else ``better`` and ``worse`` (numbers, 0 where an item
        is not known) and ``kind``.
    places : ItemPlaces or None
    n_profiles : int
        Profiles of items.
    most : int
        Judgments.
    """
    coded, names = _CodedBatches(n_profiles), dict[Any, int]()
    has_judges = "evaluator" in frame.collect_schema().names()
    work = current_limits().work
    with translate_duckdb():
        for batch in batches_of_duckdb(frame.to_native()):
            work.come = coded.n + len(batch)
            judge = _number_names(batch.column("evaluator"), names) if has_judges else None
            coded.add(*_number_items(batch, places, n_profiles), _column(batch, "tied"), judge)
            if coded.n > most or len(names) > MOST_NAMES:
                return None
    work.begin(0)
    return coded.join(tuple(names))


class _CodedBatches:
    """Judgments that have come so far.

    Parameters
    ----------
    n_profiles : int
    """

    def __init__(self, n_profiles: int) -> None:
        self.n = self._kept = 0
        kinds = (np.int32, np.int32, np.int32, np.int16)
        self._columns: list[NDArray[Any]] = [np.empty(0, kind) for kind in kinds]
        self._kinds = np.zeros((ORDERS * n_profiles**2, 3), np.int64)
        self._wrong = np.zeros(len(FLAGS), np.int64)

    def add(
        self, better: Ints, worse: Ints, kind: NDArray[np.int16], tied: Ints, judge: Ints | None
    ) -> None:
        """Count judgments by kind, and keep those that are not tied."""
        who = worse if judge is None else judge
        _tally(better, worse, who, kind, tied, self._kinds, self._wrong)
        given: list[NDArray[Any]] = [better, worse, better[:0] if judge is None else judge, kind]
        ordered = tied == 0
        kept = self._kept + int(ordered.sum())
        for column, values in zip(self._columns, given, strict=True):
            if len(values):
                if kept > len(column):
                    # The system moves pages; joining arrays at the end would copy all rows.
                    column.resize(kept + kept // 4, refcheck=False)
                column[self._kept : kept] = values if ordered.all() else values[ordered]
        self._kept = kept
        self.n += len(better)

    def join(self, judges: tuple[Any, ...]) -> NumberedJudgments:
        """Return all that has come."""
        better, worse, judge, kind = (column[: self._kept] for column in self._columns)
        code, tied = np.nonzero(self._kinds)
        counts = {"kind": code, "tied": tied - 1, "n": self._kinds[code, tied]}
        wrong = {name: self._wrong[k : k + 1] for k, name in enumerate(FLAGS)}
        return NumberedJudgments(better, worse, judge, kind, judges, {**counts, **wrong})


def _column(batch: Any, name: str) -> NDArray[Any]:
    found: NDArray[Any] = batch.column(name).to_numpy(zero_copy_only=False)
    return found


def _number_names(names: Any, known: dict[Any, int]) -> Ints:
    """Return the number of each name from 1 on, 0 where it is missing; new names are added."""
    coded = names.dictionary_encode()
    numbers = [known.setdefault(name, len(known) + 1) for name in coded.dictionary.to_pylist()]
    found: Ints = np.array([*numbers, 0], np.int32)[coded.indices.fill_null(-1).to_numpy()]
    return found


def _number_items(
    batch: Any, places: ItemPlaces | None, n_profiles: int
) -> tuple[Ints, Ints, NDArray[np.int16]]:
    """Return the numbers of both items, and the kind, of each judgment of a batch."""
    if places is None:
        better, worse, kind = (_column(batch, name) for name in ("better", "worse", "kind"))
        return better.astype(np.int32), worse.astype(np.int32), kind.astype(np.int16)
    keys = (_column(batch, name) for name in ("better_key", "worse_key"))
    found: tuple[Ints, Ints, NDArray[np.int16]] = _look_up(*keys, *places, n_profiles)
    return found


@njit(cache=True, nogil=True)
def _look_up(better, worse, first, known, n_profiles):  # type: ignore[no-untyped-def]
    """Return the numbers of both items, and the kind, of each judgment."""
    one, two = np.empty(len(better), np.int32), np.empty(len(better), np.int32)
    kind = np.empty(len(better), np.int16)
    place, profile = 2**PLACE_BITS - 1, 2 ** (RANK - PLACE_BITS) - 1
    for p in range(len(better)):
        a, b = better[p] - first, worse[p] - first
        led = known[a] if 0 <= a < len(known) else 0
        lost = known[b] if 0 <= b < len(known) else 0
        one[p], two[p] = led & place, lost & place
        profiles = (led >> PLACE_BITS & profile) * n_profiles + (lost >> PLACE_BITS & profile)
        more = (led >> RANK) - (lost >> RANK)
        kind[p] = profiles * ORDERS + (HIT if more > 0 else (TIE if more == 0 else MISS))
    return one, two, kind


@njit(cache=True, nogil=True)
def _tally(better, worse, judge, kind, tied, of_kinds, wrong):  # type: ignore[no-untyped-def]
    """Count judgments by kind and by whether they are tied, and what is wrong with them."""
    for p in range(len(better)):
        of_kinds[kind[p], tied[p] + 1] += 1
        wrong[0] += better[p] == 0 or worse[p] == 0
        wrong[1] += better[p] == worse[p]
        wrong[2] += judge[p] == 0
