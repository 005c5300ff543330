r"""What taking scores at their best values costs the biases, and how it is given back.

A joint maximum of likelihood times priors takes every score for known. Items that were compared
a few times have scores with errors, an evaluator's log odds are averaged over these errors, and a
mean of logistic curves is flatter than the curve: biases come out too small, by a tenth where
items were compared 30 times, by a third where 8 times. Biases themselves have no such law behind
them; their maximum lies too far out (Firth, 1993). Both follow from the spread of a margin,

.. math:: v_p = V_s - (V - V_s), \qquad V_s = \operatorname{Var}(m_p \mid \theta),
                \quad V = \operatorname{Var}(m_p),

and the slope of every comparison is replaced by its mean over a margin with that variance, or
moved the other way where `v` is negative. What that adds to the gradient, the *tilt*, is held
fixed while the rest is minimised, and computed again until it stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from comparity.counting.compilation import njit
from comparity.ranking._curvature import Covariances
from comparity.ranking._margins import add_product
from comparity.ranking._objective import Penalised
from comparity.ranking._one_pass import OnePass

__all__ = ["tilt_of"]

Floats = NDArray[np.float64]
Spread = Callable[[slice], Floats]

CHUNK = 1_000_000
"""Comparisons worked on at a time, which bounds memory."""
LEAST, MOST = -1.6, 2.5
"""Bounds of a spread. Beyond them, where items are known by hardly more than the prior, what a
tilt moves changes the spreads as much, and the two need not settle. Items compared eight times are
within them for the most part; narrower bounds leave scores too close together, and biases with
them."""


def tilt_of(objective: Penalised, point: Floats, covariances: Covariances | OnePass) -> Floats:
    """Return what the errors of scores and biases add to the gradient, at the point evaluated last.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at `point`.
    point : ndarray
        Scores, biases and extra parameters.
    covariances : Covariances or OnePass
        Of the errors at that point.
    """
    data, rows = objective.data, objective.data.rows
    scores, bias, extra = objective.split(point)
    if isinstance(covariances, Covariances):
        spread_of = _dense(objective, covariances)
    else:
        spread_of = _local(objective, covariances)
    tilt = np.zeros_like(point)
    tilt_scores, tilt_bias, tilt_extra = objective.split(tilt)
    for start in range(0, len(rows.better), CHUNK):
        part = slice(start, start + CHUNK)
        change = data.bend(part, spread_of(part), scores, bias, extra)
        columns = rows.better[part], rows.worse[part], rows.evaluator[part], rows.contrast[part]
        add_product(*columns, change, tilt_scores, tilt_bias)
        if rows.seat is not None:
            tilt_extra[0] += change @ rows.seat[part]
    return tilt


def _dense(objective: Penalised, covariances: Covariances) -> Spread:
    """Return the spread of margins from the inverse of the Hessian."""
    rows = objective.data.rows

    def spread(part: slice) -> Floats:
        columns = rows.better[part], rows.worse[part], rows.evaluator[part], rows.contrast[part]
        found: Floats = _dense_spread(*columns, *covariances)
        return found

    return spread


def _local(objective: Penalised, near: OnePass) -> Spread:
    """Return the spread of margins as nearly as one pass over the comparisons tells it."""
    rows, weight = objective.data.rows, objective.data.weights()
    of_scores, of_biases = near.scores_given_biases, near.evaluators
    diagonal = objective.last.scores[:, 1] + objective.penalty.scores

    def spread(part: slice) -> Floats:
        columns = rows.better[part], rows.worse[part], rows.evaluator[part], rows.contrast[part]
        found: Floats = _local_spread(*columns, weight[part], of_scores, of_biases, diagonal)
        return found

    return spread


@njit(cache=True, nogil=True)
def _dense_spread(better, worse, evaluator, contrast, joint, given):  # type: ignore[no-untyped-def]
    """Return twice the variance of the scores' part given the biases, less that of the margin."""
    n, n_contrasts = len(given), contrast.shape[1]
    out = np.empty(len(better))
    for p in range(len(better)):
        i, j, place = better[p], worse[p], n + evaluator[p] * n_contrasts
        own = given[i, i] + given[j, j] - 2 * given[i, j]
        whole = joint[i, i] + joint[j, j] - 2 * joint[i, j]
        for c in range(n_contrasts):
            x = contrast[p, c]
            whole += 2 * x * (joint[i, place + c] - joint[j, place + c])
            for d in range(n_contrasts):
                whole += x * contrast[p, d] * joint[place + c, place + d]
        out[p] = min(max(2 * own - whole, LEAST), MOST)
    return out


@njit(cache=True, nogil=True)
def _local_spread(better, worse, evaluator, contrast, weight, of_scores, of_biases, diagonal):  # type: ignore[no-untyped-def]
    """Return the same to the first order in what one comparison adds about its items."""
    n_contrasts = contrast.shape[1]
    out = np.empty(len(better))
    for p in range(len(better)):
        i, j, k = better[p], worse[p], evaluator[p]
        own = of_scores[i] + of_scores[j] - 2 * weight[p] / (diagonal[i] * diagonal[j])
        left = 1 - weight[p] * (1 / diagonal[i] + 1 / diagonal[j])
        other = 0.0
        for c in range(n_contrasts):
            for d in range(n_contrasts):
                other += contrast[p, c] * contrast[p, d] * of_biases[k, c, d]
        out[p] = min(max(own - left * left * other, LEAST), MOST)
    return out
