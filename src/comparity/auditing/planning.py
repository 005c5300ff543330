"""The desk for plans: how much data a study needs, and what it would be able to show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from comparity import __version__
from comparity.counts import Cell
from comparity.errors import PlanError
from comparity.inference.scenarios import (
    ComparativeScenario,
    ExpectedGaps,
    PowerQuestion,
    SeparationScenario,
)
from comparity.plans import ComparativePlan, PlannedTest, SeparationPlan

__all__ = ["plan_comparative", "plan_separation"]

RULES = ("holm", "paper")
#: Below this many trials behind a rate the normal approximation is rough (Xi et al., Prop. 3.5).
FEW_TRIALS = 30
Rates = tuple[float, ...]


def plan_separation(
    *,
    tpr: Sequence[float],
    fpr: Sequence[float],
    shares: Sequence[float],
    base_rates: Sequence[float],
    n: int | None = None,
    power: float | None = None,
    alpha: float = 0.05,
    margin: float | None = None,
    rule: str = "holm",
    groups: Sequence[str] | None = None,
) -> SeparationPlan:
    """Plan a test of separation: the power of `n` decisions, or the decisions for a power.

    Exactly one of `n` and `power` is given; the other is found.

    Parameters
    ----------
    tpr, fpr : sequence of float
        True and false positive rate assumed for each group.
    shares : sequence of float
        Share of each group among the items; they sum to 1.
    base_rates : sequence of float
        Share of positive items within each group.
    n : int, optional
        Number of decisions.
    power : float, optional
        Power wanted.
    alpha : float, default 0.05
        Overall false-alarm rate.
    margin : float, optional
        Plan to show that all gaps are smaller than this, by two one-sided tests at `alpha` each;
        by default the plan is to find a violation.
    rule : {"holm", "paper"}, default "holm"
        Whether the overall false-alarm rate is kept, or each test is judged at `alpha`.
    groups : sequence of str, optional
        Names of the groups; their numbers by default.

    Returns
    -------
    SeparationPlan
        With ``n``, ``power``, ``tests`` and ``curve()``. ``n`` is ``None`` where no number of
        decisions has the power wanted, and a note says why.

    Raises
    ------
    PlanError
        If a rate, share or choice is impossible.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Proposition 3.5 and Section 3.4.

    Examples
    --------
    The second classifier of Table 1, whose published power is 0.4743 (Table 3):

    >>> rates = dict(tpr=[0.8, 0.8], fpr=[0.36, 0.44], shares=[0.5, 0.5], base_rates=[0.55, 0.45])
    >>> plan = plan_separation(**rates, n=1000, rule="paper")
    >>> round(plan.power, 4)
    0.4744
    >>> plan_separation(**rates, power=0.8).n
    2765
    """
    rates = {"tpr": tpr, "fpr": fpr, "shares": shares, "base_rates": base_rates}
    checked, names = _checked_rates(rates, groups)
    choices = _checked_choices({"n": n}, power, alpha, margin, rule)
    question = PowerQuestion(
        scenario=SeparationScenario(**checked), alpha=alpha, margin=margin, rule=rule
    )
    size = question.smallest_size(power) if n is None and power is not None else n
    pairs = list(combinations(names, 2))
    nulls = [f"{rate}({a}) = {rate}({b})" for rate in ("TPR", "FPR") for a, b in pairs]
    expected = question.scenario.expect(math.inf if size is None else size)
    reached = question.limit() if size is None else question.power(size)
    assumptions: dict[str, Any] = {**checked, **choices}
    return SeparationPlan(
        n=size,
        power=reached,
        target=power,
        tests=_planned(question, expected, nulls),
        groups=names,
        alpha=alpha,
        margin=margin,
        rule=rule,
        design="independent decisions",
        notes=(
            *_unreached(size, power, reached, "decisions"),
            *_notes(question, expected),
        ),
        assumptions=assumptions,
        provenance=_provenance(assumptions, names),
        question=question,
    )
