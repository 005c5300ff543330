"""Rows that a score is trained on or chosen by, with their pairs and their gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counting.labelled import LabelledItems
from comparity.errors import OptionError
from comparity.mitigation.choices import Choices
from comparity.mitigation.game import CellWeights
from comparity.mitigation.goals import PARITY, overall
from comparity.mitigation.losses import (
    PairFamily,
    attribute_pairs,
    group_pairs,
    labelled_pairs,
)

__all__ = ["Rows", "Scale", "group_names", "rows_of"]

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
    """

    centre: Floats
    unit: Floats
    label_centre: float = 0.0
    label_unit: float = 1.0
    predicted: bool = False

    def standardised(self, X: Floats) -> Floats:
        """Return features in standard deviations from their means."""
        found: Floats = (X - self.centre) / self.unit
        return found

    def labels(self, scores: Floats) -> Floats:
        """Return scores in the unit of the labels, where these are predicted."""
        return self.label_centre + self.label_unit * scores if self.predicted else scores


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
    """

    features: Floats
    scale: Scale
    pairs: PairFamily
    parity: PairFamily | None
    target: Floats | None
    weight: Floats

    @property
    def families(self) -> tuple[PairFamily, ...]:
        """The kinds of pairs, in the order of their cells."""
        return (self.pairs,) if self.parity is None else (self.pairs, self.parity)

    @property
    def share(self) -> Floats:
        """Weights of rows that sum to 1."""
        found: Floats = self.weight / self.weight.sum()
        return found

    @property
    def n_cells(self) -> int:
        """Number of cells of all kinds of pairs."""
        return sum(len(family.cells) for family in self.families)

    def scores(self, parameters: Floats) -> Floats:
        """Return linear scores of all rows; standardised features are never stored."""
        slope = parameters / self.scale.unit
        found: Floats = self.features @ slope - self.scale.centre @ slope
        return found

    def accuracy(self, scores: Floats) -> Floats:
        """Return the accuracies of all cells; ``nan`` where there are no pairs."""
        return np.concatenate([family.sums(scores).accuracy for family in self.families])

    def objective(self, scores: Floats, accuracy: Floats) -> float:
        """Return what is minimised: mean squared error, or errors over all pairs."""
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
        found = []
        for family, wrong, right in self.shared_out(weights):
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
        raw = self.features.T @ slope - self.scale.centre * slope.sum()
        return found, raw / self.scale.unit + 2 * choices.l2 * parameters

    def shared_out(self, weights: CellWeights) -> Iterator[tuple[PairFamily, Floats, Floats]]:
        """Yield the kinds of pairs with what the losses of their cells weigh."""
        wrong, start = weights.wrong, 0
        if self.target is None:
            wrong = wrong + weights.objective * overall(self.pairs, self.n_cells)
        for family in self.families:
            cells = slice(start, start + len(family.cells))
            yield family, wrong[cells], weights.right[cells]
            start = cells.stop


def rows_of(
    features: Floats,
    items: LabelledItems,
    kept: Codes,
    scale: Scale,
    goals: Sequence[str],
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
    goals : sequence of str
        What will be asked of the pairs.
    """
    label, group = items.label[kept], items.group[kept] if len(items.group) else items.group
    query = None if items.query is None else items.query[kept]
    weights = None if items.weight is None else items.weight[kept]
    if items.value is not None:
        pairs = attribute_pairs(label, items.value[kept], query=query, weights=weights)
    else:
        names = group_names(group, items.groups)
        pairs = labelled_pairs(label, group, names, query=query, weights=weights)
        _check_apart(pairs, items.groups)
    parity = None
    if PARITY in goals:
        parity = group_pairs(group, items.groups, query=query, weights=weights)
    return Rows(
        features=np.ascontiguousarray(features[kept]),
        scale=scale,
        pairs=pairs,
        parity=parity,
        target=(label - scale.label_centre) / scale.label_unit if scale.predicted else None,
        weight=np.ones(len(kept)) if weights is None else weights,
    )


def group_names(group: Codes, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of groups, and one that none of them has where items are in no group.

    Examples
    --------
    >>> group_names(np.array([0, 1, 2]), ("a", "b")), group_names(np.array([0, 1]), ("a", "b"))
    (('a', 'b', ''), ('a', 'b'))
    """
    if group.max(initial=0) < len(groups):
        return groups
    nobody = ""
    while nobody in groups:
        nobody += " "
    return (*groups, nobody)


def _check_apart(pairs: PairFamily, groups: tuple[str, ...]) -> None:
    """Refuse groups by whose names two kinds of pairs would be one."""
    named = [str(cell) for cell in pairs.cells]
    if len(set(named)) < len(named):
        why = f"two kinds of pairs would both be called {max(named, key=named.count)!r}"
        raise OptionError("sensitive_features", list(groups), ["names without ' > '"], why)
