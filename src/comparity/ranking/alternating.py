"""The scheme of the authors' code of BARP, kept so that their numbers can be compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.ranking.connectivity import diagnose
from comparity.ranking.contrasts import Contrasts
from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.passes import Pass
from comparity.ranking.likelihood.rows import rows_of
from comparity.ranking.result import BiasedRanking

Floats = NDArray[np.float64]

STEPS, GRADIENT = 100, 1e-5
"""Most rounds of the authors' scheme, and the gradient at which it ends before."""
UNKNOWN = (
    *("bias_standard_errors", "cautious_standard_errors", "centred_standard_errors"),
    *("z", "p", "q", "cautious_q"),
)
UNKNOWN_LEVELS = ("mean_bias_standard_errors", "level_standard_errors")
"""What that scheme does not tell: errors and tests, of each bias and of their levels."""


def alternate(judgments: Judgments, contrasts: Contrasts) -> BiasedRanking:
    """Alternate single line-searched steps for biases and for scores, from zero, without prior.

    The scheme of the authors' code, kept so that their numbers can be compared with. Each step is
    the first iteration of BFGS, which follows the gradient. Biases come first (the paper's
    Algorithm 1 says scores first), and the scheme ends after 100 rounds or when both gradients
    are below 1e-5. The likelihood is flat in the level of the biases; starting at zero and stopping
    early is what picks one. No errors come with it: standard errors, z, p and q are ``nan``.
    """
    rows = rows_of(judgments, contrasts.columns, seat_by_evaluator=False)
    data, none = Pass(rows), np.empty(0)
    scores, bias = np.zeros(rows.n_items), np.zeros((rows.n_evaluators, rows.contrast.shape[1]))

    def in_bias(flat: Floats) -> tuple[float, Floats]:
        found = data.evaluate(scores, flat.reshape(bias.shape), none)
        return found.loss, found.bias.ravel()

    def in_scores(point: Floats) -> tuple[float, Floats]:
        found = data.evaluate(point, bias, none)
        return found.loss, found.scores[:, 0]

    converged, taken = False, 0
    while taken < STEPS and not converged:
        of_bias = _take_step(in_bias, bias.ravel())
        bias = of_bias.x.reshape(bias.shape)
        of_scores = _take_step(in_scores, scores)
        scores, taken = of_scores.x, taken + 1
        converged = bool(of_bias.success and of_scores.success)
    last, diagnosis = data.evaluate(scores, bias, none), diagnose(judgments, rows)
    mean, gradient = bias.mean(axis=0), np.append(last.scores[:, 0], last.bias)
    of_shape = dict.fromkeys(UNKNOWN, bias) | dict.fromkeys(UNKNOWN_LEVELS, mean)
    unknown: dict[str, Any] = {name: np.full_like(one, np.nan) for name, one in of_shape.items()}
    return BiasedRanking(
        model="BARP, the authors' alternating scheme",
        items=judgments.items,
        scores=scores,
        standard_errors=np.full_like(scores, np.nan),
        log_likelihood=-last.loss,
        converged=converged,
        n_comparisons=len(judgments),
        diagnosis=diagnosis,
        evaluators=judgments.evaluators,
        gradient_norm=float(np.linalg.norm(gradient)),
        iterations=taken,
        notes=(*diagnosis.notes, "Alternating scheme: no prior, no errors, stopped early."),
        contrasts=contrasts.names,
        bias=bias,
        mean_bias=mean,
        centred_bias=bias - mean,
        **unknown,
        anchor="none: started at zero and stopped after a fixed number of steps",
        n_judged=np.bincount(rows.evaluator, minlength=rows.n_evaluators),
        n_informative=rows.leanings.sum(axis=2),
    )


def _take_step(loss: Any, start: Floats) -> Any:
    # Imported here because few fits need it and it takes its time.
    from scipy.optimize import minimize

    def leave_out_update(intermediate_result: Any) -> None:
        raise StopIteration

    once = {"maxiter": 1, "gtol": GRADIENT}
    return minimize(loss, start, jac=True, method="BFGS", options=once, callback=leave_out_update)
