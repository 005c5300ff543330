"""Evaluators of items that come in lots, with scores and spreads of lots integrated out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from comparity.ranking.likelihood.lot_likelihood import (
    LOG_SHARES,
    NO_TASTE,
    NODES,
    LotLikelihood,
    Lots,
)
from comparity.ranking.lots import _sandwich, find_opposed, fit_lots
from tests.plain.lots import (
    Judgment,
    likelihood_of_opinions,
    likelihood_of_pair,
    likelihood_of_three,
)

Rng = np.random.Generator
SHARPNESS = (2.0, 0.7)


def draw(
    rng: Rng,
    n_lots: int,
    n_items: int,
    *,
    spread: float,
    ties: bool = False,
    tastes: tuple[float, float] = (0.0, 0.0),
) -> Lots:
    """Draw judgments of two evaluators, each of whom sees all pairs of a lot in both seats.

    Those with a taste are said to have one.
    """
    one, two = np.triu_indices(n_items, 1)
    first, second = np.concatenate([one, two, one, two]), np.concatenate([two, one, two, one])
    who = np.tile(np.repeat([0, 1], 2 * len(one)), n_lots)
    lot = np.repeat(np.arange(n_lots), len(first))
    first, second = np.tile(first, n_lots) + lot * n_items, np.tile(second, n_lots) + lot * n_items
    length = rng.normal(size=n_lots * n_items)
    sd = np.repeat(np.exp(rng.normal(0, spread, n_lots)), n_items)
    quality = sd * rng.normal(size=len(length)) + length
    sharpness = np.array(SHARPNESS)[who]
    seen = quality + np.array(tastes)[:, None] * sd * rng.normal(size=(2, len(length)))
    lead = sharpness * (seen[who, first] - seen[who, second]) + 0.3
    won = rng.random(len(who)) < expit(lead)
    tied = (rng.random(len(who)) < 0.2) if ties else np.zeros(len(who), dtype=bool)
    better, worse = np.where(won, first, second), np.where(won, second, first)
    numbers = np.column_stack([length[better] - length[worse], np.where(won, 1.0, -1.0)])
    own = np.where(np.array(tastes) > 0, np.cumsum(np.array(tastes) > 0) - 1, NO_TASTE)
    return Lots.of(better, worse, who, numbers, tied=tied, cluster=lot, tastes=own)


def judgments_of(data: Lots, lot: int, point: np.ndarray, log_ties: np.ndarray) -> list[Judgment]:
    """Return the judgments of one lot as the plain definition takes them."""
    blocks = range(data.lots[lot], data.lots[lot + 1])
    return [one for block in blocks for one in judgments_in(data, block, point, log_ties)]


def judgments_in(data: Lots, block: int, point: np.ndarray, log_ties: np.ndarray) -> list[Judgment]:
    """Return the judgments of one block."""
    found: list[Judgment] = []
    for pair in range(data.blocks[block], data.blocks[block + 1]):
        for row in range(data.bounds[pair], data.bounds[pair + 1]):
            i, j = data.pairs[pair].tolist()[:: int(data.sign[row])]
            own, log_tie = point[data.evaluator[row]], float(log_ties[data.evaluator[row]])
            offset = float(own[1:] @ data.numbers[row])
            tie = None if np.isinf(log_tie) else log_tie
            found.append((i, j, float(own[0]), offset, bool(data.tied[row]), tie))
    return found


@pytest.mark.parametrize("ties", [False, True])
def test_the_likelihood_of_pairs_is_their_integral(ties: bool) -> None:
    data = draw(np.random.default_rng(1), 3, 2, spread=0.5, ties=ties)
    likelihood = LotLikelihood(data, 2)
    point = likelihood.start + 0.1
    own, log_ties, _, spread = likelihood.split(point)
    expected = 0.0
    for lot in range(3):
        judgments = judgments_of(data, lot, own, log_ties)
        sds = np.exp(spread * NODES).tolist()
        one = [likelihood_of_pair(judgments, sd) for sd in sds]
        expected += float(np.log(np.exp(LOG_SHARES) @ one))
    assert likelihood.evaluate(point)[0] == pytest.approx(expected, abs=1e-4)


def test_the_likelihood_of_three_items_is_nearly_their_integral() -> None:
    data = draw(np.random.default_rng(2), 2, 3, spread=0.5)
    likelihood = LotLikelihood(data, 2)
    point = likelihood.start
    point[-1] = 0.0
    own, log_ties, *_ = likelihood.split(point)
    parts = [likelihood_of_three(judgments_of(data, lot, own, log_ties), 1.0) for lot in (0, 1)]
    # Gaussian sites: twelve judgments of three pairs are off by less than a hundredth.
    assert likelihood.evaluate(point)[0] == pytest.approx(float(np.log(parts).sum()), abs=0.01)


@pytest.mark.parametrize("tastes", [(0.0, 0.8), (0.6, 0.8)])
def test_the_likelihood_of_opinions_is_nearly_their_integral(tastes: tuple[float, float]) -> None:
    data = draw(np.random.default_rng(12), 3, 2, spread=0.0, tastes=tastes)
    likelihood = LotLikelihood(data, 2)
    point = likelihood.start
    point[-likelihood.n_even :] = [*filter(None, tastes), 0.0]
    own, log_ties, *_ = likelihood.split(point)
    expected = 0.0
    for lot in range(3):
        blocks = range(data.lots[lot], data.lots[lot + 1])
        seen = [judgments_in(data, block, own, log_ties) for block in blocks]
        expected += np.log(likelihood_of_opinions([*zip(tastes, seen, strict=True)], 1.0))
    # Gaussian sites, again: two of them in each lot.
    assert likelihood.evaluate(point)[0] == pytest.approx(expected, abs=0.01)
    point[-2] = 0.0
    assert abs(likelihood.evaluate(point)[0] - expected) > 0.02


def test_without_any_taste_a_taste_of_zero_changes_nothing() -> None:
    rng, other = np.random.default_rng(13), np.random.default_rng(13)
    plain, tasted = draw(rng, 10, 3, spread=0.5), draw(other, 10, 3, spread=0.5, tastes=(0, 1e-9))
    likelihoods = LotLikelihood(plain, 2), LotLikelihood(tasted, 2)
    points = [one.start.copy() for one in likelihoods]
    points[1][-2] = 0.0
    alone, with_taste = (
        one.evaluate(point) for one, point in zip(likelihoods, points, strict=True)
    )
    # Both evaluators' judgments of a pair are one function there, and two here; 10 lots.
    assert with_taste[0] == pytest.approx(alone[0], abs=0.06)
    assert_allclose(with_taste[1][:, -2], 0.0)


def test_opinions_do_not_pass_for_sharpness_nor_for_leans() -> None:
    data = draw(np.random.default_rng(14), 150, 4, spread=0.3, tastes=(0.0, 2.0))
    found, blind = fit_lots(data, 2), fit_lots(without_tastes(data), 2)
    leans, errors = found.leans(0, beside=1)
    assert abs(found.sharpness[1] - SHARPNESS[1]) < 3 * found.sharpness_errors[1]
    assert abs(leans[1, 0]) < 3 * errors[1, 0]
    assert found.tastes[0] > 1
    # Without a taste such an evaluator seems sharper, and to lean against what is better.
    assert blind.sharpness[1] > found.sharpness[1] + 0.2
    assert blind.leans(0, beside=1)[0][1, 0] < leans[1, 0] - 0.4


def without_tastes(data: Lots) -> Lots:
    """Return the same comparisons by evaluators who see scores as they are."""
    item = np.repeat(data.pairs, np.diff(data.bounds), axis=0) + data.items[data.lot][:, None]
    better, worse = np.where(data.sign[:, None] > 0, item, item[:, ::-1]).T
    return Lots.of(
        *(better, worse, data.evaluator, data.numbers), tied=data.tied, cluster=data.cluster
    )


@pytest.mark.parametrize("tastes", [(0.0, 0.0), (0.0, 0.8), (0.6, 0.8)])
@pytest.mark.parametrize(("n_items", "ties"), [(2, False), (2, True), (4, False), (4, True)])
def test_slopes_are_those_of_finite_differences(
    n_items: int, ties: bool, tastes: tuple[float, float]
) -> None:
    data = draw(np.random.default_rng(3), 20, n_items, spread=0.5, ties=ties, tastes=tastes)
    likelihood = LotLikelihood(data, 2)
    point = likelihood.start + np.random.default_rng(4).normal(0, 0.2, likelihood.size)
    slopes = likelihood.evaluate(point)[1].sum(axis=0)
    steps = 1e-2 * np.eye(likelihood.size)
    up, down = ([likelihood.evaluate(point + s * step)[0] for step in steps] for s in (1, -1))
    # A central difference over 0.02 is off by a six-thousandth of the third derivative.
    assert_allclose((np.array(up) - down) / 2e-2, slopes, atol=0.02)


def test_another_optimiser_finds_the_same_maximum() -> None:
    data = draw(np.random.default_rng(5), 60, 2, spread=0.5)
    likelihood = LotLikelihood(data, 2)
    found = fit_lots(data, 2)
    other = minimize(
        lambda point: -likelihood.posterior(point)[0],
        likelihood.start,
        method="Powell",
        options={"xtol": 1e-4, "ftol": 1e-9},
    )
    own, _, _, spread = likelihood.split(other.x)
    assert found.converged
    assert_allclose(found.sharpness, own[:, 0], atol=0.02)
    assert_allclose(found.worth, own[:, 1:], atol=0.02)
    assert found.spread == pytest.approx(abs(spread), abs=0.02)


def test_an_evaluator_against_the_others_has_a_negative_sharpness() -> None:
    rng = np.random.default_rng(6)
    data = draw(rng, 150, 2, spread=0.0)
    turned = data.evaluator == 1
    against = data._replace(
        sign=np.where(turned, -data.sign, data.sign),
        numbers=np.where(turned[:, None], -data.numbers, data.numbers),
    )
    plain, inverted = fit_lots(data, 2), fit_lots(against, 2)
    assert inverted.sharpness[1] < 0
    # But for the prior, which is about one, it is the same fit.
    assert_allclose(inverted.sharpness[1], -plain.sharpness[1], atol=0.1)


@pytest.mark.parametrize("turned", [0, 1, 2])
def test_whoever_is_against_most_others_or_the_first_is_opposed(turned: int) -> None:
    rng = np.random.default_rng(8)
    data = draw(rng, 80, 2, spread=0.0)
    # The second evaluator once more, as a third.
    own = np.where((data.evaluator == 1) & (rng.random(len(data.sign)) < 0.5), 2, data.evaluator)
    sign = np.where(own == turned, -data.sign, data.sign)
    data = data._replace(evaluator=own, sign=sign)
    votes: dict[tuple[int, int, int], list[float]] = {}
    keys = np.repeat(np.arange(len(data.pairs)), np.diff(data.bounds))
    for key, who, vote in zip(keys, own, sign, strict=True):
        where = (int(data.lot[data.bounds[key]]), *data.pairs[key].tolist())
        votes.setdefault(where, [0.0] * 3)[who] += vote
    agree = np.array([*votes.values()])
    assert (agree[:, turned] @ np.delete(agree, turned, axis=1) < 0).all()
    most, first = (find_opposed(data, 3, first_leads=one) for one in (False, True))
    assert most.tolist() == [k == turned for k in range(3)]
    assert first.tolist() == ([False, True, True] if turned == 0 else most.tolist())


def test_leans_are_what_is_left_of_worth_and_errors_follow() -> None:
    found = fit_lots(draw(np.random.default_rng(7), 100, 2, spread=0.5), 2)
    leans, errors = found.leans(0, beside=1)
    g, worth = found.sharpness, found.worth
    assert leans[1, 0] == pytest.approx(worth[1, 0] - g[1] / g[0] * worth[0, 0])
    assert leans[1, 1] == pytest.approx(worth[1, 1] - worth[0, 1])
    assert_allclose([leans[0], errors[0]], 0.0)
    drawn = np.random.default_rng(8).multivariate_normal(
        np.column_stack([g, worth]).ravel(), found.covariance * 1e-4, 20_000
    )
    tilted = drawn[:, 4] - drawn[:, 3] / drawn[:, 0] * drawn[:, 1]
    # An SD of 20,000 draws is off by half a hundredth of itself.
    assert errors[1, 0] == pytest.approx(100 * tilted.std(), rel=0.025)
    assert errors[1, 1] == pytest.approx(100 * (drawn[:, 5] - drawn[:, 2]).std(), rel=0.025)


def test_two_lots_of_one_cluster_that_say_the_same_are_one() -> None:
    rng = np.random.default_rng(9)
    one = draw(rng, 200, 2, spread=0.3)
    alone = fit_lots(one, 2)

    def twice(values: np.ndarray, step: int = 0) -> np.ndarray:
        return np.concatenate([values, values + step])

    double = Lots(
        items=np.arange(0, 801, 2),
        lots=np.arange(401),
        blocks=np.arange(401),
        taste=twice(one.taste),
        block=np.arange(400),
        pairs=twice(one.pairs),
        bounds=np.append(one.bounds, one.bounds[1:] + one.bounds[-1]),
        **{"evaluator": twice(one.evaluator), "lot": twice(one.lot, 200)},
        **{"cluster": twice(one.cluster), "sign": twice(one.sign)},
        **{"numbers": twice(one.numbers), "tied": np.tile(one.tied, 2)},
        order=twice(one.order, 400),
    )
    # Priors weigh half as much, and nothing is gained by saying all twice.
    together = fit_lots(double, 2)
    assert_allclose(together.worth, alone.worth, atol=0.1)
    assert_allclose(together.leans(0)[1], alone.leans(0)[1], rtol=0.1, atol=1e-12)


def test_errors_with_clusters_are_those_of_a_mean_of_cluster_means() -> None:
    """Of five clusters of two lots each."""
    values = np.random.default_rng(10).normal(size=10)
    cluster = np.arange(10) % 5
    data = SimpleNamespace(lot=np.arange(10), cluster=cluster)
    likelihood: Any = SimpleNamespace(data=data, precision=np.zeros(1))
    slopes = (values - values.mean())[:, None]
    found = _sandwich(likelihood, slopes, np.array([[10.0]]))
    of_clusters = [values[cluster == one].mean() for one in range(5)]
    assert found == pytest.approx(np.array([[np.var(of_clusters, ddof=1) / 5]]))
