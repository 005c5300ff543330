"""Features that are copies of decisions; shares are compared with numpy and scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression

from comparity import biased_bridge, unbiased_bridge
from comparity.relative.bridge_checks import COPIED, explained_by_each, find_leaks, leak_notes
from comparity.relative.rehearsal import rehearse_bridges
from comparity.relative.result import BridgedParity
from comparity.relative.subjects import feature_names
from comparity.results.plain import as_plain, from_plain

N = 400


def world(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    merit = rng.normal(size=2 * N)
    sex = rng.choice(["f", "m"], 2 * N)
    rated = merit + rng.normal(0, 0.7, 2 * N)
    other = merit + rng.normal(0, 0.7, 2 * N)
    return {"merit": merit, "sex": sex, "rated": rated, "other": other}


def bridged(features: dict[str, np.ndarray], bridge: Any = biased_bridge) -> BridgedParity:
    known = world()
    frames = [pl.DataFrame({name: own[rows] for name, own in features.items()}) for rows in HALVES]
    return bridge(
        known["rated"][:N],
        known["other"][N:],
        sensitive_features=(known["sex"][:N], known["sex"][N:]),
        features=tuple(frames),
        names=("last year", "this year"),
    )


HALVES = (slice(None, N), slice(N, None))


def warnings_of(found: BridgedParity) -> list[str]:
    return [note for note in found.audit.notes if note.startswith("WARNING")]


def test_the_share_of_each_feature_is_that_of_a_regression_on_it_alone() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(50, 4)) + 1e6
    decisions = features[:, 0] - 1e6 + rng.normal(0, 0.05, 50)
    expected = [
        LinearRegression().fit(features[:, [k]] - 1e6, decisions)
        .score(features[:, [k]] - 1e6, decisions)
        for k in range(4)
    ]  # fmt: skip
    assert explained_by_each(features, decisions) == pytest.approx(expected, abs=1e-9)
    assert expected[0] > COPIED > max(expected[1:])


def test_sparse_features_have_the_shares_of_dense_ones() -> None:
    rng = np.random.default_rng(2)
    dense = rng.poisson(0.3, (60, 5)).astype(float)
    decisions = dense[:, 3] * 2 + 1
    expected = np.corrcoef(dense.T, decisions)[-1, :-1] ** 2
    assert explained_by_each(csr_matrix(dense), decisions) == pytest.approx(expected)
    assert [*find_leaks(csr_matrix(dense), decisions)] == ["column 3"]


def test_a_feature_that_does_not_vary_is_no_copy() -> None:
    assert find_leaks(np.ones((10, 1)), np.arange(10.0)) == {}


@pytest.mark.parametrize("bridge", [biased_bridge, unbiased_bridge])
@pytest.mark.parametrize(("copied", "maker"), [("rated", "last year"), ("other", "this year")])
def test_a_copy_of_either_side_is_named(bridge: Any, copied: str, maker: str) -> None:
    known = world()
    found = bridged({"merit": known["merit"], "score_2": 3 - 2 * known[copied]}, bridge)
    assert found.diagnosis.leaks == {maker: {"score_2": pytest.approx(1.0)}}
    assert len(warnings_of(found)) == 1
    assert "'score_2' (1.000)" in warnings_of(found)[0]
    assert repr(maker) in str(found)
    assert from_plain(BridgedParity, as_plain(found)).diagnosis.leaks == found.diagnosis.leaks


@pytest.mark.parametrize(("noise", "named"), [(0.05, True), (0.2, False)])
def test_a_near_copy_is_named_and_a_good_predictor_is_not(noise: float, named: bool) -> None:
    known = world()
    near = known["rated"] + np.random.default_rng(3).normal(0, noise, 2 * N)
    # Independent: the squared correlation of a copy with noise of so many standard deviations.
    share = float(np.corrcoef(near[:N], known["rated"][:N])[0, 1] ** 2)
    found = bridged({"merit": known["merit"], "near": near})
    assert bool(found.diagnosis.leaks) is named
    assert named is (share > 0.99)


def test_features_that_are_a_copy_only_together_are_warned_of() -> None:
    known = world()
    half = np.random.default_rng(4).normal(size=2 * N)
    found = bridged({"one part": half, "the other": known["rated"] - half})
    assert found.diagnosis.leaks == {}
    assert "together explain 1.000" in warnings_of(found)[0]


def test_an_honest_bridge_has_no_warning() -> None:
    assert warnings_of(bridged({"merit": world()["merit"]})) == []
    assert list(leak_notes({"a": {}}, 0.98)) == []


def test_values_of_text_are_named_with_their_column() -> None:
    frame = pl.DataFrame({"age": [30, 40], "town": ["x", "y"]})
    assert feature_names(frame) == ("age", "town = x", "town = y")
    known = world()
    decided = (known["rated"] > 0).astype(float)
    text = np.where(decided == 1, "passed", "failed")
    found = biased_bridge(
        decided[:N],
        (known["other"][N:] > 0).astype(float),
        sensitive_features=(known["sex"][:N], known["sex"][N:]),
        features=tuple(pl.DataFrame({"outcome": text[rows]}) for rows in HALVES),
    )
    assert [*found.diagnosis.leaks["first"]] == ["outcome = failed", "outcome = passed"]


def test_a_rehearsal_names_copies_too() -> None:
    known = world()
    features = pl.DataFrame({"merit": known["merit"], "twin": known["rated"]})
    decisions = {"one": known["rated"], "two": known["other"]}
    found = rehearse_bridges(
        decisions, sensitive_features=known["sex"], features=features, splits=1
    )
    assert found.leaks == {"one": {"twin": pytest.approx(1.0)}}
    assert "'twin'" in str(found)
