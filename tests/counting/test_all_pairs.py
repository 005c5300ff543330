"""All pairs: kernels against the double loop, the shared-items design, scikit-learn and DeLong."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from comparity.counting.all_pairs import AllPairs, all_pairs, cell_counts
from comparity.counting.sharing import TIE_VALUE, shared_judgments
from comparity.counts import Cell, JudgedPairs, SharedPairCounts
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


def enumerated(y: np.ndarray, f: np.ndarray, group: np.ndarray) -> SharedPairCounts:
    better, worse = np.nonzero(y[:, None] > y[None, :])
    return SharedPairCounts(
        JudgedPairs(
            better=better,
            worse=worse,
            evaluator=None,
            cell=3 * group[better] + group[worse],
            order=np.sign(f[better] - f[worse]).astype(np.int8),
            trials=np.ones(len(better), dtype=np.int64),
            cells=tuple(Cell(*cell) for cell in product(NAMES, repeat=2)),
            n_items=len(y),
        )
    )


def delong(positive: np.ndarray, negative: np.ndarray) -> float:
    """Variance of the area under the curve, from midranks as in Sun and Xu (2014).

    The dyadic sum divides by n where DeLong's divides by n - 1, and takes off the pairs' own terms.
    """
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


@TIES
@pytest.mark.parametrize("decimals", [0, 1, 12])
def test_all_pairs_equal_the_shared_items_design_on_the_enumerated_pairs(
    decimals: int, score_ties: str
) -> None:
    y, f, group = simulated(150, decimals=decimals)
    found = all_pairs(y, f, group, NAMES, score_ties=score_ties).sharing
    expected = shared_judgments(enumerated(y, f, group), score_ties=score_ties)
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


def equal_labels() -> AllPairs:
    y, f, group = simulated(50)
    return all_pairs(np.zeros_like(y), f, group, NAMES)


@pytest.mark.parametrize("pairs", [one_item, equal_labels])
def test_without_two_labels_there_are_no_pairs(pairs) -> None:
    found = pairs().sharing
    assert not found.trials.any()
    assert not found.hits.any()
    assert not found.dependent.any()
    assert not found.effective_items.any()
