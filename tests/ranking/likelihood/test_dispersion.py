"""The test of fit, and errors that allow for tastes, against their definitions."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from comparity import barp, bradley_terry
from comparity.ranking.judgments import judgments_of
from comparity.ranking.likelihood.comparison_rows import ComparisonRows, rows_of
from comparity.ranking.likelihood.dispersion import TasteGains, dispersion_of
from comparity.ranking.likelihood.exact import Inverse, dense_hessian
from comparity.ranking.likelihood.lapses import pass_over
from comparity.ranking.likelihood.objective import Penalised, Penalty
from comparity.ranking.likelihood.part_covariances import PartCovariances
from comparity.ranking.likelihood.passes import Pass
from comparity.results.result import read_result
from tests.plain.dispersion import products

ITEMS, JUDGES, ROWS = 5, 3, 60


def small_objective(*, judges: int = JUDGES, sharp: bool = False) -> Penalised:
    rng = np.random.default_rng(2)
    better = rng.integers(0, ITEMS, ROWS).astype(np.int32)
    worse = ((better + rng.integers(1, ITEMS, ROWS)) % ITEMS).astype(np.int32)
    group = (np.arange(ITEMS) % 2).astype(np.int8)
    rows = ComparisonRows(
        better=better,
        worse=worse,
        evaluator=np.sort(rng.integers(0, judges, ROWS)).astype(np.int32),
        contrast=(group[better] - group[worse])[:, None],
        n_items=ITEMS,
        n_evaluators=judges,
    )
    data: Pass = pass_over(rows)
    if sharp:
        data.sharpness = np.array([0.8, 1.0, 1.2])
    basis = np.column_stack([np.ones(ITEMS), group])
    found = Penalised(data, Penalty(scores=0.5, bias=np.eye(1)), basis, flat=True)
    found.evaluate(rng.normal(0, 0.6, found.size))
    return found


def residuals(objective: Penalised) -> tuple[np.ndarray, np.ndarray]:
    """Return residuals and their variances in the lead."""
    rows, (scores, bias, _) = objective.data.rows, objective.split(objective.point)
    sharpness = np.ones(rows.n_evaluators)
    if objective.data.sharpness is not None:
        sharpness = objective.data.sharpness
    own = sharpness[rows.evaluator]
    lead = scores[rows.better] - scores[rows.worse]
    lead = lead + bias[rows.evaluator, 0] * rows.contrast[:, 0]
    chance = expit(own * lead)
    return -own * (1 - chance), own**2 * chance * (1 - chance)


def design_of(objective: Penalised) -> np.ndarray:
    """Return what each comparison has of every parameter."""
    rows = objective.data.rows
    design, place = np.zeros((ROWS, objective.size)), np.arange(ROWS)
    design[place, rows.better], design[place, rows.worse] = 1, -1
    design[place, ITEMS + rows.evaluator] = rows.contrast[:, 0]
    return design


def cells_of(rows: ComparisonRows) -> list[dict[tuple[int, int], float]]:
    """Return the cells of every comparison, with its sign there."""
    cells: list[dict[tuple[int, int], float]] = []
    for better, worse, judge in zip(rows.better, rows.worse, rows.evaluator, strict=True):
        by_item = {(int(judge), int(better)): 1.0, (int(judge), int(worse)): -1.0}
        ends = sorted((int(better), int(worse)))
        by_pair = {(ends[0], ends[1]): 1.0 if better < worse else -1.0}
        cells.append(by_item if rows.n_evaluators > 1 else by_pair)
    return cells


def taste_left(
    objective: Penalised, cells: list[dict[tuple[int, int], float]]
) -> dict[tuple[int, int], float]:
    """Return what is left of a taste of variance 1 when its item's score takes on the mean of all.

    Tastes of each evaluator are unit vectors, and the score is their mean weighted by cells.
    """
    rows, (_, weight) = objective.data.rows, residuals(objective)
    if rows.n_evaluators == 1:
        return {cell: 1.0 for one in cells for cell in one}
    whole = np.zeros((rows.n_evaluators, ITEMS))
    for own, one in zip(weight, cells, strict=True):
        for cell in one:
            whole[cell] += own
    left = {}
    for item in range(ITEMS):
        shares = whole[:, item] / (whole[:, item].sum() + objective.penalty.scores)
        kept = np.eye(rows.n_evaluators) - shares
        left |= {(judge, item): float(kept[judge] @ kept[judge]) for judge in range(len(kept))}
    return left


@pytest.mark.parametrize(("judges", "sharp"), [(1, False), (3, False), (3, True)])
def test_the_statistic_is_the_sum_over_all_pairs_of_a_cell(judges: int, sharp: bool) -> None:
    objective = small_objective(judges=judges, sharp=sharp)
    cells, (residual, weight) = cells_of(objective.data.rows), residuals(objective)
    found, whole = products(cells, np.outer(residual, residual), weight)
    # What fitting takes: the covariance of two leads if biases are known.
    design = design_of(objective)[:, :ITEMS]
    curvature = design.T @ (weight[:, None] * design) + objective.penalty.scores * np.eye(ITEMS)
    leads = design @ np.linalg.inv(curvature) @ design.T
    taken, _ = products(cells, np.outer(weight, weight) * leads, weight)
    told = dispersion_of(objective)
    assert told.z == pytest.approx((found + taken) / np.sqrt(whole), rel=1e-5)
    left = products(cells, np.outer(residual, residual), weight, taste_left(objective, cells))[1]
    assert told.variance == pytest.approx(max(0.0, (found + taken) / left), rel=1e-5)
    assert told.p_value == pytest.approx(norm.sf(told.z))


@pytest.mark.parametrize(("prompts", "answers"), [(60, 4), (1, 240)])
def test_prompts_of_few_answers_fit_as_well_as_one_panel(prompts: int, answers: int) -> None:
    """Answers to one prompt vary together, which is no taste of anybody."""
    statistics = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        quality, judge = rng.normal(0, 2, prompts * answers), np.repeat(np.arange(4), 600)
        prompt, one = (rng.integers(0, size, len(judge)) for size in (prompts, answers))
        other = (one + rng.integers(1, answers, len(judge))) % answers
        pairs = prompt[:, None] * answers + np.c_[one, other]
        lost = rng.random(len(judge)) > expit(quality[pairs[:, 0]] - quality[pairs[:, 1]])
        pairs[lost] = pairs[lost][:, ::-1]
        group = np.arange(len(quality)) % 2
        fitted = barp(pairs, evaluators=judge, sensitive_features=group).model_fit
        assert fitted is not None
        statistics.append(fitted.statistic)
    # Six standard normal numbers: their mean has a standard error of 0.41.
    assert abs(np.mean(statistics)) < 3.29 * 6**-0.5
    assert np.std(statistics) < 2


@pytest.mark.parametrize("sharp", [False, True])
def test_tastes_add_to_variances_what_their_covariance_does(sharp: bool) -> None:
    objective = small_objective(sharp=sharp)
    rows, (_, weight) = objective.data.rows, residuals(objective)
    design = design_of(objective)
    sums = np.zeros((JUDGES, ITEMS, objective.size))
    np.add.at(sums, (rows.evaluator, rows.better), weight[:, None] * design)
    np.add.at(sums, (rows.evaluator, rows.worse), -weight[:, None] * design)
    flat = sums.reshape(-1, objective.size)
    solved = Inverse(objective)
    expected = 0.3 * np.diagonal(solved.joint @ flat.T @ flat @ solved.joint)
    found = TasteGains(objective, solved, 0.3).gains_of(np.eye(objective.size))
    assert found == pytest.approx(expected, rel=1e-4)


def draw_panel(seed: int, taste: float) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    group, judge = np.arange(40) % 2, np.repeat(np.arange(8), 300)
    seen = rng.normal(0, 1, 40) + rng.normal(0, taste, (8, 40))
    one = rng.integers(0, 40, len(judge))
    two = (one + rng.integers(1, 40, len(judge))) % 40
    won = rng.random(len(judge)) < expit(seen[judge, one] - seen[judge, two])
    pairs = np.where(won[:, None], np.c_[one, two], np.c_[two, one])
    return {"comparisons": pairs, "evaluators": judge, "sensitive_features": group}


@pytest.mark.parametrize("sharpness", ["equal", "own"])
def test_tastes_are_found_and_widen_errors(sharpness: str) -> None:
    found = barp(**draw_panel(3, 0.8), sharpness=sharpness)
    plain = barp(**draw_panel(3, 0.0), sharpness=sharpness)
    assert found.model_fit is not None
    assert plain.model_fit is not None
    assert found.model_fit.rejected
    assert not plain.model_fit.rejected
    assert found.model_fit.spread == pytest.approx(0.7, abs=0.35)
    assert any("does not fit" in note for note in found.notes)
    assert any("tastes of their own" in note for note in found.notes)
    assert not any("does not fit" in note for note in plain.notes)
    wider = found.centred_standard_errors / plain.centred_standard_errors
    assert np.mean(wider) > 1.2
    again = read_result(json.loads(json.dumps(found.to_dict())))
    assert again.model_fit == found.model_fit


def test_pairs_that_go_against_the_scores_are_found() -> None:
    """Three items beat each other in a circle, each nine times out of ten."""
    circle = np.repeat([[0, 1], [1, 2], [2, 0]], 9, axis=0)
    found = bradley_terry(np.vstack([circle, [[1, 0], [2, 1], [0, 2]]]))
    assert found.model_fit is not None
    assert found.model_fit.rejected
    assert found.model_fit.of == "pair of items"
    assert found.scores == pytest.approx(0, abs=1e-6)


def test_leads_in_large_parts_vary_about_as_the_inverse_says() -> None:
    """Of 80 items that are all compared with each other, whose leads hardly depend on others."""
    first, second = np.array(list(combinations(range(80), 2))).T
    judged = judgments_of(np.column_stack([first, second]), n_items=80)
    rows = rows_of(judged, np.zeros((80, 0), np.int8), seat_by_evaluator=False)
    penalty = Penalty(scores=0.25, bias=np.zeros((0, 0)))
    objective = Penalised(pass_over(rows), penalty, np.ones((80, 1)), flat=True)
    objective.evaluate(np.random.default_rng(3).normal(0, 1, objective.size))
    inverse = np.linalg.inv(dense_hessian(objective))
    own = np.diagonal(inverse)
    expected = own[first] + own[second] - 2 * inverse[first, second]
    parts = PartCovariances.of(objective, objective.data.weights())
    assert parts.lead_variances(first, second) == pytest.approx(expected, rel=0.05)
