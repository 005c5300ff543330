import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

OPTIONS = ("--label", "hired", "--prediction", "model", "--sensitive", "sex")


@pytest.fixture
def printed(run: Run, tmp_path: Path) -> Path:
    """Return the JSON of an audit whose groups have hostile names, with its page beside it."""
    rows = [
        f"<script>x{g},{y},{(y + i % 3 // 2) % 2}" for g in "fm" for y in (0, 1) for i in range(60)
    ]
    file = tmp_path / "d.csv"
    file.write_text("\n".join(["sex,hired,model", *rows]), encoding="utf-8")
    outcome = run("separation", file, *OPTIONS, "--json", "--html", tmp_path / "own.html")
    path = tmp_path / "audit.json"
    path.write_text(outcome.out, encoding="utf-8")
    return path


def test_results_share_one_page_with_the_numbers_of_their_json(
    run: Run, printed: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    other = tmp_path / "other.json"
    other.write_text(printed.read_text(encoding="utf-8"), encoding="utf-8")
    outcome = run("report", printed, other, "--html", page, "--title", "Both <models>")
    source = page.read_text(encoding="utf-8")
    assert (outcome.status, outcome.out) == (0, "")
    assert "<h1>Both &lt;models&gt;</h1>" in source
    assert "<script" not in source
    own = (tmp_path / "own.html").read_text(encoding="utf-8")
    # The table of tests is the very one the command wrote, once for each file.
    table = own[own.index("<table") : own.index("</table>")]
    assert source.count(table) == 2


def test_without_a_page_results_are_printed(run: Run, printed: Path) -> None:
    outcome = run("report", printed)
    finding = json.loads(printed.read_text(encoding="utf-8"))["finding"]
    assert outcome.out.startswith(f"Separation: {finding}")
    # A report judges nothing, whatever it shows.
    assert outcome.status == 0


def test_several_results_are_printed_with_their_names(
    run: Run, printed: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other\x1b[31m.json"
    other.write_text(printed.read_text(encoding="utf-8"), encoding="utf-8")
    lines = run("report", printed, other).out.splitlines()
    assert (lines[0], lines.count(r"[other\x1b[31m]")) == ("[audit]", 1)
    alone = run("report", printed).out.splitlines()
    assert lines[2 : 2 + len(alone)] == alone


def test_a_result_may_begin_with_a_byte_order_mark(run: Run, printed: Path) -> None:
    plain = run("report", printed).out
    printed.write_text(printed.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert run("report", printed).out == plain


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"finding": "violated"}', '{"a": 1'])
def test_files_of_others_are_bad_input(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    outcome = run("report", path, "--html", tmp_path / "page.html")
    assert outcome.status == 2
    assert "does not hold a result of comparity" in outcome.err
    assert not (tmp_path / "page.html").exists()
    assert run("report").status == 2


@pytest.fixture
def impact(run: Run, tmp_path: Path) -> Path:
    rows = [f"{sex},{race},{i % 3 // 2}" for sex in "fm" for race in "ab" for i in range(30)]
    file = tmp_path / "people.csv"
    file.write_text("\n".join(["sex,race,hired", *rows]), encoding="utf-8")
    path = tmp_path / "impact.json"
    choices = ("--selected", "hired", "--sensitive", "sex,race", "--json")
    path.write_text(run("impact", file, *choices).out, encoding="utf-8")
    return path


def test_a_template_begins_the_page_and_is_signed_by_its_facts(
    run: Run, impact: Path, tmp_path: Path
) -> None:
    facts, html = tmp_path / "facts.toml", tmp_path / "page.html"
    assert run("report", "--template", "ll144", "--blank", facts).status == 0
    written = facts.read_text(encoding="utf-8").replace('auditor = ""', 'auditor = "Ada"')
    facts.write_text(written.replace('date = ""', "date = 2026-11-17", 1), encoding="utf-8")
    outcome = run("report", impact, "--template", "ll144", "--facts", facts, "--html", html)
    source = html.read_text(encoding="utf-8")
    assert outcome.status == 0
    assert "Run by: Ada" in source
    assert "GAP: Name of the tool" in source
    assert source.index("GAP") < source.rindex("Impact ratios of hired")


def test_a_bundle_is_the_same_twice_and_shown_after_its_hashes_are_compared(
    run: Run, impact: Path, printed: Path, tmp_path: Path
) -> None:
    twin = tmp_path / "deep" / printed.name
    twin.parent.mkdir()
    twin.write_bytes(printed.read_bytes())
    bundles = [tmp_path / "one.zip", tmp_path / "two.zip"]
    for one in bundles:
        assert run("report", impact, printed, twin, "--bundle", one).status == 0
    assert bundles[0].read_bytes() == bundles[1].read_bytes()
    assert str(tmp_path).encode() not in bundles[0].read_bytes()
    shown = run("report", bundles[0])
    assert (shown.status, shown.out.splitlines()[0]) == (0, "[bundle]")
    assert "Impact ratios of hired" in shown.out
    content = bundles[0].read_bytes()
    bundles[0].write_bytes(content.replace(b'"hits": 40', b'"hits": 41'))
    refused = run("report", bundles[0])
    assert refused.status == 2
    assert "is no bundle as comparity wrote it" in refused.err


def test_options_that_would_do_nothing_are_refused(run: Run, impact: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "b.zip"
    run("report", impact, "--bundle", bundle)
    for words in (
        ("--facts", impact),
        ("--blank", tmp_path / "f.toml"),
        ("--policy", bundle),
        (bundle,),
    ):
        assert run("report", impact, *words).status == 2
    bad = tmp_path / "facts.toml"
    bad.write_text("[audit]\nauditr = 'Ada'", encoding="utf-8")
    told = run("report", impact, "--template", "plain", "--facts", bad)
    assert (told.status, "did you mean 'audit.auditor'" in told.err) == (2, True)
