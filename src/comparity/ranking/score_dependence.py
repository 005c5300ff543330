r"""Biases that grow with the score of the item, against constant ones.

Evaluator k sees an item with score s at

.. math:: s + \theta_{k} + \gamma (\theta_{k} - \bar\theta) s

that is, an evaluator who leans more than the panel leans more (or less) for better items, with
one slope :math:`\gamma` for each contrast. Only what evaluators do differently can be seen: a
slope that all share stretches the scores of the group, and scores are free. As in Tukey's test of
additivity this spends one degree of freedom, not one for each evaluator.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from comparity.errors import OptionError
from comparity.ranking.contrasts import Contrasts
from comparity.ranking.fits import ScoreDependence
from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.fitting import Fit
from comparity.ranking.likelihood.margins import add_product
from comparity.ranking.likelihood.newton import conjugate_gradients, one_thread
from comparity.ranking.likelihood.passes import logistic
from comparity.ranking.result import BiasedRanking
from comparity.ranking.shares import tests_of

__all__ = ["Dependent", "with_score_dependence"]

Floats = NDArray[np.float64]


def with_score_dependence(
    result: BiasedRanking, judgments: Judgments, contrasts: Contrasts, fitted: Fit
) -> BiasedRanking:
    """Refit with slopes, and test them against zero.

    Parameters
    ----------
    result : BiasedRanking
        Of the constant model.
    judgments : Judgments
        Without ties and seats, which this model does not have.
    contrasts : Contrasts
    fitted : Fit
        Of the constant model; the priors are taken from it.

    Returns
    -------
    BiasedRanking
        Scores and biases of the model with slopes, anchored as before; errors are those of the
        constant model, and a note says so.
    """
    if judgments.tied is not None or judgments.seat is not None:
        allowed = ["comparisons without ties, and no effect of seats"]
        raise OptionError("score_dependent", True, allowed, "that model knows neither")
    model = Dependent(contrasts, fitted)
    found, converged = _refitted(model, fitted.solution.point)
    _, gradient = model.evaluate(found)
    scores, bias, slopes = model.split(found)
    scores, bias = fitted.move.apply(scores, bias)
    bias[np.isnan(result.z)] = 0.0
    z, p, q = tests_of(bias, result.bias_standard_errors)
    statistic = _score_test(model, fitted)
    dependence = ScoreDependence(
        slopes=tuple(slopes.tolist()),
        statistic=statistic,
        dof=model.n_contrasts,
        p_value=float(chdtrc(model.n_contrasts, statistic)),
    )
    note = "Scores and biases are of the model with slopes; their errors are of the constant one."
    return replace(
        result,
        scores=scores,
        bias=bias,
        mean_bias=bias.mean(axis=0),
        centred_bias=bias - bias.mean(axis=0),
        z=z,
        p=p,
        q=q,
        cautious_q=tests_of(bias, result.cautious_standard_errors)[2],
        log_likelihood=-model.loss(found),
        gradient_norm=float(np.linalg.norm(gradient)),
        converged=result.converged and converged,
        score_dependence=dependence,
        notes=(*result.notes, note),
    )


def _refitted(model: Dependent, constant: Floats) -> tuple[Floats, bool]:
    """Return the best point of the model with slopes from that of the constant one."""
    # Imported here because few fits need it and it takes its time.
    from scipy.optimize import minimize

    found, run = np.concatenate([constant, np.zeros(model.n_contrasts)]), cast("Any", None)
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-14, "gtol": 1e-6}
    # Its matrices are a few numbers wide: threads that wait for each other take most of the time.
    with one_thread():
        # The slopes have another scale than the rest; a second run from the end makes sure of it.
        for _ in range(2):
            run = minimize(model.evaluate, found, jac=True, method="L-BFGS-B", options=options)
            found = run.x
    return found, bool(run.success)


def _score_test(model: Dependent, fitted: Fit) -> float:
    """Return the statistic of Rao's test of all slopes zero, at the constant fit.

    It asks what the slopes would gain, with scores and biases following. A ratio of likelihoods
    would let them follow into the errors of each other, and find slopes that are not there: where
    items were compared 20 to 30 times, in a tenth of panels at a level of 0.05.
    """
    objective, rows = fitted.objective, model.rows
    weights = objective.data.weights().astype(np.float64)
    parts = objective.split(fitted.solution.point)
    _, lean, interaction = model.margin(*parts[:2], np.zeros(model.n_contrasts))
    steep = lean * interaction
    gain = -(objective.data.slopes(*parts)[:, None] * steep).sum(axis=0)
    borders, followed = np.zeros((2, model.n_contrasts, objective.size))
    for place, border in enumerate(borders):
        columns = (rows.better, rows.worse, rows.evaluator, rows.contrast)
        add_product(*(*columns, weights * steep[:, place], *objective.split(border)[:2]))
        followed[place], _ = conjugate_gradients(objective, border, relative=1e-6)
    information = (steep * weights[:, None]).T @ steep - borders @ followed.T
    return float(gain @ np.linalg.pinv(information, hermitian=True) @ gain)


class Dependent:
    """Penalised likelihood of scores, biases and slopes, with its gradient."""

    def __init__(self, contrasts: Contrasts, fitted: Fit) -> None:
        rows = fitted.objective.data.rows
        self.rows, self.penalty = rows, fitted.objective.penalty
        self.columns = contrasts.columns.astype(np.float64)
        self.n_contrasts = contrasts.columns.shape[1]

    def split(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return scores, biases and slopes of a point."""
        n, c = self.rows.n_items, self.n_contrasts
        end = len(point) - c
        return point[:n], point[n:end].reshape(-1, c), point[end:]

    def loss(self, point: Floats) -> float:
        """Return the negative log-likelihood."""
        return logistic(self.margin(*self.split(point))[0])[0]

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        """Return penalised loss and gradient."""
        scores, bias, slopes = self.split(point)
        rows, n, m = self.rows, self.rows.n_items, self.rows.n_evaluators
        margin, lean, interaction = self.margin(scores, bias, slopes)
        loss, slope, _ = logistic(margin)
        tilt = lean * slopes
        up = slope * (1 + (tilt * self.columns[rows.better]).sum(axis=1))
        down = slope * (1 + (tilt * self.columns[rows.worse]).sum(axis=1))
        in_scores = np.bincount(rows.better, up, n) - np.bincount(rows.worse, down, n)
        in_bias = _by_evaluator(rows.evaluator, slope[:, None] * rows.contrast, m)
        steep = _by_evaluator(rows.evaluator, slope[:, None] * interaction, m) * slopes
        in_bias = in_bias + steep - steep.mean(axis=0)
        in_slopes = (slope[:, None] * lean * interaction).sum(axis=0)
        pull, bias_pull = self.penalty.pull(scores), self.penalty.bias_pull(bias)
        value = loss + (scores @ pull + (bias * bias_pull).sum()) / 2
        gradient = [in_scores + pull, (in_bias + bias_pull).ravel(), in_slopes]
        return float(value), np.concatenate(gradient)

    def margin(self, scores: Floats, bias: Floats, slopes: Floats) -> tuple[Floats, Floats, Floats]:
        """Return margins, each comparison's centred biases, and its difference of group scores."""
        rows = self.rows
        lean = (bias - bias.mean(axis=0))[rows.evaluator]
        held = self.columns * scores[:, None]
        interaction = held[rows.better] - held[rows.worse]
        margin = scores[rows.better] - scores[rows.worse]
        margin = margin + (bias[rows.evaluator] * rows.contrast).sum(axis=1)
        return margin + (lean * interaction * slopes).sum(axis=1), lean, interaction


def _by_evaluator(evaluator: NDArray[np.int32], values: Floats, m: int) -> Floats:
    return np.column_stack([np.bincount(evaluator, column, m) for column in values.T])
