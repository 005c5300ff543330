"""What is known before pairs are chosen: items, their groups, and earlier answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.pairs.strata import Floats, Ints, PairKind, pair_keys
from comparity.ranking.judgments import Judgments
from comparity.tables.values import check_lengths, cross_attributes, group_codes

ONE_GROUP = "items"
"""What all items are called where no groups are given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """What is known before pairs are chosen.

    Attributes
    ----------
    items : ndarray
        Names of the items.
    codes, groups
        The group of each item, and what groups are called.
    scores : ndarray or None
        Of the model that a test of gaps is about.
    given : Judgments or None
        Earlier answers.
    """

    items: NDArray[Any]
    codes: Ints
    groups: list[str]
    scores: Floats | None
    given: Judgments | None

    @property
    def n_items(self) -> int:
        """How many items there are, judged or not."""
        return len(self.items)

    @property
    def first(self) -> Ints:
        """The better item of each earlier answer."""
        return np.zeros(0, np.int64) if self.given is None else self.given.better.astype(np.int64)

    @property
    def second(self) -> Ints:
        """The worse item of each earlier answer."""
        return np.zeros(0, np.int64) if self.given is None else self.given.worse.astype(np.int64)

    @property
    def uses(self) -> Ints:
        """How often each item was judged."""
        both = np.concatenate([self.first, self.second])
        return np.bincount(both, minlength=self.n_items)

    @property
    def seen(self) -> Ints:
        """The pairs judged so far."""
        return pair_keys(self.first, self.second, self.n_items)

    def kinds_seen(self, kinds: Sequence[PairKind]) -> Ints:
        """Return the kind of each judgment that is there; the number of kinds for no kind."""
        code = kind_table(kinds, self.codes, len(self.groups))
        return code[self.codes[self.first], self.codes[self.second]]


def kind_table(kinds: Sequence[PairKind], codes: Ints, n_groups: int) -> Ints:
    """Return the kind of a pair by the groups of its items; the number of kinds for no kind."""
    table = np.full((n_groups, n_groups), len(kinds))
    for place, kind in enumerate(kinds):
        one, two = codes[kind.first[0]], codes[kind.second[0]]
        table[one, two] = table[two, one] = place
    return table


def study_of(
    names: NDArray[Any],
    features: Mapping[str, NDArray[Any]] | None,
    scores: Floats | None,
    given: Judgments | None,
) -> Study:
    """Check that what is known of items is of the same items."""
    beside = {"items": names, **(features or {})}
    check_lengths(beside if scores is None else {**beside, "scores": scores})
    if len(names) < 2:
        raise OptionError("items", len(names), ["at least two items"], "a pair has two")
    codes, groups = np.zeros(len(names), np.int64), [ONE_GROUP]
    if features is not None:
        coded = {name: group_codes(one, name, "items") for name, one in features.items()}
        *_, (codes, groups) = cross_attributes(coded, intersection=True).values()
    return Study(items=names, codes=codes, groups=groups, scores=scores, given=given)


def judge_names(given: Judgments | None, asked: int | None) -> list[str]:
    """Return who is to judge: those of earlier answers first, and new ones up to the number asked.

    Examples
    --------
    >>> judge_names(None, 2)
    ['judge 1', 'judge 2']
    """
    known = [] if given is None else [str(name) for name in given.evaluators.tolist()]
    n = (len(known) or 1) if asked is None else asked
    if n < len(known):
        why = f"{len(known)} have judged so far"
        raise OptionError("judges", n, [f"{len(known)} or more", "none, for the same ones"], why)
    fresh = (f"judge {number}" for number in range(1, n + len(known) + 1))
    return [*known, *[name for name in fresh if name not in known][: n - len(known)]]


def known_pairs(study: Study) -> set[tuple[int, int]]:
    """Return who has judged which pair."""
    if study.given is None or study.given.evaluator is None:
        return set()
    # Judges of earlier answers come first, in the order of their codes.
    return set(zip(study.given.evaluator.tolist(), study.seen.tolist(), strict=True))
