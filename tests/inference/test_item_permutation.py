"""Permuted items against their definition, every way to deal out groups enumerated."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, skew

from comparity.comparative.families import deal_judgments
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import Cell
from comparity.inference.agreement_tests import (
    compare_shared,
    family_of_cells,
    moments_of,
    sides_of,
)
from comparity.inference.dealt_pairs import DealtPairs, Part, compare_means, permute
from comparity.inference.gap_tests import GapTest
from comparity.inference.item_permutation import (
    FEW_ITEMS,
    METHOD,
    DrawnReference,
    _items_of_a_group,
    _weight_of_skewness,
    check_by_permutation,
)
from tests.plain.item_permutation import size_of_gap, size_of_means

CELLS = tuple(Cell(better, worse) for better in "ab" for worse in "ab")
CONTRASTS = family_of_cells("ab").tested
GAPS = [compare_means(sides_of(contrast)) for contrast in CONTRASTS]
ROWS = [tuple(Cell(group, other) for other in "ab") for group in "ab"]
COLUMNS = [tuple(Cell(other, group) for other in "ab") for group in "ab"]
POOLED = [
    (Part(1.0, ROWS[0]), Part(-1.0, ROWS[1])),
    tuple(Part(k, side[g]) for g, k in ((0, 0.5), (1, -0.5)) for side in (ROWS, COLUMNS)),
]
"""Pairs with a better item of either group, and symmetric accuracies, where a cell counts twice."""


def judged(n_items: int, n_pairs: int, seed: int, *, ties: bool = True) -> JudgedPairs:
    """Draw judgments of items in two groups, some pairs judged twice or both ways."""
    rng = np.random.default_rng(seed)
    group = np.arange(n_items) % 2
    better = rng.integers(0, n_items, n_pairs)
    worse = (better + rng.integers(1, n_items, n_pairs)) % n_items
    return JudgedPairs(
        better=better,
        worse=worse,
        evaluator=None,
        cell=2 * group[better] + group[worse],
        order=rng.choice([-1, 0, 1, 1, 1] if ties else [-1, 1, 1, 1], n_pairs).astype(np.int8),
        trials=np.ones(n_pairs, dtype=np.int64),
        cells=CELLS,
        n_items=n_items,
    )


def listed(pairs: DealtPairs) -> list[tuple[int, int, float]]:
    columns = (pairs.better.tolist(), pairs.worse.tolist(), pairs.outcome.tolist())
    return list(zip(*columns, strict=True))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["disagree", "half"]))
def test_permuted_statistics_are_those_of_all_ways_to_deal_out_groups(seed: int, ties: str) -> None:
    pairs = deal_judgments(judged(6, 30, seed), ties)
    drawn, _ = permute(pairs, GAPS + POOLED, 400)
    for gap, sizes in zip(GAPS + POOLED, drawn, strict=True):
        possible = []
        for chosen in combinations(range(6), 3):
            group = ["a" if item in chosen else "b" for item in range(6)]
            possible.append(size_of_gap(listed(pairs), group, [1.0] * 6, gap))
        # 400 draws of 20 ways leave none out (probability 20 * 0.95^400 < 1e-7).
        seen, known = (np.unique(np.minimum(one, 1e6).round(6)) for one in (sizes, possible))
        np.testing.assert_allclose(seen, known)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weight", [[1.0] * 7, [0.2, 0.2, 0.9, 0.7, 0.4, 0.4, 0.4]])
def test_weights_go_with_groups_and_strata_are_kept(weight: list[float], ties: bool) -> None:
    label = np.array([1, 1, 1, 0, 0, 0, 0])
    score = np.random.default_rng(3).normal(size=7)
    better, worse = np.nonzero(label[:, None] > label)
    pairs = DealtPairs(
        better=better,
        worse=worse,
        outcome=np.where(ties & (worse == 4), 0.5, score[better] > score[worse]),
        trials=np.ones(len(better)),
        group=np.array([0, 0, 1, 0, 1, 1, 1]),
        weight=np.array(weight),
        stratum=label,
        groups=("a", "b"),
    )
    possible = set()
    for one in permutations(range(3)):
        for two in permutations(range(3, 7)):
            source = [*one, *two]
            names, held = ["ab"[code] for code in pairs.group[source]], pairs.weight[source]
            size = size_of_gap(listed(pairs), names, held.tolist(), GAPS[0])
            possible.add(round(min(size, 1e6), 6))
    (sizes,), _ = permute(pairs, GAPS[:1], 500)
    found = np.unique(np.minimum(sizes, 1e6).round(6))
    np.testing.assert_allclose(found, sorted(possible), atol=1e-6)


WITHIN = [compare_means(((Cell("a", "a"),), (Cell("b", "b"),)))]


def within_groups(seed: int, weight: list[float]) -> DealtPairs:
    """Draw judgments of every two items of one group, three of "a" and four of "b"."""
    pairs = [*combinations(range(3), 2), *combinations(range(3, 7), 2)] * 3
    rng = np.random.default_rng(seed)
    better, worse = rng.permuted(pairs, axis=1).T
    return DealtPairs(
        better=better,
        worse=worse,
        outcome=(rng.random(len(pairs)) < 0.6).astype(float),
        trials=np.ones(len(pairs)),
        group=np.repeat([0, 1], [3, 4]),
        weight=np.array(weight),
        stratum=np.zeros(7, dtype=np.int64),
        groups=("a", "b"),
    )


@pytest.mark.parametrize("weight", [[1.0] * 7, [0.2, 0.2, 0.9, 0.7, 0.4, 0.4, 0.4]])
def test_items_that_met_their_own_group_alone_are_dealt_out_by_their_means(
    weight: list[float],
) -> None:
    pairs = within_groups(4, weight)
    names = ["ab"[code] for code in pairs.group]
    possible = []
    for source in permutations(range(7)):
        dealt = [names[item] for item in source], [weight[item] for item in source]
        size = size_of_means(listed(pairs), names, dealt[0], weight, dealt[1])
        possible.append(round(size, 6))
    (sizes,), _ = permute(pairs, WITHIN, 2000)
    found = set(sizes.round(6).tolist())
    assert found <= set(possible)
    # A share of dealings that is drawn 2,000 times has a standard error of at most 0.012.
    assert np.median(sizes) == pytest.approx(np.median(possible), rel=0.1)
    assert np.mean(sizes > 1) == pytest.approx(np.mean(np.array(possible) > 1), abs=0.05)


def test_the_error_of_rates_within_groups_is_twice_that_of_means_of_items() -> None:
    pairs = within_groups(5, [1.0] * 7)
    _, (error,) = permute(pairs, WITHIN, 1)
    squares = []
    for code in range(2):
        rows = pairs.group[pairs.better] == code
        items = np.concatenate([pairs.better[rows], pairs.worse[rows]])
        outcome = np.tile(pairs.outcome[rows], 2)
        means = [outcome[items == item].mean() for item in np.unique(items)]
        squares.append(np.var(means) / len(means))
    assert error == pytest.approx(2 * np.sqrt(sum(squares)))


def test_an_error_that_knows_of_evaluators_is_kept() -> None:
    pairs = lose_all(judged(40, 3000, 3, ties=False), (0, 1, 2))
    counts = pairs.shared_counts()
    usual, sharing = compare_shared(counts, CONTRASTS), moments_of(counts, "disagree")
    wider = [
        replace(one, standard_error=2 * one.standard_error, shared_variance=4 * one.shared_variance)
        for one in usual
    ]
    deal = partial(deal_judgments, pairs, "disagree")
    one = check_by_permutation(wider, GAPS, sharing, deal)
    two = check_by_permutation(wider, GAPS, sharing, deal, only_items=False)
    checked = [place for place, test in enumerate(two) if METHOD in test.method]
    assert checked
    assert all(two[place].p_value > one[place].p_value for place in checked)


def test_the_observed_error_is_that_of_the_definition() -> None:
    pairs = deal_judgments(judged(30, 200, 8), "half")
    _, errors = permute(pairs, GAPS, 1)
    group = ["ab"[code] for code in pairs.group]
    tests = compare_shared(judged(30, 200, 8).shared_counts(), CONTRASTS, score_ties="half")
    for gap, error, test in zip(GAPS, errors, tests, strict=True):
        size = size_of_gap(listed(pairs), group, [1.0] * 30, gap)
        assert abs(test.gap) / error == pytest.approx(size)


def test_the_order_of_items_changes_nothing() -> None:
    pairs = judged(40, 300, 1)
    places = np.random.default_rng(2).permutation(40)
    moved = replace(pairs, better=places[pairs.better], worse=places[pairs.worse])
    one, two = (permute(deal_judgments(each, "half"), GAPS, 99)[0] for each in (pairs, moved))
    assert one == pytest.approx(two)


def lose_all(pairs: JudgedPairs, items: tuple[int, ...]) -> JudgedPairs:
    """Let a model lose all pairs with some items, and win most of the others."""
    rng = np.random.default_rng(0)
    lost = np.isin(pairs.better, items) | np.isin(pairs.worse, items)
    order = np.where(lost | (rng.random(len(pairs.order)) < 0.05), -1, 1)
    return replace(pairs, order=order.astype(np.int8))


def check(pairs: JudgedPairs) -> tuple[list[GapTest], list[GapTest]]:
    """Return the usual tests of judgments, and what a permutation leaves of them."""
    counts = pairs.shared_counts()
    usual, sharing = compare_shared(counts, CONTRASTS), moments_of(counts, "disagree")
    deal = partial(deal_judgments, pairs, "disagree")
    return usual, check_by_permutation(usual, GAPS, sharing, deal)


def test_skewness_is_that_of_the_sums_of_items() -> None:
    pairs = lose_all(judged(40, 400, 3, ties=False), (0, 1))
    right = (pairs.order > 0).astype(float)
    residual = right - right.mean()
    sums = [sum(residual[(pairs.better == item) | (pairs.worse == item)]) for item in range(40)]
    assert deal_judgments(pairs, "disagree").skewness() == pytest.approx(skew(sums))
    assert skew(sums) < -2


def test_items_that_are_not_skewed_are_not_permuted() -> None:
    usual, checked = check(judged(40, 400, 3, ties=False))
    assert checked == usual


def test_skewness_of_few_judgments_on_each_item_is_left_to_the_usual_test() -> None:
    """With two judgments of an item chance accounts for most of the variance."""
    usual, checked = check(lose_all(judged(90, 90, 4, ties=False), (0,)))
    assert checked == usual


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_leaves_out_zero_exactly_where_equality_is_rejected(seed: int) -> None:
    usual, checked = check(lose_all(judged(40, 400, seed, ties=False), (0, 1)))
    both = list(zip(checked, usual, strict=True))
    # What one item loses as the better and as the worse one cancels in pairs across groups.
    permuted = [(test, before) for test, before in both if test.method.endswith(METHOD)]
    assert {"agree(a > a) = agree(b > b)"} <= {test.null for test, _ in permuted}
    for test, before in permuted:
        assert "exchangeable" in test.reason
        assert test.p_value >= before.p_value
        for alpha in (0.9, 0.5, 0.2, 0.1, 0.05, 0.01, 0.001):
            low, high, _ = test.interval(1 - alpha)
            assert (not low <= 0 <= high) == (test.p_value <= alpha)


def test_groups_of_many_items_are_not_permuted() -> None:
    pairs = judged(2 * FEW_ITEMS + 60, 4000, 0)
    counts = pairs.shared_counts()
    tests = compare_shared(counts, CONTRASTS)
    sharing = moments_of(counts, "disagree")
    assert check_by_permutation(tests, GAPS, sharing, lambda: None) == tests


def test_beyond_the_draws_the_tail_is_that_of_a_normal_distribution() -> None:
    """The sizes of 1,999 normal quantiles have the normal's p values."""
    sizes = np.sort(norm.isf((np.arange(1999) + 0.5) / 1999 / 2))
    drawn = DrawnReference(sizes=sizes)
    for size in (0.5, 1.96, 3.0, 4.0):
        assert 2 * drawn.tail(size) == pytest.approx(2 * norm.sf(size), rel=0.2)
    for alpha in (0.5, 0.05, 0.005, 1e-5):
        assert drawn.quantile(alpha) == pytest.approx(norm.isf(alpha / 2), rel=0.02)


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_skewness_of_items_weighs_by_their_part_of_the_variance(share: float) -> None:
    """Edgeworth's term of a one-sided level, of items that make up a share of the variance."""
    counts = judged(30, 200, 8).shared_counts()
    test, sharing = compare_shared(counts, CONTRASTS)[0], moments_of(counts, "disagree")
    test = replace(test, shared_variance=share * test.standard_error**2)
    z, n = norm.isf(0.05), _items_of_a_group(test, sharing, GAPS[0])
    expected = (2 * z**2 + 1) * norm.pdf(z) * share**1.5 / (6 * np.sqrt(n))
    assert _weight_of_skewness(test, sharing, GAPS[0]) == pytest.approx(expected)
