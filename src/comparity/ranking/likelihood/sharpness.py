r"""How sharp each evaluator is, estimated with the scores integrated out.

Evaluator k puts i above j with log odds :math:`g_k z`, where
:math:`z = s_i - s_j + b_k \cdot (x_i - x_j)`. A joint maximum over scores and :math:`g` is
inconsistent: scores are as many as items, and their errors stretch every :math:`g`. So scores are
integrated out: with the Gaussian approximation :math:`N(\hat z, v)` of a lead given all judgments,
the slope of the marginal likelihood in :math:`\ell_k = \log g_k` is a mean over that distribution
(Fisher's identity),

.. math:: S_k = \sum_{p \in k} E[g_k z_p \, (1 - \operatorname{logistic}(g_k z_p))],

and its information, with H the Hessian in scores and biases, W the curvatures and x the rows of the
design,

.. math:: I_{kl} = [k = l] \sum_{p \in k} E[W_p z_p^2] - c_k^T H^{-1} c_l, \qquad
          c_k = \sum_{p \in k} W_p \hat z_p x_p .

Data leave the common level of :math:`\ell` to the scale of the scores. About it :math:`\ell_k` has
a normal prior, whose SD :math:`\tau` maximises the marginal likelihood of the estimates,
:math:`N(\mu, \tau^2 + I^{-1})`, times :math:`\tau e^{-\tau^2 / 2}`. That keeps :math:`\tau` off
zero (Chung et al., 2013): an estimate of zero would take evaluators for equally sharp whenever they
are not seen to differ, which is a pretest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import chdtrc, ndtri

from comparity.counts.kernels.compilation import njit
from comparity.counts.pairs import ROUNDING
from comparity.ranking.likelihood.evidence import CHUNK, lead_variances
from comparity.ranking.likelihood.exact import Solving
from comparity.ranking.likelihood.kernels import sum_by_evaluator, times_of_evaluator
from comparity.ranking.likelihood.lapses import general_pass
from comparity.ranking.likelihood.objective import Penalised
from comparity.ranking.likelihood.one_pass import OnePass

Floats = NDArray[np.float64]

WIDE = 1.0
"""Scale of the prior of the SD of log sharpness: evaluators of such a panel differ by a factor of
2.7 either way, which is more than panels of people or language models were seen to."""
LEAST_SD, MOST_SD = 1e-3, 3.0
INVERTED_LEVEL = 0.05
VAGUE = 0.35
"""Standard error of log sharpness from which on it is known by no more than a factor of two."""
WIDEST = 1.0
"""Error of log sharpness beyond which it says nothing of equality: a factor of 2.7 either way. Four
judgments each of four items rejected equality in 0.10 of panels without it, in none with 2 or 1."""
VARIANCE_OF_UNKNOWN = 1e12
"""Variance of what comparisons say nothing about."""
LONGEST_STEP = 1.0
"""Change of log sharpness in one round at most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """What comparisons tell about log sharpness, at some sharpness.

    Attributes
    ----------
    slope : ndarray, (evaluators,)
        Of the marginal log-likelihood.
    information : ndarray, (evaluators,) or (evaluators, evaluators)
        Its curvature, or the diagonal where evaluators are too many for more.
    """

    slope: Floats
    information: Floats

    @property
    def variances(self) -> tuple[Floats, Floats]:
        """Variances of log sharpness about its mean, and the directions that they belong to."""
        m = len(self.slope)
        if self.information.ndim == 1:
            return 1 / self.information, np.eye(m)
        # Directions across that of all evaluators at once.
        across = np.linalg.qr(np.column_stack([np.ones(m), np.eye(m)[:, 1:]]))[0][:, 1:]
        known, directions = self._directions()
        spread = np.where(known > 0, 1 / np.where(known > 0, known, 1.0), VARIANCE_OF_UNKNOWN)
        values, vectors = np.linalg.eigh(across.T @ (directions * spread) @ directions.T @ across)
        return np.maximum(values, 1e-12), across @ vectors

    @property
    def own_information(self) -> Floats:
        """Information of each log sharpness, those of the others known."""
        return self.information if self.information.ndim == 1 else np.diagonal(self.information)

    @property
    def newton_step(self) -> Floats:
        """How far the estimates without a prior lie from here."""
        if self.information.ndim == 1:
            return self.slope / self.information
        known, directions = self._directions()
        along = directions.T @ self.slope
        step: Floats = directions @ np.where(known > 0, along / np.where(known > 0, known, 1.0), 0)
        return step

    def _directions(self) -> tuple[Floats, Floats]:
        """Return how much is known in each of the main directions, and these.

        With a few judgments the integrated likelihood may bend upward: there it knows nothing.
        """
        values, vectors = np.linalg.eigh(self.information)
        least = ROUNDING * max(float(np.abs(values).max()), float(np.finfo(float).tiny))
        return np.where(values > least, values, 0.0), vectors


def evidence_of(objective: Penalised, point: Floats, covariances: Solving | OnePass) -> Evidence:
    """Return what comparisons tell about log sharpness at the point evaluated last."""
    if isinstance(covariances, OnePass):
        slope, whole = _sum_pulls(objective, point, covariances)
        share = whole / whole.sum()
        return Evidence(slope=slope, information=np.maximum(whole * (1 - share), 1e-9))
    leads = np.empty(len(objective.data.rows.better))
    slope, whole = _sum_pulls(objective, point, covariances, leads)
    border = border_of(objective, leads)
    drawn = covariances.solve(border)
    return Evidence(slope=slope, information=np.diag(whole) - border.T @ drawn)


def step_of(log_sharpness: Floats, found: Evidence) -> tuple[Floats, float]:
    """Return the next log sharpness, with mean zero, and the SD of its prior."""
    centred = log_sharpness - log_sharpness.mean()
    free, variances = _free_estimates(log_sharpness, found)
    sd = best_sd(free, variances)
    kept = found.variances[1] @ (free * sd**2 / (sd**2 + variances))
    kept = kept - kept.mean()
    step = np.clip(kept - centred, -LONGEST_STEP, LONGEST_STEP)
    return centred + step, sd


def _free_estimates(log_sharpness: Floats, found: Evidence) -> tuple[Floats, Floats]:
    """Return estimates about their mean without a prior, by a step of Newton, and variances."""
    variances, along = found.variances
    centred = log_sharpness - log_sharpness.mean()
    if found.information.ndim == 1:
        free = centred + found.newton_step
        return free - np.average(free, weights=1 / variances), variances
    return along.T @ (centred + found.newton_step), variances


def equality_test(log_sharpness: Floats, found: Evidence) -> tuple[float, int, float]:
    """Return chi-square, degrees of freedom and p value of equal sharpness of all evaluators.

    Only differences with an error of less than `WIDEST` count: beyond that the likelihood is no
    parabola in log sharpness, and Wald's statistic anything. Without any the p value is ``nan``.
    """
    free, variances = _free_estimates(log_sharpness, found)
    known = variances < WIDEST**2
    statistic, dof = float((free[known] ** 2 / variances[known]).sum()), int(known.sum())
    if found.information.ndim == 1:
        dof = max(dof - 1, 0)
    return statistic, dof, float(chdtrc(dof, statistic)) if dof else math.nan


def tells_sharpness(found: Evidence) -> bool:
    """Return whether judgments suffice to tell the sharpness of anyone from that of the others.

    It asks for errors at equal sharpness, not for differences: to take evaluators for equal because
    they are not seen to differ would be a pretest. One evaluator is enough, because whoever judged
    most is accused with most certainty where a lack of sharpness passes for a bias.
    """
    return bool(found.own_information.max() >= VAGUE**-2)


def find_inverted(found: Evidence) -> NDArray[np.bool_]:
    r"""Return which evaluators fit better with a negative sharpness.

    Without a prior, a step of Newton leads from :math:`g_k` to :math:`g_k (1 + S_k / I_{kk})`, with
    the error :math:`g_k I_{kk}^{-1/2}`. That is below zero by more than Bonferroni's quantile of
    all evaluators where someone decides against the order of the others.
    """
    own = found.own_information
    # Where the integrated likelihood does not bend, it says nothing of a sign.
    beyond = own + found.slope < ndtri(INVERTED_LEVEL / len(own)) * np.sqrt(np.maximum(own, 0))
    return np.asarray(beyond & (own > 0))


def best_sd(free: Floats, variances: Floats) -> float:
    """Return the SD of the prior that maximises the marginal likelihood times its own prior."""

    def loss(log_sd: float) -> float:
        square = math.exp(2 * log_sd)
        whole = square + variances
        fit = float((np.log(whole) + free**2 / whole).sum()) / 2
        return fit - log_sd + square / (2 * WIDE**2)

    ends = math.log(LEAST_SD), math.log(MOST_SD)
    return math.exp(minimize_scalar(loss, bounds=ends, method="bounded").x)


def _sum_pulls(
    objective: Penalised,
    point: Floats,
    covariances: Solving | OnePass,
    leads: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return slope and mean curvature in log sharpness of each evaluator, and fill in all leads."""
    data, rows = objective.data, objective.data.rows
    parts, m = objective.split(point), rows.n_evaluators
    spread = lead_variances(objective, covariances)
    slope, whole = np.zeros(m), np.zeros(m)
    square = np.ones(m) if data.sharpness is None else data.sharpness**2
    for start in range(0, len(rows.better), CHUNK):
        part = slice(start, start + CHUNK)
        who = rows.evaluator[part]
        own = np.maximum(times_of_evaluator(spread(part), square, who), 0.0)
        pull, weight, lead = data.pull_of_sharpness(part, own, *parts)
        sum_by_evaluator(who, pull, slope)
        sum_by_evaluator(who, weight, whole)
        if leads is not None:
            leads[part] = lead
    return -slope, whole


def with_log_sharpness(objective: Penalised, point: Floats, sd: float) -> Penalised:
    """Return the likelihood with log sharpness as one more parameter of each evaluator.

    To the first order: a change of log sharpness moves the lead by itself, as a bias toward one
    more contrast would. So all that finds errors of biases finds those of log sharpness.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at `point`, its minimum.
    point : ndarray
    sd : float
        Of the prior of log sharpness about its mean.
    """
    data, penalty = objective.data, objective.penalty
    scores, bias, extra = objective.split(point)
    contrast = np.empty((len(data.rows.better), bias.shape[1] + 1))
    contrast[:, :-1] = data.rows.contrast
    for start in range(0, len(contrast), CHUNK):
        part = slice(start, start + CHUNK)
        contrast[part, -1] = data.leads(scores, bias, part)
    wider = general_pass(replace(data.rows, contrast=contrast, own_seats=False))
    wider.sharpness = data.sharpness
    precision = np.zeros((contrast.shape[1], contrast.shape[1]))
    precision[:-1, :-1], precision[-1, -1] = penalty.bias, sd**-2
    # Levels of groups and the level of the scores are flat as before, that of sharpness is not.
    found = Penalised(
        wider, replace(penalty, bias=precision), objective.flat_basis, flat=True, tilt=None
    )
    changes = np.column_stack([bias, np.zeros(len(bias))])
    found.evaluate(np.concatenate([scores, changes.ravel(), extra]))
    return found


def border_of(objective: Penalised, leads: Floats) -> Floats:
    """Return the Hessian between all parameters and log sharpness, (parameters, evaluators)."""
    data, rows = objective.data, objective.data.rows
    border = np.zeros((objective.size, rows.n_evaluators))
    _add_border(*rows.columns(), data.weights() * leads, rows.n_items, border)
    for place, change in enumerate(data.effect_changes(leads)):
        end = objective.size - rows.n_extra + place
        border[end] = np.bincount(rows.evaluator, change, rows.n_evaluators)
    return border


@njit(cache=True, nogil=True)
def _add_border(better, worse, evaluator, contrast, change, n_items, border):  # type: ignore[no-untyped-def]
    """Add what each comparison has between its parameters and its evaluator's log sharpness."""
    n_contrasts = contrast.shape[1]
    for p in range(len(better)):
        k = evaluator[p]
        border[better[p], k] += change[p]
        border[worse[p], k] -= change[p]
        for c in range(n_contrasts):
            border[n_items + k * n_contrasts + c, k] += change[p] * contrast[p, c]
