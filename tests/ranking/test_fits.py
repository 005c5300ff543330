"""Priors: chosen near the truth, by methods that agree, and named in the result."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from comparity import barp, bradley_terry
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.ranking.fits import GRID, by_cross_validation, folds, wish_of


def world(seed: int, **choices: object):  # type: ignore[no-untyped-def]
    return simulate_comparisons(rng=np.random.default_rng(seed), **choices)


def test_the_marginal_likelihood_finds_the_spread_of_scores() -> None:
    """The SD of 300 draws is known to 4 %, and comparisons blur it further."""
    panel = world(1, scores=norm(0, 1.5), n_items=300, n_evaluators=1, pairs=20_000)
    found = bradley_terry(panel.comparisons)
    assert found.priors[0].sd == pytest.approx(panel.scores.std(), rel=0.05)
    assert found.priors[0].chosen_by == "marginal likelihood"


@pytest.mark.parametrize("way", ["in a band", "in passes"])
def test_the_choice_by_other_errors_is_close_to_the_exact_one(
    way: str, errors_by: Callable[[str], None]
) -> None:
    panel = world(2, scores=norm(0, 1.5), bias=norm(0, 1.5), n_items=150, n_evaluators=40)
    data = {"evaluators": panel.evaluators, "sensitive_features": panel.groups}
    data |= {"bias_prior": "marginal likelihood", "sharpness": "equal"}
    exact = barp(panel.comparisons, **data)
    errors_by(way)
    quick = barp(panel.comparisons, **data)
    for one, two in zip(exact.priors, quick.priors, strict=True):
        assert two.sd == pytest.approx(one.sd, rel=0.05), one.of
    assert exact.priors[1].sd == pytest.approx(1.5, rel=0.3)


def test_the_fixed_point_maximises_laplaces_marginal_likelihood() -> None:
    """Evidence by brute force: penalised log-likelihood - n log(sd) - log det(Hessian) / 2."""
    panel = world(3, scores=norm(0, 1.0), groups={"sex": 5}, n_items=20, n_evaluators=1, pairs=600)
    chosen = bradley_terry(panel.comparisons).priors[0].sd

    def evidence(sd: float) -> float:
        fit = bradley_terry(panel.comparisons, n_items=20, prior=sd, tolerance=1e-9)
        hessian = np.eye(20) / sd**2
        for i, j in panel.comparisons.tolist():
            p = 1 / (1 + math.exp(fit.scores[j] - fit.scores[i]))
            step = np.zeros(20)
            step[[i, j]] = 1, -1
            hessian += p * (1 - p) * np.outer(step, step)
        penalised = fit.log_likelihood - fit.scores @ fit.scores / (2 * sd**2)
        return penalised - 20 * math.log(sd) - np.linalg.slogdet(hessian)[1] / 2

    # The fixed point leaves out how the curvature moves with the prior, so it is near the top.
    best = max(np.geomspace(0.3, 3, 47), key=evidence)
    assert chosen == pytest.approx(best, rel=0.08)


def test_cross_validation_and_marginal_likelihood_agree_within_a_step_of_the_grid() -> None:
    panel = world(4, scores=norm(0, 2), n_items=40, n_evaluators=1, pairs=1500)
    one = bradley_terry(panel.comparisons, prior="cross-validation", seed=1).priors[0]
    two = bradley_terry(panel.comparisons).priors[0]
    assert one.chosen_by == "cross-validation"
    assert one.sd in GRID
    assert 0.4 < one.sd / two.sd < 2.5


def test_a_grid_is_searched_for_the_least_loss() -> None:
    assert by_cross_validation(lambda sd: (math.log2(sd) - 1.2) ** 2) == 2.0


def test_folds_have_nearly_one_size() -> None:
    sizes = np.bincount(folds(103, 5, np.random.default_rng(0)))
    assert sorted(sizes.tolist()) == [20, 20, 21, 21, 21]


def test_wishes_are_read_and_named() -> None:
    assert wish_of(5.0, "biases", 5.0).chosen_by == "default"
    assert wish_of(4, "biases", 5.0).chosen_by == "the caller"
    assert math.isinf(wish_of(None, "scores", 1.0).sd)
    assert str(wish_of(4, "biases", 5.0).grant(4.0)) == "biases: Normal with SD 4 (the caller)"


def test_a_narrow_prior_draws_biases_together_and_a_wide_one_leaves_them() -> None:
    panel = world(5, bias=norm(2, 2), scores=norm(0, 1.5))
    data = {"evaluators": panel.evaluators, "sensitive_features": panel.groups}
    spread = [
        barp(panel.comparisons, bias_prior=sd, score_prior=1.5, **data).bias.std()
        for sd in (0.1, 1.0, 5.0)
    ]
    assert spread[0] < 0.2 < spread[1] < spread[2]
    assert spread[2] == pytest.approx(panel.bias.std(), rel=0.25)


@pytest.mark.parametrize("way", ["marginal likelihood", "cross-validation"])
def test_a_choice_at_the_end_of_what_was_tried_says_so(way: str) -> None:
    """Evaluators who all lean alike have biases without any spread."""
    panel = world(8, scores=norm(0, 1.0), bias=norm(1, 1e-3), n_items=40, n_evaluators=20)
    data = {"evaluators": panel.evaluators, "sensitive_features": panel.groups}
    found = barp(panel.comparisons, bias_prior=way, score_prior=1.0, **data).priors[1]
    assert found.chosen_by == f"{way}, at its lower bound"
