r"""All pairs that labels imply, from a table of items by group, label and bin of score.

Bins keep the order of scores. Two items in different bins are therefore ordered for certain, and
only pairs within one bin are in doubt; if all scores of a bin are equal, these tie, and nothing is.
With :math:`H` the pairs of a cell that agree for certain, :math:`D` those in doubt and :math:`T`
all pairs, the accuracy lies between :math:`H / T` and :math:`(H + D) / T`, *whatever the bins*. The
middle is reported, and half of the width is its *bound*.

The variance is a sum over items of squares of what the pairs of each item are, its placements
(:mod:`comparity.counts.all_pairs`). Let :math:`u` hold what a gap owes to each item with half of
its pairs in doubt counted as hits, and :math:`\delta` half of its pairs in doubt, in the same unit.
The exact ones are :math:`u + e` with :math:`|e_i| \le \delta_i`, so that by the triangle inequality

.. math:: \Big(\sum_i (u_i + e_i)^2\Big)^{1/2}
    \le \Big(\sum_i u_i^2\Big)^{1/2} + \Big(\sum_i \delta_i^2\Big)^{1/2}.

The last root is what a standard error is made larger by (:mod:`comparity.pairwise.doubtful`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import AllPairs, cells_of, name_sums
from comparity.counts.kernels.binned import (
    PARTS,
    BinnedRows,
    Swept,
    doubt_by_bin,
    nothing_met,
    nothing_swept,
    sweep,
)
from comparity.counts.kernels.moments import moments_by_cell
from comparity.counts.pairs import TIE_VALUE, Cell

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# numba's own types know no arguments.
_sweep: Any = sweep
_doubt_by_bin: Any = doubt_by_bin


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairDoubt:
    """What is not known of all pairs.

    Attributes
    ----------
    cells : tuple of Cell
    trials : ndarray
        Weights of pairs by cell, which are known.
    hits : ndarray
        By how much the hits of each cell may be too large or too small.
    ties : ndarray
        How many pairs may tie beside those that do.
    items : ndarray, (cells, cells)
        Products of half of the doubt of each item, summed over items.
    """

    cells: tuple[Cell, ...]
    trials: Floats
    hits: Floats
    ties: Floats
    items: Floats

    def bound(self, cells: Sequence[Cell]) -> float:
        """Return how far the accuracy over cells may be from the one reported; 0 if it is exact."""
        places = [self.cells.index(cell) for cell in cells if cell in self.cells]
        trials, hits = float(self.trials[places].sum()), float(self.hits[places].sum())
        return hits / trials if trials else 0.0


class PairSums:
    """Sums over pairs and items, to which rows of a table are added from the lowest scores on.

    Parameters
    ----------
    groups : tuple of str
    weights, squares : ndarray, (labels, groups)
        Sums of the weights of all items, and of these squared.
    products : bool
        Whether second moments are wanted.

    Examples
    --------
    Two bins: scores of a bad and a good item in the first, of a good one in the second.

    >>> weights = np.array([[1.0], [2.0]])
    >>> sums = PairSums(("a",), weights, weights)
    >>> one = np.ones(3)
    >>> level, alone = np.array([0, 1, 1]), np.zeros(3, dtype=np.int64)
    >>> sums.add(BinnedRows(np.array([0, 0, 1]), level, alone, one, one, np.zeros(3, dtype=bool)))
    >>> pairs, doubt = sums.pairs("disagree")
    >>> pairs.sharing.hits / pairs.sharing.trials, doubt.bound(pairs.sharing.cells)
    (array([0.75]), 0.25)
    """

    def __init__(
        self, groups: tuple[str, ...], weights: Floats, squares: Floats, *, products: bool = True
    ) -> None:
        self.groups, self.weights, self.squares = groups, weights, squares
        self.is_weighted = products and not np.array_equal(weights, squares)
        self._met, self._swept = nothing_met(*weights.shape), nothing_swept(len(groups))
        if not products:
            self._swept = nothing_swept(len(groups), products=False)
        self._squares_met = nothing_met(*weights.shape)
        self._squares_swept = nothing_swept(len(groups), products=False)
        self._inside = np.zeros((2, len(groups), len(groups)))

    def add(self, rows: BinnedRows) -> None:
        """Add rows whose scores are all above those of the rows before."""
        _sweep(rows, *_others(self.weights), self._met, self._swept)
        if self.is_weighted:
            again = rows._replace(weight=rows.square)
            _sweep(again, *_others(self.squares), self._squares_met, self._squares_swept)

    def add_inside(self, sums: Iterable[Floats], squares: Iterable[Floats]) -> None:
        """Add pairs of items with one label, where a label stands for several.

        `sums` and `squares` are trials, hits and ties by cell, (K, K), with the weights of pairs
        and with these squared.
        """
        given = ((sums, self._swept), (squares, self._squares_swept))
        for place, ((trials, hits, ties), swept) in enumerate(given[: 1 + self.is_weighted]):
            self._inside[place] += trials
            swept.hits[:] += hits
            swept.ties[:] += ties

    def counts(self) -> tuple[Floats, Floats, Floats]:
        """Return the weights of pairs, of those that tie, and of those that may, by cell."""
        trials, _, ties = _totals(self.weights, self._swept, self._inside[0])
        return trials.ravel(), ties.ravel(), self._swept.doubt.ravel()

    def pairs(self, score_ties: str) -> tuple[AllPairs, PairDoubt]:
        """Return the sums with equal scores counted as given, and what is in doubt."""
        tie, k = TIE_VALUE[score_ties], len(self.groups)
        sums = _totals(self.weights, self._swept, self._inside[0])
        squares = sums
        if self.is_weighted:
            squares = _totals(self.squares, self._squares_swept, self._inside[1])
        moments = moments_by_cell(_with_ties(self._swept.products, tie))
        pairs = name_sums(
            cells_of(self.groups), sums, squares, tie=tie, moments=moments, uses=np.diag(moments)
        )
        doubts = np.zeros((k, 4 * k, 4 * k))
        doubts[:, 2 * k :, 2 * k :] = self._swept.doubts
        trials, _, doubt = self.counts()
        return pairs, PairDoubt(
            cells=pairs.sharing.cells,
            trials=trials,
            hits=doubt / 2,
            ties=doubt,
            items=moments_by_cell(doubts)[k * k :, k * k :],
        )


def _others(weights: Floats) -> tuple[Floats, Floats]:
    """Return the weights of items with lower labels and with higher ones."""
    upto = np.cumsum(weights, axis=0)
    return upto - weights, upto[-1] - upto


def _totals(weights: Floats, swept: Swept, inside: Floats) -> tuple[Floats, Floats, Floats]:
    trials = weights.T @ _others(weights)[0] + inside
    return trials, swept.hits + swept.doubt / 2, swept.ties


def _with_ties(products: Floats, tie: float) -> Floats:
    """Return products of trials and hits, a tie counted as given; above the diagonal were some."""
    k = len(products)
    upper = np.triu(products)
    whole = upper + np.triu(products, 1).transpose(0, 2, 1)
    joined = np.zeros((4 * k, PARTS * k))
    joined[:, : 4 * k] = np.eye(4 * k)
    joined[2 * k :, 4 * k :] = tie * np.eye(2 * k)
    found: Floats = joined @ whole @ joined.T
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairTable:
    """Items by group, label and bin of score, in the order of bins, then of labels.

    Attributes
    ----------
    groups : tuple of str
        What stands for items in no group is the last, if there are any.
    levels : ndarray of float
        The different labels in order.
    place, level, group : ndarray of int
        Bin, label and group of each row of the table.
    n : ndarray of float
        Items of each row.
    weight, square : ndarray of float or None
        Sums of their weights, and of these squared, where they have any.
    single : ndarray of bool
        For each bin, whether all scores in it are known to be equal.
    low, high : ndarray of float
        For each bin, its smallest and its largest score; ``nan`` where these were not asked for.
    code : ndarray of int
        For each bin, its number on the engine when it was last asked; -1 if it was not.
    """

    groups: tuple[str, ...]
    levels: Floats
    place: Codes
    level: Codes
    group: Codes
    n: Floats
    weight: Floats | None
    square: Floats | None
    single: NDArray[np.bool_]
    low: Floats
    high: Floats
    code: Codes

    @classmethod
    def of(
        cls, columns: Mapping[str, NDArray[Any]], groups: tuple[str, ...], levels: Floats
    ) -> PairTable:
        """Sort rows, and number their bins.

        Parameters
        ----------
        columns : mapping of str to ndarray
            ``bin`` (numbers in the order of scores), ``level``, ``group`` (codes), ``n``, ``code``,
            ``low`` and ``high`` (the smallest and the largest score), perhaps ``weight`` and
            ``square``.
        groups, levels
            What the codes stand for.
        """
        order = np.lexsort((columns["group"], columns["level"], columns["bin"]))
        known = {name: column[order] for name, column in columns.items()}
        _, starts, place = np.unique(known["bin"], return_index=True, return_inverse=True)
        low = np.minimum.reduceat(known["low"], starts)
        high = np.maximum.reduceat(known["high"], starts)
        return cls(
            groups=groups,
            levels=levels,
            place=place.reshape(-1).astype(np.int64),
            level=known["level"].astype(np.int64),
            group=known["group"].astype(np.int64),
            n=known["n"].astype(np.float64),
            weight=known.get("weight"),
            square=known.get("square"),
            single=low == high,
            low=low,
            high=high,
            code=known["code"][starts].astype(np.int64),
        )

    @property
    def n_bins(self) -> int:
        """Number of bins that hold items."""
        return len(self.single)

    @property
    def bin_sizes(self) -> Floats:
        """Items of each bin."""
        return np.bincount(self.place, self.n, self.n_bins).astype(np.float64)

    def by_label(self, values: Floats) -> Floats:
        """Sum up what rows hold by label and group."""
        k = len(self.groups)
        found = np.bincount(self.level * k + self.group, values, len(self.levels) * k)
        return found.astype(np.float64).reshape(-1, k)

    def columns(self, bins: Codes) -> dict[str, NDArray[Any]]:
        """Return the rows as :meth:`of` takes them, with other numbers for the bins."""
        found: dict[str, Any] = {"bin": bins[self.place], "level": self.level, "group": self.group}
        found |= {name: getattr(self, name)[self.place] for name in ("low", "high", "code")}
        sums = {"n": self.n, "weight": self.weight, "square": self.square}
        return found | {name: one for name, one in sums.items() if one is not None}

    def keep(self, bins: slice) -> PairTable:
        """Return the part of some neighbouring bins."""
        kept = np.isin(self.place, np.arange(self.n_bins)[bins])
        columns = self.columns(np.arange(self.n_bins)).items()
        return PairTable.of(
            {name: column[kept] for name, column in columns}, self.groups, self.levels
        )

    def put_in(self, chosen: NDArray[np.bool_], smaller: PairTable, parents: Codes) -> PairTable:
        """Put smaller bins in the place of chosen ones: each in that of its parent among these."""
        # Between two bins that stay there is room for all smaller ones.
        room = smaller.n_bins + 1
        place = np.flatnonzero(chosen)[parents] * room + 1
        inside = smaller.columns(place + np.arange(smaller.n_bins))
        before = self.columns(np.arange(self.n_bins) * room)
        before["code"] = np.full(len(self.n), -1)
        kept = ~chosen[self.place]
        joined = {name: np.concatenate([before[name][kept], one]) for name, one in inside.items()}
        return PairTable.of(joined, self.groups, self.levels)

    def rows(self, factors: Floats | None = None, *, counted: bool = False) -> BinnedRows:
        """Return the rows, items weighing `factors` (labels, groups) times what they do.

        If they are `counted`, each weighs one.
        """
        weight = self.n if self.weight is None or counted else self.weight
        square = self.n if self.square is None or counted else self.square
        if factors is not None:
            each = factors[self.level, self.group]
            weight, square = weight * each, square * each**2
        codes = (self.place, self.level, self.group)
        return BinnedRows(*codes, weight, square, self.single[self.place])

    def doubts(self, factors: Floats | None = None) -> Floats:
        """Return by which share of its pairs each bin leaves each cell in doubt, (bins, cells)."""
        rows, k = self.rows(factors), len(self.groups)
        found: Floats = _doubt_by_bin(*rows[:4], self.n_bins, k).reshape(-1, k * k)
        found[self.single] = 0.0
        weights = self.by_label(rows.weight)
        trials = (weights.T @ _others(weights)[0]).ravel()
        return np.divide(found, trials, out=np.zeros_like(found), where=trials > 0)


def keep_groups(rows: BinnedRows, n_groups: int) -> BinnedRows:
    """Return the rows of the first groups."""
    kept = rows.group < n_groups
    columns: list[Any] = [column[kept] for column in rows]
    return BinnedRows(*columns)
