"""What a page says about itself: who ran it and when, the verdicts counted, and the data."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from comparity.errors import FileAccessError, OptionError
from comparity.reports.cover import Cover, data_facts, overall_verdict, read_date, read_logo
from comparity.reports.page import page
from comparity.results.audit import Audit


def test_a_page_says_who_ran_it_and_when_or_that_nobody_said(audit: Audit) -> None:
    assert "Date: not stated · Run by: not stated" in page(audit, cover=Cover())
    told = page(audit, cover=Cover(title="T & U", author="Ada <A>", date="2026-11-17"))
    assert "Date: 2026-11-17 · Run by: Ada &lt;A&gt;" in told
    assert "<h1>T &amp; U</h1>" in told
    assert "<title>T &amp; U</title>" in told


def test_several_results_have_contents_and_a_count_of_findings(
    audit: Audit, harmless_audit: Audit
) -> None:
    both = page({"one": audit, "two": harmless_audit}, title="Audits")
    assert "2 audits: 1 violated, 1 within the margin." in both
    links = re.findall(r'href="#(part-\d+)"', both)
    assert links == ["part-1", "part-2"]
    assert all(f'id="{link}"' in both for link in links)
    assert overall_verdict([audit]) == ""
    assert "<nav" not in page(audit)


def test_facts_of_the_data_are_those_of_the_provenance() -> None:
    rates = [
        {"name": name, "of": group, "trials": n}
        for name in ("true positive rate", "false positive rate")
        for group, n in (("f", 200), ("m", 300))
    ]
    files = [{"name": "a.csv", "sha256": "0123456789abcdef" * 4}]
    data = {"columns": {"label": "good", "sensitive": ["sex", "age"]}, "files": files}
    content = {
        "notion": "separation",
        "n": 1000,
        "n_items": 1000,
        "unit": "decisions",
        "groups": ["f", "m"],
        "rates": rates,
        "provenance": {"comparity": "1.2", "data": data},
    }
    assert data_facts(content) == {
        "question": "Are true and false positive rates equal in all groups?",
        "files": "a.csv (sha256 0123456789ab…)",
        "label": "good",
        "groups by": "sex, age",
        "rows": "1,000 decisions",
        "groups": "f (400); m (600)",
        "software": "comparity 1.2",
    }


def test_of_many_files_the_first_are_named() -> None:
    files = [{"name": f"{k}.csv", "sha256": "0" * 64} for k in range(8)]
    told = data_facts({"provenance": {"data": {"files": files}}})["files"]
    assert "5.csv" in told
    assert "6.csv" not in told
    assert told.endswith("; 2 more, listed below")


def test_a_ranking_and_the_audit_against_it_answer_two_questions() -> None:
    ranking = data_facts({"kind": "ranked panel"})["question"]
    audit = data_facts({"notion": "pairwise agreement with the bias-adjusted panel"})["question"]
    assert ranking.startswith("Which evaluators favour a group")
    assert audit.startswith("Does the model agree with the panel")


def test_both_columns_of_a_pair_are_one_fact() -> None:
    columns = {"first": "better", "second": "worse"}
    facts = data_facts({"notion": "comparative separation", "provenance": {"columns": columns}})
    assert facts["items of a pair"] == "better, worse"
    facts = data_facts({"notion": "differential parity", "provenance": {"columns": columns}})
    assert (facts["first decision maker"], facts["second decision maker"]) == ("better", "worse")
    assert "items of a pair" not in facts


def test_logs_have_judgments_and_prompts() -> None:
    data = {"judgments": 1480, "prompts": 1}
    assert data_facts({"provenance": {"data": data}})["rows"] == "1,480 judgments, 1 prompt"


def test_groups_of_several_attributes_have_their_sizes() -> None:
    of = {"sex: f": 200, "sex: m": 300}
    rates = [{"name": "true positive rate", "of": one, "trials": n} for one, n in of.items()]
    content = {"groups": ["sex=f", "sex=m"], "rates": rates}
    assert data_facts(content) == {"groups": "sex=f (200); sex=m (300)"}


@pytest.mark.parametrize("odd", [None, 3, "x", [1], {"files": 3, "columns": [2]}, {"files": [3]}])
def test_odd_provenance_gives_no_facts_and_no_error(odd: Any) -> None:
    assert data_facts({"provenance": odd, "groups": odd, "rates": odd, "n": odd}) in (
        {},
        {"rows": "3 rows"},
    )


def test_dates_are_those_given_or_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert read_date("today") == "1970-01-02"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    before = datetime.now(UTC).date().isoformat()
    assert before <= read_date("today") <= datetime.now(UTC).date().isoformat()
    assert read_date("none") == ""
    with pytest.raises(OptionError, match="17\\.11\\.2026"):
        read_date("17.11.2026")


def test_a_logo_becomes_part_of_the_page(audit: Audit, tmp_path: Path) -> None:
    logo = tmp_path / "logo.PNG"
    logo.write_bytes(b"\x89PNG")
    address = read_logo(logo)
    assert base64.b64decode(address.partition("base64,")[2]) == b"\x89PNG"
    assert f'src="{address}" alt=""' in page(audit, cover=Cover(logo=address))
    with pytest.raises(FileAccessError):
        read_logo(tmp_path / "gone.png")
    with pytest.raises(OptionError, match="ends in"):
        read_logo(tmp_path / "logo.exe")
    logo.write_bytes(bytes(2**20 + 1))
    with pytest.raises(OptionError, match="1,048,577 bytes"):
        read_logo(logo)
