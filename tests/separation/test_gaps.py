"""Witnesses: Table 2 of Xi et al., "Comparative Separation", Fairlearn and AIF360."""

from __future__ import annotations

import math

import numpy as np
import pytest

from comparity.counts.decisions import Confusion, DecisionCounts
from comparity.separation.audit import (
    average_odds_gap,
    equalized_odds_gap,
    false_positive_rate_gap,
    true_positive_rate_gap,
)

# Table 2 prints three decimals.
PRINTED = 5e-4

# Table 1 in thousandths: {classifier: {group: (tp, fn, tn, fp)}}.
TABLE_1 = {
    "f0": {"1": (220, 55, 135, 90), "0": (180, 45, 165, 110)},
    "f1": {"1": (220, 55, 144, 81), "0": (180, 45, 154, 121)},
    "f2": {"1": (231, 44, 144, 81), "0": (171, 54, 154, 121)},
    "f3": {"1": (230, 45, 120, 105), "0": (200, 25, 175, 100)},
}


def table_1(classifier: str) -> DecisionCounts:
    return DecisionCounts(
        {
            group: Confusion(
                true_positives=tp, false_negatives=fn, true_negatives=tn, false_positives=fp
            )
            for group, (tp, fn, tn, fp) in TABLE_1[classifier].items()
        }
    )


@pytest.mark.parametrize(
    ("classifier", "true", "false"),
    [("f0", 0, 0), ("f1", 0, -0.080), ("f2", 0.080, -0.080), ("f3", -0.053, 0.103)],
)
def test_gaps_equal_table_2(classifier: str, true: float, false: float) -> None:
    counts = table_1(classifier)
    assert true_positive_rate_gap(counts, "1", "0") == pytest.approx(true, abs=PRINTED)
    assert false_positive_rate_gap(counts, "1", "0") == pytest.approx(false, abs=PRINTED)
    assert average_odds_gap(counts, "1", "0") == pytest.approx((true + false) / 2, abs=PRINTED)


def simulated(groups: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20240701)
    group = rng.choice(list(groups), 400)
    label = rng.random(400) < 0.4
    prediction = rng.random(400) < np.where(label, 0.8, 0.3) - 0.1 * (group == "b")
    return label.astype(int), prediction.astype(int), group


def counted(label: np.ndarray, prediction: np.ndarray, group: np.ndarray) -> DecisionCounts:
    return DecisionCounts(
        {
            str(name): Confusion(
                true_positives=int(np.sum((group == name) & (label == 1) & (prediction == 1))),
                false_negatives=int(np.sum((group == name) & (label == 1) & (prediction == 0))),
                false_positives=int(np.sum((group == name) & (label == 0) & (prediction == 1))),
                true_negatives=int(np.sum((group == name) & (label == 0) & (prediction == 0))),
            )
            for name in np.unique(group)
        }
    )


@pytest.mark.parametrize("groups", ["ab", "abcd"])
def test_rates_and_the_equalized_odds_gap_equal_fairlearn(groups: str) -> None:
    from fairlearn import metrics

    label, prediction, group = simulated(groups)
    counts = counted(label, prediction, group)
    odds = metrics.equalized_odds_difference(label, prediction, sensitive_features=group)
    assert equalized_odds_gap(counts) == pytest.approx(odds)
    for name in groups:
        rows = group == name
        true = metrics.true_positive_rate(label[rows], prediction[rows])
        false = metrics.false_positive_rate(label[rows], prediction[rows])
        assert counts[name].positives.rate == pytest.approx(true)
        assert counts[name].negatives.rate == pytest.approx(false)


@pytest.mark.filterwarnings("ignore")  # AIF360 warns of optional parts that are not installed.
def test_gaps_equal_aif360() -> None:
    from aif360.sklearn import metrics

    label, prediction, group = simulated("ab")
    counts = counted(label, prediction, group)
    common = {"prot_attr": group, "priv_group": "b"}
    equal_opportunity = metrics.equal_opportunity_difference(label, prediction, **common)
    average_odds = metrics.average_odds_difference(label, prediction, **common)
    assert true_positive_rate_gap(counts, "a", "b") == pytest.approx(equal_opportunity)
    assert average_odds_gap(counts, "a", "b") == pytest.approx(average_odds)


def test_opposite_gaps_cancel_in_the_average_only() -> None:
    """f2 of Table 1: gaps of 0.08 and -0.08."""
    assert average_odds_gap(table_1("f2"), "1", "0") == pytest.approx(0)
    assert equalized_odds_gap(table_1("f2")) == pytest.approx(0.08)


def test_groups_without_positives_have_no_true_positive_rate() -> None:
    counts = DecisionCounts(
        {
            "a": Confusion(true_negatives=3, false_positives=1),
            "b": Confusion(true_positives=1, true_negatives=1),
        }
    )
    assert math.isnan(true_positive_rate_gap(counts, "a", "b"))
    assert math.isnan(average_odds_gap(counts, "a", "b"))
    assert math.isnan(equalized_odds_gap(counts))
    assert false_positive_rate_gap(counts, "a", "b") == pytest.approx(0.25)


def test_without_decisions_there_is_no_equalized_odds_gap() -> None:
    assert math.isnan(equalized_odds_gap(DecisionCounts({})))


def test_groups_that_do_not_occur_are_refused() -> None:
    with pytest.raises(KeyError, match="women"):
        true_positive_rate_gap(table_1("f0"), "women", "1")
