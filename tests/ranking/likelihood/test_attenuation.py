"""What errors of scores take from biases: spreads of margins, bent slopes, and what comes back.

Definitions: variances from an inverse by numpy, mean slopes by numerical integration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.special import expit
from scipy.stats import norm

from comparity import barp
from comparity.datasets.simulated_panels import SimulatedPanel, simulate_comparisons
from comparity.ranking.judgments import judgments_of
from comparity.ranking.likelihood import evidence as _attenuation
from comparity.ranking.likelihood.comparison_rows import ComparisonRows, rows_of
from comparity.ranking.likelihood.evidence import tilt_of
from comparity.ranking.likelihood.exact import Inverse
from comparity.ranking.likelihood.lapses import pass_over
from comparity.ranking.likelihood.objective import Penalised, Penalty
from comparity.ranking.likelihood.one_pass import OnePass
from comparity.ranking.likelihood.passes import davidson


def sparse_panel(seed: int, **choices: Any) -> SimulatedPanel:
    """Return 200 items compared 15 times each on average, by 20 evaluators."""
    options: dict[str, Any] = {
        "bias": norm(1, 0.5),
        "scores": norm(0, 2),
        "groups": {"sex": 100},
        "n_items": 200,
        "n_evaluators": 20,
        "pairs": 75,
    }
    return simulate_comparisons(rng=np.random.default_rng(seed), **(options | choices))


def objective_of(world: SimulatedPanel, **kept: Any) -> tuple[Penalised, np.ndarray]:
    """Return the penalised likelihood of a panel, evaluated at a point."""
    judgments = judgments_of(world.comparisons, evaluators=world.evaluators, **kept)
    columns = world.membership.astype(np.int8)
    rows = rows_of(judgments, columns, seat_by_evaluator=False)
    penalty = Penalty(scores=0.25, bias=np.eye(columns.shape[1]) / 4)
    basis = np.column_stack([np.ones(len(columns)), columns])
    objective = Penalised(pass_over(rows), penalty, basis, flat=True)
    point = np.random.default_rng(1).normal(0, 0.5, objective.size)
    objective.evaluate(point)
    return objective, point


def plain_spreads(objective: Penalised, point: np.ndarray) -> np.ndarray:
    """Return twice the variance given the biases less that of the margin, by dense algebra."""
    rows, n, m = objective.data.rows, objective.n_items, objective.n_evaluators
    design = np.zeros((len(rows.better), n + m))
    place = np.arange(len(design))
    design[place, rows.better], design[place, rows.worse] = 1, -1
    design[place, n + rows.evaluator] = rows.contrast[:, 0]
    chance = expit(design @ point)
    hessian = design.T @ ((chance * (1 - chance))[:, None] * design)
    hessian[:n, :n] += 0.25 * np.eye(n)
    hessian[n:, n:] += (np.eye(m) - 1 / m) / 4
    joint, given = np.linalg.inv(hessian), np.linalg.inv(hessian[:n, :n])
    own = np.einsum("pi,ij,pj->p", design[:, :n], given, design[:, :n])
    return 2 * own - np.einsum("pi,ij,pj->p", design, joint, design)


def test_spreads_of_margins_are_those_of_the_inverse() -> None:
    objective, point = objective_of(sparse_panel(1, n_items=30, groups={"sex": 12}))
    expected = plain_spreads(objective, point)
    found = _attenuation.spread_of(objective, Inverse(objective))(slice(None))
    # Weights are kept in single precision.
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_spreads_in_one_pass_are_close_to_those_of_the_inverse() -> None:
    objective, _ = objective_of(sparse_panel(2))
    exact = _attenuation.spread_of(objective, Inverse(objective))(slice(None))
    quick = _attenuation.spread_of(objective, OnePass(objective))(slice(None))
    assert quick == pytest.approx(exact, rel=0.15, abs=0.02)


@pytest.mark.parametrize("margin", [-3.0, -0.5, 0.0, 1.0, 4.0])
@pytest.mark.parametrize("variance", [0.05, 0.3, 1.0, 2.5])
def test_bent_slopes_are_means_over_the_error_of_a_margin(margin: float, variance: float) -> None:
    sd = np.sqrt(variance)
    mean, _ = quad(lambda z: -expit(-(margin + sd * z)) * norm.pdf(z), -9, 9)
    pair, nobody = np.zeros(2, dtype=np.int32), np.zeros((2, 0), dtype=np.int8)
    rows = ComparisonRows(
        better=pair, worse=pair + 1, evaluator=pair, contrast=nobody, n_items=2, n_evaluators=1
    )
    point = np.array([margin, 0.0]), np.zeros((1, 0)), np.empty(0)
    found = pass_over(rows).bend(slice(None), np.array([variance, -variance]), *point)
    assert found[0] == pytest.approx(mean + expit(-margin), abs=2e-3)
    assert found[1] == -found[0]


def test_the_slope_of_a_comparison_that_may_be_a_tie_is_bent_alike() -> None:
    """With a tie parameter near zero Davidson's model is the logistic one."""
    world = sparse_panel(3, n_items=30, groups={"sex": 12})
    none = np.zeros(len(world.comparisons), dtype=bool)
    none[0] = True
    objective, point = objective_of(world, ties=none)
    point[-1] = -30.0
    spread, part = np.full(len(none), 0.4), slice(1, None)
    found = objective.data.bend(part, spread[part], *objective.split(point))
    expected, _ = objective_of(world)
    plain = expected.data.bend(part, spread[part], *expected.split(point[:-1]))
    assert found == pytest.approx(plain, abs=1e-9)
    assert davidson(np.zeros(1), none[1:2], -30.0).slope == pytest.approx([-0.5])


def test_a_tilt_moves_nothing_along_flat_directions() -> None:
    objective, point = objective_of(sparse_panel(4))
    scores, bias, _ = objective.split(tilt_of(objective, point, Inverse(objective)))
    group = objective.flat_basis[:, 1]
    assert scores.sum() == pytest.approx(0, abs=1e-9)
    assert scores @ group - bias.sum() == pytest.approx(0, abs=1e-9)


def test_the_gradient_with_a_tilt_is_a_finite_difference() -> None:
    objective, point = objective_of(sparse_panel(5, n_items=20, groups={"sex": 8}))
    objective.tilt = tilt_of(objective, point, Inverse(objective))
    _, gradient = objective.evaluate(point)
    expected = approx_fprime(point, lambda at: objective.evaluate(at)[0], 1e-6)
    assert gradient == pytest.approx(expected, abs=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(("pairs", "seeds"), [(75, 8), (40, 12)], ids=["15 times", "8 times"])
def test_biases_come_out_in_full_where_items_were_compared_so_often(
    pairs: int, seeds: int, errors_by: Callable[[str], None]
) -> None:
    """The anchor takes groups for equal, so what they differ by in the panel is in the bias."""
    off: dict[str, list[float]] = {"inverted": [], "in passes": [], "joint maximum": []}
    for seed in range(seeds):
        world = sparse_panel(seed, pairs=pairs)
        inside = world.membership[:, 0] > 0
        truth = world.bias.mean() + world.scores[inside].mean() - world.scores[~inside].mean()
        data: dict[str, Any] = {"sensitive_features": world.groups}
        for name in off:
            errors_by("in passes" if name == "in passes" else "inverted")
            found = barp(
                world.comparisons,
                evaluators=world.evaluators,
                corrected=name != "joint maximum",
                sharpness="equal",
                **data,
            )
            off[name].append(found.mean_bias[0] - truth)
    errors = {name: np.std(values, ddof=1) / np.sqrt(seeds) for name, values in off.items()}
    assert abs(np.mean(off["inverted"])) < 0.02 + 2 * errors["inverted"]
    assert abs(np.mean(off["in passes"])) < 0.02 + 2 * errors["in passes"]
    assert np.mean(off["joint maximum"]) < -0.05 - 2 * errors["joint maximum"]


@pytest.mark.parametrize(("spread", "bound"), [(9.0, 2.5), (-9.0, -1.6)])
def test_spreads_count_no_further_than_their_bounds(
    spread: float, bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective, point = objective_of(sparse_panel(6, n_items=6, groups={"sex": 3}, pairs=4))
    rows = objective.data.rows
    wide = np.full(len(rows.better), spread)
    monkeypatch.setattr(_attenuation, "spread_of", lambda *_: lambda part: wide[part])
    scores, _, _ = objective.split(tilt_of(objective, point, Inverse(objective)))
    bent = np.sign(bound) * bent_slopes(objective, point, abs(bound))
    expected = np.bincount(rows.better, bent, 6) - np.bincount(rows.worse, bent, 6)
    assert scores == pytest.approx(expected, abs=0.05)


def bent_slopes(objective: Penalised, point: np.ndarray, variance: float) -> np.ndarray:
    """Return by how much mean slopes over margins of a variance differ, by a fine grid."""
    rows, (scores, bias, _) = objective.data.rows, objective.split(point)
    margin = scores[rows.better] - scores[rows.worse]
    margin += (bias[rows.evaluator] * rows.contrast).sum(axis=1)
    z = np.linspace(-8, 8, 2001)
    mean = -expit(-(margin[:, None] + np.sqrt(variance) * z)) @ norm.pdf(z) * (z[1] - z[0])
    return mean + expit(-margin)


@pytest.mark.parametrize("size", [1, 2])
def test_an_item_alone_in_a_group_that_nobody_met_has_no_error(size: int) -> None:
    """Equal group means fix it; of two such items each still has the error of the prior."""
    world = sparse_panel(7, n_items=8, groups={"sex": 4}, n_evaluators=2, pairs=30)
    town = np.array(["x"] * 8 + ["y"] * size)
    found = barp(
        world.comparisons,
        evaluators=world.evaluators,
        sensitive_features={"town": town},
    )
    assert np.isfinite(found.standard_errors[:8]).all()
    assert np.isnan(found.standard_errors[8:]).all() == (size == 1)
