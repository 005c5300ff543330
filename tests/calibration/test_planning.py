"""Calibration of plans: whole studies with evaluators, drawn and audited.

A share p of r studies has the standard error sqrt(p (1 - p) / r). Beyond three of these a plan may
promise 0.05 too much, since it takes counts as expected and tests as jointly normal, and 0.12 too
little: where items are shared by few evaluators, it takes the items' part of the error as known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparity.inference.agreement_tests import compare_shared, family_of_cells
from comparity.planning.plan import plan_comparative, plan_separation
from comparity.results.judging import judge
from comparity.results.result import WITHIN
from comparity.separation.audit import separation
from tests.plain.power import study_with_evaluators

# The classifiers f1 and f0 of Xi et al., Table 1.
COMMON = {"tpr": (0.8, 0.8), "shares": (0.5, 0.5), "base_rates": (0.55, 0.45)}
UNEQUAL = {**COMMON, "tnr": (0.64, 0.56)}
EQUAL = {**COMMON, "tnr": (0.6, 0.6)}
FAMILY = family_of_cells("01")
# Between few evaluators and many, in `make test-all` only.
FIVE, TEN = (pytest.param(n, marks=pytest.mark.slow) for n in (5, 10))


def assert_promise_kept(
    rates: dict[str, Any],
    design: dict[str, Any],
    repetitions: int,
    rng: np.random.Generator,
    *,
    lean: float = 0.1,
    margin: float | None = None,
) -> None:
    promised = plan_comparative(**rates, **design, evaluator_lean=lean, margin=margin).power
    kept = 0
    for _ in range(repetitions):
        study = study_with_evaluators(rng, **rates, **design, lean=lean)
        tests = compare_shared(
            study.shared_counts(), FAMILY.judged_contrasts(margin=margin is not None)
        )
        judged = judge(tests, alpha=0.05, margin=margin or 0.05, n=1, n_items=1)
        if margin is None:
            kept += any(test.differs_from_zero for test in judged)
        else:
            kept += all(test.equivalence_p <= 0.05 for test in judged)
    share = kept / repetitions
    slack = 3 * np.sqrt(max(promised * (1 - promised), 0.01) / repetitions)
    assert share - 0.12 - slack < promised < share + 0.05 + slack


@pytest.mark.parametrize("lean", [0.0, 0.1])
@pytest.mark.parametrize("n_evaluators", [3, FIVE, TEN, 30])
def test_planned_power_on_fresh_items_is_that_of_the_audit(
    n_evaluators: int, lean: float, repetitions: int, rng: np.random.Generator
) -> None:
    design = {"n_pairs": 7000, "n_items": None, "n_evaluators": n_evaluators}
    assert_promise_kept(UNEQUAL, design, repetitions, rng, lean=lean)


@pytest.mark.parametrize("n_items", [2000, 5600])
@pytest.mark.parametrize("n_evaluators", [5, TEN, 30])
def test_planned_power_on_shared_items_is_that_of_the_audit(
    n_evaluators: int, n_items: int, repetitions: int, rng: np.random.Generator
) -> None:
    design = {"n_pairs": 12_000, "n_items": n_items, "n_evaluators": n_evaluators}
    assert_promise_kept(UNEQUAL, design, repetitions, rng)


@pytest.mark.parametrize("n_items", [None, 5000])
@pytest.mark.parametrize("n_evaluators", [5, TEN, 30])
def test_planned_power_to_show_a_margin_is_that_of_the_audit(
    n_evaluators: int, n_items: int | None, repetitions: int, rng: np.random.Generator
) -> None:
    design = {"n_pairs": 8000, "n_items": n_items, "n_evaluators": n_evaluators}
    assert_promise_kept(EQUAL, design, repetitions, rng, margin=0.1)


@pytest.mark.parametrize(
    ("tpr", "fpr", "margin"),
    [
        ((0.99, 0.99), (0.01, 0.01), 0.05),
        ((0.98, 0.98), (0.02, 0.02), 0.05),
        ((1.0, 0.9), (0.4, 0.4), None),
        ((1.0, 0.95), (0.0, 0.05), None),
        ((1.0, 1.0), (0.0, 0.0), 0.05),
    ],
)
def test_planned_power_at_rates_near_0_and_1_is_that_of_the_audit(
    tpr: tuple[float, float],
    fpr: tuple[float, float],
    margin: float | None,
    repetitions: int,
    rng: np.random.Generator,
) -> None:
    """Errors at the true rates alone promised 0.8 where 0.00, 0.37 and 0.71 were kept.

    Normal approximations of the exact test promised 0.8 where 0.89 was kept, with a rate of 1, and
    tables with exactly the expected trials 1 where 0 was.
    """
    halves = {"shares": (0.5, 0.5), "base_rates": (0.5, 0.5)}
    plan = plan_separation(tpr=tpr, fpr=fpr, **halves, power=0.8, margin=margin)
    assert plan.n is not None
    kept = 0
    for _ in range(repetitions):
        label, group = rng.integers(0, 2, (2, plan.n))
        said_yes = rng.random(plan.n) < np.where(label, np.array(tpr)[group], np.array(fpr)[group])
        audit = separation(label, said_yes, sensitive_features=group, margin=margin or 0.05)
        differs = any(test.differs_from_zero for test in audit.tests)
        kept += differs if margin is None else audit.finding == WITHIN
    slack = 3 * np.sqrt(plan.power * (1 - plan.power) / repetitions)
    assert abs(kept / repetitions - plan.power) < 0.05 + slack
