"""Definition: pairs within queries equal the double loops, and add up over queries."""

from __future__ import annotations

from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from comparity.counts import query_pairs as module
from comparity.counts.all_pairs import AllPairs
from comparity.counts.pairs import Cell
from comparity.counts.query_pairs import query_counts, query_pairs
from tests.plain.ordered_pairs import (
    effective_items,
    pairs_of,
    single_moments,
    totals,
)
from tests.plain.query_pairs import averaged, group_cells, query_moments, query_vectors

TIE_VALUE = {"disagree": 0.0, "half": 0.5}


@dataclass
class Rows:
    """Items of several queries in any order; labels and scores tie often."""

    y: np.ndarray
    f: np.ndarray
    group: np.ndarray
    groups: tuple[str, ...]
    query: np.ndarray
    weights: np.ndarray | None

    def counted(self, **options: str) -> AllPairs:
        columns = self.y, self.f, self.group, self.groups, self.query
        return query_pairs(*columns, weights=self.weights, **options)

    def of(self, name: int) -> Rows:
        rows = self.query == name
        weights = None if self.weights is None else self.weights[rows]
        columns = self.y[rows], self.f[rows], self.group[rows], self.groups
        return Rows(*columns, self.query[rows], weights)


@st.composite
def tables(draw: st.DrawFn, *, largest: int = 16, n_queries: int = 4) -> Rows:
    n, k = draw(st.integers(0, largest)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = st.sampled_from([1, 2, 3, 1000])
    y, f = (rng.integers(0, draw(levels), n) - 1.0 for _ in range(2))
    query = rng.integers(-1, draw(st.integers(0, n_queries)), n)
    weights = rng.uniform(0.1, 3, n) if draw(st.booleans()) else None
    return Rows(y, f, rng.integers(0, k, n), tuple("dbac"[:k]), query, weights)


AVERAGES = pytest.mark.parametrize("average", ["pairs", "cells", "rows", "columns", "whole"])
"""Every pair counts once, or every query in each cell, row, column or in all."""


def assert_equals_the_loops(rows: Rows, average: str, score_ties: str) -> None:
    how = {"average": "pairs"} if average == "pairs" else {"average": "queries", "once_in": average}
    found = rows.counted(**how, score_ties=score_ties)
    k, n_cells = len(rows.groups), len(rows.groups) ** 2
    weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    cells, query = group_cells(rows.group.tolist(), k), rows.query.tolist()
    pairs = pairs_of(rows.y, rows.f, cells, query, weights, TIE_VALUE[score_ties])
    if average != "pairs":
        pairs = averaged(pairs, query, k, average)
    vectors = query_vectors(pairs, query, n_cells)
    sharing = found.sharing
    summed = [sharing.trials, sharing.hits, found.score_ties]
    assert_allclose(summed, totals(pairs, n_cells), atol=1e-9)
    assert_allclose(sharing.dependent, query_moments(vectors, n_cells), rtol=1e-12, atol=1e-9)
    assert_allclose(sharing.own, single_moments(pairs, n_cells), rtol=1e-12, atol=1e-9)
    assert_allclose(sharing.effective_items, effective_items(pairs, n_cells), rtol=1e-9)
    assert sharing.n_clusters == len(vectors)


@pytest.mark.parametrize("score_ties", ["disagree", "half"])
@pytest.mark.parametrize("average", ["pairs", "queries"])
@given(rows=tables())
def test_half_hits_are_the_score_ties_that_count_half(
    rows: Rows, average: str, score_ties: str
) -> None:
    found = rows.counted(average=average, score_ties=score_ties)
    expected = 2 * TIE_VALUE[score_ties] * found.score_ties
    assert found.sharing.half_hits.tolist() == expected.tolist()


@pytest.mark.parametrize("score_ties", ["disagree", "half"])
@AVERAGES
@given(rows=tables())
def test_pairs_within_queries_equal_the_double_loop(
    rows: Rows, average: str, score_ties: str
) -> None:
    assert_equals_the_loops(rows, average, score_ties)


@pytest.mark.parametrize("score_ties", ["disagree", "half"])
@AVERAGES
@settings(max_examples=15, deadline=None)
@given(rows=tables(largest=140, n_queries=1))
def test_queries_that_are_merged_equal_the_double_loop(
    rows: Rows, average: str, score_ties: str
) -> None:
    with mock.patch.object(module, "MOST_COMPARED_DIRECTLY", 20):
        assert_equals_the_loops(rows, average, score_ties)


@settings(max_examples=50, deadline=None)
@given(rows=tables() | tables(largest=140, n_queries=1))
def test_counts_alone_equal_the_double_loop(rows: Rows) -> None:
    k = len(rows.groups)
    with mock.patch.object(module, "MOST_COMPARED_DIRECTLY", 20):
        found = query_counts(rows.y, rows.f, rows.group, k, rows.query)
    cells = group_cells(rows.group.tolist(), k)
    pairs = pairs_of(rows.y, rows.f, cells, rows.query.tolist(), np.ones(len(rows.y)), 0.0)
    assert np.reshape(found, (3, -1)).tolist() == np.array(totals(pairs, k * k)).tolist()


@pytest.mark.parametrize("k", [1, 2, 20])
def test_counts_alone_are_those_with_moments(k: int) -> None:
    rows = many_small_queries(20_000, k)
    found = query_counts(rows.y, rows.f, rows.group, k, rows.query)
    expected = rows.counted()
    assert found[0].ravel().tolist() == expected.sharing.trials.tolist()
    assert found[1].ravel().tolist() == expected.sharing.hits.tolist()
    assert found[2].ravel().tolist() == expected.score_ties.tolist()


@given(rows=tables(), average=st.sampled_from(["pairs", "queries"]))
def test_counts_of_single_queries_add_up(rows: Rows, average: str) -> None:
    whole = rows.counted(average=average)
    parts = [rows.of(name).counted(average=average) for name in np.unique(rows.query)]
    for name in ("trials", "hits", "dependent", "own", "n_clusters"):
        total = sum(getattr(part.sharing, name) for part in parts)
        assert_allclose(getattr(whole.sharing, name), total, atol=1e-9)


@given(rows=tables(largest=60))
def test_weights_of_one_change_nothing(rows: Rows) -> None:
    rows.weights = None
    plain = rows.counted(score_ties="half")
    rows.weights = np.ones(len(rows.y))
    weighted = rows.counted(score_ties="half")
    assert plain.sharing.dependent.tolist() == weighted.sharing.dependent.tolist()
    assert_allclose(plain.sharing.effective_items, weighted.sharing.effective_items, rtol=1e-12)
    assert plain.score_ties.tolist() == weighted.score_ties.tolist()


@given(rows=tables(largest=60), seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(rows: Rows, seed: int) -> None:
    rows.weights = None
    order = np.random.default_rng(seed).permutation(len(rows.y))
    columns = (column[order] for column in (rows.y, rows.f, rows.group))
    shuffled = Rows(*columns, rows.groups, rows.query[order], None)
    one, two = rows.counted().sharing, shuffled.counted().sharing
    assert one.dependent.tolist() == two.dependent.tolist()
    assert one.effective_items.tolist() == two.effective_items.tolist()


def many_small_queries(n_queries: int, k: int) -> Rows:
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(n_queries), 12)
    n = len(query)
    y, f = rng.integers(0, 5, n).astype(float), rng.integers(0, 8, n) / 8
    return Rows(y, f, rng.integers(0, k, n), tuple(map(str, range(k))), query, None)


@pytest.mark.parametrize("k", [1, 2, 20])
def test_items_compared_and_items_merged_give_the_same(k: int) -> None:
    rows = many_small_queries(3000, k)
    found = rows.counted(score_ties="half")
    with mock.patch.object(module, "MOST_COMPARED_DIRECTLY", 1):
        merged = rows.counted(score_ties="half")
    assert found.sharing.dependent.tolist() == merged.sharing.dependent.tolist()
    assert found.sharing.own.tolist() == merged.sharing.own.tolist()
    assert found.sharing.effective_items.tolist() == merged.sharing.effective_items.tolist()


def test_counts_without_moments_are_those_with_them() -> None:
    rows = many_small_queries(501, 3)
    counts = query_counts(rows.y, rows.f, rows.group, 3, rows.query)
    assert counts[1].ravel().tolist() == rows.counted().sharing.hits.tolist()


def test_queries_of_one_item_hold_no_pair() -> None:
    one = np.arange(5.0)
    found = query_pairs(one, one, np.zeros(5, dtype=int), ("a",), np.arange(5))
    assert found.sharing.n_clusters == 0
    assert found.sharing.dependent.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_cells_come_in_the_order_of_the_groups_given() -> None:
    y, query = np.array([2.0, 1.0, 1.0, 0.0]), np.zeros(4, dtype=int)
    sharing = query_pairs(y, y, np.array([1, 0, 0, 1]), ("b", "a"), query).sharing
    assert sharing.cells == (Cell("b", "b"), Cell("b", "a"), Cell("a", "b"), Cell("a", "a"))
    assert sharing.trials.tolist() == [0.0, 2.0, 2.0, 1.0]


def test_a_large_query_takes_no_square_of_time() -> None:
    # A loop over the pairs of this query would take minutes; all labels differ.
    n = 200_000
    y = np.random.default_rng(2).permutation(n).astype(float)
    found = query_pairs(y, y, np.zeros(n, dtype=int), ("a",), np.zeros(n, dtype=int))
    assert found.sharing.hits.tolist() == [n * (n - 1) / 2]
