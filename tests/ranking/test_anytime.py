"""Leans that may be read at any moment, with e-values worked out by hand from z and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import false_discovery_control, norm

from comparity.errors import OptionError
from comparity.ranking.barp import barp
from comparity.ranking.bias_tests import read_anytime
from comparity.ranking.options import RankForm
from comparity.ranking.result import BiasedRanking

LEAN_VARIANCE = 0.25


@pytest.fixture(scope="module", params=["equal", "own"])
def ranking(request: pytest.FixtureRequest) -> BiasedRanking:
    rng = np.random.default_rng(3)
    scores, group = rng.normal(size=40), np.arange(40) % 2
    lean = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    judge, first = rng.integers(0, 6, 3000), rng.integers(0, 40, 3000)
    second = (first + rng.integers(1, 40, 3000)) % 40
    seen = scores + lean[:, None] * group
    wins = rng.random(3000) < 1 / (1 + np.exp(seen[judge, second] - seen[judge, first]))
    pairs = np.where(
        wins[:, None], np.column_stack([first, second]), np.column_stack([second, first])
    )
    return barp(
        pairs, evaluators=judge, sensitive_features=group.astype(str), sharpness=request.param
    )


def p_by_hand(bias: float, error: float) -> float:
    """Twice the inverse of the half-normal mixture, from the formula of the module."""
    x, z = LEAN_VARIANCE / error**2, abs(bias) / error
    mixture = math.exp(x / (1 + x) * z**2 / 2) / math.sqrt(1 + x)
    return min(1.0, 1 / (mixture * norm.cdf(z * math.sqrt(x / (1 + x)))))


def test_p_values_are_inverse_e_values_and_q_values_those_of_e_bh(ranking: BiasedRanking) -> None:
    now = read_anytime(ranking)
    errors = np.abs(ranking.bias / ranking.z)
    expected = [p_by_hand(*both) for both in zip(ranking.bias.flat, errors.flat, strict=True)]
    np.testing.assert_allclose(now.p.ravel(), expected, rtol=1e-9)
    np.testing.assert_allclose(now.q.ravel(), false_discovery_control(expected), rtol=1e-9)
    assert (now.p >= ranking.p).all()
    assert (now.cautious_q >= now.q - 1e-12).all()


def test_who_leans_by_far_is_found_and_intervals_are_wider(ranking: BiasedRanking) -> None:
    now = read_anytime(ranking)
    assert (now.centred_q <= 0.05).any()
    single, sequence = ranking.bias_intervals(), now.bias_intervals()
    assert (sequence[..., 0] < single[..., 0]).all()
    assert (sequence[..., 1] > single[..., 1]).all()
    assert "read at any moment" in " ".join(now.notes)


def test_an_interval_is_the_boundary_of_robbins_mixture(ranking: BiasedRanking) -> None:
    if ranking.sharpness is not None:
        return
    error = float(ranking.bias_standard_errors[0, 0])
    x = LEAN_VARIANCE / error**2
    half = error * math.sqrt((1 + 1 / x) * math.log((1 + x) / 0.05**2))
    low, high = read_anytime(ranking).bias_intervals()[0, 0]
    assert (high - low) / 2 == pytest.approx(half)


def test_results_come_back_from_their_json(ranking: BiasedRanking) -> None:
    now = read_anytime(ranking)
    assert BiasedRanking.from_dict(now.to_dict()).to_dict() == now.to_dict()


def test_models_without_leans_and_audits_of_scores_are_refused() -> None:
    with pytest.raises(OptionError, match="anytime"):
        RankForm(model="bt", anytime=True)
    with pytest.raises(OptionError, match="single look"):
        RankForm(sensitive=("sex",), score="model", anytime=True)
