"""Thresholds of two groups: against a loop over all thresholds, and against Fairlearn's."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from comparity.errors import OptionError
from comparity.errors.fits import ClassCountError, LabelAbsentError, TwoGroupsOnlyError
from comparity.training import group_thresholds as module
from comparity.training.group_thresholds import GOALS, group_thresholds

# Which labels the rates of each goal are of.
SIDES = {GOALS[0]: [(0, 1)], GOALS[1]: [(1,)], GOALS[2]: [(1,), (0,)]}


def people(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    # Rounded, so that some scores are equal.
    scores = np.round(rng.normal(size=n) + 0.8 * group, 1)
    return (scores + rng.normal(size=n) > 0.4).astype(int), scores, group


def facts(y: np.ndarray, chosen: np.ndarray, group: np.ndarray, goal: str) -> tuple[float, float]:
    """Return errors and the largest difference, by their definition."""
    gaps = [
        abs(np.subtract(*(chosen[(group == g) & np.isin(y, side)].mean() for g in (0, 1))))
        for side in SIDES[goal]
    ]
    return float(np.sum(chosen != (y == 1))), float(max(gaps))


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("slack", [0.0, 0.08, 0.3])
def test_no_thresholds_within_the_slack_have_fewer_errors(goal: str, slack: float) -> None:
    y, scores, group = people(60, 1)
    fit = group_thresholds(y, scores, sensitive_features=group, goal=goal, slack=slack)
    chosen = fit.decide(scores, sensitive_features=group)
    error, apart = facts(y, chosen, group, goal)
    assert (1 - error / 60, apart) == pytest.approx((fit.accuracy, fit.difference))
    smallest = min(((group == g) & np.isin(y, side)).sum() for g in (0, 1) for side in SIDES[goal])
    limit = max(slack, 1 / smallest)
    assert apart <= limit + 1e-12
    cuts = [-9.0, *np.unique(scores)]
    every = [
        facts(y, scores > np.where(group == 0, a, b), group, goal)
        for a, b in itertools.product(cuts, cuts)
    ]
    assert error == min(wrong for wrong, gap in every if gap <= limit + 1e-12)


def test_a_wide_slack_leaves_the_best_thresholds_of_each_group() -> None:
    y, scores, group = people(200, 2)
    fit = group_thresholds(y, scores, sensitive_features=group, slack=1.0)
    assert fit.accuracy >= fit.accuracy_before
    before = facts(y, scores > fit.threshold_before, group, GOALS[0])
    assert before == pytest.approx((200 * (1 - fit.accuracy_before), fit.difference_before))


def test_few_of_many_thresholds_lose_little(monkeypatch: pytest.MonkeyPatch) -> None:
    y, scores, group = people(400, 3)
    scores = scores + np.random.default_rng(0).normal(size=400) / 1e6
    every, few = (
        monkeypatch.setattr(module, "MOST_CUTS", many)
        or group_thresholds(y, scores, sensitive_features=group, slack=0.05)
        for many in (1000, 60)
    )
    # Between two thresholds that are tried there are at most 4 rows of a group.
    assert every.accuracy - 8 / 400 <= few.accuracy <= every.accuracy


def test_equal_rates_are_as_accurate_as_fairlearns_thresholds() -> None:
    postprocessing = pytest.importorskip("fairlearn.postprocessing")
    y, scores, group = people(3000, 4)
    scores = scores + np.random.default_rng(0).uniform(-0.05, 0.05, 3000)
    fit = group_thresholds(y, scores, sensitive_features=group, slack=0.0)
    same = LinearRegression().fit(scores[:, None], scores)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = postprocessing.ThresholdOptimizer(
            estimator=same, prefit=True, predict_method="predict", grid_size=3000
        )
        theirs.fit(scores[:, None], y, sensitive_features=group)
        share = theirs._pmf_predict(scores[:, None], sensitive_features=group)[:, 1]
    # Lots between two thresholds gain what the curve of the rows is dented by, which is noise; ours
    # may be a row apart instead.
    expected = float(np.mean(np.where(y == 1, share, 1 - share)))
    noise = np.sqrt(expected * (1 - expected) / 3000)
    assert expected - noise <= fit.accuracy <= expected + 2 / 3000


def test_what_has_no_thresholds_is_refused() -> None:
    y, scores, group = people(90, 5)
    with pytest.raises(TwoGroupsOnlyError):
        group_thresholds(y, scores, sensitive_features=np.arange(90) % 3)
    with pytest.raises(ClassCountError):
        group_thresholds(np.arange(90) % 3, scores, sensitive_features=group)
    with pytest.raises(LabelAbsentError):
        group_thresholds(group, scores, sensitive_features=group, goal="equalized odds")
    with pytest.raises(OptionError):
        group_thresholds(y, scores, sensitive_features=group, slack=-0.1)
    with pytest.raises(OptionError):
        group_thresholds(y, scores, sensitive_features=group, goal="odds")
