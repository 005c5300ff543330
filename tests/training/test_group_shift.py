"""Shifts of two groups: against a grid of shifts and double loops over pairs."""

from __future__ import annotations

import numpy as np
import pytest

from comparity.errors import OptionError
from comparity.errors.fits import TwoGroupsOnlyError
from comparity.training.group_shift import group_shift


def people(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y, group = rng.normal(size=n), rng.integers(0, 2, n)
    return y, y + rng.normal(size=n) + (1 if seed % 2 else -1) * group, group


def difference(y: np.ndarray, scores: np.ndarray, group: np.ndarray, pairs: np.ndarray) -> float:
    """Return A(0 > 1) - A(1 > 0), by all pairs."""
    better = pairs & (y[:, None] > y)
    cells = [better & np.outer(group == a, group != a) for a in (0, 1)]
    right = scores[:, None] > scores
    return float(right[cells[0]].mean() - right[cells[1]].mean())


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("slack", [0.02, 0.1])
@pytest.mark.parametrize("within", [False, True])
def test_no_smaller_shift_of_a_grid_keeps_the_slack(seed: int, slack: float, within: bool) -> None:
    y, scores, group = people(120, seed)
    query = np.arange(120) % 2 if within else np.zeros(120)
    pairs = query[:, None] == query
    fit = group_shift(y, scores, sensitive_features=group, queries=query, slack=slack)
    moved = fit.transform(scores, sensitive_features=group)
    assert abs(difference(y, moved, group, pairs)) == pytest.approx(fit.difference)
    assert fit.difference <= slack < fit.difference_before
    apart = fit.shifts["1"] - fit.shifts["0"]
    smaller = np.linspace(0, apart, 60)[:-1] * (1 - 1e-9)
    gaps = [difference(y, scores + shift * group, group, pairs) for shift in smaller]
    assert min(np.abs(gaps)) > slack
    assert moved.mean() == pytest.approx(scores.mean())
    assert fit.squared_error == pytest.approx(np.mean((moved - y) ** 2))


def test_scores_within_the_slack_stay() -> None:
    y, scores, group = people(100, 3)
    fit = group_shift(y, scores, sensitive_features=group, slack=1.0)
    assert set(fit.shifts.values()) == {0.0}


def test_a_shift_is_of_two_groups_and_a_slack_no_less_than_0() -> None:
    y, scores, _ = people(90, 4)
    with pytest.raises(TwoGroupsOnlyError):
        group_shift(y, scores, sensitive_features=np.arange(90) % 3)
    with pytest.raises(OptionError):
        group_shift(y, scores, sensitive_features=np.arange(90) % 2, slack=-0.1)
