"""The page of the papers has a row for everything they number, and names what there is."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, get_args, get_origin

import click
import pytest

import comparity
from comparity.cli import commands
from comparity.cli.reproduce import find_papers, read_published
from tests.documentation.blocks import ROOT

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
PAPERS = ("000", "001", "002", "003", "004")
STATUS = re.compile(r"done|consistent, not confirmed|not done")
# What each paper numbers: equations from (1) on, and whatever else has a number or letter.
EQUATIONS = {"000": 36, "001": 2, "002": 7, "003": 11, "004": 14}
NUMBERED = {
    "000": {
        "Definition": ["2.1", "3.1"],
        "Theorem": ["3.2", "3.3"],
        "Proposition": ["3.4", "3.5"],
        "Table": range(1, 9),
        "Figure": [1],
        "RQ": range(1, 4),
        "Treatment": ["None", "Reweighing", "FairBalance", "FairReweighing"],
    },
    "001": {"Table": range(1, 9), "Figure": [1], "RQ": range(1, 5)},
    "002": {
        "Definition": range(1, 5),
        "Algorithm": [1, 2],
        "Table": range(1, 4),
        "Figure": [1],
        "RQ": [1, 2],
        "L": [1, 2],
    },
    "003": {
        "Algorithm": [1],
        "Table": [1],
        "Figure": range(1, 12),
        "baseline": ["BT", "CrowdBT", "FactorBT", "RankCentrality", "FA*IR"],
    },
    "004": {
        "Theorem": [1],
        "Table": range(1, 7),
        "Figure": range(1, 8),
        "baseline,": ["debiased", "Singh", "Kallus", "Beutel"],
    },
}


def rows(paper: str) -> list[tuple[str, str, str]]:
    """Return what is in the paper, where it is here and its status, row by row."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)[2 + PAPERS.index(paper) - 1]
    assert section.startswith(paper)
    table = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    return [row for row in table if row[0] not in {"---", "in the paper"}]


def names_in(text: str) -> list[str]:
    return [one for one in re.findall(r"`([^`]+)`", text) if not one.startswith("tests/")]


ROWS = {paper: rows(paper) for paper in PAPERS}
NAMES = sorted({name for found in ROWS.values() for row in found for name in names_in(row[1])})


def named_object(path: str) -> Any:
    """Return what a name stands for: a public one, or one with its modules before it."""
    first, *rest = path.split(".")
    if first != "comparity":
        return getattr(comparity, path)
    found, name = comparity, first
    for one in rest:
        name = f"{name}.{one}"
        # A folder may be called as the public function that it holds.
        is_module = find_spec(name) is not None if hasattr(found, "__path__") else False
        found = import_module(name) if is_module else getattr(found, one)
    return found


def check_call(name: str) -> None:
    """Fail unless the function exists, takes the arguments, and offers their values."""
    tree = ast.parse(name, mode="eval").body
    if not isinstance(tree, ast.Call):
        named_object(name)
        return
    parameters = inspect.signature(named_object(ast.unparse(tree.func))).parameters
    for keyword in tree.keywords:
        annotation = parameters[str(keyword.arg)].annotation
        value = ast.literal_eval(keyword.value)
        if get_origin(annotation) is Literal and value is not ...:
            assert value in get_args(annotation), name


def check_command(name: str) -> None:
    """Fail unless the command and its options exist, and the part that it computes."""
    _, *words = shlex.split(name)
    command: click.Command | None = commands
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command = command.get_command(click.Context(command), words.pop(0))
    assert command is not None, name
    options = {one for parameter in command.params for one in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options, name
    if command.name == "reproduce":
        paper, kind, part = words
        wanted = part if kind == "--part" else f"{kind.removeprefix('--')} {part}"
        assert wanted in read_published(find_papers()[paper]).questions, name


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_names_is_there(name: str) -> None:
    if name.startswith("comparity "):
        check_command(name)
    else:
        check_call(name)


@pytest.mark.parametrize(
    "name",
    ["barb", "barp(mood=...)", 'separation(rule="papers")', "comparity.ranking.barp.barb"],
)
def test_a_renamed_function_or_option_would_be_noticed(name: str) -> None:
    with pytest.raises((AttributeError, KeyError, AssertionError)):
        check_call(name)


@pytest.mark.parametrize(
    "name",
    ["comparity ranks", "comparity rank --anker", "comparity reproduce 003 --figure 1"],
)
def test_a_renamed_command_option_or_part_would_be_noticed(name: str) -> None:
    with pytest.raises(AssertionError):
        check_command(name)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_equation_has_a_row(paper: str) -> None:
    told: set[int] = set()
    for what, _, _ in ROWS[paper]:
        for first, last in re.findall(r"\((\d+)\)(?:-\((\d+)\))?", what):
            told |= {*range(int(first), int(last or first) + 1)}
    assert told == {*range(1, EQUATIONS[paper] + 1)}


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_else_with_a_number_has_a_row(paper: str) -> None:
    told = " | ".join(what for what, _, _ in ROWS[paper])
    for kind, numbers in NUMBERED[paper].items():
        apart = "" if kind in {"RQ", "L"} else " "
        for number in numbers:
            assert re.search(rf"\b{kind}{apart}{re.escape(str(number))}(?!\d)", told), (
                kind,
                number,
            )


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_has_a_status_and_a_reason_where_it_is_not_done(paper: str) -> None:
    assert len(ROWS[paper]) >= 40
    for what, where, status in ROWS[paper]:
        assert STATUS.match(status), what
        if not status.startswith("done"):
            assert re.search(r"[:;] \S+ \S+", status), what
        assert where != "none" or "not done:" in status, what
