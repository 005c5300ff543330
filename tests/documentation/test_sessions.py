"""Every shell block of the documentation runs, and prints what the page says it prints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.documentation.blocks import Block, blocks, pages
from tests.documentation.sessions import Session, matches, steps

TUTORIAL = "docs/tutorial.md"
# The landing page shows the demo at its full size, which takes a minute.
SLOW = {"README.md": "comparity demo --directory demo"}

PLAYED = [page for page in pages() if any(block.how == "shell" for block in blocks(page))]
FAST = [page for page in PLAYED if page not in SLOW]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder to work in, with a terminal of a hundred columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("COMPARITY_DATA", raising=False)
    return tmp_path


def play(page: str, session: Session) -> None:
    for block in blocks(page):
        if block.how in ("shell", "file"):
            session.play(block)
    assert not session.unexplained, "\n".join(session.unexplained)


def simulate(session: Session) -> None:
    """Make the data of the tutorial, which all pages use."""
    for block in blocks(TUTORIAL):
        if block.title == "simulate.py":
            session.play(block)
    session.run("python simulate.py")
    assert session.status == 0


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the data of the tutorial."""
    made = tmp_path_factory.mktemp("tutorial")
    simulate(Session(made))
    return made


@pytest.mark.parametrize("page", FAST)
def test_commands_print_what_the_page_shows(page: str, folder: Path, tables: Path) -> None:
    if page != TUTORIAL:
        shutil.copytree(tables, folder, dirs_exist_ok=True)
    play(page, Session(folder))


@pytest.mark.slow
@pytest.mark.parametrize("page", SLOW)
def test_commands_of_the_demo_print_what_the_page_shows(page: str, folder: Path) -> None:
    session = Session(folder)
    session.run(SLOW[page])
    assert session.status == 0
    play(page, session)


def block_of(text: str) -> Block:
    return Block(page="page.md", line=1, language="console", title=None, text=text)


def test_a_wrong_output_is_noticed(folder: Path) -> None:
    Session(folder).play(block_of("$ echo right\nright\n"))
    with pytest.raises(AssertionError, match=r"page\.md, line 1: echo right"):
        Session(folder).play(block_of("$ echo right\nwrong\n"))


def test_bad_input_is_noticed_unless_the_page_shows_its_status(folder: Path) -> None:
    session = Session(folder)
    session.play(block_of("$ comparity separation none.csv\n"))
    assert "ended with 2" in session.unexplained[0]
    session.play(block_of("$ comparity separation none.csv\n$ echo $?\n2\n"))
    assert not session.unexplained


def test_lines_left_out_may_be_any_number() -> None:
    assert matches("a\n[...]\nz", "a\nb\n\nc\nz\n")
    assert matches("a\n[...]\nz", "a\nz")
    assert matches("[...]\nz", "a\nb\nz")
    assert matches("a\n[...]", "a\nb")
    assert not matches("a\n[...]", "ab\nc")
    assert not matches("a\nz", "a\nb\nz")
    assert not matches("a\n[...]\nz", "a\nb\nz\nmore")


def test_fractions_may_differ_by_one_in_the_last_digit() -> None:
    assert matches("bias +1.438  12 of 30", "bias +1.437  12 of 30")
    assert matches("bias -0.099  12 of 30", "bias -0.100  12 of 30")
    assert not matches("bias +1.438  12 of 30", "bias -1.438  12 of 30")
    assert not matches("bias +1.438  12 of 30", "bias +1.436  12 of 30")
    assert not matches("bias +1.438  12 of 30", "bias +1.438  13 of 30")


def test_a_command_may_take_several_lines() -> None:
    (one,) = steps(block_of("$ echo a \\\n      b\na b\n"))
    assert (one.command, one.output) == ("echo a b", "a b")
