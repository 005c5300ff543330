"""Ratings beside comparisons: tests at their level, coverage of minutes, power as planned.

In the first world those who compare see items as points of the scale, with the noise of raters, and
take as long: a comparison is what two ratings imply, and the tasks do not differ in time,
consistency, agreement or effort.

``python -m tests.calibration.test_tasks 1000`` prints the shares of 1,000 studies of each world.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from comparity import compare_tasks, plan_tasks
from comparity.datasets.simulated_tasks import simulate_tasks
from comparity.tasks.result import TaskComparison

ALIKE = ("time", "consistency", "agreement", "effort")
SAME = {"noise": (0.7, 0.7), "seconds": (6.0, 6.0), "cut": True, "n_items": 60}
DIFFERENT = {"noise": (1.2, 0.4), "seconds": (6.0, 9.8), "n_items": 200}
# Mean over 20 studies of 400 judges each: the logarithm of the ratio of minutes is -0.96, with a
# standard error of 0.03; the model agrees with raters in 0.68 of pairs and with the others in 0.75,
# with standard deviations between judges of 0.055 and 0.069.
RATIO = math.exp(-0.96)
PLANNED = {"ratio": RATIO, "agreement": 0.715, "agreement_spread": 0.062}
STUDIES = [40, pytest.param(1000, marks=pytest.mark.slow)]


def study(n_judges: int, seed: tuple[int, int], **world: object) -> TaskComparison:
    found = simulate_tasks(n_judges=n_judges, rng=np.random.default_rng(seed), **world)  # type: ignore[arg-type]
    return compare_tasks(
        found.comparisons,
        found.ratings,
        found.items,
        questionnaire=found.questionnaire,
        sensitive="group",
        score="score",
    )


def false_alarms(n_judges: int, studies: int) -> dict[str, float]:
    """Return how often tasks that do not differ are told apart, by outcome."""
    found = [study(n_judges, (1, seed), **SAME) for seed in range(studies)]
    return {name: float(np.mean([one[name].p_value < 0.05 for one in found])) for name in ALIKE}


def found_and_covered(n_judges: int, studies: int) -> tuple[float, float]:
    """Return how often ratings are found to need fewer minutes, and intervals hold the ratio."""
    found = [study(n_judges, (2, seed), **DIFFERENT) for seed in range(studies)]
    power = np.mean([one.fewer_minutes == "ratings" for one in found])
    held = [one["minutes"].interval.low < RATIO < one["minutes"].interval.high for one in found]
    return float(power), float(np.mean(held))


@pytest.mark.parametrize("studies", STUDIES)
@pytest.mark.parametrize("n_judges", [20, pytest.param(80, marks=pytest.mark.slow)])
def test_tasks_that_do_not_differ_are_told_apart_at_the_level(n_judges: int, studies: int) -> None:
    error = math.sqrt(0.05 * 0.95 / studies)
    for outcome, share in false_alarms(n_judges, studies).items():
        assert share < 0.05 + 4 * error, outcome


@pytest.mark.parametrize("studies", STUDIES)
def test_a_known_ratio_of_minutes_is_found_at_the_planned_power(studies: int) -> None:
    plan = plan_tasks(**PLANNED, power=0.8)
    power, covered = found_and_covered(2 * plan.n_minutes, studies)
    # The plan is a formula of three parts; what it leaves out costs up to 0.08.
    assert abs(power - 0.76) < 0.04 + 4 * math.sqrt(0.8 * 0.2 / studies)
    # The ratio is that of items drawn anew for every study.
    assert covered > 0.92 - 4 * math.sqrt(0.95 * 0.05 / studies)


@pytest.mark.parametrize("studies", STUDIES)
def test_a_known_ratio_of_times_is_found_at_the_planned_power(studies: int) -> None:
    # Of 44 answers with a spread of 0.5 the mean adds little to the spread between judges.
    spread = math.hypot(0.4, 0.5 / math.sqrt(44))
    n = plan_tasks(ratio=0.7, time_spread=spread).n_time
    small = {"n_items": 44, "each": 40, "seconds": (7.0, 10.0)}
    found = [study(2 * n, (3, seed), **small)["time"].p_value < 0.05 for seed in range(studies)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.01 + 4 * math.sqrt(0.16 / studies))


def main(studies: int) -> None:
    """Print the shares."""
    for n_judges in (20, 80):
        print(f"{n_judges} judges, no difference: {false_alarms(n_judges, studies)}", flush=True)
    n = 2 * plan_tasks(**PLANNED, power=0.8).n_minutes
    power, covered = found_and_covered(n, studies)
    print(
        f"{n} judges, planned power 0.8: {power:.3f}; the interval holds the ratio: {covered:.3f}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
