"""Calibration of audits of all kinds of pairs: false alarms, and false claims about the margin.

A rate p measured in r repetitions has the standard error sqrt(p (1 - p) / r).
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from comparity.comparative.judge import audit_counts
from comparity.comparative.options import ComparativeOptions
from comparity.counts.ledger import count_position_pairs
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.results.result import VIOLATED, WITHIN

ALPHA = 0.05
OPTIONS = ComparativeOptions()


def most_allowed(repetitions: int) -> float:
    return ALPHA + 3 * float(np.sqrt(ALPHA * (1 - ALPHA) / repetitions))


def fresh_pairs(
    rates: dict[str, float], sizes: dict[str, int], rng: np.random.Generator
) -> dict[str, PairCounts]:
    """Draw how often the model agrees in each cell, such as ``{"ab": 0.9}``."""
    tallies = {
        Cell(*cell): Tally(int(rng.binomial(sizes[cell], rate)), sizes[cell])
        for cell, rate in rates.items()
    }
    return {"group": PairCounts(tallies)}


@pytest.mark.parametrize(("rate", "size"), [(0.7, 25), (0.95, 100), (0.7, 1000)])
def test_two_groups_and_fresh_pairs_keep_the_false_alarm_rate(
    rate: float, size: int, repetitions: int, rng: np.random.Generator
) -> None:
    repetitions //= 2
    cells = ["".join(cell) for cell in product("ab", repeat=2)]
    sizes = dict(zip(cells, (2 * size, size, size, max(size // 2, 10)), strict=True))
    found = 0
    for _ in range(repetitions):
        counts = fresh_pairs(dict.fromkeys(cells, rate), sizes, rng)
        found += any(test.differs_from_zero for test in audit_counts(counts, OPTIONS).tests)
    assert found / repetitions <= most_allowed(repetitions)


@pytest.mark.parametrize("groups", ["ab", "abc"])
def test_shared_items_keep_the_false_alarm_rate(
    groups: str, repetitions: int, rng: np.random.Generator
) -> None:
    """Items are unequally hard for the model, whatever their group."""
    repetitions //= 8 if groups == "abc" else 2
    found = 0
    for _ in range(repetitions):
        group = np.array(list(groups))[rng.integers(0, len(groups), 300)]
        quality = rng.normal(size=300)
        pairs = rng.integers(0, 300, (2000, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        swapped = quality[pairs[:, 0]] < quality[pairs[:, 1]]
        pairs[swapped] = pairs[swapped][:, ::-1]
        scores = quality + rng.normal(size=300) * rng.choice([0.3, 1.5], 300)
        counts = count_position_pairs(pairs, scores=scores, sensitive={"group": group})
        found += any(test.differs_from_zero for test in audit_counts(counts, OPTIONS).tests)
    assert found / repetitions <= most_allowed(repetitions)


def test_one_gap_as_large_as_the_margin_is_seldom_missed(
    repetitions: int, rng: np.random.Generator
) -> None:
    """Both kinds within groups are 0.05 better than one kind across, and 0.025 than the other."""
    rates = {"aa": 0.8, "bb": 0.8, "ab": 0.75, "ba": 0.775}
    wrong, repetitions = 0, repetitions // 2
    for _ in range(repetitions):
        counts = fresh_pairs(rates, dict.fromkeys(rates, 4000), rng)
        wrong += audit_counts(counts, OPTIONS).finding == WITHIN
    assert wrong / repetitions <= most_allowed(repetitions)


def test_a_claim_about_any_single_gap_is_seldom_wrong(
    repetitions: int, rng: np.random.Generator
) -> None:
    """Across the gap is the margin: whoever says there that it is smaller is wrong."""
    rates = {"aa": 0.8, "bb": 0.8, "ab": 0.8, "ba": 0.75}
    wrong, repetitions = 0, repetitions // 2
    for _ in range(repetitions):
        audit = audit_counts(fresh_pairs(rates, dict.fromkeys(rates, 3000), rng), OPTIONS)
        at_margin = [gap for gap in (*audit.tests, *audit.further_gaps) if "(b > a)" in gap.null]
        assert len(at_margin) == 3
        wrong += any(gap.finding == WITHIN for gap in at_margin)
    assert wrong / repetitions <= most_allowed(repetitions)


def test_what_binary_quality_would_not_see_is_found(rng: np.random.Generator) -> None:
    """The world of an audit that passed: 1.00 within groups, 0.84 and 0.83 across."""
    rates = {"aa": 1.0, "bb": 1.0, "ab": 0.84, "ba": 0.83}
    counts = fresh_pairs(rates, dict.fromkeys(rates, 500), rng)
    assert audit_counts(counts, OPTIONS).finding == VIOLATED
    assert audit_counts(counts, ComparativeOptions(quality="binary")).finding != VIOLATED
