"""Properties: the disjoint subset shares nothing, is maximal and does not look at agreement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.counts import SharedPairCounts
from comparity.inference.disjoint import _greedy, disjoint_pairs
from tests.calibration import worlds


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_no_item_or_evaluator_occurs_twice_and_no_pair_could_be_added(
    seed: int, with_evaluators: bool
) -> None:
    rng = np.random.default_rng(seed)
    better, worse = worlds.random_pairs(12, 30, rng)
    judge = rng.integers(0, 8, 30) if with_evaluators else None
    kept = _greedy(better, worse, judge, rng.permutation(30)).tolist()
    items = [*better[kept], *worse[kept]]
    judges = [] if judge is None else judge[kept].tolist()
    assert len(items) == len(set(items))
    assert len(judges) == len(set(judges))
    for row in set(range(30)) - set(kept):
        clash = {better[row], worse[row]} & set(items)
        assert clash or (judge is not None and judge[row] in judges)


def test_the_choice_ignores_the_scores() -> None:
    rng = np.random.default_rng(4)
    counts = worlds.People("f2", 300, rng).judge(*worlds.random_pairs(300, 900, rng))
    flipped = SharedPairCounts(replace(counts.pairs, order=(-counts.pairs.order).astype(np.int8)))
    one = disjoint_pairs(counts, rng=np.random.default_rng(1))
    two = disjoint_pairs(flipped, rng=np.random.default_rng(1))
    assert {cell: tally.trials for cell, tally in one.items()} == {
        cell: tally.trials for cell, tally in two.items()
    }


def test_the_rarest_cell_keeps_most_of_its_pairs() -> None:
    rng = np.random.default_rng(4)
    counts = worlds.People("f0", 300, rng).judge(*worlds.random_pairs(300, 900, rng))
    kept = disjoint_pairs(counts, rng=rng)
    assert 100 < kept.n <= 150
    assert min(tally.trials for tally in kept.values()) == pytest.approx(kept.n / 4, abs=30)
