"""BARP: the optimum, errors, groups, intersections, seats, ties, and awkward panels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import false_discovery_control, norm
from sklearn.linear_model import LogisticRegression
from statsmodels.discrete.discrete_model import Logit
from threadpoolctl import threadpool_info, threadpool_limits

from comparity import barp
from comparity.datasets.simulated_panels import SimulatedPanel, simulate_comparisons
from comparity.errors import (
    DependentGroupsError,
    MissingValueError,
    NoPriorError,
    OneGroupError,
    OptionError,
    SelfComparisonError,
    UnknownReferenceError,
)
from comparity.ranking import bias_tests
from comparity.ranking.items import attributes_of, contrasts_of
from comparity.ranking.rank import rank_frames
from tests.plain import ranking as plain


def panel(seed: int, **choices: Any) -> SimulatedPanel:
    options: dict[str, Any] = {
        "bias": norm(1, 1.5),
        "scores": norm(0, 1.5),
        "groups": {"sex": 12},
        "n_items": 30,
        "n_evaluators": 8,
        "pairs": 150,
    }
    return simulate_comparisons(rng=np.random.default_rng(seed), **(options | choices))


def fitted(world: SimulatedPanel, **choices: Any) -> Any:
    return barp(
        world.comparisons,
        evaluators=world.evaluators,
        sensitive_features=world.groups,
        **choices,
    )


def test_scipy_from_a_random_start_finds_nothing_better() -> None:
    world = panel(1, n_items=8, groups={"sex": 3}, n_evaluators=3, pairs=40)
    found = fitted(world, score_prior=2.0, bias_prior=1.5, tolerance=1e-9, corrected=False)
    groups = world.membership.astype(int).tolist()

    def loss(point: np.ndarray) -> float:
        scores, bias = point[:8].tolist(), point[8:]
        told = sum(
            plain.log_probability(plain.margin(i, j, scores, [bias[k]], groups))
            for (i, j), k in zip(world.comparisons.tolist(), world.evaluators, strict=True)
        )
        prior = point[:8] @ point[:8] / 2.0**2 + ((bias - bias.mean()) ** 2).sum() / 1.5**2
        return prior / 2 - told

    ours = np.append(found.scores, found.bias[:, 0])
    other = minimize(loss, np.random.default_rng(0).normal(0, 2, 11), options={"gtol": 1e-7})
    assert loss(ours) <= other.fun + 1e-8
    assert ours == pytest.approx(other.x, abs=1e-4)
    assert found.gradient_norm < 1e-9


def test_a_logistic_regression_on_the_design_finds_the_same() -> None:
    """With wide priors their centring does not matter; biases are compared less their mean."""
    world = panel(2)
    sd, n, m = 3.0, 30, 8
    found = fitted(world, score_prior=sd, bias_prior=1e3, tolerance=1e-9, corrected=False)
    better, worse = world.comparisons.T
    rows, design = np.arange(len(better)), np.zeros((len(better), n + m))
    design[rows, better], design[rows, worse] = 1, -1
    lean = world.membership[better, 0] - world.membership[worse, 0]
    design[rows, n + world.evaluators] = 1e3 / sd * lean
    flip = np.where(np.arange(len(better)) % 2, -1.0, 1.0)
    peer = LogisticRegression(C=sd**2, fit_intercept=False, tol=1e-12, max_iter=10_000)
    theirs = peer.fit(design * flip[:, None], flip > 0).coef_[0]
    bias = theirs[n:] * 1e3 / sd
    assert found.centred_bias[:, 0] == pytest.approx(bias - bias.mean(), abs=2e-3)
    assert found.scores == pytest.approx(theirs[:n], abs=2e-3)


def test_errors_in_one_pass_are_close_to_exact_ones(errors_by: Callable[[str], None]) -> None:
    world = panel(3, n_items=200, groups={"sex": 80}, n_evaluators=40, pairs=200)
    exact = fitted(world, score_prior=1.5)
    errors_by("in passes")
    quick = fitted(world, score_prior=1.5)
    for name in ("bias_standard_errors", "centred_standard_errors", "standard_errors"):
        assert getattr(quick, name) == pytest.approx(getattr(exact, name), rel=0.04), name
    assert quick.mean_bias_standard_errors == pytest.approx(
        exact.mean_bias_standard_errors, rel=0.01
    )


def test_z_p_and_q_follow_from_bias_and_error() -> None:
    found = fitted(panel(4), sharpness="equal")
    z = found.bias / found.bias_standard_errors
    assert found.z == pytest.approx(z)
    assert found.p == pytest.approx(2 * norm.sf(np.abs(z)), rel=1e-9)
    assert found.q.ravel() == pytest.approx(false_discovery_control(found.p.ravel()), rel=1e-9)
    rows = found.to_dict()["biases"]
    assert [abs(row["z"]) for row in rows] == sorted(np.abs(z.ravel()), reverse=True)
    assert found.bias_frame("polars").height == 8


def test_the_mean_bias_carries_the_chance_that_groups_differ() -> None:
    """Groups of 12 and 18 of 30 items differ in mean with variance sd^2 (1/12 + 1/18)."""
    world = panel(5)
    found = fitted(world)
    fact = fitted(world, anchor="zero mean bias")
    chance = world.scores.std(ddof=1) * np.sqrt(1 / 12 + 1 / 18)
    assert found.mean_bias_standard_errors[0] == pytest.approx(chance, rel=0.35)
    assert fact.mean_bias_standard_errors[0] == pytest.approx(0, abs=1e-6)


def test_cautious_errors_add_the_chance_that_groups_differ() -> None:
    world = panel(3)
    found = fitted(world, sharpness="equal")
    spread = (found.scores**2 + found.standard_errors**2).sum() / (30 - 2)
    expected = np.sqrt(found.bias_standard_errors**2 + spread * (1 / 12 + 1 / 18))
    assert found.cautious_standard_errors == pytest.approx(expected)
    p = 2 * norm.sf(np.abs(found.bias / expected))
    assert found.cautious_q == pytest.approx(false_discovery_control(p, axis=None).reshape(p.shape))
    assert found.cautious_intervals()[:, 0, 1] == pytest.approx(
        found.bias[:, 0] + norm.isf(0.025) * expected[:, 0]
    )


def test_scores_carry_the_chance_between_groups_on_request() -> None:
    """Means of m and n items differ by chance; an item moves with its group, about the mean of all.

    With groups of 12 and 18, one of the 12 moves by 18/30 of the difference of means, and that has
    the variance (1/12 + 1/18) times that of a score.
    """
    world = panel(3)
    plain, found = fitted(world), fitted(world, chance_between_groups=True)
    variance = (plain.scores**2 + plain.standard_errors**2).sum() / (30 - 2) * (1 / 12 + 1 / 18)
    share = np.where(world.groups["sex"] == "b", 18 / 30, 12 / 30)
    assert found.standard_errors**2 - plain.standard_errors**2 == pytest.approx(share**2 * variance)
    assert np.array_equal(found.scores, plain.scores)
    assert np.array_equal(found.cautious_q, plain.cautious_q)
    # Two items of one group have it in common; between groups it is the whole difference.
    apart = world.groups["sex"][:, None] != world.groups["sex"]
    errors = 30 / 29 * np.add.outer(plain.standard_errors**2, plain.standard_errors**2)
    errors += variance * apart
    sure = norm.isf((1 - 0.95 ** (1 / 29)) / 2) * np.sqrt(errors)
    above = np.subtract.outer(found.scores, found.scores) < -sure
    assert found.rank_intervals()[:, 0].tolist() == (1 + above.sum(axis=1)).tolist()
    assert found.rank_intervals()[:, 1].tolist() == (30 - above.sum(axis=0)).tolist()
    with pytest.raises(OptionError, match="chance_between_groups"):
        fitted(world, chance_between_groups=True, anchor="zero mean bias")


@pytest.mark.parametrize("anchor", ["zero mean bias", [2, 3]])
def test_other_anchors_say_nothing_of_groups_that_chance_could_change(anchor: Any) -> None:
    found = fitted(panel(3), anchor=anchor)
    assert np.array_equal(found.cautious_standard_errors, found.bias_standard_errors)
    assert np.array_equal(found.cautious_q, found.q, equal_nan=True)


def test_three_groups_are_treated_alike_whichever_is_the_reference() -> None:
    world = panel(6)
    group = np.array(["x", "y", "z"])[np.arange(30) % 3]
    data = {"evaluators": world.evaluators, "sensitive_features": group, "tolerance": 1e-9}
    one = barp(world.comparisons, score_prior=2.0, bias_prior=1.0, **data)
    two = barp(world.comparisons, score_prior=2.0, bias_prior=1.0, reference="z", **data)
    assert [str(name) for name in one.contrasts] == ["group: y over x", "group: z over x"]
    assert [str(name) for name in two.contrasts] == ["group: x over z", "group: y over z"]
    assert one.scores == pytest.approx(two.scores, abs=1e-6)
    assert one.bias[:, 1] == pytest.approx(-two.bias[:, 0], abs=1e-6)
    assert one.bias[:, 0] - one.bias[:, 1] == pytest.approx(two.bias[:, 1], abs=1e-6)
    assert one.bias_standard_errors[:, 1] == pytest.approx(two.bias_standard_errors[:, 0], rel=1e-4)


def test_two_attributes_and_their_intersection_are_recovered() -> None:
    world = panel(
        7,
        bias={"sex": norm(1, 1), "race": norm(-1, 1), "sex & race": norm(0, 2)},
        groups={"sex": 40, "race": 30},
        n_items=80,
        n_evaluators=10,
        pairs=1500,
    )
    found = fitted(world, intersections=[{"sex": "b", "race": "b"}], sharpness="equal")
    assert [str(name) for name in found.contrasts] == [
        "sex: b over a",
        "race: b over a",
        "sex x race: b & b over the sum of its parts",
    ]
    truth = world.bias - world.bias.mean(axis=0)
    off = (found.centred_bias - truth) / found.centred_standard_errors
    assert np.abs(off).max() < 4
    assert np.abs(off).mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.25)


def test_groups_have_equal_mean_scores_in_every_attribute() -> None:
    world = panel(8, bias={"sex": norm(2, 1)}, groups={"sex": 12, "race": 9})
    found = fitted(world)
    for group in world.groups.values():
        assert found.scores[group == "a"].mean() == pytest.approx(0, abs=1e-6)
        assert found.scores[group == "b"].mean() == pytest.approx(0, abs=1e-6)


def test_ties_and_a_common_seat_are_recovered() -> None:
    world = panel(9, seat=0.8, tie=0.6, pairs=1000)
    found = fitted(world, ties=world.ties, seats=world.seats)
    assert abs(found.seat.value - 0.8) < 4 * found.seat.standard_error
    assert abs(found.ties.value - np.log(0.6)) < 4 * found.ties.standard_error
    assert found.n_ties == world.ties.sum()
    truth = world.bias - world.bias.mean(axis=0)
    assert np.abs((found.centred_bias - truth) / found.centred_standard_errors).max() < 4


def test_each_evaluator_can_have_a_seat_effect() -> None:
    world = panel(10, seat=1.0, pairs=500)
    found = fitted(world, seats=world.seats, seat_by_evaluator=True, anchor="zero mean bias")
    assert str(found.contrasts[1]) == "seat: first over second"
    assert found.seat is None
    # Only the bias is anchored: the seats' mean stays what it is.
    assert found.bias[:, 1].mean() == pytest.approx(1.0, abs=0.2)
    assert found.mean_bias[0] == pytest.approx(0, abs=1e-9)
    assert np.abs((found.bias[:, 1] - 1.0) / found.bias_standard_errors[:, 1]).max() < 4


def test_biases_that_grow_with_the_score_are_told_from_constant_ones() -> None:
    options = {"bias": norm(0, 2), "scores": norm(0, 1.0), "n_evaluators": 12, "pairs": 800}
    steep = fitted(panel(11, slope=0.3, **options), score_dependent=True).score_dependence
    flat = fitted(panel(12, **options), score_dependent=True).score_dependence
    assert steep.p_value < 1e-4
    assert steep.slopes[0] == pytest.approx(0.3, abs=0.2)
    assert flat.p_value > 1e-3
    assert flat.dof == 1


def test_the_test_of_slopes_is_raos_on_the_dense_design() -> None:
    world = panel(24, n_items=12, groups={"sex": 5}, n_evaluators=4, pairs=60)
    choices = {"score_prior": 1.5, "bias_prior": 2.0, "tolerance": 1e-9}
    found = fitted(world, score_dependent=True, **choices).score_dependence
    constant = fitted(world, corrected=False, **choices)
    scores, bias, inside = constant.scores, constant.bias[:, 0], world.membership[:, 0]
    rows, (better, worse) = np.arange(240), world.comparisons.T
    design = np.zeros((240, 16))
    design[rows, better], design[rows, worse] = 1, -1
    design[rows, 12 + world.evaluators] = inside[better] - inside[worse]
    lean = (bias - bias.mean())[world.evaluators]
    steep = lean * (inside * scores)[better] - lean * (inside * scores)[worse]
    chance = expit(design @ np.append(scores, bias))
    weight = chance * (1 - chance)
    hessian = design.T @ (weight[:, None] * design)
    hessian[:12, :12] += np.eye(12) / 1.5**2
    hessian[12:, 12:] += (np.eye(4) - 1 / 4) / 2.0**2
    border = design.T @ (weight * steep)
    information = steep @ (weight * steep) - border @ np.linalg.solve(hessian, border)
    assert found.statistic == pytest.approx(((1 - chance) @ steep) ** 2 / information, rel=1e-4)


def test_slopes_are_searched_by_one_thread_of_linear_algebra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = set()

    def counted(*given: Any, **choices: Any) -> Any:
        blas = [one for one in threadpool_info() if one["user_api"] == "blas"]
        threads.update(one["num_threads"] for one in blas)
        return minimize(*given, **choices)

    monkeypatch.setattr("scipy.optimize.minimize", counted)
    with threadpool_limits(2, "blas"):
        fitted(panel(25), score_dependent=True)
    assert threads == {1}


def test_tests_of_biases_with_slopes_belong_to_the_biases_shown() -> None:
    found = fitted(panel(25), score_dependent=True)
    assert found.z == pytest.approx(found.bias / found.bias_standard_errors)
    assert found.p == pytest.approx(2 * norm.sf(np.abs(found.z)))


def test_the_gradient_of_the_model_with_slopes_is_a_finite_difference() -> None:
    from scipy.optimize import approx_fprime

    from comparity.ranking.judgments import judgments_of
    from comparity.ranking.likelihood.comparison_rows import rows_of
    from comparity.ranking.likelihood.lapses import pass_over
    from comparity.ranking.likelihood.objective import Penalised, Penalty

    world = panel(13, n_items=6, groups={"sex": 2, "race": 3}, n_evaluators=3, pairs=10)
    judgments = judgments_of(world.comparisons, n_items=6, evaluators=world.evaluators)
    contrasts = contrasts_of(attributes_of(world.groups))
    data = pass_over(rows_of(judgments, contrasts.columns, seat_by_evaluator=False))
    objective = Penalised(data, Penalty(scores=0.5, bias=np.eye(2)), np.ones((6, 1)), flat=False)

    class Fit:
        pass

    fit: Any = Fit()
    fit.objective = objective
    model = bias_tests.Dependent(contrasts, fit)
    point = np.random.default_rng(0).normal(size=objective.size + 2)
    numeric = approx_fprime(point, lambda v: model.evaluate(v)[0], 1e-6)
    assert model.evaluate(point)[1] == pytest.approx(numeric, abs=2e-4)


def test_frames_give_the_same_as_arrays(frame: Any) -> None:
    world = panel(14, n_items=10, groups={"sex": 4}, n_evaluators=3, pairs=60)
    table = frame(
        {
            "better": [f"i{i}" for i in world.comparisons[:, 0]],
            "worse": [f"i{i}" for i in world.comparisons[:, 1]],
            "judge": [f"j{k}" for k in world.evaluators],
        }
    )
    items = frame({"item": [f"i{i}" for i in range(10)], "sex": world.groups["sex"].tolist()})
    choices = {"sensitive": ["sex"], "evaluator": "judge", "score_prior": 2.0}
    found = rank_frames(table, items, **choices).ranking
    assert found.bias == pytest.approx(fitted(world, score_prior=2.0).bias, abs=1e-6)
    assert found.evaluators.tolist() == ["j0", "j1", "j2"]


def test_an_evaluator_with_one_comparison_gets_the_mean_and_the_priors_error() -> None:
    world = panel(15)
    group = world.groups["sex"]
    alike = np.flatnonzero(group == "a")[:2]
    pairs = np.vstack([world.comparisons, alike])
    who = np.append(world.evaluators, 99)
    known = {"evaluators": who, "sensitive_features": group, "bias_prior": 5.0}
    found = barp(pairs, sharpness="equal", **known)
    assert found.n_judged[-1] == 1
    assert found.n_informative[-1, 0] == 0
    assert found.diagnosis.silent.tolist() == [8]
    assert any("99" in note for note in found.notes)
    assert found.centred_bias[-1, 0] == pytest.approx(0, abs=1e-6)
    assert found.centred_standard_errors[-1, 0] == pytest.approx(5, rel=0.1)
    assert np.isfinite(found.bias).all()


def test_an_evaluator_who_always_chose_one_group_is_named_and_finite() -> None:
    world = panel(16)
    sex = world.groups["sex"]
    b, a = np.flatnonzero(sex == "b")[:6], np.flatnonzero(sex == "a")[:6]
    pairs = np.vstack([world.comparisons, np.column_stack([b, a])])
    judge = np.append(world.evaluators, np.full(6, 8))
    found = barp(pairs, evaluators=judge, sensitive_features=sex)
    assert 8 in found.diagnosis.one_sided
    assert 0 < found.bias[8, 0] < 15
    with pytest.raises(NoPriorError, match="one-sided comparisons by 8"):
        barp(pairs, evaluators=judge, sensitive_features=sex, bias_prior=None)


def test_groups_that_never_met_need_a_prior_of_biases() -> None:
    pairs = [[0, 1], [2, 3], [0, 2], [2, 0], [1, 3], [3, 1], [4, 5], [5, 4]]
    data = {"evaluators": [0] * 8, "sensitive_features": ["a", "a", "b", "b", "c", "c"]}
    assert barp(pairs, score_prior=1.0, **data).diagnosis.unmet.tolist() == [1]
    with pytest.raises(NoPriorError, match=r"found: No comparison leads .* c over a"):
        barp(pairs, score_prior=1.0, bias_prior=None, **data)


def test_one_comparison_by_one_evaluator_has_a_finite_fit() -> None:
    found = barp([[0, 1]], evaluators=["k"], sensitive_features=["a", "b"])
    assert np.isfinite([*found.scores, found.bias[0, 0]]).all()
    assert -15 < found.bias[0, 0] < 0
    assert 1 < found.bias_standard_errors[0, 0] < 30
    assert found.p[0, 0] > 0.3
    assert [prior.of for prior in found.priors] == ["scores", "biases", "mean bias"]
    assert found.priors[0].chosen_by == "marginal likelihood, at its lower bound"


@pytest.mark.parametrize("reference", ["a", "c"])
def test_groups_that_never_met_have_no_errors_and_no_tests(reference: str) -> None:
    world = panel(4)
    groups = [*np.where(world.membership[:, 0] > 0, "b", "a").tolist(), "c"]
    data: dict[str, Any] = {"evaluators": world.evaluators, "sensitive_features": groups}
    found = barp(world.comparisons, reference=reference, **data)
    known = [str(contrast) == "group: b over a" for contrast in found.contrasts]
    assert np.isfinite(found.q[:, known]).all()
    assert np.isnan(found.q[:, np.logical_not(known)]).all()
    assert np.isnan(found.standard_errors).tolist() == [False] * 30 + [True]
    assert found.rank_intervals()[-1].tolist() == [1, 31]
    assert any("biases are unknown and not tested" in note for note in found.notes)
    # The q values are those of the tests that were made, in a family of their own.
    made = np.isfinite(found.p)
    assert found.q[made] == pytest.approx(false_discovery_control(found.p[made]))


def test_groups_that_met_by_way_of_a_third_are_known() -> None:
    world = panel(5)
    groups = np.array(["a", "b", "c"])[np.arange(30) % 3]
    better, worse = groups[world.comparisons].T
    kept = (better == "b") | (worse == "b") | (better == worse)
    data = {"evaluators": world.evaluators[kept], "sensitive_features": groups}
    assert np.isfinite(barp(world.comparisons[kept], **data).q).all()


def test_without_priors_differences_of_evaluators_are_those_of_wide_priors() -> None:
    world = panel(17, scores=norm(0, 0.7), bias=norm(0, 0.7), pairs=400)
    none = fitted(world, score_prior=None, bias_prior=None, tolerance=1e-8)
    wide = fitted(world, score_prior=1e3, bias_prior=1e3, tolerance=1e-8, corrected=False)
    assert none.converged
    assert none.bias == pytest.approx(wide.bias, abs=1e-3)
    assert none.bias_standard_errors == pytest.approx(wide.bias_standard_errors, rel=1e-3)
    assert none.standard_errors == pytest.approx(wide.standard_errors, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"sensitive_features": ["a"] * 3}, OneGroupError, "two groups"),
        ({"sensitive_features": ["a", None, "b"]}, MissingValueError, "data row 2"),
        ({"reference": "c"}, UnknownReferenceError, "'c' of 'group' has no item"),
        (
            {"sensitive_features": {"x": ["a", "b", "b"], "y": [1, 2, 2]}},
            DependentGroupsError,
            "x: b over a, y: 2 over 1",
        ),
        ({"comparisons": [[0, 0], [1, 2]]}, SelfComparisonError, "data row 1"),
        ({"seat_by_evaluator": True}, OptionError, "comparisons with seats="),
        (
            {"score_dependent": True, "comparisons": [[0, 1], [1, 0]], "seats": [1, 1]},
            OptionError,
            "that model knows neither",
        ),
        ({"score_dependent": True, "ties": [0, 1]}, OptionError, "that model knows neither"),
        ({"mode": "alternating", "anchor": ["k"]}, OptionError, "no anchor beside it"),
        ({"mode": "alternating", "score_prior": 2.0}, OptionError, "'joint' or no score"),
        ({"mode": "fast"}, OptionError, "'joint' or 'alternating' or an Alternating"),
        ({"evaluators": None}, OptionError, "evaluators cannot be None"),
        ({"bias_prior": -1}, OptionError, "standard deviation in logits"),
        ({"score_prior": "lasso"}, OptionError, "'marginal likelihood'"),
        ({"intersections": ["sex"]}, OptionError, "intersections cannot be 'sex'"),
        ({"seed": -1}, OptionError, "seed cannot be -1"),
        ({"tolerance": 0}, OptionError, "tolerance cannot be 0"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    change: dict[str, Any], error: type[Exception], words: str
) -> None:
    data: dict[str, Any] = {
        "comparisons": [[0, 1], [1, 2]],
        "evaluators": ["k", "k"],
        "sensitive_features": ["a", "b", "b"],
    } | change
    with pytest.raises(error, match=words):
        barp(data.pop("comparisons"), **data)


def test_an_item_alone_in_its_group_is_named_where_the_anchor_fixes_its_score() -> None:
    world = panel(26, n_items=10, groups={"sex": 4}, n_evaluators=3, pairs=60)
    group = np.where(np.arange(10) == 7, "c", world.groups["sex"])
    data = {"evaluators": world.evaluators, "sensitive_features": group}
    found = barp(world.comparisons, **data)
    assert found.scores[7] == pytest.approx(0, abs=1e-9)
    assert any("Groups of group with one item: c;" in note for note in found.notes)
    # Which is no knowledge: it has no error, and may have any rank.
    assert np.flatnonzero(np.isnan(found.standard_errors)).tolist() == [7]
    assert found.rank_intervals()[7].tolist() == [1, 10]
    trusting = barp(world.comparisons, anchor=[0], **data)
    assert not any("with one item" in note for note in trusting.notes)
    assert np.isfinite(trusting.standard_errors).all()


def test_groups_of_many_attributes_are_told_apart_by_a_single_item() -> None:
    """Fifty groups of one attribute, and another one that differs within the last of them only."""
    town = [*range(50), 49]
    found = contrasts_of(attributes_of({"sex": [0] * 50 + [1], "town": town}))
    assert np.linalg.matrix_rank(np.column_stack([np.ones(51), found.columns])) == 51


def panel_with_lengths() -> dict[str, Any]:
    rng = np.random.default_rng(7)
    length, judge = rng.normal(0, 1, 25), np.repeat(["a", "b"], 400)
    worth = rng.normal(0, 1, 25) + 0.5 * length
    pairs = np.array([rng.choice(25, 2, replace=False) for _ in judge])
    lean = np.where(judge == "b", 0.8, 0.0)
    lead = worth[pairs[:, 0]] - worth[pairs[:, 1]] + lean * -np.diff(length[pairs])[:, 0]
    lost = rng.random(len(judge)) > 1 / (1 + np.exp(-lead))
    pairs[lost] = pairs[lost][:, ::-1]
    return {"comparisons": pairs, "evaluators": judge, "numbers": {"length": length}}


def test_leans_toward_a_number_are_a_logistic_regression() -> None:
    """Without priors: a column for each item, and the difference in length for one judge."""
    panel = panel_with_lengths()
    found = barp(
        **panel, score_prior=None, bias_prior=None, corrected=False, anchor="zero mean bias"
    )
    pairs, length = panel["comparisons"], panel["numbers"]["length"]
    design, place = np.zeros((len(pairs), 26)), np.arange(len(pairs))
    design[place, pairs[:, 0]], design[place, pairs[:, 1]] = 1, -1
    design[:, 25] = -np.diff(length[pairs])[:, 0] * (panel["evaluators"] == "b")
    # Every other row the other way round, so that there are two outcomes.
    turn = np.where(place % 2, 1, -1)
    fitted = Logit(turn > 0, turn[:, None] * design[:, 1:]).fit(disp=0, tol=1e-12)
    assert found.bias[1, 0] - found.bias[0, 0] == pytest.approx(fitted.params[-1], abs=1e-6)
    assert 2 * found.centred_standard_errors[0, 0] == pytest.approx(fitted.bse[-1], rel=1e-5)
    assert str(found.contrasts[0]) == "length: one unit more"


@pytest.mark.parametrize("sharpness", ["equal", "own"])
def test_a_number_of_two_values_is_a_group(sharpness: str) -> None:
    panel = panel_with_lengths()
    long = panel.pop("numbers")["length"] > 0
    # The prior is for a step of one SD, and of differences between two groups.
    by_number = barp(**panel, numbers={"long": long}, bias_prior=long.std(), sharpness=sharpness)
    by_group = barp(**panel, sensitive_features=long, bias_prior=1.0, sharpness=sharpness)
    assert by_number.bias == pytest.approx(by_group.bias, abs=1e-4)
    assert by_number.bias_standard_errors == pytest.approx(by_group.bias_standard_errors, rel=1e-3)


def test_numbers_that_say_nothing_are_refused() -> None:
    panel = panel_with_lengths() | {"numbers": {"length": np.ones(25)}}
    with pytest.raises(OptionError, match="length"):
        barp(**panel)
