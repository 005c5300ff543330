"""Histograms of differences equal the loops, and may be counted in parts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kurtosis, skew

from comparity.counts.differences import DifferenceCounts, Moments
from comparity.errors import IncompatibleCountsError

values = st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=40)
rows = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 2)), min_size=1, max_size=40)


def counted(drawn: list[tuple[int, int]]) -> DifferenceCounts:
    differences, group = np.array(drawn).T
    return DifferenceCounts.of(differences.astype(float), group, ("a", "b", "c"))


@given(values.filter(lambda drawn: len(set(drawn)) > 1))
def test_moments_are_those_of_scipy(drawn: list[float]) -> None:
    one, n = Moments.of(np.array(drawn)), len(drawn)
    assert one.mean == pytest.approx(np.mean(drawn), abs=1e-12)
    assert one.variance == pytest.approx(np.var(drawn, ddof=1))
    assert one.m3 / n / (one.m2 / n) ** 1.5 == pytest.approx(skew(drawn), abs=1e-9)
    assert one.m4 / n / (one.m2 / n) ** 2 == pytest.approx(kurtosis(drawn, fisher=False))


@given(values)
def test_the_mode_is_what_most_rows_have_and_the_mean_without_a_majority(
    drawn: list[float],
) -> None:
    one = Moments.of(np.array(drawn))
    value, most = Counter(drawn).most_common(1)[0]
    expected = value if 2 * most > len(drawn) else float(np.mean(drawn))
    assert one.mode == pytest.approx(expected, abs=1e-12)
    assert one.away == len(drawn) - most
    assert (one.low, one.high) == (min(drawn), max(drawn))


def test_a_constant_column_has_no_variance_at_all() -> None:
    assert Moments.of(np.full(1000, 0.1)).m2 == 0


def test_no_rows_have_no_mean() -> None:
    assert np.isnan(Moments.of(np.array([])).mean)


@given(rows)
def test_counts_are_those_of_a_loop(drawn: list[tuple[int, int]]) -> None:
    counts = counted(drawn)
    for row, value in enumerate(counts.values.tolist()):
        for group in range(3):
            assert counts.counts[row, group] == drawn.count((int(value), group))
    assert counts.n == len(drawn)


@given(st.lists(st.sampled_from([-0.5, 0.0, 0.1, 2.0, 5000.0]), min_size=1, max_size=20))
def test_broken_and_far_values_are_counted_like_whole_ones(drawn: list[float]) -> None:
    counts = DifferenceCounts.of(np.array(drawn), np.zeros(len(drawn), dtype=int), ("a",))
    assert counts.values.tolist() == sorted(set(drawn))
    assert counts.counts[:, 0].tolist() == [drawn.count(value) for value in sorted(set(drawn))]


@given(rows, rows)
def test_counting_in_parts_changes_nothing(
    x: list[tuple[int, int]], y: list[tuple[int, int]]
) -> None:
    together, parts = counted(x + y), counted(x) + counted(y)
    assert parts.values.tolist() == together.values.tolist()
    assert parts.counts.tolist() == together.counts.tolist()


def test_weights_count_rows() -> None:
    ones = DifferenceCounts.of(np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1]), ("a", "b"))
    weighed = DifferenceCounts.of(
        np.array([1.0, 2.0]), np.array([0, 1]), ("a", "b"), weights=np.array([2, 1])
    )
    assert weighed.counts.tolist() == ones.counts.tolist()


def test_counts_of_other_groups_cannot_be_added() -> None:
    one = DifferenceCounts.of(np.array([1.0]), np.array([0]), ("a", "b"))
    other = DifferenceCounts.of(np.array([1.0]), np.array([0]), ("a", "c"))
    with pytest.raises(IncompatibleCountsError, match="groups"):
        one + other
