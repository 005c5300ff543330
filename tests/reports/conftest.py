"""Audits built by hand: reporting shows what a result holds and computes nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from scipy.stats import norm

from comparity.counts.pairs import Cell
from comparity.inference.gap_tests import Interval, JointTest, Needed, RateEstimate
from comparity.results.audit import Audit, JudgedGap, Ties
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

RATES = (0.8, 0.69, 0.8, 0.79)


@dataclass(frozen=True)
class NormalPivot:
    gap: float
    error: float

    def p_below(self, hypothesised: float) -> float:
        return float(norm.cdf((self.gap - hypothesised) / self.error))

    def p_above(self, hypothesised: float) -> float:
        return 1 - self.p_below(hypothesised)

    def p_value(self, hypothesised: float) -> float:
        return 2 * min(self.p_below(hypothesised), self.p_above(hypothesised))

    def interval(self, level: float) -> Interval:
        half = float(norm.isf((1 - level) / 2)) * self.error
        return Interval(self.gap - half, self.gap + half, level)


def judged(null: str, gap: float, finding: str, **more: object) -> JudgedGap:
    pivot = NormalPivot(gap, 0.02)
    facts: dict[str, object] = {
        "null": null,
        "gap": gap,
        "standard_error": 0.02,
        "p_value": pivot.p_value(0),
        "n": (1234, 1200),
        "method": "score test",
        "pivot": pivot,
        "p_adjusted": min(1.0, 2 * pivot.p_value(0)),
        "level": 0.975,
        "equivalence_level": 0.9,
        "finding": finding,
        "differs_from_zero": finding == VIOLATED,
        "equivalence_p": max(pivot.p_below(0.05), pivot.p_above(-0.05)),
    }
    return JudgedGap(**(facts | more))  # type: ignore[arg-type]


def agreement(cell: Cell, rate: float) -> RateEstimate:
    interval = Interval(rate - 0.03, rate + 0.03, 0.95)
    return RateEstimate(
        name="agreement", of=str(cell), rate=rate, trials=1234, score_ties=3, interval=interval
    )


def audit_of(first: str, second: str) -> Audit:
    """Return an audit of groups with these names, one gap found and one open."""
    across = f"agree({Cell(first, second)}) = agree({Cell(second, first)})"
    within = f"agree({Cell(first, first)}) = agree({Cell(second, second)})"
    needed = Needed(judgments=(9000, None), items=(800, 2400), judgments_with_items=(9600, 28800))
    cells = [Cell(better, worse) for better in (first, second) for worse in (first, second)]
    return Audit(
        notion="comparative separation",
        finding=VIOLATED,
        exit_status=1,
        tests=(
            judged(across, -0.11, VIOLATED),
            judged(within, 0.01, UNDECIDED, needed=needed, reason="few judgments"),
        ),
        rates=tuple(agreement(cell, rate) for cell, rate in zip(cells, RATES, strict=True)),
        groups=(first, second),
        design="shared items and evaluators",
        n=4868,
        n_items=400,
        n_evaluators=12,
        alpha=0.05,
        margin=0.05,
        rule="holm",
        joint_tests=(
            JointTest(null="all cells agree", statistic=31.4, dof=3, p_value=7e-7, method="Wald"),
        ),
        ties=Ties(
            judgments=40,
            judgments_by_groups={f"{first}, {second}": 40},
            scores=12,
            scores_by_cell={cells[0].__str__(): 12},
        ),
        notes=("Equal agreement in all cells is comparative separation, not separation.",),
        provenance={"version": "0.1.0", "seed": None, "options": {"alpha": 0.05}},
    )


@pytest.fixture
def audit() -> Audit:
    return audit_of("f", "m")


@pytest.fixture
def audit_with_groups() -> Callable[[str, str], Audit]:
    return audit_of


@pytest.fixture
def harmless_audit(audit: Audit) -> Audit:
    tests = tuple(judged(test.null, 0.001, WITHIN) for test in audit.tests)
    return replace(audit, finding=WITHIN, exit_status=0, tests=tests)


@pytest.fixture
def open_audit(audit: Audit) -> Audit:
    return replace(audit, finding=UNDECIDED, exit_status=3, tests=audit.tests[1:])
