"""Permuted items against their definition, every way to deal out groups enumerated."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import TIE_VALUE, Cell
from comparity.inference.agreement import compare_shared, family_of_cells, moments_of, sides_of
from comparity.inference.dealt_pairs import DealtPairs, permute
from comparity.inference.item_permutation import (
    FEW_ITEMS,
    METHOD,
    DrawnReference,
    check_by_permutation,
)
from tests.plain.item_permutation import size_of_gap

CELLS = tuple(Cell(better, worse) for better in "ab" for worse in "ab")
CONTRASTS = family_of_cells("ab").tested
SIDES = [sides_of(contrast) for contrast in CONTRASTS]


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


def deal_judgments(pairs: JudgedPairs, score_ties: str) -> DealtPairs:
    """Return judged pairs, whose items may all change groups with each other."""
    groups = tuple(sorted({group for cell in pairs.cells for group in cell}))
    sides = np.array([[groups.index(one) for one in cell] for cell in pairs.cells])
    used, place = np.unique(np.concatenate([pairs.better, pairs.worse]), return_inverse=True)
    group = np.zeros(len(used), dtype=np.int64)
    group[place] = sides[pairs.cell].T.ravel()
    better, worse = place.reshape(2, -1)
    return DealtPairs(
        better=better,
        worse=worse,
        outcome=np.array([0.0, TIE_VALUE[score_ties], 1.0])[pairs.order + 1],
        trials=pairs.trials.astype(np.float64),
        group=group,
        weight=np.ones(len(used)),
        stratum=np.zeros(len(used), dtype=np.int64),
        groups=groups,
    )


def listed(pairs: DealtPairs) -> list[tuple[int, int, float]]:
    columns = (pairs.better.tolist(), pairs.worse.tolist(), pairs.outcome.tolist())
    return list(zip(*columns, strict=True))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["disagree", "half"]))
def test_permuted_statistics_are_those_of_all_ways_to_deal_out_groups(seed: int, ties: str) -> None:
    pairs = deal_judgments(judged(6, 30, seed), ties)
    drawn, _ = permute(pairs, SIDES, 400)
    for sides, sizes in zip(SIDES, drawn, strict=True):
        possible = []
        for chosen in combinations(range(6), 3):
            group = ["a" if item in chosen else "b" for item in range(6)]
            possible.append(size_of_gap(listed(pairs), group, [1.0] * 6, *sides))
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
            size = size_of_gap(listed(pairs), names, held.tolist(), *SIDES[0])
            possible.add(round(min(size, 1e6), 6))
    (sizes,), _ = permute(pairs, SIDES[:1], 500)
    found = np.unique(np.minimum(sizes, 1e6).round(6))
    np.testing.assert_allclose(found, sorted(possible), atol=1e-6)


def test_the_observed_error_is_that_of_the_definition() -> None:
    pairs = deal_judgments(judged(30, 200, 8), "half")
    _, errors = permute(pairs, SIDES, 1)
    group = ["ab"[code] for code in pairs.group]
    tests = compare_shared(judged(30, 200, 8).shared_counts(), CONTRASTS, score_ties="half")
    for sides, error, test in zip(SIDES, errors, tests, strict=True):
        size = size_of_gap(listed(pairs), group, [1.0] * 30, *sides)
        assert abs(test.gap) / error == pytest.approx(size)


def test_the_order_of_items_changes_nothing() -> None:
    pairs = judged(40, 300, 1)
    places = np.random.default_rng(2).permutation(40)
    moved = replace(pairs, better=places[pairs.better], worse=places[pairs.worse])
    one, two = (permute(deal_judgments(each, "half"), SIDES, 99)[0] for each in (pairs, moved))
    assert one == pytest.approx(two)


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_leaves_out_zero_exactly_where_equality_is_rejected(seed: int) -> None:
    pairs = judged(40, 200, seed, ties=False)
    counts = pairs.shared_counts()
    usual, sharing = compare_shared(counts, CONTRASTS), moments_of(counts, "disagree")
    checked = check_by_permutation(usual, SIDES, sharing, lambda: deal_judgments(pairs, "disagree"))
    for test, before in zip(checked, usual, strict=True):
        assert test.method.endswith(METHOD)
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
    assert check_by_permutation(tests, SIDES, sharing, lambda: None) == tests


def test_beyond_the_draws_the_tail_is_that_of_a_normal_distribution() -> None:
    """The sizes of 1,999 normal quantiles have the normal's p values."""
    sizes = np.sort(norm.isf((np.arange(1999) + 0.5) / 1999 / 2))
    drawn = DrawnReference(sizes=sizes)
    for size in (0.5, 1.96, 3.0, 4.0):
        assert 2 * drawn.tail(size) == pytest.approx(2 * norm.sf(size), rel=0.2)
    for alpha in (0.5, 0.05, 0.005, 1e-5):
        assert drawn.quantile(alpha) == pytest.approx(norm.isf(alpha / 2), rel=0.02)
