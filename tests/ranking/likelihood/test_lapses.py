"""The likelihood with lapses against finite differences, enumeration and scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from scipy.stats import norm

from comparity import barp
from comparity.errors import OptionError
from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.lapses import LapsePass, lapse_rate, pass_over
from comparity.results.result import read_result


def rows_with(lapses: float | None, *, seats: bool = False) -> ComparisonRows:
    rng = np.random.default_rng(2)
    better = rng.integers(0, 5, 40).astype(np.int32)
    worse = ((better + rng.integers(1, 5, 40)) % 5).astype(np.int32)
    group = np.array([0, 1, 0, 1, 1], np.int8)
    return ComparisonRows(
        better=better,
        worse=worse,
        evaluator=np.repeat([0, 1], 20).astype(np.int32),
        contrast=(group[better] - group[worse])[:, None],
        n_items=5,
        n_evaluators=2,
        seat=np.where(rng.random(40) < 0.6, 1, -1).astype(np.int8) if seats else None,
        lapses=lapses,
    )


def loss(point: np.ndarray, rows: ComparisonRows, sharpness: np.ndarray) -> float:
    """Return minus the log-likelihood, by its definition."""
    extra = list(point[7:])
    rate = lapse_rate(extra.pop()) if rows.lapses is None else rows.lapses
    total = 0.0
    for p in range(len(rows.better)):
        k = rows.evaluator[p]
        lead = point[rows.better[p]] - point[rows.worse[p]] + point[5 + k] * rows.contrast[p, 0]
        margin = sharpness[k] * lead + (extra[0] * rows.seat[p] if rows.seat is not None else 0.0)
        total -= np.log((1 - rate) / (1 + np.exp(-margin)) + rate / 2)
    return float(total)


@pytest.mark.parametrize("lapses", [0.2, None])
@pytest.mark.parametrize("seats", [False, True])
def test_gradient_is_that_of_finite_differences(lapses: float | None, seats: bool) -> None:
    rows = rows_with(lapses, seats=seats)
    data, sharpness = pass_over(rows), np.array([1.5, 0.6])
    assert isinstance(data, LapsePass)
    data.sharpness = sharpness
    point = np.random.default_rng(3).normal(0, 1, 7 + rows.n_extra)
    parts = point[:5], point[5:7, None], point[7:]
    found = data.evaluate(*parts)
    assert found.loss == pytest.approx(loss(point, rows, sharpness), rel=1e-12)
    slopes = np.concatenate([found.scores[:, 0], found.bias.ravel(), found.extra])
    expected = approx_fprime(point, loss, 1e-7, rows, sharpness)
    assert slopes == pytest.approx(expected, abs=1e-4)
    lead, further = data.contributions(*parts)
    assert np.bincount(rows.evaluator, lead * rows.contrast[:, 0]) == pytest.approx(slopes[5:7])
    assert further.sum(axis=0) == pytest.approx(found.extra)


def test_curvature_is_the_mean_square_of_slopes_over_both_outcomes() -> None:
    margin, extra = np.array([0.7, -2.0, 4.0]), np.array([1.3])
    data = LapsePass(rows_with(None))
    one, two = data.curves(margin, extra), data.curves(-margin, extra)
    rate = lapse_rate(1.3)
    chance = (1 - rate) * expit(margin) + rate / 2
    square = chance * one.slope**2 + (1 - chance) * two.slope**2
    assert one.curvature == pytest.approx(square)
    assert one.curvature == pytest.approx(two.curvature)


@pytest.mark.parametrize("variance", [0.5, -0.5])
def test_slopes_are_averaged_over_margins(variance: float) -> None:
    rows = rows_with(0.1)
    data, part = LapsePass(rows), slice(0, 1)
    parts = np.array([0.9, 0.2, -0.4, 0.1, 0.3]), np.zeros((2, 1)), np.empty(0)

    def slope(margin: float) -> float:
        won = 1 / (1 + np.exp(-margin))
        return float(-0.9 * won * (1 - won) / (0.9 * won + 0.05))

    margin = parts[0][rows.better[0]] - parts[0][rows.worse[0]]
    mean = quad(lambda z: norm.pdf(z) * slope(margin + np.sqrt(0.5) * z), -8, 8)[0]
    expected = np.sign(variance) * (mean - slope(margin))
    found = data.bend(part, np.array([variance]), *parts)
    assert found == pytest.approx([expected], abs=2e-4)


def draw(rate: float, *, pairs: int = 400, seed: int = 5) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    group, scores, judge = np.arange(40) % 2, rng.normal(0, 2, 40), np.repeat(np.arange(6), pairs)
    one = rng.integers(0, 40, len(judge))
    two = (one + rng.integers(1, 40, len(judge))) % 40
    won = rng.random(len(judge)) < 1 / (1 + np.exp(scores[two] - scores[one]))
    won ^= rng.random(len(judge)) < rate / 2
    pairs_of = np.where(won[:, None], np.c_[one, two], np.c_[two, one])
    return {"comparisons": pairs_of, "evaluators": judge, "sensitive_features": group}


def test_scipy_finds_no_better_fit_at_a_given_rate() -> None:
    world = draw(0.1, pairs=100)
    known = {"score_prior": 2.0, "bias_prior": 1.5, "corrected": False}
    fit = barp(**world, **known, lapse_rate=0.1)
    better, worse = world["comparisons"].T
    group, judge = world["sensitive_features"], world["evaluators"]

    def penalised(point: np.ndarray) -> float:
        scores, bias = point[:40], point[40:]
        margin = scores[better] - scores[worse] + bias[judge] * (group[better] - group[worse])
        held = (scores**2).sum() / 8 + ((bias - bias.mean()) ** 2).sum() / 4.5
        return float(-np.log(0.9 * expit(margin) + 0.05).sum() + held)

    found = minimize(penalised, np.zeros(46), method="L-BFGS-B", options={"maxfun": 10**5})
    centred = found.x[40:] - found.x[40:].mean()
    assert fit.converged
    assert fit.centred_bias[:, 0] == pytest.approx(centred, abs=5e-3)


def test_a_rate_is_estimated_and_told(tmp_path: Any) -> None:
    fit = barp(**draw(0.2), lapse_rate="estimated", sharpness="equal")
    assert fit.lapses is not None
    low, high, _ = fit.lapses.interval()
    assert expit(low) < 0.2 < expit(high)
    assert expit(high) - expit(low) < 0.15
    assert str(fit.priors[-1]).startswith("log odds of lapses: Normal with SD 1.5")
    assert any("are taken for random, whoever made them" in note for note in fit.notes)
    again = read_result(fit.to_dict())
    assert again.lapses == fit.lapses
    given = barp(**draw(0.2), lapse_rate=0.2)
    assert given.lapses is None
    assert any("20.0% of judgments are taken for random, as given" in note for note in given.notes)


def test_without_lapses_none_are_found() -> None:
    fit = barp(**draw(0.0), lapse_rate="estimated")
    assert fit.lapses is not None
    assert expit(fit.lapses.value) < 0.04


@pytest.mark.parametrize(
    "choices",
    [
        {"lapse_rate": 1.0},
        {"lapse_rate": "yes"},
        {"lapse_rate": 0.1, "score_dependent": True},
        {"lapse_rate": 0.1, "ties": np.arange(600) % 9 == 0},
        {"lapse_rate": 0.1, "mode": "alternating"},
    ],
)
def test_what_knows_no_lapses_is_refused(choices: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        barp(**draw(0.0, pairs=100), **choices)


@pytest.mark.parametrize("spread", [0.0, 1.2])
def test_pulls_of_sharpness_are_means_over_margins_and_both_outcomes(spread: float) -> None:
    """Chances as defined, slopes by differences, means by a rule of fifty points."""
    rows, rate = rows_with(0.2), 0.2
    data = pass_over(rows)
    data.sharpness = np.array([1.5, 0.6])
    rng = np.random.default_rng(4)
    point = rng.normal(0, 1, 5), rng.normal(0, 1, (2, 1)), np.empty(0)
    pull, weight, lead = data.pull_of_sharpness(slice(None), np.full(40, spread), *point)
    nodes, shares = np.polynomial.hermite_e.hermegauss(50)
    led = (data.sharpness[rows.evaluator] * lead)[:, None] + np.sqrt(spread) * nodes
    chance, up, down = ((1 - rate) * expit(led + h) + rate / 2 for h in (0, 1e-5, -1e-5))
    slope = led * (up - down) / 2e-5
    mean = shares / shares.sum()
    assert pull == pytest.approx((-slope / chance) @ mean, abs=1e-4)
    both = chance * (slope / chance) ** 2 + (1 - chance) * (slope / (1 - chance)) ** 2
    assert weight == pytest.approx(both @ mean, abs=1e-4)
