"""Reference: Xi et al., "Comparative Separation", Tables 1 and 2.

Table 1 gives P(C, Y, A) for four classifiers, Table 2 the gaps that follow. The paper prints three
decimals, so half a unit in the third is allowed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from comparity.counts.decisions import Tally
from comparity.counts.pairs import Cell, JudgedPairs, PairCounts, SharedPairCounts
from comparity.inference.agreement_gaps import agreement_gap, agreement_rate

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
    gap = agreement_gap(counts, Cell("1", "0"), Cell("0", "1"))
    assert gap == pytest.approx(across, abs=PRINTED)
    gap = agreement_gap(counts, Cell("1", "1"), Cell("0", "0"))
    assert gap == pytest.approx(within, abs=PRINTED)


def test_score_ties_count_as_nothing_or_as_half() -> None:
    """4 agreements, 3 ties and 3 disagreements: 4 / 10, or (4 + 3 / 2) / 10."""
    counts = PairCounts({Cell("a", "b"): Tally(4, 10, 3), Cell("b", "a"): Tally(1, 2)})
    assert agreement_rate(counts, Cell("a", "b")) == pytest.approx(0.4)
    assert agreement_rate(counts, Cell("a", "b"), score_ties="half") == pytest.approx(0.55)
    gap = agreement_gap(counts, Cell("a", "b"), Cell("b", "a"), score_ties="half")
    assert gap == pytest.approx(0.05)


def test_cells_without_judged_pairs_have_no_rate_and_no_gap() -> None:
    counts = PairCounts({Cell("a", "b"): Tally(4, 10)}, {("a", "b"): 7})
    assert math.isnan(agreement_rate(counts, Cell("b", "a")))
    assert math.isnan(agreement_gap(counts, Cell("a", "b"), Cell("b", "a")))


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
    counts = SharedPairCounts(pairs)
    assert agreement_rate(counts, Cell("a", "b")) == pytest.approx(2 / 3)
    assert agreement_rate(counts, Cell("a", "b"), score_ties="half") == pytest.approx(2.5 / 3)
