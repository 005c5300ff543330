"""Definition: pairs by the order of an attribute, weighted, equal the double loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from comparity.counts.all_pairs import AllPairs
from comparity.counts.kernels.label_differences import scale_labels
from comparity.counts.ordered_pairs import ordered_pairs, weighted_order
from comparity.counts.pairs import TIE_VALUE
from tests.plain.ordered_pairs import (
    attribute_cells,
    effective_items,
    shared_item_moments,
    single_moments,
    totals,
)
from tests.plain.query_pairs import query_moments, query_vectors
from tests.plain.weighted_pairs import far_apart


@dataclass
class Rows:
    """Items whose labels, scores and attributes tie often."""

    y: np.ndarray
    f: np.ndarray
    z: np.ndarray
    query: np.ndarray | None
    weights: np.ndarray | None

    def counted(self, score_ties: str) -> AllPairs:
        how = {"query": self.query, "weights": self.weights, "score_ties": score_ties}
        return weighted_order(self.y, self.f, self.z, **how)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    n = draw(st.integers(0, 16))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = st.sampled_from([1, 2, 3, 1000])
    y, f, z = (rng.integers(0, draw(levels), n) - 1.0 for _ in range(3))
    query = rng.integers(-1, draw(st.integers(0, 4)), n) if draw(st.booleans()) else None
    weights = rng.uniform(0.1, 3, n) if draw(st.booleans()) else None
    return Rows(y, f, z, query, weights)


@pytest.mark.parametrize("score_ties", ["disagree", "half"])
@given(rows=tables())
def test_weighted_pairs_equal_the_double_loop(rows: Rows, score_ties: str) -> None:
    found = rows.counted(score_ties)
    n = len(rows.y)
    weights = np.ones(n) if rows.weights is None else rows.weights
    query = [0] * n if rows.query is None else rows.query.tolist()
    # The unit of weight is arbitrary; this is the one the kernels work in.
    labels, cells = scale_labels(rows.y).tolist(), attribute_cells(rows.z.tolist())
    pairs = far_apart(labels, rows.f, cells, query, weights, TIE_VALUE[score_ties])
    sharing, close = found.sharing, {"rtol": 1e-10, "atol": 1e-12}
    assert_allclose([sharing.trials, sharing.hits, found.score_ties], totals(pairs, 3), **close)
    assert_allclose(sharing.own, single_moments(pairs, 3), **close)
    assert_allclose(sharing.effective_items, effective_items(pairs, 3), **close)
    vectors = query_vectors(pairs, query, 3)
    expected = shared_item_moments(pairs, 3) if rows.query is None else query_moments(vectors, 3)
    assert_allclose(sharing.dependent, expected, rtol=1e-10, atol=1e-10)
    assert sharing.n_clusters == (0 if rows.query is None else len(vectors))


@given(seed=st.integers(0, 1000))
def test_binary_labels_are_all_equally_far_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, f, z = 3.0 * rng.integers(0, 2, 40), rng.integers(0, 5, 40) * 1.0, rng.normal(size=40)
    weighted, plain = weighted_order(y, f, z).sharing, ordered_pairs(y, f, z).sharing
    unit = 0.75  # 3 as the kernels scale it
    assert_allclose(weighted.trials, unit * plain.trials)
    assert_allclose(weighted.hits, unit * plain.hits)
    assert_allclose(weighted.dependent, unit**2 * plain.dependent, atol=1e-9)


def test_many_items_equal_the_matrix_of_all_pairs() -> None:
    rng = np.random.default_rng(5)
    y, z = rng.normal(size=700) + 1e5, rng.normal(size=700).round(1)
    f = y + rng.normal(size=700)
    found = weighted_order(y, f, z).sharing
    apart = np.maximum(y[:, None] - y[None, :], 0)
    for cell, chosen in enumerate([z[:, None] > z, z[:, None] < z, z[:, None] == z]):
        expected = apart[chosen & (f[:, None] > f)].sum() / apart[chosen].sum()
        assert found.hits[cell] / found.trials[cell] == pytest.approx(expected, rel=1e-10)
