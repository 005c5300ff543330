"""Definition: kernels equal the plain loops of ``tests/plain/two_proportions.py``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comparity.inference.extreme_tables import score_statistic
from comparity.inference.proportions import restricted_rate
from tests.plain import two_proportions as plain

tallies = st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
gaps = st.floats(-0.999, 0.999).filter(lambda gap: gap == 0 or abs(gap) > 1e-6)


@settings(deadline=None)
@given(tallies, tallies, gaps)
def test_the_restricted_rate_maximises_the_likelihood(
    first: tuple[int, int], second: tuple[int, int], gap: float
) -> None:
    (x1, n1), (x2, n2) = first, second
    expected = plain.restricted_rate(x1, n1, x2, n2, gap)
    assert restricted_rate(x1 / n1, n1, x2 / n2, n2, gap) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(tallies, tallies, gaps)
def test_the_score_statistic_is_the_excess_in_restricted_standard_errors(
    first: tuple[int, int], second: tuple[int, int], gap: float
) -> None:
    (x1, n1), (x2, n2) = first, second
    if x1 / n1 == x2 / n2 and x1 in (0, n1) and gap == 0:
        return
    expected = plain.score_statistic(x1, n1, x2, n2, gap)
    assert score_statistic(x1, n1, x2, n2, gap) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("n1", "n2"), [(5, 9), (29, 29), (29, 3), (200, 10)])
def test_the_score_statistic_rises_with_the_first_and_falls_with_the_second_and_the_gap(
    n1: int, n2: int
) -> None:
    gap = np.linspace(-0.99, 0.99, 199)[:, None, None]
    hits = np.arange(n1 + 1)[:, None], np.arange(n2 + 1)
    z = np.vectorize(score_statistic)(hits[0], n1, hits[1], n2, gap)
    assert (np.diff(z, axis=0) < 0).all()
    assert (np.diff(z, axis=1) > 0).all()
    assert (np.diff(z, axis=2) < 0).all()


def test_a_gap_of_one_leaves_one_outcome() -> None:
    assert score_statistic(5, 5, 0, 4, 1.0) == 0
    assert score_statistic(4, 5, 0, 4, 1.0) == -np.inf
    assert score_statistic(4, 5, 0, 4, -1.0) == np.inf
