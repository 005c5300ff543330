"""Booklets: what `comparity pairs` draws, with attention pairs mixed in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.collect.pairing import add_attention, draw_booklets, wave_sizes
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
