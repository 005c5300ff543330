"""Who is tested for equal sharpness."""

from __future__ import annotations

import numpy as np
import pytest

from comparity import barp
from comparity.datasets.simulated_panels import simulate_comparisons


@pytest.mark.parametrize("evaluators", [1, 2])
def test_it_takes_two_evaluators_to_differ_in_sharpness(evaluators: int) -> None:
    world = simulate_comparisons(
        rng=np.random.default_rng(3),
        groups={"sex": 6},
        n_items=12,
        n_evaluators=evaluators,
        pairs=200,
    )
    known = {"evaluators": world.evaluators, "sensitive_features": world.groups}
    found = barp(world.comparisons, **known, sharpness="equal")
    assert (found.equal_sharpness is not None) == (evaluators == 2)
