"""Definition: products over clusters and the sharing sums equal their plain twins."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from comparity.counts.clusters import Clustering, cluster_products
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.judged_weights import _keep_rows
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.errors import IncompatibleCountsError
from comparity.inference.dyadic import rate_covariance
from tests.plain.clusters import cluster_moments as plain_cluster_moments
from tests.plain.dyadic import variance as plain_variance

CELLS = tuple(Cell(better, worse) for better in "ab" for worse in "ab")


@st.composite
def judgments(draw: st.DrawFn, *, evaluators: bool, kinds: int = 0) -> JudgedPairs:
    """Few items, so that pairs repeat, in both directions and by several evaluators.

    Judgments lie in clusters of so many further kinds.
    """
    n_items, n = draw(st.integers(2, 6)), draw(st.integers(1, 25))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    group, score = rng.integers(0, 2, n_items), rng.integers(0, 3, n_items)
    better = rng.integers(0, n_items, n)
    worse = (better + rng.integers(1, n_items, n)) % n_items
    return JudgedPairs(
        better=better,
        worse=worse,
        evaluator=rng.integers(0, 3, n) if evaluators else None,
        cell=2 * group[better] + group[worse],
        order=np.sign(score[better] - score[worse]).astype(np.int8),
        trials=rng.integers(1, 4, n),
        cells=CELLS,
        evaluators=("x", "y", "z") if evaluators else (),
        n_items=n_items,
        clusters={
            kind: Clustering(rng.integers(0, 4, n), ("p", "q", "r", "s")) for kind in "kl"[:kinds]
        },
    )


@st.composite
def clustered_rows(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    rows = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5)), min_size=1, max_size=20))
    cell = np.array([row[0] for row in rows])
    trials = np.array([row[1] for row in rows], dtype=float)
    keys = draw(arrays(np.int64, len(rows), elements=st.integers(0, 6)))
    return keys, cell, trials, trials / 2


@pytest.mark.parametrize("few", [0, 16])
@pytest.mark.parametrize("first", [0, 2**61])
@given(rows=clustered_rows())
def test_products_equal_the_loop(few: int, first: int, rows: tuple[np.ndarray, ...]) -> None:
    keys, *columns = rows
    with mock.patch("comparity.counts.clusters.FEW_CELLS", few):
        products = cluster_products(keys + first * (keys > 3), *columns, 3)
    assert products.tolist() == plain_cluster_moments(*(column.tolist() for column in rows), 3)


@given(rows=clustered_rows())
def test_clusters_whose_lowest_bits_agree_are_told_apart(rows: tuple[np.ndarray, ...]) -> None:
    keys, *columns = rows
    products = cluster_products(keys * 2**40, *columns, 3)
    assert products.tolist() == plain_cluster_moments(*(column.tolist() for column in rows), 3)


def test_no_rows_have_no_products() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert not cluster_products(none, none, np.zeros(0), np.zeros(0), 2).any()


@pytest.mark.parametrize("kinds", [0, 1, 2])
@pytest.mark.parametrize("evaluators", [False, True])
@pytest.mark.parametrize("score_ties", ["disagree", "half"])
@settings(max_examples=60)
@given(data=st.data(), weights=arrays(float, 8, elements=st.floats(-1, 1)))
def test_variance_equals_the_double_sum_over_judgments(
    kinds: int, evaluators: bool, score_ties: str, data: st.DataObject, weights: np.ndarray
) -> None:
    counts = data.draw(judgments(evaluators=evaluators, kinds=kinds))
    pairs = counts
    sharing = counts.shared_counts().sharing_moments(score_ties)
    value = np.where(pairs.order > 0, 1.0, 0.0)
    if score_ties == "half":
        value[pairs.order == 0] = 0.5
    residual = weights[pairs.cell] + weights[4 + pairs.cell] * value
    every = np.repeat(np.arange(len(pairs)), pairs.trials)
    expected = plain_variance(
        residual[every].tolist(),
        [(int(pairs.better[row]), int(pairs.worse[row])) for row in every],
        pairs.evaluator[every].tolist() if pairs.evaluator is not None else None,
        [one.codes[every].tolist() for one in pairs.clusters.values()],
    )
    assert weights @ sharing.dependent @ weights == pytest.approx(expected, abs=1e-9)
    own = float((residual[every] ** 2).sum())
    assert weights @ sharing.own @ weights == pytest.approx(own, abs=1e-9)


def judged(better: list[int], worse: list[int], cell: list[int]) -> JudgedPairs:
    n = len(better)
    return JudgedPairs(
        better=np.array(better),
        worse=np.array(worse),
        evaluator=None,
        cell=np.array(cell),
        order=np.ones(n, dtype=np.int8),
        trials=np.ones(n, dtype=np.int64),
        cells=CELLS,
        n_items=1 + max(better + worse),
    )


def test_items_used_alike_count_fully() -> None:
    counts = judged([0, 2, 4], [1, 3, 5], [1, 1, 2])
    assert counts.shared_counts().sharing_moments().effective_items.tolist() == [0, 4, 2, 0]


def test_an_item_in_every_pair_leaves_few_effective_items() -> None:
    """A hub used n times and n others used once: (2n)^2 / (n^2 + n) is below 4."""
    counts = judged([0] * 50, list(range(1, 51)), [1] * 50)
    assert counts.shared_counts().sharing_moments().effective_items[1] == pytest.approx(
        100**2 / (50**2 + 50)
    )


def test_independent_judgments_have_the_binomial_variance() -> None:
    counts = PairCounts({CELLS[1]: Tally(30, 40)})
    sharing = counts.sharing_moments()
    weights = np.array([-0.75 / 40, 1 / 40])  # residuals at the observed rate
    assert weights @ sharing.dependent @ weights == pytest.approx(0.75 * 0.25 / 40)


@pytest.mark.parametrize("kinds", [1, 2])
def test_the_variance_of_clusters_is_that_of_statsmodels(kinds: int) -> None:
    """Pairs of new items: regression on cells, with cluster-robust errors (Cameron et al.)."""
    rng = np.random.default_rng(kinds)
    n = 400
    cell, hit = rng.integers(0, 4, n), rng.random(n) < 0.7
    codes = [rng.integers(0, 30, n), rng.integers(0, 25, n)][:kinds]
    pairs = JudgedPairs(
        better=np.arange(n),
        worse=np.arange(n, 2 * n),
        evaluator=None,
        cell=cell,
        order=np.where(hit, 1, -1).astype(np.int8),
        trials=np.ones(n, dtype=np.int64),
        cells=CELLS,
        n_items=2 * n,
        clusters={
            str(kind): Clustering(one, tuple(map(str, range(30)))) for kind, one in enumerate(codes)
        },
    )
    model = sm.OLS(hit.astype(float), np.eye(4)[cell])
    groups = {"groups": np.column_stack(codes), "use_correction": False}
    expected = model.fit(cov_type="cluster", cov_kwds=groups).cov_params()
    covariance = rate_covariance(pairs.shared_counts().sharing_moments())
    assert covariance == pytest.approx(expected, abs=1e-12)


@given(data=st.data(), cut=st.integers(0, 25))
def test_counting_in_parts_changes_nothing(data: st.DataObject, cut: int) -> None:
    whole = data.draw(judgments(evaluators=True, kinds=2))
    rows = np.arange(len(whole)) < cut
    if rows.all() or not rows.any():
        return
    parts = [_keep_rows(whole, kept) for kept in (rows, ~rows)]
    assert parts[0] + parts[1] == whole
    assert parts[0] + replace(parts[1], trials=parts[1].trials + 1) != whole


def test_parts_with_other_clusters_cannot_be_added() -> None:
    one = judged([0, 2], [1, 3], [0, 1])
    other = replace(one, clusters={"prompt": Clustering(np.array([0, 0]), ("p",))})
    with pytest.raises(IncompatibleCountsError, match="clusters"):
        one + other
