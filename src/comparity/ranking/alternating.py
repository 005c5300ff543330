"""The scheme of the authors' code, kept so that their numbers can be compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.ranking.connectivity import diagnose
from comparity.ranking.contrasts import Contrasts
from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.passes import logistic
from comparity.ranking.likelihood.rows import rows_of
from comparity.ranking.result import BiasedRanking

__all__ = ["STEPS", "alternate"]

Floats = NDArray[np.float64]

STEPS = 100
GRADIENT = 1e-5
UNKNOWN = (
    *("bias_standard_errors", "cautious_standard_errors", "centred_standard_errors"),
    *("z", "p", "q", "cautious_q"),
)
UNKNOWN_LEVELS = ("mean_bias_standard_errors", "level_standard_errors")
"""What the scheme does not tell: errors and tests, of each bias and of their levels."""


def alternate(judgments: Judgments, contrasts: Contrasts, *, steps: int = STEPS) -> BiasedRanking:
    """Alternate single line-searched steps for biases and for scores, from zero, without prior.

    Each step is the first iteration of BFGS, which follows the gradient. Biases come first (the
    paper's Algorithm 1 says scores first), and the scheme ends after `steps` rounds or when both
    gradients are below 1e-5. The likelihood is flat in the level of the biases; starting at zero
    and stopping early is what picks one. No errors come with it.

    Parameters
    ----------
    judgments : Judgments
        Ties and seats are not part of the scheme and are refused by :func:`comparity.barp`.
    contrasts : Contrasts
    steps : int
        Rounds.

    Returns
    -------
    BiasedRanking
        With standard errors, z, p and q ``nan``.
    """
    columns = contrasts.columns
    contrast = (columns[judgments.better] - columns[judgments.worse]).astype(np.float64)
    model = _Alternation(judgments, contrast)
    scores, bias = np.zeros(judgments.n_items), np.zeros((judgments.n_evaluators, columns.shape[1]))
    converged, taken = False, 0
    for taken in range(1, steps + 1):  # noqa: B007
        found = _one_step(lambda flat, s=scores: model.in_bias(s, flat), bias.ravel())
        bias, settled = found.x.reshape(bias.shape), found.success
        found = _one_step(lambda s, b=bias: model.in_scores(s, b), scores)
        scores = found.x
        if settled and found.success:
            converged = True
            break
    return _result(judgments, contrasts, model, scores, bias, converged, taken)


class _Alternation:
    """Loss and gradient in scores for fixed biases, and the other way round."""

    def __init__(self, judgments: Judgments, contrast: Floats) -> None:
        self.judgments, self.contrast = judgments, contrast
        self.evaluator: Any = judgments.evaluator

    def in_scores(self, scores: Floats, bias: Floats) -> tuple[float, Floats]:
        loss, slope = self.evaluate(scores, bias)
        n = self.judgments.n_items
        gradient = np.bincount(self.judgments.better, slope, n).astype(np.float64)
        gradient -= np.bincount(self.judgments.worse, slope, n)
        return loss, gradient

    def in_bias(self, scores: Floats, flat: Floats) -> tuple[float, Floats]:
        m, c = self.judgments.n_evaluators, self.contrast.shape[1]
        loss, slope = self.evaluate(scores, flat.reshape(m, c))
        parts = [np.bincount(self.evaluator, slope * d, m) for d in self.contrast.T]
        return loss, np.column_stack(parts).ravel().astype(np.float64)

    def evaluate(self, scores: Floats, bias: Floats) -> tuple[float, Floats]:
        margin = scores[self.judgments.better] - scores[self.judgments.worse]
        margin += (bias[self.evaluator] * self.contrast).sum(axis=1)
        return logistic(margin)[:2]


def _one_step(loss: Any, start: Floats) -> Any:
    # Imported here because few fits need it and it takes its time.
    from scipy.optimize import minimize

    options = {"maxiter": 1, "gtol": GRADIENT}
    return minimize(loss, start, jac=True, method="BFGS", options=options, callback=_enough)


def _enough(intermediate_result: Any) -> None:
    # One step is all that is wanted; the update of the dense matrix after it is not.
    raise StopIteration


def _result(
    judgments: Judgments,
    contrasts: Contrasts,
    model: _Alternation,
    scores: Floats,
    bias: Floats,
    converged: bool,
    steps: int,
) -> BiasedRanking:
    loss, gradient = model.in_scores(scores, bias)
    more = model.in_bias(scores, bias.ravel())[1]
    mean = bias.mean(axis=0)
    unknown: dict[str, Any] = dict.fromkeys(UNKNOWN, np.full_like(bias, np.nan))
    unknown |= dict.fromkeys(UNKNOWN_LEVELS, np.full_like(mean, np.nan))
    rows = rows_of(judgments, contrasts.columns, seat_by_evaluator=False)
    diagnosis = diagnose(judgments, rows)
    return BiasedRanking(
        model="BARP, the authors' alternating scheme",
        items=judgments.items,
        scores=scores,
        standard_errors=np.full_like(scores, np.nan),
        log_likelihood=-loss,
        converged=converged,
        n_comparisons=len(judgments),
        diagnosis=diagnosis,
        evaluators=judgments.evaluators,
        gradient_norm=float(np.hypot(np.linalg.norm(gradient), np.linalg.norm(more))),
        iterations=steps,
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
