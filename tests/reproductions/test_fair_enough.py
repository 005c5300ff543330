"""Reference: Majumder et al., "Fair Enough: Searching for Sufficient Measures of Fairness".

Figures in tests/reference/fair_enough.json were recomputed from the authors' stored results. Their
25 repeats are 5 folds, unshuffled, five times over; here 5 folds are shuffled 5 times. All three
models of the paper are among the runs, see ``fair_enough.py`` beside this file.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from comparity import fairness_metrics
from comparity.counts.neighbours import count_neighbours
from comparity.metrics.catalogue import CATALOGUE
from comparity.metrics.comparison import metric_sensitivity
from comparity.metrics.metric_clusters import (
    cluster_agreement,
    cluster_differences,
    cluster_metrics,
    cluster_stability,
    published_partition,
)
from comparity.metrics.result import Partition
from tests.reproductions.fair_enough import (
    OF_DATA,
    OF_MODELS,
    REFERENCE,
    SEVEN,
    SMALL,
    data_folds,
    five_folds,
    moves,
    needs_data,
    pooled,
    prepared,
    shuffled_folds,
)

MODELS = ("plain", "reweighed", "meta")


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
    data, labels, privileged = prepared(name)
    model = LogisticRegression(max_iter=1000).fit(data.features, labels)
    return data, labels, model.predict(data.features), privileged.astype(int)


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
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.slow if one == "adult" else ()) for one in SEVEN]
)
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


@pytest.mark.real
@needs_data
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one in SMALL else pytest.mark.slow) for one in SEVEN]
)
def test_reweighing_moves_as_many_metrics_as_published_with_the_published_folds(name: str) -> None:
    """All seven rows of Table 8, to the last metric: unshuffled folds, a fifth held back."""
    found = moves(five_folds(name, "plain"), five_folds(name, "reweighed"))
    assert list(found) == REFERENCE["reweighing"][SEVEN[name][0]]


@pytest.mark.real
@needs_data
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one in SMALL else pytest.mark.slow) for one in SEVEN]
)
def test_the_medians_are_the_published_ones_with_the_published_folds(name: str) -> None:
    """Of 26 at most 5 differ by more than a rounding: rates of a few people, where the decision on
    one of them hangs on the solver, and rates without trials in some folds."""
    published = REFERENCE["medians"][SEVEN[name][0]]
    found = {k: float(np.nanmedian(column)) for k, column in five_folds(name, "plain").items()}
    apart = [
        k for k in OF_MODELS if abs(found[k] - published[k]) > 0.011 * max(1, abs(published[k]))
    ]
    assert len(apart) <= 5
    assert len(apart) == 0 or name in ("adult", "german", "titanic")


@pytest.mark.real
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(("name", "least_spread"), [("heart", 8), ("german", 8), ("student", 12)])
def test_other_orders_of_the_rows_move_other_metrics(name: str, least_spread: int) -> None:
    """Why shuffled folds give other counts than published: over 20 orders the number of metrics
    that move towards their ideal value is anywhere from 6 to 17 (heart), 10 to 21 (German) or
    4 to 23 (student); the published number is one draw of these."""
    towards = [
        moves(
            five_folds(name, "plain", shuffle=order), five_folds(name, "reweighed", shuffle=order)
        )[0]
        for order in range(20)
    ]
    assert max(towards) - min(towards) >= least_spread
    assert min(towards) <= REFERENCE["reweighing"][SEVEN[name][0]][0] <= max(towards)


@pytest.mark.real
@needs_data
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one in SMALL else pytest.mark.slow) for one in SEVEN]
)
def test_the_meta_fair_classifier_moves_metrics_about_as_published(name: str) -> None:
    """Ours, published: Adult 11 towards and 15 away, 11 and 15; COMPAS 21 and 5, 16 and 6; heart
    17 and 3, 17 and 8; German 19 and 7, 19 and 7; bank 19 and 3, 15 and 7; Titanic 10 and 16, 17
    and 9; student 11 and 10, 12 and 10. The published search rests on 20 points drawn at random,
    and other draws give other classifiers; ours finds the optimum."""
    towards, away, same = moves(five_folds(name, "plain"), five_folds(name, "meta"))
    published = REFERENCE["meta"][SEVEN[name][0]]
    assert towards + away + same == 26
    assert abs(towards - published[0]) <= (7 if name == "titanic" else 5)
    if name != "titanic":
        assert (towards > away) == (published[0] > published[1])


@pytest.mark.real
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["heart", "student"])
def test_the_published_search_gives_other_classifiers_for_other_draws(name: str) -> None:
    """Over 6 draws 14 to 19 metrics move towards their ideal value (heart; published 17) and 6 to
    13 (student; published 12)."""
    towards = [
        moves(five_folds(name, "plain"), five_folds(name, "meta", search="published", seed=draw))[0]
        for draw in range(6)
    ]
    assert max(towards) - min(towards) >= 3
    published = REFERENCE["meta"][SEVEN[name][0]][0]
    assert min(towards) - 2 <= published <= max(towards) + 2


@pytest.mark.real
@needs_data
def test_a_mitigation_moves_some_metrics_towards_their_ideal_value_and_others_away() -> None:
    for name in SMALL:
        before = five_folds(name, "plain")
        for model in ("reweighed", "meta"):
            towards, away, same = moves(before, five_folds(name, model))
            assert towards + away + same == 26
            assert min(towards, away) > 0


@pytest.mark.real
@needs_data
def test_four_data_sets_have_clusters_near_the_published_ones() -> None:
    """A small version of the run on all seven: group fairness and false discovery stay whole."""
    found = cluster_metrics(pooled(SMALL, *MODELS, repeats=1), threshold=0.5).clusters
    for whole in ({"C4", "C8"}, {"C17", "C18", "C21", "C22", "C23", "C24"}, {"C0", "C2", "C9"}):
        assert any(whole <= set(cluster) for cluster in found)


@pytest.mark.real
@needs_data
@pytest.mark.slow
def test_the_seven_clusters_come_out_of_our_own_run() -> None:
    """At the published cut of 0.57 and at the 0.6 of the authors' code exactly the published ones;
    so at cuts from 0.55 to 0.62, where the stored results have them from 0.483 to 0.619. The
    longest stretch without a merge has eleven here, and nine in the stored results. Without the
    meta fair classifier the seven come out at cuts from 0.38 to 0.53, and at 0.57 individual
    fairness within and between groups has merged."""
    values = pooled(SEVEN, *MODELS)
    published = published_partition(OF_MODELS)
    for cut in (0.57, 0.6):
        assert as_sets(cluster_metrics(values, threshold=cut).clusters) == as_sets(published)
    two = pooled(SEVEN, "plain", "reweighed")
    assert as_sets(cluster_metrics(two, threshold=0.45).clusters) == as_sets(published)
    (difference,) = cluster_differences(cluster_metrics(two, threshold=0.57).clusters, published)
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
    values = shuffled_folds(name, "plain")
    medians = {number: float(np.nanmedian(values[number])) for number in OF_MODELS}
    published = REFERENCE["unfair_percent"][SEVEN[name][0]][0]
    assert abs(outside_percent(medians, OF_MODELS) - published) <= 100 * 4 / 26


@pytest.mark.real
@needs_data
@pytest.mark.slow
def test_individual_fairness_is_deaf_as_published() -> None:
    """C16, C19, C20 and the metrics between groups hardly respond on any data set."""
    expected = {"C16", "C17", "C18", "C19", "C20", "C21", "C23"}
    for name in ("compas", "heart", "german"):
        values = shuffled_folds(name, "plain")
        deaf = metric_sensitivity({number: values[number] for number in OF_MODELS}).deaf
        assert expected <= set(deaf)


@pytest.mark.real
@needs_data
@pytest.mark.slow
def test_the_seven_clusters_stay_with_forests_and_ranks_but_not_with_every_linkage() -> None:
    """What the paper leaves open as threats to validity: cut to seven clusters, random forests and
    Kendall's correlation give the very same ones; complete and single linkage do not, nor does
    Pearson's correlation, which a few ratios of 40 pull about."""
    found = cluster_stability(
        {"three models": pooled(SEVEN, *MODELS), "forest": pooled(SEVEN, "forest")},
        threshold=0.57,
    )
    for key in (("threshold", "0.6"), ("correlation", "kendall"), ("classifier", "forest")):
        assert found[key].agreement == 1
    for key in (("linkage", "complete"), ("linkage", "single"), ("correlation", "pearson")):
        assert 0.4 < found[key].agreement < 0.9
