"""Sharpness of evaluators: likelihood, marginal slope and optimum, prior, signs, intervals.

Witnesses: the plain likelihood, finite differences, and an optimiser of the marginal likelihood of
a tiny panel, integrated over a grid of all scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.stats import norm

from comparity import barp
from comparity.errors import OptionError
from comparity.ranking.intervals import ratio_intervals
from comparity.ranking.judgments import judgments_of
from comparity.ranking.likelihood.comparison_rows import ComparisonRows, rows_of
from comparity.ranking.likelihood.objective import Penalised, Penalty
from comparity.ranking.likelihood.passes import FusedPass, Pass
from comparity.ranking.likelihood.sharpness import best_sd
from comparity.ranking.result import BiasedRanking
from comparity.results.result import read_result
from tests.plain import ranking as plain
from tests.plain.sharpness import log_marginal, profile_interval

SHARPNESS = np.array([0.4, 1.0, -1.7])


def draw_panel(
    rng: np.random.Generator,
    sharpness: Any,
    *,
    n_items: int = 60,
    pairs: int = 400,
    gap: float = 1.0,
    bias: Any = 0.0,
    seat: float = 0.0,
) -> dict[str, Any]:
    """Return comparisons of items with SD 1 in two groups, as barp takes them."""
    sharpness = np.asarray(sharpness, dtype=float)
    group = np.arange(n_items) % 2
    scores = rng.normal(0, 1, n_items) + gap * group
    judge = np.repeat(np.arange(len(sharpness)), pairs)
    one = rng.integers(0, n_items, len(judge))
    two = (one + rng.integers(1, n_items, len(judge))) % n_items
    lean = np.broadcast_to(bias, sharpness.shape)[judge] * (group[one] - group[two])
    margin = sharpness[judge] * (scores[one] - scores[two] + lean) + seat
    won = rng.random(len(judge)) < 1 / (1 + np.exp(-margin))
    pairs_of = np.column_stack([np.where(won, one, two), np.where(won, two, one)])
    seats = {"seats": np.where(won, "first", "second")} if seat else {}
    return {
        "comparisons": pairs_of,
        "evaluators": judge,
        "sensitive_features": group,
        **seats,
    }


def small_rows(*, ties: bool = False, seats: bool = False) -> ComparisonRows:
    rng = np.random.default_rng(1)
    pairs = np.array([rng.choice(8, 2, replace=False) for _ in range(90)])
    judgments = judgments_of(
        pairs,
        evaluators=np.arange(90) % 3,
        ties=rng.random(90) < 0.2 if ties else None,
        seats=rng.choice([1, -1], 90) if seats else None,
    )
    return rows_of(judgments, np.eye(8, 1, dtype=np.int8), seat_by_evaluator=False)


def sharpened(data: Pass) -> Penalised:
    data.sharpness = SHARPNESS
    basis = np.column_stack([np.ones(8), np.eye(8, 1)])
    return Penalised(data, Penalty(scores=0.3, bias=np.eye(1)), basis, flat=True)


CASES: list[tuple[Callable[[ComparisonRows], Pass], dict[str, bool]]] = [
    (FusedPass, {}),
    (Pass, {}),
    (Pass, {"ties": True, "seats": True}),
]


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_the_loss_multiplies_leads_and_not_seats_with_sharpness(
    kind: Callable[[ComparisonRows], Pass], case: dict[str, bool]
) -> None:
    data = kind(small_rows(**case))
    data.sharpness, rows, expected = SHARPNESS, data.rows, 0.0
    rng = np.random.default_rng(2)
    scores, bias, extra = rng.normal(size=8), rng.normal(size=(3, 1)), rng.normal(size=2)
    extra = extra[: rows.n_extra]
    groups = np.eye(8, 1).tolist()
    for p in range(len(rows.better)):
        k, one, two = rows.evaluator[p], rows.better[p], rows.worse[p]
        m = SHARPNESS[k] * plain.margin(one, two, scores, bias[k], groups)
        m += 0 if rows.seat is None else extra[0] * rows.seat[p]
        ties = {} if rows.tied is None else {"tied": rows.tied[p], "log_tie": extra[-1]}
        expected -= plain.log_probability(m, **ties)
    assert data.evaluate(scores, bias, extra).loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_gradients_and_products_with_sharpness_are_finite_differences(
    kind: Callable[[ComparisonRows], Pass], case: dict[str, bool]
) -> None:
    model = sharpened(kind(small_rows(**case)))
    point, vector = np.random.default_rng(3).normal(size=(2, model.size))
    numeric = approx_fprime(point, lambda v: model.evaluate(v)[0], 1e-6)
    assert model.evaluate(point)[1] == pytest.approx(numeric, abs=2e-4)
    up, down = (model.evaluate(point + sign * 1e-5 * vector)[1] for sign in (1, -1))
    model.evaluate(point)
    assert model.product(vector) == pytest.approx((up - down) / 2e-5, abs=1e-5)


@pytest.mark.long
def test_the_fit_maximises_the_marginal_likelihood() -> None:
    """Of scores integrated over a grid, times the prior of log sharpness that the fit chose."""
    world = draw_panel(
        np.random.default_rng(4), [2.0, 1.0, 0.5], n_items=4, pairs=400, gap=0, bias=[0, 0.5, 0]
    )
    fit = barp(**world, sharpness="own", anchor="zero mean bias")
    assert fit.sharpness is not None
    tallies = Counter(
        (int(i), int(j), int(k))
        for (i, j), k in zip(world["comparisons"], world["evaluators"], strict=True)
    )
    groups, spread = world["sensitive_features"].tolist(), fit.sharpness.spread

    # Zero mean bias puts the groups' difference into the scores; about it they are normal.
    gap = fit.scores @ (2 * np.array(groups) - 1) / 2
    centre = fit.scores - gap * np.array(groups)
    start = np.concatenate([np.log(fit.sharpness.values), fit.bias[:, 0] + gap])

    def loss(point: np.ndarray) -> float:
        found = log_marginal(tallies, groups, np.exp(point[:3]), point[3:], centre.tolist())
        return -found + ((point[:3] - point[:3].mean()) ** 2).sum() / (2 * spread**2)

    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-2}).x
    # Four items hardly tell their SD and the level of a group; judgments tell evaluators apart, on
    # the scale of the mean sharpness.
    errors = np.append(fit.sharpness.log_standard_errors, fit.bias_standard_errors[:, 0])
    ours, theirs = (
        np.append(point[:3], point[3:] * np.exp(point[:3].mean())) for point in (start, best)
    )
    for part in (slice(0, 3), slice(3, 6)):
        apart = (ours - theirs)[part] - (ours - theirs)[part].mean()
        assert np.abs(apart / errors[part]).max() < 0.1


def test_the_spread_of_log_sharpness_is_the_best_of_a_grid() -> None:
    rng = np.random.default_rng(5)
    variances = rng.uniform(0.01, 0.3, 12)
    free = rng.normal(0, np.sqrt(0.2 + variances))
    grid = np.geomspace(0.01, 3, 20_000)
    density = norm.logpdf(free[:, None], 0, np.sqrt(grid**2 + variances[:, None])).sum(axis=0)
    best = grid[np.argmax(density + np.log(grid) - grid**2 / 2)]
    assert best_sd(free, variances) == pytest.approx(best, rel=1e-3)


def test_ends_of_ratio_intervals_are_what_the_test_just_rejects() -> None:
    values, errors = np.array([[0.8], [-0.3]]), np.array([[0.3], [0.1]])
    covariances, variances = np.array([[-0.02], [0.01]]), np.array([[0.04], [0.1]])
    ends = ratio_intervals(values, errors, covariances, variances, 0.9)
    for end in (ends[..., 0], ends[..., 1]):
        apart = values - end
        square = apart**2 / (errors**2 + 2 * apart * covariances + apart**2 * variances)
        assert square == pytest.approx(norm.ppf(0.95) ** 2)
    assert (ends[..., 0] < values).all()
    assert (ends[..., 1] > values).all()


def test_a_bias_over_a_sharpness_that_may_be_zero_is_unbounded() -> None:
    one = np.ones((1, 1))
    assert ratio_intervals(one, one, 0 * one, 0.3 * one, 0.95).tolist() == [[[-np.inf, np.inf]]]
    assert np.isfinite(ratio_intervals(one, one, 0 * one, 0.2 * one, 0.95)).all()


@pytest.mark.long
@pytest.mark.parametrize(("sharpness", "bias"), [(0.8, 0.0), (0.4, 0.5), (0.8, -1.0), (1.5, 0.0)])
def test_intervals_of_biases_are_those_of_the_profile_likelihood(
    sharpness: float, bias: float
) -> None:
    """Where two trusted evaluators have told the scores, so that a likelihood has no other part.

    Ours know that scores have errors and may be a little longer, by up to a fifth at an end; where
    a sharpness is hardly told from zero the far end of both is near none.
    """
    many, few = 30_000, 400
    world = draw_panel(np.random.default_rng(5), [2, 2, sharpness], pairs=many, bias=[0, 0, bias])
    kept = (world["evaluators"] < 2) | (np.arange(3 * many) % many < few)
    world |= {name: world[name][kept] for name in ("comparisons", "evaluators")}
    fit = barp(**world, anchor=[0, 1], sharpness="own")
    assert fit.sharpness is not None
    own = world["comparisons"][world["evaluators"] == 2]
    lead = fit.scores[own[:, 0]] - fit.scores[own[:, 1]]
    step = np.subtract(*world["sensitive_features"][own].T)
    centre = float(np.log(fit.sharpness.values).mean())
    ours = np.abs(fit.bias_intervals(0.95)[2, 0] - fit.bias[2, 0])
    ends = profile_interval(lead, step, centre, fit.sharpness.spread, 0.95)
    theirs = np.abs(np.array(ends) - fit.bias[2, 0])
    assert (ours > 0.95 * theirs).all()
    assert (ours < 1.2 * theirs).all()


def test_a_dull_evaluator_is_not_found_to_lean() -> None:
    """Two trusted people with sharpness 2, a judge with 0.8, one group better by 1."""
    world = draw_panel(np.random.default_rng(6), [2, 2, 0.8], n_items=100, pairs=3000)
    plain_fit = barp(**world, anchor=[0, 1], sharpness="equal")
    own = barp(**world, anchor=[0, 1])
    assert plain_fit.p[2, 0] < 1e-4
    assert own.p[2, 0] > 0.05
    assert own.sharpness is not None
    low, high = own.sharpness.intervals(0.999).T
    assert ((low < [2, 2, 0.8]) & (high > [2, 2, 0.8])).all()
    assert plain_fit.equal_sharpness is not None
    assert plain_fit.equal_sharpness.p_value < 1e-6
    assert "differ in sharpness" in " ".join(plain_fit.notes)
    assert np.std([own.scores[::2], own.scores[1::2]], axis=1) == pytest.approx(1, abs=0.3)


def test_an_evaluator_who_decides_the_other_way_is_inverted() -> None:
    world = draw_panel(np.random.default_rng(7), [1, 1, 1, 1, -1], pairs=600)
    turned = world["evaluators"] == 4
    pairs = np.where(turned[:, None], world["comparisons"][:, ::-1], world["comparisons"])
    as_given = barp(**world, anchor=[0], sharpness="own")
    righted = barp(**{**world, "comparisons": pairs}, anchor=[0], sharpness="own")
    assert as_given.sharpness is not None
    assert righted.sharpness is not None
    assert as_given.sharpness.inverted.tolist() == [False] * 4 + [True]
    assert not righted.sharpness.inverted.any()
    assert as_given.sharpness.values == pytest.approx(
        righted.sharpness.values * [1, 1, 1, 1, -1], rel=0.02
    )
    assert "Inverted" in " ".join(as_given.notes)


@pytest.mark.long
@pytest.mark.parametrize("way", ["in passes", "in a band"])
@pytest.mark.parametrize("anchor", ["equal group means", [0, 1]])
def test_large_fits_come_near_the_inverse(
    way: str, anchor: Any, errors_by: Callable[[str], None]
) -> None:
    sharpness = np.exp(np.random.default_rng(8).normal(0, 0.5, 12))
    world = draw_panel(np.random.default_rng(9), sharpness, n_items=200, pairs=500, gap=0.5)
    errors_by("inverted")
    exact = barp(**world, anchor=anchor, sharpness="own")
    errors_by(way)
    near = barp(**world, anchor=anchor, sharpness="own")
    assert exact.sharpness is not None
    assert near.sharpness is not None
    assert near.sharpness.values == pytest.approx(exact.sharpness.values, rel=0.05)
    assert near.bias == pytest.approx(exact.bias, abs=0.05)
    assert near.bias_standard_errors == pytest.approx(exact.bias_standard_errors, rel=0.1)
    errors = exact.sharpness.log_standard_errors
    assert near.sharpness.log_standard_errors == pytest.approx(errors, rel=0.1)


def test_beside_one_trusted_evaluator_a_centred_bias_is_half_the_bias_and_so_is_its_error() -> None:
    world = draw_panel(np.random.default_rng(10), [1.5, 0.8], n_items=12, bias=[0.0, 0.8])
    found = barp(**world, anchor=[0], sharpness="own")
    assert found.centred_bias[:, 0] == pytest.approx(found.bias[1, 0] / 2 * np.array([-1, 1]))
    half = found.bias_standard_errors[1, 0] / 2
    assert found.centred_standard_errors[:, 0] == pytest.approx(half, rel=1e-6)


def test_with_many_items_the_error_of_the_unit_in_scores_is_nearly_that_of_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = draw_panel(np.random.default_rng(11), [1.5, 1.0, 0.8], n_items=200, pairs=1200)
    exact = barp(**world, sharpness="own").standard_errors
    monkeypatch.setattr("comparity.ranking.fit_report.DENSE", 0)
    # Of the order of a hundredth with 200 items, a quarter of that with 400.
    assert barp(**world, sharpness="own").standard_errors == pytest.approx(exact, rel=0.02)


def test_own_seats_are_outside_of_sharpness() -> None:
    world = draw_panel(np.random.default_rng(10), [3, 1, 0.5], pairs=3000, seat=0.7)
    fit = barp(**world, seat_by_evaluator=True, sharpness="own")
    low, high = fit.bias_intervals(0.999)[:, 1].T
    assert ((low < 0.7) & (high > 0.7)).all()
    assert fit.bias_standard_errors[:, 1].max() < 0.1


def test_one_evaluator_has_no_sharpness() -> None:
    world = draw_panel(np.random.default_rng(11), [1.0])
    assert barp(**world, sharpness="own").sharpness is None


@pytest.mark.parametrize(
    "choices",
    [
        {"corrected": False},
        {"score_prior": 2.0},
        {"score_dependent": True},
        {"mode": "alternating"},
    ],
)
def test_what_leaves_no_room_for_sharpness_is_refused(choices: dict[str, Any]) -> None:
    world = draw_panel(np.random.default_rng(12), [1, 2], pairs=50)
    with pytest.raises(OptionError):
        barp(**world, sharpness="own", **choices)


def test_sharpness_is_shown_written_and_read_back() -> None:
    fit = barp(**draw_panel(np.random.default_rng(13), [2, 1, 0.5]), sharpness="own")
    shown = str(fit)
    assert "Sharpness: logits for an item that is one SD better" in shown
    assert "bias (SDs)" in shown
    back = read_result(fit.to_dict())
    assert isinstance(back, BiasedRanking)
    assert back.sharpness is not None
    assert fit.sharpness is not None
    assert back.sharpness.values == pytest.approx(fit.sharpness.values)
    assert back.bias_intervals() == pytest.approx(fit.bias_intervals())
    assert fit.plot_sharpness().get_xlabel() == "logits for an item that is one SD better"


@pytest.mark.long
def test_a_few_judgments_say_nothing_of_sharpness() -> None:
    rng, rejected = np.random.default_rng(20260131), 0
    for _ in range(60):
        sharpness = np.ones(int(rng.integers(2, 5)))
        found = barp(**draw_panel(rng, sharpness, n_items=4, pairs=int(rng.integers(2, 5))))
        rejected += found.equal_sharpness is not None and found.equal_sharpness.p_value < 0.05
    assert rejected <= 60 * 0.05 + 3 * (60 * 0.05 * 0.95) ** 0.5
    # Where there are judgments enough, unequal sharpness is seen.
    seen = barp(**draw_panel(rng, [0.3, 3.0, 1.0], pairs=300)).equal_sharpness
    assert seen is not None
    assert seen.dof == 2
    assert seen.p_value < 1e-6


def test_sharpness_is_told_where_anyone_made_enough_judgments() -> None:
    """Errors decide, not differences: equally sharp evaluators have a sharpness of their own."""
    rng = np.random.default_rng(3)
    told = barp(**draw_panel(rng, [1.0] * 4, pairs=200))
    assert told.sharpness is not None
    assert told.unit == "SDs"
    few = draw_panel(rng, [3.0, 0.3, 1.0, 1.0], pairs=20)
    fit = barp(**few)
    assert fit.sharpness is None
    assert any("Nobody made enough judgments" in note for note in fit.notes)
    same = barp(**few, sharpness="equal")
    assert fit.bias == pytest.approx(same.bias, rel=1e-5)
    assert not any("Nobody made enough judgments" in note for note in same.notes)
    # One who judged often beside them can be told from the rest.
    often = draw_panel(rng, [1.0] * 5, pairs=400)
    kept = (often["evaluators"] == 0) | (np.arange(2000) % 400 < 20)
    rows = {name: often[name][kept] for name in ("comparisons", "evaluators")}
    assert barp(**often | rows).sharpness is not None


@pytest.mark.parametrize(
    "choices", [{"score_prior": 1.0}, {"corrected": False}, {"score_dependent": True}]
)
def test_where_there_is_no_room_for_sharpness_it_is_equal_and_said_so(choices: Any) -> None:
    world = draw_panel(np.random.default_rng(4), [1.0, 2.0, 0.5], pairs=200)
    fit = barp(**world, **choices)
    assert fit.sharpness is None
    assert any("do not allow a sharpness" in note for note in fit.notes)
    with pytest.raises(OptionError):
        barp(**world, **choices, sharpness="own")


def test_large_fits_decide_about_sharpness_after_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    many, few = (draw_panel(rng, [2.0, 0.5, 1.0], pairs=pairs) for pairs in (300, 20))
    monkeypatch.setattr("comparity.ranking.likelihood.exact.DENSE", 10)
    assert barp(**many).sharpness is not None
    alone = barp(**few)
    assert alone.sharpness is None
    assert np.allclose(alone.bias, barp(**few, sharpness="equal").bias, rtol=1e-2)
