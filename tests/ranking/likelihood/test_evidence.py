"""Standard deviations by marginal likelihood solve MacKay's equation and are soon reached.

Witnesses: fits by scipy, inverses by numpy, a root by Brent's method; maps whose fixed point is
known.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit
from scipy.stats import norm

from comparity import barp, bradley_terry
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.ranking.likelihood.evidence import Ascent, Extrapolation


def design_of(world) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return one row for each comparison, one column for each score and each bias."""
    rows, n = np.arange(len(world.comparisons)), len(world.scores)
    better, worse = world.comparisons.T
    design = np.zeros((len(rows), n + len(world.bias)))
    inside = world.membership[:, 0]
    design[rows, better], design[rows, worse] = 1, -1
    design[rows, n + world.evaluators] = inside[better] - inside[worse]
    return design


def suggested(design: np.ndarray, held: list[np.ndarray], sds: list[float]) -> list[float]:
    """Fit with Gaussian priors, and return the SDs that squares over degrees of freedom suggest.

    Each of `held` is a projection: what the prior with that SD takes toward zero.
    """
    precision = sum(part / sd**2 for part, sd in zip(held, sds, strict=True))

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        margin = design @ point
        value = np.logaddexp(0, -margin).sum() + point @ precision @ point / 2
        return value, precision @ point - design.T @ expit(-margin)

    point = minimize(loss, np.zeros(design.shape[1]), jac=True, tol=1e-9).x
    chance = expit(design @ point)
    covariance = np.linalg.inv(design.T @ ((chance * (1 - chance))[:, None] * design) + precision)
    found = []
    for part, sd in zip(held, sds, strict=True):
        left = np.trace(part) - np.trace(part @ covariance) / sd**2
        found.append(float(np.sqrt(point @ part @ point / left)))
    return found


def test_the_spread_of_scores_solves_mackays_equation() -> None:
    world = simulate_comparisons(
        rng=np.random.default_rng(1), scores=norm(0, 1.5), n_items=40, n_evaluators=1, pairs=300
    )
    design = design_of(world)[:, :40]
    root = brentq(lambda sd: suggested(design, [np.eye(40)], [sd])[0] - sd, 0.6, 4, xtol=1e-5)
    found = bradley_terry(world.comparisons, n_items=40).priors[0].sd
    assert found == pytest.approx(root, rel=1e-3)


def test_spreads_of_scores_and_biases_solve_mackays_equations_together() -> None:
    world = simulate_comparisons(
        rng=np.random.default_rng(2),
        scores=norm(0, 1.5),
        bias=norm(0, 1.5),
        groups={"sex": 15},
        n_items=40,
        n_evaluators=12,
        pairs=60,
    )
    scores, biases = np.zeros((2, 52, 52))
    scores[:40, :40], biases[40:, 40:] = np.eye(40), np.eye(12) - 1 / 12
    found = barp(
        world.comparisons,
        evaluators=world.evaluators,
        sensitive_features=world.groups,
        bias_prior="marginal likelihood",
        corrected=False,
    )
    sds = [prior.sd for prior in found.priors]
    # Rounds close a half of what is left, so that a thousandth left moves by less.
    assert suggested(design_of(world), [scores, biases], sds) == pytest.approx(sds, rel=1e-3)


@pytest.mark.parametrize("closed", [0.9, 0.5, 0.25])
def test_one_spread_is_reached_in_two_rounds_whatever_part_of_the_gap_a_round_closes(
    closed: float,
) -> None:
    ascent, sds = Ascent(), np.array([1.0, np.inf])
    for _ in range(2):
        sds = ascent.step(sds, sds * [(3.0 / sds[0]) ** closed, 1.0])
    assert sds[0] == pytest.approx(3.0)
    assert sds[1] == np.inf


def test_two_spreads_that_hang_together_are_reached_sooner_than_by_rounds() -> None:
    goal, coupling = np.log([3.0, 0.4]), np.array([[0.5, 0.1], [0.2, 0.4]])
    ascent, quick, plain = Ascent(), np.ones(2), np.ones(2)
    for _ in range(8):
        quick = ascent.step(quick, quick * np.exp(coupling @ (goal - np.log(quick))))
        plain = plain * np.exp(coupling @ (goal - np.log(plain)))
    assert np.abs(np.log(quick) - goal).max() < 1e-3
    assert np.abs(np.log(plain) - goal).max() > 0.02


def test_a_spread_that_falls_to_zero_is_not_thrown_beyond_it() -> None:
    ascent, sds = Ascent(), np.array([1.0, 1.0])
    for _ in range(8):
        before, sds = sds, ascent.step(sds, sds / [1.0, 1 + sds[1] ** 2])
        assert sds[0] == 1.0
        assert before[1] / (1 + before[1] ** 2) ** 5.001 <= sds[1] < before[1]


def test_one_spread_is_chosen_where_the_other_prior_is_left_out() -> None:
    world = simulate_comparisons(
        rng=np.random.default_rng(4),
        scores=norm(0, 1),
        bias=norm(0, 1.5),
        groups={"sex": 6},
        n_items=15,
        n_evaluators=20,
        pairs=100,
    )
    found = barp(
        world.comparisons,
        evaluators=world.evaluators,
        sensitive_features=world.groups,
        score_prior=None,
        bias_prior="marginal likelihood",
    )
    assert found.converged
    assert found.priors[0].sd == np.inf
    # The SD of 20 biases is known to 16 %, and each has an error of 0.3.
    assert found.priors[1].sd == pytest.approx(world.bias.std(), rel=0.3)


def test_rounds_that_close_the_same_part_of_every_gap_are_left_out() -> None:
    goal, ahead = np.array([1.0, -2.0, 1.0]), Extrapolation()
    place = np.zeros(3)
    for _ in range(2):
        found = place + 0.5 * (goal - place)
        place = ahead.step(found, found - place, fresh=False)
    assert place == pytest.approx(goal)
