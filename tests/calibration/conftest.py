"""Repetitions: few with the tolerance widened in `make test`, at least 4,000 in `make test-all`.

Of the worlds of one test `make test` tries the first and the last; those between are slow, as their
many repetitions are.
"""

from itertools import groupby

import numpy as np
import pytest

FEW, MANY = 200, 4000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the worlds between the first and the last to `make test-all`."""
    small = [item for item in items if repetitions_of(item) == FEW]
    for _, worlds in groupby(small, key=lambda item: getattr(item, "originalname", "")):
        for item in [*worlds][1:-1]:
            item.add_marker(pytest.mark.slow)


def repetitions_of(item: pytest.Item) -> int | None:
    """Return how often a test draws its world, where that is the same for many tests."""
    found: int | None = getattr(getattr(item, "callspec", None), "params", {}).get("repetitions")
    return found


@pytest.fixture(params=[FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def repetitions(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260131)
