"""Witness of the closed forms: numerical integration by mpmath, and the simulation itself."""

import mpmath
import numpy as np
import pytest

from comparity.counts import Cell
from comparity.datasets.panel import Panel, PanelModel, simulate_panel

MODEL = PanelModel(bias=0.4, score_noise=0.7, judge_noise=0.5, lean=0.6, tie_width=0.3)
CELLS = [Cell(better, worse) for better in "fm" for worse in "fm"]


def integrated(model: PanelModel, cell: Cell) -> float:
    """Integrate over the true difference of quality, given which judge and model err alone."""
    side = (cell.better == "f") - (cell.worse == "f")
    spread = mpmath.sqrt(model.judge_noise**2 + (model.lean * side) ** 2)

    def first(d: float) -> float:
        return mpmath.npdf(d, 0, mpmath.sqrt(2)) * mpmath.ncdf((d - model.tie_width) / spread)

    def both(d: float) -> float:
        error = model.score_noise * mpmath.sqrt(2)
        return first(d) * mpmath.ncdf((d - model.bias * side) / error)

    whole = [-mpmath.inf, 0, mpmath.inf]
    return float(mpmath.quad(both, whole) / mpmath.quad(first, whole))


def agreement(panel: Panel, cell: Cell) -> tuple[float, int]:
    position = {name: place for place, name in enumerate(panel.items["item"])}
    left, right = (
        np.array([position[name] for name in panel.judgments[side]]) for side in ("left", "right")
    )
    won, tied = panel.judgments["winner"] == "left", panel.judgments["winner"] == "tie"
    better, worse = np.where(won, left, right), np.where(won, right, left)
    sex, score = panel.items["sex"], panel.items["model"]
    here = (sex[better] == cell.better) & (sex[worse] == cell.worse) & ~tied
    return float(np.mean(score[better][here] > score[worse][here])), int(here.sum())


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_true_agreement_is_the_integral_over_quality(cell: Cell) -> None:
    assert MODEL.agreement(cell) == pytest.approx(integrated(MODEL, cell), abs=1e-6)


def test_simulated_agreement_approaches_the_truth() -> None:
    rng = np.random.default_rng(3)
    # Fresh pairs and a judge for each judgment, nearly: the binomial error is then right.
    size = 40_000
    panel = simulate_panel(
        {"model": MODEL}, n_items=20 * size, n_judges=size, n_judgments=size, rng=rng
    )
    for cell in CELLS:
        rate, n = agreement(panel, cell)
        truth = MODEL.agreement(cell)
        assert rate == pytest.approx(truth, abs=4 * np.sqrt(truth * (1 - truth) / n))


@pytest.mark.parametrize("group", ["f", "m"])
def test_simulated_error_rates_approach_the_truth(group: str) -> None:
    rng = np.random.default_rng(4)
    panel = simulate_panel({"model": MODEL}, n_items=100_000, n_judges=1, n_judgments=1, rng=rng)
    here = panel.decisions["sex"] == group
    hired, decided = panel.decisions["hired"][here], panel.decisions["model"][here]
    truths = {1: MODEL.true_positive_rate(group), 0: MODEL.false_positive_rate(group)}
    for label, truth in truths.items():
        n = np.sum(hired == label)
        error = np.sqrt(truth * (1 - truth) / n)
        assert decided[hired == label].mean() == pytest.approx(truth, abs=4 * error)


def test_a_model_without_bias_has_no_gap_whatever_the_judges_lean() -> None:
    even = PanelModel(lean=2.0, tie_width=0.5)
    assert list(even.gaps().values()) == pytest.approx([0, 0, 0, 0], abs=1e-9)


def test_the_same_seed_draws_the_same_panel_and_nobody_meets_herself() -> None:
    sizes = {"n_items": 5, "n_judges": 3, "n_judgments": 500}
    first, second = (
        simulate_panel({"model": MODEL}, rng=np.random.default_rng(9), **sizes) for _ in range(2)
    )
    assert all(np.array_equal(first.items[name], second.items[name]) for name in first.items)
    assert np.all(first.judgments["left"] != first.judgments["right"])
