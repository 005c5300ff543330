"""Pairs of checked items, counted as an audit of all pairs needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import (
    AllPairs,
    all_pairs,
    column_marginals,
    row_marginals,
)
from comparity.counts.ordered_pairs import ordered_pairs, weighted_order
from comparity.counts.overlap import MOST_LEVELS
from comparity.counts.pair_distances import LARGEST_DOUBT, expect_from_items
from comparity.counts.pairs import ROUNDING, TIE_VALUE, Cell
from comparity.counts.query_pairs import query_counts, query_pairs, weighted_pairs
from comparity.inference.agreement_tests import (
    CellContrast,
    contrasts_of_groups,
    contrasts_of_order,
    sides_of,
)
from comparity.inference.dealt_pairs import DealtPairs, Part, compare_means
from comparity.pairwise.accuracies import NO_GROUP, CountedPairs
from comparity.pairwise.engine_items import EngineItems, Items
from comparity.pairwise.options import PairwiseOptions
from comparity.tables.features import LabelledItems
from comparity.tables.values import bounded_numbers

Matrix = NDArray[np.float64]

MOST_ITEMS_TO_DEAL = 1500
"""All pairs of more items take too long to deal out."""


def count_pairs(
    items: Items,
    options: PairwiseOptions,
    score_ties: str = "",
    *,
    numbered: bool = True,
) -> CountedPairs:
    """Count the pairs of checked items as the options say, or with score ties another way.

    Unless `numbered`, nobody asks how many pairs there are, only what they weigh.
    """
    ties = score_ties or options.score_ties
    if isinstance(items, EngineItems):
        return items.count(options, ties, numbered=numbered)
    how: dict[str, Any] = {"weights": items.weight, "score_ties": ties, "query": items.query}
    weigh = _alike
    if options.pair_weight != "equal":
        bounded_numbers(items.label, "y_true", "item")
        weigh = _by_difference
    counted = _join_counts(items, options, partial(weigh, items, options, how))
    if not numbered:
        return counted
    if counted.recount is not None:
        counted = replace(counted, singles=_singles(items))
    if items.weight is None and weigh is _alike:
        return counted
    plain = partial(_alike, items, options, {**how, "weights": None})
    return replace(counted, unweighted=_join_counts(items, options, plain))


def count_evened(
    items: LabelledItems, options: PairwiseOptions, score_ties: str = ""
) -> CountedPairs:
    """Count the pairs of weighted items, rates adjusted for how far apart labels are."""
    assert items.weight is not None
    assert items.query is None
    counted = count_pairs(items, options, score_ties, numbered=False)
    if len(items) < 2:
        return counted
    covariance = counted.covariance({cell: [cell] for cell in counted.cells})
    own = np.diag(covariance)
    variances = (own[:, None] + own - 2 * covariance)[~np.eye(len(own), dtype=bool)]
    least = np.min(variances, where=variances > 0, initial=np.inf)
    expected = expect_from_items(
        items.label,
        items.score,
        items.group,
        len(items.groups),
        weights=items.weight,
        score_ties=score_ties or options.score_ties,
        by_difference=options.pair_weight != "equal",
        # Less than what would be refused.
        tolerance=0.75 * LARGEST_DOUBT * float(np.sqrt(least)),
    )
    return replace(counted, sharing=expected.even_out(counted.sharing), expected=expected)


def contrasts_of(options: PairwiseOptions, groups: tuple[str, ...]) -> tuple[CellContrast, ...]:
    """Return the hypotheses about two cells."""
    if options.continuous:
        return contrasts_of_order()
    across, within = (
        [one for one in contrasts_of_groups(groups) if (one.first[0] != one.first[1]) == cross]
        for cross in (True, False)
    )
    wanted = {"cross-group": across, "within-group": within}
    return tuple(one for name in options.notions for one in wanted.get(name, []))


def kinds_of_pairs(options: PairwiseOptions, groups: tuple[str, ...]) -> list[tuple[Cell, ...]]:
    """Return the cells that each hypothesis is about; no name stands for any group."""
    if options.continuous:
        return [(Cell("", ""),)]
    kinds = [contrast.cells for contrast in contrasts_of(options, groups)]
    two = list(combinations(groups, 2))
    better = [(Cell(first, ""), Cell(second, "")) for first, second in two]
    worse = [(Cell("", first), Cell("", second)) for first, second in two]
    if "marginal" in options.notions:
        kinds += better
    if "symmetric" in options.notions:
        kinds += [(*above, *below) for above, below in zip(better, worse, strict=True)]
    return kinds


def compared_rates(
    options: PairwiseOptions, groups: tuple[str, ...], others: Sequence[str]
) -> list[tuple[Part, ...]]:
    """Return the rates that each test compares, in the order of the tests."""
    gaps = [compare_means(sides_of(contrast)) for contrast in contrasts_of(options, groups)]
    if options.continuous:
        return gaps
    rows, columns = (
        [tuple(cells) for cells in marginals(groups, others).values()]
        for marginals in (row_marginals, column_marginals)
    )
    two = list(combinations(range(len(groups)), 2))
    if "marginal" in options.notions:
        gaps += [(Part(1.0, rows[i]), Part(-1.0, rows[j])) for i, j in two]
    if "symmetric" in options.notions:
        gaps += [
            tuple(
                Part(sign / 2, side[g]) for sign, g in ((1, i), (-1, j)) for side in (rows, columns)
            )
            for i, j in two
        ]
    return gaps


class ItemRoles:
    """Which items are the better or the worse ones of some pair, by the groups of both."""

    def __init__(self, items: LabelledItems) -> None:
        self.items = items
        self.code = {group: code for code, group in enumerate(items.groups)}
        one_group = items.value is not None
        group = np.zeros(len(items), dtype=np.int64) if one_group else items.group
        self.rows = [np.flatnonzero(group == code) for code in range(len(items.groups) + 1)]
        # Taken once: every cell asks for the labels of two groups.
        self.labels = [items.label[rows] for rows in self.rows]

    def smallest(self, cell: Cell) -> int:
        """Return the number of items in the scarcer role; no name stands for any group.

        Weighted items count as many as would be as good if they weighed alike.
        """
        (above, labels_above), (below, labels_below) = (self._items_of(group) for group in cell)
        lowest = self._extremes(below, labels_below, np.minimum, np.inf)
        highest = self._extremes(above, labels_above, np.maximum, -np.inf)
        better = labels_above > self._of_query(lowest, above)
        worse = labels_below < self._of_query(highest, below)
        return min(self._worth(above, better), self._worth(below, worse))

    def _items_of(self, group: str) -> tuple[NDArray[np.int64], Matrix]:
        """Return rows and labels of the items of a group, or of all."""
        if group:
            return self.rows[self.code[group]], self.labels[self.code[group]]
        return np.concatenate(self.rows), np.concatenate(self.labels)

    def _extremes(
        self, rows: NDArray[np.int64], label: Matrix, of: np.ufunc, start: float
    ) -> Matrix:
        """Return the smallest or the largest label of some items, in each query."""
        query = self.items.query
        if query is None:
            return np.array([of.reduce(label, initial=start)])
        found = np.full(int(query.max(initial=0)) + 1, start)
        of.at(found, query[rows], label)
        return found

    def _of_query(self, extremes: Matrix, rows: NDArray[np.int64]) -> Matrix:
        query = self.items.query
        return extremes if query is None else extremes[query[rows]]

    def _worth(self, rows: NDArray[np.int64], chosen: NDArray[np.bool_]) -> int:
        n = int(np.count_nonzero(chosen))
        if self.items.weight is None or not n:
            return n
        weight = self.items.weight[rows[chosen]]
        return int(round(float(weight.sum() ** 2 / (weight**2).sum()), 6))


def roles_of(items: Items) -> ItemRoles | EngineItems:
    """Return what tells how many items are the better or the worse ones of pairs."""
    return items if isinstance(items, EngineItems) else ItemRoles(items)


def deal_pairs(items: Items, options: PairwiseOptions, score_ties: str = "") -> DealtPairs | None:
    """Return all pairs of items, and which items may change groups with each other.

    Under separation these are items with the same label. Gaps then have mean zero if labels have
    the same (weighted) distribution in every group, or two values only. Where they have neither
    and no item is weighted, raw accuracies are compared, and items change groups together with
    their labels. Nothing is returned for other weights, and where pairs are too many, of one query
    or weigh by their difference. Items in no group stay where they are.
    """
    if isinstance(items, EngineItems):
        return None
    label, score, group, groups = _columns(items)
    alike = items.query is None and items.value is None and options.pair_weight == "equal"
    if not alike or len(label) > MOST_ITEMS_TO_DEAL:
        return None
    weight = np.ones(len(label)) if items.weight is None else items.weight
    stratum = np.unique(label, return_inverse=True)[1]
    if not _labels_agree(items, stratum, weight):
        if items.weight is not None:
            return None
        stratum = np.zeros_like(stratum)
    better, worse = np.nonzero(label[:, None] > label)
    # The difference of two scores may be no number.
    order = (score[better] > score[worse]).astype(np.int64) - (score[better] < score[worse])
    return DealtPairs(
        better=better,
        worse=worse,
        outcome=np.array([0.0, TIE_VALUE[score_ties or options.score_ties], 1.0])[order + 1],
        trials=np.ones(len(better)),
        group=group,
        weight=weight,
        stratum=np.where(group < len(items.groups), stratum, stratum.max() + 1 + stratum),
        groups=groups,
    )


def _labels_agree(items: LabelledItems, level: NDArray[np.int64], weight: Matrix) -> bool:
    """Return whether labels have two values, or the same distribution in every group."""
    if items.n_levels <= 2:
        return True
    if items.n_levels > MOST_LEVELS:
        return False
    kept = items.group < len(items.groups)
    mass = np.zeros((len(items.groups), items.n_levels))
    np.add.at(mass, (items.group[kept], level[kept]), weight[kept])
    return bool(np.ptp(mass / mass.sum(axis=1, keepdims=True), axis=0).max() <= ROUNDING)


def _join_counts(
    items: LabelledItems, options: PairwiseOptions, count: Callable[[str], AllPairs]
) -> CountedPairs:
    pairs = count("cells")
    by_query = items.query is not None and options.average == "queries"
    names = (items.groups, _others(items))
    return CountedPairs(
        pairs.sharing, pairs.score_ties, *names, recount=count if by_query else None
    )


def _singles(items: LabelledItems) -> tuple[Matrix, Matrix]:
    """Count pairs within queries and those with equal scores, by cell."""
    assert items.query is not None
    label, score, group, groups = _columns(items)
    trials, _, tied = query_counts(label, score, group, len(groups), items.query)
    return trials.ravel().astype(np.float64), tied.ravel().astype(np.float64)


def has_ungrouped(items: Items) -> bool:
    """Return whether some items are in no group."""
    if isinstance(items, EngineItems):
        return bool(items.others)
    return bool((items.group == len(items.groups)).any())


def _others(items: LabelledItems) -> tuple[str, ...]:
    return (NO_GROUP,) if has_ungrouped(items) else ()


def _columns(items: LabelledItems) -> tuple[Matrix, Matrix, NDArray[np.int64], tuple[str, ...]]:
    return items.label, items.score, items.group, (*items.groups, *_others(items))


def _alike(
    items: LabelledItems, options: PairwiseOptions, how: Mapping[str, Any], once_in: str
) -> AllPairs:
    """Count pairs that all weigh alike, but for the weights of their items."""
    if items.value is not None:
        return ordered_pairs(items.label, items.score, items.value, **how)
    if items.query is None:
        rest = {name: value for name, value in how.items() if name != "query"}
        return all_pairs(*_columns(items), **rest)
    return query_pairs(*_columns(items), average=options.average, once_in=once_in, **how)


def _by_difference(
    items: LabelledItems, options: PairwiseOptions, how: Mapping[str, Any], once_in: str
) -> AllPairs:
    """Sum up pairs that weigh the difference of their labels."""
    if items.value is not None:
        return weighted_order(items.label, items.score, items.value, **how)
    return weighted_pairs(*_columns(items), average=options.average, once_in=once_in, **how)
