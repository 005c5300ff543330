"""Welch's test against scipy, medians against the published table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind

from comparity.tasks.result import DIFFERENCE, RATIO
from comparity.tasks.welch import contrast_tasks, mean_over_judges, median_over_judges


@pytest.mark.parametrize("scale", [DIFFERENCE, RATIO])
def test_tasks_are_compared_by_welchs_test(scale: str) -> None:
    rng = np.random.default_rng(2)
    one, two = rng.normal(1.3, 0.4, 9), rng.normal(1.0, 1.1, 14)
    told = (mean_over_judges(one), mean_over_judges(two))
    found = contrast_tasks("time", scale, told, 0.9, "")
    expected = ttest_ind(one, two, equal_var=False)
    ends = expected.confidence_interval(0.9)
    back = np.exp if scale == RATIO else float
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval[:2] == pytest.approx((back(ends.low), back(ends.high)))
    assert found.ratings.value == pytest.approx(back(one.mean()))


# Conover, Practical Nonparametric Statistics, 3rd edition: two-sided intervals of the median for
# 95 % are between the k-th values from either end; no interval exists below six values.
@pytest.mark.parametrize(("n", "k"), [(6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (20, 6), (40, 14)])
def test_a_median_lies_between_two_of_its_values(n: int, k: int) -> None:
    found = median_over_judges(np.random.default_rng(n).permutation(np.arange(1.0, n + 1)), 0.95)
    assert found.interval[:2] == (k, n + 1 - k)
    assert found.value == (n + 1) / 2


def test_few_judges_have_no_interval() -> None:
    assert math.isnan(median_over_judges(np.arange(5.0), 0.95).interval.low)
    found = contrast_tasks("time", RATIO, (mean_over_judges(np.ones(1)),) * 2, 0.95, "")
    assert found.value == 1
    assert math.isnan(found.interval.low)
    assert math.isnan(found.p_value)
