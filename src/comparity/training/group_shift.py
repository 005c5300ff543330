"""Scores moved after training by one number: how far two groups are shifted against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors.fits import TwoGroupsOnlyError
from comparity.tables.features import NAMES, LabelledItems, labelled_items
from comparity.training.goals import check_number
from comparity.training.score_transforms import HALVINGS, cross_group_rates, group_positions

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShift:
    """What is added to the scores of each of two groups.

    Attributes
    ----------
    groups : tuple of str
        The two groups, sorted.
    shifts : mapping of str to float
        What is added to the scores of each; their mean over the rows fitted to is 0.
    slack : float
        The difference asked for.
    accuracy, difference, squared_error : float
        Share of pairs ordered rightly, difference of the two accuracies across groups without its
        sign, and mean squared distance from the labels, on the rows fitted to. The difference
        exceeds the slack only where equal scores leave no shift that keeps it.
    accuracy_before, difference_before, squared_error_before : float
        The same of the scores as they were.
    """

    groups: tuple[str, ...]
    shifts: Mapping[str, float]
    slack: float
    accuracy: float
    difference: float
    squared_error: float
    accuracy_before: float
    difference_before: float
    squared_error_before: float

    def transform(self, scores: ArrayLike, *, sensitive_features: ArrayLike) -> Floats:
        """Return the shifted scores.

        Parameters
        ----------
        scores : array-like
            Finite scores.
        sensitive_features : array-like
            Group of each row, one of the two.
        """
        values, codes = group_positions(scores, sensitive_features, self.groups)
        return np.asarray(values + np.array([self.shifts[name] for name in self.groups])[codes])


def group_shift(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    sensitive_features: ArrayLike,
    queries: ArrayLike | None = None,
    slack: float = 0.01,
) -> GroupShift:
    r"""Find the least shift of two groups that brings accuracies across them within a slack.

    .. math:: \min |\delta| \quad \text{s.t.} \quad |A_{0 > 1} - A_{1 > 0}| \le \epsilon

    with :math:`\delta` the shift of group 1 minus that of group 0. The order within groups stays,
    and the difference falls steadily with :math:`\delta`, which is found by halving. The mean
    score stays, so that of all shifts that keep the slack this one has the least mean squared
    change of scores. Group membership is needed when scoring.

    Parameters
    ----------
    y : array-like
        Labels as numbers; larger is better.
    scores : array-like
        Scores or predictions of any model, best on rows that it was not trained on.
    sensitive_features : array-like
        Group of each row: two groups.
    queries : array-like, optional
        Compare only rows of the same query.
    slack : float
        Largest difference allowed.

    Returns
    -------
    GroupShift
        Its ``transform(scores, sensitive_features=)`` shifts scores.

    Raises
    ------
    TwoGroupsOnlyError
        There are more than two groups.
    EmptyCellError
        There are no pairs across groups in one of the directions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, group = rng.normal(size=500), rng.integers(0, 2, 500)
    >>> fit = group_shift(y, y + rng.normal(size=500) + group, sensitive_features=group)
    >>> fit.difference_before > 0.2, fit.difference <= 0.01, fit.shifts["0"] > 0 > fit.shifts["1"]
    (True, True, True)
    """
    check_number("slack", slack, low=0)
    names = {**NAMES, "label": "y", "score": "scores"}
    items = labelled_items(y, scores, sensitive_features, queries=queries, names=names)
    if len(items.groups) != 2:
        raise TwoGroupsOnlyError("a group shift", items.groups)
    apart, share = _least_shift(items, float(slack)), float(np.mean(items.group == 1))
    shifts = np.array([-share * apart, (1 - share) * apart])
    before, after = (_facts(items, one) for one in (items.score, items.score + shifts[items.group]))
    return GroupShift(
        groups=items.groups,
        shifts=dict(zip(items.groups, shifts.tolist(), strict=True)),
        slack=float(slack),
        **after,
        **{f"{name}_before": number for name, number in before.items()},
    )


def _least_shift(items: LabelledItems, slack: float) -> float:
    """Return the least shift of group 1 against group 0 with which the difference is no larger."""
    gap = cross_group_rates(items, items.score)[1]
    if abs(gap) <= slack:
        return 0.0
    sign = 1.0 if gap > 0 else -1.0
    low, high = 0.0, 2 * float(np.ptp(items.score)) + 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        moved = items.score + sign * middle * (items.group == 1)
        if sign * cross_group_rates(items, moved)[1] > slack:
            low = middle
        else:
            high = middle
    return sign * high


def _facts(items: LabelledItems, scores: Floats) -> dict[str, Any]:
    accuracy, gap = cross_group_rates(items, scores)
    error = float(np.mean((scores - items.label) ** 2))
    return {"accuracy": accuracy, "difference": abs(gap), "squared_error": error}
