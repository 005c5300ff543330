"""Booklets: what `comparity pairs` draws, with attention pairs mixed in."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.collect.pairing import PlannedPair, add_attention, draw_booklets, wave_sizes
from comparity.collect.study import StudyDescription
from comparity.pairs.choose import choose_pairs
from tests.collect.studies import small_study

GROUPS = {"sex": ["f", "m"] * 15}


def test_booklets_are_the_pairs_that_the_library_chooses() -> None:
    study = small_study(judges=4, each=10)
    rng = np.random.default_rng(5)
    seed = int(np.random.default_rng(5).integers(2**32))
    booklets = draw_booklets(study, 4, n_items=30, sensitive=GROUPS, scores=None, given=[], rng=rng)
    chosen = choose_pairs(30, sensitive_features=GROUPS, budget=40, judges=4, seed=seed)
    drawn = [(one.left, one.right, one.probability) for booklet in booklets for one in booklet]
    assert drawn == [(row["left"], row["right"], row["probability"]) for row in chosen.rows()]
    swapped = [one.repeats is not None for booklet in booklets for one in booklet]
    assert swapped == chosen.swapped.tolist()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_attention_pairs_move_nothing_else(share: float) -> None:
    study = small_study(judges=1, each=30, swapped_share=0.3, attention=2, attention_share=share)
    rng = np.random.default_rng(1)
    plain = small_study(judges=1, each=30, swapped_share=0.3)
    (booklet,) = draw_booklets(
        plain, 1, n_items=30, sensitive=GROUPS, scores=None, given=[], rng=rng
    )
    mixed = add_attention(booklet, study, ("left", "right"), rng)
    rest = [one for one in mixed if one.kind == "pair"]
    assert len(mixed) - len(rest) == round(share * 30)
    assert [(one.left, one.right) for one in rest] == [(one.left, one.right) for one in booklet]
    for one in rest:
        if one.repeats is not None:
            first = mixed[one.repeats]
            assert (first.left, first.right) == (one.right, one.left)


@given(st.integers(1, 500), st.integers(1, 60))
def test_waves_hold_every_booklet_once(judges: int, waves: int) -> None:
    sizes = wave_sizes(judges, waves)
    assert sum(sizes) == judges
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == min(waves, judges)


def test_two_judges_see_the_shared_pairs_and_nobody_sees_one_twice() -> None:
    study = small_study(judges=6, each=20, swapped_share=0.1, shared_share=0.25)
    booklets = draw_for_six(study)
    pairs = [Counter(frozenset((one.left, one.right)) for one in book) for book in booklets]
    for book, mine in zip(booklets, pairs, strict=True):
        assert {*mine.values()} == {1, 2}
        twice = {frozenset((one.left, one.right)) for one in book if one.repeats is not None}
        assert {pair for pair, n in mine.items() if n == 2} == twice
        for one in book:
            if one.repeats is not None:
                first = book[one.repeats]
                assert (first.left, first.right) == (one.right, one.left)
    shared = [len({*one} & {*two}) for one, two in zip(pairs[::2], pairs[1::2], strict=True)]
    assert shared == [5, 5, 5]
    alone = small_study(judges=6, each=20, swapped_share=0.1)
    kinds, before = (
        [Counter(one.stratum for one in book) for book in found]
        for found in (booklets, draw_for_six(alone))
    )
    assert kinds == before


def draw_for_six(study: StudyDescription) -> list[list[PlannedPair]]:
    rng = np.random.default_rng(5)
    return draw_booklets(study, 6, n_items=30, sensitive=GROUPS, scores=None, given=[], rng=rng)
