"""Errors of fits too large to invert, and of trusted evaluators, against an inverse by numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import expit

from comparity import barp
from comparity.ranking.judgments import judgments_of
from comparity.ranking.likelihood.comparison_rows import rows_of
from comparity.ranking.likelihood.exact import dense_hessian
from comparity.ranking.likelihood.lapses import pass_over
from comparity.ranking.likelihood.objective import Penalised, Penalty
from comparity.ranking.likelihood.one_pass import OnePass
from comparity.ranking.result import BiasedRanking

SCORE_SD, BIAS_SD = 1.5, 5.0
WAYS = ("inverted", "in a band", "in passes")


class World(NamedTuple):
    pairs: np.ndarray
    evaluators: np.ndarray
    group: np.ndarray


def world(seed: int, m: int, **choices: Any) -> World:
    return world_and_scores(seed, m, **choices)[0]


def world_and_scores(
    seed: int, m: int, *, n: int = 150, times: int = 20, own_items: bool = False
) -> tuple[World, np.ndarray]:
    """Return comparisons of n items, each compared so many times on average, and their scores.

    Items are drawn from all, or each evaluator has items that nobody else judges.
    """
    rng = np.random.default_rng(seed)
    evaluators = rng.integers(0, m, n * times // 2)
    size = n // m if own_items else n
    first = rng.integers(0, size, len(evaluators))
    second = (first + rng.integers(1, size, len(first))) % size
    pairs = np.column_stack([first, second]) + (evaluators * size * own_items)[:, None]
    group, bias = np.arange(n) % 2, np.linspace(-1, 1, m)
    scores = rng.normal(0, 1.5, n)
    seen = scores[pairs] + bias[evaluators][:, None] * group[pairs] + rng.gumbel(size=pairs.shape)
    pairs = np.where(seen[:, :1] > seen[:, 1:], pairs, pairs[:, ::-1])
    return World(pairs, evaluators, group), scores


def fitted(drawn: World, **choices: Any) -> BiasedRanking:
    pairs, evaluators, group = drawn
    known = {"evaluators": evaluators, "sensitive_features": group, "corrected": False}
    return barp(pairs, score_prior=SCORE_SD, bias_prior=BIAS_SD, **known, **choices)


def plain_errors(drawn: World, found: BiasedRanking, trusted: tuple[int, ...] = ()) -> Any:
    """Return errors of scores, biases, centred biases and their mean, by dense algebra.

    Biases of trusted evaluators are no parameters. Otherwise groups have equal means.
    """
    n, m = len(drawn.group), len(found.evaluators)
    free = np.setdiff1d(np.arange(m), trusted)
    rows, (better, worse) = np.arange(len(drawn.pairs)), drawn.pairs.T
    design = np.zeros((len(rows), n + m))
    design[rows, better], design[rows, worse] = 1, -1
    design[rows, n + drawn.evaluators] = drawn.group[better] - drawn.group[worse]
    design = design[:, np.append(np.arange(n), n + free)]
    chance = expit(design @ np.append(found.scores, found.bias[free, 0]))
    hessian = design.T @ ((chance * (1 - chance))[:, None] * design)
    basis = np.column_stack([np.ones(n), drawn.group])
    inside = basis @ np.linalg.pinv(basis)
    hessian[:n, :n] += (np.eye(n) - inside * bool(trusted)) / SCORE_SD**2
    # Levels of groups have a prior with SD 10, as the difference of two halves has it.
    hessian[:n, :n] += inside * bool(trusted) * 4 / n / 10**2
    hessian[n:, n:] += (np.eye(len(free)) - 1 / len(free)) / BIAS_SD**2
    move = np.zeros((n + m, n + len(free)))
    move[:n, :n] = np.eye(n) - (1 / n if trusted else inside)
    move[n + free, n + np.arange(len(free))] = 1
    if not trusted:
        move[n:, :n] = np.linalg.pinv(basis)[1]
    covariance = move @ np.linalg.pinv(hessian, hermitian=True, rcond=1e-12) @ move.T
    bias = covariance[n:, n:]
    about = np.eye(m) - 1 / m
    parts = covariance[:n, :n], bias, about @ bias @ about
    return *(np.sqrt(np.diagonal(part)) for part in parts), np.sqrt(bias.mean())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("choices", "close"),
    [
        ({"m": 1}, 0.01),
        ({"m": 2}, 0.01),
        ({"m": 3}, 0.01),
        ({"m": 10}, 0.01),
        ({"m": 100}, 0.03),
        ({"m": 10, "times": 5}, 0.03),
        ({"m": 5, "own_items": True}, 0.1),
    ],
)
def test_errors_of_biases_are_those_of_the_inverse(
    choices: dict[str, Any], close: float, way: str, errors_by: Callable[[str], None]
) -> None:
    drawn = world(1, **choices)
    errors_by(way)
    found = fitted(drawn)
    scores, bias, centred, _ = plain_errors(drawn, found)
    exact = way != "in passes"
    close = 1e-3 if exact else close
    assert found.bias_standard_errors[:, 0] == pytest.approx(bias, rel=close)
    assert found.centred_standard_errors[:, 0] == pytest.approx(centred, rel=close, abs=1e-6)
    if exact or "own_items" not in choices:
        assert found.standard_errors == pytest.approx(scores, rel=close if exact else 0.04)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("trusted", [(0,), (1, 3)])
def test_trusted_evaluators_leave_no_error_of_their_own(
    trusted: tuple[int, ...], way: str, errors_by: Callable[[str], None]
) -> None:
    """Their bias is no parameter; a mean over all evaluators has no error from theirs."""
    drawn = world(2, 5)
    errors_by(way)
    found = fitted(drawn, anchor=list(trusted))
    scores, bias, centred, level = plain_errors(drawn, found, trusted)
    close = 0.02 if way == "in passes" else 1e-3
    assert found.standard_errors == pytest.approx(scores, rel=2.5 * close)
    assert found.bias_standard_errors[:, 0] == pytest.approx(bias, rel=close, abs=1e-12)
    assert found.centred_standard_errors[:, 0] == pytest.approx(centred, rel=close)
    assert found.mean_bias_standard_errors[0] == pytest.approx(level, rel=close)


def test_items_that_biases_explain_have_errors_in_single_precision_too(
    monkeypatch: pytest.MonkeyPatch, errors_by: Callable[[str], None]
) -> None:
    """Each evaluator compared once, so that with wide priors its bias explains all it said."""
    monkeypatch.setattr("comparity.ranking.likelihood.passes.SINGLE", 0)
    pairs, _, group = world(4, 1, n=40, times=6)
    errors_by("in passes")
    found = barp(
        pairs,
        evaluators=np.arange(len(pairs)),
        sensitive_features=group,
        score_prior=1e3,
        bias_prior=1e3,
        corrected=False,
        tolerance=1e-3,
    )
    assert (found.standard_errors > 0.1).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_small_panel_of_one_evaluator_is_fitted(seed: int) -> None:
    """What the evaluator's items explain of its bias is all of it, but for the anchor."""
    pairs, evaluators, group = world(seed, 1, n=12, times=30)
    found = barp(pairs, evaluators=evaluators, sensitive_features=group)
    assert found.converged
    assert found.gradient_norm < 1e-6
    assert np.isfinite(found.bias_standard_errors).all()
    assert found.centred_standard_errors[0, 0] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_levels_of_groups_have_the_error_of_their_difference(
    way: str, errors_by: Callable[[str], None]
) -> None:
    """Simulated: how far the difference of groups' means is off, from panel to panel."""
    errors_by(way)
    off, promised = [], []
    for seed in range(60):
        drawn, truth = world_and_scores(seed, 4)
        found = fitted(drawn, anchor="zero mean bias")
        side = drawn.group == 1
        gap, true = (np.mean(s[side]) - np.mean(s[~side]) for s in (found.scores, truth))
        off.append(gap - true)
        promised.append(found.level_standard_errors[0])
    # The standard error of a standard deviation of 60 draws is 9 %; scores are drawn together a
    # little, by the prior.
    assert np.std(off) == pytest.approx(np.mean(promised), rel=0.3)


def test_an_evaluator_who_says_nothing_leaves_the_levels_of_groups() -> None:
    """Groups have equal means by assumption, whatever one more evaluator may lean."""
    drawn = world(3, 5)
    known, same = fitted(drawn), np.flatnonzero(drawn.group == 0)[:2]
    more = World(np.vstack([drawn.pairs, same]), np.append(drawn.evaluators, 5), drawn.group)
    found = fitted(more)
    assert found.level_standard_errors == pytest.approx(known.level_standard_errors, rel=0.01)
    assert found.mean_bias_standard_errors[0] > 0.9 * BIAS_SD / 6


def test_errors_of_scores_know_how_strong_the_prior_of_biases_is() -> None:
    """Against numpy's inverse; a prior nearly as strong as the comparisons of one evaluator."""
    n, drawn = 30, world(2, 60, n=30, times=20)
    judged = judgments_of(drawn.pairs, n_items=n, evaluators=drawn.evaluators)
    rows = rows_of(judged, drawn.group[:, None].astype(np.int8), seat_by_evaluator=False)
    basis, point = np.column_stack([np.ones(n), drawn.group]), np.zeros(n + judged.n_evaluators)

    def evaluated(prior: float) -> Penalised:
        penalty = Penalty(scores=0.5, bias=np.array([[prior]]))
        objective = Penalised(pass_over(rows), penalty, basis, flat=True)
        objective.evaluate(point)
        return objective

    blocks = evaluated(1.0).last.bias_blocks
    objective = evaluated(0.9 * float(blocks[blocks > 0].min()))
    within = np.eye(n) - basis @ np.linalg.pinv(basis)
    exact = within @ np.linalg.inv(dense_hessian(objective))[:n, :n] @ within
    assert OnePass(objective).scores == pytest.approx(np.diagonal(exact), rel=0.1)
