"""Reference: Majumder et al., "Fair Enough: Searching for Sufficient Measures of Fairness".

Figures in tests/reference/fair_enough.json were recomputed from the authors' stored results. Their
25 repeats are 5 folds, unshuffled, five times over; here 5 folds are shuffled 5 times. Models are
logistic regressions without and with reweighing; the third of the paper, the meta fair classifier,
is not among them, so a third of the rows behind the paper's clusters is missing here.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from comparity import fairness_metrics
from comparity.catalogue.clusters import (
    cluster_agreement,
    cluster_differences,
    cluster_metrics,
    cluster_stability,
    published_partition,
)
from comparity.catalogue.comparison import compare_medians
from comparity.catalogue.listing import CATALOGUE
from comparity.catalogue.resampling import cross_validated_values
from comparity.catalogue.sensitivity import metric_sensitivity
from comparity.counting.neighbours import count_neighbours
from comparity.datasets.preparations import load_dataset
from comparity.resamples import Partition

DATA = os.environ.get("COMPARITY_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COMPARITY_DATA names no folder of real data")
REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "fair_enough.json").read_text(encoding="utf-8")
)
# Our name, theirs, and the sensitive attribute.
SEVEN = {
    "adult": ("Adult", "sex"),
    "compas": ("Compas", "sex"),
    "heart": ("Health", "sex"),
    "german": ("German", "sex"),
    "bank": ("bank", "age"),
    "titanic": ("Titanic", "sex"),
    "student": ("Student", "sex"),
}
OF_MODELS = [number for number in CATALOGUE if number[0] == "C"]
OF_DATA = [number for number in CATALOGUE if number[0] == "D"]


def is_inside(number: str, median: float) -> bool:
    """The published verdict is on the median rounded to two decimals."""
    return CATALOGUE[number].is_inside(round(median, 2))


def outside_percent(medians: Mapping[str, float], numbers: list[str]) -> float:
    return 100 * float(np.mean([not is_inside(number, medians[number]) for number in numbers]))


def as_sets(partition: Partition) -> set[frozenset[str]]:
    return {frozenset(cluster) for cluster in partition}


@pytest.mark.parametrize("name", [theirs for theirs, _ in SEVEN.values()])
def test_the_share_of_metrics_outside_their_range_comes_out_of_the_stored_medians(
    name: str,
) -> None:
    medians = REFERENCE["medians"][name]
    found = [round(outside_percent(medians, numbers)) for numbers in (OF_MODELS, OF_DATA)]
    assert found == REFERENCE["unfair_percent"][name]


def test_metrics_of_a_cluster_agree_in_the_stored_medians() -> None:
    """The paper counts six clusters of seven in which the median over data sets of the share of
    the majority is 100 %, all but individual fairness; its stored medians give five or six, as
    its verdicts differ from the stored medians in one or two metrics of four data sets."""
    shares: dict[str, list[float]] = {}
    for medians in REFERENCE["medians"].values():
        inside = {number: is_inside(number, medians[number]) for number in OF_MODELS}
        for cluster, share in cluster_agreement(inside, published_partition(OF_MODELS)).items():
            shares.setdefault(cluster, []).append(share)
    whole = [cluster for cluster, found in shares.items() if np.median(found) == 1]
    assert len(whole) in (5, 6)
    assert "C16, C19, C20" not in whole


@cache
def predicted(name: str) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    data = load_dataset(name, data=DATA)
    attribute = SEVEN[name][1]
    privileged = (data.sensitive[attribute] == data.privileged[attribute]).astype(int)
    labels = data.labels.astype(int)
    model = LogisticRegression(max_iter=1000).fit(data.features, labels)
    return data, labels, model.predict(data.features), privileged


def aif360_metrics(name: str, *, consistency: bool) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas
        from aif360.datasets import BinaryLabelDataset
        from aif360.metrics import BinaryLabelDatasetMetric, ClassificationMetric

        data, labels, predictions, privileged = predicted(name)
        columns = [f"x{place}" for place in range(data.features.shape[1])]
        table = pandas.DataFrame(data.features, columns=columns)
        attribute = columns[data.feature_names.index(SEVEN[name][1])]
        assert np.array_equal(table[attribute], privileged)
        table["label"] = labels.astype(float)
        truth = BinaryLabelDataset(
            df=table, label_names=["label"], protected_attribute_names=[attribute]
        )
        said = truth.copy(deepcopy=True)
        said.labels = predictions.astype(float).reshape(-1, 1)
        camps = {"unprivileged_groups": [{attribute: 0}], "privileged_groups": [{attribute: 1}]}
        sources = {
            "C": ClassificationMetric(truth, said, **camps),
            "D": BinaryLabelDatasetMetric(truth, **camps),
        }
        return {
            number: float(np.ravel(getattr(sources[number[0]], one.aif360)())[0])
            for number, one in CATALOGUE.items()
            if number != "D0" or consistency
        }


@pytest.mark.real
@needs_data
@pytest.mark.parametrize("name", SEVEN)
def test_all_metrics_equal_those_of_aif360(name: str) -> None:
    _, labels, predictions, privileged = predicted(name)
    card = fairness_metrics(labels, predictions, sensitive_features=privileged, privileged=1)
    expected = aif360_metrics(name, consistency=False)
    assert {one.id: one.value for one in card} == pytest.approx(expected, abs=1e-10, nan_ok=True)


@pytest.mark.real
@needs_data
@pytest.mark.parametrize("name", SEVEN)
def test_consistency_equals_that_of_aif360_up_to_ties(name: str) -> None:
    """An item with ties may get any of the tied items as neighbours, in AIF360 as here. Changing
    all but one of five neighbours changes its term by at most 4/5."""
    data, labels, predictions, privileged = predicted(name)
    rng = np.random.default_rng(0)
    counts = count_neighbours(data.features, labels == 1, rng=rng)
    card = fairness_metrics(
        labels, predictions, sensitive_features=privileged, privileged=1, X=data.features
    )
    expected = aif360_metrics(name, consistency=True)["D0"]
    possible = 0.8 * counts.tied / len(labels) + 1e-12
    assert card["D0"].value == pytest.approx(expected, abs=min(possible, 0.05))
    assert any("just as near" in note for note in card.notes) == (counts.tied > 0)


def weigh(labels: np.ndarray, privileged: np.ndarray) -> np.ndarray:
    from comparity.mitigation.weights import independence_weights

    return independence_weights(privileged.astype(np.int64), labels.astype(np.int64))


def logistic(X: Any, y: Any, privileged: Any, weights: Any) -> Any:
    return LogisticRegression(max_iter=1000).fit(X, y, sample_weight=weights)


def forest(X: Any, y: Any, privileged: Any, weights: Any) -> Any:
    model = RandomForestClassifier(30, min_samples_leaf=5, random_state=0)
    return model.fit(X, y, sample_weight=weights)


@cache
def folds(name: str, model: str) -> dict[str, np.ndarray]:
    """Metrics over 5 x 5 shuffled folds, without consistency."""
    data, labels, _, privileged = predicted(name)
    return cross_validated_values(
        forest if model == "forest" else logistic,
        data.features,
        labels,
        privileged == 1,
        weigh=weigh if model == "reweighed" else None,
        rng=np.random.default_rng(20240701),
        neighbours=False,
    )


class Nobody:
    """A model that selects nobody, where only the data matter."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X), dtype=int)


def data_folds(name: str, *, reweighed: bool) -> dict[str, np.ndarray]:
    """Metrics of data over 5 shuffled folds; consistency knows no weights."""
    data, labels, _, privileged = predicted(name)
    return cross_validated_values(
        lambda *given: Nobody(),
        data.features,
        labels,
        privileged == 1,
        weigh=weigh if reweighed else None,
        rng=np.random.default_rng(20240701),
        repeats=1,
    )


def pooled(names: Mapping[str, Any], *models: str) -> dict[str, np.ndarray]:
    parts = [folds(name, model) for name in names for model in models]
    return {number: np.concatenate([part[number] for part in parts]) for number in OF_MODELS}


SMALL = {name: SEVEN[name] for name in ("heart", "german", "student", "titanic")}


@pytest.mark.real
@needs_data
def test_a_mitigation_moves_some_metrics_towards_their_ideal_value_and_others_away() -> None:
    for name in SMALL:
        before, after = (folds(name, model) for model in ("plain", "reweighed"))
        counts = compare_medians(
            *({number: part[number] for number in OF_MODELS} for part in (before, after))
        ).counts
        assert sum(counts.values()) == 26
        assert min(counts["towards"], counts["away"]) > 0


@pytest.mark.real
@needs_data
@pytest.mark.slow
def test_the_seven_clusters_come_out_of_our_own_run() -> None:
    """At cuts from 0.38 to 0.52 exactly the published ones. At the published cut of 0.57 the two
    clusters of individual fairness have merged already, and the longest stretch has eleven."""
    values = pooled(SEVEN, "plain", "reweighed")
    published = published_partition(OF_MODELS)
    for cut in (0.4, 0.5):
        assert as_sets(cluster_metrics(values, threshold=cut).clusters) == as_sets(published)
    later = cluster_metrics(values, threshold=0.57).clusters
    (difference,) = cluster_differences(later, published)
    assert difference.startswith(
        "C16, C19, C20 and C17, C18, C21, C22, C23, C24 are published apart"
    )


@pytest.mark.real
@needs_data
@pytest.mark.slow
def test_the_three_clusters_of_metrics_of_data_come_out_of_our_own_run() -> None:
    """Labels as they are and reweighed, as published; merges at 0.008, 0.798 and 0.882 there."""
    parts = [data_folds(name, reweighed=flag) for name in SEVEN for flag in (False, True)]
    values = {number: np.concatenate([part[number] for part in parts]) for number in OF_DATA}
    found = cluster_metrics(values)
    assert as_sets(found.clusters) == as_sets(REFERENCE["data_clusters"])
    assert found.heights == pytest.approx(REFERENCE["data_heights"], abs=0.05)


@pytest.mark.real
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", SEVEN)
def test_our_run_calls_as_many_metrics_outside_as_the_stored_results(name: str) -> None:
    """Four of 26 metrics may differ: shuffled folds, and the coefficient of variation."""
    values = folds(name, "plain")
    medians = {number: float(np.nanmedian(values[number])) for number in OF_MODELS}
    published = REFERENCE["unfair_percent"][SEVEN[name][0]][0]
    assert abs(outside_percent(medians, OF_MODELS) - published) <= 100 * 4 / 26


@pytest.mark.real
@needs_data
@pytest.mark.slow
def test_reweighing_moves_more_metrics_towards_than_away_on_most_data_sets() -> None:
    better = 0
    for name in SEVEN:
        before, after = (folds(name, model) for model in ("plain", "reweighed"))
        counts = compare_medians(
            *({number: part[number] for number in OF_MODELS} for part in (before, after))
        ).counts
        assert min(counts["towards"], counts["away"]) > 0
        better += counts["towards"] > counts["away"]
    published = sum(towards > away for towards, away, _ in REFERENCE["reweighing"].values())
    # Published: all but Adult and Titanic.
    assert published == 5
    assert better >= 3


@pytest.mark.real
@needs_data
@pytest.mark.slow
def test_individual_fairness_is_deaf_as_published() -> None:
    """C16, C19, C20 and the metrics between groups hardly respond on any data set."""
    expected = {"C16", "C17", "C18", "C19", "C20", "C21", "C23"}
    for name in ("compas", "heart", "german"):
        values = folds(name, "plain")
        deaf = metric_sensitivity({number: values[number] for number in OF_MODELS}).deaf
        assert expected <= set(deaf)


@pytest.mark.real
@needs_data
@pytest.mark.slow
def test_the_seven_clusters_do_not_depend_on_the_linkage_nor_on_the_classifier() -> None:
    """What the paper leaves open as threats to validity: cut to seven clusters, complete linkage,
    Kendall's correlation and random forests give the very same ones; single linkage and
    Pearson's correlation, which a few ratios of 40 pull about, do not."""
    table = cluster_stability(
        {"logistic": pooled(SEVEN, "plain", "reweighed"), "forest": pooled(SEVEN, "forest")},
        threshold=0.45,
    )
    agreement = {(row["choice"], row["value"]): row["agreement"] for row in table}
    assert agreement["linkage", "complete"] == 1
    assert agreement["correlation", "kendall"] == 1
    assert agreement["classifier", "forest"] == 1
    assert agreement["linkage", "single"] < 0.9
