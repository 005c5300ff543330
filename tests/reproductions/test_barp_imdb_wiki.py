"""Reference: Ferrara et al., "Bias-aware ranking from pairwise comparisons", section 6.1, Figure 8.

IMDB-WIKI-SbS, the subset of 48,627 comparisons with all 4,091 workers: which of two faces is older?
Figure 8 has for each worker the estimated bias (positive: men seem older) against the share of
errors. Where the woman is older, a positive bias goes with more errors; where the man is older,
with fewer; among faces of one gender, with neither.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr

from comparity import barp, bradley_terry
from comparity.ranking.result import BiasedRanking

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set"),
]


class Faces(NamedTuple):
    pairs: NDArray[np.int64]
    worker: NDArray[np.int64]
    age: NDArray[np.float64]
    man: NDArray[np.bool_]


@pytest.fixture(scope="module")
def faces() -> Faces:
    folder = Path(os.environ["COMPARITY_DATA"]) / "imdb_wiki_sbs"
    with (folder / "comparisons_subset.csv").open(encoding="utf-8", newline="") as file:
        rows = [(int(r["winner"]), int(r["loser"]), int(r["worker"])) for r in csv.DictReader(file)]
    with (folder / "items.csv").open(encoding="utf-8", newline="") as file:
        items = [(float(r["age"]), r["gender"] == "1") for r in csv.DictReader(file)]
    better, worse, worker = np.array(rows).T
    age, man = np.array(items).T
    return Faces(np.column_stack([better, worse]), worker, age, man.astype(bool))


@pytest.fixture(scope="module")
def fit(faces: Faces) -> BiasedRanking:
    group = np.where(faces.man, "man", "woman")
    known = {"evaluators": faces.worker, "sensitive_features": group, "reference": "woman"}
    return barp(faces.pairs, **known, sharpness="equal")


def error_rates(faces: Faces, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Share of errors of each worker in the chosen comparisons; nan without one."""
    better, worse = faces.pairs.T
    wrong = faces.age[better] < faces.age[worse]
    n = np.bincount(faces.worker[chosen], minlength=4091)
    errors = np.bincount(faces.worker[chosen & wrong], minlength=4091)
    return np.divide(errors, n, out=np.full(4091, np.nan), where=n > 0)


def rank_correlation(bias: NDArray[np.float64], rates: NDArray[np.float64]) -> float:
    known = np.isfinite(rates)
    return float(spearmanr(bias[known], rates[known]).statistic)


def test_all_workers_are_fitted_and_the_order_is_no_worse_than_bradley_terrys(
    faces: Faces, fit: BiasedRanking
) -> None:
    assert fit.converged
    assert len(fit.evaluators) == 4091
    assert np.isfinite(fit.bias).all()
    plain = bradley_terry(faces.pairs, n_items=len(faces.age))
    ours, theirs = (kendalltau(one.scores, faces.age).statistic for one in (fit, plain))
    assert ours >= theirs - 0.005


def test_bias_goes_with_errors_between_genders_and_not_within(
    faces: Faces, fit: BiasedRanking
) -> None:
    better, worse = faces.pairs.T
    older = np.where(faces.age[better] > faces.age[worse], better, worse)
    mixed = faces.man[better] != faces.man[worse]
    differ = faces.age[better] != faces.age[worse]
    bias = fit.bias[:, 0]
    woman_older = error_rates(faces, differ & mixed & ~faces.man[older])
    man_older = error_rates(faces, differ & mixed & faces.man[older])
    assert rank_correlation(bias, woman_older) > 0.3
    assert rank_correlation(bias, man_older) < -0.3
    for man in (True, False):
        alike = error_rates(faces, differ & ~mixed & (faces.man[better] == man))
        assert abs(rank_correlation(bias, alike)) < 0.1
