"""No file and no option, however odd, gives anything but an answer or an error of ours.

``make test`` tries the same few hundred cases every time; ``make fuzz`` looks for new ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.cases import Case, cases
from tests.fuzz.trials import keep_case, try_case
from tests.fuzz.words import paths_of_commands

HOME = Path(__file__).parents[2] / ".cache" / "fuzz"
CASES = 300
# A second run finds little that the first does not, and costs as much; a process of its own takes
# a second.
SOMETIMES = st.integers(0, 3).map(lambda drawn: drawn == 3)
RARELY = st.integers(0, 99).map(lambda drawn: drawn == 99)
# Commands that read no table have few ways to go wrong.
FEW = {"demo", "reproduce", "doctor", "data"}


def shares(total: int) -> dict[tuple[str, ...], int]:
    """Return how many of all cases each command gets."""
    weights = {path: 1 if path[0] in FEW else 3 if path[0] == "plan" else 9 for path in COMMANDS}
    whole = sum(weights.values())
    return {path: -(-total * weight // whole) for path, weight in weights.items()}


COMMANDS = paths_of_commands()


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_case_keeps_what_is_promised(path: tuple[str, ...]) -> None:
    @settings(max_examples=shares(CASES)[path], suppress_health_check=list(HealthCheck))
    @given(case=cases(path), again=SOMETIMES, thoroughly=RARELY)
    def check(case: Case, again: bool, thoroughly: bool) -> None:
        try:
            try_case(case, again=again, thoroughly=thoroughly)
        except Exception as error:
            error.add_note(f"kept in {keep_case(case, error, HOME)}")
            raise

    check()
