"""Sums and mean slopes over several blocks of comparisons, against functions of numpy and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, log_expit

from comparity.ranking.likelihood.kernels import BLOCK, LONG, add_fused, mean_pulls, mean_slopes

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
SHARES = WEIGHTS / WEIGHTS.sum()
N = BLOCK + 7
RNG = np.random.default_rng(5)
MARGIN, OWN = RNG.normal(0, 2, (2, N))
SPREAD, TIED = RNG.uniform(-1.5, 2.5, N), RNG.random(N) < 0.3


def lean(margin: np.ndarray, tie: float) -> np.ndarray:
    """Return the slope of ``log(exp(m / 2) + exp(-m / 2) + tie)``."""
    return np.sinh(margin / 2) / (2 * np.cosh(margin / 2) + tie)


@pytest.mark.parametrize("tie", [0.0, 0.7])
def test_every_slope_is_bent_by_its_own_spread(tie: float) -> None:
    at_nodes = MARGIN[:, None] + NODES * np.sqrt(np.abs(SPREAD))[:, None]
    expected = lean(at_nodes, tie) @ SHARES - lean(MARGIN, tie)
    found = mean_slopes(MARGIN, SPREAD, tie, NODES, SHARES)
    assert found == pytest.approx(np.where(SPREAD < 0, -expected, expected), abs=1e-12)


@pytest.mark.parametrize("tie", [0.0, 0.7])
def test_every_pull_of_sharpness_has_its_own_spread_and_outcome(tie: float) -> None:
    spread = np.abs(SPREAD)
    moved = NODES * np.sqrt(spread)[:, None]
    at_nodes, led = MARGIN[:, None] + moved, OWN[:, None] + moved
    width = 2 * np.cosh(at_nodes / 2) + tie
    curvature = (2 + tie * np.cosh(at_nodes / 2)) / (2 * width**2)
    tied = TIED if tie else np.empty(0, dtype=bool)
    rule = NODES, SHARES
    pull, weight = mean_pulls(MARGIN, OWN, spread, tied, tie, rule, rule, 1.0)
    outcome = np.where(TIED & (tie > 0), 0.0, OWN / 2)
    assert pull == pytest.approx((led * lean(at_nodes, tie)) @ SHARES - outcome, abs=1e-11)
    assert weight == pytest.approx((led**2 * curvature) @ SHARES, abs=1e-11)


def test_sums_over_items_go_on_where_a_pass_turns_to_them() -> None:
    n, rng = LONG + BLOCK + 7, np.random.default_rng(6)
    better, worse = rng.integers(0, 50, (2, n), dtype=np.int32)
    evaluator = np.sort(rng.integers(0, 3, n, dtype=np.int32))
    contrast, scores, bias = rng.integers(-1, 2, n, dtype=np.int8), rng.normal(size=50), OWN[:3]
    sums, bias_sums, weight = np.zeros((2, 50)), np.zeros((3, 2)), np.empty(n, np.float32)
    data = (better, worse, evaluator, contrast, scores, bias, np.ones(3))
    loss = add_fused(*data, sums, bias_sums, weight)
    margin = scores[better] - scores[worse] + bias[evaluator] * contrast
    against, curvature = expit(-margin), expit(margin) * expit(-margin)
    slopes = np.bincount(worse, against, 50) - np.bincount(better, against, 50)
    bends = np.bincount(worse, curvature, 50) + np.bincount(better, curvature, 50)
    assert loss == pytest.approx(-log_expit(margin).sum(), rel=1e-12)
    assert sums == pytest.approx(np.stack([slopes, bends]), rel=1e-10, abs=1e-9)
    assert weight == pytest.approx(curvature, rel=1e-6)
    for column, values in enumerate((-against * contrast, curvature * contrast**2)):
        assert bias_sums[:, column] == pytest.approx(np.bincount(evaluator, values), rel=1e-9)
