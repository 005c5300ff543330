"""Witness of the true rates: numerical integration by mpmath, and the simulation itself."""

import mpmath
import numpy as np
import pytest

from comparity.counts.pairs import Cell
from comparity.datasets.simulated import Hiring, Round

WORLD = Hiring(lean=1.5, n_judges=5, n_leaning=2)
WEIGHTS = [0.3, 0.5, 0.2]
CELLS = [Cell(better, worse) for better in "fm" for worse in "fm"]


def integrated(cell: Cell, *, judged: bool) -> float:
    """Integrate over the difference of quality: WORLD leans by 1.5 in two of five judges."""
    side = (cell.better == "f") - (cell.worse == "f")
    slope, shift = 0.3 + 0.5, 0.5 * -0.5 + 0.2 * -1.0
    error = mpmath.sqrt(2 * ((0.3 * 1.5) ** 2 + (0.5 * 1.0) ** 2 + (0.2 * 1.0) ** 2))

    def first(d: float) -> float:
        density = mpmath.npdf(d, 0, mpmath.sqrt(8))
        if not judged:
            return density if d > 0 else 0
        leaning, even = 1 / (1 + mpmath.exp(1.5 * side - d)), 1 / (1 + mpmath.exp(-d))
        return density * (2 * leaning + 3 * even) / 5

    def both(d: float) -> float:
        return first(d) * mpmath.ncdf((slope * d + shift * side) / error)

    whole = [-40, -10, 0, 10, 40] if judged else [0, 10, 40]
    return float(mpmath.quad(both, whole) / mpmath.quad(first, whole))


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_true_agreement_is_the_integral_over_quality(cell: Cell) -> None:
    judges = WORLD.agreement_with_judges(WEIGHTS, cell)
    assert judges == pytest.approx(integrated(cell, judged=True), abs=1e-9)
    quality = WORLD.agreement_with_quality(WEIGHTS, cell)
    assert quality == pytest.approx(integrated(cell, judged=False), abs=1e-9)


def agreeing(one: Round, pairs: np.ndarray, cell: Cell) -> tuple[float, int]:
    better, worse = pairs.T
    here = (one.sex[better] == cell.better) & (one.sex[worse] == cell.worse)
    score = one.features @ WEIGHTS
    return float((score[better] > score[worse])[here].mean()), int(here.sum())


def test_simulated_agreement_approaches_the_truth() -> None:
    # So many applicants that hardly any is met twice: the binomial error is then right.
    rng = np.random.default_rng(3)
    one = WORLD.draw(n_items=800_000, n_judgments=40_000, rng=rng)
    ordered = np.where(
        (one.quality[one.pairs[:, 0]] > one.quality[one.pairs[:, 1]])[:, None],
        one.pairs,
        one.pairs[:, ::-1],
    )
    for cell in CELLS:
        for pairs, truth in (
            (one.pairs, WORLD.agreement_with_judges(WEIGHTS, cell)),
            (ordered, WORLD.agreement_with_quality(WEIGHTS, cell)),
        ):
            rate, n = agreeing(one, pairs, cell)
            assert rate == pytest.approx(truth, abs=4 * np.sqrt(truth * (1 - truth) / n))


def test_only_the_judges_who_lean_add_to_men() -> None:
    world = Hiring(n_judges=7, n_leaning=3, lean=0.7)
    assert sorted(world.leans.tolist()) == [0.0] * 4 + [0.7] * 3


def test_a_model_without_a_trace_of_sex_has_no_gap_against_quality() -> None:
    gaps = WORLD.gaps_with_quality([2.0, 0, 0])
    assert list(gaps.values()) == pytest.approx([0, 0, 0], abs=1e-12)


def test_the_same_seed_draws_the_same_round_and_nobody_meets_herself() -> None:
    first, second = (
        WORLD.draw(n_items=5, n_judgments=500, rng=np.random.default_rng(9)) for _ in range(2)
    )
    assert np.array_equal(first.features, second.features)
    assert np.array_equal(first.pairs, second.pairs)
    assert np.all(first.pairs[:, 0] != first.pairs[:, 1])
