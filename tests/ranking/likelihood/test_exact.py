"""Errors of many evaluators' biases on few items, against the inverse of the whole Hessian."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from comparity import barp
from comparity.ranking.judgments import judgments_of
from comparity.ranking.likelihood.comparison_rows import rows_of
from comparity.ranking.likelihood.exact import dense_hessian, few_items
from comparity.ranking.likelihood.lapses import pass_over
from comparity.ranking.likelihood.objective import Penalised, Penalty
from comparity.ranking.result import BiasedRanking

ERRORS = (
    "standard_errors",
    "bias_standard_errors",
    "centred_standard_errors",
    "mean_bias_standard_errors",
    "level_standard_errors",
)


def panel(seed: int, n_groups: int = 8) -> dict[str, Any]:
    """Let two judges make a third of the comparisons of 40 items, and 300 the others."""
    rng = np.random.default_rng(seed)
    group = np.arange(40) % n_groups
    first = rng.integers(0, 40, 3000)
    second = (first + rng.integers(1, 40, 3000)) % 40
    judge = np.where(rng.random(3000) < 0.33, rng.integers(0, 2, 3000), rng.integers(2, 302, 3000))
    lean = rng.normal(0, 1, (302, n_groups))
    margin = lean[judge, group[first]] - lean[judge, group[second]]
    margin += np.subtract(*rng.normal(0, 1, 40)[np.stack([first, second])])
    wins = rng.random(3000) < expit(margin)
    pairs = np.where(wins, [first, second], [second, first]).T
    seats = rng.choice([-1, 1], 3000)
    names = np.array([f"g{code}" for code in range(n_groups)])[group]
    return {
        "comparisons": pairs,
        "evaluators": judge,
        "sensitive_features": names,
        "seats": seats,
        "ties": rng.random(3000) < 0.1,
    }


def alike(one: BiasedRanking, two: BiasedRanking, rel: float) -> None:
    for name in ERRORS:
        expected = pytest.approx(getattr(two, name), rel=rel, abs=1e-5, nan_ok=True)
        assert getattr(one, name) == expected, name


ANCHORS = ["equal group means", "zero mean bias", [0, 5, 6]]
CHOICES: list[dict[str, Any]] = [
    {"score_prior": 1.0},
    {"score_prior": 1.0, "seat_by_evaluator": True, "bias_prior": 0.5},
    {"score_prior": 1.0, "ties": None, "seats": None, "bias_prior": 1e-3},
]
# A weak prior makes the search long: every anchor with the others, every prior with one anchor.
EVERY = [
    pytest.param(
        *one, marks=[pytest.mark.slow] if one[1] is CHOICES[2] and one[0] != ANCHORS[0] else []
    )
    for one in product(ANCHORS, CHOICES)
]


@pytest.mark.long
@pytest.mark.parametrize(("anchor", "choices"), EVERY)
def test_errors_are_those_of_the_inverse(
    anchor: Any, choices: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = panel(1) | {"anchor": anchor, "corrected": False} | choices
    quick = barp(**known)
    monkeypatch.setattr("comparity.ranking.likelihood.exact.DENSE", 10**9)
    alike(quick, barp(**known), rel=1e-4)


@pytest.mark.long
def test_a_group_nobody_compared_changes_nothing_about_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A prior then holds the mean of all biases."""
    known = panel(2) | {"score_prior": 1.0, "corrected": False}
    known["sensitive_features"] = np.append(known["sensitive_features"], "nobody")
    quick = barp(**known)
    monkeypatch.setattr("comparity.ranking.likelihood.exact.DENSE", 10**9)
    alike(quick, barp(**known), rel=1e-4)


@pytest.mark.long
def test_the_spread_of_scores_is_that_of_the_inverse(monkeypatch: pytest.MonkeyPatch) -> None:
    known = panel(3) | {"sharpness": "equal"}
    quick = barp(**known)
    monkeypatch.setattr("comparity.ranking.likelihood.exact.DENSE", 10**9)
    exact = barp(**known)
    assert quick.priors[0].sd == pytest.approx(exact.priors[0].sd, rel=0.02)
    alike(quick, exact, rel=0.03)


@pytest.mark.long
def test_errors_that_approximations_do_not_tell_are_unknown_not_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("comparity.ranking.likelihood.exact.MOST_NUMBERS", 0)
    found = barp(**panel(1, n_groups=20) | {"score_prior": 1.0})
    unknown = np.isnan(found.bias_standard_errors)
    assert found.bias_standard_errors[~unknown].min() > 0
    assert unknown.any()
    assert any(
        f"{unknown.sum()} of {unknown.size:,} biases have no error" in note for note in found.notes
    )


def test_few_items_have_the_errors_of_numpys_inverse() -> None:
    """With seats and ties, which stand between scores and biases."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 8, 400)
    pairs = np.column_stack([first, (first + rng.integers(1, 8, 400)) % 8])
    ties, seats = rng.random(400) < 0.2, rng.choice([-1, 1], 400)
    judged = judgments_of(pairs, evaluators=np.arange(400) % 12, ties=ties, seats=seats)
    groups = (np.arange(8)[:, None] % 3 == [1, 2]).astype(np.int8)
    rows = rows_of(judged, groups, seat_by_evaluator=False)
    objective = Penalised(
        pass_over(rows),
        Penalty(scores=0.5, bias=np.eye(2) / 4),
        np.column_stack([np.ones(8), groups]),
        flat=True,
    )
    objective.evaluate(rng.normal(0, 0.3, objective.size))
    found, whole = few_items(objective), np.linalg.inv(dense_hessian(objective))
    assert found is not None
    # Weights are kept in single precision.
    assert found.variances == pytest.approx(np.diagonal(whole), rel=1e-4)
    right = rng.normal(0, 1, (objective.size, 2))
    assert found.solve(right) == pytest.approx(whole @ right, rel=1e-3, abs=1e-4)
