"""Witnesses: scipy's chi-square test of a contingency table, statsmodels' Wald test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from comparity.counts.pairs import Tally
from comparity.inference.joint import homogeneous_rates, joint_equality


@pytest.mark.parametrize(
    "tallies",
    [
        [Tally(30, 50), Tally(35, 50), Tally(20, 50)],
        [Tally(1, 9), Tally(200, 431)],
        [Tally(7, 7), Tally(0, 3), Tally(12, 40), Tally(5, 8)],
    ],
)
def test_equal_rates_are_tested_as_a_contingency_table(tallies: list[Tally]) -> None:
    table = [[tally.hits for tally in tallies], [tally.trials - tally.hits for tally in tallies]]
    expected = chi2_contingency(table, correction=False)
    test = homogeneous_rates({str(k): tally for k, tally in enumerate(tallies)}, null="all equal")
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.p_value == pytest.approx(expected.pvalue)
    assert (test.dof, test.null, test.method) == (expected.dof, "all equal", "Pearson chi-square")


def test_groups_without_trials_are_left_out() -> None:
    rates = {"a": Tally(30, 50), "b": Tally(35, 50)}
    with_empty = homogeneous_rates({**rates, "c": Tally(0, 0)}, null="all equal")
    assert with_empty == homogeneous_rates(rates, null="all equal")


@pytest.mark.parametrize(
    ("rates", "dof", "reason"),
    [
        ({}, 0, "fewer than two groups have trials"),
        ({"a": Tally(3, 5), "b": Tally(0, 0)}, 0, "fewer than two groups have trials"),
        ({"a": Tally(5, 5), "b": Tally(9, 9)}, 1, "all trials came out alike"),
        ({"a": Tally(0, 5), "b": Tally(0, 9), "c": Tally(0, 1)}, 2, "all trials came out alike"),
    ],
)
def test_what_cannot_be_tested_says_why(rates: dict[str, Tally], dof: int, reason: str) -> None:
    test = homogeneous_rates(rates, null="all equal")
    assert math.isnan(test.statistic)
    assert math.isnan(test.p_value)
    assert test.dof == dof
    assert test.method == f"Pearson chi-square; not testable: {reason}"


def example() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20240701)
    factor = rng.normal(size=(4, 6)) / 20
    return np.array([0.7, 0.62, 0.8, 0.66]), factor @ factor.T


def test_joint_equality_is_the_same_whatever_the_contrasts() -> None:
    """Against the first rate instead of the neighbour, with an explicit inverse."""
    rates, covariance = example()
    contrasts = np.column_stack([np.ones(3), -np.eye(3)])
    inverse = np.linalg.inv(contrasts @ covariance @ contrasts.T)
    expected = (contrasts @ rates) @ inverse @ (contrasts @ rates)
    test = joint_equality(rates, covariance, null="all equal")
    assert test.statistic == pytest.approx(expected)
    assert test.p_value == pytest.approx(chi2.sf(expected, 3))
    assert (test.dof, test.method) == (3, "Wald chi-square")


def test_joint_equality_is_the_distance_to_the_best_common_rate() -> None:
    """Generalised least squares: the smallest (p - c)' V^-1 (p - c) over a common rate c."""
    rates, covariance = example()
    inverse = np.linalg.inv(covariance)
    common = inverse.sum(axis=0) @ rates / inverse.sum()
    expected = (rates - common) @ inverse @ (rates - common)
    assert joint_equality(rates, covariance, null="").statistic == pytest.approx(expected)


def test_joint_equality_of_equal_rates_is_chi_square() -> None:
    """4,000 draws; 4 binomial standard errors around 0.05."""
    rates, covariance = example()
    draws = np.random.default_rng(1).multivariate_normal(np.full(4, 0.5), covariance, 4000)
    rejected = np.mean([joint_equality(row, covariance, null="").p_value <= 0.05 for row in draws])
    assert rejected == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 4000))
    assert len(rates) == 4


@pytest.mark.parametrize(
    ("rates", "covariance", "reason"),
    [
        ([0.5], [[0.1]], "fewer than two rates"),
        ([0.5, math.nan], [[0.1, 0], [0, 0.1]], "a rate has no trials"),
        ([0.5, 0.6], [[0.1, 0.1], [0.1, 0.1]], "not positive definite"),
        ([0.5, 0.6], [[-0.1, 0], [0, 0.05]], "not positive definite"),
        ([0.5, 0.6, 0.7], np.zeros((3, 3)), "not positive definite"),
        ([0.5, 0.6], np.diag([1e-17, 3e-17]), "not positive definite"),
    ],
)
def test_joint_equality_that_cannot_be_tested_says_why(
    rates: list[float], covariance: list[list[float]], reason: str
) -> None:
    test = joint_equality(np.array(rates), np.array(covariance), null="all equal")
    assert math.isnan(test.p_value)
    assert math.isnan(test.statistic)
    assert reason in test.method
