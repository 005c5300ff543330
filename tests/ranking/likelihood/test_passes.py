"""Passes over comparisons against their definitions and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import approx_fprime

from comparity.ranking.anchors import EQUAL_MEANS, Anchor, move_of
from comparity.ranking.likelihood import kernels as _kernels
from comparity.ranking.likelihood import passes as _passes
from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.exact import Inverse
from comparity.ranking.likelihood.lapses import pass_over
from comparity.ranking.likelihood.objective import EFFECT_SD, Penalised, Penalty, minimise
from comparity.ranking.likelihood.passes import FusedPass, Pass
from tests.plain import ranking as plain

N_ITEMS, N_EVALUATORS = 6, 3
# What Taylor's polynomial of degree ten leaves: sqrt(2) * (log(2) / 2)**11 / 11!, and rounding.
OF_EXPONENTIAL = 3.1e-13
GROUPS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 1]], dtype=np.int8)


def rows(
    seed: int, *, contrasts: int = 1, numbers: bool = False, seat: bool = False, ties: bool = False
) -> ComparisonRows:
    rng = np.random.default_rng(seed)
    n = 40
    better = rng.integers(0, N_ITEMS, n).astype(np.int32)
    worse = ((better + rng.integers(1, N_ITEMS, n)) % N_ITEMS).astype(np.int32)
    groups = GROUPS[:, :contrasts] * (rng.normal(size=contrasts) if numbers else np.int8(1))
    return ComparisonRows(
        better=better,
        worse=worse,
        evaluator=np.sort(rng.integers(0, N_EVALUATORS, n)).astype(np.int32),
        contrast=groups[better] - groups[worse],
        n_items=N_ITEMS,
        n_evaluators=N_EVALUATORS,
        seat=rng.integers(-1, 2, n).astype(np.int8) if seat else None,
        tied=rng.random(n) < 0.3 if ties else None,
    )


def objective(data: ComparisonRows) -> Penalised:
    c = data.contrast.shape[1]
    penalty = Penalty(scores=0.3, bias=np.eye(c) * 0.2 + 0.05, mean=0.1)
    basis = np.column_stack([np.ones(N_ITEMS), np.zeros((N_ITEMS, c))])
    return Penalised(pass_over(data), penalty, basis, flat=False)


CASES = [
    {"contrasts": 0},
    {"contrasts": 1},
    {"contrasts": 3},
    {"contrasts": 2, "numbers": True},
    {"contrasts": 1, "seat": True},
    {"contrasts": 2, "ties": True},
    {"contrasts": 2, "seat": True, "ties": True},
]


@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_the_sum_of_log_probabilities_and_the_priors(case: dict[str, int]) -> None:
    data = rows(1, **case)
    model = objective(data)
    point = np.random.default_rng(2).normal(size=model.size)
    scores, bias, extra = model.split(point)
    expected = 0.0
    for p in range(len(data.better)):
        lean = bias[data.evaluator[p]] @ data.contrast[p]
        m = scores[data.better[p]] - scores[data.worse[p]] + lean
        m += 0 if data.seat is None else extra[0] * data.seat[p]
        ties = {} if data.tied is None else {"tied": data.tied[p], "log_tie": extra[-1]}
        expected -= plain.log_probability(m, **ties)
    centred = bias - bias.mean(axis=0)
    prior = 0.3 * scores @ scores + (centred @ model.penalty.bias * centred).sum()
    prior += 0.1 * (bias.mean(axis=0) ** 2).sum()
    prior += extra @ extra / EFFECT_SD**2
    assert model.evaluate(point)[0] == pytest.approx(expected + prior / 2, rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_finite_differences(case: dict[str, int]) -> None:
    model = objective(rows(3, **case))
    point = np.random.default_rng(4).normal(size=model.size)
    numeric = approx_fprime(point, lambda v: model.evaluate(v)[0], 1e-6)
    assert model.evaluate(point)[1] == pytest.approx(numeric, abs=2e-4)


@pytest.mark.parametrize("case", CASES)
def test_products_with_the_hessian_are_finite_differences_of_gradients(
    case: dict[str, int],
) -> None:
    model = objective(rows(5, **case))
    rng = np.random.default_rng(6)
    point, vector = rng.normal(size=(2, model.size))
    step = 1e-5
    up, down = (model.evaluate(point + sign * step * vector)[1] for sign in (1, -1))
    model.evaluate(point)
    assert model.product(vector) == pytest.approx((up - down) / (2 * step), abs=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_the_covariance_inverts_the_hessian(case: dict[str, int]) -> None:
    model = objective(rows(7, **case))
    model.evaluate(np.random.default_rng(8).normal(size=model.size))
    hessian = np.column_stack([model.product(column) for column in np.eye(model.size)])
    found = Inverse(model)
    scores = slice(0, model.n_items)
    # Weights of the fused pass are in single precision.
    assert found.joint @ hessian == pytest.approx(np.eye(model.size), abs=1e-5)
    assert found.given @ hessian[scores, scores] == pytest.approx(np.eye(model.n_items), abs=1e-5)


@njit(error_model="numpy")
def _exponential(margin):
    out, bits = np.empty(len(margin)), np.empty(len(margin), np.int64)
    _kernels._exponential(margin, out, bits, len(margin))
    return out


@pytest.mark.long
@given(st.lists(st.floats(-700, 700), min_size=1, max_size=30))
@example(np.linspace(-3, 700, 10_001).tolist())
def test_the_quick_exponential_is_as_near_as_its_polynomial(margins: list[float]) -> None:
    expected = np.exp(-np.abs(margins))
    assert _exponential(np.array(margins)) == pytest.approx(expected, rel=OF_EXPONENTIAL, abs=0)


@given(st.integers(0, 10**6), st.integers(0, 1))
def test_the_fused_pass_equals_the_general_one(seed: int, contrasts: int) -> None:
    data = rows(seed, contrasts=contrasts)
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=N_ITEMS) * rng.choice([1, 30, 900])
    bias, extra = rng.normal(size=(N_EVALUATORS, contrasts)), np.empty(0)
    fused, general = FusedPass(data), Pass(data)
    for one, two in zip(
        fused.evaluate(scores, bias, extra), general.evaluate(scores, bias, extra), strict=True
    ):
        # Every comparison adds the error of its exponential at most.
        assert one == pytest.approx(two, rel=1e-12, abs=len(data.better) * OF_EXPONENTIAL)
    for one, two in zip(
        fused.product(scores, bias, extra), general.product(scores, bias, extra), strict=True
    ):
        assert one == pytest.approx(two, rel=1e-5, abs=1e-6 * np.abs(scores).max())


def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    n = 5_003
    better = rng.integers(0, 50, n).astype(np.int32)
    data = ComparisonRows(
        better=better,
        worse=((better + rng.integers(1, 50, n)) % 50).astype(np.int32),
        evaluator=np.sort(rng.integers(0, 7, n)).astype(np.int32),
        contrast=rng.integers(-1, 2, (n, 1)).astype(np.int8),
        n_items=50,
        n_evaluators=7,
    )
    scores, bias, extra = rng.normal(size=50), rng.normal(size=(7, 1)), np.empty(0)
    expected = Pass(data).evaluate(scores, bias, extra)
    monkeypatch.setattr("comparity.ranking.likelihood.passes.THREADED", 1000)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    found = FusedPass(data)
    for one, two in zip(found.evaluate(scores, bias, extra), expected, strict=True):
        assert one == pytest.approx(two, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_the_start_does_not_matter(case: dict[str, int]) -> None:
    model = objective(rows(9, **case))
    rng = np.random.default_rng(10)
    ends = [
        minimise(model, start, tolerance=1e-9).point
        for start in (np.zeros(model.size), 5 * rng.normal(size=model.size))
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)


def test_moving_along_flat_directions_leaves_every_margin() -> None:
    data = rows(11, contrasts=1)
    rng = np.random.default_rng(12)
    scores, bias = rng.normal(size=N_ITEMS), rng.normal(size=(N_EVALUATORS, 1))
    anchor = Anchor(kind=EQUAL_MEANS, trusted=np.empty(0, np.int64), words="")
    moved = move_of(anchor, GROUPS[:, :1], N_EVALUATORS).apply(scores, bias)
    columns = (data.better, data.worse, data.evaluator, data.contrast)
    before, after = (_kernels.margins(*columns, s, b) for s, b in ((scores, bias), moved))
    assert before == pytest.approx(after, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-9, 9)), max_size=20))
def test_numbers_of_comparisons_are_weighed_and_added_by_evaluator(
    judged: list[tuple[int, float]],
) -> None:
    evaluator = np.array(sorted(k for k, _ in judged), dtype=np.int32)
    values, factor = np.array([value for _, value in judged]), np.array([0.5, 1.0, -2.0, 3.0])
    weighed = _kernels.times_of_evaluator(values, factor, evaluator)
    assert weighed.tolist() == plain.times_of_evaluator(values, factor, evaluator)
    sums = np.zeros(4)
    _kernels.sum_by_evaluator(evaluator, values, sums)
    assert sums == pytest.approx(plain.sum_by_evaluator(evaluator, values, 4), abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("variance", [0.2, 1.0, 1.1, 2.0])
def test_mean_pulls_are_means_of_the_slope_in_log_sharpness(ties: bool, variance: float) -> None:
    """Slopes by finite differences of log probabilities, means by a rule of forty points."""
    nodes, shares = np.polynomial.hermite_e.hermegauss(40)
    margin, own = np.array([-2.0, 0.3, 1.5]), np.array([-2.4, -0.1, 1.1])
    tied, tie = np.array([False, True, False]) & ties, 0.7 if ties else 0.0

    def loss(shift: np.ndarray, log_sharpness: float) -> np.ndarray:
        half = (margin - own + np.exp(log_sharpness) * (own + shift)) / 2
        whole = np.exp(half) + np.exp(-half) + tie
        return np.log(whole) - np.where(tied, np.log(tie or 1.0), half)

    expected = np.zeros((2, 3))
    for node, share in zip(nodes, shares / shares.sum(), strict=True):
        below, at, above = (loss(node * np.sqrt(variance), step) for step in (-1e-4, 0.0, 1e-4))
        slope, bend = (above - below) / 2e-4, (above - 2 * at + below) / 1e-8
        # In log sharpness the curvature has the slope in it, too.
        expected += share * np.array([slope, bend - slope])
    rules = _passes.MORE_NODES, _passes.MANY_NODES, _passes.WIDE
    found = _kernels.mean_pulls(margin, own, np.full(3, variance), tied, tie, *rules)
    assert np.array(found) == pytest.approx(expected, abs=4e-5)


def test_a_pass_at_the_same_point_is_not_taken_twice_and_sharpness_makes_another() -> None:
    data, point = pass_over(rows(3)), (np.arange(6.0), np.ones((3, 1)), np.empty(0))
    first = data.at(*point)
    assert data.at(*(part.copy() for part in point)) is first
    data.sharpness = np.array([2.0, 1.0, 0.5])
    assert data.at(*point).loss == data.evaluate(*point).loss != first.loss
