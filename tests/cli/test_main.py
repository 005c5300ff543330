import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest

import comparity
from comparity.cli import commands
from comparity.cli.options import show_progress
from comparity.cli.running import (
    CUT_OFF,
    DEFECT,
    INTERRUPTED,
    BadInput,
    declared_options,
    spell_option,
)
from comparity.errors import ComparityError, Option

Run = Callable[..., Any]


def test_the_module_runs_and_knows_its_version() -> None:
    words = [sys.executable, "-m", "comparity", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == f"comparity, version {comparity.__version__}\n"


def test_engines_say_nothing_when_a_command_has_ended(tmp_path: Path) -> None:
    judged, items = tmp_path / "judged.csv", tmp_path / "items.csv"
    judged.write_text("judge,better,worse\nj,a,b\nj,b,c\nj,c,d\nk,b,a\nk,c,b\nk,d,c\nk,a,d\n")
    items.write_text("item,sex\na,f\nb,m\nc,f\nd,m\n")
    words = [sys.executable, "-m", "comparity", "rank", str(judged), "--items", str(items)]
    words += ["--sensitive", "sex", "--evaluator", "judge"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    assert done.stderr == ""


def test_what_is_left_for_the_end_is_still_done() -> None:
    code = (
        "import atexit, sys\n"
        "from comparity.__main__ import main\n"
        "atexit.register(print, 'the end')\n"
        "main()"
    )
    words = [sys.executable, "-c", code, "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "the end"


def test_an_unknown_command_is_bad_input(run: Run) -> None:
    outcome = run("separate")
    assert outcome.status == 2
    assert "separate" in outcome.err


@pytest.mark.parametrize(
    ("raised", "status"),
    [(RuntimeError("a defect"), DEFECT), (KeyboardInterrupt(), INTERRUPTED)],
)
def test_neither_a_defect_nor_an_interruption_looks_like_a_finding(
    run: Run, monkeypatch: pytest.MonkeyPatch, raised: BaseException, status: int
) -> None:
    def fail(**_: object) -> None:
        raise raised

    monkeypatch.setattr(commands, "get_command", lambda *_: click.Command("x", callback=fail))
    assert run("separation").status == status
    assert status not in {0, 1, 2, 3}


def test_messages_cannot_steer_the_terminal() -> None:
    assert BadInput("no column '\x1b[2J'\n  hint: look").format_message() == (
        "no column '\\x1b[2J'\n  hint: look"
    )


STEERING = ("\n", "\r", "\x1b[31m", "\x07", "\x7f", "\x85", "\u2028", "\u202e")


@pytest.mark.parametrize(
    "words",
    [
        ["sep{}aration"],
        ["--ver{}sion"],
        ["separation", "--fo{}o"],
        ["separation", "--fo{}o=1"],
        ["separation", "x.csv", "--label", "a", "--margin", "0{}5"],
        ["separation", "x.csv", "--label", "a", "--alpha=0{}5"],
        ["rank", "x{}y.csv"],
        ["plan", "ra{}nk"],
        ["doctor", "a{}b"],
        ["demo", "a{}b", "c"],
        ["reproduce", "0{}0"],
        ["report", "x{}y.json"],
    ],
)
def test_control_characters_on_the_command_line_are_spelled_out(run: Run, words: list[str]) -> None:
    quoted = next(word for word in words if "{}" in word).partition("=")
    part = quoted[2] if "{}" in quoted[2] else quoted[0]
    for steering in STEERING:
        outcome = run(*(word.format(steering) for word in words))
        assert outcome.status == 2
        assert part.format(ascii(steering)[1:-1]) in outcome.err
        assert part.format(steering) not in outcome.err
        assert "Traceback" not in outcome.err


@pytest.mark.parametrize("command", ["rank", "relative", "comparative", "pairwise", "metrics"])
def test_a_negative_seed_is_bad_input(run: Run, tmp_path: Path, command: str) -> None:
    table = tmp_path / "table.csv"
    table.write_text("better,worse\na,b\n", encoding="utf-8")
    outcome = run(command, table, "--seed", "-1")
    assert outcome.status == 2
    assert "--seed" in outcome.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told_what_is_going_on_and_a_pipe_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for stream, told in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with show_progress("ranking"):
            time.sleep(0.2)
        assert ("ranking ..." in stream.getvalue()) is told


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise")
@pytest.mark.parametrize("words", [["reproduce"], ["reproduce", "--json"], ["data"]])
def test_a_reader_who_went_away_is_no_finding(words: list[str]) -> None:
    command = [sys.executable, "-m", "comparity", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    usual = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(command, env=usual, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == CUT_OFF


@pytest.mark.parametrize(
    ("named", "spelled"),
    [
        (Option("positive"), "--positive"),
        (Option("continuous", True), "--continuous"),
        (Option("intersection", False), "no --intersection"),
        (Option("alpha", 0.05), "--alpha 0.05"),
        (Option("anchor", "equal group means"), "--anchor 'equal group means'"),
        (Option("tpr", [0.8, 0.84]), "--tpr 0.8,0.84"),
        (Option("slack", None), "no --slack"),
        (Option("score_ties", "half"), "--score-ties 'half'"),
        (Option("n_items", 100), "--n-items 100"),
        (Option("column", "w"), "--name 'w'"),
        (Option("colour", "red"), "colour='red'"),
    ],
)
def test_hints_name_every_declared_choice_as_the_command_line_writes_it(
    named: Option, spelled: str
) -> None:
    error = ComparityError("bad {}.", "{positive='x'}", "use {}, not {}.", named, "{}")
    told = error.tell(partial(spell_option, known=declared_options(commands)))
    assert told == f"bad {{}}.\n  found: {{positive='x'}}\n  hint:  use {spelled}, not {{}}."
    assert str(error) == told.replace(spelled, str(named))
