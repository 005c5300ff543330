"""Panels of judges who lean, and a model that knows the truth up to noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Panel:
    comparisons: NDArray[np.int64]
    evaluators: NDArray[np.int64]
    group: NDArray[np.str_]
    quality: NDArray[np.float64]
    model: NDArray[np.float64]


def leaning_panel(
    rng: np.random.Generator,
    *,
    n_items: int = 200,
    n_evaluators: int = 20,
    n_comparisons: int = 4000,
    lean: float = 1.0,
    spread: float = 1.0,
    noise: float = 1.0,
    rarely: float = 1.0,
    gap: float = 0.0,
    sharpness: float = 0.0,
    trusted: int = 0,
) -> Panel:
    """Compare items drawn alike from both groups; the model is quality plus noise in both.

    `spread` is the standard deviation of quality in group b over that in group a, `rarely` how
    often items of group b are shown compared with those of group a. `gap` is how much better group
    b is. Log sharpness has the SD `sharpness`; the first few evaluators, who are `trusted`, do not
    lean and are sharper than the others by one of that SD.
    """
    in_b = rng.random(n_items) < 0.4
    quality = rng.normal(0, 1.5, n_items) * np.where(in_b, spread, 1.0) + gap * in_b
    bias = rng.normal(lean, 0.5, n_evaluators)
    bias[:trusted] = 0
    decided = np.ones(n_evaluators)
    if sharpness:
        decided = np.exp(sharpness * rng.normal(size=n_evaluators))
        decided[:trusted] = np.exp(sharpness)
    chance = np.where(in_b, rarely, 1.0)
    first = rng.choice(n_items, n_comparisons, p=chance / chance.sum())
    second = rng.choice(n_items, n_comparisons, p=chance / chance.sum())
    second = np.where(first == second, (second + 1) % n_items, second)
    judge = rng.integers(0, n_evaluators, n_comparisons)
    side = in_b[first].astype(float) - in_b[second]
    odds = decided[judge] * (quality[first] - quality[second] + bias[judge] * side)
    wins = rng.random(n_comparisons) < 1 / (1 + np.exp(-odds))
    better, worse = np.where(wins, first, second), np.where(wins, second, first)
    return Panel(
        comparisons=np.column_stack([better, worse]),
        evaluators=judge,
        group=np.where(in_b, "b", "a"),
        quality=quality,
        model=quality + rng.normal(0, noise, n_items),
    )
