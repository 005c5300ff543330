"""Definition: the cluster kernel and the sharing sums equal their plain twins."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from comparity.counting._clusters import moments_by_key, moments_by_number
from comparity.counting.sharing import independent_judgments, shared_judgments
from comparity.counts import Cell, JudgedPairs, PairCounts, SharedPairCounts, Tally
from tests.plain.clusters import cluster_moments as plain_cluster_moments
from tests.plain.dyadic import variance as plain_variance

CELLS = tuple(Cell(better, worse) for better in "ab" for worse in "ab")


@st.composite
def judgments(draw: st.DrawFn, *, evaluators: bool) -> SharedPairCounts:
    """Few items, so that pairs repeat, in both directions and by several evaluators."""
    n_items, n = draw(st.integers(2, 6)), draw(st.integers(1, 25))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    group, score = rng.integers(0, 2, n_items), rng.integers(0, 3, n_items)
    better = rng.integers(0, n_items, n)
    worse = (better + rng.integers(1, n_items, n)) % n_items
    return SharedPairCounts(
        JudgedPairs(
            better=better,
            worse=worse,
            evaluator=rng.integers(0, 3, n) if evaluators else None,
            cell=2 * group[better] + group[worse],
            order=np.sign(score[better] - score[worse]).astype(np.int8),
            trials=rng.integers(1, 4, n),
            cells=CELLS,
            evaluators=("x", "y", "z") if evaluators else (),
            n_items=n_items,
        )
    )


@st.composite
def clustered_rows(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    rows = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5)), min_size=1, max_size=20))
    cell = np.array([row[0] for row in rows])
    trials = np.array([row[1] for row in rows], dtype=float)
    keys = draw(arrays(np.int64, len(rows), elements=st.integers(0, 6)))
    return keys, cell, trials, trials / 2


@given(clustered_rows())
def test_moments_by_key_equal_the_loop(rows: tuple[np.ndarray, ...]) -> None:
    moments, _ = moments_by_key(*rows, 3)
    assert moments.tolist() == plain_cluster_moments(*(column.tolist() for column in rows), 3)


@pytest.mark.parametrize("dense_bytes", [0, 2**30])
@given(rows=clustered_rows())
def test_moments_by_number_equal_the_loop(dense_bytes: int, rows: tuple[np.ndarray, ...]) -> None:
    keys, *columns = rows
    with mock.patch("comparity.counting._clusters.DENSE_BYTES", dense_bytes):
        moments, clusters = moments_by_number((keys, keys[::-1].copy()), 7, *columns, 3)
    expected = plain_cluster_moments(
        [*keys.tolist(), *keys[::-1].tolist()], *(column.tolist() for column in columns), 3
    )
    assert moments.tolist() == expected
    touched = {(key, cell) for key, cell in zip(keys, columns[0], strict=True)}
    touched |= {(key, cell) for key, cell in zip(keys[::-1], columns[0], strict=True)}
    assert clusters.sum() == len(touched)


def test_keys_too_large_to_pack_give_the_same_sums() -> None:
    rows = (np.array([0, 1, 0, 1]), np.ones(4), np.array([1.0, 0.0, 1.0, 1.0]), 2)
    small, _ = moments_by_key(np.array([2, 1, 2, 0]), *rows)
    large, _ = moments_by_key(np.array([2**62, 5, 2**62, 0]), *rows)
    assert large.tolist() == small.tolist()


@pytest.mark.parametrize("evaluators", [False, True])
@pytest.mark.parametrize("score_ties", ["disagree", "half"])
@settings(max_examples=60)
@given(data=st.data(), weights=arrays(float, 8, elements=st.floats(-1, 1)))
def test_variance_equals_the_double_sum_over_judgments(
    evaluators: bool, score_ties: str, data: st.DataObject, weights: np.ndarray
) -> None:
    counts = data.draw(judgments(evaluators=evaluators))
    pairs = counts.pairs
    sharing = shared_judgments(counts, score_ties=score_ties)
    value = np.where(pairs.order > 0, 1.0, 0.0)
    if score_ties == "half":
        value[pairs.order == 0] = 0.5
    residual = weights[pairs.cell] + weights[4 + pairs.cell] * value
    every = np.repeat(np.arange(len(pairs)), pairs.trials)
    expected = plain_variance(
        residual[every].tolist(),
        [(int(pairs.better[row]), int(pairs.worse[row])) for row in every],
        pairs.evaluator[every].tolist() if pairs.evaluator is not None else None,
    )
    assert weights @ sharing.dependent @ weights == pytest.approx(expected, abs=1e-9)
    own = float((residual[every] ** 2).sum())
    assert weights @ sharing.own @ weights == pytest.approx(own, abs=1e-9)


@given(data=st.data())
def test_the_bound_is_never_below_the_variance_or_zero(data: st.DataObject) -> None:
    counts = data.draw(judgments(evaluators=True))
    sharing = shared_judgments(counts)
    weights = np.random.default_rng(len(counts.pairs)).normal(size=8)
    bound = weights @ sharing.bound @ weights
    assert bound >= -1e-9


def test_distinct_items_are_counted_by_cell() -> None:
    pairs = JudgedPairs(
        better=np.array([0, 0, 2]),
        worse=np.array([1, 2, 3]),
        evaluator=None,
        cell=np.array([1, 1, 2]),
        order=np.ones(3, dtype=np.int8),
        trials=np.array([5, 1, 1]),
        cells=CELLS,
        n_items=4,
    )
    assert shared_judgments(SharedPairCounts(pairs)).n_items.tolist() == [0, 3, 2, 0]


def test_independent_judgments_have_the_binomial_variance() -> None:
    counts = PairCounts({CELLS[1]: Tally(30, 40)})
    sharing = independent_judgments(counts)
    weights = np.array([-0.75 / 40, 1 / 40])  # residuals at the observed rate
    assert weights @ sharing.dependent @ weights == pytest.approx(0.75 * 0.25 / 40)
