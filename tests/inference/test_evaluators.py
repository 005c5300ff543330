"""Tests of gaps that few evaluators judged, against loops over judgments and signs, and scipy."""

from __future__ import annotations

import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from comparity.counts.clusters import MOST_LISTED, Clustering
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import Cell
from comparity.inference.dyadic import compare_cells
from comparity.inference.evaluators import ClusterGap, Estimated, combined_tail, sign_patterns
from comparity.inference.gap_tests import GapTest
from tests.calibration import worlds
from tests.plain import evaluators as plain

FIRST, SECOND = Cell("1", "0"), Cell("0", "1")


def panel(number: int, seed: int, *, n_items: int = 60, n_pairs: int = 240) -> JudgedPairs:
    rng = np.random.default_rng(seed)
    return worlds.leaning_panel(number, rng, n_items=n_items, n_pairs=n_pairs)


def fresh(counts: JudgedPairs) -> JudgedPairs:
    """The same judgments as if each were about items of its own."""
    n = len(counts)
    return replace(counts, better=np.arange(n), worse=np.arange(n, 2 * n), n_items=2 * n)


def compare(counts: JudgedPairs) -> GapTest:
    return compare_cells(counts.shared_counts().sharing_moments(), FIRST, SECOND, null="")


def residuals(counts: JudgedPairs, hypothesised: float) -> list[float]:
    """Residuals of all judgments about rates that differ by the hypothesised gap."""
    tallies = counts.tallies()
    n, m = tallies[FIRST].trials, tallies[SECOND].trials
    pooled = (tallies[FIRST].hits + tallies[SECOND].hits) / (n + m)
    rates = pooled + hypothesised * m / (n + m), pooled - hypothesised * n / (n + m)
    found = np.zeros(len(counts))
    for sign, cell, rate, size in ((1, FIRST, rates[0], n), (-1, SECOND, rates[1], m)):
        rows = counts.cell == counts.cells.index(cell)
        found[rows] = sign * ((counts.order[rows] > 0) - rate) / size
    return found.tolist()


@pytest.mark.parametrize("number", [3, 5, 6, 7, 13])
@pytest.mark.parametrize("hypothesised", [0.0, 0.25])
@pytest.mark.parametrize("shared", [True, False], ids=["shared items", "fresh pairs"])
def test_the_p_value_is_that_of_loops_over_judgments_and_signs(
    number: int, hypothesised: float, shared: bool
) -> None:
    counts = panel(number, 4) if shared else fresh(panel(number, 4))
    test = compare(counts)
    assert isinstance(test.pivot, ClusterGap)
    assert counts.evaluator is not None
    expected = plain.p_value(
        test.gap,
        hypothesised,
        residuals(counts, hypothesised),
        residuals(counts, test.gap),
        list(zip(counts.better.tolist(), counts.worse.tolist(), strict=True)),
        counts.evaluator.tolist(),
    )
    assert test.pivot.p_value(hypothesised) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("number", "others"), [(3, 5), (7, 20), (13, 14), (8, 70)])
@pytest.mark.parametrize("hypothesised", [0.0, 0.25])
@pytest.mark.parametrize("shared", [True, False], ids=["shared items", "fresh pairs"])
def test_a_second_kind_of_few_clusters_gets_its_own_degrees_of_freedom(
    number: int, others: int, hypothesised: float, shared: bool
) -> None:
    """Very many clusters are part of what is known, like items."""
    rng = np.random.default_rng(others)
    counts = panel(number, 4) if shared else fresh(panel(number, 4))
    prompt = rng.permutation(np.arange(len(counts)) % others)
    kinds = {"prompt": Clustering(prompt, tuple(f"{k:02}" for k in range(others)))}
    # Prompts matter, so that they have a variance of their own.
    lean = np.where(rng.random(others) < 0.5, 1, -1)[prompt]
    side = np.where(counts.cell == counts.cells.index(FIRST), 1, -1)
    order = np.where(rng.random(len(counts)) < 0.5, lean * side, counts.order).astype(np.int8)
    counts = replace(counts, order=order)
    with mock.patch("comparity.counts.judged_pairs.MOST_SUMMED", MOST_LISTED):
        test = compare(replace(counts, clusters=kinds))
    assert isinstance(test.pivot, ClusterGap)
    assert len(test.pivot.further) == (others <= MOST_LISTED)
    assert counts.evaluator is not None
    items = list(zip(counts.better.tolist(), counts.worse.tolist(), strict=True))
    if others > MOST_LISTED:
        # A prompt is one more item that two judgments may share.
        items = [(*pair, f"prompt {k}") for pair, k in zip(items, prompt, strict=True)]
    expected = plain.p_value(
        test.gap,
        hypothesised,
        residuals(counts, hypothesised),
        residuals(counts, test.gap),
        items,
        counts.evaluator.tolist(),
        prompt.tolist() if others <= MOST_LISTED else None,
    )
    assert test.pivot.p_value(hypothesised) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("number", [3, 5, 15])
def test_fresh_pairs_of_equal_shares_are_compared_by_the_t_test(number: int) -> None:
    """Every evaluator judges as many pairs of either cell, so their gaps are a sample."""
    rng = np.random.default_rng(number)
    agrees = rng.random((number, 2, 40)) < 0.6
    n = agrees.size
    counts = JudgedPairs(
        better=np.arange(n),
        worse=np.arange(n, 2 * n),
        evaluator=np.repeat(np.arange(number), 80),
        cell=np.tile(np.repeat([1, 2], 40), number),
        order=np.where(agrees.ravel(), 1, -1).astype(np.int8),
        trials=np.ones(n, dtype=np.int64),
        cells=worlds.CELLS,
        evaluators=tuple(f"e{k:02}" for k in range(number)),
        n_items=2 * n,
    )
    test = compare_cells(counts.shared_counts().sharing_moments(), *worlds.CELLS[1:3], null="")
    gaps = agrees[:, 0].mean(axis=1) - agrees[:, 1].mean(axis=1)
    expected = stats.ttest_1samp(gaps, 0)
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert test.standard_error == pytest.approx(stats.sem(gaps), rel=1e-9)
    low, high = expected.confidence_interval(0.95)
    assert test.interval(0.95)[:2] == pytest.approx((low, high), rel=1e-6)


@pytest.mark.parametrize("number", [3, 5, 6, 9, 12, 20])
@pytest.mark.parametrize("shared", [True, False], ids=["shared items", "fresh pairs"])
def test_p_values_and_intervals_are_of_one_test(number: int, shared: bool) -> None:
    counts = panel(number, 5, n_items=100, n_pairs=600)
    test = compare(counts if shared else fresh(counts))
    pivot = test.pivot
    assert pivot is not None
    for level in (0.8, 0.9):
        low, high, _ = test.interval(level)
        alpha = 1 - level
        assert pivot.p_value(low - 1e-6) <= alpha + 1e-6
        assert pivot.p_value(high + 1e-6) <= alpha + 1e-6
        assert pivot.p_value(low + 1e-6) >= alpha - 1e-6
        assert pivot.p_value(high - 1e-6) >= alpha - 1e-6
        assert pivot.p_below(high + 1e-6) <= alpha / 2 + 1e-6
        assert pivot.p_above(low - 1e-6) <= alpha / 2 + 1e-6
    for gap in (-0.3, 0.0, 0.2):
        one, other = pivot.p_below(gap), pivot.p_above(gap)
        assert one + other == pytest.approx(1)
        assert pivot.p_value(gap) == pytest.approx(2 * min(one, other))
    assert pivot.p_value(test.gap) == pytest.approx(1)


def test_six_evaluators_of_one_mind_have_the_smallest_p_value_their_signs_allow() -> None:
    """Two of 64 patterns of signs are as extreme; the observed one counts half on either side."""
    own = np.array([1.0, 1.01, 0.99, 1.02, 0.98, 1.0])
    assert len(sign_patterns(6)) == 32
    counts = fresh(panel(6, 1, n_pairs=2400))
    assert counts.evaluator is not None
    side = np.where(counts.cell == counts.cells.index(FIRST), 1, -1)
    # Everyone agrees with the model about FIRST more often than about SECOND.
    rng = np.random.default_rng(3)
    agrees = rng.random(len(side)) < 0.5 + 0.3 * side * own[counts.evaluator]
    test = compare(replace(counts, order=np.where(agrees, 1, -1).astype(np.int8)))
    assert test.p_value == pytest.approx(1 / 64, rel=1e-6)
    assert test.method == "dyadic score z, t and signs of evaluators"


@given(
    st.floats(0.01, 30.0),
    st.floats(0.0, 1.0),
    st.integers(2, 30),
)
def test_the_combined_tail_solves_its_equation(distance: float, known: float, dof: int) -> None:
    tail = combined_tail(distance, known, Estimated(1 - known, dof))
    z, t = stats.norm.isf(tail), stats.t.isf(tail, dof)
    assert z * z * known + t * t * (1 - known) == pytest.approx(distance**2, rel=1e-5)


@given(
    st.floats(-3.0, 0.9),
    st.floats(-14.0, 2.0),
    st.lists(st.tuples(st.floats(-14.0, 2.0), st.floats(1.5, 70.0)), min_size=1, max_size=3),
)
@example(1.0, -14.0, [(0.0, 1.5), (-9.1, 70.0)])
@example(1.5, 0.0, [(-8.9, 2.0)])
def test_combined_tails_are_those_that_halving_finds(
    distance: float, known: float, estimated: list[tuple[float, float]]
) -> None:
    """Of all shares of the variance, and of several degrees of freedom."""
    parts = [Estimated(10.0**size, dof) for size, dof in estimated]
    root = math.sqrt(10.0**known + sum(one.variance for one in parts))
    expected = plain.combined_tail(10.0**distance * root, 10.0**known, parts)
    found = combined_tail(10.0**distance * root, 10.0**known, *parts)
    # A share of a billionth is neglected.
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("dof", [2, 5, 11])
@pytest.mark.parametrize("known", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_the_combined_quantiles_keep_the_level_for_normal_sums(dof: int, known: float) -> None:
    """Integrated over the chi-square: at most 0.05, and equal to it at both ends."""
    grid = stats.chi2.ppf((np.arange(20_000) + 0.5) / 20_000, dof) / dof
    z, t = stats.norm.isf(0.025), stats.t.isf(0.025, dof)
    bound = np.sqrt(z * z * known + t * t * (1 - known) * grid)
    level = float(np.mean(2 * stats.norm.sf(bound)))
    assert level <= 0.05 + 1e-4
    if known in (0.0, 1.0):
        assert level == pytest.approx(0.05, abs=1e-4)


def test_few_misses_need_the_binomial_test_too() -> None:
    rng = np.random.default_rng(0)
    counts = worlds.hard_items(minority=0.1, log_odds=2.5, n_items=150, n_pairs=900, rng=rng)
    names = tuple(str(number) for number in range(5))
    known = replace(counts, evaluator=np.arange(len(counts)) % 5, evaluators=names)
    test = compare(known)
    assert test.method == "dyadic score z, binomial variance, t of evaluators"
    alone = compare(counts)
    assert test.pivot is not None
    assert alone.pivot is not None
    for gap in (-0.2, 0.0, 0.1):
        assert test.pivot.p_value(gap) >= alone.pivot.p_value(gap) - 1e-12


def test_cells_that_two_of_many_evaluators_judged_are_not_tested() -> None:
    counts = panel(6, 2, n_pairs=900)
    assert counts.evaluator is not None
    judged = np.isin(counts.cell, [counts.cells.index(FIRST), counts.cells.index(SECOND)])
    few = replace(counts, evaluator=np.where(judged, counts.evaluator % 2, counts.evaluator))
    test = compare(few)
    assert np.isnan(test.p_value)
    assert test.reason == "only 2 evaluators judged such pairs, 3 are needed"


def test_very_many_evaluators_are_not_listed() -> None:
    few, many = (panel(n, 3, n_pairs=900).shared_counts() for n in (MOST_LISTED, MOST_LISTED + 9))
    assert few.sharing_moments().few is not None
    assert many.sharing_moments().few is None
    assert few.sharing_moments(evaluators=False).few is None
