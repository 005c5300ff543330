"""Repetitions: few with the tolerance widened in `make test`, at least 4,000 in `make test-all`."""

import numpy as np
import pytest


@pytest.fixture(params=[200, pytest.param(4000, marks=pytest.mark.slow)])
def repetitions(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260131)
