"""Seat effects against trusted evaluators: a logit by statsmodels is the witness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import false_discovery_control, norm

from comparity import barp
from comparity.errors import AnchorError

N_ITEMS, N_EVALUATORS, PAIRS = 8, 4, 600
SEAT = np.array([0.4, 0.4, 1.4, 0.4])
GROUP = np.arange(N_ITEMS) % 2


def draw_panel(seed: int, *, sharpness: tuple[float, ...] = (1, 1, 1, 1)) -> Any:
    """Draw left and right items, who judged, and whether the left one won."""
    rng = np.random.default_rng(seed)
    n = N_EVALUATORS * PAIRS
    sides = np.array([rng.choice(N_ITEMS, 2, replace=False) for _ in range(n)])
    judge, worth = np.arange(n) % N_EVALUATORS, np.linspace(-1, 1, N_ITEMS)
    lead = worth[sides[:, 0]] - worth[sides[:, 1]]
    lead = np.array(sharpness)[judge] * lead + SEAT[judge]
    return sides, judge, rng.random(n) < 1 / (1 + np.exp(-lead))


def fit_panel(sides: Any, judge: Any, won: Any, **choices: Any) -> Any:
    pairs = np.where(won[:, None], sides, sides[:, ::-1])
    known: dict[str, Any] = {"evaluators": judge, "sensitive_features": GROUP, "anchor": [0, 1]}
    return barp(pairs, seats=np.where(won, 1, -1), seat_by_evaluator=True, **known | choices)


def test_differences_and_errors_are_those_of_a_logit() -> None:
    sides, judge, won = draw_panel(1)
    found = fit_panel(sides, judge, won, score_prior=None, bias_prior=None, tolerance=1e-9)
    rows = np.arange(len(won))
    design = np.zeros((len(won), N_ITEMS + 5))
    design[rows, sides[:, 0]] += 1
    design[rows, sides[:, 1]] -= 1
    apart = GROUP[sides[:, 0]] - GROUP[sides[:, 1]]
    design[:, N_ITEMS] = 1
    for place, who in enumerate((2, 3)):
        design[:, N_ITEMS + 1 + place] = judge == who
        design[:, N_ITEMS + 3 + place] = (judge == who) * apart
    fit = sm.Logit(won.astype(float), design[:, 1:]).fit(disp=0, tol=1e-12)
    seat, *others = fit.params[N_ITEMS - 1 : N_ITEMS + 2]
    # The seat shared by the trusted has a prior with SD 10.
    assert found.seat.value == pytest.approx(seat, abs=1e-4)
    assert found.bias[:, 1] == pytest.approx([0, 0, *others], abs=1e-4)
    errors = fit.bse[N_ITEMS : N_ITEMS + 2]
    assert found.bias_standard_errors[2:, 1] == pytest.approx(errors, rel=1e-4)
    biases = fit.params[N_ITEMS : N_ITEMS + 4] / fit.bse[N_ITEMS : N_ITEMS + 4]
    expected = false_discovery_control(2 * norm.sf(np.abs(biases)))
    assert found.q[2:, ::-1].T.ravel() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("sharpness", ["equal", "own"])
def test_a_seat_that_the_trusted_favour_as_well_is_no_lean(sharpness: str) -> None:
    drawn = draw_panel(2, sharpness=(2.0, 1.0, 2.0, 0.7))
    found = fit_panel(*drawn, sharpness=sharpness)
    low, high = found.bias_intervals(0.999)[2:, 1].T
    assert ((low < SEAT[2:] - 0.4) & (high > SEAT[2:] - 0.4)).all()
    assert found.cautious_q[2, 1] < 0.001 < found.cautious_q[3, 1]
    assert np.isnan(found.q[:2]).all()
    assert found.seat.name == "shown first, trusted evaluators"
    assert abs(found.seat.value - 0.4) < 4 * found.seat.standard_error


def test_trusted_evaluators_who_never_saw_seats_change_are_refused() -> None:
    sides, judge, won = draw_panel(3)
    ordered = np.where((judge < 2)[:, None], np.sort(sides, axis=1), sides)
    kept = (judge >= 2) | (ordered[:, 1] == ordered[:, 0] + 1)
    with pytest.raises(AnchorError, match="no item changes its seat against others in theirs"):
        fit_panel(ordered[kept], judge[kept], won[kept])
