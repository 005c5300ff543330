"""Items that stay on their engine, with all that an audit of their pairs asks for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.binned_pairs import PairSums, keep_groups
from comparity.counts.drawn_items import Draw, DrawnItems, draw_items
from comparity.counts.engine_pairs import tabulate_pairs
from comparity.counts.label_parts import code_groups
from comparity.counts.labelled_rows import LabelledRows
from comparity.counts.overlap import MOST_LEVELS, Overlap, overlap_factors
from comparity.counts.pairs import ROUNDING, Cell
from comparity.pairwise.accuracies import NO_GROUP, CountedPairs
from comparity.pairwise.options import PairwiseOptions
from comparity.tables.features import LabelledItems

Matrix = NDArray[np.float64]

RAW, STANDARDISED, NUMBERS = "raw", "standardised", "numbers"
"""Pairs as their items weigh, standardised to one distribution of labels, and each one once."""


@dataclass(frozen=True, eq=False)
class EngineItems(ABC):
    """Checked items on their engine.

    Attributes
    ----------
    rows : LabelledRows
    factors : ndarray, (labels, groups), or None
        What items are weighted by, where these are standardised.
    sample : DrawnItems or None
        What is standardised, where labels have too many values for a table of them.
    """

    rows: LabelledRows
    factors: Matrix | None = None
    sample: DrawnItems | None = None

    def __len__(self) -> int:
        counts = self.rows.counts
        if self.factors is None:
            return int(counts.sum())
        return int(counts[:, : self.rows.n_named][self.factors > 0].sum())

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, sorted."""
        return self.rows.groups[: self.rows.n_named]

    @property
    def others(self) -> tuple[str, ...]:
        """What stands for items in no group; standardised, these weigh nothing."""
        marked = len(self.rows.groups) > self.rows.n_named
        return (NO_GROUP,) if marked and self.factors is None else ()

    @property
    def n_levels(self) -> int:
        """Number of distinct labels; more than are tabulated where these are too many."""
        return len(self.rows.levels) or MOST_LEVELS + 1

    @property
    def weight(self) -> Matrix | None:
        """Sums of weights by label and group, where items weigh differently."""
        is_weighted = self.rows.is_weighted or self.factors is not None
        return self.weights[0] if is_weighted else None

    @property
    @abstractmethod
    def query(self) -> object | None:
        """Not ``None`` where items are compared within queries alone."""

    @property
    def value(self) -> None:
        """No number to compare: engines compare groups."""
        return

    def weigh(self) -> Overlap:
        """Return the weights by label and group that standardise labels."""
        named = slice(self.rows.n_named)
        weights, squares = self.rows.weights[:, named], self.rows.squares[:, named]
        return overlap_factors(weights, squares, self.groups)

    def weighted_by(self, overlap: Overlap) -> EngineItems:
        """Return the items weighted so."""
        return replace(self, factors=overlap.weights)

    @property
    def weights(self) -> tuple[Matrix, Matrix]:
        """Sums of weights by label and group, and of these squared."""
        if self.factors is None:
            return self.rows.weights, self.rows.squares
        named = slice(self.rows.n_named)
        weights, squares = self.rows.weights[:, named], self.rows.squares[:, named]
        return weights * self.factors, squares * self.factors**2

    @property
    def group_sizes(self) -> dict[str, int]:
        """Items of each group; of weighted items how many of equal weight would be as good."""
        weights, squares = self.weights
        sizes = [worth(weights[:, code], squares[:, code]) for code in range(len(self.groups))]
        return dict(zip(self.groups, sizes, strict=True))

    @abstractmethod
    def count(self, options: PairwiseOptions, score_ties: str, *, numbered: bool) -> CountedPairs:
        """Count pairs; see :func:`comparity.pairwise.count.count_pairs`."""

    @abstractmethod
    def smallest(self, cell: Cell) -> int:
        """Return the number of items in the scarcer role; no name stands for any group."""

    @abstractmethod
    def note(self, bound: float) -> str:
        """Say how pairs were counted, and how exactly."""


def worth(weights: Matrix, squares: Matrix) -> int:
    """Return how many items of equal weight would be as good as those with these sums."""
    square = float(squares.sum())
    return int(round(float(weights.sum()) ** 2 / square, 6)) if square > 0 else 0


@dataclass(frozen=True, eq=False)
class TabulatedItems(EngineItems):
    """Items of which a table by group, label and bin of score was asked for.

    Attributes
    ----------
    sums : mapping of str to PairSums
        Over pairs: as items weigh, standardised, and with each item counted once.
    n_bins : int
        Bins of the table; 0 where items were counted by score.
    """

    sums: Mapping[str, PairSums] = field(default_factory=dict)
    n_bins: int = 0

    @property
    def query(self) -> None:
        """No queries: every item is compared with every other."""
        return

    def count(self, options: PairwiseOptions, score_ties: str, *, numbered: bool) -> CountedPairs:
        """Count pairs from the sums."""
        which = RAW if self.factors is None else STANDARDISED
        counted = self._counted_pairs(self.sums[which], score_ties)
        if not numbered or not self.rows.is_weighted:
            return counted
        return replace(counted, unweighted=self._counted_pairs(self.sums[NUMBERS], score_ties))

    def _counted_pairs(self, sums: PairSums, score_ties: str) -> CountedPairs:
        pairs, doubt = sums.pairs(score_ties)
        names = (self.groups, self.others)
        return CountedPairs(pairs.sharing, pairs.score_ties, *names, doubt=doubt)

    def smallest(self, cell: Cell) -> int:
        """Return the number of items in the scarcer role; no name stands for any group."""
        weights, squares = self.weights
        above, below = (self._columns_of(group) for group in cell)
        held = [np.flatnonzero(weights[:, columns].any(axis=1)) for columns in (above, below)]
        if not len(held[0]) or not len(held[1]):
            return 0
        better, worse = slice(held[1][0] + 1, None), slice(held[0][-1])
        return min(
            worth(weights[levels, columns], squares[levels, columns])
            for levels, columns in ((better, above), (worse, below))
        )

    def _columns_of(self, group: str) -> slice:
        if not group:
            return slice(None)
        code = self.groups.index(group)
        return slice(code, code + 1)

    def note(self, bound: float) -> str:
        """Say how pairs were counted."""
        if not bound:
            return "Pairs were counted by the engine, from items by score: accuracies are exact."
        return (
            f"Pairs were counted by the engine, from items in {self.n_bins:,} bins of scores. "
            f"Every accuracy is within {round_up(bound)} of the exact one, for certain; intervals,"
            " p values and findings allow for that. Pairs with equal scores are counted where"
            " they are known to be equal. A smaller tolerance takes more passes, 0 counts exactly."
        )


def round_up(bound: float) -> str:
    """Return a bound with one digit, which is no smaller.

    Examples
    --------
    >>> round_up(0.000012), round_up(0.0031), round_up(0.5)
    ('0.00002', '0.004', '0.5')
    """
    place = max(-math.floor(math.log10(bound)), 0)
    return f"{math.ceil(bound * 10**place * (1 - ROUNDING)) / 10**place:.{place}f}"


def tabulate_items(rows: LabelledRows, tolerance: float, draw: Draw) -> TabulatedItems:
    """Ask for a table of items, and sum up their pairs.

    Parameters
    ----------
    rows : LabelledRows
        With few different labels.
    tolerance : float
        The largest bound of an accuracy that is tolerated; 0 to be exact.
    draw : Draw
        Items to standardise where labels have many values.
    """
    items = TabulatedItems(rows)
    names = (*items.groups, *items.others)
    sums = {RAW: PairSums(names, rows.weights, rows.squares)}
    factors: dict[str, Matrix | None] = {RAW: None}
    if rows.is_weighted:
        sums[NUMBERS] = PairSums(names, rows.counts, rows.counts)
    if 2 < items.n_levels <= MOST_LEVELS:
        overlap = items.weigh()
        sums[STANDARDISED] = PairSums(items.groups, *items.weighted_by(overlap).weights)
        absent = np.zeros((items.n_levels, len(rows.groups) - rows.n_named))
        factors[STANDARDISED] = np.hstack([overlap.weights, absent])
    pairs = tabulate_pairs(rows, [*factors.values()], tolerance)
    for part in pairs.parts():
        for name, one in sums.items():
            found = part.rows(factors.get(name), counted=name == NUMBERS)
            one.add(found if name != STANDARDISED else keep_groups(found, rows.n_named))
    n_bins = 0 if pairs.is_streamed else pairs.table.n_bins
    sample = None
    if items.n_levels > MOST_LEVELS:
        coded = replace(rows, frame=code_groups(rows, nw.col("label")))
        sample = draw_items(coded, rows.counts, draw)
    return replace(items, sums=sums, n_bins=n_bins, sample=sample)


def describe_sample(sample: DrawnItems) -> str:
    """Say which items standardised accuracies are from."""
    n_items, n_named = len(sample.items), int(sample.sizes.sum())
    if n_items == n_named:
        return f"Standardised accuracies are from all {n_named:,} items of the groups."
    return (
        f"Standardised accuracies are from {n_items:,} of {n_named:,} items, because labels of "
        f"more than {MOST_LEVELS} values are standardised item by item, and not all items fit into "
        "memory. Equally many items of each group (all of a smaller group) were drawn at random, "
        f"seed {sample.seed}, and each counts for the items it stands for. Findings allow for "
        "that: numbers of pairs and standard errors are those of the drawn items. Standard errors "
        f"are up to about {sample.widening:.1f} times those of all items."
    )


Items = LabelledItems | EngineItems
"""Items in memory, or on their engine."""


def reason_against_standardising(items: Items) -> str:
    """Return why accuracies of these items cannot be standardised; nothing where they can."""
    if not isinstance(items, EngineItems) or items.n_levels <= MOST_LEVELS or items.sample:
        return ""
    return (
        f"labels of more than {MOST_LEVELS} values are standardised by curves that are fitted to "
        "single items, which do not fit into memory: allow more memory, take a random sample of "
        f"queries, or band the labels into at most {MOST_LEVELS} grades"
    )
