"""How errors are worked out, whatever the size of a fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def errors_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that has errors worked out in a way: inverted, in a band, or in passes.

    With a border, some 200 parameters make a band only if it is narrower than 40, and evaluators
    who judged more items stand beside it.
    """

    def choose(way: str) -> None:
        limits = {
            "inverted": (10**9, 0.0),
            "in a band": (0, 1e18),
            "in a band with a border": (0, 200 * 40.0**2),
            "in passes": (0, 0.0),
        }
        largest, work = limits[way]
        monkeypatch.setattr("comparity.ranking.likelihood.exact.DENSE", largest)
        monkeypatch.setattr("comparity.ranking.likelihood.comparison_rows.LITTLE_WORK", work)
        monkeypatch.setattr("comparity.ranking.likelihood.comparison_rows.MOST_WORK", work)

    return choose
