"""Agreement by cell: its gaps, which of them are tested, and on how many items.

Reference: Xi et al., "Comparative Separation", Tables 1 and 2. Table 1 gives P(C, Y, A) for four
classifiers, Table 2 the gaps that follow. The paper prints three decimals, so half a unit in the
third is allowed.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from comparity import comparative_separation, pairwise_accuracy
from comparity.counts.all_pairs import all_pairs
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import TIE_VALUE, Cell, PairCounts, Tally, subset
from comparity.inference.agreement_tests import (
    agreement_rates,
    compare_fresh,
    compare_shared,
    contrasts_of_groups,
)
from comparity.inference.dyadic import rate_covariance
from comparity.inference.joint import equal_cells
from tests.calibration import worlds

PRINTED = 5e-4
PAIRS = 10**9

# Table 1 as {classifier: {group: (true positive rate, true negative rate)}}.
TABLE_1 = {
    "f0": {"1": (220 / 275, 135 / 225), "0": (180 / 225, 165 / 275)},
    "f1": {"1": (220 / 275, 144 / 225), "0": (180 / 225, 154 / 275)},
    "f2": {"1": (231 / 275, 144 / 225), "0": (171 / 225, 154 / 275)},
    "f3": {"1": (230 / 275, 120 / 225), "0": (200 / 225, 175 / 275)},
}


def agreement(classifier: str, cell: Cell) -> Tally:
    """Equation (9): a pair is ordered rightly when both its items are."""
    tpr, tnr = TABLE_1[classifier][cell.better][0], TABLE_1[classifier][cell.worse][1]
    return Tally(round(tpr * tnr * PAIRS), PAIRS)


@pytest.mark.parametrize(
    ("classifier", "across", "within"),
    [("f0", 0, 0), ("f1", -0.064, 0.064), ("f2", -0.016, 0.112), ("f3", 0.058, -0.120)],
)
def test_gaps_equal_table_2(classifier: str, across: float, within: float) -> None:
    cells = [Cell(i, j) for i in "10" for j in "10"]
    counts = PairCounts({cell: agreement(classifier, cell) for cell in cells})
    gaps = [test.gap for test in compare_fresh(counts, contrasts_of_groups("10"))]
    assert gaps == pytest.approx([across, within], abs=PRINTED)


def test_score_ties_count_as_nothing_or_as_half() -> None:
    """4 agreements, 3 ties and 3 disagreements: 4 / 10, or (4 + 3 / 2) / 10."""
    counts = PairCounts({Cell("a", "b"): Tally(4, 10, 3), Cell("b", "a"): Tally(1, 2)})
    rates = {ties: agreement_rates(counts, score_ties=ties)[0].rate for ties in TIE_VALUE}
    assert rates == pytest.approx({"disagree": 0.4, "half": 0.55})
    gap = compare_fresh(counts, contrasts_of_groups("ab"), score_ties="half")[0].gap
    assert gap == pytest.approx(0.05)


def test_shared_pairs_have_rates_too() -> None:
    """Item 0 beats 1 twice and ties with 2 in the model's scores once: 2 / 3, or 2.5 / 3."""
    pairs = JudgedPairs(
        better=np.array([0, 0]),
        worse=np.array([1, 2]),
        evaluator=None,
        cell=np.array([0, 0]),
        order=np.array([1, 0], dtype=np.int8),
        trials=np.array([2, 1]),
        cells=(Cell("a", "b"),),
        n_items=3,
    )
    counts = pairs.shared_counts()
    rates = {ties: agreement_rates(counts, score_ties=ties)[0].rate for ties in TIE_VALUE}
    assert rates == pytest.approx({"disagree": 2 / 3, "half": 2.5 / 3})


def hub_panel() -> worlds.JudgedPairs:
    """Most pairs are with one item, which is one of 200."""
    rng = np.random.default_rng(5)
    sizes = {"minority": 0.5, "log_odds": 0.5, "n_items": 200, "n_pairs": 800}
    return worlds.hard_items(**sizes, hub=0.9, rng=rng)


@pytest.mark.parametrize("memory", [0, 2**29])
def test_items_of_a_cell_are_counted_once_each(memory: int) -> None:
    pairs = hub_panel()
    expected = [
        len({*pairs.better[pairs.cell == code], *pairs.worse[pairs.cell == code]})
        for code in range(len(pairs.cells))
    ]
    with mock.patch("comparity.counts.judged_pairs.DENSE_BYTES", memory):
        assert pairs.shared_counts().cell_items.tolist() == expected


def test_an_item_in_most_pairs_stops_the_test_but_for_the_printed_formula() -> None:
    counts, contrasts = hub_panel().shared_counts(), contrasts_of_groups("01")
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


def test_of_two_cells_of_all_pairs_the_gap_is_all_there_is_to_test() -> None:
    rng = np.random.default_rng(9)
    label, group = rng.normal(size=80), rng.integers(0, 2, 80)
    counts = all_pairs(label, label + rng.normal(size=80), group, groups=("a", "b"))
    two = subset(counts.sharing, [1, 2])
    wald, _ = equal_cells(two)
    rates, covariance = two.hits / two.trials, rate_covariance(two)
    gap = np.array([1.0, -1.0])
    assert (wald.dof, wald.null) == (1, "agreement is equal in all cells")
    assert wald.statistic == pytest.approx((gap @ rates) ** 2 / (gap @ covariance @ gap))


@pytest.mark.long
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
    assert all("rejects too often if clusters are few or uneven" in wald.method for wald in found)
