"""A goal kept after training, by moving the scores of two groups, in place of training for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors import OptionError, TwoGroupsOnlyError
from comparity.tables.columns import check_option
from comparity.tables.features import LabelledItems
from comparity.training.candidates import PreparedRows
from comparity.training.feature_checks import group_positions, items_of_two_groups
from comparity.training.goals import Choices, check_number
from comparity.training.losses import labelled_pairs
from comparity.training.models import Model
from comparity.training.result import Outcome, Training
from comparity.training.rows import take_items
from comparity.training.score_transforms import (
    HALVINGS,
    TransformOfTwoGroups,
    cross_group_rates,
    monotone_transform,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMoves:
    """How the scores of each group are moved: slope times the score, plus shift.

    Attributes
    ----------
    slopes, shifts : mapping of str to float
        By group. Slopes are not negative, so that the order within a group stays.
    """

    slopes: Mapping[str, float]
    shifts: Mapping[str, float]

    def transform(self, scores: ArrayLike, *, sensitive_features: ArrayLike) -> Floats:
        """Return the moved scores.

        Parameters
        ----------
        scores : array-like
            Finite scores.
        sensitive_features : array-like
            Group of each row; every group must be known.

        Examples
        --------
        >>> moves = GroupMoves(slopes={"a": 1.0, "b": 2.0}, shifts={"a": 0.0, "b": 1.0})
        >>> moves.transform([1.0, 1.0], sensitive_features=["a", "b"]).tolist()
        [1.0, 3.0]
        """
        groups = tuple(self.slopes)
        values, codes = group_positions(scores, sensitive_features, groups)
        slopes, shifts = (
            np.array([one[name] for name in groups]) for one in (self.slopes, self.shifts)
        )
        return np.asarray(slopes[codes] * values + shifts[codes])


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShift(TransformOfTwoGroups):
    """What is added to the scores of each of two groups.

    Attributes
    ----------
    shifts : mapping of str to float
        What is added to the scores of each; their mean over the rows fitted to is 0.
    slack : float
        The difference asked for; the one found exceeds it only where equal scores leave no shift
        that keeps it.
    squared_error, squared_error_before : float
        Mean squared distance from the labels, on the rows fitted to, and that of the scores as
        they were.
    """

    shifts: Mapping[str, float]
    slack: float
    squared_error: float
    squared_error_before: float

    def move(self, values: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return the shifted scores."""
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
    what = "a group shift"
    items = items_of_two_groups(y, scores, sensitive_features, queries=queries, what=what)
    apart, share = _least_shift(items, float(slack)), float(np.mean(items.group == 1))
    shifts = np.array([-share * apart, (1 - share) * apart])
    before, after = (
        _measure(items, one) for one in (items.score, items.score + shifts[items.group])
    )
    return GroupShift(
        groups=items.groups,
        shifts=dict(zip(items.groups, shifts.tolist(), strict=True)),
        slack=float(slack),
        accuracy=after.accuracy,
        difference=after.difference,
        squared_error=after.squared_error,
        accuracy_before=before.accuracy,
        difference_before=before.difference,
        squared_error_before=before.squared_error,
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


class _ScoreFacts(NamedTuple):
    """How well scores order and estimate labels, and the difference between groups."""

    accuracy: float
    difference: float
    squared_error: float


def _measure(items: LabelledItems, scores: Floats) -> _ScoreFacts:
    accuracy, gap = cross_group_rates(items, scores)
    return _ScoreFacts(accuracy, abs(gap), float(np.mean((scores - items.label) ** 2)))


ADJUSTMENTS = ("shift", "monotone")
"""How scores may be moved."""
KEPT = 1e-6
"""A slack missed by less is kept."""


def check_adjustable(
    adjust: Any, choices: Choices, items: LabelledItems, *, predicted: bool
) -> None:
    """Refuse what scores cannot be moved for.

    Raises
    ------
    OptionError, TwoGroupsOnlyError
        Another goal than cross-group, the robust form, a number in place of groups, items in no
        group, a monotone transform of predictions; more than two groups.
    """
    check_option("adjust", adjust, ADJUSTMENTS)
    facts = {
        "the goal is not cross-group alone": choices.goals != ("cross-group",),
        "in the robust form no difference is limited": choices.robust,
        "the attribute is a number, which has no groups": items.value is not None,
        "some items are in no group": bool((items.group >= len(items.groups)).any()),
        "items have weights": items.weight is not None,
        "pairs do not count alike": not choices.counts_alike,
    }
    if adjust == "monotone":
        facts["a monotone transform keeps an order and no predictions"] = predicted
    for why, holds in facts.items():
        if holds:
            raise OptionError("adjust", adjust, ["None, which trains for the goal"], why)
    if len(items.groups) != 2:
        raise TwoGroupsOnlyError("moving scores of groups", items.groups)


def fit_moves(adjust: str, items: LabelledItems, scores: Floats, slack: float) -> GroupMoves:
    """Find how to move scores so that accuracies across two groups are within a slack.

    Parameters
    ----------
    adjust : {"shift", "monotone"}
        See :func:`comparity.training.group_moves.group_shift` and
        :func:`comparity.training.score_transforms.monotone_transform`.
    items : LabelledItems
        Two groups.
    scores : ndarray
    slack : float
    """
    columns: dict[str, Any] = {
        "sensitive_features": np.array(items.groups)[items.group],
        "queries": items.query,
        "slack": slack,
    }
    ones = dict.fromkeys(items.groups, 1.0)
    if adjust == "shift":
        shift = group_shift(items.label, scores, **columns)
        return GroupMoves(slopes=ones, shifts=dict(shift.shifts))
    found = monotone_transform(items.label, scores, **columns)
    nothing = dict.fromkeys(items.groups, 0.0)
    return GroupMoves(
        slopes=ones | {found.adjusted: found.slope}, shifts=nothing | {found.adjusted: found.shift}
    )


def adjust_model(
    adjust: str, model: Model, training: Training, ready: PreparedRows, choices: Choices, X: Floats
) -> tuple[GroupMoves, Training]:
    """Move the scores of a model that was trained without a goal, and tell of it.

    Parameters
    ----------
    adjust : {"shift", "monotone"}
    model : Model
    training : Training
        Of the model.
    ready : PreparedRows
        What it was trained on and chosen by. A linear score is moved by all rows, a network or
        trees, which memorise rows, by those it was chosen by.
    choices : Choices
        The goal and the slack.
    X : ndarray, (n, p)
        Features of all rows.
    """
    scores, every = model.scores(X), np.arange(len(X))
    used = every if training.scorer == "linear" else ready.held
    by = take_items(ready.items, used)
    moves = fit_moves(adjust, by, scores[used], choices.slack)
    groups = np.array(ready.items.groups)[ready.items.group]
    moved = moves.transform(scores, sensitive_features=groups)
    start, best = (
        _outcome(one[used], take_items(ready.items, used), ready) for one in (scores, moved)
    )
    told = replace(
        training,
        goals=choices.goals,
        slack=choices.slack,
        feasible=best.largest_difference <= choices.slack + KEPT,
        best=best,
        mixture=best,
        start=start,
        rows={**training.rows, "chosen by": len(used)},
    )
    return moves, told


def _outcome(scores: Floats, items: LabelledItems, ready: PreparedRows) -> Outcome:
    """Return accuracy, error and rates of scores that are in the units of labels."""
    pairs = labelled_pairs(items.label, items.group, items.groups, query=items.query)
    rates = pairs.sums(scores).accuracy
    across = {str(pairs.cells[at]): float(rates[at]) for at in (1, 2)}
    error = float(np.mean((scores - items.label) ** 2)) if ready.rows.target is not None else None
    return Outcome(
        accuracy=float(np.nansum(pairs.trials * rates) / pairs.trials.sum()),
        squared_error=error,
        terms=across,
        largest_difference=float(abs(rates[1] - rates[2])),
    )
