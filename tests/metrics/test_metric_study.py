"""The study on one's own data: values by Fairlearn, clusters by SciPy, new metrics placed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fairlearn.metrics import demographic_parity_difference
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from comparity.errors import OptionError
from comparity.metrics.metric_study import MetricStudy, study_metrics

RNG = np.random.default_rng(1)
SEX = RNG.choice(["f", "m"], 500)
SKILL = RNG.normal(size=(500, 3))
GOOD = SKILL[:, 0] + RNG.normal(size=500) + 0.4 * (SEX == "m") > 0
X = np.column_stack([SKILL, SEX == "m"])


def chance(label: np.ndarray, decided: np.ndarray, group: np.ndarray) -> float:
    """Tell nothing: a number that depends on the rows as if drawn."""
    return float(np.sin(1e4 * decided.mean() + 1e3 * label.mean()))


def studied(**choices: Any) -> MetricStudy:
    known = {"sensitive_features": SEX, "privileged": "m", "learners": ["logistic"]}
    return study_metrics(X, GOOD, **known | choices)


def test_values_are_those_of_a_pipeline_of_scikit_learn_and_fairlearn() -> None:
    study = studied(repeats=1, threshold=0.57, folds=12)
    expected = []
    for train, rows in StratifiedKFold(12, shuffle=True, random_state=0).split(X, GOOD):
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        decided = model.fit(X[train], GOOD[train]).predict(X[rows])
        expected.append(
            demographic_parity_difference(GOOD[rows], decided, sensitive_features=SEX[rows])
        )
    assert np.abs(study.values["C15"]) == pytest.approx(np.array(expected))
    assert len(study.runs) == 12


def test_a_new_metric_is_placed_by_its_rank_correlation() -> None:
    def doubled(label: np.ndarray, decided: np.ndarray, group: np.ndarray) -> float:
        return float(2 * (decided[group == "f"].mean() - decided[group == "m"].mean()))

    study = studied(new={"doubled": doubled, "chance": chance}, repeats=6)
    by_name = {one.metric: one for one in study.redundancy}
    assert by_name["doubled"].nearest in ("C14", "C15")
    assert by_name["doubled"].correlation == pytest.approx(1.0)
    assert "C15" in by_name["doubled"].together
    assert not by_name["chance"].is_redundant
    nearest = by_name["chance"].nearest
    rho = spearmanr(study.values["chance"], study.values[nearest]).statistic
    assert by_name["chance"].correlation == pytest.approx(abs(rho))
    assert "something of its own" in " ".join(str(study).split())


@pytest.mark.long
def test_networks_and_forests_are_learners_too() -> None:
    study = studied(learners=["network", "forest"], repeats=2, folds=5)
    assert [run.split()[0] for run in study.runs] == ["network"] * 10 + ["forest"] * 10
    assert MetricStudy.from_dict(study.to_dict()).to_dict() == study.to_dict()
    assert len(study.rows()) == 20


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"learners": ["oracle"]}, "learners"),
        ({"folds": 1}, "folds"),
        ({"repeats": 0}, "repeats"),
        ({"new": {"C0": chance}}, "new"),
    ],
)
def test_bad_choices_are_refused(choices: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        studied(**choices)
