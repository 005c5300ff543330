"""Witness for the number of pairs per point: noncentralities by numerical integration."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import pytest
from scipy.integrate import quad
from scipy.stats import halfnorm, norm

EXAMPLE = Path(__file__).parents[2] / "examples" / "pairs_or_points.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pairs_or_points", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def agreement(noise: float, shift: float) -> float:
    """Integrate over the label difference of a pair, which is half normal."""
    spread = math.sqrt(2)

    def integrand(difference: float) -> float:
        wins = norm.cdf((difference + shift) / (noise * spread))
        return float(halfnorm.pdf(difference, scale=spread) * wins)

    return quad(integrand, 0, 20)[0]


@pytest.mark.parametrize("noise", [0.25, 0.5, 1.0, 2.0])
def test_pairs_per_point_equate_the_two_noncentralities(example: ModuleType, noise: float) -> None:
    shift = 1e-3
    gap = agreement(noise, shift) - agreement(noise, -shift)
    p = agreement(noise, 0.0)
    of_a_pair = gap**2 / (p * (1 - p) * (4 + 4))
    of_a_point = shift**2 / (4 * noise**2)
    assert example.pairs_per_point(noise) == pytest.approx(of_a_point / of_a_pair, rel=1e-4)


def test_a_useless_model_needs_half_pi_pairs_per_point(example: ModuleType) -> None:
    assert example.pairs_per_point(1e6) == pytest.approx(math.pi / 2, rel=1e-4)


def test_the_example_prints_every_design(
    example: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "NOISES", (1.0,))
    example.main(2)
    printed = capsys.readouterr().out
    for design in ("n points", "n fresh pairs", "4n pairs of n items", "all pairs of n items"):
        assert design in printed
