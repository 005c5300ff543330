"""Decisions made after training: a threshold for each of two groups, with a slack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors.fits import ClassCountError, LabelAbsentError
from comparity.tables.columns import check_option
from comparity.tables.features import LabelledItems
from comparity.tables.frames import text_of
from comparity.training.feature_checks import group_positions, items_of_two_groups
from comparity.training.goals import check_number
from comparity.training.score_transforms import FitOfTwoGroups

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

GOALS = ("demographic parity", "equal opportunity", "equalized odds")
"""Alike are shares selected; those of positive labels; those of either label."""
MOST_CUTS = 1000
"""Thresholds tried in a group; of more distinct scores every so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupThresholds(FitOfTwoGroups):
    """The score above which a row of each group is selected.

    Attributes
    ----------
    thresholds : mapping of str to float
        By group; infinite where everybody or nobody is selected.
    goal : str
        The rates that are alike.
    slack : float
        The difference asked for.
    threshold_before : float
        The most accurate threshold for both groups, whose decisions are those before.
    """

    thresholds: Mapping[str, float]
    goal: str
    slack: float
    threshold_before: float

    def decide(self, scores: ArrayLike, *, sensitive_features: ArrayLike) -> Flags:
        """Return who is selected.

        Parameters
        ----------
        scores : array-like
            Finite scores.
        sensitive_features : array-like
            Group of each row, one of the two.
        """
        values, codes = group_positions(scores, sensitive_features, self.groups)
        return np.asarray(values > np.array([self.thresholds[one] for one in self.groups])[codes])


def group_thresholds(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    sensitive_features: ArrayLike,
    goal: str = "demographic parity",
    slack: float = 0.01,
) -> GroupThresholds:
    r"""Find the most accurate thresholds of two groups whose rates differ by a slack at most.

    .. math:: \min_{t_0, t_1} P(D \ne Y) \quad \text{s.t.} \quad
        |P(D = 1 | G = 0, C) - P(D = 1 | G = 1, C)| \le \epsilon, \qquad D = [S > t_G]

    with C nothing (``"demographic parity"``), Y = 1 (``"equal opportunity"``), or Y = 1 and Y = 0,
    each (``"equalized odds"``). Where scores are the probability of a positive label given all that
    is known, the group included, no other decisions with the same shares selected are more accurate
    [1]_. Nothing is random: equal rates of both labels, which [2]_ reaches by random decisions,
    need a slack, or selecting hardly anybody. Group membership is needed when deciding.

    Parameters
    ----------
    y : array-like
        Labels, two numbers; the larger is positive.
    scores : array-like
        Scores of any model, best of rows that it was not trained on, such as those of
        ``cross_val_predict``: scores of rows that the model has memorised flatter their rates.
    sensitive_features : array-like
        Group of each row: two groups.
    goal : {"demographic parity", "equal opportunity", "equalized odds"}
        The rates that are to be alike.
    slack : float
        Largest difference allowed. Rates move by one row at a time, so that a difference of one
        row of the smaller group (with the label in question) is always allowed.

    Returns
    -------
    GroupThresholds
        Its ``decide(scores, sensitive_features=)`` says who is selected.

    Raises
    ------
    TwoGroupsOnlyError, ClassCountError, LabelAbsentError
        There are more than two groups or labels; a rate is asked for that no row has.

    References
    ----------
    .. [1] Corbett-Davies, Pierson, Feller, Goel and Huq, "Algorithmic decision making and the cost
       of fairness", KDD 2017.
    .. [2] Hardt, Price and Srebro, "Equality of opportunity in supervised learning", NeurIPS 2016.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(0, 2, 2000)
    >>> scores = rng.normal(size=2000) + group
    >>> y = scores + rng.normal(size=2000) > 0.5
    >>> fit = group_thresholds(y, scores, sensitive_features=group, slack=0.1)
    >>> fit.difference_before > 0.3, fit.difference <= 0.1, fit.accuracy_before > fit.accuracy > 0.7
    (True, True, True)
    >>> fit.thresholds["0"] < fit.threshold_before < fit.thresholds["1"]
    True
    """
    check_option("goal", goal, GOALS)
    check_number("slack", slack, low=0)
    items = items_of_two_groups(y, scores, sensitive_features, what="thresholds by group")
    positive = _check_labels(items, goal)
    both = [_curve(items.score, positive, of, goal) for of in _members(items)]
    error, apart = _compare(*both)
    kept = apart <= max(float(slack), *(curve.step for curve in both))
    # Of equally many errors the smaller difference.
    best = np.unravel_index(np.where(kept, error + apart / 2, np.inf).argmin(), error.shape)
    before = _common_threshold(items.score, positive)
    rates = [_rates(items.score[of] > before, positive[of], goal) for of in _members(items)]
    return GroupThresholds(
        groups=items.groups,
        thresholds={
            name: float(curve.cuts[at])
            for name, curve, at in zip(items.groups, both, best, strict=True)
        },
        goal=goal,
        slack=float(slack),
        accuracy=float(1 - error[best] / len(positive)),
        difference=float(apart[best]),
        threshold_before=before,
        accuracy_before=float(np.mean((items.score > before) == positive)),
        difference_before=float(np.abs(rates[0] - rates[1]).max()),
    )


class _RatesByCut(NamedTuple):
    """Errors and rates of one group by threshold; `step` is what one row moves a rate by."""

    cuts: Floats
    errors: Floats
    rates: Floats
    step: float


def _members(items: LabelledItems) -> list[Flags]:
    return [items.group == one for one in (0, 1)]


def _check_labels(items: LabelledItems, goal: str) -> Flags:
    """Return which labels are positive."""
    known = np.unique(items.label)
    if len(known) != 2:
        raise ClassCountError([text_of(one) for one in known], "multiclass")
    positive = np.asarray(items.label == known[1])
    sides = {
        "demographic parity": (),
        "equal opportunity": (True,),
        "equalized odds": (True, False),
    }
    for side in sides[goal]:
        there = zip(items.groups, _members(items), strict=True)
        absent = [name for name, of in there if not (positive[of] == side).any()]
        if absent:
            raise LabelAbsentError(absent, text_of(known[int(side)]))
    return positive


def _masks(positive: Flags, goal: str) -> list[Flags]:
    """Return of which rows each rate is."""
    if goal == "demographic parity":
        return [np.ones_like(positive)]
    return [positive] if goal == "equal opportunity" else [positive, ~positive]


def _rates(selected: Flags, positive: Flags, goal: str) -> Floats:
    return np.array([selected[of].mean() for of in _masks(positive, goal)])


def _cuts(scores: Floats) -> Floats:
    """Return thresholds between neighbouring scores, and those that select all and none."""
    known = np.unique(scores)
    # Halves of each, so that no sum is too large; what rounds to the upper one selects it not.
    between = np.minimum(known[:-1] / 2 + known[1:] / 2, np.nextafter(known[1:], -np.inf))
    cuts = np.concatenate([[-np.inf], between, [np.inf]])
    many = min(len(cuts), MOST_CUTS)
    return np.asarray(cuts[np.linspace(0, len(cuts) - 1, many).round().astype(np.int64)])


def _above(scores: Floats, cuts: Floats) -> Floats:
    """Return how many scores are above each threshold."""
    return np.asarray(len(scores) - np.searchsorted(np.sort(scores), cuts, side="right"), float)


def _curve(scores: Floats, positive: Flags, of: Flags, goal: str) -> _RatesByCut:
    scores, positive = scores[of], positive[of]
    cuts = _cuts(scores)
    missed = positive.sum() - _above(scores[positive], cuts)
    masks = _masks(positive, goal)
    return _RatesByCut(
        cuts=cuts,
        errors=missed + _above(scores[~positive], cuts),
        rates=np.array([_above(scores[one], cuts) / one.sum() for one in masks]),
        step=float(max(1 / one.sum() for one in masks)),
    )


def _compare(first: _RatesByCut, second: _RatesByCut) -> tuple[Floats, Floats]:
    """Return errors and largest difference of rates by both thresholds."""
    error = first.errors[:, None] + second.errors
    apart = np.abs(first.rates[:, :, None] - second.rates[:, None, :]).max(axis=0)
    return error, apart


def _common_threshold(scores: Floats, positive: Flags) -> float:
    """Return the threshold with the fewest errors over all rows."""
    curve = _curve(scores, positive, np.ones_like(positive), "demographic parity")
    return float(curve.cuts[curve.errors.argmin()])
