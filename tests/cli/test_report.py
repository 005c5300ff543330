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
