"""Sorting with a position in the low bits, against numpy's stable argsort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from comparity.counts.kernels.sorting import order_of

finite = st.floats(allow_nan=False, allow_infinity=False)
few = st.sampled_from([-1e300, -1.0, -0.0, 0.0, 5e-324, 1.0, 1.0 + 2**-52, 1e300])
columns = arrays.arrays(np.float64, st.integers(0, 60), elements=finite | few)


@given(columns)
def test_order_is_that_of_a_stable_argsort(values: np.ndarray) -> None:
    order, same = order_of(values)
    expected = np.argsort(values, kind="stable")
    assert np.array_equal(order, expected)
    assert np.array_equal(same[1:], np.diff(values[expected]) == 0)
    assert not same[:1].any()


def test_values_that_differ_in_their_last_bits_only_are_put_in_order() -> None:
    rng = np.random.default_rng(3)
    close = 1.0 + rng.integers(0, 200, 3000) * 2.0**-52
    values = np.concatenate([close, [-1e300, 1e300], rng.normal(size=100)])
    order, same = order_of(values)
    assert np.array_equal(order, np.argsort(values, kind="stable"))
    assert np.count_nonzero(~same) == len(np.unique(values))
