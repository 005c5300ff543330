"""Simulated power against 100,000 runs of an independent program, and a row-by-row twin."""

from __future__ import annotations

import numpy as np
import pytest

from comparity.planning.plan import simulate_power
from comparity.planning.scenarios import ComparativeScenario, SeparationScenario
from tests.plain.power import decisions_violate, pairs_violate

# Xi et al., Table 1: true positive and true negative rates of the groups A = 1 and A = 0.
TABLE_1 = {
    "f0": ((220 / 275, 180 / 225), (135 / 225, 165 / 275)),
    "f1": ((220 / 275, 180 / 225), (144 / 225, 154 / 275)),
    "f2": ((231 / 275, 171 / 225), (144 / 225, 154 / 275)),
    "f3": ((230 / 275, 200 / 225), (120 / 225, 175 / 275)),
}
# Table 3 simulated by an independent program with 100,000 runs (four digits): separation with
# n = 1,000 and 2,000 decisions, comparative separation with 2,000 and 4,000 pairs.
SIMULATED = {
    "f0": (0.1014, 0.0992, 0.0986, 0.0977),
    "f1": (0.4737, 0.7474, 0.5006, 0.7707),
    "f2": (0.7828, 0.9683, 0.7237, 0.9475),
    "f3": (0.7894, 0.9723, 0.8208, 0.9804),
}
COMMON = {"shares": (0.5, 0.5), "base_rates": (0.55, 0.45)}
REPETITIONS = 10_000


def separation(classifier: str) -> SeparationScenario:
    tpr, tnr = TABLE_1[classifier]
    return SeparationScenario(tpr=tpr, fpr=(1 - tnr[0], 1 - tnr[1]), **COMMON)


def comparative(classifier: str, **options: float) -> ComparativeScenario:
    tpr, tnr = TABLE_1[classifier]
    return ComparativeScenario(tpr=tpr, tnr=tnr, **COMMON, **options)


def three_errors(rate: float, *runs: int) -> float:
    return float(3 * np.sqrt(rate * (1 - rate) * sum(1 / n for n in runs)))


@pytest.mark.parametrize("classifier", TABLE_1)
def test_simulated_powers_equal_table_3(classifier: str) -> None:
    rng = np.random.default_rng(20240701)
    found = [
        simulate_power(separation(classifier), n, rule="paper", rng=rng) for n in (1000, 2000)
    ] + [simulate_power(comparative(classifier), n, rule="paper", rng=rng) for n in (2000, 4000)]
    for rate, expected in zip(found, SIMULATED[classifier], strict=True):
        assert abs(rate - expected) <= three_errors(expected, REPETITIONS, 100_000)


@pytest.mark.long
@pytest.mark.parametrize("classifier", ["f1", "f3"])
def test_drawing_counts_has_the_law_of_drawing_rows(classifier: str) -> None:
    tpr, tnr = TABLE_1[classifier]
    fpr, base_rates = (1 - tnr[0], 1 - tnr[1]), COMMON["base_rates"]
    rng, runs = np.random.default_rng(5), 1500
    rows = np.mean([decisions_violate(rng, tpr, fpr, base_rates, 300) for _ in range(runs)])
    counts = simulate_power(separation(classifier), 300, rule="paper", rng=rng)
    assert abs(rows - counts) <= three_errors(counts, runs, REPETITIONS)
    rows = np.mean([pairs_violate(rng, tpr, tnr, base_rates, 600) for _ in range(runs)])
    counts = simulate_power(comparative(classifier), 600, rule="paper", rng=rng)
    assert abs(rows - counts) <= three_errors(counts, runs, REPETITIONS)


def test_the_same_seed_gives_the_same_answer() -> None:
    first = simulate_power(comparative("f2"), 500, rng=3)
    assert first == simulate_power(comparative("f2"), 500, rng=3)
    assert first != simulate_power(comparative("f2"), 500, rng=4)


def test_tests_without_trials_do_not_reject() -> None:
    assert simulate_power(separation("f3"), 0, rng=1) == 0
    assert simulate_power(comparative("f3", tie_share=1.0), 100, rng=1) == 0


def test_holm_keeps_the_false_alarm_rate_that_the_paper_rule_exceeds() -> None:
    holm = simulate_power(separation("f0"), 5000, rng=8)
    paper = simulate_power(separation("f0"), 5000, rule="paper", rng=8)
    assert holm <= 0.05 + three_errors(0.05, REPETITIONS)
    assert abs(paper - (1 - 0.95**2)) <= three_errors(0.0975, REPETITIONS)
