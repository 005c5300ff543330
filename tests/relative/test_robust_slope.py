"""The slope and its HC3 error are those of statsmodels; its scale is that of two groups."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm

from comparity.counts.differences import Moments
from comparity.inference.differential_parity import standardised_gap
from comparity.inference.means import RatioPivot
from comparity.relative.slopes import compare_slope


def world(n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    age = rng.gamma(2, 10, n)
    return 0.02 * age + rng.normal(size=n) * (0.5 + age / 30), age


def degrees_of_freedom(attribute: np.ndarray) -> float:
    """Return (tr G)^2 / tr(G^2) from whole matrices, G being M D M."""
    x = attribute - attribute.mean()
    design = sm.add_constant(attribute)
    rest = np.eye(len(x)) - design @ np.linalg.pinv(design)
    product = rest @ np.diag((x / np.diag(rest)) ** 2) @ rest
    return float(np.trace(product) ** 2 / np.trace(product @ product))


def test_slope_error_and_p_value_are_those_of_statsmodels() -> None:
    differences, age = world()
    test = compare_slope(differences, age, null="")
    model = sm.OLS(differences, sm.add_constant(age))
    model.df_resid = degrees_of_freedom(age)
    fit = model.fit(cov_type="HC3", use_t=True)
    width = 2 * age.std(ddof=1)
    assert isinstance(test.pivot, RatioPivot)
    assert test.pivot.gap == pytest.approx(width * fit.params[1])
    assert math.sqrt(test.pivot.variance) == pytest.approx(width * fit.bse[1])
    assert test.p_value == pytest.approx(fit.pvalues[1])
    residual = math.sqrt(fit.ssr / (len(age) - 2))
    assert test.gap == pytest.approx(width * fit.params[1] / residual)


@pytest.mark.parametrize("furthest", [3.0, 10.0, 100.0])
def test_degrees_of_freedom_are_those_of_the_traces(furthest: float) -> None:
    differences, age = world(40)
    age[0] = furthest * age.max()
    pivot = compare_slope(differences, age, null="").pivot
    assert isinstance(pivot, RatioPivot)
    assert pivot.dof == pytest.approx(degrees_of_freedom(age), rel=1e-5)


def test_with_two_equal_groups_every_subject_counts() -> None:
    rng = np.random.default_rng(1)
    pivot = compare_slope(rng.normal(size=60), np.arange(60.0) % 2, null="").pivot
    assert isinstance(pivot, RatioPivot)
    # As in Welch's test of two groups of 30 with equal variances.
    assert pivot.dof == pytest.approx(58)


@pytest.mark.parametrize("second", [0.0, 1e-9])
def test_one_subject_who_draws_the_line_alone_leaves_no_test(second: float) -> None:
    attribute = np.zeros(50)
    attribute[:2] = 1.0, second
    test = compare_slope(np.random.default_rng(1).normal(size=50), attribute, null="")
    assert test.pivot is None
    assert "one subject alone" in test.reason


def test_with_two_equal_groups_it_is_dpd() -> None:
    rng = np.random.default_rng(1)
    group = np.arange(2000) % 2
    differences = rng.normal(0.3 * group, 1)
    expected = standardised_gap(*(Moments.of(differences[group == one]) for one in (1, 0)))
    test = compare_slope(differences, group.astype(float), null="")
    assert test.gap == pytest.approx(expected, rel=1e-3)


def test_the_error_of_the_scaled_slope_is_that_of_a_bootstrap() -> None:
    differences, age = world(400)
    rng = np.random.default_rng(2)
    draws = []
    for _ in range(1500):
        rows = rng.integers(0, 400, 400)
        # The attribute is taken as given: its deviation stays that of the data.
        fit = np.polyfit(age[rows], differences[rows], 1)
        residuals = differences[rows] - np.polyval(fit, age[rows])
        draws.append(2 * age.std(ddof=1) * fit[0] / residuals.std(ddof=2))
    test = compare_slope(differences, age, null="")
    assert test.standard_error == pytest.approx(np.std(draws), rel=0.1)


def test_equal_differences_do_not_change_with_anything() -> None:
    test = compare_slope(np.zeros(500), np.arange(500.0), null="")
    assert (test.gap, test.p_value) == (0.0, 1.0)
    assert test.equivalence_p_value(0.2) < 0.05


def test_too_few_subjects_or_differences_leave_no_test() -> None:
    few = compare_slope(np.arange(9.0), np.arange(9.0), null="")
    rare = compare_slope((np.arange(500) % 100 == 0).astype(float), np.arange(500.0), null="")
    assert few.pivot is None
    assert rare.pivot is None
    assert "5 of 500" in rare.reason


def test_differences_on_a_line_are_told_apart() -> None:
    test = compare_slope(2 * np.arange(40.0), np.arange(40.0), null="")
    assert test.p_value < 1e-9
    assert test.gap > 1e6


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**90])
def test_the_unit_of_the_attribute_changes_nothing(unit: float) -> None:
    differences, age = world()
    # Powers of two move no digit, so that the answers are the same to the last one.
    test, other = (compare_slope(differences, age * by, null="") for by in (1.0, unit))
    assert (test.gap, test.p_value) == (other.gap, other.p_value)
