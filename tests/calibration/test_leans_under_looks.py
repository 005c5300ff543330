"""Promise of e-BH: the expected share of false accusations is at most 0.05, whenever one stops.

Tolerance: 3 standard errors. Benjamini and Hochberg's procedure, repeated at every look, errs
several times as often where nobody leans.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.calibration.leans_under_looks import LAST, LEVEL, WORLDS, studies


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(
    ("number", "last"), [(8, 2000), pytest.param(1000, LAST, marks=pytest.mark.slow)]
)
def test_few_accusations_are_false_at_the_first_one_and_at_the_end(
    world: str, number: int, last: int
) -> None:
    found = [one["any moment"] for one in studies(WORLDS[world], number, 20261118, last)]
    allowed = LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / number)
    assert np.mean([one.first for one in found]) <= allowed
    assert np.mean([one.last for one in found]) <= allowed


@pytest.mark.slow
def test_repeated_tests_accuse_innocent_evaluators() -> None:
    found = [one["repeated"] for one in studies(0.0, 200, 20261118)]
    assert np.mean([one.first for one in found]) > 2 * LEVEL


@pytest.mark.long
def test_who_leans_is_found() -> None:
    found = [one["any moment"].found for one in studies(1.5, 3, 5)]
    assert np.mean(found) > 6
