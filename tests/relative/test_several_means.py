"""Welch's analysis of variance is that of statsmodels, Games and Howell's test that of scipy."""

from __future__ import annotations

import math
from inspect import signature

import numpy as np
import pytest
from scipy.stats import ttest_ind, tukey_hsd
from statsmodels.stats.oneway import anova_oneway

from comparity.counts.differences import Moments
from comparity.relative.slopes import games_howell, welch_anova

SIZES = {2: (5, 9), 3: (12, 40, 7), 5: (30, 8, 15, 60, 22)}


def drawn(k: int) -> list[np.ndarray]:
    rng = np.random.default_rng(k)
    return [
        rng.normal(0.4 * place, 1 + place / 2, size).round(1) for place, size in enumerate(SIZES[k])
    ]


def moments(samples: list[np.ndarray]) -> dict[str, Moments]:
    return {str(place): Moments.of(sample) for place, sample in enumerate(samples)}


@pytest.mark.parametrize("k", SIZES)
def test_welchs_analysis_of_variance_is_that_of_statsmodels(k: int) -> None:
    test = welch_anova(moments(drawn(k)), null="")
    expected = anova_oneway(drawn(k), use_var="unequal")
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.dof == pytest.approx(expected.df)
    assert test.p_value == pytest.approx(expected.pvalue)


@pytest.mark.skipif(
    "equal_var" not in signature(tukey_hsd).parameters,
    reason="only younger versions of SciPy have them",
)
@pytest.mark.parametrize("k", SIZES)
def test_games_and_howells_p_values_are_those_of_scipy(k: int) -> None:
    expected = tukey_hsd(*drawn(k), equal_var=False).pvalue
    for (a, b), p_value in games_howell(moments(drawn(k))).items():
        assert p_value == pytest.approx(expected[int(a), int(b)], abs=1e-6)


def test_with_two_groups_both_are_welchs_test() -> None:
    x, y = drawn(2)
    expected = ttest_ind(x, y, equal_var=False).pvalue
    assert welch_anova(moments([x, y]), null="").p_value == pytest.approx(expected)
    assert games_howell(moments([x, y]))["0", "1"] == pytest.approx(expected, abs=1e-6)


def test_a_group_that_does_not_vary_leaves_no_analysis_of_variance() -> None:
    test = welch_anova(moments([np.ones(4), np.arange(4.0), np.arange(5.0)]), null="")
    assert math.isnan(test.p_value)
    assert "does not vary" in test.method


def test_pairs_without_variance_or_with_one_row_have_the_documented_p_values() -> None:
    found = games_howell(moments([np.ones(4), np.ones(3), np.zeros(4), np.ones(1)]))
    assert (found["0", "1"], found["0", "2"]) == (1.0, 0.0)
    assert math.isnan(found["2", "3"])
