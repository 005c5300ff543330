"""Sorting with a code or a position in the low bits, against numpy's stable argsort and lexsort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from comparity.counts.kernels.sorting import order_of, records_of, sorted_with_codes

finite = st.floats(allow_nan=False, allow_infinity=False)
few = st.sampled_from([-1e300, -1.0, -0.0, 0.0, 5e-324, 1.0, 1.0 + 2**-52, 1e300])
columns = arrays.arrays(np.float64, st.integers(1, 60), elements=finite | few)


@given(columns, st.booleans())
def test_order_is_that_of_a_stable_argsort(values: np.ndarray, descending: bool) -> None:
    order, same = order_of(values, descending=descending)
    expected = np.argsort(-values if descending else values, kind="stable")
    assert np.array_equal(order, expected)
    assert np.array_equal(same[1:], np.diff(values[expected]) == 0)
    assert not same[0]


@given(columns, st.booleans(), st.sampled_from([1, 5, 16, 40]), st.integers(0, 2**32))
def test_records_are_positions_in_order_with_their_codes(
    values: np.ndarray, descending: bool, bits: int, seed: int
) -> None:
    code = np.random.default_rng(seed).integers(0, 2**bits, len(values))
    records, same = records_of(values, code, bits, descending=descending)
    expected = np.argsort(-values if descending else values, kind="stable")
    assert np.array_equal(records >> bits, expected)
    assert np.array_equal(records & (2**bits - 1), code[expected])
    assert np.array_equal(same[1:], np.diff(values[expected]) == 0)


@pytest.mark.parametrize("descending", [False, True])
def test_values_that_differ_in_their_last_bits_only_are_put_in_order(descending: bool) -> None:
    rng = np.random.default_rng(3)
    close = 1.0 + rng.integers(0, 200, 3000) * 2.0**-52
    values = np.concatenate([close, [-1e300, 1e300], rng.normal(size=100)])
    order, same = order_of(values, descending=descending)
    assert np.array_equal(order, np.argsort(-values if descending else values, kind="stable"))
    assert np.count_nonzero(~same) == len(np.unique(values))
    records, same = records_of(values, np.arange(3102) % 7, 30, descending=descending)
    assert np.array_equal(records >> 30, order)
    assert np.count_nonzero(~same) == len(np.unique(values))


@given(columns, st.sampled_from([1, 2, 40, 4096]), st.integers(0, 2**32))
def test_codes_come_in_the_order_of_values_then_codes(
    values: np.ndarray, n_codes: int, seed: int
) -> None:
    code = np.random.default_rng(seed).integers(0, n_codes, len(values)).astype(np.uint16)
    packed, borders = sorted_with_codes(values, code, n_codes)
    expected = np.lexsort((code, values))
    bits = np.uint64((n_codes - 1).bit_length())
    assert np.array_equal(packed & ((np.uint64(1) << bits) - np.uint64(1)), code[expected])
    stretch = np.searchsorted(borders, np.arange(len(values)), side="right")
    new_value = (np.diff(packed >> bits) != 0) | (np.diff(stretch) != 0)
    assert np.array_equal(new_value, values[expected][1:] != values[expected][:-1])
