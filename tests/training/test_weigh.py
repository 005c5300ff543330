"""Weights: AIF360's Reweighing, published formulas, and what the weights are for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gaussian_kde

from comparity import fair_balance, fair_reweighing, reweighing
from comparity.counts.densities import kernel_densities
from comparity.errors import (
    ComparityError,
    MissingCombinationWarning,
    MissingValueError,
    NotNumericError,
    OneGroupError,
)

rows = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), max_size=40)
# Every combination at least once, so that weights can balance them.
complete = rows.map(lambda drawn: [(a, y) for a in "ab" for y in "xyz"] + drawn)


def columns(table: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    group, label = zip(*table, strict=True)
    return np.array(label), np.array(group)


def simulated(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    group = rng.choice(["a", "b"], n, p=[0.7, 0.3])
    return (rng.random(n) < np.where(group == "a", 0.6, 0.3)).astype(int), group


def weighted_shares(label: np.ndarray, group: np.ndarray, weights: np.ndarray) -> pd.DataFrame:
    table = pd.crosstab(group, label, weights, aggfunc="sum").fillna(0)
    return table.div(table.sum(axis=1), axis=0)


def test_reweighing_equals_that_of_aif360() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from aif360.algorithms.preprocessing import Reweighing
        from aif360.datasets import BinaryLabelDataset
    label, group = simulated()
    frame = pd.DataFrame({"y": label, "a": (group == "a").astype(float)})
    data = BinaryLabelDataset(df=frame, label_names=["y"], protected_attribute_names=["a"])
    method = Reweighing(unprivileged_groups=[{"a": 0.0}], privileged_groups=[{"a": 1.0}])
    expected = method.fit_transform(data).instance_weights
    assert reweighing(label, sensitive_features=group) == pytest.approx(expected, rel=1e-12)


@given(complete)
def test_reweighing_gives_every_group_the_same_labels(table: list[tuple[str, str]]) -> None:
    label, group = columns(table)
    weights = reweighing(label, sensitive_features=group)
    shares = weighted_shares(label, group, weights)
    everyone = pd.Series(label).value_counts(normalize=True)
    for name in "xyz":
        assert shares[name].to_numpy() == pytest.approx(np.full(2, everyone[name]))
    assert weights.sum() == pytest.approx(len(label))


@given(complete)
def test_fair_balance_gives_every_group_all_labels_alike(table: list[tuple[str, str]]) -> None:
    label, group = columns(table)
    weights = fair_balance(label, sensitive_features=group)
    assert weighted_shares(label, group, weights).to_numpy() == pytest.approx(1 / 3)
    sizes = pd.Series(weights).groupby(group).sum()
    assert sizes.to_numpy() == pytest.approx(pd.Series(group).value_counts()[sizes.index])


@given(complete)
def test_equal_groups_weigh_every_combination_alike(table: list[tuple[str, str]]) -> None:
    label, group = columns(table)
    weights = fair_balance(label, sensitive_features=group, equal_groups=True)
    table = pd.crosstab(group, label, weights, aggfunc="sum")
    assert table.to_numpy() == pytest.approx(len(label) / 6)


def test_weights_of_two_attributes_are_those_of_their_combinations() -> None:
    label, group = simulated()
    other = np.random.default_rng(1).integers(0, 2, len(label))
    both = [f"{a}/{b}" for a, b in zip(group, other, strict=True)]
    for weigh in (reweighing, fair_balance):
        several = weigh(label, sensitive_features={"sex": group, "race": other})
        assert several == pytest.approx(weigh(label, sensitive_features=both))


def test_weights_of_binary_labels_follow_the_printed_formulas() -> None:
    """|A=a||Y=y| / |A=a, Y=y| rescaled to sum n, and |A=a| / (2 |A=a, Y=y|)."""
    label = np.array([1, 1, 1, 0, 1, 0, 0, 0, 0, 0])
    group = np.array(list("aaaabbbbbb"))
    size = {(a, y): ((group == a) & (label == y)).sum() for a in "ab" for y in (0, 1)}
    pairs = list(zip(group.tolist(), label.tolist(), strict=True))
    n_a, n_y = {"a": 4, "b": 6}, {0: 6, 1: 4}
    expected = np.array([n_a[a] * n_y[y] / size[a, y] for a, y in pairs])
    found = reweighing(label, sensitive_features=group)
    assert found == pytest.approx(expected * 10 / expected.sum())
    expected = [n_a[a] / (2 * size[a, y]) for a, y in pairs]
    assert fair_balance(label, sensitive_features=group) == pytest.approx(expected)


def scaled(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def continuous(n: int = 150) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    group = rng.integers(0, 2, n)
    age = rng.normal(size=n)
    return group + 0.5 * age + rng.normal(size=n), group, age


def test_neighbour_weights_equal_the_matrix_of_distances() -> None:
    """Neighbours are nearer than half a standard deviation in (a), in (y) and in (a, y)."""
    y, _, age = continuous()
    a, b = scaled(age), scaled(y)
    far_a, far_y = np.abs(a[:, None] - a), np.abs(b[:, None] - b)
    joint = (np.hypot(far_a, far_y) < 0.5).sum(axis=1)
    expected = (far_a < 0.5).sum(axis=1) * (far_y < 0.5).sum(axis=1) / joint
    found = fair_reweighing(y, sensitive_features=age)
    assert found == pytest.approx(expected * len(y) / expected.sum())


def kept_otherwise(age: np.ndarray) -> list[Any]:
    decimals = [Decimal(repr(number)) for number in age.tolist()]
    return [list(age), age.astype(object), np.ma.array(age), pd.Series(decimals)]


@pytest.mark.parametrize("way", range(4))
def test_numbers_are_numbers_however_they_are_kept(way: int) -> None:
    y, _, age = continuous()
    a, b = scaled(age), scaled(y)
    far_a, far_y = np.abs(a[:, None] - a), np.abs(b[:, None] - b)
    joint = (np.hypot(far_a, far_y) < 0.5).sum(axis=1)
    expected = (far_a < 0.5).sum(axis=1) * (far_y < 0.5).sum(axis=1) / joint
    found = fair_reweighing(y, sensitive_features=kept_otherwise(age)[way])
    assert found == pytest.approx(expected * len(y) / expected.sum())


@pytest.mark.parametrize(
    "declared",
    [
        pd.Categorical,
        lambda codes: pd.Series(codes, dtype="category"),
        lambda codes: pd.DataFrame({"race": pd.Categorical(codes)}),
        lambda codes: {"race": pd.Series(codes, dtype="category", name="code")},
    ],
)
def test_categories_are_groups_though_their_names_are_numbers(declared: Any) -> None:
    y, group, _ = continuous()
    codes = group + 2 * (np.arange(len(y)) % 3)
    words = np.array(["zero", "one", "two", "three", "four", "five"])[codes]
    found = fair_reweighing(y, sensitive_features=declared(codes))
    assert found == pytest.approx(fair_reweighing(y, sensitive_features=words))


@pytest.mark.parametrize("density", ["neighbours", "kernel"])
def test_groups_written_as_words_weigh_as_groups_coded_0_and_1(density: str) -> None:
    y, group, _ = continuous()
    words = np.where(group == 1, "internal", "external")
    found = fair_reweighing(y, sensitive_features=words, density=density)
    expected = fair_reweighing(y, sensitive_features=group.astype(float), density=density)
    assert found == pytest.approx(expected, rel=1e-5)


def test_kernel_weights_equal_those_of_scipy() -> None:
    y, group, _ = continuous()
    z = scaled(y)

    def density(points: np.ndarray) -> np.ndarray:
        return gaussian_kde(points, bw_method=0.2 / points.std(ddof=1))(z)

    within = np.where(group == 1, density(z[group == 1]), density(z[group == 0]))
    expected = density(z) / within
    found = fair_reweighing(y, sensitive_features=group.astype(str), density="kernel")
    assert found == pytest.approx(expected * len(y) / expected.sum(), rel=1e-5)


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "far apart", "all but one alike"])
def test_kernels_on_a_line_equal_the_matrix_of_distances(kind: str) -> None:
    rng = np.random.default_rng(5)
    points = {
        "normal": rng.normal(size=800),
        "heavy tails": rng.standard_cauchy(800),
        "far apart": np.append(rng.normal(size=798), [1e6, -1e6]),
        "all but one alike": np.append(np.zeros(799), 1.2),
    }[kind]
    distances = points[:, None] - points
    expected = np.exp(-(distances**2) / (2 * 0.2**2)).sum(axis=1) / (0.2 * np.sqrt(2 * np.pi))
    found = kernel_densities(points[:, None], np.zeros(800, dtype=np.int64), 0.2)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_fair_reweighing_takes_away_the_correlation_of_label_and_number() -> None:
    """The density (1 + 0.9 a y) / 4 on a square has the correlation 0.3."""
    rng = np.random.default_rng(5)
    age, y = rng.uniform(-1, 1, (2, 8000))
    kept = rng.uniform(0, 1.9, 8000) < 1 + 0.9 * age * y
    age, y = age[kept], y[kept]
    covariance = np.cov(age, y, aweights=fair_reweighing(y, sensitive_features=age, radius=0.3))
    after = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert np.corrcoef(age, y)[0, 1] > 0.25
    assert abs(after) < 0.1


def test_a_missing_combination_is_warned_of() -> None:
    with pytest.warns(MissingCombinationWarning, match="no row of 'b, 1'"):
        weights = reweighing([1, 0, 0, 0], sensitive_features=list("aabb"))
    assert weights.sum() == pytest.approx(4)


@pytest.mark.parametrize(
    ("weigh", "y", "sensitive", "error"),
    [
        (reweighing, [1, 0], ["a", "a"], OneGroupError),
        (reweighing, [1, None], ["a", "b"], MissingValueError),
        (fair_balance, [1, 0, 1], ["a", "b"], ComparityError),
        (fair_balance, [], [], ComparityError),
        (fair_reweighing, ["high", "low"], ["a", "b"], NotNumericError),
        (fair_reweighing, [1.0, 2.0], {}, ComparityError),
    ],
)
def test_bad_input_is_refused(
    weigh: Callable[..., np.ndarray], y: list[Any], sensitive: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        weigh(y, sensitive_features=sensitive)


@pytest.mark.parametrize("choice", [{"density": "knn"}, {"radius": 0}, {"bandwidth": -1.0}])
def test_unknown_choices_are_refused(choice: dict[str, Any]) -> None:
    with pytest.raises(ComparityError, match=next(iter(choice))):
        fair_reweighing([1.0, 2.0], sensitive_features=["a", "b"], **choice)


def test_frames_of_all_engines_are_taken(frame: Callable[..., Any]) -> None:
    label, group = simulated(60)
    expected = reweighing(label, sensitive_features=group)
    found = reweighing(label, sensitive_features=frame({"sex": group.tolist()}))
    assert found == pytest.approx(expected)
