"""Definition: the plain twin; reference: AIF360's consistency, and scipy's trees."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from comparity.counts import neighbours
from comparity.counts.neighbours import count_neighbours, feature_matrix
from comparity.errors import FeatureError, OptionError
from comparity.metrics.entropy import consistency
from tests.plain import neighbours as plain


def simulated(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d))
    return features, features[:, 0] + rng.normal(size=n) > 0


@given(st.integers(0, 10**6), st.integers(6, 40), st.integers(1, 3), st.integers(1, 5))
@settings(max_examples=40)
def test_the_count_equals_the_plain_twin(seed: int, n: int, d: int, k: int) -> None:
    features, labels = simulated(n, d, seed)
    counts = count_neighbours(features, labels, n_neighbors=k, rng=np.random.default_rng(seed))
    expected = plain.consistency(features.tolist(), labels.astype(int).tolist(), k)
    assert consistency(counts) == pytest.approx(expected, abs=1e-12)
    assert counts.n == n


@pytest.mark.long
def test_consistency_equals_aif360_where_no_distances_tie() -> None:
    features, labels = simulated(800, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas
        from aif360.datasets import BinaryLabelDataset
        from aif360.metrics import BinaryLabelDatasetMetric

        table = pandas.DataFrame(features, columns=list("abcd"))
        table["sex"], table["y"] = (features[:, 1] > 0).astype(float), labels.astype(float)
        data = BinaryLabelDataset(df=table, label_names=["y"], protected_attribute_names=["sex"])
        theirs = BinaryLabelDatasetMetric(data).consistency()
    with_group = np.column_stack([features, features[:, 1] > 0])
    counts = count_neighbours(with_group, labels, rng=np.random.default_rng(1))
    assert counts.tied == 0
    assert consistency(counts) == pytest.approx(float(theirs[0]), abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("many", [neighbours.NUMBERS_TO_COMPILE, 0])
def test_neighbours_are_found_beside_a_feature_in_the_billions(
    monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(neighbours, "NUMBERS_TO_COMPILE", many)
    features, labels = simulated(900, 3)
    features[::2, 2] = 0.0
    features[1::2, 2] = 1e9 * 1.01 ** np.arange(450)
    _, nearest = cKDTree(features).query(features, k=5)
    counts = count_neighbours(features, labels, rng=np.random.default_rng(1))
    expected = 1 - np.abs(labels - labels[nearest].mean(axis=1)).mean()
    assert consistency(counts) == pytest.approx(expected, abs=1e-12)


def test_ties_are_counted() -> None:
    features = np.repeat([[0.0], [1.0]], 10, axis=0)
    labels = np.array([True, False] * 10)
    counts = count_neighbours(features, labels, rng=np.random.default_rng(1))
    assert counts.tied == 20


@pytest.mark.parametrize("kind", ["spread out", "repeated rows", "far from zero", "huge", "tiny"])
def test_the_compiled_search_equals_the_plain_one(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Single precision cannot tell near items far from zero apart; double precision then does."""
    features, labels = simulated(900, 3)
    scale = {"huge": 1e150, "tiny": 1e-150}.get(kind, 1.0)
    features *= scale
    if kind == "repeated rows":
        features = np.round(features)
    if kind == "far from zero":
        features[:450] += 1e3
    rng = np.random.default_rng(1)
    slow = count_neighbours(features, labels, rng=rng)
    monkeypatch.setattr(neighbours, "NUMBERS_TO_COMPILE", 0)
    monkeypatch.setattr(neighbours, "BLOCK", 50_000)
    fast = count_neighbours(features, labels, rng=rng)
    assert slow.tied == fast.tied
    # Which of tied items are taken is a matter of order, and not of distance.
    assert (kind == "repeated rows") == (slow.tied > 0)
    assert slow.tied or np.array_equal(slow.table, fast.table)


@pytest.mark.long
def test_the_approximate_search_is_near_the_exact_one_and_says_how_near() -> None:
    features, labels = simulated(6000, 5)
    exact = 1 - np.abs(labels - labels[cKDTree(features).query(features, 5)[1]].mean(axis=1)).mean()
    counts = count_neighbours(features, labels, rng=np.random.default_rng(2), exact_rows=1000)
    shift, error = counts.error
    assert counts.checked == 2000
    assert abs(consistency(counts) - exact) < 5e-3
    assert abs(consistency(counts) + shift - exact) < 4 * error + 1e-12


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (np.zeros((3, 2)), "4 rows"),
        (np.zeros(4), "shape"),
        (np.array([["a"], ["b"], ["c"], ["d"]]), "numbers only"),
        (np.array([[1.0], [np.nan], [2.0], [np.inf]]), "data rows [2, 4]"),
    ],
)
def test_features_that_are_no_matrix_of_numbers_are_refused(
    features: np.ndarray, said: str
) -> None:
    with pytest.raises(FeatureError) as caught:
        feature_matrix(features, 4)
    assert said in str(caught.value)


def test_more_neighbours_than_items_are_refused() -> None:
    with pytest.raises(OptionError, match="n_neighbors"):
        count_neighbours(np.zeros((3, 1)), np.zeros(3, bool), rng=np.random.default_rng(0))


def test_consistency_of_the_golden_table_differs_by_its_ties_only() -> None:
    """AIF360 0.6.1 gives 0.4953846154 for this order of rows; nearly all of them repeat."""
    cells = {
        (1, 1, 1): 60, (1, 1, 0): 15, (1, 0, 1): 20, (1, 0, 0): 55,
        (0, 1, 1): 30, (0, 1, 0): 20, (0, 0, 1): 12, (0, 0, 0): 48,
    }  # fmt: skip
    rows = [
        (a, y, ((7 * k + 3 * y + a) % 11) / 10) for (a, y, _), n in cells.items() for k in range(n)
    ]
    group, label, feature = np.array(rows).T
    features = np.column_stack([group, feature])
    counts = count_neighbours(features, label == 1, rng=np.random.default_rng(0))
    assert counts.tied == counts.n == 260
    # All neighbours are repeated rows, so that which are taken is a matter of order: the standard
    # deviation over random orders is 0.004, and a tree takes its own.
    assert consistency(counts) == pytest.approx(0.4953846154, abs=0.03)
