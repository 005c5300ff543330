r"""How many judges tell which task needs fewer minutes.

With :math:`n` judges of each task the logarithm of the ratio of minutes
(:mod:`comparity.tasks.minutes`) has about the variance

.. math:: \frac{2 \tau^2}{n}, \qquad \tau^2 = (e^{\sigma^2} - 1) + \frac{4}{C}
    + 4 \Big( \frac{2 s}{2 r - 1} \Big)^2 + \frac{8 s^2}{r (1 - r)} .

The first term is that of the time, with :math:`\sigma` the spread of its logarithm between judges;
the second that of a variance, of which the rates of every judge in :math:`C` kinds of pairs tell as
much as :math:`C / 2` independent numbers do (some of them vary more than others; with two groups
and leaning judges about 2 have been measured); the third that of the squared excess of agreement
over chance, with :math:`r` the model's agreement with a judge and :math:`s` its standard deviation
between judges. The last is their covariance: a variance of rates goes with :math:`r (1 - r)`, so
that it falls where the excess rises, and what is divided by the square of the excess falls twice.
A ratio of times alone has :math:`\tau^2 = \sigma^2`. Welch's test at :math:`\alpha` finds a ratio
:math:`\rho` with the power of a t-test on :math:`2 n - 2` degrees of freedom at
:math:`\log \rho \sqrt{n / (2 \tau^2)}`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from scipy.stats import nct
from scipy.stats import t as student

from comparity.errors import Option, PlanError
from comparity.inference.power import LARGEST_SIZE, smallest_size
from comparity.reports.sections import Section, count, percent
from comparity.results.options import shows
from comparity.results.result import Result, frame_of_rows
from comparity.tasks.options import TaskPlanOptions

FEWEST = 5
"""Judges of a task below which tasks are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan(Result):
    """How many judges of each task find a ratio.

    Attributes
    ----------
    n_minutes, n_time : int
        Judges of each task, for the ratio of minutes and for one of times as large.
    spread_minutes, spread_time : float
        Standard deviations, for one judge, of the logarithms.
    ratio, power, alpha : float
    assumptions : dict
    """

    n_minutes: int
    n_time: int
    spread_minutes: float
    spread_time: float
    ratio: float
    power: float
    alpha: float
    assumptions: dict[str, float]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for minutes and one for times, as a frame of the named engine."""
        rows = [
            {"outcome": "minutes", "judges_each": self.n_minutes, "spread": self.spread_minutes},
            {"outcome": "time", "judges_each": self.n_time, "spread": self.spread_time},
        ]
        return frame_of_rows(rows, backend)

    def section(self) -> Section:
        """Return the plan as a section of a report."""
        known = self.assumptions
        return Section(
            headline=f"{count(self.n_minutes)} judges are needed for each task",
            sentences=(
                f"With {count(self.n_minutes)} judges who rate and as many who compare, a ratio of "
                f"minutes of {self.ratio:g} is found with {percent(self.power)} power by a test at "
                f"{percent(self.alpha)}. To find the same ratio of times, {count(self.n_time)} of "
                "each are enough.",
                f"Assumed: the logarithm of the time has a standard deviation of "
                f"{known['time_spread']:g} between judges; {known['kinds']:g} kinds of pairs; the "
                f"model agrees with judges in {percent(known['agreement'])} of pairs, with a "
                f"standard deviation of {100 * known['agreement_spread']:g} points between judges.",
                "How many items each judge sees changes how long they take, not how many judges "
                "are needed.",
            ),
        )


@shows(TaskPlanOptions)
def plan_tasks(**choices: Any) -> TaskPlan:
    """Find how many judges of each task a comparison of ratings with comparisons needs.

    Parameters
    ----------
    ratio : float
        Ratio of minutes, ratings over comparisons, that is to be found; not 1.
    power, alpha : float
        Of the test.
    time_spread : float
        Standard deviation, between judges, of the logarithm of the time for an answer.
    kinds : int
        Kinds of pairs: with two groups 4.
    agreement, agreement_spread : float
        How often the model agrees with a judge about a pair, and the standard deviation of that
        between judges: about 0.07 with 40 comparisons each.

    Returns
    -------
    TaskPlan

    Examples
    --------
    >>> plan = plan_tasks(ratio=0.5)
    >>> plan.n_minutes, plan.n_time
    (57, 7)
    """
    options = TaskPlanOptions(**choices)
    if options.ratio == 1:
        raise PlanError(
            "a ratio of 1 is no difference",
            "ratio=1",
            "give the smallest {} that matters, such as 0.7",
            Option("ratio"),
        )
    excess = 2 * options.agreement - 1
    of_time = math.expm1(options.time_spread**2)
    of_variance = 4 / options.kinds
    of_strength = 4 * (2 * options.agreement_spread / excess) ** 2
    of_both = 8 * options.agreement_spread**2 / (options.agreement * (1 - options.agreement))
    of_minutes = of_time + of_variance + of_strength + of_both
    spreads = math.sqrt(of_minutes), options.time_spread
    n_minutes, n_time = (judges_needed(options, one) for one in spreads)
    return TaskPlan(
        n_minutes=n_minutes,
        n_time=n_time,
        spread_minutes=spreads[0],
        spread_time=spreads[1],
        ratio=options.ratio,
        power=options.power,
        alpha=options.alpha,
        assumptions={name: float(value) for name, value in asdict(options).items()},
    )


def judges_needed(options: TaskPlanOptions, spread: float) -> int:
    """Return the smallest number of judges of each task that reaches the power."""
    distance = abs(math.log(options.ratio))
    found = smallest_size(
        lambda n: power_of(distance, spread, max(n, FEWEST), options.alpha), options.power
    )
    return LARGEST_SIZE if found is None else max(found, FEWEST)


def power_of(distance: float, spread: float, n: int, alpha: float) -> float:
    """Return the power of Welch's test of two means of `n` judges each.

    Examples
    --------
    >>> round(power_of(0.5, 1.0, 64, 0.05), 3)
    0.801
    """
    if spread == 0:
        return 1.0
    dof = 2 * n - 2
    reach = float(student.isf(alpha / 2, dof))
    shift = distance / spread * math.sqrt(n / 2)
    return float(nct.sf(reach, dof, shift) + nct.cdf(-reach, dof, shift))
