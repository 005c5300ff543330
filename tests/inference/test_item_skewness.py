"""Errors that grow with the gap, against their definition, binomial theory and tilted items."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from comparity import comparative_separation
from comparity.counts import judged_pairs
from comparity.counts.judged_pairs import JudgedPairs, item_residuals
from comparity.counts.pairs import Cell
from comparity.inference.agreement_tests import (
    SkewedGap,
    allow_for_skewness,
    compare_shared,
    family_of_cells,
    items_to_be_normal,
    sides_of,
)
from comparity.inference.pivots import DyadicGap
from tests.plain.item_skewness import third_cumulant

CELLS = tuple(Cell(better, worse) for better in "ab" for worse in "ab")
FAMILY = family_of_cells("ab")
CONTRASTS = (*FAMILY.tested, *FAMILY.further)
OUTCOME = {"disagree": (0.0, 0.0, 1.0), "half": (0.0, 0.5, 1.0)}


def judged(n_items: int, n_pairs: int, seed: int) -> JudgedPairs:
    """Draw judgments of items in two groups; some pairs are judged twice, or both ways."""
    rng = np.random.default_rng(seed)
    group = np.arange(n_items) % 2
    better = rng.integers(0, n_items, n_pairs)
    worse = (better + rng.integers(1, n_items, n_pairs)) % n_items
    return JudgedPairs(
        better=better,
        worse=worse,
        evaluator=None,
        cell=2 * group[better] + group[worse],
        order=rng.choice([-1, 0, 1, 1, 1], n_pairs).astype(np.int8),
        trials=np.ones(n_pairs, dtype=np.int64),
        cells=CELLS,
        n_items=n_items,
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["disagree", "half"]), st.booleans())
def test_third_cumulants_are_those_of_single_judgments_added_up(
    seed: int, ties: str, sparse: bool
) -> None:
    pairs = judged(7, 40, seed)
    assume(len(set(pairs.cell.tolist())) == len(CELLS))
    hits = [OUTCOME[ties][order + 1] for order in pairs.order.tolist()]
    judgments = list(zip(pairs.better.tolist(), pairs.worse.tolist(), hits, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judged_pairs, "FEW_CELLS", 0 if sparse else 16)
        residuals = item_residuals(pairs, np.ones(40), ties)
    one_and_two = (CELLS[:1], CELLS[1:3])
    for first, second in (*map(sides_of, CONTRASTS), one_and_two):
        counts = {cell: 1 / len(first) for cell in first}
        counts |= {cell: -1 / len(second) for cell in second}
        found = residuals.third_cumulant(first, second)
        expected = third_cumulant(judgments, "abababa", counts)
        assert found == pytest.approx(expected, abs=1e-15, rel=1e-9)


def test_pairs_that_share_nothing_have_the_third_cumulants_of_binomial_shares() -> None:
    shares = ((42, 50), (61, 80))
    order = np.concatenate([np.repeat([1, -1], [hits, n - hits]) for hits, n in shares])
    pairs = JudgedPairs(
        better=np.arange(130),
        worse=np.arange(130, 260),
        evaluator=None,
        cell=np.repeat([0, 3], [50, 80]),
        order=order.astype(np.int8),
        trials=np.ones(130, dtype=np.int64),
        cells=CELLS,
        n_items=260,
    )
    expected = []
    for hits, n in shares:
        variance, skewness = binom.stats(n, hits / n, moments="vs")
        expected.append(skewness * variance**1.5 / n**3)
    residuals = item_residuals(pairs, np.ones(130))
    found = residuals.third_cumulant(CELLS[:1], CELLS[3:])
    assert found == pytest.approx(expected[0] - expected[1], rel=1e-12)
    assert residuals.third_cumulant(CELLS[:1], [Cell("b", "c")]) == 0


def test_the_variance_of_tilted_items_grows_by_the_third_cumulant_over_the_second() -> None:
    """Witness: items drawn with probabilities proportional to exp(theta e), theta near zero."""
    sums = np.random.default_rng(20260131).exponential(size=200)
    sums -= sums.mean()

    def moments(theta: float) -> tuple[float, float]:
        chance = np.exp(theta * sums)
        chance /= chance.sum()
        mean = chance @ sums
        return len(sums) * mean, len(sums) * (chance @ (sums - mean) ** 2)

    (low, less), (high, more) = moments(-1e-5), moments(1e-5)
    slope = (more - less) / (high - low)
    assert slope == pytest.approx((sums**3).sum() / (sums**2).sum(), rel=1e-6)


def skewed_tests(seed: int) -> list[tuple[DyadicGap, SkewedGap]]:
    """Return pivots before and after, of items of which one in ten is hopeless."""
    rng = np.random.default_rng(seed)
    better, worse = np.triu_indices(60, 1)
    group, bad = np.arange(60) % 2, rng.random(60) < 0.1
    right = (rng.random(len(better)) < 0.85) & ~bad[better] & ~bad[worse]
    pairs = JudgedPairs(
        better=better,
        worse=worse,
        evaluator=None,
        cell=2 * group[better] + group[worse],
        order=np.where(right, 1, -1).astype(np.int8),
        trials=np.ones(len(better), dtype=np.int64),
        cells=CELLS,
        n_items=60,
    )
    usual = compare_shared(pairs.shared_counts(), CONTRASTS)
    residuals = item_residuals(pairs, np.ones(len(better)))
    after = [
        allow_for_skewness(test, residuals.third_cumulant(*sides_of(contrast)))
        for test, contrast in zip(usual, CONTRASTS, strict=True)
    ]
    both = [(one.pivot, two.pivot) for one, two in zip(usual, after, strict=True)]
    return [(one, two) for one, two in both if isinstance(two, SkewedGap)]  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(1, 5))
def test_only_gaps_beyond_the_observed_one_have_a_larger_error(seed: int) -> None:
    tests = skewed_tests(seed)
    assert len(tests) == len(CONTRASTS)
    for usual, skewed in tests:
        for gap in np.linspace(-1, 1, 41) * abs(usual.gap):
            assert skewed.variance_at(gap) == usual.variance_at(gap)
        towards = math.copysign(abs(usual.gap) + 0.02, skewed.growth)
        assert skewed.variance_at(-towards) == usual.variance_at(-towards)
        line = usual.variance_at(usual.gap) + skewed.growth * (towards - usual.gap)
        assert skewed.variance_at(towards) == max(usual.variance_at(towards), line)
    assert any(
        two.variance_at(gap) > 1.1 * one.variance_at(gap)
        for one, two in tests
        for gap in (-0.3, 0.3)
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_intervals_end_where_the_test_rejects(seed: int, level: float) -> None:
    for usual, skewed in skewed_tests(seed):
        low, high, _ = skewed.interval(level)
        for end, outwards in ((low, -1e-6), (high, 1e-6)):
            assert skewed.p_value(end) == pytest.approx(1 - level, abs=1e-6)
            assert skewed.p_value(end + outwards) < 1 - level
        before = usual.interval(level)
        assert low <= before.low + 1e-12
        assert high >= before.high - 1e-12


def test_one_hopeless_item_leaves_the_number_of_others_to_chance() -> None:
    """Of 125 items one was lost; the gap is then the margin with three of them, in Poisson numbers.

    The variance at the margin is that of as many such items as fill it.
    """
    first, second = np.triu_indices(125, 1)
    first, second = np.concatenate([first, first + 125]), np.concatenate([second, second + 125])
    rng = np.random.default_rng(3)
    right = (rng.random(len(first)) < 0.99) & (first != 125)
    audit = comparative_separation(
        np.where(right, [second, first], [first, second]).T,
        scores=np.arange(250.0),
        sensitive_features=np.repeat(["a", "b"], 125),
        hypotheses="within",
    )
    (test,) = audit.tests
    one = 2 / 125
    poisson = (0.05 - test.gap) / math.sqrt(one * 0.05)
    assert audit.finding == "undecided"
    assert test.equivalence_p == pytest.approx(norm.sf(poisson), rel=0.05)


def test_few_items_are_those_whose_skewness_could_move_the_level() -> None:
    """Edgeworth's term of a Poisson number with mean m: (2 z^2 + 1) phi(z) / (6 sqrt m)."""
    z = norm.isf(0.05)
    for margin in (0.05, 0.2):
        mean = items_to_be_normal(margin) * margin / 2
        assert (2 * z**2 + 1) / 6 * norm.pdf(z) / math.sqrt(mean) == pytest.approx(0.015)


def test_an_interval_ends_at_a_gap_of_one_however_the_error_grows() -> None:
    _, skewed = skewed_tests(1)[0]
    for growth in (1e3, -1e3):
        low, high, _ = replace(skewed, growth=growth).interval(0.95)
        assert (high if growth > 0 else -low) == 1.0
        assert low >= -1
        assert high <= 1
