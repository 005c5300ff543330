"""Covariances of planned rates against studies drawn item by item and pair by pair.

A sample variance of R draws has a relative standard error of about sqrt(2 / R); four of them are
allowed.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from comparity.planning.power_question import PowerQuestion
from comparity.planning.scenarios import ComparativeScenario, ExpectedGaps, SeparationScenario
from tests.plain import power as plain

DRAWS = 6000
THREE_GROUPS = {
    "tpr": (0.8, 0.6, 0.9),
    "tnr": (0.7, 0.85, 0.5),
    "shares": (0.5, 0.3, 0.2),
    "base_rates": (0.6, 0.5, 0.4),
}
ACROSS = [(0, 1), (0, 2), (1, 2)]


def gaps_of(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    across = [rates[a, b] - rates[b, a] for a, b in ACROSS]
    return np.array(across + [rates[a, a] - rates[b, b] for a, b in ACROSS])


def assert_covariance(drawn: NDArray[np.float64], expected: NDArray[np.float64]) -> None:
    """Four standard errors of a sample covariance, sqrt((v_i v_j + c_ij^2) / R)."""
    variances = np.diag(expected)
    error = np.sqrt((np.outer(variances, variances) + expected**2) / len(drawn))
    assert np.abs((np.cov(drawn.T) - expected) / error).max() < 4


@pytest.mark.long
def test_shared_items_give_the_closed_form_covariance_of_the_gaps() -> None:
    # 100 items: 30, 15, 8 positive and 20, 15, 12 negative ones; each cell gets 50 judgments.
    draw = partial(
        plain.rates_in_fixed_cells,
        tpr=THREE_GROUPS["tpr"],
        tnr=THREE_GROUPS["tnr"],
        positives=(30, 15, 8),
        negatives=(20, 15, 12),
        judgments=50,
    )
    rng = np.random.default_rng(11)
    drawn = np.array([gaps_of(draw(rng)) for _ in range(DRAWS)])
    scenario = ComparativeScenario(**THREE_GROUPS, n_items=100)
    assert_covariance(drawn, covariance_with_equal_cells(scenario, 50))


@pytest.mark.parametrize("n_items", [2, 4, 7])
@pytest.mark.parametrize("size", [1, 3, 6, 30])
def test_no_gap_has_a_negative_variance_however_few_items(n_items: int, size: int) -> None:
    two = {"tpr": (0.4, 0.44), "tnr": (0.8, 0.84), "shares": (0.3, 0.7), "base_rates": (0.4, 0.44)}
    scenario = ComparativeScenario(**two, n_items=n_items, n_evaluators=7, graded=True)
    covariance = scenario.expect(size, margin=True).covariance
    assert np.linalg.eigvalsh(covariance).min() > -1e-12 * np.trace(covariance)


@pytest.mark.long
def test_with_very_few_items_the_term_of_pairs_that_share_both_matters() -> None:
    draw = partial(
        plain.rates_in_fixed_cells,
        tpr=(0.6, 0.5),
        tnr=(0.5, 0.4),
        positives=(2, 2),
        negatives=(2, 2),
        judgments=200,
    )
    rng = np.random.default_rng(14)
    drawn = [draw(rng)[0, 1] for _ in range(4 * DRAWS)]
    # Means of two Bernoulli draws each, independent: Var(TS) = E(T^2) E(S^2) - E(T)^2 E(S)^2.
    of_means = (0.36 + 0.24 / 2) * (0.16 + 0.24 / 2) - (0.6 * 0.4) ** 2
    expected = 0.24 * 0.76 / 200 + (1 - 1 / 200) * of_means
    scenario = ComparativeScenario(
        tpr=(0.6, 0.5), tnr=(0.5, 0.4), shares=(0.5, 0.5), base_rates=(0.5, 0.5), n_items=8
    )
    assert np.var(drawn) == pytest.approx(expected, rel=4 * np.sqrt(2 / len(drawn)))
    across = scenario.expect(8 * 200).covariance[0, 0]
    mirror = (0.25 + 0.25 / 2) * (0.25 + 0.25 / 2) - 0.25**2
    mirrored = 0.25 * 0.75 / 200 + (1 - 1 / 200) * mirror
    assert across == pytest.approx(expected + mirrored, rel=1e-12)


def covariance_with_equal_cells(
    scenario: ComparativeScenario, judgments: int
) -> NDArray[np.float64]:
    class EqualCells(ComparativeScenario):
        @property
        def cell_shares(self) -> NDArray[np.float64]:
            return np.ones(9)

    fields = {name: getattr(scenario, name) for name in ComparativeScenario.__dataclass_fields__}
    return EqualCells(**fields).expect(judgments).covariance


@pytest.mark.long
def test_random_pairs_of_random_items_have_nearly_that_covariance() -> None:
    # The formulas take expected counts for counts; with 600 items that is worth about 3 %.
    rates = {name: values[:2] for name, values in THREE_GROUPS.items()} | {"shares": (0.6, 0.4)}
    rng = np.random.default_rng(12)
    studies = [
        plain.rates_of_random_pairs(rng, **rates, n_items=600, n_pairs=1500) for _ in range(DRAWS)
    ]
    drawn = np.array([[r[0, 1] - r[1, 0], r[0, 0] - r[1, 1]] for r in studies])
    expected = ComparativeScenario(**rates, n_items=600).expect(1500).covariance
    assert np.var(drawn, axis=0) == pytest.approx(
        np.diag(expected), rel=4 * np.sqrt(2 / DRAWS) + 0.03
    )
    naive = ComparativeScenario(**rates).expect(1500).covariance
    assert np.all(np.var(drawn, axis=0) > 1.4 * np.diag(naive))


@pytest.mark.long
@pytest.mark.parametrize(("evaluators", "judgments"), [(5, 400), (30, 400), (30, 4000)])
def test_evaluators_who_lean_add_the_variance_of_their_mean(
    evaluators: int, judgments: int
) -> None:
    rng = np.random.default_rng(13)
    draws = [plain.gap_with_evaluators(rng, 0.48, evaluators, 0.1, judgments) for _ in range(DRAWS)]
    scenario = ComparativeScenario(
        tpr=(0.8, 0.8), tnr=(0.6, 0.6), shares=(0.5, 0.5), base_rates=(0.5, 0.5),
        n_evaluators=evaluators, evaluator_lean=0.1,
    )  # fmt: skip
    expected = scenario.expect(8 * judgments).covariance[0, 0]
    assert np.var(draws) == pytest.approx(expected, rel=4 * np.sqrt(2 / DRAWS))
    assert expected == pytest.approx(2 * 0.48 * 0.52 / judgments + 0.1**2 / evaluators, rel=0.01)


def test_table_1_puts_these_shares_of_the_pairs_in_the_cells() -> None:
    # Xi et al., Table 1: P(Y=1, A=1) = 0.275, P(Y=0, A=1) = 0.225; twice their products.
    scenario = ComparativeScenario(
        tpr=(0.8, 0.8), tnr=(0.6, 0.6), shares=(0.5, 0.5), base_rates=(0.55, 0.45)
    )
    shares = scenario.cell_shares.reshape(2, 2)
    assert shares == pytest.approx(np.array([[0.12375, 0.15125], [0.10125, 0.12375]]))


def test_tied_judgments_are_lost_from_every_cell() -> None:
    full = ComparativeScenario(**THREE_GROUPS).expect(3000)
    tied = ComparativeScenario(**THREE_GROUPS, tie_share=0.25).expect(4000)
    assert tied.first_trials == pytest.approx(full.first_trials)
    assert tied.covariance == pytest.approx(full.covariance)


def test_many_items_are_as_good_as_fresh_ones() -> None:
    fresh: ExpectedGaps = ComparativeScenario(**THREE_GROUPS).expect(1000)
    many = ComparativeScenario(**THREE_GROUPS, n_items=10**9).expect(1000)
    assert many.covariance == pytest.approx(fresh.covariance, abs=1e-8)


probability = st.floats(0.05, 0.95)
sizes = st.integers(50, 20_000)


@pytest.mark.long
@given(
    st.tuples(probability, probability, probability),
    st.tuples(probability, probability, probability),
    sizes,
)
@settings(max_examples=60, deadline=None)
def test_power_does_not_fall_with_the_number_of_decisions(
    tpr: tuple[float, ...], fpr: tuple[float, ...], n: int
) -> None:
    scenario = SeparationScenario(
        tpr=tpr, fpr=fpr, shares=(0.5, 0.3, 0.2), base_rates=(0.5, 0.4, 0.6)
    )
    question = PowerQuestion(scenario=scenario, alpha=0.05, margin=None, rule="holm")
    # The lattice of correlated tests is good for about 1e-5.
    assert question.power(2 * n) >= question.power(n) - 1e-5


@given(st.tuples(probability, probability), st.tuples(probability, probability), sizes, sizes)
@settings(max_examples=60, deadline=None)
def test_showing_gaps_within_a_margin_gets_no_harder_with_more_items(
    tpr: tuple[float, ...], tnr: tuple[float, ...], n_pairs: int, n_items: int
) -> None:
    scenario = ComparativeScenario(
        tpr=(tpr[0], tpr[0]), tnr=(tnr[0], tnr[0]), shares=(0.5, 0.5), base_rates=(0.5, 0.5),
        n_items=n_items,
    )  # fmt: skip
    question = PowerQuestion(scenario=scenario, alpha=0.05, margin=0.05, rule="holm")
    more = question.on_items(2 * n_items)
    assert more.power(n_pairs) >= question.power(n_pairs) - 1e-4
