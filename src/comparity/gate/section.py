"""Gates for terminal, page and notebook, and what JUnit, SARIF and Markdown share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from comparity.gate.result import CheckedAudit, GateResult
from comparity.reports.charts import KINDS
from comparity.reports.formats import clipped, count, interval, p_value, percent, signed, sizes
from comparity.reports.sections import Grid, Section
from comparity.results.audit import JudgedGap
from comparity.results.findings import UNDECIDED, VIOLATED

__all__ = ["Case", "cases", "headline", "section"]

# So many hypotheses of one audit are told; all are in the other reports.
TOLD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line of a report to a machine: an audit as a whole, or one of its hypotheses.

    Attributes
    ----------
    audit, name : str
        The audit, and the hypothesis; safe to show, and not too long.
    outcome : str
        ``"failed"``, ``"open"`` (allowed by the policy) or ``"passed"``.
    said : str
        What was found, in one line.
    """

    audit: str
    name: str
    outcome: str
    said: str


def section(result: GateResult) -> Section:
    """Return what is shown of a gate: the answer, a row for each audit, and what stops it."""
    stopping = [check for check in result.checks if not check.passed]
    kind = KINDS[VIOLATED if any(one.finding == VIOLATED for one in stopping) else UNDECIDED]
    return Section(
        headline=headline(result),
        sentences=_sentences(len(result.checks), len(stopping)),
        kind=kind if stopping else "inside",
        grids=(
            Grid(
                title="Audits",
                header=("audit", "gate", "why", "alpha", "margin", "finding"),
                rows=tuple(map(_row, result.checks)),
                findings=tuple(check.finding for check in result.checks),
            ),
        ),
        lists={"What stops the change": list(_stopping(stopping))} if stopping else {},
    )


def _stopping(checks: list[CheckedAudit]) -> Iterator[str]:
    """Yield the hypotheses that fail, with their numbers: what a log of a run must say."""
    for check in checks:
        _, *tests = cases(check)
        failed = [one for one in tests if one.outcome == "failed"]
        for one in failed[:TOLD]:
            yield f"{one.audit}: {one.name}: {one.said}"
        if len(failed) > TOLD:
            yield f"{clipped(check.name)}: and {count(len(failed) - TOLD)} more"


def _sentences(made: int, stopping: int) -> tuple[str, ...]:
    if made == 1:
        return (f"The only audit {'stops the change' if stopping else 'lets the change pass'}.",)
    return (
        f"{count(made - stopping)} of {count(made)} audits let the change pass.",
        "Every audit has its own false-alarm rate: the more audits, the likelier one of them "
        "raises a false alarm.",
    )


def headline(result: GateResult) -> str:
    """Return the answer of a gate in a few words."""
    return f"Gate {clipped(result.policy)}: {'passed' if result.passed else 'failed'}"


def cases(check: CheckedAudit) -> Iterator[Case]:
    """Yield the audit as a whole, then each of its hypotheses.

    A hypothesis fails only where the audit does, and the first case fails whenever the audit does:
    a reader of cases comes to the verdict of the gate.
    """
    whole = "passed" if check.passed else "failed"
    name = clipped(check.name)
    yield Case(
        audit=name,
        name="the audit as a whole",
        outcome=whole if check.finding != UNDECIDED or not check.passed else "open",
        said=f"{check.finding}: {check.reason}",
    )
    for test in check.result.tests:
        yield Case(
            audit=name,
            name=clipped(test.null),
            outcome=_outcome(check, test),
            said=_said(test, check.audit.n),
        )


def _outcome(check: CheckedAudit, test: JudgedGap) -> str:
    if test.finding == VIOLATED:
        return "failed"
    if test.finding == UNDECIDED:
        return "open" if check.passed or check.finding == VIOLATED else "failed"
    return "passed"


def _said(test: JudgedGap, of: int) -> str:
    if test.pivot is None:
        return f"{test.finding}: {clipped(test.reason)}"
    low, high, level = test.interval(test.level)
    return (
        f"{test.finding}: gap {signed(test.gap)}, {percent(level)} interval {interval(low, high)}, "
        f"adjusted p {p_value(test.p_adjusted)}, n {sizes(test.n, of)}"
    )


def _row(check: CheckedAudit) -> tuple[str, ...]:
    audit = check.audit
    return (
        f"{clipped(check.name)}\n{clipped(', '.join(check.files))}",
        "passed" if check.passed else "failed",
        check.reason,
        f"{audit.alpha:g}",
        f"{audit.margin:g}",
        check.finding,
    )
