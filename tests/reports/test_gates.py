"""What machines read of a gate says the gate's verdict, whatever names the data have."""

import json
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from comparity.gate.check import CheckedAudit, GateResult
from comparity.gate.notions import NOTIONS
from comparity.gate.section import RULES, audit_lines, code, junit_xml, markdown, sarif_json
from comparity.reports.page import page
from comparity.reports.sections import LONGEST, clip
from comparity.reports.terminal import as_text
from comparity.results.audit import Audit

HOSTILE = (
    "<script>alert(1)</script>",
    "[click](http://evil.example)",
    "a | b \\| c",
    "``` ` ``",
    "\x1b[2J\x00\x07\r\n",
    "\u202eright to left\u2066",
    "\u05e9\u05dc\u05d5\u05dd",
    "\U0001f600 @everyone #1 {0} {1}",
    "\ud800\ufffe\uffff",
    "x" * 5000,
    "]]>-->",
    "",
)


def gate_of(*audits: Audit, names: tuple[str, ...] = (), passed: bool = False) -> GateResult:
    checks = tuple(
        CheckedAudit(
            name=name,
            notion="comparative",
            files=(f"{name}.csv",),
            result=audit,
            open_means="allow" if passed else "fail",
        )
        for name, audit in zip(names or map(str, range(len(audits))), audits, strict=True)
    )
    return GateResult(policy="release", checks=checks, exit_status=0 if passed else 1)


@pytest.fixture
def failed(audit: Audit) -> GateResult:
    return gate_of(audit)


@pytest.fixture
def passing(harmless_audit: Audit) -> GateResult:
    return gate_of(harmless_audit, passed=True)


@pytest.fixture
def hostile(audit_with_groups: Callable[[str, str], Audit]) -> GateResult:
    audits = [audit_with_groups(name, f"{name}!") for name in HOSTILE]
    return replace(gate_of(*audits, names=HOSTILE), policy=HOSTILE[0] + HOSTILE[4])


def test_junit_counts_failures_where_the_gate_fails_and_none_where_it_passes(
    failed: GateResult, passing: GateResult
) -> None:
    for gate in (failed, passing):
        root = ElementTree.fromstring(junit_xml(gate))
        failures = root.findall(".//failure")
        assert bool(failures) is not gate.passed
        assert int(root.get("failures", "")) == len(failures)
        tests = gate.checks[0].result.tests
        assert int(root.get("tests", "")) == len(root.findall(".//testcase")) == 1 + len(tests)


def test_what_may_stay_open_is_skipped(open_audit: Audit) -> None:
    gate = gate_of(open_audit, passed=True)
    root = ElementTree.fromstring(junit_xml(gate))
    assert not root.findall(".//failure")
    assert len(root.findall(".//skipped")) == int(root.get("skipped", "")) == 2
    assert json.loads(sarif_json(gate))["runs"][0]["results"] == []


def test_an_audit_without_tests_fails_in_every_form(audit: Audit) -> None:
    gate = gate_of(replace(audit, tests=()))
    assert ElementTree.fromstring(junit_xml(gate)).get("failures") == "1"
    (only,) = json.loads(sarif_json(gate))["runs"][0]["results"]
    assert (only["kind"], only["level"]) == ("fail", "error")
    assert "nothing to compare" in markdown(gate)


def test_sarif_has_what_the_standard_requires(failed: GateResult, passing: GateResult) -> None:
    # Sections 3.13, 3.14, 3.18, 3.19 and 3.27: version, runs, tool.driver.name, message; a level
    # other than "none" only for the kind "fail". GitHub makes an alert of every other kind, too.
    for gate in (failed, passing):
        content = json.loads(sarif_json(gate, policy="a folder/policy.toml"))
        (run,) = content["runs"]
        assert (content["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "comparity")
        rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
        for one in run["results"]:
            assert one["message"]["text"]
            assert one["ruleId"] in rules
            assert (one["kind"], one["level"]) == ("fail", "error")
            place = one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            assert place == "a%20folder/policy.toml"
        assert bool(run["results"]) is not gate.passed


def test_sarif_points_at_the_audit_in_the_policy(audit: Audit) -> None:
    text = '# [[audit]]\nname = "release"\n\n [[ audit ]] # first\n\n[["audit"]]\n[[audits]]\n'
    assert audit_lines(text) == [4, 6]
    gate = gate_of(audit, audit)
    for lines, expected in (([4, 6], {4, 6}), ([4], {1}), ((), {1})):
        results = json.loads(sarif_json(gate, lines=lines))["runs"][0]["results"]
        places = [one["locations"][0]["physicalLocation"]["region"] for one in results]
        assert {place["startLine"] for place in places} == expected


def test_every_rule_has_the_texts_that_code_scanning_shows(failed: GateResult) -> None:
    # GitHub requires shortDescription.text, fullDescription.text and help.text of every rule.
    assert set(RULES) == set(NOTIONS)
    (rule,) = json.loads(sarif_json(failed))["runs"][0]["tool"]["driver"]["rules"]
    for key in ("shortDescription", "fullDescription", "help"):
        assert rule[key]["text"] != rule["id"]


def test_the_terminal_names_what_stops_a_change(failed: GateResult, passing: GateResult) -> None:
    # The gap and the end of the interval of conftest: -0.11 - 2.2414 * 0.02.
    shown = " ".join(as_text(failed).split())
    assert "What stops the change" in shown
    assert "agree(f > m) = agree(m > f): violated: gap -0.110, 97.5% interval [-0.155" in shown
    assert "What stops the change" not in as_text(passing)


def test_of_very_many_hypotheses_that_stop_a_change_the_first_are_told(audit: Audit) -> None:
    many = replace(audit, tests=audit.tests[:1] * 20)
    shown = as_text(gate_of(many))
    assert shown.count("gap -0.110") == 5
    assert "and 15 more" in shown


def test_results_of_sarif_can_be_told_apart_and_found_again(failed: GateResult) -> None:
    both = [json.loads(sarif_json(gate))["runs"][0]["results"] for gate in (failed, failed)]
    prints = [[one["partialFingerprints"]["comparity/v1"] for one in found] for found in both]
    assert prints[0] == prints[1]
    assert len(set(prints[0])) == len(prints[0])


def test_hostile_names_are_text_in_xml(hostile: GateResult) -> None:
    source = junit_xml(hostile)
    root = ElementTree.fromstring(source.encode("utf-8"))
    assert {one.tag for one in root.iter()} == {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "skipped",
    }
    assert len(root) == len(HOSTILE)
    assert root[0].get("name") == HOSTILE[0]
    assert not {"\x1b", "\x00", "\u202e"} & set(source)


def test_hostile_names_neither_link_nor_fill_places_in_sarif(hostile: GateResult) -> None:
    source = sarif_json(hostile)
    assert source.isascii()
    for one in json.loads(source)["runs"][0]["results"]:
        text = one["message"]["text"]
        # A bracket or a brace that is not escaped begins a link or a placeholder.
        bare = text.replace("\\\\", "").replace("\\[", "").replace("\\]", "")
        assert not {"[", "]"} & set(bare)
        assert not {"{", "}"} & set(bare.replace("{{", "").replace("}}", ""))
        assert len(text) < 6 * LONGEST


def test_hostile_names_are_code_and_nothing_else_in_markdown(hostile: GateResult) -> None:
    # markdown-it is the parser rich uses, and none of ours.
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(markdown(hostile))
    inline = [child for token in tokens for child in token.children or []]
    assert {one.type for one in inline} <= {"text", "code_inline", "strong_open", "strong_close"}
    assert not any("<" in one.content for one in inline if one.type == "text")
    rows = [token for token in tokens if token.type == "tr_open"]
    cells = [token for token in tokens if token.type in ("td_open", "th_open")]
    assert len(rows) == 1 + len(HOSTILE)
    assert len(cells) == 6 * len(rows)


@given(st.text())
def test_a_code_span_holds_any_text_whole(text: str) -> None:
    rendered = MarkdownIt("commonmark").enable("table").parse(f"| {code(text)} |\n| --- |\n")
    (cell,) = [token for token in rendered if token.type == "inline"]
    (span,) = [child for child in cell.children or [] if child.content]
    assert span.type == "code_inline"
    assert span.content == (clip(text).replace("|", "\\x7c").strip() or '""')


def test_hostile_names_neither_steer_a_terminal_nor_a_page(hostile: GateResult) -> None:
    shown = as_text(hostile)
    assert not {"\x1b", "\x00", "\x07", "\r", "\u202e", "\ud800"} & set(shown)
    source = page({"": hostile, **hostile.parts()})
    source.encode("utf-8")
    assert "<script" not in source
    assert not {"\x1b", "\x00", "\u202e"} & set(source)


def test_every_form_gives_the_numbers_of_the_audit(failed: GateResult) -> None:
    test = failed.checks[0].result.tests[0]
    low, high, _ = test.interval(test.level)
    told = f"gap {test.gap:+.3f}, 97.5% interval [{low:+.3f}, {high:+.3f}]"
    assert told in markdown(failed)
    assert told in junit_xml(failed)
    escaped = told.replace("[", "\\[").replace("]", "\\]")
    assert escaped in json.loads(sarif_json(failed))["runs"][0]["results"][1]["message"]["text"]
