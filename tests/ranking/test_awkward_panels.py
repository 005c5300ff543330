"""Panels of a few items, evaluators and comparisons: finite numbers, or an error with words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from comparity import barp
from comparity.errors import ComparityError
from comparity.ranking.likelihood.objective import conjugate_gradients


def awkward(seed: int) -> dict[str, Any]:
    """Return a panel that may be disconnected, one-sided, nearly empty, or all of these."""
    rng = np.random.default_rng(seed)
    n, m, size = (int(rng.integers(*ends)) for ends in ((2, 16), (1, 7), (1, 80)))
    k = int(rng.integers(2, min(n, 4) + 1))
    first = rng.integers(0, n, size)
    judge = rng.integers(0, m, size)
    anchors = ["equal group means", "zero mean bias", [int(judge[0])]]
    return {
        "comparisons": np.column_stack([first, (first + rng.integers(1, n, size)) % n]),
        "evaluators": judge,
        "sensitive_features": np.append(np.arange(k), rng.integers(0, k, n - k)),
        "ties": rng.random(size) < 0.3 if seed % 3 == 0 else None,
        "seats": rng.choice([-1, 0, 1], size) if seed % 4 == 0 else None,
        "anchor": anchors[seed % 3],
        "bias_prior": "marginal likelihood" if seed % 5 == 0 else 10.0,
        "corrected": seed % 7 > 0,
    }


@pytest.mark.parametrize("way", ["inverted", "in a band", "in passes"])
@pytest.mark.parametrize("seeds", [range(0, 30), range(30, 60), range(60, 90)], ids=str)
def test_awkward_panels_have_finite_numbers_or_named_errors(
    seeds: range, way: str, errors_by: Callable[[str], None]
) -> None:
    errors_by(way)
    fitted = 0
    for seed in seeds:
        try:
            found = barp(**awkward(seed))
        except ComparityError:
            continue
        fitted += 1
        assert np.isfinite(found.scores).all(), seed
        assert np.isfinite(found.bias).all(), seed
        assert np.isfinite(found.gradient_norm), seed
        known = np.setdiff1d(np.arange(len(found.contrasts)), found.diagnosis.unmet)
        # Passes may not tell an error; then they say so.
        said = way == "in passes" and any("have no error" in note for note in found.notes)
        assert said or np.isfinite(found.bias_standard_errors[:, known]).all(), seed
        # Where it ended is the optimum, or the result says that it is not.
        assert found.gradient_norm < 1e-6 or not found.converged, seed
    assert fitted > 20


class Flat:
    """A function whose curvature is rounding."""

    def evaluate(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.0, np.zeros_like(point)

    def product(self, vector: np.ndarray) -> np.ndarray:
        return 1e-320 * vector

    def precondition(self, vector: np.ndarray) -> np.ndarray:
        return vector


def test_directions_about_which_nothing_is_told_lead_nowhere() -> None:
    solved, spent = conjugate_gradients(Flat(), np.ones(3), relative=1e-3)
    assert solved.tolist() == [0, 0, 0]
    assert spent == 1


def test_own_sharpness_of_awkward_panels_is_shown_with_intervals_that_may_have_no_end() -> None:
    unbounded = 0
    for seed in range(40):
        try:
            found = barp(**{**awkward(seed), "corrected": True}, sharpness="own")
        except ComparityError:
            continue
        ends = found.cautious_intervals()
        unbounded += bool(np.isinf(ends).any())
        assert ("inf]" in str(found) or "[-inf" in str(found)) == np.isinf(ends).any(), seed
        assert found.plot() is not None
        assert np.isinf(found.bias_frame()["cautious_high"]).any() == np.isinf(ends[..., 1]).any()
    assert unbounded > 2


def test_few_judgments_leave_no_bias_and_no_sharpness_without_an_error() -> None:
    """Ten items in three by two groups, 18 judgments by four: next to nothing is known."""
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(10, 2, replace=False) for _ in range(18)])
    groups = {"town": np.array(list("xyz"))[np.arange(10) % 3], "sex": np.arange(10) // 5}
    judges = rng.integers(0, 4, 18)
    found = barp(pairs, evaluators=judges, sensitive_features=groups, sharpness="own")
    assert found.sharpness is not None
    assert (found.bias_standard_errors > 0.5).all()
    assert (found.sharpness.log_standard_errors > 0.1).all()
