r"""Standard errors from the curvature of the penalised likelihood.

With :math:`\Sigma` the inverse Hessian and :math:`V K^T` the move to the anchor
(:class:`comparity.ranking.anchors.Move`), the covariance of the anchored parameters is
:math:`(I + V K^T) \Sigma (I + K V^T)`. Small fits invert the Hessian. Large ones factor it where
comparisons run in a band (:mod:`comparity.ranking.likelihood.banded`), or invert what is left of it
without the evaluators where items are few (:mod:`comparity.ranking.likelihood.exact`). Elsewhere,
because items are a few comparisons apart, errors of scores, and of biases about their mean, are
taken as nearly as passes over the comparisons tell them
(:mod:`comparity.ranking.likelihood.one_pass`), and the mean is solved for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from comparity.ranking.anchors import Move
from comparity.ranking.likelihood import exact as _exact
from comparity.ranking.likelihood.banded import solve_banded
from comparity.ranking.likelihood.dispersion import Dispersion, TasteGains, dispersion_of
from comparity.ranking.likelihood.exact import Inverse, Solving, few_items, one_thread
from comparity.ranking.likelihood.objective import Penalised, conjugate_gradients, inner
from comparity.ranking.likelihood.one_pass import OnePass
from comparity.ranking.likelihood.sandwich import (
    ClusterGains,
    Gains,
    blocks_of,
    too_many_for_clusters,
)

if TYPE_CHECKING:
    from comparity.ranking.connectivity import Diagnosis
    from comparity.ranking.items import ItemAttribute

Floats = NDArray[np.float64]

TASTE_WORK = 2e7
"""Parameters times comparisons, up to which each error allows for tastes by what it has of them,
and beyond which all do by one factor: a fifth of a second."""
EVALUATORS_FOR_ROUGH_MEAN = 100
"""With more evaluators the mean hangs on none of them, and is solved for less precisely."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Errors:
    """Standard errors of an anchored fit.

    Attributes
    ----------
    scores : ndarray
        Of scores about their mean.
    bias, centred : ndarray, (evaluators, contrasts)
        Of biases, the anchor taken for a fact, and of biases minus their mean.
    level : ndarray, (contrasts,)
        Of the mean bias, the anchor taken for a fact.
    gap : ndarray, (contrasts of groups,)
        Of the difference of the groups' levels in the scores, the anchor taken for a fact.
    extra : ndarray
        Of seat effect and tie parameter.
    with_last : ndarray, (evaluators, contrasts)
        Covariance of each bias with the evaluator's last one.
    fit : Dispersion or None
        Whether residuals go together more than the model says.
    """

    scores: Floats
    bias: Floats
    centred: Floats
    level: Floats
    gap: Floats
    extra: Floats
    with_last: Floats
    fit: Dispersion | None = None


def errors_of(objective: Penalised, move: Move, known: NDArray[np.bool_]) -> Errors:
    """Return standard errors at the point evaluated last.

    Parameters
    ----------
    objective : Penalised
    move : Move
    known : ndarray of bool, (evaluators, contrasts)
        Biases that are zero by assumption, and have no error.
    """
    with one_thread():
        small = objective.size <= _exact.DENSE
        solved = Inverse(objective) if small else solve_banded(objective) or few_items(objective)
        if solved is not None:
            return _add_what_is_shared(objective, solved, move, known)
        if objective.data.rows.cluster is not None:
            raise too_many_for_clusters(objective)
        found = _errors_by_passes(objective, move, known)
    fit = dispersion_of(objective)
    return _multiply_errors(replace(found, fit=fit), fit.factor if fit.rejects else 1.0)


def _add_what_is_shared(
    objective: Penalised, solved: Solving, move: Move, known: NDArray[np.bool_]
) -> Errors:
    """Return exact errors, with what comparisons share: in clusters where named, or in tastes."""
    found = errors_by_solving(objective, solved, move, known)
    fit, rows = dispersion_of(objective), objective.data.rows
    found = replace(found, fit=fit)
    if rows.cluster is not None:
        return _add_gains(found, objective, ClusterGains(objective, solved), move, known)
    if not fit.rejects:
        return found
    if objective.n_evaluators == 1 or objective.size * len(rows.better) > TASTE_WORK:
        return _multiply_errors(found, fit.factor)
    return _add_gains(found, objective, TasteGains(objective, solved, fit.variance), move, known)


def _multiply_errors(errors: Errors, factor: float) -> Errors:
    """Return errors whose squares are larger by a factor."""
    root = math.sqrt(factor)
    return replace(
        errors,
        scores=errors.scores * root,
        bias=errors.bias * root,
        centred=errors.centred * root,
        level=errors.level * root,
        gap=errors.gap * root,
        extra=errors.extra * root,
        with_last=errors.with_last * factor,
    )


def _add_gains(
    errors: Errors, objective: Penalised, gains: Gains, move: Move, known: NDArray[np.bool_]
) -> Errors:
    """Return errors that allow for comparisons to go together."""
    n, m, c = objective.n_items, objective.n_evaluators, objective.n_contrasts
    flat, weights = _move_matrices(objective, move)
    added, about, both = np.zeros(objective.size), np.zeros((m, c)), np.zeros((m, c))

    def anchor_columns(places: NDArray[np.int64]) -> Floats:
        columns: Floats = weights @ flat[places].T
        columns[places, np.arange(len(places))] += 1
        return columns

    for some in blocks_of(objective.size):
        added[some] = gains.gains_of(anchor_columns(some))
    own, level, share = added[n : n + m * c].reshape(m, c), np.zeros(c), (~known).mean(axis=0)
    for contrast in range(c):
        free = ~known[:, contrast]
        mean = _mean_target(objective, move, contrast, free)
        level[contrast] = gains.gains_of(mean[:, None])[0] * share[contrast] ** 2
        for who in blocks_of(m):
            mine = anchor_columns(n + who * c + contrast) * free[who]
            about[who, contrast] = gains.gains_of(mine - share[contrast] * mean[:, None])
            joint = gains.gains_of(mine + anchor_columns(n + who * c + c - 1))
            both[who, contrast] = (joint - own[who, contrast] - own[who, -1]) / 2
    if gains.few is not None:
        few = gains.few[:, None]
        own, about = (np.where(few, np.maximum(one, 0.0), one) for one in (own, about))
    gaps = gains.gains_of(_gap_targets(objective, move))
    return Errors(
        scores=_add_variance(errors.scores, added[:n]),
        bias=np.where(known, 0.0, _add_variance(errors.bias, own)),
        centred=_add_variance(errors.centred, about),
        level=_add_variance(errors.level, level),
        gap=_add_variance(errors.gap, gaps),
        extra=_add_variance(errors.extra, added[n + m * c :]),
        with_last=np.where(known, 0.0, errors.with_last + both),
        fit=errors.fit,
    )


def _add_variance(errors: Floats, added: Floats) -> Floats:
    return _root(errors**2 + added)


def without_unknown(
    errors: Errors, move: Move, attributes: tuple[ItemAttribute, ...], diagnosis: Diagnosis
) -> Errors:
    """Give no error where nothing is known: scores the anchor fixes, biases of groups never met."""
    unmet, lost = diagnosis.unmet, diagnosis.uncompared
    scores = np.where(move.is_fixed, np.nan, errors.scores)
    if not len(unmet):
        return replace(errors, scores=scores)
    bias, centred, level = errors.bias.copy(), errors.centred.copy(), errors.level.copy()
    bias[:, unmet], centred[:, unmet], level[unmet] = np.nan, np.nan, np.nan
    for attribute in attributes:
        alone = np.bincount(attribute.codes)[attribute.codes[lost]] == 1
        scores[lost[alone]] = np.nan
    return replace(errors, scores=scores, bias=bias, centred=centred, level=level)


def chance_covariance(scores: Floats, errors: Floats, basis: Floats) -> Floats:
    """Return the covariance by which groups of these sizes differ in mean, of items drawn alike.

    That two populations have equal means does not make two samples have them; where the anchor
    says so of the samples, the difference goes into the mean bias.
    """
    squares = scores**2 + np.nan_to_num(errors) ** 2
    spread = squares.sum() / max(1, len(basis) - basis.shape[1])
    covariance: Floats = spread * np.linalg.pinv(basis.T @ basis)[1:, 1:]
    return covariance


def chance_of_scores(covariance: Floats, basis: Floats) -> Floats:
    """Return what such differences between groups do to the scores about their mean.

    As multiples of independent standard normal variables, (items, contrasts of groups): the sum of
    their squares is the variance of a score, that of differences the one between two scores.
    """
    groups = basis[:, 1:] - basis[:, 1:].mean(axis=0)
    values, vectors = np.linalg.eigh(covariance)
    found: Floats = groups @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    return found


def _move_matrices(objective: Penalised, move: Move) -> tuple[Floats, Floats]:
    """Return V and K of the move, with a row for every parameter."""
    n, flat = objective.n_items, objective.directions(move.basis)
    weights = -np.append(0.0, move.bias_weights) * flat
    weights[:n], means = move.score_weights, move.basis[:, 1:].mean(axis=0)
    weights[n:, 0] = -weights[n:, 1:] @ means
    return flat, weights


def _gap_targets(objective: Penalised, move: Move) -> Floats:
    """Return the weights of parameters in each difference of groups' levels, once anchored.

    A level is what a regression of the scores on the groups gives. Where the anchor is that there
    is no difference, the weights are zero.
    """
    targets = _move_matrices(objective, move)[1]
    targets[: objective.n_items] += move.level_weights
    return targets[:, 1:]


def errors_by_solving(
    objective: Penalised, solved: Solving, move: Move, known: NDArray[np.bool_]
) -> Errors:
    """Return standard errors by an exact solver; all else is as in :func:`errors_of`."""
    n, m, c = objective.n_items, objective.n_evaluators, objective.n_contrasts
    end, targets = n + m * c, _gap_targets(objective, move)
    flat, weights = _move_matrices(objective, move)
    right = solved.solve(weights)
    with_last = np.zeros((m, c))
    if c:
        # What anchoring takes from a bias goes with the last one, too.
        with_last = solved.of_biases[:, :, -1].copy()
        with_last[:, : flat.shape[1] - 1] -= right[n:end].reshape(m, c, -1)[:, -1, 1:]
    right += flat @ (weights.T @ right) / 2
    variances = solved.variances + 2 * (flat * right).sum(axis=1)
    own = np.where(known, 0.0, variances[n:end].reshape(m, c))
    with_mean, level, share = np.zeros((m, c)), np.zeros(c), (~known).mean(axis=0)
    for contrast in range(c):
        free = ~known[:, contrast]
        target = _mean_target(objective, move, contrast, free)
        drawn = _about_anchor(
            objective, target, solved.solve(target[:, None])[:, 0], contrast, free
        )
        with_mean[free, contrast], level[contrast] = drawn[free], drawn[free].mean()
    return Errors(
        scores=_root(variances[:n]),
        bias=_root(own),
        # The mean of all is that of the free ones times their share.
        centred=_root(own - 2 * share * with_mean + share**2 * level),
        level=_root(share**2 * level),
        gap=_root((targets * solved.solve(targets)).sum(axis=0)),
        extra=_root(variances[end:]),
        with_last=np.where(known, 0.0, with_last),
    )


def _errors_by_passes(objective: Penalised, move: Move, known: NDArray[np.bool_]) -> Errors:
    near = OnePass(objective)
    apart = np.einsum("kii->ki", near.evaluators)
    bias, centred, level = np.empty_like(apart), np.empty_like(apart), np.empty(apart.shape[1])
    for contrast in range(len(level)):
        free = ~known[:, contrast]
        bias[:, contrast], centred[:, contrast], level[contrast] = _about_mean(
            apart[:, contrast], _with_mean(objective, move, contrast, free), free
        )
    gaps = [_variance(objective, target) for target in _gap_targets(objective, move).T]
    places = range(objective.size - objective.data.rows.n_extra, objective.size)
    extra = [_variance(objective, np.eye(1, objective.size, place)[0]) for place in places]
    return Errors(
        scores=_root(near.scores),
        bias=_root(bias),
        centred=_root(centred),
        level=_root(level),
        gap=_root(np.array(gaps)),
        extra=_root(np.array(extra)),
        with_last=np.where(known, 0.0, near.evaluators[:, :, -1:].sum(axis=2)),
    )


def _about_mean(
    apart: Floats, with_mean: Floats, free: NDArray[np.bool_]
) -> tuple[Floats, Floats, float]:
    """Return variances of biases, of biases minus the mean of all, and of that mean.

    Parameters
    ----------
    apart : ndarray
        Variance of each evaluator's bias, the common level known: differences of two biases have
        the sum of theirs.
    with_mean : ndarray
        Covariance of each bias with the mean of those that are free.
    free : ndarray of bool
        Biases that are not zero by assumption.
    """
    m, level = free.sum(), float(with_mean[free].mean())
    about = apart * (1 - 2 / m) + apart[free].sum() / m**2
    both = with_mean - level
    # The mean of all is that of the free ones times their share.
    share = free.mean()
    rest = 1 - share
    bias = np.where(free, _nan_below_zero(about + 2 * both + level), 0.0)
    own = _nan_below_zero(about + 2 * rest * both + rest**2 * level)
    return bias, np.where(free, own, share**2 * level), float(share**2 * level)


def _nan_below_zero(variances: Floats) -> Floats:
    """Return variances; what approximations leave below zero is not known."""
    return np.where(variances >= 0, variances, np.nan)


def _with_mean(objective: Penalised, move: Move, contrast: int, free: NDArray[np.bool_]) -> Floats:
    """Return the covariance of anchored biases with the mean of those that are free."""
    target = _mean_target(objective, move, contrast, free)
    close = 5e-2 if len(free) > EVALUATORS_FOR_ROUGH_MEAN else 1e-2
    solved, _ = conjugate_gradients(objective, target, relative=close, most=60)
    return _about_anchor(objective, target, solved, contrast, free)


def _mean_target(
    objective: Penalised, move: Move, contrast: int, free: NDArray[np.bool_]
) -> Floats:
    """Return the weights of parameters in the mean of the free biases, once anchored."""
    target = np.zeros(objective.size)
    scores, bias, _ = objective.split(target)
    bias[free, contrast] = 1 / free.sum()
    if contrast + 1 < move.basis.shape[1]:
        scores -= move.score_weights[:, contrast + 1]
        bias[:, contrast] -= move.bias_weights[contrast]
    return target


def _about_anchor(
    objective: Penalised, target: Floats, solved: Floats, contrast: int, free: NDArray[np.bool_]
) -> Floats:
    """Return covariances of anchored biases with the target from those of biases as fitted.

    Anchoring moves all biases by one number, so that their differences from the mean stay.
    """
    found = objective.split(solved)[1][:, contrast]
    return np.asarray(found - found[free].mean() + inner(target, solved), dtype=np.float64)


def _variance(objective: Penalised, target: Floats) -> float:
    """Return the variance of a weighted sum of parameters."""
    if not target.any():
        return 0.0
    solved, _ = conjugate_gradients(objective, target, relative=1e-3, most=60)
    return inner(target, solved)


def _root(variances: Floats) -> Floats:
    return np.sqrt(np.maximum(variances, 0.0))
