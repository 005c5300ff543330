"""Scores from comparisons alone: the Bradley-Terry model, with ties and seats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from comparity.ranking.connectivity import Diagnosis, diagnose
from comparity.ranking.fits import MARGINAL_LIKELIHOOD, Effect, Wish, wish_of
from comparity.ranking.judgments import Judgments, judgments_of
from comparity.ranking.likelihood.errors import Errors
from comparity.ranking.likelihood.fitting import NO_ANCHOR, TOLERANCE, Fit, Task, check_finite, fit
from comparity.ranking.options import RankingModel
from comparity.ranking.result import Ranking

__all__ = ["MODEL", "bradley_terry", "facts_of", "log_likelihood_at"]


def bradley_terry(
    comparisons: Any,
    *,
    n_items: int | None = None,
    ties: Any = None,
    seats: Any = None,
    prior: float | str | None = MARGINAL_LIKELIHOOD,
    tolerance: float = TOLERANCE,
    seed: int = 0,
) -> Ranking:
    r"""Score items so that the odds of "i above j" are the exponential of their difference.

    .. math:: P(i \succ j) = \frac{1}{1 + e^{-(s_i - s_j)}}

    The scores maximise the likelihood times a Gaussian prior with mean zero [1]_. Where ties are
    recorded the model is Davidson's [2]_, with :math:`\nu` relative to two equal items,

    .. math:: P(i \succ j) \propto e^{(s_i - s_j)/2},\quad
              P(j \succ i) \propto e^{(s_j - s_i)/2},\quad P(i \sim j) \propto \nu .

    Where seats are recorded, an item shown first gains a constant [3]_.

    Parameters
    ----------
    comparisons : array_like (n, 2) of int, or a frame with columns ``better`` and ``worse``
        Positions of items from 0, the better one first.
    n_items : int, optional
        How many items there are; one more than the largest position by default.
    ties : array_like of bool, or a column's name, optional
        Which comparisons are ties.
    seats : array_like, or a column's name, optional
        Whether the first item of the row was shown first: true or false, 1, -1 and 0 (unknown).
    prior : float, "marginal likelihood", "cross-validation" or None
        Standard deviation of the scores' prior, in logits, how to choose it, or no prior. Without
        one, an item that never lost has no finite score, and asking for it is an error.
    tolerance : float
        Norm of the gradient to reach.
    seed : int
        Of the folds of cross-validation.

    Returns
    -------
    Ranking
        Scores with mean zero, their standard errors, the order, what the graph of comparisons can
        tell. Items in no comparison have score zero and the prior's error.

    Raises
    ------
    NoPriorError
        Without a prior, where some items are not joined to the others both ways.

    References
    ----------
    .. [1] Bradley and Terry (1952), "Rank analysis of incomplete block designs".
    .. [2] Davidson (1970), "On extending the Bradley-Terry model to accommodate ties".
    .. [3] Davidson and Beaver (1977), "On extending the Bradley-Terry model to incorporate
       within-pair order effects".

    Examples
    --------
    >>> fitted = bradley_terry([[0, 1], [0, 1], [1, 0], [1, 2], [1, 2], [2, 1], [0, 2]])
    >>> fitted.ranking.tolist()
    [0, 1, 2]
    """
    judgments = judgments_of(comparisons, n_items=n_items, ties=ties, seats=seats)
    task = Task(
        judgments=judgments,
        columns=np.zeros((judgments.n_items, 0), dtype=np.int8),
        precision=np.zeros((0, 0)),
        anchor=NO_ANCHOR,
        score_prior=wish_of(prior, "scores", MARGINAL_LIKELIHOOD),
        bias_prior=Wish(of="biases", sd=1.0, chosen_by="default"),
        tolerance=tolerance,
        seed=seed,
    )
    diagnosis = diagnose(judgments)
    check_finite(task, diagnosis)
    fitted = fit(task)
    return Ranking(
        model=MODEL.name,
        **facts_of(judgments, fitted, fitted.errors(), diagnosis),
        provenance={"prior": prior, "seed": seed},
    )


def facts_of(
    judgments: Judgments, fitted: Fit, errors: Errors, diagnosis: Diagnosis
) -> dict[str, Any]:
    """Return what every fitted ranking holds, by the names of its fields."""
    seat, ties = _effects(fitted, errors)
    return {
        "items": judgments.items,
        "scores": fitted.scores,
        "standard_errors": errors.scores,
        "log_likelihood": fitted.log_likelihood,
        "converged": fitted.solution.converged,
        "n_comparisons": len(judgments),
        "n_ties": judgments.n_ties,
        "diagnosis": diagnosis,
        "priors": fitted.priors,
        "seat": seat,
        "ties": ties,
        "gradient_norm": fitted.solution.gradient_norm,
        "iterations": fitted.solution.steps,
        "notes": diagnosis.notes,
    }


def _effects(fitted: Fit, errors: Errors) -> tuple[Effect | None, Effect | None]:
    """Return the common seat effect and the tie parameter, where the model has them."""
    rows = fitted.objective.data.rows
    values = list(zip(fitted.extra.tolist(), errors.extra.tolist(), strict=True))
    seat = ties = None
    if rows.seat is not None:
        value, error = values.pop(0)
        seat = Effect(name="shown first", value=value, standard_error=error)
    if rows.tied is not None:
        value, error = values.pop(0)
        ties = Effect(name="log tie parameter", value=value, standard_error=error)
    return seat, ties


def log_likelihood_at(judgments: Judgments, scores: NDArray[np.float64]) -> float:
    """Return the log-likelihood of scores in logits; a tie is half a win for each item."""
    margin = scores[judgments.better] - scores[judgments.worse]
    value = log_expit(margin)
    if judgments.tied is not None:
        value = np.where(judgments.tied, (value + log_expit(-margin)) / 2, value)
    return float(value.sum())


MODEL = RankingModel(
    name="Bradley-Terry",
    fit=bradley_terry,
    about="scores in logits; every evaluator taken at face value",
    source="Bradley and Terry (1952); ties by Davidson (1970)",
    accepts=("ties", "seats", "score_prior", "seed"),
    keywords={"score_prior": "prior"},
)
