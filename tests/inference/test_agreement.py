"""Contrasts of judged pairs that share items: which are tested, and on how many items."""

from __future__ import annotations

import numpy as np

from comparity.counting.sharing import distinct_items
from comparity.inference.agreement import compare_shared, contrasts_of_groups
from tests.calibration import worlds


def hub_panel() -> worlds.SharedPairCounts:
    """Most pairs are with one item, which is one of 200."""
    rng = np.random.default_rng(5)
    sizes = {"minority": 0.5, "log_odds": 0.5, "n_items": 200, "n_pairs": 800}
    return worlds.hard_items(**sizes, hub=0.9, rng=rng)


def test_items_of_a_cell_are_counted_once_each() -> None:
    pairs = hub_panel().pairs
    expected = [
        len({*pairs.better[pairs.cell == code], *pairs.worse[pairs.cell == code]})
        for code in range(len(pairs.cells))
    ]
    assert distinct_items(pairs).tolist() == expected


def test_an_item_in_most_pairs_stops_the_test_but_for_the_printed_formula() -> None:
    counts, contrasts = hub_panel(), contrasts_of_groups("01")
    usual = compare_shared(counts, contrasts)
    assert any(test.pivot is None and "evenly" in test.reason for test in usual)
    assert all(test.pivot is not None for test in compare_shared(counts, contrasts, guarded=False))
