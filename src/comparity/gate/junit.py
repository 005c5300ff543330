"""Gates as JUnit XML, which continuous integration shows beside the tests.

A suite is an audit; its first case is the audit as a whole, the others are its hypotheses. What
the policy allows to stay open is a skipped case.
"""

from __future__ import annotations

from xml.etree import ElementTree

from comparity.gate.result import CheckedAudit, GateResult
from comparity.gate.section import Case, cases
from comparity.reports.formats import clipped

__all__ = ["junit_xml"]


def junit_xml(result: GateResult) -> str:
    """Return a gate as the text of a JUnit XML file."""
    root = ElementTree.Element("testsuites", name=clipped(result.policy))
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
        name=clipped(check.name),
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
