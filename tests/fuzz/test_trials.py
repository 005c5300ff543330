"""Every promise is kept watch over: a command that breaks one is caught."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.fuzz import trials
from tests.fuzz.cases import Case, Twin

FILES = {"a.csv": b"x\n1\n2\n"}
CASE = Case(
    words=("separation", "a.csv", "--json", "--html", "out.html"),
    files=FILES,
    outputs=("out.html",),
    twins=(
        Twin("format", {"a.tsv": b"x\n1\n2\n"}, ("separation", "a.tsv", "--json")),
        Twin("order of rows", {"a.csv": b"x\n2\n1\n"}, ("separation", "a.csv", "--json")),
    ),
)
COUNTER = itertools.count()


def keep_all(words: Sequence[str]) -> None:
    """Do what is promised."""
    if "--html" in words:
        Path("out.html").write_text("<html></html>", encoding="utf-8")
    print('{"finding": "undecided"}')
    sys.exit(3)


def leave_with_a_defect(words: Sequence[str]) -> None:
    sys.exit(70)


def warn(words: Sequence[str]) -> None:
    warnings.warn("careful", stacklevel=1)
    keep_all(words)


def refuse_without_a_word(words: Sequence[str]) -> None:
    sys.exit(2)


def print_what_steers_a_terminal(words: Sequence[str]) -> None:
    print("\x1b[2J", file=sys.stderr)
    keep_all(words)


def print_what_is_no_number(words: Sequence[str]) -> None:
    print('{"gap": NaN}')
    sys.exit(3)


def change_the_table(words: Sequence[str]) -> None:
    Path(words[1]).write_bytes(b"")
    keep_all(words)


def write_unasked(words: Sequence[str]) -> None:
    Path(".part").touch()
    keep_all(words)


def write_half_a_page(words: Sequence[str]) -> None:
    Path("out.html").write_text("<html>", encoding="utf-8")
    print("{}")
    sys.exit(3)


def write_no_page(words: Sequence[str]) -> None:
    print("{}")
    sys.exit(3)


def answer_otherwise_each_time(words: Sequence[str]) -> None:
    print(next(COUNTER))
    Path("out.html").write_text("<html></html>", encoding="utf-8")
    sys.exit(3)


def answer_by_the_format(words: Sequence[str]) -> None:
    if words[1] == "a.tsv":
        sys.exit(0)
    keep_all(words)


def answer_by_the_order(words: Sequence[str]) -> None:
    Path("out.html").write_text("<html></html>", encoding="utf-8")
    print(f'{{"gap": {Path(words[1]).read_text().split()[1]}}}')
    sys.exit(3)


BREAKING = (
    leave_with_a_defect,
    refuse_without_a_word,
    print_what_steers_a_terminal,
    print_what_is_no_number,
    change_the_table,
    write_unasked,
    write_half_a_page,
    write_no_page,
    answer_otherwise_each_time,
    answer_by_the_format,
    answer_by_the_order,
)


def test_a_command_that_keeps_all_promises_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "main", keep_all)
    trials.try_case(CASE)


@pytest.mark.parametrize("broken", BREAKING, ids=lambda function: function.__name__)
def test_a_command_that_breaks_a_promise_is_caught(
    monkeypatch: pytest.MonkeyPatch, broken: Callable[[Sequence[str]], None]
) -> None:
    monkeypatch.setattr(trials, "main", broken)
    with pytest.raises(trials.BrokenPromiseError):
        trials.try_case(CASE)


def test_a_warning_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "main", warn)
    with pytest.raises(UserWarning, match="careful"):
        trials.try_case(CASE)


def test_a_broken_case_is_kept_with_a_script_that_runs_it_again(tmp_path: Path) -> None:
    folder = trials.keep_case(CASE, ValueError("why"), tmp_path)
    assert (folder / "a.csv").read_bytes() == FILES["a.csv"]
    assert (folder / "another format" / "a.tsv").is_file()
    assert "comparity separation a.csv --json" in (folder / "rerun.sh").read_text(encoding="utf-8")
    assert "why" in (folder / "why.txt").read_text(encoding="utf-8")
