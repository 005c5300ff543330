"""Reference: scikit-learn's ``matthews_corrcoef``, and a delta method by finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import norm
from sklearn.metrics import matthews_corrcoef

from comparity import fairness_metrics
from comparity.counts.decisions import GroupedDecisions
from comparity.metrics.catalogue import CATALOGUE, FURTHER
from comparity.metrics.matthews import IMAGINARY, MatthewsGap
from comparity.metrics.result import Scorecard

LABEL, PREDICTION = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
STEP = 1e-5
tables = hnp.arrays(np.float64, (2, 2, 2), elements=st.integers(1, 60).map(float))


def contrast_of(cells: np.ndarray) -> GroupedDecisions:
    return GroupedDecisions(cells, np.array([False, True]))


def correlation(cells: np.ndarray) -> float:
    """The coefficient of a table by scikit-learn, which takes any weights of rows."""
    return float(matthews_corrcoef(LABEL, PREDICTION, sample_weight=cells))


def standard_error(cells: np.ndarray) -> float:
    """The delta method for multinomial counts, with slopes by central differences."""
    n, share = cells.sum(), cells / cells.sum()
    steps = STEP * np.eye(4)
    slopes = [(correlation(share + h) - correlation(share - h)) / (2 * STEP) for h in steps]
    return float(np.sqrt((share @ np.square(slopes) - (share @ np.array(slopes)) ** 2) / n))


def ends(cells: np.ndarray, level: float) -> tuple[float, float]:
    """Fisher's z interval of one correlation, with imaginary decisions in every cell."""
    filled = cells + IMAGINARY
    centre = correlation(filled)
    reach = norm.isf((1 - level) / 2) * standard_error(filled) / (1 - centre**2)
    low, high = np.tanh(np.arctanh(centre) + np.array([-reach, reach]))
    return min(low, correlation(cells)), max(high, correlation(cells))


@given(tables)
def test_the_gap_equals_scikit_learn(cells: np.ndarray) -> None:
    first, second = (correlation(table.ravel()) for table in cells)
    assert float(MatthewsGap()(contrast_of(cells))) == pytest.approx(first - second, abs=1e-12)


@given(cells=tables, level=st.sampled_from([0.9, 0.95]))
def test_the_interval_is_that_of_a_finite_difference_delta_method(
    cells: np.ndarray, level: float
) -> None:
    values = [correlation(table.ravel()) for table in cells]
    (low, high), (other_low, other_high) = (ends(table.ravel(), level) for table in cells)
    gap = values[0] - values[1]
    # Zou (2007), eq. (15), for two independent correlations.
    expected = (
        gap - math.hypot(values[0] - low, other_high - values[1]),
        gap + math.hypot(high - values[0], values[1] - other_low),
    )
    contrast = contrast_of(cells)
    found = MatthewsGap().interval(contrast, contrast, level=level).interval
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-5)


def test_perfect_predictions_have_an_interval_that_holds_their_gap() -> None:
    contrast = contrast_of(np.array([[[30.0, 0], [0, 30]], [[30, 10], [10, 30]]]))
    low, high, _ = MatthewsGap().interval(contrast, contrast, level=0.95).interval
    assert float(MatthewsGap()(contrast)) == pytest.approx(0.5)
    assert low < 0.5 < high < 1


def test_one_label_only_leaves_no_gap() -> None:
    assert math.isnan(
        float(MatthewsGap()(contrast_of(np.array([[[9.0, 3], [0, 0]], [[8, 1], [2, 5]]]))))
    )


CELLS = np.array([[[48, 12], [20, 30]], [[55, 20], [15, 60]]])


def scorecard() -> Scorecard:
    group, label, prediction = np.repeat(np.argwhere(CELLS > 0), CELLS.ravel(), axis=0).T
    kinds = ["group", "individual"]
    return fairness_metrics(label, prediction, sensitive_features=group, privileged=1, kinds=kinds)


def test_a_further_metric_is_reported_beside_the_thirty() -> None:
    card = scorecard()
    first, second = (correlation(table.ravel()) for table in CELLS)
    assert card["F1"].value == pytest.approx(first - second)
    assert [one.id for one in card.metrics] == [one for one in CATALOGUE if one != "D0"]
    assert "Further metrics" in str(card)
    assert Scorecard.from_dict(card.to_dict()).to_dict() == card.to_dict()


def test_a_further_metric_changes_nothing_about_the_thirty(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = scorecard().to_dict()
    monkeypatch.setattr("comparity.metrics.audit.FURTHER", {})
    alone = scorecard().to_dict()
    assert [one["id"] for one in beside.pop("further")] == list(FURTHER)
    assert alone.pop("further") == []
    assert alone == beside
