"""Comparisons as the rankers see them: frozen arrays of positions, checked once at the door."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import Clustering, named_clusters, read_clusters
from comparity.errors import (
    EmptyTableError,
    MissingColumnError,
    MissingValueError,
    OptionError,
    PositionError,
    SeatError,
    SelfComparisonError,
    TiesOnlyError,
    UnknownItemError,
)
from comparity.ranking.items import check_seen, code_names, item_names
from comparity.tables.coded_columns import Brought, CodedText, bring_columns
from comparity.tables.frames import collect_columns, is_frame, of_engine, open_frame
from comparity.tables.layouts import check_outcome_read
from comparity.tables.values import as_array, check_lengths, factorise, group_codes, rows_of

Ints = NDArray[np.int32]

FIRST_WORDS = ("true", "1", "first", "better", "a")
SECOND_WORDS = ("false", "-1", "second", "worse", "b")
UNKNOWN_WORDS = ("0", "unknown", "")
TRUE_WORDS = ("true", "1", "tie", "tied")
FALSE_WORDS = ("false", "0", "")
TIED = "tied"
"""The column of ties in tables of comparisons."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgments:
    """Comparisons, better item first; ties have no better item, then the order is as given.

    Attributes
    ----------
    better, worse : ndarray of int32
        Positions of the two items.
    items : ndarray
        Names of the items, by position.
    evaluator : ndarray of int32 or None
        Position of the evaluator.
    evaluators : ndarray
        Names of the evaluators, by position; empty without evaluators.
    tied : ndarray of bool or None
        Whether the comparison is a tie; ``None`` where no tie was recorded.
    seat : ndarray of int8 or None
        1 where the first item named was shown first, -1 where second, 0 where nobody knows.
    clusters : mapping of str to Clustering
        What comparisons share beside items and evaluators, by the name of one column at most.
    """

    better: Ints
    worse: Ints
    items: NDArray[Any]
    evaluator: Ints | None = None
    evaluators: NDArray[Any]
    tied: NDArray[np.bool_] | None = None
    seat: NDArray[np.int8] | None = None
    clusters: Mapping[str, Clustering] = field(default_factory=dict)

    @property
    def n_items(self) -> int:
        """How many items there are, compared or not."""
        return len(self.items)

    @property
    def n_evaluators(self) -> int:
        """How many evaluators there are."""
        return len(self.evaluators)

    @property
    def n_ties(self) -> int:
        """How many comparisons are ties."""
        return 0 if self.tied is None else int(self.tied.sum())

    @property
    def notes_on_ties(self) -> tuple[str, ...]:
        """What ties count for in models that have no place for them, where there are any."""
        return (f"{self.n_ties:,} ties count as half a win for each item.",) if self.n_ties else ()

    def __len__(self) -> int:
        return len(self.better)

    def subset(self, kept: NDArray[np.bool_]) -> Judgments:
        """Return some of the comparisons, of the same items and evaluators."""
        return replace(
            self,
            clusters={},
            better=self.better[kept],
            worse=self.worse[kept],
            evaluator=None if self.evaluator is None else self.evaluator[kept],
            tied=None if self.tied is None else self.tied[kept],
            seat=None if self.seat is None else self.seat[kept],
        )


def count_outcomes(better: Ints, worse: Ints, n_items: int) -> NDArray[np.int64]:
    """Count how often each item was put above another, and how often below one: (2, items)."""
    return np.stack([np.bincount(side, minlength=n_items) for side in (better, worse)])


def judgments_of(
    comparisons: Any,
    *,
    n_items: int | None = None,
    evaluators: Any = None,
    ties: Any = None,
    seats: Any = None,
    cluster: Any = None,
) -> Judgments:
    """Check comparisons by position, or by name, and keep them as small arrays.

    Parameters
    ----------
    comparisons : array_like (n, 2) of int, or a frame with columns ``better`` and ``worse``
        Positions of items from 0, the better one first. Where `n_items` is not given, names will
        do: items then stand in their sorted order. Judgments are returned as they are.
    n_items : int, optional
        How many items there are; one more than the largest position by default.
    evaluators : array_like or str, optional
        Who judged, for each comparison; or the name of a column of the frame.
    ties : array_like of bool or str, optional
        Which comparisons are ties; the column ``tied`` of the frame, if it has one, by default.
    seats : array_like or str, optional
        Whether the first item named was shown first: true or false, 1, -1 and 0 (unknown),
        ``"first"`` or ``"second"``.
    cluster : array_like or str, optional
        What comparisons share, such as the prompt; or the name of a column of the frame.

    Raises
    ------
    PositionError, SelfComparisonError, LengthMismatchError, MissingValueError, SeatError
        What is wrong, with the rows where it is.

    Examples
    --------
    >>> found = judgments_of([[0, 1], [2, 1]], evaluators=["ann", "bob"])
    >>> found.n_items, found.evaluators.tolist()
    (3, ['ann', 'bob'])
    """
    if isinstance(comparisons, Judgments):
        return comparisons
    ties = TIED if ties is None and _has_ties(comparisons) else ties
    pairs, (who, tied, seat, shared) = _find_pairs(comparisons, evaluators, ties, seats, cluster)
    pairs, names = code_names(pairs) if n_items is None else (pairs, None)
    better, worse, n = _check_positions(pairs, n_items)
    clusters = {cluster: shared} if isinstance(cluster, str) else named_clusters(shared)
    items = np.arange(n) if names is None else names
    return _assemble(better, worse, items, who, tied, seat, clusters)


def judgments_from_frames(
    comparisons: Any,
    items: Any = None,
    *,
    better: str = "better",
    worse: str = "worse",
    evaluator: str | None = None,
    tied: str | None = None,
    seat: str | None = None,
    item: str = "item",
    clusters: Mapping[str, str] | None = None,
) -> Judgments:
    """Check comparisons that name items by id.

    Parameters
    ----------
    comparisons : frame
        One row for each comparison.
    items : frame, or mapping of columns, optional
        One row for each item; positions then follow its rows. Without it they follow the sorted
        names of the items compared.
    better, worse, evaluator, tied, seat : str
        Columns of `comparisons`.
    item : str
        Column of `items` with the id.
    clusters : mapping of str to str, optional
        Columns of `comparisons` with what they share, by what it is called.
    """
    shared = dict(clusters or {})
    named = (evaluator, tied, seat, *shared.values())
    columns = columns_of(comparisons, "comparisons", [better, worse, *named], bring=bring_columns)
    check_outcome_read(comparisons, first=better, second=worse, read=named)
    both = _join_columns(columns[better], columns[worse])
    codes, names = factorise(both)
    n = len(codes) // 2
    for name, part in ((better, codes[:n]), (worse, codes[n:])):
        check_seen(part, names, name, "comparisons")
    if items is None:
        known = sorted(names)
    else:
        known = item_names(columns_of(items, "items", [item])[item], item)
    place = dict(zip(known, range(len(known)), strict=True))
    found = np.fromiter(map(place.get, names, repeat(-1)), np.int32, len(names))
    position = found[codes]
    for name, half in ((better, slice(0, n)), (worse, slice(n, None))):
        missing = position[half] < 0
        if missing.any():
            raise UnknownItemError(name, rows_of(missing, both[half]))
    equal = position[:n] == position[n:]
    if equal.any():
        raise SelfComparisonError(rows_of(equal, both[:n]))
    if not n:
        raise EmptyTableError("comparisons")
    first, second = position[:n], position[n:]
    who, ties, seats = (None if name is None else columns[name] for name in (evaluator, tied, seat))
    beside = {name: columns[column] for name, column in shared.items()}
    return _assemble(first, second, np.array(known, dtype=object), who, ties, seats, beside)


def _join_columns(first: Brought, second: Brought) -> Brought:
    if isinstance(first, CodedText) and isinstance(second, CodedText):
        return first.join(second)
    # Numbers and text would both become text, and 1 would not be 1.0 any more.
    if first.dtype == second.dtype and first.dtype != object:
        return np.concatenate([np.asarray(first), np.asarray(second)])
    return np.concatenate([first.astype(object), second.astype(object)])


def columns_of(
    frame: Any,
    table: str,
    names: Sequence[str | None],
    bring: Callable[[Any], Mapping[str, Any]] = collect_columns,
) -> dict[str, Any]:
    """Bring the named columns of a frame to memory, or take them from those brought already.

    A query that is asked twice may answer in another order: columns that belong together must
    be brought at once.
    """
    wanted = [name for name in dict.fromkeys(names) if name is not None]
    brought = isinstance(frame, Mapping)
    opened_frame, known = (frame, [*frame]) if brought else open_frame(frame, table)
    for name in wanted:
        if name not in known:
            raise MissingColumnError(name, table, known)
    if brought:
        return {name: np.asarray(frame[name]) for name in wanted}
    return dict(bring(opened_frame.lazy().select(*wanted)))


def _has_ties(comparisons: Any) -> bool:
    """Return whether these are a frame that has the usual column of ties."""
    native = of_engine(comparisons, "comparisons")
    return is_frame(native) and TIED in native.collect_schema().names()


def _find_pairs(comparisons: Any, *extra: Any) -> tuple[Any, list[Any]]:
    """Return positions and the columns that go with them, looked up in a frame where named."""
    if not is_frame(of_engine(comparisons, "comparisons")):
        return comparisons, list(extra)
    names = [name for name in extra if isinstance(name, str)]
    columns = columns_of(comparisons, "comparisons", ["better", "worse", *names])
    check_outcome_read(comparisons, first="better", second="worse", read=names)
    pairs = np.column_stack([columns["better"], columns["worse"]])
    return pairs, [columns[one] if isinstance(one, str) else one for one in extra]


def _check_positions(pairs: Any, n_items: int | None) -> tuple[Ints, Ints, int]:
    try:
        array = np.asarray(pairs)
    except ValueError as error:
        found = "rows of different lengths"
        raise PositionError("comparisons", "pairs of integers", found) from error
    if array.size == 0:
        raise EmptyTableError("comparisons")
    if array.ndim != 2 or array.shape[1] != 2:
        raise PositionError("comparisons", "an array of shape (n, 2)", f"shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise PositionError("comparisons", "integers", f"values of type {array.dtype}")
    # An array forgets what was masked.
    if np.ma.is_masked(pairs):
        masked = np.asarray(np.ma.getmaskarray(pairs).any(axis=1))
        raise MissingValueError("comparisons", "comparisons", rows_of(masked))
    low, high = int(array.min()), int(array.max())
    if n_items is not None and not (isinstance(n_items, int | np.integer) and n_items > 0):
        raise OptionError("n_items", n_items, ["a whole number from 1 on", "None"])
    n = high + 1 if n_items is None else int(n_items)
    if low < 0 or high >= min(n, 2**31):
        outside = np.asarray(((array < 0) | (array >= n)).any(axis=1))
        found = f"{low if low < 0 else high} in {rows_of(outside)}"
        raise PositionError("comparisons", f"positions from 0 to {n - 1}", found)
    equal = np.asarray(array[:, 0] == array[:, 1])
    if equal.any():
        raise SelfComparisonError(rows_of(equal, array[:, 0]))
    first, second = (np.ascontiguousarray(array[:, side], dtype=np.int32) for side in (0, 1))
    return first, second, n


def _assemble(
    better: Ints,
    worse: Ints,
    items: NDArray[Any],
    evaluators: Any,
    ties: Any,
    seats: Any,
    clusters: Mapping[str, NDArray[Any]],
) -> Judgments:
    evaluator, names = _code_evaluators(evaluators, len(better))
    tied = _read_ties(ties, len(better))
    if tied is not None and tied.all():
        raise TiesOnlyError(len(tied))
    if len(clusters) > 1:
        why = "errors of a ranking allow for one kind of clusters"
        raise OptionError("cluster", [*clusters], ["one of them"], why)
    return Judgments(
        better=better,
        worse=worse,
        items=items,
        evaluator=evaluator,
        evaluators=names,
        tied=tied if tied is not None and tied.any() else None,
        seat=_read_seats(seats, len(better)),
        clusters=read_clusters(clusters, table="comparisons", beside={"comparisons": better}),
    )


def _code_evaluators(evaluators: Any, n: int) -> tuple[Ints | None, NDArray[Any]]:
    if evaluators is None:
        return None, np.empty(0, dtype=object)
    array = _column(evaluators, "evaluators", n)
    if array.dtype.kind in "iu":
        return _code_integers(array)
    codes, known = group_codes(array, "evaluators", "comparisons", several=False)
    return codes.astype(np.int32), np.array(known, dtype=object)


def _code_integers(array: NDArray[np.integer]) -> tuple[Ints, NDArray[np.integer]]:
    low, high = int(array.min()), int(array.max())
    if high - low > len(array):
        names, codes = np.unique(array, return_inverse=True)
        return codes.reshape(-1).astype(np.int32), names
    # Numbers this close together are counted in a tenth of the time that sorting them takes.
    wide = array if array.dtype.kind == "u" else array.astype(np.int64, copy=False)
    places = (wide - wide.dtype.type(low)).astype(np.int64, copy=False)
    seen = np.bincount(places) > 0
    known = (np.flatnonzero(seen).astype(wide.dtype) + wide.dtype.type(low)).astype(array.dtype)
    return (np.cumsum(seen, dtype=np.int32) - 1)[places].astype(np.int32), known


def _column(values: Any, name: str, n: int) -> Any:
    if isinstance(values, CodedText):
        return values
    native = of_engine(values)
    array = as_array(native.to_numpy() if isinstance(native, nw.Series) else values, name)
    check_lengths({"comparisons": np.empty(n, np.int8), name: array})
    return array


def _read_ties(ties: Any, n: int) -> NDArray[np.bool_] | None:
    if ties is None:
        return None
    if isinstance(ties, np.ndarray) and ties.dtype == np.bool_ and ties.shape == (n,):
        return ties
    codes, words = _code_words(ties, "ties", n)
    known = [word in TRUE_WORDS for word in words]
    strange = [word for word in words if word not in (*TRUE_WORDS, *FALSE_WORDS)]
    if strange:
        from comparity.errors import NonBinaryError

        raise NonBinaryError("ties", strange, role="tie")
    return np.array(known, dtype=bool)[codes]


def _read_seats(seats: Any, n: int) -> NDArray[np.int8] | None:
    if seats is None:
        return None
    codes, words = _code_words(seats, "seats", n)
    strange = [word for word in words if word not in (*FIRST_WORDS, *SECOND_WORDS, *UNKNOWN_WORDS)]
    if strange:
        raise SeatError(strange)
    signs = [int(word in FIRST_WORDS) - int(word in SECOND_WORDS) for word in words]
    found = np.array(signs, dtype=np.int8)[codes]
    return found if found.any() else None


def _code_words(values: Any, name: str, n: int) -> tuple[NDArray[np.int64], list[str]]:
    array = _column(values, name, n)
    codes, words = factorise(array)
    if (codes < 0).any():
        raise MissingValueError(name, "comparisons", rows_of(codes < 0))
    return codes, [word.strip().lower() for word in words]
