"""Properties: the disjoint pairs share nothing, are maximal and ignore how pairs were judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.counts.judged_pairs import JudgedPairs, merge_pairs
from comparity.counts.judged_weights import _rows_by_groups, _take_in_turns, disjoint_pairs
from comparity.inference.agreement_tests import compare_fresh, contrasts_of_groups
from comparity.results.judging import judge, overall_finding
from comparity.results.result import VIOLATED
from tests.calibration import worlds


def judged(seed: int, *, evaluators: bool) -> JudgedPairs:
    rng = np.random.default_rng(seed)
    better, worse = worlds.random_pairs(12, 30, rng)
    group = rng.integers(0, 2, 12)
    return JudgedPairs(
        better=better,
        worse=worse,
        evaluator=rng.integers(0, 8, 30) if evaluators else None,
        cell=2 * group[better] + group[worse],
        order=rng.choice([-1, 1], 30).astype(np.int8),
        trials=rng.integers(1, 4, 30),
        cells=worlds.CELLS,
        evaluators=tuple("abcdefgh") if evaluators else (),
        n_items=12,
    )


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_no_item_or_evaluator_occurs_twice_and_no_pair_could_be_added(
    seed: int, evaluators: bool
) -> None:
    pairs = judged(seed, evaluators=evaluators)
    kept = _take_in_turns(pairs, _rows_by_groups(pairs, np.random.default_rng(seed))).tolist()
    items = [*pairs.better[kept], *pairs.worse[kept]]
    judges = [] if pairs.evaluator is None else pairs.evaluator[kept].tolist()
    assert len(items) == len(set(items))
    assert len(judges) == len(set(judges))
    for row in set(range(30)) - set(kept):
        clash = {pairs.better[row], pairs.worse[row]} & set(items)
        assert clash or (pairs.evaluator is not None and pairs.evaluator[row] in judges)


def test_the_choice_ignores_the_scores() -> None:
    rng = np.random.default_rng(4)
    counts = worlds.People("f2", 300, rng).judge(*worlds.random_pairs(300, 900, rng))
    flipped = replace(counts, order=(-counts.order).astype(np.int8))
    one = disjoint_pairs(counts, rng=np.random.default_rng(1))
    two = disjoint_pairs(flipped, rng=np.random.default_rng(1))
    assert {cell: tally.trials for cell, tally in one.items()} == {
        cell: tally.trials for cell, tally in two.items()
    }


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_choice_ignores_the_order_of_rows(seed: int, evaluators: bool) -> None:
    """Engines that work in parallel return the same rows in another order each time."""
    pairs = judged(seed, evaluators=evaluators)
    distinct = merge_pairs([pairs])
    order = np.random.default_rng(seed).permutation(len(distinct))
    moved = {
        name: column[order]
        for name in ("better", "worse", "evaluator", "cell", "order", "trials")
        if (column := getattr(distinct, name)) is not None
    }
    one = disjoint_pairs(distinct, rng=np.random.default_rng(1))
    two = disjoint_pairs(replace(distinct, **moved), rng=np.random.default_rng(1))
    assert dict(one) == dict(two)


def voted(votes: int, rng: np.random.Generator) -> JudgedPairs:
    """300 pairs of fresh items; every vote agrees with the model with probability 0.7."""
    group = rng.integers(0, 2, 600)
    preferred, other = np.repeat(np.arange(300), votes), np.repeat(np.arange(300, 600), votes)
    agrees = rng.random(300 * votes) < 0.7
    better, worse = np.where(agrees, preferred, other), np.where(agrees, other, preferred)
    return JudgedPairs(
        better=better,
        worse=worse,
        evaluator=None,
        cell=2 * group[better] + group[worse],
        order=np.where(agrees, 1, -1).astype(np.int8),
        trials=np.ones(len(better), dtype=np.int64),
        cells=worlds.CELLS,
        n_items=600,
    )


@pytest.mark.long
@pytest.mark.parametrize("votes", [1, 3])
def test_pairs_judged_both_ways_raise_no_false_alarms(votes: int) -> None:
    """Choosing judgments instead of pairs gave 0.97 with three votes."""
    rng = np.random.default_rng(6)
    alarms = []
    for _ in range(150):
        counts = disjoint_pairs(voted(votes, rng), rng=rng)
        tests = compare_fresh(counts, contrasts_of_groups("01"))
        judgements = judge(tests, alpha=0.05, margin=0.05, n=1, n_items=1)
        alarms.append(overall_finding(judgements) == VIOLATED)
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def test_rare_groups_keep_most_of_their_pairs() -> None:
    rng = np.random.default_rng(4)
    counts = worlds.People("f0", 300, rng).judge(*worlds.random_pairs(300, 900, rng))
    kept = disjoint_pairs(counts, rng=rng)
    assert 100 < kept.n <= 150
    within = [tally.trials for cell, tally in kept.items() if cell.better == cell.worse]
    assert min(within) > 20


def test_where_evaluators_run_out_no_cell_is_left_empty() -> None:
    """Twenty judges of 600 pairs; taking all pairs of the rarest groups first left one cell."""
    rng = np.random.default_rng(8)
    better, worse = worlds.random_pairs(400, 600, rng)
    group = (rng.random(400) < 0.6).astype(np.int64)
    pairs = JudgedPairs(
        better=better,
        worse=worse,
        evaluator=rng.integers(0, 20, 600),
        cell=2 * group[better] + group[worse],
        order=np.ones(600, dtype=np.int8),
        trials=np.ones(600, dtype=np.int64),
        cells=worlds.CELLS,
        evaluators=tuple(map(str, range(20))),
        n_items=400,
    )
    kept = disjoint_pairs(pairs, rng=rng)
    within = [tally.trials for cell, tally in kept.items() if cell.better == cell.worse]
    across = [tally.trials for cell, tally in kept.items() if cell.better != cell.worse]
    assert kept.n == 20
    assert within == [5, 5]
    assert sum(across) == 10
