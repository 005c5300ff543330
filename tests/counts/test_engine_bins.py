"""The median found by parting ranges is numpy's, which sorts all values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.counts import engine_bins
from comparity.counts.engine_bins import find_median
from comparity.tables.frames import in_memory
from comparity.tables.values import LARGEST

numbers = st.floats(-LARGEST, LARGEST) | st.integers(-3, 3).map(float) | st.floats(0.1, 0.2)


@given(st.lists(numbers, min_size=1, max_size=40))
def test_the_median_of_any_numbers_is_numpys(values: list[float]) -> None:
    usual, engine_bins.FEW_VALUES = engine_bins.FEW_VALUES, 2
    try:
        found = find_median(in_memory({"x": np.array(values)}), "x")
    finally:
        engine_bins.FEW_VALUES = usual
    assert found == pytest.approx(float(np.median(values)), rel=1e-15, abs=0.0)


def test_a_median_far_from_the_middle_of_the_range_is_parted_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_bins, "FEW_VALUES", 10)
    values = np.exp(np.random.default_rng(0).normal(0, 20, 5001))
    assert find_median(in_memory({"x": values}), "x") == np.median(values)
