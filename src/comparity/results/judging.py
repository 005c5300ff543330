"""From tests to findings: which are violated, which within the margin, which undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from comparity.inference.gap_tests import GapTest
from comparity.inference.looks import nominal_level, overall_p_value
from comparity.inference.multiplicity import holm, uncorrected
from comparity.inference.requirement import needed_data
from comparity.results.audit import JudgedGap
from comparity.results.findings import UNDECIDED, VIOLATED, WITHIN

__all__ = ["judge", "overall_finding"]


def judge(
    tests: Sequence[GapTest],
    *,
    alpha: float,
    margin: float,
    rule: str = "holm",
    looks: tuple[int, int] | None = None,
    n: int,
    n_items: int,
) -> tuple[JudgedGap, ...]:
    """Give every test of an audit its finding.

    Parameters
    ----------
    tests : sequence of GapTest
        All tests of the audit: they form one family.
    alpha, margin : float
        Overall false-alarm rate and largest harmless gap.
    rule : {"holm", "paper"}
        Holm's correction, or none.
    looks : (int, int), optional
        This look and the number of planned looks.
    n, n_items : int
        Judgments and items there are now, for what would decide.
    """
    look, planned = looks or (1, 1)
    p_values = [overall_p_value(test.p_value, look, planned) for test in tests]
    family = holm(p_values, alpha) if rule == "holm" else uncorrected(p_values, alpha)
    # One-sided at alpha is half of two-sided at twice alpha, at this look as at any other.
    twice = min(2 * alpha, 1.0)
    inside_alpha = nominal_level(twice, look, planned) / 2
    # More data will be judged at the last look, not at the level of this one.
    final_inside_alpha = nominal_level(twice, planned, planned) / 2
    judged = []
    for test, p_adjusted, rejected, local in zip(
        tests, family.adjusted, family.rejected, family.local_alpha, strict=True
    ):
        equivalence_p = test.equivalence_p_value(margin)
        finding = _finding(
            rejected=bool(rejected), inside=equivalence_p <= inside_alpha, paper=rule == "paper"
        )
        local_alpha = nominal_level(float(local), look, planned)
        judged.append(
            JudgedGap(
                **{field.name: getattr(test, field.name) for field in fields(GapTest)},
                p_adjusted=float(p_adjusted),
                level=1 - local_alpha,
                finding=finding,
                differs_from_zero=bool(rejected),
                equivalence_p=equivalence_p,
                needed=None
                if finding != UNDECIDED
                else needed_data(
                    test,
                    margin=margin,
                    alpha=final_inside_alpha,
                    local_alpha=nominal_level(float(local), planned, planned),
                    n=n,
                    n_items=n_items,
                ),
            )
        )
    return tuple(judged)


def _finding(*, rejected: bool, inside: bool, paper: bool) -> str:
    if inside and not (paper and rejected):
        return WITHIN
    return VIOLATED if rejected else UNDECIDED


def overall_finding(tests: Sequence[JudgedGap]) -> str:
    """Return the finding of an audit from those of its tests; no tests leave it open.

    Examples
    --------
    >>> overall_finding([])
    'undecided'
    """
    findings = {test.finding for test in tests}
    if VIOLATED in findings:
        return VIOLATED
    return WITHIN if findings == {WITHIN} else UNDECIDED
