"""Definition: pairs weighted by label differences equal the double loops, whatever ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from comparity.counts.all_pairs import AllPairs, all_pairs
from comparity.counts.kernels.label_differences import item_pairs, scale_labels
from comparity.counts.pairs import TIE_VALUE
from comparity.counts.query_pairs import weighted_pairs
from comparity.inference.dyadic import rate_covariance
from tests.plain.ordered_pairs import (
    effective_items,
    shared_item_moments,
    single_moments,
    totals,
)
from tests.plain.query_pairs import averaged, group_cells, query_moments, query_vectors
from tests.plain.weighted_pairs import far_apart

TIES = pytest.mark.parametrize("score_ties", ["disagree", "half"])


@dataclass
class Rows:
    """Items whose labels and scores tie often; labels are a few sizes, so that weights differ."""

    y: np.ndarray
    f: np.ndarray
    group: np.ndarray
    groups: tuple[str, ...]
    query: np.ndarray | None
    weights: np.ndarray | None

    def counted(self, **options: str) -> AllPairs:
        columns = self.y, self.f, self.group, self.groups
        return weighted_pairs(*columns, query=self.query, weights=self.weights, **options)


@st.composite
def tables(draw: st.DrawFn, *, queries: bool, largest: int = 16) -> Rows:
    n, k = draw(st.integers(0, largest)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = st.sampled_from([1, 2, 3, 1000])
    y, f = (rng.integers(0, draw(levels), n) - 1.0 for _ in range(2))
    y *= draw(st.sampled_from([1.0, 0.25, -2.0]))
    query = rng.integers(-1, draw(st.integers(0, 4)), n) if queries else None
    weights = rng.uniform(0.1, 3, n) if draw(st.booleans()) else None
    return Rows(y, f, rng.integers(0, k, n), tuple("dbac"[:k]), query, weights)


def listed(rows: Rows, score_ties: str):  # type: ignore[no-untyped-def]
    n, k = len(rows.y), len(rows.groups)
    weights = np.ones(n) if rows.weights is None else rows.weights
    query = [0] * n if rows.query is None else rows.query.tolist()
    cells = group_cells(rows.group.tolist(), k)
    # The unit of weight is arbitrary; this is the one the kernels work in.
    y = scale_labels(rows.y).tolist()
    return far_apart(y, rows.f, cells, query, weights, TIE_VALUE[score_ties]), query


def assert_sums_equal(found: AllPairs, pairs, n_cells: int) -> None:  # type: ignore[no-untyped-def]
    sharing = found.sharing
    close = {"rtol": 1e-11, "atol": 1e-12}
    summed = [sharing.trials, sharing.hits, found.score_ties]
    assert_allclose(summed, totals(pairs, n_cells), **close)
    assert_allclose(sharing.own, single_moments(pairs, n_cells), **close)
    assert_allclose(sharing.effective_items, effective_items(pairs, n_cells), **close)
    # What weighs nothing is exactly nothing.
    assert np.array_equal(sharing.trials == 0, np.array(totals(pairs, n_cells)[0]) == 0)


@TIES
@given(rows=tables(queries=False))
def test_all_pairs_equal_the_double_loop(rows: Rows, score_ties: str) -> None:
    found = rows.counted(score_ties=score_ties)
    pairs, _ = listed(rows, score_ties)
    n_cells = len(rows.groups) ** 2
    assert_sums_equal(found, pairs, n_cells)
    expected = shared_item_moments(pairs, n_cells)
    assert_allclose(found.sharing.dependent, expected, rtol=1e-10, atol=1e-10)
    assert found.sharing.n_clusters == 0


@TIES
@pytest.mark.parametrize("average", ["pairs", "cells", "rows", "columns", "whole"])
@settings(max_examples=50)
@given(rows=tables(queries=True))
def test_pairs_within_queries_equal_the_double_loop(
    rows: Rows, average: str, score_ties: str
) -> None:
    how = {"average": "pairs"} if average == "pairs" else {"average": "queries", "once_in": average}
    found = rows.counted(score_ties=score_ties, **how)
    pairs, query = listed(rows, score_ties)
    if average != "pairs":
        pairs = averaged(pairs, query, len(rows.groups), average)
    n_cells = len(rows.groups) ** 2
    assert_sums_equal(found, pairs, n_cells)
    vectors = query_vectors(pairs, query, n_cells)
    expected = query_moments(vectors, n_cells)
    assert_allclose(found.sharing.dependent, expected, rtol=1e-10, atol=1e-12)
    assert found.sharing.n_clusters == len(vectors)


@TIES
@given(seed=st.integers(0, 1000))
def test_binary_labels_are_all_equally_far_apart(seed: int, score_ties: str) -> None:
    rng = np.random.default_rng(seed)
    y, f, group = rng.integers(0, 2, 30) * 3.0, rng.integers(0, 4, 30) * 1.0, rng.integers(0, 2, 30)
    weighted = weighted_pairs(y, f, group, ("a", "b"), score_ties=score_ties)
    plain = all_pairs(y, f, group, ("a", "b"), score_ties=score_ties)
    unit = 0.75  # 3 as the kernels scale it
    assert_allclose(weighted.sharing.trials, unit * plain.sharing.trials)
    assert_allclose(weighted.sharing.hits, unit * plain.sharing.hits)
    assert_allclose(weighted.sharing.dependent, unit**2 * plain.sharing.dependent)
    assert_allclose(weighted.sharing.effective_items, plain.sharing.effective_items)


@pytest.mark.parametrize("decimals", [0, 1, 6])
def test_both_roles_of_all_items_see_the_same_pairs(decimals: int) -> None:
    """What items say of themselves as better ones, others say of them as worse ones."""
    rng = np.random.default_rng(1)
    y, f = rng.normal(size=(2, 3000)).round(decimals)
    group, query = np.arange(3000) % 3, rng.integers(0, 5, 3000)
    found = item_pairs(y, f, group, 3, weight=rng.uniform(0.5, 2, 3000), query=query)
    group = group[found.order]
    for better, worse in zip(found.better, found.worse, strict=True):
        as_better = np.array([better[group == g].sum(axis=0) for g in range(3)])
        as_worse = np.array([worse[group == g].sum(axis=0) for g in range(3)])
        assert as_better == pytest.approx(as_worse.T, rel=1e-12)


@pytest.mark.parametrize("decimals", [0, 6])
def test_pairs_of_each_item_and_their_squares_are_those_of_a_loop(decimals: int) -> None:
    rng = np.random.default_rng(4)
    y, f = rng.normal(size=(2, 60)).round(decimals)
    group, query, weight = rng.integers(0, 2, 60), rng.integers(0, 3, 60), rng.uniform(0.5, 2, 60)
    found = item_pairs(y, f, group, 2, weight=weight, query=query)
    y, rows = scale_labels(y), found.order
    apart = np.maximum(y[:, None] - y, 0) * np.outer(weight, weight) * (query[:, None] == query)
    kinds = np.ones((60, 60)), f[:, None] > f, f[:, None] == f
    for place, kind in enumerate(kinds):
        for side in (0, 1):
            pairs = (apart * kind)[rows][:, group == side]
            assert_allclose(found.better[place][:, side], pairs.sum(axis=1), atol=1e-12)
            assert_allclose(found.squares[place][:, side], (pairs**2).sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_many_items_equal_the_matrix_of_all_pairs(offset: float) -> None:
    """With labels far from zero, sums of labels less sums of labels would cancel."""
    rng = np.random.default_rng(2)
    y, group = rng.normal(size=800) + offset, rng.integers(0, 2, 800)
    f = y + rng.normal(size=800)
    found = weighted_pairs(y, f, group, ("a", "b")).sharing
    apart = np.maximum(y[:, None] - y[None, :], 0)
    agree = apart * (f[:, None] > f[None, :])
    for cell, (a, b) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        block = np.ix_(group == a, group == b)
        expected = agree[block].sum() / apart[block].sum()
        assert found.hits[cell] / found.trials[cell] == pytest.approx(expected, rel=1e-12)


def test_the_covariance_of_all_cells_is_the_jackknifes() -> None:
    n, names = 600, ("a", "b")
    rng = np.random.default_rng(3)
    y, group = rng.normal(size=n), rng.integers(0, 2, n)
    f = y + rng.normal(size=n)

    def counted(kept: np.ndarray):  # type: ignore[no-untyped-def]
        return weighted_pairs(y[kept], f[kept], group[kept], names).sharing

    replicates = [counted(np.arange(n) != left_out) for left_out in range(n)]
    rates = np.array([part.hits / part.trials for part in replicates])
    jackknife = (n - 1) ** 2 / n * np.cov(rates.T)
    found = rate_covariance(counted(np.arange(n) >= 0))
    # Both estimate the same covariance; they differ by a term of order 1 / n, about 30 / n here.
    errors = np.sqrt(np.diag(jackknife))
    assert np.abs(found - jackknife) / np.outer(errors, errors) == pytest.approx(0, abs=0.06)


@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324])
def test_labels_of_any_size_can_be_compared(size: float) -> None:
    y, f = np.array([-1.0, 0.0, 1.0]) * size, np.array([0.0, 1.0, 0.5])
    found = weighted_pairs(y, f, np.zeros(3, dtype=np.int64), ("a",)).sharing
    assert found.hits[0] / found.trials[0] == pytest.approx(0.75)
    assert np.isfinite(found.dependent).all()
