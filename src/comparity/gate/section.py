"""Gates as sections of a report, and for continuous integration: JUnit XML, SARIF, Markdown.

In JUnit XML a suite is an audit; its first case is the audit as a whole, the others are its
hypotheses, and what the policy allows to stay open is a skipped case.

SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html) has one rule for each
notion and one result for each audit that fails as a whole and each hypothesis that fails, located
where the policy asks for that audit. What passes or may stay open is left to the other reports:
GitHub shows every result as an alert, whatever its kind.

In Markdown whatever comes from data or from the policy stands in a code span: there it neither
formats, links, mentions anybody nor is HTML.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from comparity import __version__
from comparity.gate.check import CheckedAudit, GateResult
from comparity.reports.charts import KINDS
from comparity.reports.ranges import JudgedRange, RangeAudit
from comparity.reports.sections import (
    NO_CHARACTERS,
    Grid,
    Section,
    clip,
    count,
    interval,
    p_value,
    percent,
    shorten_words,
    signed,
    sizes,
)
from comparity.results.audit import Audit, JudgedGap
from comparity.results.result import UNDECIDED, VIOLATED

# So many hypotheses of one audit are told; all are in the other reports.
TOLD = 5

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# Brackets begin links and braces placeholders in a message (3.11.5, 3.11.6).
ESCAPES = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})

HEADER = re.compile(r"[ \t]*\[\[[ \t]*(?:audit|\"audit\"|'audit')[ \t]*\]\]")
RULES = {
    "separation": "Error rates differ between groups, given the label.",
    "comparative": "A model agrees with judges more often in some kinds of pairs than in others.",
    "pairwise": "A score orders some kinds of pairs better than others.",
    "parity": "Items of some group have the higher score more often.",
    "rank": "A model agrees with the bias-adjusted panel more often in some kinds of pairs.",
    "impact": "The selection rate of a group is too small, relative to the largest one.",
    "metrics": "A metric lies outside its published range.",
    "judges": "A judge leans to a seat, a length, a style or a family of models.",
    "relative": "One decision maker favours a group, relative to another.",
    "raters": "Some of several raters favour a group, relative to others.",
}
"""What it means that an audit fails, by notion."""
HELP = (
    "A result is a gap between groups with the interval it was judged by, or an audit that decided "
    "nothing where the policy wants a decision. `comparity gate` with the same policy shows all "
    "numbers, --html a page with pictures; margins and columns are those of the policy."
)

SIGNS = {"failed": "❌", "open": "❔", "passed": "✅"}


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
        lists={"What stops the change": list(_failed_hypotheses(stopping))} if stopping else {},
    )


def _failed_hypotheses(checks: list[CheckedAudit]) -> Iterator[str]:
    """Yield the hypotheses that fail, with their numbers: what a log of a run must say."""
    for check in checks:
        whole, *tests = cases(check)
        yield f"{whole.audit}: {finding_sentence(check)}"
        failed = [one for one in tests if one.outcome == "failed"]
        for one in failed[:TOLD]:
            yield f"{one.audit}: {one.name}: {one.said}"
        if len(failed) > TOLD:
            yield f"{clip(check.name)}: and {count(len(failed) - TOLD)} more"


def finding_sentence(check: CheckedAudit) -> str:
    """Return the finding of an audit in numbers that people repeat, as its own report begins."""
    return shorten_words(check.result.section().sentences[0]).translate(NO_CHARACTERS)


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
    return f"Gate {clip(result.policy)}: {'passed' if result.passed else 'failed'}"


def cases(check: CheckedAudit) -> Iterator[Case]:
    """Yield the audit as a whole, then each of its hypotheses.

    A hypothesis fails only where the audit does, and the first case fails whenever the audit does:
    a reader of cases comes to the verdict of the gate.
    """
    whole = "passed" if check.passed else "failed"
    name = clip(check.name)
    told = "" if check.passed else f". {finding_sentence(check)}"
    yield Case(
        audit=name,
        name="the audit as a whole",
        outcome=whole if check.finding != UNDECIDED or not check.passed else "open",
        said=f"{check.finding}: {check.reason}{told}",
    )
    for test in check.result.tests:
        yield Case(
            audit=name,
            name=clip(test.null),
            outcome=_outcome(check, test),
            said=_said_range(test)
            if isinstance(test, JudgedRange)
            else _finding_in_numbers(test, check),
        )


def _outcome(check: CheckedAudit, test: JudgedGap | JudgedRange) -> str:
    if test.finding == VIOLATED:
        return "open" if check.passed else "failed"
    if test.finding == UNDECIDED:
        return "open" if check.passed or check.finding == VIOLATED else "failed"
    return "passed"


def _said_range(test: JudgedRange) -> str:
    if not test.is_tested:
        return f"{test.finding}: {clip(test.reason or 'no number')}"
    low, high, level = test.deciding_interval
    return (
        f"{test.finding}: {test.value:.3f}, {percent(level)} interval "
        f"{interval(low, high, sign=False)}, range {test.low:g} to {test.high:g}"
    )


def _finding_in_numbers(test: JudgedGap, check: CheckedAudit) -> str:
    if test.pivot is None:
        return f"{test.finding}: {clip(test.reason)}"
    low, high, level = test.deciding_interval
    of = getattr(check.audit, "n", 0)
    return (
        f"{test.finding}: gap {signed(test.gap)}, {percent(level)} interval {interval(low, high)}, "
        f"adjusted p {p_value(test.p_adjusted)}, n {sizes(test.n, of)}"
    )


def _row(check: CheckedAudit) -> tuple[str, ...]:
    audit = check.audit
    return (
        f"{clip(check.name)}\n{clip(', '.join(check.files))}",
        "passed" if check.passed else "failed",
        check.reason,
        f"{audit.alpha:g}",
        _margin(audit),
        check.finding,
    )


def _margin(audit: Audit | RangeAudit) -> str:
    return "ranges" if isinstance(audit, RangeAudit) else f"{audit.margin:g}"


def junit_xml(result: GateResult) -> str:
    """Return a gate as the text of a JUnit XML file."""
    root = ElementTree.Element("testsuites", name=clip(result.policy))
    suites = [_suite(check) for check in result.checks]
    for number in ("tests", "failures", "errors", "skipped"):
        root.set(number, str(sum(int(suite.get(number, "0")) for suite in suites)))
    root.extend(suites)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _suite(check: CheckedAudit) -> ElementTree.Element:
    told = list(cases(check))
    outcomes = [one.outcome for one in told]
    suite = ElementTree.Element(
        "testsuite",
        name=clip(check.name),
        tests=str(len(told)),
        failures=str(outcomes.count("failed")),
        errors="0",
        skipped=str(outcomes.count("open")),
    )
    suite.extend(_case(one, check.notion) for one in told)
    return suite


def _case(one: Case, notion: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=f"{notion}.{one.audit}", name=one.name)
    if one.outcome == "failed":
        ElementTree.SubElement(case, "failure", message=one.said).text = one.said
    elif one.outcome == "open":
        ElementTree.SubElement(case, "skipped", message=one.said)
    else:
        ElementTree.SubElement(case, "system-out").text = one.said
    return case


def audit_lines(policy: str) -> list[int]:
    r"""Return the lines, from 1, on which the audits of a policy begin, by its text.

    Examples
    --------
    >>> audit_lines('alpha = 0.05\n[[audit]]\nname = "a"\n\n[[audit]]\nname = "b"')
    [2, 5]
    """
    return [line for line, text in enumerate(policy.split("\n"), 1) if HEADER.match(text)]


def sarif_json(
    result: GateResult, *, policy: str = "policy.toml", lines: Sequence[int] = ()
) -> str:
    """Return a gate as the text of a SARIF file.

    Parameters
    ----------
    result : GateResult
        The gate.
    policy : str
        Path of the policy from the root of the repository: what findings are pinned to.
    lines : sequence of int
        Lines on which its audits begin; unless there is one for each, findings are on the first.
    """
    if len(lines) != len(result.checks):
        lines = [1] * len(result.checks)
    notions = sorted({check.notion for check in result.checks})
    found = [
        _result(one, check.notion, policy, line)
        for check, line in zip(result.checks, lines, strict=True)
        for one in cases(check)
        if one.outcome == "failed"
    ]
    driver = {
        "name": "comparity",
        "version": __version__,
        "rules": [_rule(name) for name in notions],
    }
    run = {
        "tool": {"driver": driver},
        "results": found,
        "properties": {"passed": result.passed, "exitStatus": result.exit_status},
    }
    content = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _rule(notion: str) -> dict[str, Any]:
    return {
        "id": notion,
        "shortDescription": {"text": RULES[notion]},
        "fullDescription": {"text": RULES[notion]},
        "help": {"text": HELP},
    }


def _result(one: Case, notion: str, policy: str, line: int) -> dict[str, Any]:
    identity = hashlib.sha256(f"{notion}\0{one.audit}\0{one.name}".encode()).hexdigest()
    place = {"artifactLocation": {"uri": quote(policy)}, "region": {"startLine": line}}
    return {
        "ruleId": notion,
        "kind": "fail",
        "level": "error",
        "message": {"text": f"{one.audit}: {one.name}: {one.said}".translate(ESCAPES)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"comparity/v1": identity},
    }


def markdown(result: GateResult) -> str:
    """Return a gate as Markdown: the answer, a row for each audit, and what stopped it."""
    answer = "passed" if result.passed else "failed"
    lines = [
        f"## {SIGNS[answer]} Gate {code(result.policy)}: {answer}",
        "",
        "| audit | gate | finding | why | alpha | margin |",
        "| --- | --- | --- | --- | ---: | ---: |",
        *map(_line, result.checks),
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
    safe = clip(text).replace("|", "\\x7c").strip() or '""'
    fence = "`" * (max(map(len, re.findall("`+", safe)), default=0) + 1)
    space = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{space}{safe}{space}{fence}"


def _line(check: CheckedAudit) -> str:
    answer = "passed" if check.passed else "failed"
    audit = check.audit
    numbers = f"{audit.alpha:g} | {_margin(audit)}"
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
