"""Title, author, date and logo of a page, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

ROWS = "sex,good,hired\n" + "f,1,1\nf,1,0\nf,0,0\nm,1,1\nm,0,0\nm,0,1\n" * 40
ASKED = ("--label", "good", "--prediction", "hired", "--sensitive", "sex")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def test_what_was_given_is_on_the_page_and_twice_the_same(run: Run, rows: Path) -> None:
    html = rows.with_suffix(".html")
    given = ("--title", "Model 7", "--author", "Ada", "--date", "2026-11-17", "--html", html)
    run("separation", rows, *ASKED, *given)
    first = html.read_text(encoding="utf-8")
    assert "<h1>Model 7</h1>" in first
    assert "Date: 2026-11-17 · Run by: Ada" in first
    assert "<span>label:</span> good" in first
    run("separation", rows, *ASKED, *given)
    assert html.read_text(encoding="utf-8") == first


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--author", "Ada"], "--author belongs to a page"),
        (["--date", "tomorrow", "--html", "a.html"], "'today'"),
        (["--logo", "rows.csv", "--html", "a.html"], "ends in"),
        (["--logo", "a.png", "--html", "a.png"], "write over --logo"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    run: Run, rows: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], said: str
) -> None:
    monkeypatch.chdir(rows.parent)
    (rows.parent / "a.png").write_bytes(b"\x89PNG")
    outcome = run("separation", rows, *ASKED, *given)
    assert outcome.status == 2
    assert said in outcome.err


def test_a_page_has_the_date_of_today_unless_that_is_not_wanted(
    run: Run, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    html = rows.with_suffix(".html")
    run("separation", rows, *ASKED, "--html", html)
    assert "Date: 1970-01-02" in html.read_text(encoding="utf-8")
    run("separation", rows, *ASKED, "--html", html, "--date", "none")
    assert "Date: not stated" in html.read_text(encoding="utf-8")


def test_a_bundle_has_no_date_unless_one_is_named(
    run: Run, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rows.with_suffix(".json")
    found.write_text(run("separation", rows, *ASKED, "--json").out, encoding="utf-8")
    bundle = rows.with_suffix(".zip")
    written = []
    for epoch in ("86400", "172800"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        run("report", found, "--bundle", bundle)
        written.append(bundle.read_bytes())
    assert written[0] == written[1]
