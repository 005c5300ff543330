"""Calibration of rankings whose comparisons share prompts that nobody named, and then somebody did.

Twelve models answer prompts, and each prompt suits some of them better than others. Five judges
compare two answers to a prompt twelve times each. The truth is what a panel of very many prompts
gives. A share over panels has the standard error that the panels show.
"""

from __future__ import annotations

import numpy as np
import pytest

from comparity import barp, bradley_terry

MODELS, JUDGES, EACH = 12, 5, 12
WORTH = np.linspace(-1.5, 1.5, MODELS)
MAKER = np.arange(MODELS) % 2


def draw(
    rng: np.random.Generator, prompts: int, taste: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    prompt = np.repeat(np.arange(prompts), JUDGES * EACH)
    judge = np.tile(np.repeat(np.arange(JUDGES), EACH), prompts)
    worth = WORTH + rng.normal(0, taste, (prompts, MODELS))
    one = rng.integers(0, MODELS, len(prompt))
    two = (one + rng.integers(1, MODELS, len(prompt))) % MODELS
    margin = worth[prompt, one] - worth[prompt, two]
    won = rng.random(len(prompt)) < 1 / (1 + np.exp(-margin))
    return np.where(won[:, None], np.c_[one, two], np.c_[two, one]), judge, prompt


def coverage(rng: np.random.Generator, panels: int, *, clustered: bool) -> np.ndarray:
    """Return the share of scores, and of differences between judges, that intervals cover."""
    truth = bradley_terry(draw(rng, 5_000)[0], prior=10.0).scores
    found = []
    for _ in range(panels):
        pairs, judge, prompt = draw(rng, 60)
        shared = prompt if clustered else None
        scores = bradley_terry(pairs, n_items=MODELS, prior=10.0, cluster=shared)
        low, high = scores.score_intervals().T
        fit = barp(pairs, evaluators=judge, sensitive_features=MAKER, cluster=shared)
        near = np.abs(fit.centred_bias) <= 1.96 * fit.centred_standard_errors
        found.append([((low <= truth) & (truth <= high)).mean(), near.mean()])
    return np.array(found)


@pytest.mark.parametrize("panels", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_errors_that_know_of_prompts_cover(panels: int, rng: np.random.Generator) -> None:
    found = coverage(rng, panels, clustered=True)
    error = np.std(found, axis=0, ddof=1) / np.sqrt(panels)
    assert (found.mean(axis=0) >= 0.93 - 3 * error).all()
    assert (found.mean(axis=0) <= 0.97 + 3 * error).all()


def test_errors_that_do_not_are_too_small(rng: np.random.Generator) -> None:
    """This is why: scores were covered in 0.78 of 200 panels."""
    assert coverage(rng, 30, clustered=False)[:, 0].mean() < 0.88
