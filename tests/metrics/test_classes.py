"""Metrics of classes: each is that of one class against the rest, by Fairlearn and pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate

from comparity import class_metrics, fairness_metrics
from comparity.errors import ComparityError, NoSuchEntryError
from comparity.metrics.classes import ClassMetrics, class_metrics_frame


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    label, sex = rng.choice(["high", "low", "mid"], 900), rng.choice(["f", "m"], 900)
    decided = np.where(rng.random(900) < 0.7, label, rng.choice(["high", "low", "mid"], 900))
    return pd.DataFrame({"label": label, "decided": decided, "sex": sex})


def test_rates_of_each_class_against_the_rest_are_those_of_fairlearn(people: pd.DataFrame) -> None:
    found = class_metrics(
        people["label"], people["decided"], sensitive_features=people["sex"], privileged="m"
    )
    metrics = {"C0": true_positive_rate, "C1": false_positive_rate, "C15": selection_rate}
    for one in ("high", "low", "mid"):
        by_sex = MetricFrame(
            metrics=metrics,
            y_true=people["label"] == one,
            y_pred=people["decided"] == one,
            sensitive_features=people["sex"],
        ).by_group
        expected = by_sex.loc["f"] - by_sex.loc["m"]
        assert {name: found[one][name].value for name in metrics} == pytest.approx(dict(expected))


def test_intervals_hold_for_all_classes_together(people: pd.DataFrame) -> None:
    """Bonferroni: of three classes each has a third of what may be missed."""
    sensitive = {"sensitive_features": people["sex"], "privileged": "m"}
    found = class_metrics(people["label"], people["decided"], **sensitive, level=0.9)
    alone = fairness_metrics(
        people["label"] == "low", people["decided"] == "low", **sensitive, level=1 - 0.1 / 3
    )
    assert found["low"]["C0"].interval == pytest.approx(alone["C0"].interval)
    assert found.level == 0.9


def test_frames_give_the_same_and_are_read_back(people: pd.DataFrame) -> None:
    named = {"label": "label", "prediction": "decided", "sensitive": ["sex"], "privileged": "m"}
    found = class_metrics_frame(people, **named)
    direct = class_metrics(
        people["label"], people["decided"], sensitive_features=people["sex"], privileged="m"
    )
    assert found.rows() == direct.rows()
    assert len(found.rows()) == 3 * 30
    assert ClassMetrics.from_dict(found.to_dict()) == found
    assert "low against the rest" in str(found)
    with pytest.raises(NoSuchEntryError, match="medium"):
        found["medium"]


def test_too_many_classes_and_one_group_are_refused(people: pd.DataFrame) -> None:
    choices = {"sensitive_features": people["sex"], "privileged": "m"}
    with pytest.raises(ComparityError, match="at most 20 classes"):
        class_metrics(range(900), range(900), **choices)
    with pytest.raises(ComparityError):
        class_metrics(
            people["label"], people["decided"], sensitive_features=["m"] * 900, privileged="m"
        )
