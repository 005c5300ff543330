"""Training on judged pairs: foreign logistic regressions, finite differences, known truths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import statsmodels.api as sm

from comparity import ComparisonRanker, comparative_separation
from comparity.errors import ComparityError
from comparity.ranking.judgments import judgments_of
from comparity.training.bradley_terry_loss import (
    JudgedLoss,
    decided_judgments,
    split_items,
    split_judgments,
)

BETA = np.array([1.0, -0.5, 0.7])


def judge(
    quality: np.ndarray, n: int, rng: np.random.Generator, lean: np.ndarray | float = 0.0
) -> np.ndarray:
    """Return pairs of different items, better first by a Bradley-Terry judge who sees a lean."""
    first = rng.integers(0, len(quality), n)
    pairs = np.column_stack([first, (first + rng.integers(1, len(quality), n)) % len(quality)])
    seen = quality[pairs] + np.broadcast_to(lean, (n, len(quality)))[np.arange(n)[:, None], pairs]
    won = rng.random(n) < 1 / (1 + np.exp(seen[:, 1] - seen[:, 0]))
    return np.where(won[:, None], pairs, pairs[:, ::-1])


def leaning(n_items: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, groups and judgments; the first feature alone favours group 1."""
    rng = np.random.default_rng(seed)
    group, quality = rng.integers(0, 2, n_items), 2 * rng.normal(size=n_items)
    X = np.column_stack([quality + 1.5 * group, quality]) + rng.normal(size=(n_items, 2))
    return X, group, judge(quality, n, rng)


def test_without_a_goal_a_linear_score_is_a_logistic_regression_on_differences() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
    pairs = judge(X @ (BETA / [1.0, 10.0, 0.1]), 600, rng)
    ranker = ComparisonRanker(goal=None, l2=0.0).fit(X, pairs)
    turned = rng.random(600) < 0.5
    first = np.where(turned[:, None], pairs[:, ::-1], pairs)
    foreign = sm.Logit((~turned).astype(float), X[first[:, 0]] - X[first[:, 1]]).fit(disp=0)
    assert ranker.coef_ == pytest.approx(foreign.params, rel=1e-5)


def test_offsets_and_factors_of_judges_are_those_of_a_foreign_generalised_linear_model() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    pairs = judge(X @ BETA, 500, rng)
    sharpness, lean = np.exp(0.5 * rng.normal(size=500)), rng.normal(size=500)
    loss = JudgedLoss(sharpness=sharpness, lean=lean)
    apart = sharpness[:, None] * (X[pairs[:, 0]] - X[pairs[:, 1]])
    foreign = sm.GLM(np.ones(500), apart, family=sm.families.Binomial(), offset=lean).fit()
    assert loss.minimum(X[pairs.ravel()], l2=0.0) == pytest.approx(foreign.params, abs=1e-6)


def test_the_gradient_of_the_loss_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(2)
    loss = JudgedLoss(sharpness=rng.uniform(0.5, 2, 5), lean=rng.normal(size=5))
    scores, step = rng.normal(size=10), 1e-6
    moved = [(loss.bits(scores + step * e) - loss.bits(scores - step * e)) / 2 for e in np.eye(10)]
    assert loss.gradient(scores) == pytest.approx(np.array(moved) / step, abs=1e-8)


def test_the_largest_curvature_is_that_of_equal_scores_without_leans() -> None:
    loss = JudgedLoss(sharpness=np.array([1.0, 2.0]), lean=np.zeros(2))
    step = 1e-4
    bits = [loss.bits(np.array([0.0, 0.0, at, 0.0])) for at in (-step, 0.0, step)]
    second = np.diff(np.diff(bits))[0] / step**2
    assert loss.largest_curvature()[2] == pytest.approx(second, rel=1e-5)


def test_far_scores_have_finite_losses() -> None:
    loss = JudgedLoss(sharpness=np.ones(1), lean=np.zeros(1))
    assert loss.bits(np.array([-1e4, 0.0])) == pytest.approx(1e4 / np.log(2))
    assert loss.gradient(np.array([-1e4, 0.0])) == pytest.approx(np.array([-1, 1]) / np.log(2))


@pytest.mark.long
def test_known_coefficients_come_out_within_their_errors() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    pairs = judge(X @ BETA, 4000, rng)
    found = ComparisonRanker(goal=None).fit(X, pairs).coef_
    apart = X[pairs[:, 0]] - X[pairs[:, 1]]
    share = 1 / (1 + np.exp(-(apart @ BETA)))
    errors = np.sqrt(np.diag(np.linalg.inv(apart.T @ ((share * (1 - share))[:, None] * apart))))
    assert np.abs(found - BETA).max() < 3.5 * errors.max()


@pytest.mark.long
@pytest.mark.parametrize("goal", ["cross-group", "marginal", "statistical parity"])
def test_a_goal_is_kept_on_fresh_judgments(goal: str) -> None:
    X, group, pairs = leaning(800, 8000, 4)
    free, bound = (
        ComparisonRanker(goal=one, slack=0.01, steps=200, random_state=0).fit(
            X, pairs, sensitive_features=group
        )
        for one in (None, goal)
    )
    fresh_X, fresh_group, fresh = leaning(4000, 40000, 5)
    gaps = []
    for ranker in (free, bound):
        scores = ranker.predict(fresh_X)
        right = scores[fresh[:, 0]] > scores[fresh[:, 1]]
        better, worse = fresh_group[fresh].T
        if goal == "statistical parity":
            # Of judged pairs across groups: how often the item of group 1 is above.
            gaps.append(abs(2 * (right == (better == 1))[better != worse].mean() - 1))
        else:
            kept = [(better == g) & ((worse != g) | (goal == "marginal")) for g in (0, 1)]
            gaps.append(abs(right[kept[0]].mean() - right[kept[1]].mean()))
    # About 10,000 judgments in each kind: a standard error of 0.007, and 0.015 of 2,000 held out.
    assert gaps[0] > 0.07
    assert gaps[1] < 0.01 + 2.5 * np.hypot(0.007, 0.015)


@pytest.mark.long
@pytest.mark.parametrize(("scorer", "module"), [("neural", "cooper"), ("boosted", "lightgbm")])
def test_networks_and_trees_learn_from_judgments_what_no_linear_score_can(
    scorer: str, module: str
) -> None:
    pytest.importorskip(module)
    rng = np.random.default_rng(6)
    X, group = rng.normal(size=(700, 2)), rng.integers(0, 2, 700)
    pairs = judge(4 * X.prod(axis=1), 5000, rng)
    known = {"slack": 0.05, "steps": 150, "random_state": 0}
    ranker = ComparisonRanker(scorer=scorer, **known).fit(X, pairs, sensitive_features=group)
    linear = ComparisonRanker(goal=None).fit(X, pairs)
    others = rng.normal(size=(700, 2))
    fresh = judge(4 * others.prod(axis=1), 5000, rng)
    assert linear.score(others, fresh) < 0.56
    assert ranker.score(others, fresh) > 0.75


@pytest.mark.long
def test_leans_and_sharpness_are_taken_out_of_the_score_and_of_the_rates() -> None:
    rng = np.random.default_rng(7)
    n, m, judges = 300, 6000, 12
    group = rng.integers(0, 2, n)
    # Equal mean quality in both groups, which is what the panel's anchor assumes.
    X = rng.normal(size=(n, 3)) + group[:, None] * [-0.56, 0.0, 0.8]
    who = rng.integers(0, judges, m)
    lean = (0.9 + 0.5 * rng.normal(size=judges))[who][:, None] * group
    pairs = judge(X @ BETA, m, rng, lean)
    known = {"sensitive_features": group, "evaluators": who}
    plain = ComparisonRanker(goal=None).fit(X, pairs, **known).coef_
    found = ComparisonRanker(goal=None, adjust_judges=True).fit(X, pairs, **known).coef_
    # Judges who favour group 1 pass for a taste for its third feature.
    assert plain[2] / plain[0] > 0.85
    assert found / found[0] == pytest.approx(BETA, abs=0.1)
    free = ComparisonRanker(steps=1, slack=1.0, adjust_judges=True, validation_fraction=0)
    free.fit(X, pairs, **known)
    truth = judge(X @ BETA, 200_000, rng)
    agrees = (X @ free.coef_)[truth[:, 0]] > (X @ free.coef_)[truth[:, 1]]
    for better in (0, 1):
        cell = (group[truth[:, 0]] == better) & (group[truth[:, 1]] != better)
        told = free.training_.best.terms[f"{better} > {1 - better}"]
        # Some 1,500 judgments in each kind: a standard error of 0.01.
        assert told == pytest.approx(agrees[cell].mean(), abs=0.03)


def test_ties_are_counted_and_left_out() -> None:
    X, _, pairs = leaning(50, 300, 8)
    ties = np.arange(300) % 5 == 0
    with_ties = ComparisonRanker(goal=None).fit(X, pairs, ties=ties)
    without = ComparisonRanker(goal=None).fit(X, pairs[~ties])
    assert with_ties.n_ties_ == 60
    assert with_ties.coef_ == pytest.approx(without.coef_)


def test_the_score_is_the_share_of_judgments_agreed_with() -> None:
    X, group, pairs = leaning(60, 400, 9)
    ranker = ComparisonRanker(goal=None).fit(X, pairs, sensitive_features=group)
    scores = ranker.predict(X)
    agreed = np.mean(scores[pairs[:, 0]] > scores[pairs[:, 1]])
    assert ranker.score(X, pairs) == pytest.approx(agreed)


def test_the_audit_of_judgments_finds_the_rates_that_training_tells() -> None:
    X, group, pairs = leaning(200, 1500, 10)
    known = {"slack": 1.0, "steps": 1, "validation_fraction": 0, "goal": "all cells"}
    ranker = ComparisonRanker(**known).fit(X, pairs, sensitive_features=group)
    audit = comparative_separation(pairs, scores=ranker.predict(X), sensitive_features=group)
    found = {one.of: one.rate for one in audit.rates}
    assert ranker.training_.best.terms == pytest.approx(found)


def test_items_audited_are_not_trained_on_and_parts_are_kept_whole() -> None:
    rng = np.random.default_rng(11)
    one_part = judge(np.zeros(100), 2000, rng)
    train, held = split_items(one_part, 0.3, rng)
    assert not set(one_part[train].ravel()) & set(one_part[held].ravel())
    assert len(train) == pytest.approx(0.49 * 2000, abs=200)
    prompts = np.concatenate([4 * k + judge(np.zeros(4), 6, rng) for k in range(100)])
    for split in (split_items, split_judgments):
        train, held = split(prompts, 0.25, rng)
        assert len(train) + len(held) == 600
        assert not set(prompts[train].ravel()) & set(prompts[held].ravel())
        assert len(held) == pytest.approx(150, abs=6)


def test_judgments_of_the_same_two_items_stay_together() -> None:
    pairs = np.array([one for i in range(40) for one in pairwise((i, i + 1, i))])
    train, held = split_judgments(pairs, 0.25, np.random.default_rng(0))
    sides = [{tuple(sorted(pair)) for pair in pairs[part].tolist()} for part in (train, held)]
    assert len(held) == 20
    assert not sides[0] & sides[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "sensitive_features"),
        ({"sensitive_features": ["a", "b"] * 10}, "one entry for each row"),
        ({"sensitive_features": ["a", "b"] * 20, "ties": [True] * 100}, "tie"),
    ],
)
def test_what_cannot_be_trained_is_refused(given: dict, said: str) -> None:
    X, _, pairs = leaning(40, 100, 12)
    with pytest.raises(ComparityError, match=said):
        ComparisonRanker().fit(X, pairs, **given)


def test_a_part_of_judgments_that_are_all_ties_is_refused() -> None:
    judgments = judgments_of([[0, 1], [1, 2]], ties=[True, False])
    with pytest.raises(ComparityError, match="tie"):
        decided_judgments(judgments.subset(np.array([True, False])))


def test_leans_need_evaluators() -> None:
    X, group, pairs = leaning(40, 100, 13)
    with pytest.raises(ComparityError, match="evaluators"):
        ComparisonRanker(adjust_judges=True).fit(X, pairs, sensitive_features=group)
