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

from comparity.counts.all_pairs import ANY
from comparity.counts.ordered_pairs import EQUAL, LARGER, SMALLER
from comparity.counts.pairs import Cell
from comparity.training.pair_order import pair_order
from comparity.training.pair_parts import CellPart, FamilyPart, WeighedOrder, query_parts

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairFamily:
    """All pairs of a kind, by cell.

    Attributes
    ----------
    cells : tuple of Cell
        Their names.
    trials : ndarray, (C,)
        Number of pairs, or their weight; of averages over queries, the number of these.
    """

    cells: tuple[Cell, ...]
    trials: Floats
    _parts: tuple[FamilyPart, ...]

    @property
    def n_rows(self) -> int | None:
        """Number of rows that scores are needed for; None where there are no pairs."""
        return self._parts[0].n_rows if self._parts else None

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
        both = both or bool(per_pair[1].any()) or any(part.has_turned for part in self._parts)
        how = {"margin": margin, "squared": squared, "both": both}
        for part in self._parts:
            gradient += part.add_sums(scores, per_pair, found, **how)
        with np.errstate(invalid="ignore", divide="ignore"):
            accuracy, short, over = found / self.trials
        scale = margin**power
        over = over / scale if both else np.full(n_cells, np.nan)
        return CellSums(accuracy, short / scale, over, gradient)

    def smoothed_accuracy(
        self, scores: Floats, *, width: float, weights: Floats | None = None
    ) -> tuple[Floats, Floats]:
        r"""Return smoothed accuracies, and the gradient of their weighted sum.

        With :math:`t` the score of the better minus that of the worse item, the step
        :math:`[t > 0]` becomes a curve of two parabolas that rises from 0 at -h to 1 at h,
        see :mod:`comparity.training.pair_sums`. Its sum over all pairs costs about a sort, too.

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
        >>> scores, weights = np.array([0.0, 0.5]), np.ones(1)
        >>> rate, slope = pairs.smoothed_accuracy(scores, width=1.0, weights=weights)
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
        reached = [part.reach(per_pair) for part in self._parts]
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
    average: str = "pairs",
    pair_weight: str = "equal",
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
    average : {"pairs", "queries"}
        Whether pairs count alike, or every query in each cell that it has pairs in. Means over
        queries do not follow from each other, so that there are cells for all pairs with one group
        of the better item, ``(i, ANY)``, and for all pairs, ``(ANY, ANY)``, too.
    pair_weight : {"equal", "difference"}
        Whether a pair weighs that, or that times the difference of its labels.

    Notes
    -----
    A sum over all pairs takes O(n log n + n K log L) time for K groups and L distinct labels, twice
    that for differences of labels.
    """
    k = len(groups)
    cells = tuple(Cell(better, worse) for better in groups for worse in groups)
    orders = _orders(y, group, k, y, query, weights, pair_weight)
    if average == "queries":
        more = (*(Cell(name, ANY) for name in groups), Cell(ANY, ANY))
        trials, parts = query_parts(orders, k)
        return PairFamily(cells=(*cells, *more), trials=trials, _parts=parts)
    entries = [(i * k + j, i, j, False) for i, j in product(range(k), repeat=2)]
    return _family(cells, [(order, entries) for order in orders])


def _orders(
    key: NDArray[Any],
    group: Codes,
    n_groups: int,
    y: Floats,
    segment: Codes | None,
    weights: Floats | None,
    pair_weight: str,
) -> list[WeighedOrder]:
    """Return orders whose sums add up to those of pairs, weighed as asked.

    The difference of two labels is no product. It is one minus another: the label of the upper item
    times 1, and 1 times the label of the lower one.
    """
    how: dict[str, Any] = {"segment": segment}
    if pair_weight == "equal":
        return [WeighedOrder(pair_order(key, group, n_groups, weight=weights, **how))]
    one = np.ones(len(y)) if weights is None else weights
    # Only differences count, and only in proportion.
    away = y - y.mean() if len(y) else y
    value = one * (away / (np.abs(away).max(initial=0.0) or 1.0))
    return [
        WeighedOrder(
            pair_order(key, group, n_groups, weight=high, low_weight=low, **how), sign, -sign
        )
        for high, low, sign in ((value, one, 1.0), (one, value, -1.0))
    ]


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
    return _family(cells, [(WeighedOrder(order), entries)])


def value_pairs(
    z: Floats, *, query: Codes | None = None, weights: Floats | None = None
) -> PairFamily:
    """Return all pairs of items with different attributes, whatever their labels.

    The accuracy of the cell `LARGER` is how often the item with the larger attribute has the larger
    score, that of `SMALLER` how often the other one has: every pair is in both cells.

    Parameters
    ----------
    z : ndarray
        Attribute of each item.
    query, weights
        As in :func:`labelled_pairs`.

    Examples
    --------
    >>> pairs = value_pairs(np.array([30.0, 40.0, 50.0]))
    >>> pairs.sums(np.array([0.0, 2.0, 1.0])).accuracy.round(2).tolist()
    [0.67, 0.33]
    """
    nobody = np.zeros(len(z), dtype=np.int64)
    order = pair_order(z, nobody, 1, segment=query, weight=weights)
    entries = [(0, 0, 0, False), (1, 0, 0, True)]
    return _family((LARGER, SMALLER), [(WeighedOrder(order), entries)])


def attribute_pairs(
    y: Floats,
    z: Floats,
    *,
    query: Codes | None = None,
    weights: Floats | None = None,
    pair_weight: str = "equal",
) -> PairFamily:
    """Return the pairs that labels imply, by which item has the larger attribute.

    Cells are `LARGER` (the better item has the larger attribute), `SMALLER` and `EQUAL`.

    Parameters
    ----------
    y, z : ndarray
        Label and attribute of each item.
    query, weights, pair_weight
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
        within = _joint(segment, block)
        # Group 1 has the larger labels; keys are attributes.
        entries = [(0, 1, 0, False), (1, 0, 1, True)]
        orders = _orders(rank, upper, 2, y, within, weights, pair_weight)
        parts += [(order, entries) for order in orders]
    nobody = np.zeros(len(y), dtype=np.int64)
    equal = _orders(level, nobody, 1, y, _joint(segment, rank), weights, pair_weight)
    parts += [(order, [(2, 0, 0, False)]) for order in equal]
    return _family((LARGER, SMALLER, EQUAL), parts)


def _joint(first: Codes, second: Codes) -> Codes:
    """Return one code for two."""
    return first * (int(second.max(initial=0)) + 1) + second


def _family(
    cells: tuple[Cell, ...],
    parts: Iterable[tuple[WeighedOrder, list[tuple[int, int, int, bool]]]],
) -> PairFamily:
    trials, built = np.zeros(len(cells)), []
    for (order, straight, turned), entries in parts:
        columns = np.array(entries, dtype=np.int64).reshape(-1, 4).T
        cell, upper, lower = columns[:3]
        is_turned = columns[3].astype(bool)
        sign = np.where(is_turned, turned, straight)
        np.add.at(trials, cell, sign * order.trials[upper, lower])
        if len(order.rows):
            built.append(CellPart(order, cell, upper, lower, is_turned, sign))
    return PairFamily(cells=cells, trials=trials, _parts=tuple(built))
