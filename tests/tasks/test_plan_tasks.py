"""Judges needed, against statsmodels and by simulation in tests/calibration."""

from __future__ import annotations

import math

import pytest
from statsmodels.stats.power import TTestIndPower

from comparity import plan_tasks
from comparity.errors import OptionError, PlanError


@pytest.mark.parametrize("ratio", [0.5, 0.7, 1.5])
@pytest.mark.parametrize("power", [0.8, 0.95])
def test_judges_are_those_of_a_t_test(ratio: float, power: float) -> None:
    plan = plan_tasks(ratio=ratio, power=power, alpha=0.01)
    for n, spread in ((plan.n_minutes, plan.spread_minutes), (plan.n_time, plan.spread_time)):
        expected = TTestIndPower().solve_power(
            abs(math.log(ratio)) / spread, power=power, alpha=0.01, ratio=1
        )
        assert n == max(math.ceil(expected), 5)


def test_the_spread_has_four_parts() -> None:
    still = {"time_spread": 0.0, "agreement_spread": 0.0}
    assert plan_tasks(ratio=0.5, **still, kinds=16).spread_minutes == pytest.approx(0.5)
    # The model agrees by 0.25 more than chance, give or take 0.05: a fifth, and squared twice that.
    parts = plan_tasks(ratio=0.5, time_spread=0.0, kinds=16, agreement=0.75, agreement_spread=0.05)
    # The logarithm of r (1 - r) has the slope (1 - 2 r) / (r (1 - r)) = -8/3, that of the excess
    # 2 / (2 r - 1) = 4; -4 times the covariance of both.
    together = -4 * (-8 / 3) * 4 * 0.05**2
    assert parts.spread_minutes**2 == pytest.approx(0.25 + 4 * 0.2**2 + together)


def test_no_difference_cannot_be_planned_for() -> None:
    with pytest.raises(PlanError, match="ratio"):
        plan_tasks(ratio=1)
    with pytest.raises(OptionError, match="ratio"):
        plan_tasks(ratio=0)
