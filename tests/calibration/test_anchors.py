"""Calibration of anchors between the exact ones: coverage of biases, scores and mean biases.

A share over panels has the standard error that the panels show. `half` of the evaluators lean in
some worlds, and there false discoveries are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from comparity import barp

Rng = np.random.Generator
Draw = Callable[[Rng, int], np.ndarray]


def exponential(rng: Rng, n: int) -> np.ndarray:
    return rng.exponential(1.5, n)


def uniform(rng: Rng, n: int) -> np.ndarray:
    return rng.uniform(-2.6, 2.6, n)


def normal(rng: Rng, n: int) -> np.ndarray:
    return rng.normal(0, 1.5, n)


@dataclass(frozen=True, kw_only=True)
class World:
    """What is assumed, and a panel of which it is true."""

    anchor: Any
    evaluators: int = 10
    judgments: int = 200
    items: int = 60
    lean: float = 0.6
    half: bool = False
    mean_sd: float | None = None
    gap_sd: float | None = None
    gap: float = 0.0
    scores: Draw = normal


WORLDS = {
    "samples": World(anchor="samples"),
    "samples, four evaluators": World(
        anchor="samples", evaluators=4, judgments=300, items=20, lean=1.0
    ),
    "samples, half lean": World(anchor="samples", evaluators=20, items=20, lean=1.5, half=True),
    "samples, nobody leans": World(anchor="samples", items=20, lean=0.0, half=True),
    "stated mean": World(anchor={"zero mean bias": 0.5}, mean_sd=0.5, gap=1.0),
    "stated mean and gap": World(
        anchor={"zero mean bias": 0.5, "equal group means": 0.8}, mean_sd=0.5, gap_sd=0.8
    ),
    "aligned, exponential": World(
        anchor="aligned distributions", scores=exponential, items=30, mean_sd=1.0
    ),
    "aligned, uniform": World(anchor="aligned distributions", scores=uniform, mean_sd=1.0),
    "aligned, nobody leans": World(
        anchor="aligned distributions", scores=exponential, items=20, lean=0.0, half=True
    ),
}


def draw(rng: Rng, world: World) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Return what barp takes, biases, and scores about their mean."""
    n, m, total = world.items, world.evaluators, world.evaluators * world.judgments
    second = np.arange(n) < 0.4 * n
    bias = rng.normal(0, world.lean, m) * (np.arange(m) % 2 if world.half else 1)
    if world.mean_sd is not None:
        bias += rng.normal(0, world.mean_sd) - bias.mean()
    scores = world.scores(rng, n) + world.gap * second
    if world.gap_sd is not None:
        means = np.where(second, scores[second].mean(), scores[~second].mean())
        scores += rng.normal(0, world.gap_sd) * second - means
    left = rng.integers(0, n, total)
    right = (left + rng.integers(1, n, total)) % n
    judge = np.arange(total) % m
    lead = scores[left] - scores[right] + bias[judge] * (second[left] * 1.0 - second[right])
    won = rng.random(total) < 1 / (1 + np.exp(-lead))
    pairs = np.where(won[:, None], np.column_stack([left, right]), np.column_stack([right, left]))
    given = {"comparisons": pairs, "evaluators": judge, "sensitive_features": second}
    return given, bias, scores - scores.mean()


def rates(rng: Rng, world: World) -> tuple[float, float, float]:
    """Return shares of biases and scores covered, and of false ones among those found."""
    given, bias, scores = draw(rng, world)
    fit = barp(**given, reference=False, anchor=world.anchor, sharpness="equal")
    (low, high), (least, most) = fit.bias_intervals()[:, 0].T, fit.score_intervals().T
    found = fit.q[:, 0] <= 0.05
    false = (found & (bias == 0)).sum() / max(1, found.sum())
    covered = float(((low <= bias) & (bias <= high)).mean())
    return covered, float(((least <= scores) & (scores <= most)).mean()), float(false)


def check_world(name: str, panels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = np.array([rates(rng, WORLDS[name]) for _ in range(panels)])
    biases, scores, false = every.mean(axis=0)
    errors = every.std(axis=0) / np.sqrt(panels)
    assert biases > 0.94 - 3 * errors[0]
    assert 0.94 - 3 * errors[1] < scores < 0.96 + 3 * errors[1]
    assert false <= 0.05 + 3 * max(errors[2], np.sqrt(0.05 * 0.95 / panels))


@pytest.mark.parametrize("name", ["samples, nobody leans", "stated mean", "aligned, exponential"])
def test_some_panels_are_covered(name: str) -> None:
    check_world(name, panels=20, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_biases_and_scores_are_covered(name: str) -> None:
    check_world(name, panels=400, seed=2)


@pytest.mark.slow
def test_aligned_distributions_tell_more_where_scores_are_skewed() -> None:
    rng, off = np.random.default_rng(3), []
    for _ in range(150):
        given, bias, _ = draw(rng, WORLDS["aligned, exponential"])
        fits = (
            barp(**given, reference=False, anchor=anchor, sharpness="equal")
            for anchor in ("aligned distributions", "equal group means")
        )
        off.append([fit.mean_bias[0] - bias.mean() for fit in fits])
    aligned, means = np.sqrt((np.array(off) ** 2).mean(axis=0))
    assert aligned < 0.85 * means
