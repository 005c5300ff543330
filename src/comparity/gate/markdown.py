"""Gates as Markdown, for the summary of a run or a comment on a change.

Whatever comes from data or from the policy stands in a code span: there it neither formats, links,
mentions anybody nor is HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from comparity.gate.result import CheckedAudit, GateResult
from comparity.gate.section import cases
from comparity.reports.formats import clipped

__all__ = ["code", "markdown"]

SIGNS = {"failed": "❌", "open": "❔", "passed": "✅"}


def markdown(result: GateResult) -> str:
    """Return a gate as Markdown: the answer, a row for each audit, and what stopped it."""
    answer = "passed" if result.passed else "failed"
    lines = [
        f"## {SIGNS[answer]} Gate {code(result.policy)}: {answer}",
        "",
        "| audit | gate | finding | why | alpha | margin |",
        "| --- | --- | --- | --- | ---: | ---: |",
        *map(_row, result.checks),
    ]
    for check in result.checks:
        lines += ["", *_hypotheses(check)]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    r"""Return a text as a code span that nothing in it can end, in a table too.

    Examples
    --------
    >>> print(code("a ` b"), code("x|y"), code(""))
    ``a ` b`` `x\x7cy` `""`
    """
    # A bar would end the cell, whatever stands before it.
    safe = clipped(text).replace("|", "\\x7c").strip() or '""'
    fence = "`" * (max(map(len, re.findall("`+", safe)), default=0) + 1)
    space = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{space}{safe}{space}{fence}"


def _row(check: CheckedAudit) -> str:
    answer = "passed" if check.passed else "failed"
    audit = check.audit
    numbers = f"{audit.alpha:g} | {audit.margin:g}"
    return (
        f"| {code(check.name)} | {SIGNS[answer]} {answer} | {check.finding} | {check.reason} "
        f"| {numbers} |"
    )


def _hypotheses(check: CheckedAudit) -> Iterator[str]:
    """Yield the hypotheses of an audit as a list that can be folded away."""
    _, *tests = cases(check)
    yield f"**{code(check.name)}** ({check.notion})"
    yield ""
    for one in tests:
        yield f"- {SIGNS[one.outcome]} {code(one.name)}: {code(one.said)}"
    if not tests:
        yield "- There was nothing to compare."
