"""The variance of gaps between kinds of pairs, against statsmodels; minutes against the formula.

Welch's test against scipy, medians against the published table.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import ttest_ind

from comparity.tasks.answers import StudyItems
from comparity.tasks.minutes import (
    CellCounts,
    contrast_tasks,
    count_cells,
    effort_factor,
    judging_cost,
    mean_over_judges,
    median_over_judges,
)
from comparity.tasks.result import DIFFERENCE, RATIO
from tests.tasks.test_concordance import answers

JUDGES, CELLS = 12, 3


@pytest.fixture
def counts() -> CellCounts:
    rng = np.random.default_rng(5)
    trials = rng.integers(1, 9, (JUDGES, CELLS))
    lean = rng.normal(0, 0.15, (JUDGES, 1))
    hits = rng.binomial(trials, np.clip(np.array([0.6, 0.7, 0.85]) + lean, 0, 1))
    minutes = rng.uniform(2, 5, JUDGES)
    return CellCounts(trials=trials.astype(float), hits=hits.astype(float), minutes=minutes)


def mean_gap_variance(counts: CellCounts) -> float:
    """Return the cluster-robust variance of a gap by statsmodels, averaged over pairs of cells."""
    rows = [
        (judge, cell, float(place < counts.hits[judge, cell]))
        for judge in range(len(counts.minutes))
        for cell in range(CELLS)
        for place in range(int(counts.trials[judge, cell]))
    ]
    judge, cell, agree = (np.array(one) for one in zip(*rows, strict=True))
    fit = sm.OLS(agree, np.eye(CELLS)[cell]).fit(
        cov_type="cluster", cov_kwds={"groups": judge, "use_correction": False}
    )
    n = len(counts.minutes)
    spread = fit.cov_params() * n / (n - 1)
    gaps = [
        spread[a, a] + spread[b, b] - 2 * spread[a, b] for a, b in combinations(range(CELLS), 2)
    ]
    return float(np.mean(gaps))


def logarithms(counts: CellCounts) -> tuple[float, float]:
    rates = counts.hits.sum(axis=0) / counts.trials.sum(axis=0)
    minutes = float(counts.minutes.sum()) * mean_gap_variance(counts)
    return math.log(minutes), math.log(2 * float(rates.mean()) - 1)


def test_the_variance_is_that_of_clusters_by_judge(counts: CellCounts) -> None:
    found = judging_cost(counts, [0, 1, 2])
    expected = logarithms(counts)
    assert (found.minutes_by_variance, found.strength) == pytest.approx(expected)


def test_errors_are_from_leaving_out_judges(counts: CellCounts) -> None:
    left = []
    for one in range(JUDGES):
        kept = (
            np.delete(part, one, axis=0) for part in (counts.trials, counts.hits, counts.minutes)
        )
        trials, hits, minutes = kept
        cost, strength = logarithms(CellCounts(trials=trials, hits=hits, minutes=minutes))
        left.append((cost, strength, cost - 2 * strength))
    expected = (JUDGES - 1) / JUDGES * ((left - np.mean(left, axis=0)) ** 2).sum(axis=0)
    assert judging_cost(counts, [0, 1, 2]).variances == pytest.approx(expected.tolist())


def test_pairs_are_counted_by_judge_and_cell_with_tied_scores_as_half() -> None:
    orders = [(0, 0, 1, 1), (0, 0, 2, -1), (1, 1, 2, 1), (1, 0, 3, 1), (1, 2, 3, 0)]
    items = StudyItems(
        places={}, group=np.array([0, 1, 0, 1]), groups=("a", "b"), scores=np.array([1.0, 2, 3, 1])
    )
    found = count_cells(answers(orders), items)
    # Cells a>a, a>b, b>a, b>b; the last pair is a tie.
    assert found.trials.tolist() == [[1, 1, 0, 0], [0, 1, 1, 0], *[[0] * 4] * 3]
    assert found.hits.tolist() == [[1, 0, 0, 0], [0, 0.5, 0, 0], *[[0] * 4] * 3]


def test_a_variance_of_one_in_the_effort_gives_the_power_asked_for() -> None:
    variance = 1 / math.exp(effort_factor(0.1, 0.9, 0.01))
    # A z-test at 0.01 of a gap of 0.1 with this variance, by simulation of its statistic.
    z = np.random.default_rng(1).normal(0.1 / math.sqrt(variance), 1, 200_000)
    share = float((np.abs(z) > 2.5758293).mean())
    assert share == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / 200_000))


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
