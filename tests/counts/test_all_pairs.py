"""All pairs: kernels against the double loop, the shared-items design, scikit-learn and DeLong."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from comparity.counts.all_pairs import AllPairs, all_pairs, cell_counts
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.kernels.dominance import line_up
from comparity.counts.kernels.moments import binned_products, fill_grid, placement_products
from comparity.counts.pairs import TIE_VALUE, Cell
from comparity.inference.dyadic import rate_covariance
from tests.plain import all_pairs as plain

NAMES = ("a", "b", "c")
TIES = pytest.mark.parametrize("score_ties", ["disagree", "half"])

# Few values, so that ties are common; both zeros, and magnitudes at the ends of the range.
values = st.sampled_from([-1e300, -2.5, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1e300])
items = st.tuples(values, values, st.integers(0, 2), st.sampled_from([0.5, 1.0, 2.0, 3.0]))
tables = st.lists(items, min_size=1, max_size=14)


def columns(table: list[tuple[float, float, int, float]]) -> tuple[np.ndarray, ...]:
    y, f, group, weights = zip(*table, strict=True)
    return np.array(y), np.array(f), np.array(group, dtype=np.int64), np.array(weights)


def simulated(n: int, *, decimals: int = 2, n_groups: int = 3, binary: bool = False):
    rng = np.random.default_rng(n)
    y = rng.normal(size=n).round(decimals)
    if binary:
        y = (y > 0).astype(float)
    f = (y + rng.normal(size=n)).round(decimals)
    return y, f, rng.integers(0, n_groups, n)


def enumerated(y: np.ndarray, f: np.ndarray, group: np.ndarray) -> JudgedPairs:
    better, worse = np.nonzero(y[:, None] > y[None, :])
    return JudgedPairs(
        better=better,
        worse=worse,
        evaluator=None,
        cell=3 * group[better] + group[worse],
        order=np.sign(f[better] - f[worse]).astype(np.int8),
        trials=np.ones(len(better), dtype=np.int64),
        cells=tuple(Cell(*cell) for cell in product(NAMES, repeat=2)),
        n_items=len(y),
    )


def delong(positive: np.ndarray, negative: np.ndarray) -> float:
    """Variance of the area under the curve: DeLong et al. (1988), equation (6), for one curve."""
    kernel = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    by_positive, by_negative = kernel.mean(axis=1), kernel.mean(axis=0)
    return by_positive.var(ddof=1) / len(positive) + by_negative.var(ddof=1) / len(negative)


@given(tables)
def test_counts_equal_the_double_loop(table: list[tuple[float, float, int, float]]) -> None:
    y, f, group, _ = columns(table)
    expected = plain.totals(y, f, group, 3, np.ones(len(y)))
    found = cell_counts(y, f, group, 3)
    assert np.array_equal(found, expected)
    assert {part.dtype for part in found} == {np.dtype(np.int64)}


@TIES
@given(table=tables)
def test_moments_equal_the_loop_over_pairs_of_pairs(
    table: list[tuple[float, float, int, float]], score_ties: str
) -> None:
    y, f, group, _ = columns(table)
    found = all_pairs(y, f, group, NAMES, score_ties=score_ties).sharing
    expected = plain.moments(y, f, group, 3, np.ones(len(y)), TIE_VALUE[score_ties])
    assert np.array_equal(found.dependent, expected)


@pytest.mark.parametrize("n_groups", [1, 8, 20])
@pytest.mark.parametrize("decimals", [0, 1, 12])
def test_many_groups_and_levels_equal_the_double_loop(decimals: int, n_groups: int) -> None:
    y, f, group = simulated(300, decimals=decimals, n_groups=n_groups)
    expected = plain.totals(y, f, group, n_groups, np.ones(len(y)))
    assert np.array_equal(cell_counts(y, f, group, n_groups), expected)


@TIES
@pytest.mark.parametrize("at_the_top", [0, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_with_one_value_to_a_bin_is_exact(
    weighted: bool, at_the_top: int, score_ties: str
) -> None:
    """The last bin is empty unless few items have the best score."""
    rng = np.random.default_rng(8)
    y, f = rng.integers(0, 6, (2, 4000)).astype(float)
    f[:at_the_top] = 6
    weights = rng.exponential(size=4000) if weighted else None
    line, tie = line_up(y, f, rng.integers(0, 3, 4000), 3, weights), TIE_VALUE[score_ties]
    ones = np.ones((3, 3))
    found = binned_products(fill_grid(line), ones, ones / 2, tie)
    assert found == pytest.approx(placement_products(line, tie), rel=1e-12)


def kinds(kind: str, noise: float, n: int, n_groups: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n_groups)
    quality = rng.normal(size=n)
    f = quality + noise * rng.normal(size=n)
    if kind == "tied":
        return quality.round(2), f.round(1), rng.integers(0, n_groups, n)
    y = {"binary": quality > 0.5, "ordinal": np.floor(5 + 2 * quality).clip(0, 9)}
    return y.get(kind, quality).astype(float), f, rng.integers(0, n_groups, n)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "noise", "allowed"),
    [
        ("binary", 1.0, 2e-4),
        ("ordinal", 1.0, 2e-4),
        ("continuous", 1.0, 5e-3),
        ("tied", 1.0, 5e-3),
        ("binary", 0.05, 5e-3),
        ("ordinal", 0.05, 5e-3),
        ("continuous", 0.05, 1e-12),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_groups", [2, 6])
def test_standard_errors_of_many_items_are_as_near_to_the_exact_as_documented(
    kind: str,
    noise: float,
    allowed: float,
    n_groups: int,
    weighted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    y, f, group = kinds(kind, noise, 10**5, n_groups)
    weights = 0.1 + np.random.default_rng(2).exponential(size=10**5) if weighted else None
    how = {"weights": weights, "score_ties": "half"}
    names = tuple("abcdef"[:n_groups])
    near = all_pairs(y, f, group, names, **how)
    monkeypatch.setattr("comparity.counts.all_pairs.ITEMS_TO_SHARE_MEANS", 10**9)
    exact = all_pairs(y, f, group, names, **how)
    assert np.array_equal(near.sharing.hits, exact.sharing.hits)
    assert np.array_equal(near.score_ties, exact.score_ties)
    errors = np.sqrt(variances_of_rates_and_gaps(near) / variances_of_rates_and_gaps(exact))
    assert errors == pytest.approx(1, abs=allowed)


def variances_of_rates_and_gaps(pairs: AllPairs) -> np.ndarray:
    covariance = rate_covariance(pairs.sharing)
    own = np.diag(covariance)
    gaps = own[:, None] + own - 2 * covariance
    return np.concatenate([own, gaps[np.triu_indices(len(own), 1)]])


@TIES
@given(table=tables)
def test_weighted_sums_equal_the_double_loop(
    table: list[tuple[float, float, int, float]], score_ties: str
) -> None:
    y, f, group, weights = columns(table)
    tie = TIE_VALUE[score_ties]
    found = all_pairs(y, f, group, NAMES, weights=weights, score_ties=score_ties)
    trials, hits, ties = (part.ravel() for part in plain.totals(y, f, group, 3, weights))
    assert found.sharing.trials == pytest.approx(trials)
    assert found.sharing.hits == pytest.approx(hits + tie * ties)
    assert found.score_ties == pytest.approx(ties)
    expected = plain.moments(y, f, group, 3, weights, tie)
    assert found.sharing.dependent == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(table=tables)
def test_both_plain_moments_are_the_same(table: list[tuple[float, float, int, float]]) -> None:
    y, f, group, weights = columns(table)
    loop = plain.moments(y, f, group, 3, weights, 0.5)
    assert plain.moments_by_item(y, f, group, 3, weights, 0.5) == pytest.approx(loop, rel=1e-12)


def assert_weighted_equals_the_loop(y, f, group, weights, score_ties: str) -> None:
    tie = TIE_VALUE[score_ties]
    found = all_pairs(y, f, group, NAMES, weights=weights, score_ties=score_ties)
    trials, hits, ties = (part.ravel() for part in plain.totals(y, f, group, 3, weights))
    assert found.sharing.trials == pytest.approx(trials, rel=1e-9)
    assert found.sharing.hits == pytest.approx(hits + tie * ties, rel=1e-9, abs=1e-9)
    assert found.score_ties == pytest.approx(ties, rel=1e-9, abs=1e-9)
    expected = plain.moments_by_item(y, f, group, 3, weights, tie)
    assert found.sharing.dependent == pytest.approx(expected, rel=1e-9, abs=1e-9 * expected.max())


@TIES
@settings(max_examples=25, deadline=None)
@given(table=st.lists(items, min_size=15, max_size=60))
def test_weighted_sums_of_more_items_equal_the_loop(
    table: list[tuple[float, float, int, float]], score_ties: str
) -> None:
    assert_weighted_equals_the_loop(*columns(table), score_ties)


@pytest.mark.long
@TIES
@pytest.mark.parametrize(("labels", "scores"), [(5, 7), (150, 40), (10**6, 10**6)])
def test_weighted_sums_of_hundreds_of_items_equal_the_loop(
    labels: int, scores: int, score_ties: str
) -> None:
    rng = np.random.default_rng(labels)
    y, f = rng.integers(0, labels, 300).astype(float), rng.integers(0, scores, 300).astype(float)
    weights = rng.exponential(size=300)
    assert_weighted_equals_the_loop(y, f, rng.integers(0, 3, 300), weights, score_ties)


@TIES
@pytest.mark.parametrize("decimals", [0, 1, 12])
def test_all_pairs_equal_the_shared_items_design_on_the_enumerated_pairs(
    decimals: int, score_ties: str
) -> None:
    y, f, group = simulated(150, decimals=decimals)
    found = all_pairs(y, f, group, NAMES, score_ties=score_ties).sharing
    expected = enumerated(y, f, group).shared_counts().sharing_moments(score_ties)
    assert found.cells == expected.cells
    for name in ("trials", "hits", "dependent", "own", "half_hits", "effective_items"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@given(tables, st.sampled_from([2.0, 0.25]))
def test_equal_weights_only_scale(table: list[tuple[float, float, int, float]], w: float) -> None:
    y, f, group, _ = columns(table)
    plainly = all_pairs(y, f, group, NAMES)
    weighted = all_pairs(y, f, group, NAMES, weights=np.full(len(y), w))
    assert np.array_equal(weighted.sharing.hits, w**2 * plainly.sharing.hits)
    assert np.array_equal(weighted.sharing.dependent, w**4 * plainly.sharing.dependent)
    assert np.array_equal(weighted.score_ties, w**2 * plainly.score_ties)


@pytest.mark.parametrize("decimals", [1, 12])
def test_binary_labels_give_the_area_under_the_curve_of_scikit_learn(decimals: int) -> None:
    y, f, group = simulated(4000, decimals=decimals, binary=True)
    sharing = all_pairs(y, f, group, NAMES, score_ties="half").sharing
    overall = sharing.hits.sum() / sharing.trials.sum()
    assert overall == pytest.approx(roc_auc_score(y, f), rel=1e-12)
    for cell, (a, b) in enumerate(product(range(3), repeat=2)):
        chosen = ((group == a) & (y == 1)) | ((group == b) & (y == 0))
        rate = sharing.hits[cell] / sharing.trials[cell]
        assert rate == pytest.approx(roc_auc_score(y[chosen], f[chosen]), rel=1e-12)


def test_the_variance_of_each_cell_is_delongs() -> None:
    y, f, group = simulated(3000, decimals=1, binary=True)
    sharing = all_pairs(y, f, group, NAMES, score_ties="half").sharing
    variances = np.diag(rate_covariance(sharing))
    for cell, (a, b) in enumerate(product(range(3), repeat=2)):
        expected = delong(f[(group == a) & (y == 1)], f[(group == b) & (y == 0)])
        # DeLong's divides by n - 1, and the dyadic sum counts a pair once: terms of order 1 / n.
        assert variances[cell] == pytest.approx(expected, rel=0.01)


def test_the_covariance_of_all_cells_is_the_jackknifes() -> None:
    n = 1000
    y, f, group = simulated(n, n_groups=2)

    def rates(kept: np.ndarray) -> np.ndarray:
        trials, hits, _ = cell_counts(y[kept], f[kept], group[kept], 2)
        return (hits / trials).ravel()

    replicates = np.array([rates(np.arange(n) != left_out) for left_out in range(n)])
    jackknife = (n - 1) ** 2 / n * np.cov(replicates.T)
    found = rate_covariance(all_pairs(y, f, group, ("a", "b")).sharing)
    # Both estimate the same covariance; they differ by a term of order 1 / n.
    errors = np.sqrt(np.diag(jackknife))
    assert np.abs(found - jackknife) / np.outer(errors, errors) == pytest.approx(0, abs=0.02)


def one_item() -> AllPairs:
    return all_pairs(np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64), NAMES)


def no_item() -> AllPairs:
    return all_pairs(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64), NAMES)


def equal_labels() -> AllPairs:
    y, f, group = simulated(50)
    return all_pairs(np.zeros_like(y), f, group, NAMES)


@pytest.mark.parametrize("pairs", [no_item, one_item, equal_labels])
def test_without_two_labels_there_are_no_pairs(pairs) -> None:
    found = pairs().sharing
    assert not found.trials.any()
    assert not found.hits.any()
    assert not found.dependent.any()
    assert not found.effective_items.any()
