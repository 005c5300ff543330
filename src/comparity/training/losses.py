r"""Pairwise losses without pairs: hinges over all pairs of each cell, with their gradient.

A *cell* is a kind of pair with a better and a worse item. With :math:`t` the score of the better
minus that of the worse item, the accuracy of a cell is the share of its pairs with :math:`t > 0`.
It has no useful gradient; two hinges bound it from either side,

.. math::

    1 - [t > 0] \le \max(0, 1 - t / m), \qquad [t > 0] \le \max(0, 1 + t / m),

the loss of a wrong and of a right order, or their squares. Models are trained on these bounds and
judged by the accuracies themselves (Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for
Ranking and Regression", appendix).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.ordered_pairs import EQUAL, LARGER, SMALLER
from comparity.counts.pairs import Cell
from comparity.training.pair_order import PairOrder, pair_order
from comparity.training.smooth_order import smooth_sums

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class CellSums(NamedTuple):
    """What scores make of the pairs of each cell.

    Attributes
    ----------
    accuracy : ndarray, (C,)
        Share of pairs in the right order; equal scores are not. ``nan`` without pairs.
    wrong, right : ndarray, (C,)
        Mean loss of a wrong order, at least one minus accuracy; mean loss of a right order, at
        least the accuracy. ``nan`` without pairs.
    gradient : ndarray, (n,)
        Of the weighted mean losses with respect to the scores.
    """

    accuracy: Floats
    wrong: Floats
    right: Floats
    gradient: Floats


class _Part(NamedTuple):
    """An order, and which of its pairs belong to which cell.

    `upper` and `lower` are the groups of the order that make up each cell in `cell`; where it is
    `turned`, the lower item is the better one. No cell occurs twice, and no two groups do unless
    one of both is turned.
    """

    order: PairOrder
    cell: Codes
    upper: Codes
    lower: Codes
    turned: NDArray[np.bool_]

    def add_sums(self, scores: Floats, per_pair: list[Floats], found: Floats, **how: Any) -> Floats:
        """Add hits and losses to `found`; return the gradient."""
        # A right order of the two items is a wrong one where the lower item is the better.
        weights, at = np.zeros((2, *self.order.trials.shape)), (self.upper, self.lower)
        for place, one in enumerate(per_pair):
            kind = np.where(self.turned, 1 - place, place)
            weights[kind, *at] += one[self.cell]
        sums, gradient = self.order.sums(scores, wrong=weights[0], right=weights[1], **how)
        losses, hits = sums[:2, *at], sums[2:, *at]
        for row, (straight, turned) in enumerate((hits, losses, losses[::-1])):
            found[row, self.cell] += np.where(self.turned, turned, straight)
        return gradient

    def add_smoothed(self, scores: Floats, per_pair: Floats, found: Floats, width: float) -> Floats:
        """Add smoothed hits to `found`; return the gradient."""
        weights, at = np.zeros(self.order.trials.shape), (self.upper, self.lower)
        np.add.at(weights, at, np.where(self.turned, -1.0, 1.0) * per_pair[self.cell])
        sums, gradient = smooth_sums(self.order, scores, width=width, weights=weights)
        # One order of two items is as much in place as the other is out of it.
        found[self.cell] += np.where(self.turned, self.order.trials[at] - sums[at], sums[at])
        return gradient


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairFamily:
    """All pairs of a kind, by cell.

    Attributes
    ----------
    cells : tuple of Cell
        Their names.
    trials : ndarray, (C,)
        Number of pairs, or their weight.
    """

    cells: tuple[Cell, ...]
    trials: Floats
    _parts: tuple[_Part, ...]

    @property
    def n_rows(self) -> int | None:
        """Number of rows that scores are needed for; None where there are no pairs."""
        return self._parts[0].order.n_rows if self._parts else None

    def sums(
        self,
        scores: Floats,
        *,
        wrong: Floats | None = None,
        right: Floats | None = None,
        margin: float = 1.0,
        squared: bool = False,
        both: bool = False,
    ) -> CellSums:
        """Return accuracies, mean losses and their gradient.

        Parameters
        ----------
        scores : ndarray, (n,)
            Finite scores of all rows.
        wrong, right : ndarray, (C,), optional
            What each cell's mean loss of wrong and of right orders weighs in the gradient; nothing
            by default. The weight of a cell without pairs does not count.
        margin : float
            Difference of scores from which on an order is safe.
        squared : bool
            Whether hinges are squared.
        both : bool
            Whether to sum the loss of right orders even where it weighs nothing; it is ``nan``
            otherwise.

        Examples
        --------
        >>> y, group = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 1, 0, 1])
        >>> pairs = labelled_pairs(y, group, ("a", "b"))
        >>> sums = pairs.sums(np.array([0.0, 0.5, 0.25, 2.0]), wrong=np.array([0.0, 1.0, 0, 0]))
        >>> sums.accuracy.tolist(), sums.wrong.tolist()
        ([1.0, 0.0, 1.0, 1.0], [0.75, 1.25, 0.0, 0.0])
        >>> sums.gradient.tolist()
        [0.0, 1.0, -1.0, 0.0]
        """
        n_cells, power = len(self.cells), 2 if squared else 1
        found = np.zeros((3, n_cells))
        gradient = np.zeros(len(scores))
        per_pair = [self._per_pair(weights, margin**power) for weights in (wrong, right)]
        # Right orders cost about half as much again; most steps do not look at them.
        both = both or bool(per_pair[1].any()) or any(part.turned.any() for part in self._parts)
        how = {"margin": margin, "squared": squared, "both": both}
        for part in self._parts:
            gradient += part.add_sums(scores, per_pair, found, **how)
        with np.errstate(invalid="ignore", divide="ignore"):
            accuracy, short, over = found / self.trials
        scale = margin**power
        over = over / scale if both else np.full(n_cells, np.nan)
        return CellSums(accuracy, short / scale, over, gradient)

    def smoothed(
        self, scores: Floats, *, width: float, weights: Floats | None = None
    ) -> tuple[Floats, Floats]:
        r"""Return smoothed accuracies, and the gradient of their weighted sum.

        With :math:`t` the score of the better minus that of the worse item, the step
        :math:`[t > 0]` becomes a curve of two parabolas that rises from 0 at -h to 1 at h,
        see :mod:`comparity.training.smooth_order`. Its sum over all pairs costs about a sort, too.

        Parameters
        ----------
        scores : ndarray, (n,)
            Finite scores of all rows.
        width : float
            The width h, positive, in units of the scores.
        weights : ndarray, (C,), optional
            What each cell's accuracy weighs in the gradient; nothing by default.

        Returns
        -------
        accuracy : ndarray, (C,)
            ``nan`` without pairs.
        gradient : ndarray, (n,)
            With respect to the scores.

        Examples
        --------
        >>> y, group = np.array([0.0, 1.0]), np.zeros(2, dtype=int)
        >>> pairs = labelled_pairs(y, group, ("all",))
        >>> rate, slope = pairs.smoothed(np.array([0.0, 0.5]), width=1.0, weights=np.ones(1))
        >>> rate.tolist(), slope.tolist()
        ([0.875], [-0.5, 0.5])
        """
        found, gradient = np.zeros(len(self.cells)), np.zeros(len(scores))
        per_pair = self._per_pair(weights, 1.0)
        for part in self._parts:
            gradient += part.add_smoothed(scores, per_pair, found, width)
        with np.errstate(invalid="ignore", divide="ignore"):
            return found / self.trials, gradient

    def reach(self, weights: Floats) -> Floats:
        """Return what all pairs of each row weigh together.

        Parameters
        ----------
        weights : ndarray, (C,)
            What each cell weighs; its pairs share it.

        Examples
        --------
        >>> y, group = np.array([0.0, 0.0, 1.0, 1.0]), np.zeros(4, dtype=int)
        >>> labelled_pairs(y, group, ("all",)).reach(np.ones(1)).tolist()
        [0.5, 0.5, 0.5, 0.5]
        """
        per_pair = self._per_pair(weights, 1.0)
        reached = []
        for part in self._parts:
            each = np.zeros_like(part.order.trials)
            np.add.at(each, (part.upper, part.lower), per_pair[part.cell])
            reached.append(part.order.reach(each))
        return np.sum(reached, axis=0) if reached else np.zeros(1)

    def _per_pair(self, weights: Floats | None, scale: float) -> Floats:
        """Return what a pair of each cell weighs."""
        nothing = np.zeros(len(self.cells))
        if weights is None:
            return nothing
        return np.divide(weights, scale * self.trials, out=nothing, where=self.trials > 0)


def labelled_pairs(
    y: Floats,
    group: Codes,
    groups: tuple[str, ...],
    *,
    query: Codes | None = None,
    weights: Floats | None = None,
) -> PairFamily:
    """Return the pairs that labels imply, by groups of the better and of the worse item.

    Parameters
    ----------
    y : ndarray
        Labels; the item with the larger one is better.
    group : ndarray of int
        Position in `groups`.
    groups : tuple of str
        The groups; the group of the better item changes slowest in the cells.
    query : ndarray of int, optional
        Only items of one query are pairs.
    weights : ndarray, optional
        Positive weights of items; a pair weighs the product of its two.

    Notes
    -----
    A sum over all pairs takes O(n log n + n K log L) time for K groups and L distinct labels.
    """
    k = len(groups)
    cells = tuple(Cell(better, worse) for better in groups for worse in groups)
    order = pair_order(y, group, k, segment=query, weight=weights)
    entries = [(i * k + j, i, j, False) for i, j in product(range(k), repeat=2)]
    return _family(cells, [(order, entries)])


def group_pairs(
    group: Codes,
    groups: tuple[str, ...],
    *,
    query: Codes | None = None,
    weights: Floats | None = None,
) -> PairFamily:
    """Return all pairs of items of two groups, whatever their labels.

    The cell (a, b) holds the pairs of an item of a and one of b, and its accuracy is how often the
    former has the larger score: every pair is in two cells. Parameters are those of
    :func:`labelled_pairs`.
    """
    k = len(groups)
    known = group < k
    segment = np.zeros(len(group), dtype=np.int64) if query is None else query
    # Items in no group are alone in a segment of their own, and so in no pair.
    segment = np.where(known, segment, -1)
    order = pair_order(np.where(known, group, 0), group, k + 1, segment=segment, weight=weights)
    both = list(permutations(range(k), 2))
    cells = tuple(Cell(groups[i], groups[j]) for i, j in both)
    entries = [(place, max(pair), min(pair), pair[0] < pair[1]) for place, pair in enumerate(both)]
    return _family(cells, [(order, entries)])


def attribute_pairs(
    y: Floats, z: Floats, *, query: Codes | None = None, weights: Floats | None = None
) -> PairFamily:
    """Return the pairs that labels imply, by which item has the larger attribute.

    Cells are `LARGER` (the better item has the larger attribute), `SMALLER` and `EQUAL`.

    Parameters
    ----------
    y, z : ndarray
        Label and attribute of each item.
    query, weights
        As in :func:`labelled_pairs`.

    Notes
    -----
    Labels are halved, each half again, and so on; two items with different labels are on
    different sides of exactly one cut. Across each cut, items are merged by attribute. A sum over
    all pairs takes O(n log n) time with two labels and O(n log n log L) with L.
    """
    segment = np.zeros(len(y), dtype=np.int64) if query is None else query
    level = np.unique(y, return_inverse=True)[1].reshape(-1).astype(np.int64)
    rank = np.unique(z, return_inverse=True)[1].reshape(-1).astype(np.int64)
    parts = []
    for bit in range(int(level.max(initial=0)).bit_length()):
        block, upper = level >> bit + 1, level >> bit & 1
        order = pair_order(rank, upper, 2, segment=_joint(segment, block), weight=weights)
        # Group 1 has the larger labels; keys are attributes.
        parts.append((order, [(0, 1, 0, False), (1, 0, 1, True)]))
    nobody = np.zeros(len(y), dtype=np.int64)
    equal = pair_order(level, nobody, 1, segment=_joint(segment, rank), weight=weights)
    parts.append((equal, [(2, 0, 0, False)]))
    return _family((LARGER, SMALLER, EQUAL), parts)


def _joint(first: Codes, second: Codes) -> Codes:
    """Return one code for two."""
    return first * (int(second.max(initial=0)) + 1) + second


def _family(
    cells: tuple[Cell, ...], parts: Iterable[tuple[PairOrder, list[tuple[int, int, int, bool]]]]
) -> PairFamily:
    trials, built = np.zeros(len(cells)), []
    for order, entries in parts:
        columns = np.array(entries, dtype=np.int64).reshape(-1, 4).T
        cell, upper, lower = columns[:3]
        np.add.at(trials, cell, order.trials[upper, lower])
        if len(order.rows):
            built.append(_Part(order, cell, upper, lower, columns[3].astype(bool)))
    return PairFamily(cells=cells, trials=trials, _parts=tuple(built))
