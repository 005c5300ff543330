"""Fits whose prior leaves a direction of the scores free still converge."""

from __future__ import annotations

import numpy as np
import pytest

from comparity import barp


@pytest.mark.parametrize("sd", [0.5, 1.0, 3.0, 10.0])
def test_a_trusted_evaluator_and_several_parts_of_items_converge(sd: float) -> None:
    """The level of all scores has neither data nor prior; it must not run away."""
    rng = np.random.default_rng(8)
    part = rng.integers(0, 6, 3000)
    pairs = 10 * part[:, None] + np.array([rng.choice(10, 2, replace=False) for _ in part])
    found = barp(
        pairs,
        evaluators=rng.choice(["ann", "bob", "eve"], 3000),
        sensitive_features=np.arange(60) % 2,
        ties=rng.random(3000) < 0.2,
        seats=rng.choice([-1, 1], 3000),
        seat_by_evaluator=True,
        anchor=["ann"],
        score_prior=sd,
    )
    assert found.converged
    # Decisions are made of coins here: nobody has a score or a bias to speak of.
    assert np.abs(found.scores).max() < 1.5
    assert np.abs(found.bias[:, 0]).max() < 0.5
    assert found.bias[0, 0] == 0
