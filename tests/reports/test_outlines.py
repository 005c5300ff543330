"""Reports in the order of a rule: what is known is told, what is missing is a gap."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from comparity import impact_ratios
from comparity.cli.report import TEMPLATES
from comparity.errors import ComparityError, FileAccessError, OptionError, UnknownKeyError
from comparity.reports.aspects import ASPECTS
from comparity.reports.outlines import (
    OUTLINES,
    Report,
    blank_facts,
    fill_outline,
    read_facts,
    read_outline,
)
from comparity.reports.page import page
from comparity.results.audit import Audit
from comparity.results.result import Result

# Words that would say that a rule is met.
VERDICTS = re.compile(r"complian|complies|conform|certif|lawful|passes", re.IGNORECASE)


def impact(*, both: bool = True) -> Result:
    sex = ["f"] * 100 + ["m"] * 100 + ["x"]
    race = ["a", "b"] * 100 + [None]
    people = {"sex": sex, "race": race} if both else {"sex": sex}
    hired = [1] * 30 + [0] * 70 + [1] * 50 + [0] * 50 + [0]
    return impact_ratios(hired, sensitive_features=people)


def test_the_command_offers_the_outlines_that_are_there() -> None:
    assert TEMPLATES == OUTLINES


@pytest.mark.parametrize("name", OUTLINES)
def test_an_outline_says_where_each_point_is_from_and_when_that_was_looked_up(name: str) -> None:
    outline = read_outline(name)
    assert date.fromisoformat(outline["checked"]) <= date.today()
    facts = [key for point in outline["point"] for key in point.get("facts", ())]
    aspects = {one for point in outline["point"] for one in point.get("results", ())}
    assert set(facts) == set(outline["facts"])
    assert aspects <= set(ASPECTS)
    cited = [bool(re.search(r"\d", point["cite"])) for point in outline["point"]]
    assert all(cited) or name == "plain"
    assert not VERDICTS.search(str(outline))


@pytest.mark.parametrize("name", OUTLINES)
def test_without_facts_and_results_every_point_that_asks_is_a_gap(name: str) -> None:
    report = fill_outline(name, {})
    asked = [one for one in read_outline(name)["point"] if not one.get("optional")]
    assert report.n_gaps == len(asked)
    assert not [known for point in report.points for known in point.known]


@pytest.mark.parametrize("name", OUTLINES)
def test_a_blank_file_filled_in_leaves_no_gap_of_facts(name: str, tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text(blank_facts(name), encoding="utf-8")
    assert read_facts(file, name) == {}
    file.write_text(blank_facts(name).replace('""', '"said"'), encoding="utf-8")
    report = fill_outline(name, {"impact": impact()}, read_facts(file, name))
    assert not [gap for point in report.points for gap in point.gaps if "fact " in gap]
    assert not VERDICTS.search(page({"": report}))


def test_numbers_of_impact_ratios_answer_the_points_of_local_law_144() -> None:
    report = fill_outline("ll144", {"impact": impact()}, {"audit.auditor": "Ada <A>"})
    points = {one.name: one for one in report.points}
    assert points["The auditor"].known == ("Ada <A>",)
    assert "impact ratio is 0.60" in points["Rates and impact ratios"].known[0]
    assert points["Rates and impact ratios"].gaps == ()
    assert points["People of unknown category"].known[1] == "race: 1 person."
    # One person of 201 is less than 2%.
    assert points["Categories below 2%"].known[0].startswith("sex = x, 1 person, rate 0.000")
    assert "Ada &lt;A&gt;" in page({"": report})


def test_one_attribute_alone_is_a_gap_of_combinations() -> None:
    report = fill_outline("ll144", {"impact": impact(both=False)})
    rates = next(one for one in report.points if one.name == "Rates and impact ratios")
    assert "by both together are asked for" in rates.gaps[0]


def test_an_audit_answers_what_was_measured_and_on_which_groups(audit: Audit) -> None:
    report = fill_outline("eu-annex-iv", {"model": audit})
    points = {one.name: one for one in report.points}
    measured = points["Metrics and tests of unequal treatment"]
    assert measured.known[0].startswith("model: ")
    assert measured.gaps == ()
    assert points["Risk management"].gaps


def test_a_report_is_plain_data_and_comes_back() -> None:
    report = fill_outline("plain", {"impact": impact()}, {"audit.auditor": "Ada"})
    again = Report.from_dict(report.to_dict())
    assert again == report
    assert again.signed == {"author": "Ada"}


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("[audit]\nauditr = 'Ada'", UnknownKeyError, "did you mean 'audit.auditor'"),
        ("[audit]\nauditor = {a = 1}", ComparityError, "must be text"),
        ("[audit", ComparityError, "not TOML"),
        ("auditor = 'Ada'", UnknownKeyError, "not known here"),
    ],
)
def test_facts_that_cannot_be_understood_are_refused(
    text: str, error: type[ComparityError], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "facts.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=said):
        read_facts(file, "ll144")


def test_facts_are_text_dates_numbers_truths_and_lists(tmp_path: Path) -> None:
    file = tmp_path / "facts.toml"
    file.write_text(
        "[audit]\nauditor = ['Ada', 'Bob']\ndate = 2026-11-17\n"
        'client = "a\\u001b[2J"\n'
        "next_steps = true\n[subject]\nname = 7\nuse = '  '",
        encoding="utf-8",
    )
    assert read_facts(file, "plain") == {
        "audit.auditor": "Ada; Bob",
        "audit.date": "2026-11-17",
        "audit.client": "a\\x1b[2J",
        "audit.next_steps": "yes",
        "subject.name": "7",
    }


def test_a_file_that_is_not_there_or_an_outline_nobody_wrote_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError):
        read_facts(tmp_path / "none.toml", "plain")
    with pytest.raises(OptionError, match="'ll144'"):
        read_outline("ll145")
