"""Sets of records as words, against loops over single records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from comparity.counts.kernels.dealing import LANES, RECORDS, add_counts, equal_to, larger_than
from tests.plain.lanes import added, where

WORDS = st.integers(0, 2**64 - 1)


@njit
def _equal(values, number):
    return equal_to(values, np.uint64(number))


@njit
def _larger(values, number):
    return larger_than(values, np.uint64(number))


@njit
def _add(sums, to, base, start, groups, lane, word):
    add_counts(sums, np.uint64(to), base, np.uint64(start), groups, np.uint64(lane), word)


@pytest.mark.parametrize("width", [np.uint8, np.uint16])
@given(
    values=st.lists(st.integers(0, 255), min_size=RECORDS, max_size=RECORDS),
    number=st.integers(0, 255),
)
def test_values_are_compared_with_a_number(width, values, number):
    array = np.array(values, dtype=width)
    assert int(_equal(array, number)) == where(values, lambda value: value == number)
    assert int(_larger(array, number)) == where(values, lambda value: value > number)


@pytest.mark.parametrize("width", [np.int32, np.int64])
@given(
    groups=st.lists(WORDS, min_size=2 * LANES, max_size=2 * LANES),
    word=WORDS,
    known=st.lists(st.integers(0, 2**30), min_size=LANES, max_size=LANES),
)
def test_members_of_a_set_are_added_by_group(width, groups, word, known):
    base = np.array([0] * LANES + known, dtype=np.int64)
    sums = np.arange(3 * LANES).astype(width)
    _add(sums, LANES, base, LANES, np.array(groups, dtype=np.uint64), LANES, np.uint64(word))
    expected = added(range(LANES, 2 * LANES), known, groups[LANES:], word)
    assert sums.tolist() == [*range(LANES), *expected, *range(2 * LANES, 3 * LANES)]
