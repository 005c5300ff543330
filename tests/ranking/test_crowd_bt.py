"""Witnesses: the definition in tests/plain, finite differences, choix, and scipy from elsewhere."""

import math
from math import log

import choix
import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

from comparity import crowd_bt
from comparity.errors import NoPriorError, OptionError
from comparity.ranking.judgments import judgments_of
from comparity.ranking.mixture_likelihoods import (
    LARGEST_LOG_RATIO,
    MixtureModel,
    add_mixture,
    mixture_of,
)
from comparity.ranking.rank import rank_frames
from tests.plain import mixtures

ITEMS, JUDGES = 6, 4
RNG = np.random.default_rng(2013)
PAIRS = np.array([RNG.choice(ITEMS, 2, replace=False) for _ in range(60)])
WHO = RNG.integers(0, JUDGES, 60)
TIES = RNG.random(60) < 0.2
PRIORS = {"score_sd": 2.0, "virtual": 0.3, "beta": (3.0, 1.5)}


def model(**options: object) -> MixtureModel:
    return mixture_of(judgments_of(PAIRS, evaluators=WHO, ties=TIES), **(PRIORS | options))


def point(rng: np.random.Generator) -> NDArray[np.float64]:
    return np.concatenate([rng.normal(0, 2, ITEMS), rng.uniform(0.05, 0.95, JUDGES)])


def test_the_loss_is_that_of_the_definition() -> None:
    at = point(np.random.default_rng(1))
    scores, shares = at[:ITEMS].tolist(), at[ITEMS:].tolist()
    total = mixtures.log_prior(scores, shares, [], slope_sd=1.0, **PRIORS)
    for (w, x), k, tied in zip(PAIRS, WHO, TIES, strict=True):
        one = log(mixtures.crowd_bt(scores[w], scores[x], shares[k]))
        other = log(mixtures.crowd_bt(scores[x], scores[w], shares[k]))
        total += (one + other) / 2 if tied else one
    assert model().loss(at)[0] == pytest.approx(-total, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("beta", [(1.0, 1.0), (3.0, 1.5)])
def test_the_gradient_is_that_of_finite_differences(seed: int, beta: tuple[float, float]) -> None:
    at, data = point(np.random.default_rng(seed)), model(beta=beta)
    step = 1e-6
    central = [
        (data.loss(at + step * unit)[0] - data.loss(at - step * unit)[0]) / (2 * step)
        for unit in np.eye(len(at))
    ]
    assert data.loss(at)[1] == pytest.approx(np.array(central), rel=1e-6, abs=1e-6)


def test_the_gradient_at_certain_evaluators_is_that_of_one_sided_differences() -> None:
    at, data = point(np.random.default_rng(3)), model(beta=(1.0, 1.0))
    at[ITEMS:] = 1.0
    inside = approx_fprime(at, lambda x: data.loss(x)[0], -1e-8)
    assert data.loss(at)[1] == pytest.approx(inside, rel=1e-3, abs=1e-3)


def simulated(
    reliability: list[float], per_judge: int, n_items: int = 12, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Draw comparisons from the model itself."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1.5, n_items)
    who = np.repeat(np.arange(len(reliability)), per_judge)
    pairs = np.array([rng.choice(n_items, 2, replace=False) for _ in who])
    d = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    honest = rng.random(len(who)) < np.array(reliability)[who]
    first = (rng.random(len(who)) < expit(d)) == honest
    return np.where(first[:, None], pairs, pairs[:, ::-1]), who, scores


def test_reliabilities_and_scores_of_the_model_are_recovered() -> None:
    truth = [0.97, 0.9, 0.6, 0.2]
    pairs, who, scores = simulated(truth, 1500)
    fit = crowd_bt(pairs, evaluators=who, reliability_prior=(1, 1))
    d = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    for k, eta in enumerate(truth):
        p, q = expit(d[who == k]), expit(-d[who == k])
        information = (((p - q) / (eta * p + (1 - eta) * q)) ** 2).sum()
        # Scores are estimated too, so that 4 standard errors are meant generously.
        assert abs(fit.parameters["reliability"][k] - eta) < 4 / np.sqrt(information)
    assert np.corrcoef(fit.scores, scores)[0, 1] > 0.99


def test_certain_evaluators_give_the_penalised_bradley_terry_scores_of_choix() -> None:
    pairs, who, _ = simulated([1.0, 1.0], 100)
    fit = crowd_bt(pairs, evaluators=who, reliability_prior=(1e5, 1), score_prior=2.0)
    # choix penalises alpha times the sum of squares: alpha is half the precision.
    theirs = choix.opt_pairwise(12, pairs.tolist(), alpha=0.5 / 2.0**2, tol=1e-12)
    assert fit.scores == pytest.approx(theirs - theirs.mean(), abs=1e-5)
    assert fit.parameters["reliability"] == pytest.approx(np.ones(2))


def test_scipy_finds_nothing_better_from_a_random_start() -> None:
    pairs, who, _ = simulated([0.95, 0.8, 0.7], 60)
    fit = crowd_bt(pairs, evaluators=who)
    data = mixture_of(judgments_of(pairs, evaluators=who), score_sd=5.0, beta=(10.0, 1.0))
    ours = data.loss(np.concatenate([fit.scores, fit.parameters["reliability"]]))[0]
    bounds = [(None, None)] * 12 + [(1e-9, 1)] * 3
    start = np.concatenate([np.random.default_rng(4).normal(size=12), [0.6, 0.7, 0.8]])
    other = minimize(lambda x: data.loss(x)[0], start, method="SLSQP", bounds=bounds, tol=1e-12)
    assert ours <= other.fun + 1e-7
    assert fit.converged
    assert fit.gradient_norm < 1e-7 * len(pairs)


def test_the_likelihood_is_reported_without_the_prior() -> None:
    pairs, who, _ = simulated([0.9, 0.8], 50)
    fit = crowd_bt(pairs, evaluators=who)
    eta = fit.parameters["reliability"]
    chances = [
        mixtures.crowd_bt(fit.scores[w], fit.scores[x], eta[k])
        for (w, x), k in zip(pairs, who, strict=True)
    ]
    assert fit.log_likelihood == pytest.approx(np.log(chances).sum())


def test_a_tie_is_half_a_comparison_each_way() -> None:
    """So every comparison twice, and every tie once each way, with priors twice as strong."""
    pairs, who, _ = simulated([0.9, 0.8], 50)
    ties = np.arange(100) % 9 == 0
    fit = crowd_bt(pairs, evaluators=who, ties=ties, score_prior=2.0, reliability_prior=(3, 1))
    other = crowd_bt(
        np.vstack([pairs, np.where(ties[:, None], pairs[:, ::-1], pairs)]),
        evaluators=np.tile(who, 2),
        score_prior=2.0 / np.sqrt(2),
        reliability_prior=(5, 1),
    )
    assert fit.scores == pytest.approx(other.scores, abs=1e-4)
    assert fit.n_ties == ties.sum()
    assert any("half a comparison" in note for note in fit.notes)


def test_a_virtual_node_is_an_item_with_score_zero() -> None:
    """Half a win and half a loss of every item against it, from evaluators who are certain."""
    pairs, who, _ = simulated([1.0], 40)
    fit = crowd_bt(
        pairs, evaluators=who, score_prior=None, virtual_node=0.5, reliability_prior=(1e5, 1)
    )

    def loss(scores: NDArray[np.float64]) -> float:
        d = scores[pairs[:, 0]] - scores[pairs[:, 1]]
        games = np.logaddexp(0, scores) + np.logaddexp(0, -scores)
        return float(np.logaddexp(0, -d).sum() + 0.5 * games.sum())

    theirs = minimize(loss, np.zeros(12), method="BFGS", options={"gtol": 1e-6}).x
    assert fit.scores == pytest.approx(theirs - theirs.mean(), abs=1e-4)


def test_evaluators_are_reliable_on_average_where_the_prior_does_not_say() -> None:
    pairs, who, scores = simulated([0.9, 0.9, 0.05], 300, seed=5)
    for flat in ((1.0, 1.0), (2.0, 2.0)):
        fit = crowd_bt(pairs, evaluators=who, reliability_prior=flat)
        assert np.corrcoef(fit.scores, scores)[0, 1] > 0.95
        assert (fit.parameters["reliability"] > 0.5).tolist() == [True, True, False]


def test_one_comparison_for_each_evaluator_leaves_all_numbers_finite() -> None:
    pairs, _, scores = simulated([0.9], 300)
    for prior in ((10.0, 1.0), (1.0, 1.0)):
        fit = crowd_bt(pairs, evaluators=np.arange(300), reliability_prior=prior)
        assert np.isfinite(fit.scores).all()
        assert np.isfinite(fit.parameters["reliability"]).all()
    trusting = crowd_bt(pairs, evaluators=np.arange(300))
    assert np.corrcoef(trusting.scores, scores)[0, 1] > 0.9


def test_parts_never_compared_are_diagnosed_and_their_scores_finite() -> None:
    pairs = [[0, 1], [1, 0], [2, 3], [2, 3]]
    fit = crowd_bt(pairs, evaluators=["a", "b", "a", "b"], n_items=5)
    assert np.isfinite(fit.scores).all()
    assert fit.diagnosis.n_components == 3
    assert fit.diagnosis.undefeated.tolist() == [2]
    assert fit.diagnosis.uncompared.tolist() == [4]


@pytest.mark.parametrize(
    "options",
    [
        {"evaluators": None},
        {"score_prior": 0.0},
        {"score_prior": 1e-300},
        {"score_prior": float("nan")},
        {"reliability_prior": (0.5, 1)},
        {"reliability_prior": 2},
        {"virtual_node": -1},
        {"virtual_node": "one"},
        {"max_iterations": 0},
        {"tolerance": 0.0},
    ],
)
def test_impossible_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        crowd_bt([[0, 1]], **({"evaluators": ["a"]} | options))


def test_a_frame_names_its_columns() -> None:
    import polars

    pairs, who, _ = simulated([0.9, 0.8], 30)
    frame = polars.DataFrame({"better": pairs[:, 0], "worse": pairs[:, 1], "judge": who})
    assert crowd_bt(frame, evaluators="judge").scores == pytest.approx(
        crowd_bt(pairs, evaluators=who).scores
    )


def test_a_fit_names_its_priors() -> None:
    fit = crowd_bt(*simulated([0.9], 30)[:1], evaluators=["ann"] * 30, score_prior=3.0)
    assert [str(prior) for prior in fit.priors] == ["scores: Normal with SD 3 (the caller)"]
    assert "Beta(10, 1)" in fit.notes[0]
    assert fit.to_dict()["parameters"]["reliability"][0] == pytest.approx(
        fit.parameters["reliability"][0]
    )


def test_without_a_prior_an_undefeated_item_is_refused() -> None:
    with pytest.raises(NoPriorError, match="2 parts"):
        crowd_bt([[0, 1], [0, 1]], evaluators=["a", "b"], score_prior=None)
    kept = crowd_bt([[0, 1], [0, 1]], evaluators=["a", "b"], score_prior=None, virtual_node=0.5)
    assert np.isfinite(kept.scores).all()


def test_tables_that_name_items_give_the_same_scores() -> None:
    import polars

    pairs, who, _ = simulated([0.9, 0.8], 30)
    names = np.array([f"i{place:02d}" for place in range(12)])
    frame = polars.DataFrame({"better": names[pairs[:, 0]], "worse": names[pairs[:, 1]], "by": who})
    items = polars.DataFrame({"item": names})
    fit = rank_frames(frame, items, model="crowdbt", evaluator="by", score_prior=2.0).ranking
    assert fit.scores == pytest.approx(crowd_bt(pairs, evaluators=who, score_prior=2.0).scores)
    assert fit.items.tolist() == names.tolist()


@pytest.mark.parametrize(("share", "expected"), [(1.0, -800.0), (0.9, log(0.1)), (0.0, 0.0)])
def test_scores_far_apart_do_no_harm(share: float, expected: float) -> None:
    """The winner is 800 below: as unlikely as exp(-800), unless evaluators say the opposite."""
    judgments = judgments_of([[0, 1]], evaluators=["ann"])
    data = mixture_of(judgments, score_sd=np.inf)
    at = np.array([0.0, 800.0, share])
    assert data.log_likelihood(at) == pytest.approx(expected, abs=1e-12)
    assert np.isfinite(data.loss(at)[1]).all()


@pytest.mark.parametrize(
    ("lead", "other", "share"),
    [(-600.0, -590.0, 0.7), (-590.0, -600.0, 0.7), (-600.0, None, 1.0), (600.0, None, 0.0)],
)
def test_chances_too_small_for_a_number_have_their_own_gradient(
    lead: float, other: float | None, share: float
) -> None:
    """By mpmath, which has numbers small enough; without `other` evaluators answer the opposite."""
    with mpmath.workdps(30):
        one, two = (1 / (1 + mpmath.exp(-x)) for x in (lead, -lead if other is None else other))
        chance = share * one + (1 - share) * two
        of_lead = share * one * (1 - one) - (0 if other else (1 - share) * two * (1 - two))
        expected = float(mpmath.log(chance)), float(of_lead / chance)
        of_share = min(float((one - two) / chance), math.exp(LARGEST_LOG_RATIO))
    columns = 0 if other is None else 1
    contrast, slopes = np.ones((1, columns)), np.full((1, columns), other or 0.0)
    rows = (*np.array([[0], [1], [0]]), np.ones(1), contrast)
    gradient = np.zeros(2), np.zeros(1), np.zeros((1, columns))
    found = add_mixture(rows, (np.array([lead, 0.0]), np.array([share]), slopes), gradient)
    assert (found, gradient[0][0]) == pytest.approx(expected, rel=1e-9)
    if share not in (0.0, 1.0):
        assert gradient[1][0] == pytest.approx(of_share, rel=1e-9)
