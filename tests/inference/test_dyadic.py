"""Reference and properties: the score test of gaps when judged pairs share items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats import proportion

from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.inference.dyadic import compare_cells, rate_covariance, rate_interval
from comparity.inference.gap_tests import Reference
from comparity.inference.pivots import DyadicGap, SharedGap, likeliest_rates, shared_spread
from comparity.inference.proportions import restricted_rate
from tests.calibration import worlds
from tests.plain import two_proportions
from tests.plain.dyadic import variance as plain_variance

FIRST, SECOND = Cell("1", "0"), Cell("0", "1")


def judged(n_items: int, n_pairs: int, seed: int) -> JudgedPairs:
    rng = np.random.default_rng(seed)
    return worlds.People("f2", n_items, rng).judge(*worlds.random_pairs(n_items, n_pairs, rng))


def fresh(first: Tally, second: Tally) -> PairCounts:
    return PairCounts({FIRST: first, SECOND: second})


def test_without_sharing_the_test_is_the_pooled_score_test_of_statsmodels() -> None:
    counts = fresh(Tally(60, 100), Tally(45, 110))
    ours = compare_cells(counts.sharing_moments(), FIRST, SECOND, null="")
    theirs = proportion.test_proportions_2indep(60, 100, 45, 110, method="score", correction=False)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert ours.shared_variance == pytest.approx(0, abs=1e-12)


def test_without_sharing_the_interval_is_the_score_interval_of_two_proportions() -> None:
    for first, second in ((Tally(60, 100), Tally(45, 110)), (Tally(20, 20), Tally(450, 500))):
        ours = compare_cells(fresh(first, second).sharing_moments(), FIRST, SECOND, null="")
        counts = first.hits, first.trials, second.hits, second.trials
        expected = two_proportions.score_interval(*counts, stats.norm.isf(0.025))
        assert ours.interval(0.95)[:2] == pytest.approx(expected, abs=1e-9)


def test_without_sharing_the_interval_of_a_rate_is_the_wilson_interval() -> None:
    for tally in (Tally(60, 100), Tally(100, 100), Tally(0, 40)):
        sharing = fresh(tally, Tally(45, 110)).sharing_moments()
        low, high, _ = rate_interval(sharing, FIRST, 0.9)
        expected = proportion.proportion_confint(tally.hits, tally.trials, 0.1, method="wilson")
        assert (low, high) == pytest.approx(expected, abs=1e-9)


def few_misses(seed: int) -> JudgedPairs:
    rng = np.random.default_rng(seed)
    return worlds.hard_items(minority=0.1, log_odds=2.5, n_items=150, n_pairs=900, rng=rng)


def double_sum(
    pairs: JudgedPairs, rates: tuple[float, float], scales: tuple[float, float] = (1.0, 1.0)
) -> tuple[float, float]:
    """Sum residuals at the given rates over judgments that share; and over single judgments."""
    residual = np.zeros(len(pairs))
    signs = (scales[0], -scales[1])
    for sign, cell, rate in zip(signs, (FIRST, SECOND), rates, strict=True):
        rows = pairs.cell == pairs.cells.index(cell)
        residual[rows] = sign * ((pairs.order[rows] > 0) - rate) / rows.sum()
    items = list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True))
    judges = None if pairs.evaluator is None else pairs.evaluator.tolist()
    return plain_variance(residual.tolist(), items, judges), float((residual**2).sum())


@pytest.mark.parametrize("hypothesised", [0.0, 0.1, -0.3])
def test_the_variance_is_the_double_sum_over_sharing_judgments(hypothesised: float) -> None:
    counts = judged(80, 400, 2)
    test = compare_cells(counts.shared_counts().sharing_moments(), FIRST, SECOND, null="")
    assert isinstance(test.pivot, DyadicGap)
    n, m = test.n
    pooled = (counts.tallies()[FIRST].hits + counts.tallies()[SECOND].hits) / (n + m)
    rates = pooled + hypothesised * m / (n + m), pooled - hypothesised * n / (n + m)
    expected, _ = double_sum(counts, rates)
    assert test.pivot.variance_at(hypothesised) == pytest.approx(expected, rel=1e-9)
    z = (test.gap - hypothesised) / np.sqrt(expected)
    assert test.pivot.p_value(hypothesised) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("hypothesised", [0.0, 0.1, -0.3])
@pytest.mark.parametrize("n_evaluators", [0, 4])
def test_without_guards_few_misses_and_few_evaluators_change_nothing(
    hypothesised: float, n_evaluators: int
) -> None:
    counts = few_misses(2)
    judges = np.arange(len(counts)) % n_evaluators if n_evaluators else None
    names = tuple(str(number) for number in range(n_evaluators))
    counts = replace(counts, evaluator=judges, evaluators=names)
    test = compare_cells(
        counts.shared_counts().sharing_moments(), FIRST, SECOND, null="", guarded=False
    )
    assert test.method == "dyadic score z"
    n, m = test.n
    pooled = (counts.tallies()[FIRST].hits + counts.tallies()[SECOND].hits) / (n + m)
    rates = pooled + hypothesised * m / (n + m), pooled - hypothesised * n / (n + m)
    expected, _ = double_sum(counts, rates)
    z = (test.gap - hypothesised) / np.sqrt(expected)
    assert test.pivot.p_value(hypothesised) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("hypothesised", [0.0, 0.1, -0.3])
def test_with_few_misses_single_judgments_have_the_binomial_variance(hypothesised: float) -> None:
    counts = few_misses(2)
    test = compare_cells(counts.shared_counts().sharing_moments(), FIRST, SECOND, null="")
    assert isinstance(test.pivot, SharedGap)
    assert test.method == "dyadic score z, binomial variance"
    n, m = test.n
    rate = test.pivot.rates[0]
    first = float(restricted_rate(rate, n, rate - test.gap, m, hypothesised))
    second = first - hypothesised
    everything, single = double_sum(counts, (first, second))
    shared = [0.0, everything - single]
    if abs(hypothesised) > abs(test.gap):
        now = (rate, rate - test.gap)
        growth = [both_share(p) / both_share(q) for p, q in zip((first, second), now, strict=True)]
        everything, single = double_sum(counts, now, (growth[0] ** 0.5, growth[1] ** 0.5))
        shared.append(everything - single)
    expected = first * (1 - first) / n + second * (1 - second) / m + max(shared)
    assert test.pivot.variance_at(hypothesised) == pytest.approx(expected, rel=1e-6)


def both_share(rate: float) -> float:
    """By integration: outcomes of two pairs are right together, minus what chance would give."""
    threshold = stats.norm.ppf(rate)
    both = stats.multivariate_normal(mean=[0, 0], cov=[[1, 0.5], [0.5, 1]])
    return float(both.cdf([threshold, threshold])) - rate**2


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_outcomes_that_share_an_item_vary_together_as_normal_scores_do(rate: float) -> None:
    assert shared_spread(np.array([rate]))[0] == pytest.approx(both_share(rate), rel=1e-5)


def test_outcomes_that_are_certain_do_not_vary() -> None:
    assert shared_spread(np.array([0.0, 1.0, 1.0 + 1e-9])).tolist() == [0.0, 0.0, 0.0]


def test_a_variance_grows_with_the_hypothesis_where_the_sample_is_too_good() -> None:
    """Of 40 items two are bad; were the gap larger, there would be more of them."""
    shared = np.zeros((4, 4))
    # Hits of the second cell, centred: two items in forty lose all of their forty pairs.
    shared[3, 3] = 2 * 40**2 * 0.95 + 1600 * 0.95 * 1600 * 0.95 / 40
    shared[1, 1], shared[1, 3] = 1600 * 1600 / 40, 1600 * 1600 * 0.95 / 40
    shared[3, 1] = shared[1, 3]
    gap = SharedGap(
        rates=np.array([1.0, 0.95]),
        trials=np.full(2, 1600.0),
        own=np.full(2, 1600.0),
        shared=shared,
        contrast=np.array([1.0, -1.0]),
    )
    assert gap.parts_at(0.2)[1] > 2 * gap.parts_at(0.05)[1]
    assert gap.parts_at(0.0)[1] < gap.parts_at(0.05)[1] * 1.2


def test_the_least_variance_is_the_least_over_all_gaps() -> None:
    for seed in range(5):
        pivot = compare_cells(
            judged(80, 400, seed).shared_counts().sharing_moments(), FIRST, SECOND, null=""
        ).pivot
        assert isinstance(pivot, DyadicGap)
        grid = [pivot.variance_at(gap) for gap in np.linspace(-1, 1, 2001)]
        assert pivot.least_variance() == pytest.approx(min(grid), rel=1e-5)


def test_a_negative_variance_is_replaced_by_the_sum_over_clusters_alone() -> None:
    """With ten times too much taken off, only the sums over items are left."""
    sharing = judged(80, 400, 2).shared_counts().sharing_moments()
    assert sharing.touching is not None
    taken = sharing.touching - sharing.dependent
    broken = replace(sharing, dependent=sharing.touching - 10 * taken)
    test = compare_cells(broken, FIRST, SECOND, null="")
    assert test.method == "dyadic score z, nothing taken off"
    counts = judged(80, 400, 2)
    n, m = test.n
    pooled = (counts.tallies()[FIRST].hits + counts.tallies()[SECOND].hits) / (n + m)
    by_item = np.zeros(80)
    for sign, cell, size in ((1, FIRST, n), (-1, SECOND, m)):
        rows = counts.cell == counts.cells.index(cell)
        u = sign * ((counts.order[rows] > 0) - pooled) / size
        by_item += np.bincount(counts.better[rows], u, 80) + np.bincount(counts.worse[rows], u, 80)
    z = test.gap / np.sqrt((by_item**2).sum())
    assert test.p_value == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-7)


def test_where_no_gap_is_rejected_the_interval_holds_all_gaps() -> None:
    """The only moment is one squared hit of weight one: the variance is one at every gap."""
    rows = np.array([[0.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
    sides = np.array([0.6, 0.5]), np.ones(2), np.array([1.0, -1.0])
    pivot = DyadicGap(
        rates=sides[0], trials=sides[1], contrast=sides[2], dependent=rows, own=0 * rows
    )
    low, high, _ = pivot.interval(0.9)
    assert (low, high) == (-1.0, 1.0)
    assert pivot.p_value(-1.0) > 0.1
    assert pivot.p_value(1.0) > 0.1


def test_the_interval_holds_the_gaps_that_are_not_rejected() -> None:
    test = compare_cells(
        judged(150, 600, 3).shared_counts().sharing_moments(), FIRST, SECOND, null=""
    )
    low, high, _ = test.interval(0.9)
    assert test.pivot is not None
    for end in (low, high):
        assert test.pivot.p_value(end) == pytest.approx(0.1, abs=1e-9)
    assert test.pivot.p_value(low - 0.01) < 0.1 < test.pivot.p_value(low + 0.01)


def test_equivalence_is_the_interval_of_twice_the_level_inside_the_margin() -> None:
    test = compare_cells(
        judged(150, 600, 3).shared_counts().sharing_moments(), FIRST, SECOND, null=""
    )
    low, high, _ = test.interval(0.9)
    edge = max(-low, high)
    assert test.equivalence_p_value(edge + 0.001) < 0.05 < test.equivalence_p_value(edge - 0.001)


@given(st.integers(2, 50), st.floats(0.001, 0.3))
def test_reference_law_of_few_clusters_is_that_of_normal_parts(g: int, alpha: float) -> None:
    """z = sum / root of squares of g normal parts: z^2 / g has the law Beta(1/2, (g - 1)/2)."""
    law = Reference(n_clusters=g)
    z = law.quantile(alpha)
    assert stats.beta.sf(z * z / g, 0.5, (g - 1) / 2) == pytest.approx(alpha, rel=1e-6)
    assert 2 * law.tail(z) == pytest.approx(alpha, rel=1e-6)


def test_a_statistic_beyond_what_the_clusters_allow_has_no_tail() -> None:
    assert Reference(n_clusters=4).tail(2.1) == 0.0
    assert Reference(n_clusters=4).tail(-2.1) == 1.0


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (Tally(0, 0), Tally(5, 50), "no pair of the kind 1 > 0"),
        (Tally(50, 50), Tally(40, 40), "nothing varies"),
        (Tally(0, 50), Tally(0, 40), "nothing varies"),
        (Tally(2, 4), Tally(20, 40), "the pairs 1 > 0 rest on 8.0 items"),
    ],
)
def test_what_cannot_be_tested_says_why(first: Tally, second: Tally, reason: str) -> None:
    test = compare_cells(fresh(first, second).sharing_moments(), FIRST, SECOND, null="")
    assert np.isnan(test.p_value)
    assert np.isnan(test.interval(0.95).low)
    assert np.isnan(test.equivalence_p_value(0.05))
    assert reason in test.reason


def test_scores_that_all_tie_leave_nothing_to_test() -> None:
    counts = fresh(Tally(0, 50, 50), Tally(0, 60, 60))
    test = compare_cells(counts.sharing_moments("half"), FIRST, SECOND, null="")
    assert "nothing varies" in test.reason


def test_opposite_rates_of_one_and_zero_are_a_gap_without_error() -> None:
    test = compare_cells(
        fresh(Tally(40, 40), Tally(0, 60)).sharing_moments(), FIRST, SECOND, null=""
    )
    assert (test.gap, test.standard_error) == (1.0, 0.0)
    assert test.p_value < 1e-9
    assert 0.5 < test.interval(0.95).low < test.interval(0.95).high == 1.0


def test_half_hits_have_the_variance_of_a_three_valued_outcome() -> None:
    """Of 100 outcomes 40 are 1, 20 are one half: mean 0.5, variance 0.45 - 0.25 = 0.20."""
    counts = fresh(Tally(40, 100, 20), Tally(40, 100, 20))
    test = compare_cells(counts.sharing_moments("half"), FIRST, SECOND, null="")
    assert test.standard_error == pytest.approx(np.sqrt(2 * 0.20 / 100))


@pytest.mark.long
def test_covariance_of_rates_is_that_of_repeated_samples() -> None:
    rng = np.random.default_rng(5)
    rates, estimates = [], []
    for _ in range(1500):
        people = worlds.People("f3", 300, rng)
        sharing = (
            people.judge(*worlds.random_pairs(300, 900, rng)).shared_counts().sharing_moments()
        )
        rates.append(sharing.hits / sharing.trials)
        estimates.append(np.diag(rate_covariance(sharing)))
    # The relative standard error of a variance over r samples is sqrt(2 / r).
    expected = np.var(rates, axis=0)
    assert np.mean(estimates, axis=0) == pytest.approx(expected, rel=4 * np.sqrt(2 / 1500))


@pytest.mark.parametrize(
    ("hits", "trials", "gap"),
    [
        ([30, 25, 40, 12], [40, 50, 45, 20], 0.1),
        ([39, 49, 20, 10], [40, 50, 45, 20], -0.2),
        ([20, 0, 45, 20], [20, 50, 45, 20], 0.3),
    ],
)
def test_rates_with_a_given_mean_gap_are_the_likeliest(
    hits: list[int], trials: list[int], gap: float
) -> None:
    """Witness: a constrained optimiser of the binomial likelihood."""
    x, n, c = np.array(hits, float), np.array(trials, float), np.array([0.5, 0.5, -0.5, -0.5])

    def badness(rates: np.ndarray) -> float:
        return -float((stats.binom.logpmf(x, n, np.clip(rates, 1e-12, 1 - 1e-12))).sum())

    start = np.clip(x / n, 0.05, 0.95)
    start -= c * (c @ start - gap) / (c @ c)
    found = optimize.minimize(
        badness,
        np.clip(start, 0.01, 0.99),
        method="SLSQP",
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda rates: c @ rates - gap},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    ours = likeliest_rates(x / n, n, c, gap)
    assert c @ ours == pytest.approx(gap, abs=1e-9)
    assert badness(ours) <= found.fun + 1e-7
    assert ours == pytest.approx(found.x, abs=2e-4)


def test_the_mean_of_two_cells_varies_as_its_judgments_do() -> None:
    """Witness: the sum over all judgments that share, residuals about rates without a gap."""
    pairs = judged(150, 900, 4)
    across, within = (FIRST, SECOND), (Cell("0", "0"), Cell("1", "1"))
    test = compare_cells(pairs.shared_counts().sharing_moments(), across, within, null="")
    cells = [*across, *within]
    c = np.array([0.5, 0.5, -0.5, -0.5])
    rows = [pairs.cell == pairs.cells.index(cell) for cell in cells]
    n = np.array([row.sum() for row in rows])
    rates = np.array([(pairs.order[row] > 0).mean() for row in rows])
    equal = rates - (c @ rates) * (c / n) / (c**2 / n).sum()
    residual = np.zeros(len(pairs))
    for one, row, size, rate in zip(c, rows, n, equal, strict=True):
        residual[row] = one * ((pairs.order[row] > 0) - rate) / size
    items = list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True))
    z = (c @ rates) / np.sqrt(plain_variance(residual.tolist(), items, None))
    assert test.gap == pytest.approx(c @ rates)
    assert test.n == (n[0] + n[1], n[2] + n[3])
    assert test.p_value == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-7)
