"""From tests to findings: which are violated, which within the margin, which undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from comparity.inference.gap_tests import GapTest, holm, uncorrected
from comparity.inference.looks import nominal_level, overall_p_value
from comparity.inference.requirement import needed_by_tests
from comparity.results.audit import Audit, JudgedGap
from comparity.results.findings import EXIT_STATUS, UNDECIDED, VIOLATED, WITHIN
from comparity.results.options import AuditOptions, provenance

__all__ = ["conclude", "judge", "overall_finding"]


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
    p_values = [test.p_value for test in tests]
    if planned > 1:
        p_values = [overall_p_value(p, look, planned) for p in p_values]
    family = holm(p_values, alpha) if rule == "holm" else uncorrected(p_values, alpha)
    # One-sided at alpha is half of two-sided at twice alpha, at this look as at any other.
    twice = min(2 * alpha, 1.0)
    inside_alpha = _level_at(twice, look, planned) / 2
    # More data will be judged at the last look, not at the level of this one.
    final_inside_alpha = _level_at(twice, planned, planned) / 2
    equivalence = [test.equivalence_p_value(margin) for test in tests]
    findings = [
        _finding(rejected=bool(rejected), inside=p <= inside_alpha, paper=rule == "paper")
        for p, rejected in zip(equivalence, family.rejected, strict=True)
    ]
    still_open = [place for place, finding in enumerate(findings) if finding == UNDECIDED]
    needed = needed_by_tests(
        [tests[place] for place in still_open],
        margin=margin,
        alpha=final_inside_alpha,
        local_alphas=[
            _level_at(family.local_alpha[place], planned, planned) for place in still_open
        ],
        n=n,
        n_items=n_items,
    )
    deciding = dict(zip(still_open, needed, strict=True))
    return tuple(
        JudgedGap(
            **{field.name: getattr(test, field.name) for field in fields(GapTest)},
            p_adjusted=float(family.adjusted[place]),
            level=1 - _level_at(family.local_alpha[place], look, planned),
            finding=findings[place],
            differs_from_zero=bool(family.rejected[place]),
            equivalence_p=equivalence[place],
            needed=deciding.get(place),
        )
        for place, test in enumerate(tests)
    )


def _level_at(alpha: float, look: int, planned: int) -> float:
    """Return the level of a look; the only one has all of it."""
    return alpha if planned == 1 else nominal_level(alpha, look, planned)


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


def conclude(
    tests: tuple[JudgedGap, ...], options: AuditOptions, data: Mapping[str, Any], **facts: Any
) -> Audit:
    """Put judged tests together with what else is known of an audit.

    Parameters
    ----------
    tests : tuple of JudgedGap
        All tests of the audit; the overall finding and the exit status follow from theirs.
    options : AuditOptions
        What they were judged by, for the record.
    data : mapping
        Facts about the data, for the provenance.
    **facts
        The other fields of :class:`~comparity.results.audit.Audit`.
    """
    finding = overall_finding(tests)
    return Audit(
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=tests,
        provenance=provenance(options, **data),
        **options.judging,
        **facts,
    )
