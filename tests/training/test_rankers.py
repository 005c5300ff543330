"""Trained rankers: against a search over all directions, audits and scikit-learn's checks."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from comparity import FairRanker, FairRegressor, MetaFairClassifier, pairwise_accuracy
from comparity.errors import (
    ConstantLabelError,
    EmptyCellError,
    InfeasibleGoalWarning,
    LengthMismatchError,
    MissingSensitiveError,
    NonFiniteFeatureError,
    OneGroupError,
    OptionError,
    TooFewRowsError,
    TooManyGroupsError,
)
from comparity.training.rankers import trade_off
from tests.training.interaction import interaction
from tests.training.simulated import directions, ranking

EVERYWHERE = {"validation_fraction": 0, "l2": 0.0, "random_state": 0}
"""Train and choose on all rows, where a search over all directions is an exact oracle."""


@parametrize_with_checks(
    [
        FairRanker(goal=None, validation_fraction=0, steps=20),
        FairRegressor(goal=None, validation_fraction=0, steps=20),
    ]
)
def test_estimators_keep_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.fixture(scope="module")
def task() -> tuple[np.ndarray, ...]:
    return ranking(500, np.random.default_rng(7))


@pytest.fixture(scope="module")
def oracle(task: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return matrix and overall accuracy of all directions, one degree apart.

    Opposite directions order every pair the other way: half of them are audited.
    """
    X, y, group, query = task
    half = directions(1)[:180]
    found = [pairwise_accuracy(y, X @ w, sensitive_features=group, queries=query) for w in half]
    matrices, overall = np.array([one.matrix for one in found]), [one.overall for one in found]
    return np.concatenate([matrices, 1 - matrices]), np.append(overall, np.subtract(1, overall))


def audited(model: FairRanker, task: tuple[np.ndarray, ...]) -> tuple[np.ndarray, float]:
    X, y, group, query = task
    found = pairwise_accuracy(y, model.predict(X), sensitive_features=group, queries=query)
    return found.matrix, found.overall


def fitted(task: tuple[np.ndarray, ...], **choices: Any) -> FairRanker:
    X, y, group, query = task
    model = FairRanker(**{**EVERYWHERE, "steps": 200, **choices})
    return model.fit(X, y, sensitive_features=group, queries=query)


@pytest.mark.long
def test_without_a_goal_no_direction_orders_more_pairs(task, oracle) -> None:
    model = fitted(task, goal=None)
    assert audited(model, task)[1] >= oracle[1].max() - 0.002


@pytest.mark.long
@pytest.mark.parametrize("loss", ["hinge", "squared hinge"])
def test_constrained_no_direction_within_the_slack_orders_more_pairs(task, oracle, loss) -> None:
    matrices, overall = oracle
    allowed = np.abs(matrices[:, 0, 1] - matrices[:, 1, 0]) <= 0.05
    model = fitted(task, slack=0.05, loss=loss, referee_rate=0.3)
    matrix, accuracy = audited(model, task)
    assert abs(matrix[0, 1] - matrix[1, 0]) <= 0.05
    assert accuracy >= overall[allowed].max() - 0.01
    assert model.training_.feasible
    assert model.training_.best.accuracy == pytest.approx(accuracy)


@pytest.mark.long
def test_robust_no_direction_has_a_much_larger_least_rate(task, oracle) -> None:
    matrices, overall = oracle
    least = np.minimum(np.minimum(matrices[:, 0, 1], matrices[:, 1, 0]), overall)
    matrix, accuracy = audited(fitted(task, form="robust"), task)
    assert min(matrix[0, 1], matrix[1, 0], accuracy) >= least.max() - 0.01


@pytest.mark.long
def test_robust_with_two_goals_raises_the_sum_of_minima(task, oracle) -> None:
    """Table 4: min(A01, A10) + min(A00, A11)."""
    matrices, _ = oracle

    def worth(matrix: np.ndarray) -> Any:
        across = np.minimum(matrix[..., 0, 1], matrix[..., 1, 0])
        return across + np.minimum(matrix[..., 0, 0], matrix[..., 1, 1])

    model = fitted(task, form="robust", goal=("cross-group", "within-group"))
    assert worth(audited(model, task)[0]) >= worth(matrices).max() - 0.02


@pytest.mark.long
@pytest.mark.parametrize(
    ("goal", "slack", "gap"),
    [
        ("within-group", 0.02, lambda a: np.ptp(a.matrix.diagonal())),
        ("marginal", 0.02, lambda a: np.ptp(a.row_marginals)),
        ("symmetric", 0.02, lambda a: np.ptp(a.row_marginals + a.column_marginals)),
        ("all cells", 0.1, lambda a: np.ptp(a.matrix)),
    ],
)
def test_every_goal_narrows_its_own_gap(task, goal, slack, gap) -> None:
    X, y, group, query = task
    model = fitted(task, goal=goal, slack=slack, steps=150, step_sizes=(0.05, 0.5))
    free = fitted(task, goal=None, steps=150)
    after, before = (
        gap(pairwise_accuracy(y, X @ one.coef_, sensitive_features=group, queries=query))
        for one in (model, free)
    )
    assert model.training_.best.largest_difference == pytest.approx(after)
    assert after < max(before / 2, slack + 1e-6)


def test_statistical_parity_puts_groups_first_equally_often() -> None:
    rng = np.random.default_rng(3)
    group, y = rng.integers(0, 2, 600), rng.integers(0, 2, 600)
    X = np.column_stack([y + group, y - 0.5 * group]) + rng.normal(size=(600, 2))
    model = FairRanker(goal="statistical parity", slack=0.02, steps=200, **EVERYWHERE)
    scores = model.fit(X, y, sensitive_features=group).predict(X)
    first = (scores[group == 0][:, None] > scores[group == 1]).mean()
    assert abs(2 * first - 1) <= 0.02
    assert model.score(X, y) > 0.7


def test_parity_in_the_robust_form_costs_no_more_accuracy_than_it_need() -> None:
    """No rate can be raised above a half, where many mixtures have them."""
    rng = np.random.default_rng(3)
    group, y = rng.integers(0, 2, 600), rng.integers(0, 2, 600)
    X = np.column_stack([y + group, y - 0.5 * group]) + rng.normal(size=(600, 2))
    choices = {"goal": "statistical parity", "steps": 100, **EVERYWHERE}
    robust = FairRanker(form="robust", **choices).fit(X, y, sensitive_features=group).training_
    least = FairRanker(slack=0.0, **choices).fit(X, y, sensitive_features=group).training_
    assert min(robust.mixture.terms.values()) == pytest.approx(0.5, abs=1e-3)
    assert robust.mixture.accuracy > 0.7
    assert robust.mixture.accuracy == pytest.approx(least.mixture.accuracy, abs=0.02)


def test_terms_of_two_goals_are_kept_apart() -> None:
    """Accuracy and statistical parity compare the same two groups."""
    rng = np.random.default_rng(3)
    group, y = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    X = np.column_stack([y + group, y - 0.5 * group]) + rng.normal(size=(300, 2))
    both = ("cross-group", "statistical parity")
    model = FairRanker(goal=both, slack=0.5, steps=5, **EVERYWHERE).fit(X, y, group)
    scores, terms = model.predict(X), model.training_.best.terms
    matrix = pairwise_accuracy(y, scores, sensitive_features=group).matrix
    first = (scores[group == 0][:, None] > scores[group == 1]).mean()
    assert terms["0 > 1"] == pytest.approx(matrix[0, 1])
    assert terms["0 > 1 (statistical parity)"] == pytest.approx(first)


def test_multipliers_of_overlapping_minima_are_kept_apart(task) -> None:
    goals = ("cross-group", "all cells")
    model = fitted(task, goal=goals, form="robust", with_overall=True, steps=5)
    multipliers = model.training_.multipliers
    assert list(multipliers)[:3] == ["0 > 1", "1 > 0", "overall"]
    assert len(multipliers) == (2 + 1) + (4 + 1)
    # Each minimum has weights that sum to 1.
    assert sum(list(multipliers.values())[:3]) == pytest.approx(1)
    assert sum(multipliers.values()) == pytest.approx(2)


def test_many_groups_are_brought_within_the_slack() -> None:
    """Five groups have twenty kinds of cross-group pairs."""
    rng = np.random.default_rng(8)
    group, y = rng.integers(0, 5, 3000), rng.integers(0, 2, 3000)
    X = np.column_stack([y + 0.4 * group, 0.8 * y]) + rng.normal(size=(3000, 2))
    model = FairRanker(slack=0.1, steps=150, **EVERYWHERE).fit(X, y, sensitive_features=group)
    after = pairwise_accuracy(y, model.predict(X), sensitive_features=group).matrix
    before = pairwise_accuracy(y, X[:, 0], sensitive_features=group).matrix
    across = ~np.eye(5, dtype=bool)
    assert np.ptp(before[across]) > 0.4
    assert np.ptp(after[across]) <= 0.1
    assert model.training_.best.largest_difference == pytest.approx(np.ptp(after[across]))


@pytest.mark.parametrize("slack", [0.05, 0.1, 0.2, 0.3])
def test_of_many_groups_feasible_means_that_any_two_rates_are_within_the_slack(slack) -> None:
    rng = np.random.default_rng(9)
    group, y = rng.integers(0, 4, 600), rng.integers(0, 2, 600)
    X = np.column_stack([y + 0.4 * group, y]) + rng.normal(size=(600, 2))
    model = FairRanker(slack=slack, steps=20, **EVERYWHERE)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", InfeasibleGoalWarning)
        training = model.fit(X, y, sensitive_features=group).training_
    assert training.feasible == (training.mixture.largest_difference <= slack + 1e-6)
    assert training.feasible == (not told)
    # What is within the slack by itself costs no more than it need.
    if training.start.largest_difference <= slack:
        assert training.best.accuracy >= training.start.accuracy


def test_a_number_is_treated_alike_whichever_item_has_more_of_it() -> None:
    rng = np.random.default_rng(4)
    age, y = rng.normal(size=500), rng.integers(0, 2, 500)
    X = np.column_stack([y + 0.8 * age, y - 0.5 * age]) + rng.normal(size=(500, 2))
    model = FairRanker(continuous=True, slack=0.02, steps=200, **EVERYWHERE)
    model.fit(X, y, sensitive_features=age)
    found = pairwise_accuracy(y, model.predict(X), sensitive_features=age, continuous=True)
    assert abs(found.matrix[0, 1] - found.matrix[1, 0]) <= 0.02


@pytest.mark.long
def test_a_mixture_keeps_what_no_single_model_does(task, oracle) -> None:
    """With cross-group and within-group goals the exact optimum over all angles is a mixture."""
    matrices, overall = oracle
    single = np.abs(matrices[:, 0, 1] - matrices[:, 1, 0])
    single = np.maximum(single, np.abs(matrices[:, 0, 0] - matrices[:, 1, 1])) <= 0.01
    good = overall > 0.6
    assert not (single & good).any()
    model = fitted(task, goal=("cross-group", "within-group"), steps=300)
    mixture = model.training_.mixture
    assert model.training_.feasible
    assert mixture.largest_difference <= 0.01 + 1e-6
    assert mixture.accuracy > 0.6
    assert 2 <= len(model.stochastic_) <= 5
    assert model.training_.single_misses
    told = " ".join(str(model.training_).split())
    found = f"{model.training_.best.largest_difference:.3f}"
    assert "Only the mixture keeps every difference within 0.01: the best" in told
    assert f"single model has one of {found}." in told
    drawn = {model.stochastic_.draw(seed) for seed in range(50)}
    assert drawn == set(range(len(model.stochastic_)))


def test_the_weights_of_cells_lead_back_to_the_model(task) -> None:
    """A model trained for the weighted accuracy alone has about the direction found."""
    model = fitted(task, slack=0.05, referee_rate=0.3, steps=400)
    beta = model.training_.cell_weights
    assert sum(beta.values()) == pytest.approx(1)
    assert beta["1 > 0"] > 0.09 > beta["0 > 1"]


@pytest.mark.long
def test_an_impossible_goal_is_warned_of_with_the_least_difference() -> None:
    rng = np.random.default_rng(0)
    group, y = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    # The only feature tells nothing in group 1, where all scores tie and all pairs are missed.
    X = ((y + rng.normal(size=400)) * (1 - group))[:, None]
    model = FairRanker(goal="within-group", steps=60, **EVERYWHERE)
    with pytest.warns(InfeasibleGoalWarning, match="slack=0.01") as told:
        model.fit(X, y, sensitive_features=group)
    # One feature has two orders.
    orders = [pairwise_accuracy(y, sign * X[:, 0], sensitive_features=group) for sign in (1, -1)]
    gaps = [np.ptp(one.matrix.diagonal()) for one in orders]
    assert told[0].message.least == pytest.approx(min(gaps))
    assert not model.training_.feasible
    assert "No mixture found" in str(model.training_)


@pytest.mark.parametrize(
    ("change", "choices", "error", "said"),
    [
        ({"y": np.ones(40)}, {}, ConstantLabelError, "every label is 1"),
        ({"group": np.ones(40)}, {}, OneGroupError, "at least two groups"),
        ({"group": None}, {}, MissingSensitiveError, "sensitive_features"),
        ({"group": np.ones(39)}, {}, LengthMismatchError, "39"),
        ({"y": np.arange(40) % 2, "group": np.arange(40) % 2}, {}, EmptyCellError, "0 > 1"),
        ({}, {"goal": "equality"}, OptionError, "equality"),
        ({}, {"slack": -1}, OptionError, "slack"),
        ({}, {"steps": 0}, OptionError, "steps"),
        ({}, {"step_sizes": (0.1, 0.0)}, OptionError, "step_sizes"),
        ({}, {"form": "lagrangian"}, OptionError, "form"),
        (
            {"query": np.zeros(40)},
            {"validation_fraction": 0.2},
            TooFewRowsError,
            "40 rows in 1 query",
        ),
    ],
)
def test_bad_input_is_refused_with_a_reason(change, choices, error, said) -> None:
    rng = np.random.default_rng(0)
    given = {"y": np.arange(40) % 2, "group": np.arange(40) // 2 % 2, "query": None} | change
    model = FairRanker(**{"validation_fraction": 0, "steps": 2, **choices})
    with pytest.raises(error, match=said):
        model.fit(
            rng.normal(size=(40, 2)),
            given["y"],
            sensitive_features=given["group"],
            queries=given["query"],
        )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_that_are_not_finite_are_named(bad: float) -> None:
    frame = pd.DataFrame({"age": [1.0, 2.0, bad, 4.0], "income": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(NonFiniteFeatureError, match=r"(?s)1 row \(data row 3\), in column age"):
        FairRanker().fit(frame, [0, 1, 0, 1], sensitive_features=list("aabb"))


def test_a_seed_and_a_clone_give_the_same_model(task) -> None:
    model = fitted(task, validation_fraction=0.25, steps=20, slack=0.5)
    again = clone(model).fit(task[0], task[1], sensitive_features=task[2], queries=task[3])
    assert np.array_equal(model.coef_, again.coef_)
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.predict(task[0]), model.predict(task[0]))


def test_pipelines_pass_groups_on(task) -> None:
    X, y, group, query = task
    ranker = FairRanker(steps=20, slack=0.5, **EVERYWHERE)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker.set_fit_request(sensitive_features=True, queries=True)
        chain = make_pipeline(StandardScaler(), ranker)
        chain.fit(X, y, sensitive_features=group, queries=query)
    alone = clone(ranker).fit(X, y, sensitive_features=group, queries=query)
    # Features are standardised inside, too.
    assert np.corrcoef(chain.predict(X), alone.predict(X))[0, 1] == pytest.approx(1)


def test_a_search_scores_pipelines(task) -> None:
    """With routing on, a pipeline of scikit-learn 1.9 hands weights to ``score``, given or not."""
    X, y, group, query = (column[:1100] for column in task)
    ranker = FairRanker(steps=5, slack=0.5, **EVERYWHERE)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker.set_fit_request(sensitive_features=True, queries=True)
        ranker.set_score_request(queries=True)
        chain = make_pipeline(StandardScaler(), ranker)
        search = GridSearchCV(chain, {"fairranker__slack": [0.5]}, cv=2, error_score="raise")
        search.fit(X, y, sensitive_features=group, queries=query)
        found = search.best_estimator_.score(X, y, queries=query)
    scores = search.predict(X)
    pairs = (query[:, None] == query) & (y[:, None] > y)
    assert found == pytest.approx((scores[:, None] > scores)[pairs].mean())


@pytest.mark.parametrize("within", [False, True])
def test_a_weighted_score_counts_repeated_rows(task, within: bool) -> None:
    X, y, _, query = (column[:330] for column in task)
    model, queries = fitted(task, goal=None, steps=5), query if within else None
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    expected = model.score(X[rows], y[rows], queries=None if queries is None else query[rows])
    assert model.score(X, y, queries=queries, sample_weight=weights) == pytest.approx(expected)


def test_whole_queries_are_held_out(task) -> None:
    X, y, group, query = task
    model = FairRanker(steps=5, slack=1, validation_fraction=0.2, random_state=1)
    rows = model.fit(X, y, sensitive_features=group, queries=query).training_.rows
    assert rows == {"trained on": 400 * 11, "chosen by": 100 * 11}


def test_scores_are_shares_of_pairs_within_queries(task) -> None:
    X, y, _, query = task
    model = fitted(task, goal=None, steps=5)
    hits = [
        (
            model.predict(X[query == q])[y[query == q] == 1][:, None]
            > model.predict(X[query == q])[y[query == q] == 0]
        ).mean()
        for q in np.unique(query)
    ]
    assert model.score(X, y, queries=query) == pytest.approx(np.mean(hits))


def test_a_score_needs_a_label_for_every_row_and_two_of_them(task) -> None:
    X, y, _, _ = task
    model = fitted(task, goal=None, steps=5)
    with pytest.raises(LengthMismatchError, match=r"y: 5,499, X: 5,500"):
        model.score(X, y[:-1])
    with pytest.raises(LengthMismatchError, match="queries: 2"):
        model.score(X, y, queries=[0, 1])
    assert np.isnan(model.score(X, np.ones(len(X))))
    assert np.isnan(model.score(X, y, queries=np.arange(len(X))))


@pytest.mark.parametrize(
    ("choices", "slacks"), [({}, ()), ({"form": "robust"}, (0.1,)), ({"goal": None}, (0.1,))]
)
def test_a_curve_needs_slacks_that_change_something(task, choices, slacks) -> None:
    X, y, group, _ = task
    with pytest.raises(OptionError, match=r"at least one|every slack gives the same"):
        trade_off(FairRanker(**choices), X, y, sensitive_features=group, slacks=slacks)


@pytest.mark.long
def test_a_wider_slack_costs_less(task) -> None:
    X, y, group, query = task
    model = FairRanker(**EVERYWHERE, steps=150)
    curve = trade_off(model, X, y, sensitive_features=group, queries=query, slacks=(0.02, 0.1, 0.4))
    accuracies = [one.best.accuracy for one in curve.trainings]
    assert accuracies == sorted(accuracies)
    assert accuracies[-1] - accuracies[0] > 0.02
    frame = curve.to_frame("pandas")
    assert (frame["largest_difference"] <= frame["slack"] + 1e-6).all()
    axes = curve.plot()
    assert axes.get_ylabel() == "pairwise accuracy"
    assert "What the goal costs" in str(curve)


@pytest.mark.parametrize("goal", ["cross-group", "marginal"])
def test_items_in_no_group_are_in_no_term_of_their_own(goal: str) -> None:
    rng = np.random.default_rng(4)
    group, y = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    X = np.column_stack([y + 1.5 * (group == 0), y]) + rng.normal(size=(300, 2))
    ranker = FairRanker(goal=goal, slack=0.1, steps=100, no_group="none", **EVERYWHERE)
    names = np.array(["a", "b", "none"], dtype=object)[group]
    terms = ranker.fit(X, y, sensitive_features=names).training_.best.terms
    audit = pairwise_accuracy(y, ranker.predict(X), sensitive_features=names, no_group="none")
    across = audit.matrix[[0, 1], [1, 0]] if goal == "cross-group" else audit.row_marginals
    assert list(terms.values()) == pytest.approx(across)


def test_groups_by_whose_names_two_kinds_of_pairs_would_be_one_are_refused(task) -> None:
    X, y, group, query = task
    names = np.array(["a", "a > a"])[np.unique(group, return_inverse=True)[1]]
    with pytest.raises(OptionError, match="would both be called 'a > a > a'"):
        FairRanker(steps=5).fit(X, y, sensitive_features=names, queries=query)


def test_a_number_has_no_value_that_marks_items_in_no_group(task) -> None:
    X, y, _, query = task
    age = np.where(np.arange(len(y)) % 9, 20.0 + X[:, 0], -1.0)
    with pytest.raises(OptionError, match="no_group cannot be -1; the attribute is a number"):
        FairRanker(continuous=True, no_group=-1).fit(X, y, age, query)


@pytest.mark.parametrize("estimator", [FairRanker(steps=5), MetaFairClassifier()])
@pytest.mark.parametrize("masked", ["X", "y", "sensitive_features"])
def test_what_is_masked_is_missing(estimator: Any, masked: str) -> None:
    rng = np.random.default_rng(1)
    group, y = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    given = {"X": rng.normal(size=(200, 2)), "y": y, "sensitive_features": group[:, None]}
    hidden = np.ma.masked_array(given[masked])
    hidden[7] = np.ma.masked
    with pytest.raises(ValueError, match=r"missing values|NaN"):
        clone(estimator).fit(**{**given, masked: hidden})


def test_nobody_is_scored_by_masked_features_nor_weighed_by_masked_weights(task) -> None:
    X, y, group, query = task
    ranker = FairRanker(goal=None, steps=5).fit(X, y, queries=query)
    hidden = np.ma.masked_array(X)
    assert np.array_equal(ranker.predict(hidden), ranker.predict(X))
    hidden[3, 1] = np.ma.masked
    for scorer in (ranker, ranker.stochastic_):
        with pytest.raises(NonFiniteFeatureError, match="data row 4"):
            scorer.predict(hidden)
    weights = np.ma.masked_less(X[:, 0] ** 2, 0.1)
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        ranker.fit(X, y, group, query, weights)


@pytest.mark.parametrize("model", [FairRanker, FairRegressor])
def test_more_groups_than_an_audit_takes_are_refused(model: type[FairRanker]) -> None:
    X, y, _ = interaction(480, seed=0)
    with pytest.raises(
        TooManyGroupsError, match="'sensitive_features' must have at most 50 groups"
    ):
        model().fit(X, y, sensitive_features=[f"g{row % 240}" for row in range(480)])
