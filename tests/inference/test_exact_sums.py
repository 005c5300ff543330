"""Exact tests of sums: Fisher's test of scipy, all ways to draw and all exchanges are witnesses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from comparity.inference.exact_sums import drawn_p_value, exchanged_p_value
from tests.plain import judges as plain

strata = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(5, 6)), min_size=1, max_size=3
)
lost = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5), min_size=1, max_size=4)


@given(strata, st.data())
def test_the_p_value_equals_all_ways_to_draw(
    found: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    least = sum(max(0, f + m - n) for f, m, n in found)
    most = sum(min(f, m) for f, m, _ in found)
    seen = data.draw(st.integers(least, most))
    assert drawn_p_value(found, seen) == pytest.approx(plain.failures_p(found, seen))


@pytest.mark.parametrize(("a", "b", "c", "d"), [(6, 10, 1, 70), (2, 25, 0, 50), (1, 40, 6, 40)])
def test_one_stratum_is_the_exact_test_of_fisher(a: int, b: int, c: int, d: int) -> None:
    expected = fisher_exact([[a, b - a], [c, d - c]]).pvalue
    assert drawn_p_value([(a + c, b, b + d)], a) == pytest.approx(expected)


@given(lost, st.data())
def test_the_p_value_equals_all_exchanges(found: list[list[int]], data: st.DataObject) -> None:
    seen = sum(data.draw(st.sampled_from(one)) for one in found)
    counts = [np.array(one) for one in found]
    assert exchanged_p_value(counts, seen) == pytest.approx(plain.exchanged_p(found, seen))
