"""How often separation by information is rejected where it holds.

Groups have labels of different spread and scores add the same noise to both, so that separation
holds exactly although neither label nor score alone is independent of the group.
"""

from __future__ import annotations

import numpy as np
import pytest

from comparity.separation.information import information_separation

LEVEL = 0.1
PERMUTATIONS = 19
REPETITIONS = 300


def rejections(repetitions: int, decimals: int, curves: str) -> float:
    rejected = 0
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, 2, 200)
        y = (rng.normal(size=200) * np.where(group == 1, 0.5, 1.0)).round(decimals)
        found = information_separation(
            y,
            y + rng.normal(size=200),
            sensitive_features=group,
            curves=curves,
            permutations=PERMUTATIONS,
            rng=rng,
        )
        rejected += found.p_value <= LEVEL
    return rejected / repetitions


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [0, 12])
@pytest.mark.parametrize("curves", ["linear", "spline"])
def test_the_test_rejects_as_rarely_as_promised(decimals: int, curves: str) -> None:
    n = REPETITIONS
    # Exact for few labels; among neighbours a little more is allowed for.
    allowed = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / n) + (0.02 if decimals else 0.0)
    assert rejections(n, decimals, curves) <= allowed
