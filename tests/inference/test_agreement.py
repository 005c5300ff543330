"""Contrasts of judged pairs that share items: which are tested, and on how many items."""

from __future__ import annotations

import numpy as np
import pytest

from comparity import comparative_separation, pairwise_accuracy
from comparity.counts.sharing import distinct_items
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


def test_the_joint_test_of_all_pairs_is_that_of_the_two_gaps_of_two_groups() -> None:
    """With the covariance of the matrix, whose entries are a > a, a > b, b > a, b > b."""
    rng = np.random.default_rng(9)
    label, group = rng.normal(size=300), rng.choice(["a", "b"], 300)
    scores = label + rng.normal(size=300) - 0.2 * (group == "b")
    result = pairwise_accuracy(label, scores, sensitive_features=group)
    gaps = np.array([[0, 1, -1, 0], [1, 0, 0, -1]])
    observed = gaps @ result.matrix.ravel()
    expected = observed @ np.linalg.inv(gaps @ result.covariance @ gaps.T) @ observed
    wald = result.raw.joint_tests[0]
    assert (wald.dof, wald.null) == (2, "agreement depends on neither item's group")
    assert wald.statistic == pytest.approx(expected)


def test_the_wald_chi_square_of_few_even_evaluators_says_that_it_is_too_eager() -> None:
    """No group is treated differently, so that 0.05 of the panels should be rejected."""
    rng = np.random.default_rng(0)
    group, judge = np.repeat(["a", "b"], 100), np.arange(400) % 5
    found = []
    for _ in range(80):
        quality, first = rng.normal(size=200), rng.integers(0, 200, 400)
        pairs = np.column_stack([first, (first + rng.integers(1, 200, 400)) % 200])
        swap = quality[pairs[:, 0]] < quality[pairs[:, 1]]
        pairs[swap] = pairs[swap, ::-1]
        columns = {"scores": quality + rng.normal(size=200), "sensitive_features": group}
        found.append(comparative_separation(pairs, **columns, evaluators=judge).joint_tests[0])
    assert np.mean([wald.p_value < 0.05 for wald in found]) > 0.15
    assert all("too eager if clusters are few or uneven" in wald.method for wald in found)
