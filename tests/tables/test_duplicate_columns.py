"""Two columns of one name are refused by every public function that takes frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest

import comparity
from comparity.comparative.audit import audit_frames
from comparity.errors import ComparityError, DuplicateColumnError
from comparity.metrics.distortion import distortion_metrics
from comparity.ranking.rank import rank_frames
from comparity.separation.information import information_separation
from comparity.tables.frames import connection
from comparity.tables.layouts import to_comparisons
from comparity.training.correlation import CorrelationRanker
from comparity.training.score_transforms import monotone_transform
from comparity.training.weigh import debiasing_weights

N = 40
RNG = np.random.default_rng(0)
Y = np.arange(N) % 2
SCORES = RNG.normal(size=N)
GROUP = np.array(["f", "f", "m", "m"] * (N // 4))
PAIRS = np.array([RNG.choice(N, 2, replace=False) for _ in range(N)])
JUDGES = np.array(["j", "k"] * (N // 2))

SEX = pd.DataFrame(np.c_[GROUP, GROUP], columns=["sex", "sex"])
X = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["x", "x"])
LABELS = pd.DataFrame(np.c_[Y, 1 - Y], columns=["a", "a"])
JUDGED = pd.DataFrame(np.c_[PAIRS, Y], columns=["better", "worse", "worse"])
ITEMS = pd.DataFrame({"item": range(N), "sex": GROUP, "score": SCORES}).set_axis(
    ["item", "sex", "sex"], axis=1
)

CALLS: dict[str, Callable[[], Any]] = {
    "separation": lambda: comparity.separation(Y, Y, sensitive_features=SEX),
    "separation, labels": lambda: comparity.separation(LABELS, Y, sensitive_features=GROUP),
    "comparative_separation": lambda: comparity.comparative_separation(
        PAIRS, scores=SCORES, sensitive_features=SEX
    ),
    "comparative_separation, comparisons": lambda: comparity.comparative_separation(
        JUDGED, scores=SCORES, sensitive_features=GROUP
    ),
    "audit_frames": lambda: audit_frames(JUDGED, ITEMS, score="score", sensitive=["sex"]),
    "audit_frames, items": lambda: audit_frames(
        JUDGED.iloc[:, :2], ITEMS, score="score", sensitive=["sex"]
    ),
    "to_comparisons": lambda: to_comparisons(JUDGED),
    "rank_frames": lambda: rank_frames(JUDGED, model="bt"),
    "rank_frames, items": lambda: rank_frames(JUDGED.iloc[:, :2], ITEMS, model="bt"),
    "pairwise_accuracy": lambda: comparity.pairwise_accuracy(Y, SCORES, sensitive_features=SEX),
    "pairwise_parity": lambda: comparity.pairwise_parity(SCORES, sensitive_features=SEX),
    "differential_parity": lambda: comparity.differential_parity(Y, Y, sensitive_features=SEX),
    "differential_parity, labels": lambda: comparity.differential_parity(
        LABELS, LABELS, sensitive_features=GROUP
    ),
    "compare_raters": lambda: comparity.compare_raters(LABELS, sensitive_features=GROUP),
    "biased_bridge": lambda: comparity.biased_bridge(
        SCORES, SCORES, features=(X, X), sensitive_features=(GROUP, GROUP)
    ),
    "unbiased_bridge": lambda: comparity.unbiased_bridge(
        SCORES, SCORES, features=(X, X), sensitive_features=(GROUP, GROUP)
    ),
    "bradley_terry": lambda: comparity.bradley_terry(JUDGED),
    "rank_centrality": lambda: comparity.rank_centrality(JUDGED),
    "crowd_bt": lambda: comparity.crowd_bt(JUDGED, evaluators=JUDGES),
    "barp": lambda: comparity.barp(PAIRS, evaluators=JUDGES, sensitive_features=SEX),
    "factor_bt": lambda: comparity.factor_bt(PAIRS, evaluators=JUDGES, sensitive_features=SEX),
    "fairness_metrics": lambda: comparity.fairness_metrics(
        Y, Y, sensitive_features=SEX, privileged="m"
    ),
    "fairness_metrics, X": lambda: comparity.fairness_metrics(
        Y, Y, sensitive_features=GROUP, privileged="m", X=X
    ),
    "distortion_metrics": lambda: distortion_metrics(
        X, X, sensitive_features=GROUP, privileged="m"
    ),
    "information_separation": lambda: information_separation(
        SCORES, SCORES, sensitive_features=SEX
    ),
    "reweighing": lambda: comparity.reweighing(Y, sensitive_features=SEX),
    "fair_balance": lambda: comparity.fair_balance(Y, sensitive_features=SEX),
    "fair_reweighing": lambda: comparity.fair_reweighing(SCORES, sensitive_features=SEX),
    "FairRanker": lambda: comparity.FairRanker().fit(X, Y, sensitive_features=GROUP),
    "FairRegressor": lambda: comparity.FairRegressor().fit(X, SCORES, sensitive_features=GROUP),
    "CorrelationRanker": lambda: CorrelationRanker().fit(X, Y, sensitive_features=GROUP),
    "MetaFairClassifier": lambda: comparity.MetaFairClassifier().fit(
        X, Y, sensitive_features=GROUP
    ),
}

ONE_COLUMN: dict[str, Callable[[], Any]] = {
    "fair_topk": lambda: comparity.fair_topk(
        SCORES, sensitive_features=SEX, protected="f", k=5, p=0.5
    ),
    "exposure": lambda: comparity.exposure(SCORES, sensitive_features=SEX),
    "debiasing_weights": lambda: debiasing_weights(Y, sensitive_features=SEX),
    "monotone_transform": lambda: monotone_transform(Y, SCORES, sensitive_features=SEX),
    "FairRanker, groups": lambda: comparity.FairRanker().fit(
        X.to_numpy(), Y, sensitive_features=SEX
    ),
    "MetaFairClassifier, groups": lambda: comparity.MetaFairClassifier().fit(
        X.to_numpy(), Y, sensitive_features=SEX
    ),
}


@pytest.mark.parametrize("call", list(CALLS))
def test_two_columns_of_one_name_are_refused(call: str) -> None:
    with pytest.raises(DuplicateColumnError, match="several columns of one name"):
        CALLS[call]()


@pytest.mark.parametrize("call", list(ONE_COLUMN))
def test_functions_of_one_column_refuse_two(call: str) -> None:
    with pytest.raises(ComparityError, match=r"2 columns|2 dimensions"):
        ONE_COLUMN[call]()


@pytest.mark.parametrize("engine", ["pandas", "pyarrow", "duckdb"])
def test_columns_are_named_that_are_there_twice(engine: str) -> None:
    names = ["item", "sex", "sex"]
    arrow = pyarrow.table([range(4), ["f", "m", "f", "m"], [1.0, 2.0, 3.0, 4.0]], names=names)
    frames = {"pandas": ITEMS, "pyarrow": arrow}
    frames["duckdb"] = connection().sql("select 1 as item, 'f' as sex, 0.5 as sex")
    with pytest.raises(DuplicateColumnError, match=r"items table (?s:.*)found: 'sex'\n"):
        audit_frames(JUDGED.iloc[:, :2], frames[engine], score="item", sensitive=["sex"])
