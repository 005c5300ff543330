"""Tastes of each evaluator: algebra, slopes of the marginal likelihood, and what users see of them.

Witnesses: inverses of whole Hessians by finite differences, a marginal likelihood over a grid, and
panels drawn with known tastes.
"""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from comparity import barp
from comparity.ranking.anchors import EQUAL_MEANS, anchor_of, move_of
from comparity.ranking.judgments import judgments_of
from comparity.ranking.likelihood.comparison_rows import ComparisonRows, rows_of
from comparity.ranking.likelihood.evidence import lead_variances, spread_of, tilt_of
from comparity.ranking.likelihood.lapses import pass_over
from comparity.ranking.likelihood.objective import minimise
from comparity.ranking.likelihood.seen_scores import (
    SeenInverse,
    SeenMove,
    SeenObjective,
    TastePenalty,
    see_apart,
)
from comparity.ranking.likelihood.tastes import scales_at
from comparity.results.result import read_result
from tests.plain.tastes import log_marginal

TASTES = np.array([0.3, 0.8, 1.1])


def draw_rows(seed: int = 1, **extra: Any) -> ComparisonRows:
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(7, 2, replace=False) for _ in range(90)])
    seats = rng.choice([1, -1], 90) if extra.get("seats") else None
    ties = rng.random(90) < 0.2 if extra.get("ties") else None
    judged = judgments_of(pairs, evaluators=np.arange(90) % 3, seats=seats, ties=ties)
    columns = np.eye(7, 2, dtype=np.int8)
    return rows_of(judged, columns, seat_by_evaluator=False)


def objective_of(rows: ComparisonRows, *, trusted: bool = False, **known: Any) -> SeenObjective:
    columns = np.eye(rows.n_items, rows.contrast.shape[1])
    anchor = anchor_of(EQUAL_MEANS, np.arange(rows.n_evaluators))
    move = SeenMove.of(move_of(anchor, columns, rows.n_evaluators), rows.n_evaluators)
    free = np.linalg.qr(move.basis[: rows.n_items])[0] if trusted else None
    penalty = {"scores": 0.7, "bias": np.eye(columns.shape[1]), "level": 0.05, "basis": free}
    data = pass_over(see_apart(rows))
    data.sharpness = np.array([0.7, 1.0, -1.6])
    return SeenObjective(
        data, TastePenalty(**penalty | known, tastes=TASTES**2), move.basis, flat=not trusted
    )


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("extra", [{}, {"seats": True, "ties": True}], ids=["plain", "extra"])
def test_gradient_and_inverse_are_those_of_finite_differences(trusted: bool, extra: Any) -> None:
    objective = objective_of(draw_rows(**extra), trusted=trusted)
    point = np.random.default_rng(2).normal(0, 0.5, objective.size)
    _, gradient = objective.evaluate(point)
    numeric = approx_fprime(point, lambda at: objective.evaluate(at)[0], 1e-6)
    assert gradient == pytest.approx(numeric, abs=2e-4)
    hessian = approx_fprime(point, lambda at: objective.evaluate(at)[1], 1e-6)
    objective.evaluate(point)
    found = SeenInverse(objective)
    if trusted:
        # Where all scores are together makes no difference, and has a curvature of its own.
        hessian[:7, :7] += 1 / 7
    inverse = np.linalg.inv((hessian + hessian.T) / 2)
    assert found.solve(np.eye(objective.size)) == pytest.approx(inverse, abs=2e-3)
    assert found.variances == pytest.approx(np.diagonal(inverse), abs=2e-3)
    check_blocks(objective, found, inverse)


def check_blocks(objective: SeenObjective, found: SeenInverse, inverse: np.ndarray) -> None:
    """Compare what is told of leads and tastes with what the whole inverse says."""
    rows, size, n = objective.data.rows, objective.n_items, 7
    design = np.zeros((len(rows.better), objective.size))
    lines = np.arange(len(design))
    design[lines, rows.better], design[lines, rows.worse] = 1.0, -1.0
    for c in range(2):
        design[lines, size + 2 * rows.evaluator + c] = rows.contrast[:, c]
    hessian = np.linalg.inv(inverse)
    given = np.zeros_like(inverse)
    given[:size, :size] = np.linalg.inv(hessian[:size, :size])
    alone, whole = (np.einsum("pi,ij,pj->p", design, one, design) for one in (given, inverse))
    every = slice(None)
    assert lead_variances(objective, found)(every) == pytest.approx(alone, abs=2e-3)
    assert spread_of(objective, found)(every) == pytest.approx(2 * alone - whole, abs=2e-3)
    for k, told in enumerate(found.of_tastes):
        taste = np.zeros((n, objective.size))
        taste[:, (k + 1) * n : (k + 2) * n], taste[:, :n] = np.eye(n), -np.eye(n)
        assert told == pytest.approx(np.trace(taste @ inverse @ taste.T), rel=2e-3)


def test_slopes_are_those_of_a_marginal_likelihood_over_a_grid() -> None:
    """Of 270 judgments of three items; what is left is the error of the Gaussian approximation."""
    rng, sharpness = np.random.default_rng(3), np.array([1.0, 1.5, 0.7])
    scores = np.array([0.9, 0.0, -0.9])
    seen = scores + rng.normal(0, 1, (3, 3)) * TASTES[:, None]
    pairs, judge = [], []
    for k in range(3):
        for i, j in permutations(range(3), 2):
            wins = rng.binomial(15, expit(sharpness[k] * (seen[k, i] - seen[k, j])))
            pairs += [[i, j]] * wins + [[j, i]] * (15 - wins)
            judge += [k] * 15
    judged = judgments_of(np.array(pairs), evaluators=np.array(judge))
    rows = rows_of(judged, np.eye(3, 1, dtype=np.int8), seat_by_evaluator=False)
    # Biases are held at zero.
    objective = objective_of(rows, scores=1.0, bias=1e8 * np.eye(1), mean=1e8)
    objective.data.sharpness = sharpness
    point = np.zeros(objective.size)
    for _ in range(20):
        point = minimise(objective, point, tolerance=1e-8).point
        inverse = SeenInverse(objective)
        objective.tilt = tilt_of(objective, point, inverse)
    found = scales_at(objective, point, inverse).slope
    tallies: dict[tuple[int, int, int], int] = {}
    for (better, worse), k in zip(pairs, judge, strict=True):
        tallies[better, worse, k] = tallies.get((better, worse, k), 0) + 1

    def integrated(logs: np.ndarray) -> float:
        with_tastes = np.exp(logs[:3]), [0.0] * 3, TASTES * np.exp(logs[3:])
        return log_marginal(tallies, [1, 0, 0], *with_tastes, 1.0)

    expected = approx_fprime(np.concatenate([np.log(sharpness), np.zeros(3)]), integrated, 1e-4)
    # Slopes of up to 5.
    assert found[1] == pytest.approx(expected[3:], abs=0.05)
    assert found.sum(axis=0) == pytest.approx(expected[:3], abs=0.05)


def draw_panel(seed: int, tastes: Any, *, count: int = 600, **extra: Any) -> dict[str, Any]:
    """Return judgments of 40 items in groups that differ by one, as barp takes them."""
    rng, m = np.random.default_rng(seed), len(tastes)
    group, judge = np.arange(40) % 2, np.repeat(np.arange(m), count)
    seen = rng.normal(0, 1, 40) + group + rng.normal(0, 1, (m, 40)) * np.array(tastes)[:, None]
    one = rng.integers(0, 40, len(judge))
    two = (one + rng.integers(1, 40, len(judge))) % 40
    margin = 1.5 * (seen[judge, one] - seen[judge, two]) + extra.get("seat", 0.0)
    margin = np.where(judge == extra.get("inverted"), -margin, margin)
    won = rng.random(len(judge)) < expit(margin)
    given = {"comparisons": np.where(won[:, None], np.c_[one, two], np.c_[two, one])}
    if extra.get("seat"):
        given["seats"] = np.where(won, "first", "second")
    if extra.get("ties"):
        given["ties"] = rng.random(len(judge)) < 0.3 * np.exp(-np.abs(margin))
    return {**given, "evaluators": judge, "sensitive_features": group}


def test_each_evaluator_has_the_tastes_it_was_drawn_with() -> None:
    truth = [0.0, 0.0, 1.0, 0.5]
    found = barp(**draw_panel(4, truth), anchor=[0, 1])
    assert found.model_fit is not None
    assert found.converged
    # SDs of 40 items of which data tell about two thirds: errors of 0.15 to 0.2.
    assert found.model_fit.tastes == pytest.approx(truth, abs=0.45)
    assert found.model_fit.tastes[2] > 0.6 > max(found.model_fit.tastes[:2])
    taste = {row["evaluator"]: row["taste"] for row in found.bias_rows()}
    assert taste == dict(enumerate(found.model_fit.tastes))
    assert any("tastes of their own" in note for note in found.notes)
    assert not any("equally strong" in note for note in found.notes)
    again = read_result(json.loads(json.dumps(found.to_dict())))
    assert again.model_fit == found.model_fit


def test_without_tastes_nothing_is_estimated() -> None:
    found = barp(**draw_panel(4, [0.0] * 4), anchor=[0, 1])
    assert found.model_fit is not None
    assert not found.model_fit.rejected
    assert found.model_fit.tastes == ()
    assert "taste" not in found.bias_rows()[0]


@pytest.mark.parametrize(
    "choices",
    [
        {"sharpness": "equal"},
        {"anchor": [0, 1]},
        {"anchor": "zero mean bias"},
        {"anchor": "samples"},
        {"anchor": "aligned distributions"},
        {"bias_prior": "marginal likelihood"},
        {"bias_prior": None},
        {"score_prior": 1.5},
        {"lapse_rate": 0.05},
        {"lapse_rate": "estimated"},
        {"chance_between_groups": True},
        {"intersections": "suggest"},
    ],
    ids=str,
)
def test_tastes_go_with_every_choice(choices: dict[str, Any]) -> None:
    found = barp(**draw_panel(5, [0.0, 0.0, 1.0, 1.0]), **choices)
    check_fit(found)


@pytest.mark.parametrize("extra", [{"seat": 0.7}, {"ties": True}, {"seat": 0.7, "ties": True}])
@pytest.mark.parametrize("own", [False, True])
def test_tastes_go_with_seats_and_ties(extra: dict[str, Any], own: bool) -> None:
    own_seats = {"seat_by_evaluator": True} if own and "seat" in extra else {}
    found = barp(**draw_panel(5, [0.0, 0.0, 1.0, 1.0], **extra), anchor=[0, 1], **own_seats)
    check_fit(found)
    if "seat" in extra:
        assert found.seat is not None
        # Of 2,400 comparisons: an error of 0.06, and ties are half of none.
        assert found.seat.value == pytest.approx(0.7, abs=0.25)


def check_fit(found: Any) -> None:
    """Every number is there, and those with tastes are told from those without."""
    assert found.model_fit is not None
    assert len(found.model_fit.tastes) == 4
    assert found.converged
    assert max(found.model_fit.tastes[:2]) < min(found.model_fit.tastes[2:])
    assert np.isfinite(found.scores).all()
    assert np.isfinite(found.standard_errors).all()
    assert (found.standard_errors > 0).all()
    free = found.bias_standard_errors > 0
    assert np.isfinite(found.bias[free]).all()
    # The mean of 20 tastes with SD 1 against 20 has an error of 0.32; a narrow prior takes a third.
    unit = 1.0 if found.unit == "SDs" else 1.5
    assert (found.bias_standard_errors[2:, 0] > 0.15 * unit).all()
    assert (found.bias_standard_errors[2:, 0] < 0.7 * unit).all()


def test_an_inverted_judge_with_tastes_is_named() -> None:
    found = barp(**draw_panel(6, [0.0, 0.0, 1.0, 0.5], inverted=3), anchor=[0, 1])
    assert found.model_fit is not None
    assert found.model_fit.tastes
    assert found.sharpness is not None
    assert found.sharpness.inverted.tolist() == [False, False, False, True]


def test_two_evaluators_and_clusters_keep_one_spread_for_all() -> None:
    two = barp(**draw_panel(5, [0.9, 0.9]), anchor=[0])
    given = draw_panel(5, [0.9] * 4)
    prompts = np.arange(len(given["comparisons"])) % 60
    clustered = barp(**given, cluster=prompts)
    for found, words in ((two, "equally strong"), (clustered, "clusters by")):
        assert found.model_fit is not None
        assert found.model_fit.rejected
        assert found.model_fit.tastes == ()
        assert any(words in note for note in found.notes)
