"""Means by few labels and many predictions, against ppi_py and clustered regressions."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.stats import t

from comparity.inference import prediction_powered
from comparity.inference.prediction_powered import (
    FEWEST_CLUSTERS,
    powered_excess,
    powered_mean,
    powered_rate,
)

LABELLED, REST = np.arange(60), np.arange(240)
LABELS = ((LABELLED * 7) % 11 < 5).astype(float)
PREDICTED = np.where(LABELLED % 4 == 0, 1 - LABELS, LABELS) * 0.6 + 0.15 + 0.1 * np.sin(LABELLED)
PREDICTED_REST = 0.6 * ((REST * 5) % 13 < 6) + 0.15 + 0.1 * np.sin(REST)
Y = np.r_[LABELS, np.full(240, np.nan)]
F = np.r_[PREDICTED, PREDICTED_REST]


# What ppi_py 0.2.3 returns for these numbers (ppi_mean_pointestimate, ppi_mean_ci at 0.95).
@pytest.mark.parametrize(
    ("weight", "value", "low", "high"),
    [
        (1.0, 0.44432791, 0.32738369, 0.56127214),
        (0.5, 0.44716396, 0.33318868, 0.56113924),
        (0.0, 0.45, 0.32411903, 0.57588097),
    ],
)
def test_a_given_weight_is_that_of_ppi_py(
    weight: float, value: float, low: float, high: float
) -> None:
    everyone = np.ones(300, dtype=bool)
    sums = prediction_powered._MeanErrors.of(Y, F, np.arange(300), everyone)
    assert_allclose(sums.labels + weight * sums.moved, value, atol=1e-8)
    # ppi_py has the asymptotic error; leaving out one of 60 labels moves the mean by 60 / 59 more.
    error = sums.standard_error(weight, 300, 300)
    assert_allclose(error, (high - low) / (2 * 1.959963985), rtol=1 / 59)


def test_the_weight_is_the_best_and_close_to_that_of_ppi_py() -> None:
    found = powered_mean(Y, F, np.arange(300))
    assert found is not None
    sums = prediction_powered._MeanErrors.of(Y, F, np.arange(300), np.ones(300, dtype=bool))
    for other in np.linspace(0, 1, 101):
        assert found.standard_error <= sums.standard_error(other, 58, 60) + 1e-12
    # ppi_py, which takes predictions with and without labels to vary alike, has 0.4465509.
    assert abs(found.value - 0.4465509) < 0.001
    assert (found.n_labels, found.n_units, found.n_clusters) == (60, 300, 60)


def test_labels_alone_are_a_clustered_regression() -> None:
    clusters = np.r_[LABELLED // 4, 15 + REST // 4]
    found = powered_mean(Y, F, clusters)
    assert found is not None
    fit = sm.OLS(LABELS, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": LABELLED // 4})
    assert_allclose(found.labels_alone, fit.params[0])
    assert_allclose(found.labels_standard_error, fit.bse[0])
    side = np.r_[LABELLED, REST] % 3 == 0
    gap = powered_mean(Y, F, clusters, side=side)
    assert gap is not None
    # Clusters hold unequal numbers of either side: each of them is left out by hand.
    cluster, above = LABELLED // 4, side[:60]
    left = [
        LABELS[above & (cluster != k)].mean() - LABELS[~above & (cluster != k)].mean()
        for k in range(15)
    ]
    whole = LABELS[above].mean() - LABELS[~above].mean()
    assert_allclose(gap.labels_alone, whole)
    variance = 14 / 15 * sum((one - whole) ** 2 for one in left)
    assert_allclose(gap.labels_standard_error, variance**0.5)


def test_useless_predictions_change_nothing_and_exact_ones_nearly_everything() -> None:
    rng = np.random.default_rng(20260131)
    truth = (rng.random(4000) < 0.3).astype(float)
    labels = np.where(np.arange(4000) < 200, truth, np.nan)
    against = powered_mean(labels, 1 - truth, np.arange(4000))
    assert against is not None
    assert against.weight == 0.0
    assert against.value == against.labels_alone
    exact = powered_mean(labels, truth, np.arange(4000))
    assert exact is not None
    # 200 labels are worth nearly as many as all 4,000: n + N labels.
    assert 15 < exact.worth < 21
    assert abs(exact.value - truth.mean()) < 0.01


def test_too_few_prompts_or_nothing_to_predict_give_no_answer() -> None:
    few = np.where(np.arange(100) < FEWEST_CLUSTERS - 1, 1.0, np.nan)
    assert powered_mean(few, np.zeros(100), np.arange(100)) is None
    assert powered_mean(np.ones(100), np.zeros(100), np.arange(100)) is None


def test_labels_in_ten_clusters_are_enough_and_in_nine_too_few() -> None:
    labels = np.r_[np.arange(10.0), np.full(40, np.nan)]
    predictions, clusters = np.arange(50) % 10 + 0.5, np.arange(50)
    assert powered_mean(labels, predictions, clusters) is not None
    fewer = np.where(clusters == 9, 8, clusters)
    assert powered_mean(labels, predictions, fewer) is None


def test_intervals_have_students_quantiles_of_clusters_less_what_is_fitted() -> None:
    """Twenty clusters, less one for the mean and one more for the weight of predictions."""
    labels = np.r_[np.arange(20.0) % 7, np.full(40, np.nan)]
    predictions = np.r_[np.arange(20.0) % 7 + np.sin(np.arange(20)), np.arange(40) % 7]
    found = powered_mean(labels, predictions, np.arange(60), level=0.9)
    assert found is not None
    for interval, error, freedom in (
        (found.interval, found.standard_error, 18),
        (found.labels_interval, found.labels_standard_error, 19),
    ):
        half_width = (interval.high - interval.low) / 2
        assert half_width / error == pytest.approx(t.isf(0.05, freedom))


def test_labels_that_are_all_alike_leave_an_interval_within_bounds() -> None:
    labels = np.r_[np.ones(12), np.full(60, np.nan)]
    for predictions in (np.ones(72), np.tile([1.0, 1.0, 1.0, 0.0], 18)):
        rate = powered_rate(labels, predictions, np.arange(72))
        assert rate is not None
        # Of twelve votes Clopper and Pearson would have 0.735 to 1.
        assert rate.interval.low == pytest.approx(0.735, abs=0.04)
        assert rate.interval.high == pytest.approx(1)
        assert rate.value == 1
    # A judge who agrees with all twelve may yet disagree with one in five.
    gap = powered_excess(labels, np.ones(72), np.arange(72))
    assert gap is not None
    assert gap.interval.low < -0.2 < 0.2 < gap.interval.high


def test_a_rate_and_its_interval_stay_between_zero_and_one() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        truth = rng.random(90) < 0.95
        said = np.where(rng.random(90) < 0.9, truth, ~truth).astype(float)
        labels = np.where(np.arange(90) < 12, truth, np.nan)
        rate, gap = (one(labels, said, np.arange(90)) for one in (powered_rate, powered_excess))
        assert rate is not None
        assert gap is not None
        assert 0 <= rate.interval.low < rate.interval.high <= 1
        assert rate.interval.low <= rate.value <= rate.interval.high
        assert -1 <= gap.interval.low < gap.interval.high <= 1


@pytest.mark.parametrize(("rest", "share", "right"), [(3, 0.6, 0.85), (12, 0.95, 0.97)])
def test_few_units_to_predict_do_not_move_the_mean_of_many_labels(
    rest: int, share: float, right: float
) -> None:
    rng = np.random.default_rng(8)
    truth, covered, studies = share * right + (1 - share) * (1 - right), 0, 300
    for _ in range(studies):
        predictions = (rng.random(200 + rest) < share).astype(float)
        labels = np.where(rng.random(200 + rest) < right, predictions, 1 - predictions)
        labels[200:] = np.nan
        found = powered_rate(labels, predictions, np.arange(200 + rest))
        assert found is not None
        covered += found.interval.low <= truth <= found.interval.high
    # Three binomial standard errors below 0.95.
    assert covered / studies > 0.95 - 3 * np.sqrt(0.95 * 0.05 / studies)
