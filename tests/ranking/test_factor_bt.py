"""Witnesses: the definition in tests/plain, finite differences, and scipy from elsewhere."""

from math import log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from comparity import crowd_bt, factor_bt
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.errors import (
    LengthMismatchError,
    NoPriorError,
    OneGroupError,
    OptionError,
    PositionError,
)
from comparity.ranking.judgments import judgments_of
from comparity.ranking.mixture_likelihoods import MixtureModel, mixture_of
from comparity.ranking.rank import rank_frames
from tests.plain import mixtures

ITEMS, JUDGES, COLUMNS = 6, 4, 2
RNG = np.random.default_rng(2019)
PAIRS = np.array([RNG.choice(ITEMS, 2, replace=False) for _ in range(60)])
WHO = RNG.integers(0, JUDGES, 60)
TIES = RNG.random(60) < 0.2
GROUPS = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [1, 0], [0, 0]], dtype=float)
PRIORS = {"score_sd": 2.0, "slope_sd": 1.5, "beta": (3.0, 1.5)}


def model(**options: object) -> MixtureModel:
    contrast = GROUPS[PAIRS[:, 0]] - GROUPS[PAIRS[:, 1]]
    judgments = judgments_of(PAIRS, evaluators=WHO, ties=TIES)
    return mixture_of(judgments, contrast=contrast, **(PRIORS | options))


def point(rng: np.random.Generator) -> NDArray[np.float64]:
    slopes = rng.normal(0, 1, JUDGES * COLUMNS)
    return np.concatenate([rng.normal(0, 2, ITEMS), rng.uniform(0.05, 0.95, JUDGES), slopes])


def test_the_loss_is_that_of_the_definition() -> None:
    at = point(np.random.default_rng(1))
    scores, shares = at[:ITEMS].tolist(), at[ITEMS : ITEMS + JUDGES].tolist()
    slopes = at[ITEMS + JUDGES :].reshape(JUDGES, COLUMNS).tolist()
    flat = [slope for row in slopes for slope in row]
    total = mixtures.log_prior(scores, shares, flat, virtual=0.0, **PRIORS)
    for (w, x), k, tied in zip(PAIRS, WHO, TIES, strict=True):
        one, other = (
            log(
                mixtures.factor_bt(scores[i], scores[j], shares[k], slopes[k], GROUPS[i], GROUPS[j])
            )
            for i, j in ((w, x), (x, w))
        )
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


def simulated(
    attention: list[float], slopes: list[float], per_judge: int, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Draw comparisons of 12 items in two groups from the model itself."""
    rng = np.random.default_rng(seed)
    scores, group = rng.normal(0, 1.5, 12), np.arange(12) % 2
    who = np.repeat(np.arange(len(attention)), per_judge)
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in who])
    d = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    pull = np.array(slopes)[who] * (group[pairs[:, 0]] - group[pairs[:, 1]])
    looks = rng.random(len(who)) < np.array(attention)[who]
    first = rng.random(len(who)) < expit(np.where(looks, d, pull))
    return np.where(first[:, None], pairs, pairs[:, ::-1]), who, scores, group


def test_attention_and_slopes_of_the_model_are_recovered() -> None:
    attention, slopes = [1.0, 0.7, 0.5, 0.6], [0.0, 3.0, -3.0, 0.0]
    pairs, who, scores, group = simulated(attention, slopes, 3000)
    fit = factor_bt(pairs, evaluators=who, sensitive_features=group, attention_prior=(1, 1))
    # Standard errors near 0.02, from the information were the scores known.
    d = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    x = group[pairs[:, 0]] - group[pairs[:, 1]]
    for k, gamma in enumerate(attention):
        p, q = expit(d[who == k]), expit(slopes[k] * x[who == k])
        information = (((p - q) / (gamma * p + (1 - gamma) * q)) ** 2).sum()
        assert abs(fit.parameters["attention"][k] - gamma) < 5 / np.sqrt(information)
    found = fit.parameters["slopes"][:, 0]
    assert found[1] > 2
    assert found[2] < -2
    assert abs(found[3]) < 0.5
    assert np.corrcoef(fit.scores, scores)[0, 1] > 0.99


def test_scipy_finds_nothing_better_from_a_random_start() -> None:
    pairs, who, _, group = simulated([0.95, 0.8, 0.7], [0, 2, -2], 80)
    fit = factor_bt(pairs, evaluators=who, sensitive_features=group)
    contrast = (group[pairs[:, 0]] - group[pairs[:, 1]])[:, None].astype(float)
    judgments = judgments_of(pairs, evaluators=who)
    data = mixture_of(judgments, contrast=contrast, score_sd=5.0, slope_sd=5.0, beta=(10.0, 1.0))
    end = [fit.scores, fit.parameters["attention"], fit.parameters["slopes"].ravel()]
    ours = data.loss(np.concatenate(end))[0]
    bounds = [(None, None)] * 12 + [(1e-9, 1)] * 3 + [(None, None)] * 3
    rng = np.random.default_rng(4)
    for _ in range(3):
        start = np.concatenate([rng.normal(size=12), rng.uniform(0.4, 0.9, 3), rng.normal(size=3)])
        other = minimize(lambda x: data.loss(x)[0], start, method="SLSQP", bounds=bounds, tol=1e-12)
        assert ours <= other.fun + 1e-6
    assert fit.converged
    assert fit.gradient_norm < 1e-7 * len(pairs)


def test_without_lean_it_is_the_bradley_terry_model_that_crowd_bt_gives() -> None:
    pairs, who, _, group = simulated([1.0, 1.0], [0, 0], 200)
    certain = (1e5, 1.0)
    fit = factor_bt(pairs, evaluators=who, sensitive_features=group, attention_prior=certain)
    other = crowd_bt(pairs, evaluators=who, reliability_prior=certain)
    assert fit.scores == pytest.approx(other.scores, abs=1e-5)


def test_names_of_the_groups_do_not_matter() -> None:
    pairs, who, _, group = simulated([0.8, 0.7], [2, -2], 200)
    one = factor_bt(pairs, evaluators=who, sensitive_features=group)
    other = factor_bt(pairs, evaluators=who, sensitive_features=np.where(group == 1, "a", "b"))
    assert one.scores == pytest.approx(other.scores, abs=1e-4)
    assert one.parameters["slopes"] == pytest.approx(-other.parameters["slopes"], abs=1e-3)


def test_several_attributes_and_groups_have_a_column_each() -> None:
    panel = simulate_comparisons(
        rng=np.random.default_rng(1), n_items=20, groups={"sex": 8, "race": 6}, n_evaluators=5
    )
    groups = dict(panel.groups) | {"age": np.arange(20) % 3}
    fit = factor_bt(panel.comparisons, evaluators=panel.evaluators, sensitive_features=groups)
    assert fit.parameters["slopes"].shape == (5, 4)
    assert any("race: b over a" in note for note in fit.notes)
    assert np.isfinite(fit.scores).all()


def test_evaluators_who_always_choose_one_group_have_finite_slopes() -> None:
    pairs = [[0, 2], [1, 3], [0, 3], [1, 2], [0, 1], [2, 3]] * 3
    fit = factor_bt(pairs, evaluators=["ann"] * 18, sensitive_features=["a", "a", "b", "b"])
    assert np.isfinite(fit.parameters["slopes"]).all()
    assert fit.diagnosis.one_sided.tolist() == [0]


def test_one_comparison_for_each_evaluator_leaves_all_numbers_finite() -> None:
    pairs, _, scores, group = simulated([0.9], [1.0], 300)
    fit = factor_bt(pairs, evaluators=np.arange(300), sensitive_features=group)
    assert np.isfinite(fit.scores).all()
    assert np.isfinite(fit.parameters["slopes"]).all()
    assert np.corrcoef(fit.scores, scores)[0, 1] > 0.9


def test_several_peaks_are_reported() -> None:
    panel = simulate_comparisons(rng=np.random.default_rng(0), bias=norm(0, 10))
    options = {"evaluators": panel.evaluators, "sensitive_features": panel.groups}
    fit = factor_bt(panel.comparisons, attention_prior=(1, 1), **options)
    assert any("several peaks" in note for note in fit.notes)


def test_bad_input_is_named() -> None:
    options = {"evaluators": ["a", "b"]}
    with pytest.raises(OneGroupError):
        factor_bt([[0, 1], [1, 0]], sensitive_features=["a", "a"], **options)
    with pytest.raises(PositionError):
        factor_bt([[0, 1], [2, 0]], sensitive_features=["a", "b"], **options)
    with pytest.raises(LengthMismatchError):
        factor_bt([[0, 1]], sensitive_features=["a", "b"], **options)
    with pytest.raises(OptionError, match="evaluators"):
        factor_bt([[0, 1]], sensitive_features=["a", "b"], evaluators=None)
    with pytest.raises(OptionError, match="slopes"):
        factor_bt([[0, 1]], sensitive_features=["a", "b"], evaluators=["a"], slope_prior=-1)
    with pytest.raises(OptionError, match="attention_prior"):
        factor_bt([[0, 1]], sensitive_features=["a", "b"], evaluators=["a"], attention_prior=(0, 1))


def test_without_priors_numbers_that_would_be_infinite_are_refused() -> None:
    pairs = [[0, 2], [1, 3], [2, 1], [3, 0], [0, 1], [1, 0], [2, 3], [3, 2]]
    groups = ["a", "a", "b", "b"]
    with pytest.raises(NoPriorError, match="scores"):
        factor_bt(pairs[:2], evaluators=["a", "a"], sensitive_features=groups, score_prior=None)
    one_sided = ["x", "x", "y", "y", "x", "x", "y", "y"]
    with pytest.raises(NoPriorError, match="slopes"):
        factor_bt(pairs, evaluators=one_sided, sensitive_features=groups, slope_prior=None)


def test_tables_that_name_items_give_the_same_scores() -> None:
    import polars

    pairs, who, _, group = simulated([0.9, 0.8], [1, -1], 60)
    names = np.array([f"i{place:02d}" for place in range(12)])
    frame = polars.DataFrame({"better": names[pairs[:, 0]], "worse": names[pairs[:, 1]], "by": who})
    items = polars.DataFrame({"item": names, "sex": group})
    fit = rank_frames(frame, items, model="factorbt", sensitive=["sex"], evaluator="by").ranking
    other = factor_bt(pairs, evaluators=who, sensitive_features=group)
    assert fit.scores == pytest.approx(other.scores)
