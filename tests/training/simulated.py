"""The simulated ranking task of Narasimhan et al., by the name under which tests know it."""

from __future__ import annotations

from comparity.datasets.simulated import (
    THREE,
    TWO,
    directions,
    mix_populations,
    population,
    ranking,
)

__all__ = ["THREE", "TWO", "directions", "mix_populations", "population", "ranking"]
