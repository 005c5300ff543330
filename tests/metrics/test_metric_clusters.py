"""Reference: figures recomputed from the authors' stored results (tests/reference), scipy's and
sklearn's own clustering, and data whose clusters are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from comparity.errors import (
    LengthMismatchError,
    NoSuchEntryError,
    OptionError,
    TooFewResamplesError,
)
from comparity.metrics.catalogue import CATALOGUE
from comparity.metrics.metric_clusters import (
    _longest_stretch,
    cluster_agreement,
    cluster_differences,
    cluster_metrics,
    cluster_stability,
    published_partition,
)
from comparity.metrics.result import Partition

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "fair_enough.json").read_text(encoding="utf-8")
)


def as_sets(partition: Partition) -> set[frozenset[str]]:
    return {frozenset(cluster) for cluster in partition}


def blocks(rng: np.random.Generator, noise: float = 0.3) -> dict[str, np.ndarray]:
    """Three groups of metrics, each a noisy copy of one of three independent sources."""
    sources = rng.normal(size=(3, 200))
    return {
        f"C{place}": (-1) ** place * sources[place % 3] + noise * rng.normal(size=200)
        for place in range(9)
    }


def test_the_published_clusters_are_those_of_the_stored_results() -> None:
    numbers = [number for number in CATALOGUE if number[0] == "C"]
    assert as_sets(published_partition(numbers)) == as_sets(REFERENCE["clusters_at_0.57"])
    of_data = [number for number in CATALOGUE if number[0] == "D"]
    assert as_sets(published_partition(of_data)) == as_sets(REFERENCE["data_clusters"])


def test_known_clusters_are_found() -> None:
    found = cluster_metrics(blocks(np.random.default_rng(1)))
    expected = {frozenset({"C0", "C3", "C6"}), frozenset({"C1", "C4", "C7"})}
    assert as_sets(found.clusters) == expected | {frozenset({"C2", "C5", "C8"})}
    assert found.stretch[0] < found.threshold < found.stretch[1]


def test_the_tree_is_that_of_sklearn_on_spearman_dissimilarities() -> None:
    values = blocks(np.random.default_rng(2), noise=1.0)
    rho = spearmanr(np.column_stack(list(values.values()))).statistic
    model = AgglomerativeClustering(n_clusters=4, metric="precomputed", linkage="average")
    expected = model.fit_predict(1 - np.abs(rho))
    heights = cluster_metrics(values).heights
    found = cluster_metrics(values, threshold=(heights[-4] + heights[-3]) / 2)
    codes = {one: place for place, cluster in enumerate(found.clusters) for one in cluster}
    assert adjusted_rand_score(expected, [codes[one] for one in values]) == 1


def test_stored_heights_are_cut_at_the_longest_stretch() -> None:
    """The data metrics fall into the three published clusters. Those of predictions fall into
    nine, by a hair: that stretch is 0.148 long, the one of the seven published ones 0.137."""
    heights = np.array(REFERENCE["data_heights"])
    assert (heights > _longest_stretch(heights)).sum() + 1 == 3
    heights = np.array(REFERENCE["heights"])
    assert (heights > _longest_stretch(heights)).sum() + 1 == len(REFERENCE["clusters_at_0.4"])
    assert (heights > 0.57).sum() + 1 == len(REFERENCE["clusters_at_0.57"])


def test_infinite_ratios_keep_their_rank_and_missing_ones_their_row() -> None:
    values = blocks(np.random.default_rng(3))
    values["C0"] = values["C0"].copy()
    values["C0"][np.argmax(values["C0"])] = np.inf
    values["C1"] = values["C1"].copy()
    values["C1"][:7] = np.nan
    found = cluster_metrics(values)
    assert (found.n_resamples, found.n_dropped) == (193, 7)
    assert cluster_metrics(values, correlation="pearson").n_dropped >= 7


def test_a_constant_metric_is_alone_and_named() -> None:
    values = blocks(np.random.default_rng(4)) | {"C9": np.zeros(200)}
    found = cluster_metrics(values)
    assert found.constant == ("C9",)
    assert ("C9",) in found.clusters


def test_too_few_resamples_and_unknown_choices_are_refused() -> None:
    with pytest.raises(TooFewResamplesError, match="2 of 2"):
        cluster_metrics({"C0": np.arange(2.0), "C1": np.arange(2.0)})
    with pytest.raises(OptionError, match="linkage"):
        cluster_metrics(blocks(np.random.default_rng(5)), linkage="ward")
    with pytest.raises(OptionError, match="at least two metrics"):
        cluster_metrics({"C0": np.arange(20.0)})
    with pytest.raises(LengthMismatchError, match="C1: 3"):
        cluster_metrics({"C0": np.arange(20.0), "C1": np.arange(3.0)})


def test_stability_compares_every_choice_with_the_reference() -> None:
    rng = np.random.default_rng(6)
    found = cluster_stability({"first": blocks(rng), "second": blocks(rng)})
    choices = {one.choice for one in found.trials}
    assert choices == {"reference", "threshold", "linkage", "correlation", "classifier"}
    assert all(one.agreement == 1 for one in found.trials if one.n_clusters == 3)
    assert found["threshold", "0.7"].n_clusters == 3
    assert "classifier: second" in str(found)
    assert len(found.to_frame("polars")) == len(found.to_dict()["trials"]) == 10
    with pytest.raises(NoSuchEntryError, match="no trial"):
        found["linkage", "median"]


def test_stability_sees_clusters_that_depend_on_the_linkage() -> None:
    """Metrics like the steps of a turn of 90 degrees: average linkage halves the chain, single
    linkage cuts it at its widest gap, before the last step."""
    x, y = np.random.default_rng(8).normal(size=(2, 2000))
    angles = np.radians([0, 10, 20, 30, 40, 50, 60, 70, 90])
    turned = {f"C{k}": np.cos(a) * x + np.sin(a) * y for k, a in enumerate(angles)}
    heights = cluster_metrics(turned).heights
    found = cluster_stability({"one": turned}, threshold=(heights[-2] + heights[-1]) / 2)
    assert len(found.reference.clusters) == 2
    assert found["linkage", "complete"].agreement > found["linkage", "single"].agreement
    assert found["linkage", "single"].agreement < 0.5


def test_a_tree_can_be_cut_to_a_number_of_clusters() -> None:
    values = blocks(np.random.default_rng(7), noise=1.0)
    for wanted in range(1, 10):
        assert len(cluster_metrics(values, n_clusters=wanted).clusters) == wanted
    with pytest.raises(OptionError, match="n_clusters"):
        cluster_metrics(values, n_clusters=10)


def test_equal_partitions_have_no_differences() -> None:
    partition = published_partition(CATALOGUE)
    assert cluster_differences(partition, partition) == ()


def test_agreement_is_the_share_of_the_majority() -> None:
    inside = {"C4": True, "C8": False, "C10": True, "C25": True}
    assert list(cluster_agreement(inside, (("C4", "C8"), ("C10", "C25"))).values()) == [0.5, 1]
