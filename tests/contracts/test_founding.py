"""Rows are counted once; what judges them sees only counts."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from comparity.counts.judged_pairs import JudgedPairs
from tests.calibration import worlds
from tests.contracts.test_house import imports

# What looks at rows, or keeps every pair.
ROWS = ("judged_pairs", "ledger", "judged_rows", "wide", "judged_weights", "decision_rows")


def numbers_in(value: Any) -> int:
    """Return how many numbers an attribute holds, those of what it is made of included."""
    if is_dataclass(value):
        return sum(numbers_in(getattr(value, one.name)) for one in fields(value))
    return np.size(value)


def size_of(pairs: JudgedPairs) -> int:
    counts = pairs.shared_counts()
    return sum(numbers_in(getattr(counts, name)) for name in type(counts).__slots__)


def test_what_tests_see_of_shared_pairs_does_not_grow_with_the_pairs() -> None:
    few, many = (worlds.leaning_panel(5, np.random.default_rng(1), n_pairs=n) for n in (400, 4000))
    assert len(many) > 9 * len(few)
    assert size_of(many) == size_of(few)


@pytest.mark.long
def test_inference_neither_counts_rows_nor_keeps_pairs() -> None:
    taken = {one.target for one in imports() if one.source.startswith("comparity.inference.")}
    assert "comparity.counts.pairs" in taken
    assert not taken & {f"comparity.counts.{name}" for name in ROWS}
