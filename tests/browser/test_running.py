"""What browser tests rest on: programs end in time, and work is done once."""

import sys
from pathlib import Path

import pytest

from tests.browser.conftest import Once, ran


def test_a_program_that_does_not_end_is_stopped_and_quoted() -> None:
    program = "import sys, time; print('half way', file=sys.stderr, flush=True); time.sleep(60)"
    with pytest.raises(pytest.fail.Exception, match=r"did not end within 3 s; .*\nhalf way"):
        ran([sys.executable, "-c", program], limit=3)


def test_what_is_asked_for_twice_is_made_once(once: Once) -> None:
    asked: list[Path] = []

    def make(folder: Path) -> int:
        asked.append(folder)
        return len(asked)

    assert [once("twice", make), once("twice", make)] == [1, 1]
    assert len(asked) == 1
