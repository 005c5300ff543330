"""Definition: pairs by the order of an attribute equal the double loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from comparity.counts.all_pairs import AllPairs
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.kernels.dominance import concordances
from comparity.counts.kernels.sorting import classes, joint_classes
from comparity.counts.ordered_pairs import EQUAL, LARGER, SMALLER, ordered_pairs
from tests.plain.ordered_pairs import (
    Pair,
    attribute_cells,
    effective_items,
    pairs_of,
    shared_item_moments,
    single_moments,
    totals,
)
from tests.plain.ordered_pairs import concordances as plain_concordances
from tests.plain.query_pairs import query_moments, query_vectors

TIE_VALUE = {"disagree": 0.0, "half": 0.5}


@dataclass
class Items:
    """Few distinct values of some columns, many of others."""

    y: np.ndarray
    f: np.ndarray
    z: np.ndarray
    query: np.ndarray
    weights: np.ndarray | None

    def counted(self, *, within_queries: bool, score_ties: str) -> AllPairs:
        query = self.query if within_queries else None
        options = {"query": query, "weights": self.weights, "score_ties": score_ties}
        return ordered_pairs(self.y, self.f, self.z, **options)

    def pairs(self, *, within_queries: bool, score_ties: str) -> list[Pair]:
        n = len(self.y)
        query = self.query.tolist() if within_queries else [0] * n
        weights = np.ones(n) if self.weights is None else self.weights
        cells = attribute_cells(self.z)
        return pairs_of(self.y, self.f, cells, query, weights, TIE_VALUE[score_ties])


@st.composite
def items(draw: st.DrawFn, *, largest: int = 14) -> Items:
    n = draw(st.integers(0, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = st.sampled_from([1, 2, 3, 1000])
    y, f, z = (rng.integers(0, draw(levels), n) - 1.0 for _ in range(3))
    weights = rng.uniform(0.1, 3, n) if draw(st.booleans()) else None
    return Items(y, f, z, rng.integers(-1, draw(st.integers(0, 4)), n), weights)


ways = pytest.mark.parametrize("score_ties", ["disagree", "half"])


@ways
@pytest.mark.parametrize("within_queries", [False, True])
@given(found=items())
def test_counts_equal_the_double_loop(found: Items, score_ties: str, within_queries: bool) -> None:
    how = {"within_queries": within_queries, "score_ties": score_ties}
    counted, pairs = found.counted(**how), found.pairs(**how)
    sharing = counted.sharing
    assert sharing.cells == (LARGER, SMALLER, EQUAL)
    assert_allclose([sharing.trials, sharing.hits, counted.score_ties], totals(pairs, 3), atol=1e-9)
    assert_allclose(sharing.own, single_moments(pairs, 3), rtol=1e-9, atol=1e-9)
    assert_allclose(sharing.effective_items, effective_items(pairs, 3), rtol=1e-9, atol=1e-9)
    assert_allclose(sharing.half_hits, 2 * TIE_VALUE[score_ties] * counted.score_ties)


@ways
@given(found=items())
def test_without_queries_pairs_that_share_an_item_are_dependent(
    found: Items, score_ties: str
) -> None:
    how = {"within_queries": False, "score_ties": score_ties}
    sharing, pairs = found.counted(**how).sharing, found.pairs(**how)
    assert_allclose(sharing.dependent, shared_item_moments(pairs, 3), rtol=1e-9, atol=1e-9)
    assert sharing.n_clusters == 0


@ways
@given(found=items())
def test_with_queries_these_are_the_clusters(found: Items, score_ties: str) -> None:
    how = {"within_queries": True, "score_ties": score_ties}
    counted, pairs = found.counted(**how), found.pairs(**how)
    vectors = query_vectors(pairs, found.query.tolist(), 3)
    assert_allclose(counted.sharing.dependent, query_moments(vectors, 3), rtol=1e-9, atol=1e-9)
    assert counted.sharing.n_clusters == len(vectors)


@ways
@given(found=items())
def test_all_pairs_equal_the_same_pairs_judged(found: Items, score_ties: str) -> None:
    found.weights = None
    pairs = found.pairs(within_queries=False, score_ties="half")
    rows = np.array([(p.better, p.worse, p.cell, 2 * p.hit - 1) for p in pairs]).reshape(-1, 4)
    better, worse, cell, order = rows.T.astype(np.int64)
    judged = JudgedPairs(
        better=better,
        worse=worse,
        evaluator=None,
        cell=cell,
        order=order.astype(np.int8),
        trials=np.ones(len(pairs), dtype=np.int64),
        cells=(LARGER, SMALLER, EQUAL),
        n_items=len(found.y),
    )
    expected = judged.shared_counts().sharing_moments(score_ties)
    sharing = found.counted(within_queries=False, score_ties=score_ties).sharing
    for name in ("trials", "hits", "dependent", "own", "half_hits", "effective_items"):
        assert getattr(sharing, name).tolist() == getattr(expected, name).tolist()


@settings(deadline=None)
@given(found=items(largest=150), third=st.booleans())
def test_concordances_equal_the_double_loop(found: Items, third: bool) -> None:
    # Whole weights up to 5, so that sums are exact.
    weight = np.arange(len(found.y)) % 5 + 1.0
    segment = classes(found.query)
    if third:
        segment = joint_classes(segment, classes(found.z))
    first = joint_classes(segment, classes(found.y))
    (sums,) = concordances(segment, first, classes(found.f), [weight])
    columns = (segment.rank, found.y, found.f, weight)
    assert sums.tolist() == plain_concordances(*(column.tolist() for column in columns))


@given(found=items(largest=60))
def test_joint_classes_rank_pairs_of_values(found: Items) -> None:
    both = joint_classes(classes(found.y), classes(found.f))
    pairs = list(zip(found.y.tolist(), found.f.tolist(), strict=True))
    distinct = sorted(set(pairs))
    assert both.rank.tolist() == [distinct.index(pair) for pair in pairs]
    assert [pairs[item] for item in both.order] == sorted(pairs)
    assert both.n_distinct == len(distinct)


@pytest.mark.parametrize("levels", [2, 10, 10**9])
def test_counts_equal_enumeration_of_many_pairs(levels: int) -> None:
    rng = np.random.default_rng(3)
    y, f, z = rng.integers(0, levels, 800), rng.integers(0, 500, 800), rng.integers(18, 90, 800)
    better, worse = np.nonzero(y[:, None] > y[None, :])
    hit = f[better] > f[worse]
    cell = 1 - np.sign(z[better] - z[worse])
    vectors = np.zeros((6, 800))
    for place, code in enumerate((0, 2, 1)):
        chosen = cell == code
        for item in (better, worse):
            vectors[place] += np.bincount(item[chosen], minlength=800)
            vectors[3 + place] += np.bincount(item[chosen & hit], minlength=800)
    sharing = ordered_pairs(y.astype(float), f.astype(float), z.astype(float)).sharing
    assert [*sharing.trials, *sharing.hits] == (vectors.sum(axis=1) / 2).tolist()
    assert (sharing.dependent + sharing.own).tolist() == (vectors @ vectors.T).tolist()


@pytest.mark.parametrize("within_queries", [False, True])
@pytest.mark.parametrize("levels", [2, 10, 10**9])
def test_weighted_sums_equal_enumeration_of_many_pairs(levels: int, within_queries: bool) -> None:
    rng = np.random.default_rng(5)
    n = 400
    y, f, z = (rng.integers(0, top, n) * 1.0 for top in (levels, 200, 70))
    weights, query = rng.exponential(size=n), rng.integers(0, 6, n)
    compared = y[:, None] > y
    if within_queries:
        compared &= query[:, None] == query
    better, worse = np.nonzero(compared)
    weight = weights[better] * weights[worse]
    cell = np.select([z[better] > z[worse], z[better] < z[worse]], [0, 1], 2)
    items, queries = np.zeros((6, n)), np.zeros((6, 6))
    for place, kind in enumerate([weight, weight * (f[better] > f[worse])]):
        for code in range(3):
            amount = kind * (cell == code)
            for item in (better, worse):
                items[3 * place + code] += np.bincount(item, amount, n)
            queries[3 * place + code] = np.bincount(query[better], amount, 6)
    given_queries = query if within_queries else None
    sharing = ordered_pairs(y, f, z, weights=weights, query=given_queries).sharing
    assert_allclose([*sharing.trials, *sharing.hits], items.sum(axis=1) / 2, rtol=1e-9)
    found = sharing.dependent if within_queries else sharing.dependent + sharing.own
    expected = queries if within_queries else items
    assert_allclose(found, expected @ expected.T, rtol=1e-9)
