"""Sums over comparisons in few passes, against matrices of evaluators by items in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from comparity.ranking.likelihood.exact import invert_schur
from comparity.ranking.likelihood.one_pass import _add_common, _add_opponents, _add_ties, _sums

N_ITEMS, N_EVALUATORS, N_CONTRASTS, N = 9, 3, 2, 60
RNG = np.random.default_rng(3)
BETTER = RNG.integers(0, N_ITEMS, N).astype(np.int32)
WORSE = ((BETTER + RNG.integers(1, N_ITEMS, N)) % N_ITEMS).astype(np.int32)
EVALUATOR = np.sort(RNG.integers(0, N_EVALUATORS, N)).astype(np.int32)
CONTRAST = RNG.integers(-1, 2, (N, N_CONTRASTS)).astype(np.int8)
WEIGHT = RNG.uniform(0.1, 0.25, N)
COLUMNS = (BETTER, WORSE, EVALUATOR, CONTRAST, WEIGHT)
KNOWN = np.array([np.cov(RNG.normal(size=(N_CONTRASTS, 9))) for _ in range(N_EVALUATORS)])
SIGNS = np.zeros((N, N_ITEMS))
SIGNS[np.arange(N), BETTER], SIGNS[np.arange(N), WORSE] = 1.0, -1.0
MINE = np.eye(N_EVALUATORS)[EVALUATOR]
# What each evaluator tells of each item and contrast, and of the curvature of each item.
TOLD = np.einsum("pk,p,pi,pc->kic", MINE, WEIGHT, SIGNS, CONTRAST)
HELD = np.einsum("pk,p,pi->ki", MINE, WEIGHT, SIGNS**2)
WHOLE = HELD.sum(axis=0) + 0.3


def test_what_all_tell_of_an_item_is_in_common() -> None:
    common = np.zeros((N_ITEMS, N_CONTRASTS))
    _add_common(BETTER, WORSE, CONTRAST, WEIGHT, common)
    assert common == pytest.approx(TOLD.sum(axis=0))


def test_sums_over_the_items_of_an_evaluator() -> None:
    common = TOLD.sum(axis=0)
    squares, mixed, alone, explained = _sums(COLUMNS, KNOWN, WHOLE, common)
    assert squares == pytest.approx(np.einsum("kic,kid->kcd", TOLD, TOLD / WHOLE[:, None]))
    assert mixed == pytest.approx(np.einsum("kic,id->kcd", TOLD, common / WHOLE[:, None]))
    assert alone == pytest.approx((HELD / WHOLE).max(axis=1))
    assert explained == pytest.approx(np.einsum("kic,kcd,kid->i", TOLD, KNOWN, TOLD))


@pytest.mark.parametrize("contrasts", [0, N_CONTRASTS])
def test_opponents_take_the_square_of_what_a_bias_leaves_of_a_comparison(contrasts: int) -> None:
    known = KNOWN / 50
    items = np.column_stack([1 / WHOLE, np.zeros(N_ITEMS)])
    _add_opponents(*COLUMNS, known, items, (0,) * contrasts)
    lean = np.einsum("pc,pcd,pd->p", CONTRAST, known[EVALUATOR], CONTRAST) * bool(contrasts)
    squared = (WEIGHT * (1 - WEIGHT * lean)) ** 2
    expected = np.bincount(BETTER, squared / WHOLE[WORSE], N_ITEMS)
    expected += np.bincount(WORSE, squared / WHOLE[BETTER], N_ITEMS)
    assert items[:, 1] == pytest.approx(expected)


def test_comparisons_between_the_items_of_an_evaluator_tie_them() -> None:
    """The inverse of the items that an evaluator tied, less that of their diagonal."""
    part = RNG.normal(0, 0.2, (N_EVALUATORS, N_CONTRASTS, N_CONTRASTS))
    common, lost = TOLD.sum(axis=0), np.zeros_like(part)
    tied, longest = np.array([True, False, True]), int(MINE.sum(axis=0).max())
    _add_ties(*COLUMNS, np.column_stack([WHOLE, common]), part, tied, longest, lost)
    for k in (0, 2):
        touched = HELD[k] > 0
        own = (TOLD[k] - common @ part[k])[touched]
        joined = np.einsum("p,pi,pj->ij", WEIGHT * MINE[:, k], SIGNS, SIGNS)
        matrix = np.diag(WHOLE) + joined - np.diag(np.diagonal(joined))
        inverse = np.linalg.inv(matrix[np.ix_(touched, touched)])
        expected = own.T @ (inverse - np.diag(1 / WHOLE[touched])) @ own
        # Steps end where the next would add a hundredth to the whole form.
        assert lost[k] == pytest.approx(expected, abs=0.01 * np.abs(own.T @ inverse @ own).max())
    assert not lost[1].any()


@pytest.mark.parametrize("size", [1, 3])
def test_blocks_lose_a_part_and_are_inverted(size: int) -> None:
    blocks = np.array([np.cov(RNG.normal(size=(size, 12))).reshape(size, size) for _ in range(4)])
    lost = blocks * 0.4
    assert invert_schur(blocks, lost, 1e-3) == pytest.approx(np.linalg.inv(blocks - lost))
    # Never all of it: a thousandth is left.
    assert invert_schur(blocks, 2 * blocks, 1e-3) == pytest.approx(1e3 * np.linalg.inv(blocks))
