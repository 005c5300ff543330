"""Batches of cases, whose failures are gathered instead of stopping the rest."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.cases import Case, cases
from tests.fuzz.test_fuzz import HOME, RARELY, SOMETIMES
from tests.fuzz.trials import keep_case, try_case

__all__ = ["kind_of", "run_batch"]


def run_batch(job: tuple[tuple[str, ...], int, int]) -> list[tuple[str, str]]:
    """Run some cases of one command and return what broke: its kind, and where it is kept."""
    path, size, start = job
    found: list[tuple[str, str]] = []

    @seed(start)
    @settings(
        max_examples=size,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(path), again=SOMETIMES, thoroughly=RARELY)
    def run(case: Case, again: bool, thoroughly: bool) -> None:
        try:
            try_case(case, again=again, thoroughly=thoroughly)
        # Whatever it is: the other cases are still to be run.
        except Exception as error:
            found.append((kind_of(error), str(keep_case(case, error, HOME))))

    run()
    return found


def kind_of(error: Exception) -> str:
    """Return a line that failures with the same cause share."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    where = [line for line in lines if line.startswith("File ") and "/comparity/" in line]
    last = next(
        (line for line in lines if re.match(r"[\w.]+(Error|Warning|Exception)\b", line)), ""
    )
    return " ".join([type(error).__name__, lines[0][:60], *where[-1:], last])
