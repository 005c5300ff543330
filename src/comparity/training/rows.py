"""Rows that a score is trained on, held out or chosen by, with their pairs, and rows in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.tables.features import LabelledItems
from comparity.training.bradley_terry_loss import JudgedLoss
from comparity.training.goals import PARITY, Choices, overall
from comparity.training.losses import (
    PairFamily,
    attribute_pairs,
    group_pairs,
    labelled_pairs,
    value_pairs,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """Where features and labels have their zero and their unit.

    Attributes
    ----------
    centre, unit : ndarray, (p,)
        Mean and standard deviation of each feature; infinite for a constant one, so that it counts
        for nothing whatever it is on other rows.
    label_centre, label_unit : float
        The same of a label that is to be predicted.
    predicted : bool
        Whether it is, and not only ordered.
    shape : tuple of int or None
        Of the features of a row, where these are arrays; ``(p,)`` numbers stand for it elsewhere.
    """

    centre: Floats
    unit: Floats
    label_centre: float = 0.0
    label_unit: float = 1.0
    predicted: bool = False
    shape: tuple[int, ...] | None = None

    def standardise(self, X: Floats) -> Floats:
        """Return features in standard deviations from their means."""
        return np.asarray((X - self.centre) / self.unit)

    def arrays(self, X: Floats, *, raw: bool = False) -> Floats:
        """Return features in the shape they had, standardised or as they are."""
        found = X if raw else self.standardise(X)
        return found if self.shape is None else found.reshape(-1, *self.shape)

    def labels(self, scores: Floats) -> Floats:
        """Return scores in the unit of the labels, where these are predicted."""
        return self.label_centre + self.label_unit * scores if self.predicted else scores


class CellWeights(NamedTuple):
    """What the model player is to minimise: weights of the objective and of the cells' losses."""

    objective: float
    wrong: Floats
    right: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Rows to train on or to choose by, with their pairs.

    Attributes
    ----------
    features : ndarray, (n, p)
        As they were given.
    scale : Scale
        What coefficients refer to.
    pairs : PairFamily
        The pairs that labels imply.
    parity : PairFamily or None
        All pairs of two groups, where a goal asks for them.
    target : ndarray or None
        Labels in their own unit, where they are to be predicted and not only ordered.
    weight : ndarray
        Weights of rows.
    judged : JudgedLoss or None
        The loss of judgments, where pairs were judged and not implied by labels.
    items : LabelledItems or None
        What pairs were laid out from, for parts of the rows.
    """

    features: Floats
    scale: Scale
    pairs: PairFamily
    parity: PairFamily | None
    target: Floats | None
    weight: Floats
    judged: JudgedLoss | None = None
    items: LabelledItems | None = None

    @property
    def counts_orders(self) -> bool:
        """Whether the share of wrong orders is what is minimised."""
        return self.target is None and self.judged is None

    @property
    def n_judged(self) -> int:
        """Number of rows, or of judgments, which have two rows each."""
        return len(self.weight) // (1 if self.judged is None else 2)

    @property
    def families(self) -> tuple[PairFamily, ...]:
        """The kinds of pairs, in the order of their cells."""
        return (self.pairs,) if self.parity is None else (self.pairs, self.parity)

    @property
    def share(self) -> Floats:
        """Weights of rows that sum to 1."""
        return np.asarray(self.weight / self.weight.sum())

    @property
    def n_cells(self) -> int:
        """Number of cells of all kinds of pairs."""
        return sum(len(family.cells) for family in self.families)

    def scores(self, parameters: Floats) -> Floats:
        """Return linear scores of all rows; standardised features are never stored."""
        slope = parameters / self.scale.unit
        return np.asarray(self.features @ slope - self.scale.centre @ slope)

    def accuracy(self, scores: Floats) -> Floats:
        """Return the accuracies of all cells; ``nan`` where there are no pairs."""
        return np.concatenate([family.sums(scores).accuracy for family in self.families])

    def smoothed_accuracy(
        self, scores: Floats, width: float, weights: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return smoothed accuracies of all cells, 0 without pairs, and their weighted gradient."""
        found, slope, start = [], np.zeros(len(scores)), 0
        for family in self.families:
            cells = slice(start, start + len(family.cells))
            each = None if weights is None else weights[cells]
            rates, steeper = family.smoothed_accuracy(scores, width=width, weights=each)
            found.append(rates)
            slope += steeper
            start = cells.stop
        return np.nan_to_num(np.concatenate(found)), slope

    def objective(self, scores: Floats, accuracy: Floats) -> float:
        """Return what is minimised: mean squared error, loss of judgments, or wrong orders."""
        if self.judged is not None:
            return self.judged.bits(scores)
        if self.target is not None:
            return float(np.average((scores - self.target) ** 2, weights=self.weight))
        share = overall(self.pairs, self.n_cells)
        return float(1 - np.nansum(share * accuracy))

    def slopes(
        self, scores: Floats, weights: CellWeights, choices: Choices
    ) -> tuple[Floats, Floats]:
        """Return accuracies of all cells, and the gradient of the weighted bounds in the scores."""
        slope = np.zeros(len(scores))
        if self.target is not None:
            slope += 2 * weights.objective * self.share * (scores - self.target)
        if self.judged is not None:
            slope += weights.objective * self.judged.gradient(scores)
        found = []
        for family, wrong, right in self.share_out(weights):
            sums = family.sums(
                scores, wrong=wrong, right=right, margin=choices.margin, squared=choices.squared
            )
            slope += sums.gradient
            found.append(sums.accuracy)
        # No goal rests on a cell without pairs.
        return np.nan_to_num(np.concatenate(found)), slope

    def gradient(
        self, parameters: Floats, weights: CellWeights, choices: Choices
    ) -> tuple[Floats, Floats]:
        """Return the same with the gradient in the coefficients, their penalty included."""
        found, slope = self.slopes(self.scores(parameters), weights, choices)
        return found, self.pull_back(slope) + 2 * choices.l2 * parameters

    def pull_back(self, slope: Floats) -> Floats:
        """Return the gradient in the coefficients of a linear score, from that in its scores."""
        raw = self.features.T @ slope - self.scale.centre * slope.sum()
        return np.asarray(raw / self.scale.unit)

    def share_out(self, weights: CellWeights) -> Iterator[tuple[PairFamily, Floats, Floats]]:
        """Yield the kinds of pairs with what the losses of their cells weigh."""
        wrong, start = weights.wrong, 0
        if self.counts_orders:
            wrong = wrong + weights.objective * overall(self.pairs, self.n_cells)
        for family in self.families:
            cells = slice(start, start + len(family.cells))
            yield family, wrong[cells], weights.right[cells]
            start = cells.stop


def training_rows(
    features: Floats,
    items: LabelledItems,
    kept: Codes,
    scale: Scale,
    choices: Choices,
    names: tuple[str, ...] | None = None,
) -> Rows:
    """Lay out the pairs of some rows.

    Parameters
    ----------
    features : ndarray, (n, p)
    items : LabelledItems
        Labels, groups, queries and weights of all rows.
    kept : ndarray of int
        The rows wanted.
    scale : Scale
    choices : Choices
        What will be asked of the pairs.
    names : tuple of str, optional
        Of the groups that cells are made of, where others than those of these rows.
    """
    some = take_items(items, kept)
    label, group = some.label, some.group
    how: dict[str, Any] = {"query": some.query, "weights": some.weight}
    counted = {**how, "pair_weight": choices.pair_weight}
    parity = None
    if some.value is not None:
        pairs = attribute_pairs(label, some.value, **counted)
        parity = value_pairs(some.value, **how) if PARITY in choices.goals else None
    else:
        names = group_names(group, items.groups) if names is None else names
        pairs = labelled_pairs(label, group, names, average=choices.average, **counted)
        _check_apart(pairs, items.groups)
        parity = group_pairs(group, items.groups, **how) if PARITY in choices.goals else None
    return Rows(
        features=np.ascontiguousarray(features[kept]),
        scale=scale,
        pairs=pairs,
        parity=parity,
        target=(label - scale.label_centre) / scale.label_unit if scale.predicted else None,
        weight=np.ones(len(kept)) if some.weight is None else some.weight,
        items=some,
    )


def group_names(group: Codes, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of groups, and a blank one, which no group has, for items in no group.

    Examples
    --------
    >>> group_names(np.array([0, 1, 2]), ("a", "b")), group_names(np.array([0, 1]), ("a", "b"))
    (('a', 'b', ''), ('a', 'b'))
    """
    return groups if group.max(initial=0) < len(groups) else (*groups, "")


def _check_apart(pairs: PairFamily, groups: tuple[str, ...]) -> None:
    """Refuse groups by whose names two kinds of pairs would be one."""
    named = [str(cell) for cell in pairs.cells]
    if len(set(named)) < len(named):
        why = f"two kinds of pairs would both be called {max(named, key=named.count)!r}"
        raise OptionError("sensitive_features", list(groups), ["names without ' > '"], why)


def take_items(items: LabelledItems, kept: Codes) -> LabelledItems:
    """Return some of the rows."""
    columns = {one.name: getattr(items, one.name) for one in fields(items) if one.name != "groups"}
    # A number has no groups: their column is empty.
    given = {name: one for name, one in columns.items() if one is not None and len(one)}
    return replace(items, **{name: one[kept] for name, one in given.items()})


LEVELS = 20
"""Labels of at most so many values are held out evenly."""


def hold_out(items: LabelledItems, fraction: float, rng: Any) -> NDArray[np.bool_]:
    """Return which rows are held out; none or all of them where there are too few.

    Parameters
    ----------
    items : LabelledItems
        Where they have queries, whole queries are held out; else the same share of every group
        and, where labels are few, of every label.
    fraction : float
        Share of rows, or of queries.
    rng : RandomState or Generator
        What draws.
    """
    if items.query is not None:
        return _hold_queries(items.query, fraction, rng)
    order = np.lexsort((rng.uniform(size=len(items)), strata_of(items)))
    # Every so many rows, stratum by stratum, from a random start.
    steps = np.floor((np.arange(len(items) + 1) + rng.uniform()) * fraction)
    held = np.zeros(len(items), dtype=bool)
    held[order] = np.diff(steps) > 0
    return held


def _hold_queries(query: Codes, fraction: float, rng: Any) -> NDArray[np.bool_]:
    drawn = rng.uniform(size=int(query.max()) + 1).argsort().argsort()
    known = np.unique(query)
    order = known[np.argsort(drawn[known])]
    return np.isin(query, order[: round(fraction * len(known))])


def strata_of(items: LabelledItems) -> Codes:
    """Return what rows are held out evenly by: group and, where labels are few, label."""
    strata = items.group if len(items.group) else np.zeros(len(items), dtype=np.int64)
    levels, level = np.unique(items.label, return_inverse=True)
    if len(levels) <= LEVELS:
        strata = strata * len(levels) + level.reshape(-1)
    return strata


def batches(
    rows: Rows, choices: Choices, size: int, rng: np.random.Generator
) -> Iterator[tuple[Codes, Rows]]:
    """Yield parts of rows with their pairs, without an end; every round has each row once.

    Parameters
    ----------
    rows : Rows
        Rows with labels; judged pairs have none.
    choices : Choices
    size : int
        About so many rows are a part, or whole queries with about so many rows.
    rng : Generator
        What draws.

    Yields
    ------
    kept : ndarray of int
        Which rows.
    part : Rows
        The same, without their features.
    """
    items = rows.items
    if rows.judged is not None or items is None:
        why = "judged pairs are trained on all at once"
        raise OptionError("batch_size", size, ["None"], why)
    names = None if items.value is not None else group_names(items.group, items.groups)
    nothing = np.zeros((len(items), 0))
    while True:
        dealt = deal(items, size, rng)
        for one in range(int(dealt.max()) + 1):
            kept = np.flatnonzero(dealt == one)
            yield kept, training_rows(nothing, items, kept, rows.scale, choices, names)


def deal(items: LabelledItems, size: int, rng: np.random.Generator) -> Codes:
    """Return the part of each row: the same share of every group and label, or whole queries.

    Examples
    --------
    >>> group = np.repeat([0, 1], [20, 10])
    >>> y = np.tile([0.0, 1.0], 15)
    >>> items = LabelledItems(label=y, score=y, group=group, groups=("a", "b"))
    >>> part = deal(items, 10, np.random.default_rng(0))
    >>> [np.bincount(2 * group[part == one] + (part == one).nonzero()[0] % 2).tolist()
    ...  for one in range(3)]
    [[4, 3, 2, 1], [3, 4, 1, 2], [3, 3, 2, 2]]
    """
    many = max(1, round(len(items) / size))
    found = np.empty(len(items), dtype=np.int64)
    if items.query is None:
        order = np.lexsort((rng.uniform(size=len(items)), strata_of(items)))
        found[order] = np.arange(len(items)) % many
        return found
    known, query = np.unique(items.query, return_inverse=True)
    drawn = rng.permutation(len(known))
    sizes = np.bincount(query.reshape(-1))[drawn]
    # Queries one after the other, cut where so many rows are reached.
    middle = (np.cumsum(sizes) - sizes / 2) / len(items)
    part = np.unique(np.floor(middle * many), return_inverse=True)[1].reshape(-1)
    of_query = np.empty(len(known), dtype=np.int64)
    of_query[drawn] = part
    return np.asarray(of_query[query.reshape(-1)])
