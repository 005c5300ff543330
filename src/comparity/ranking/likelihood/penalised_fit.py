"""From comparisons to a fit: start, priors, Newton, anchor, errors; shared by the models."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from comparity.errors import NoPriorError
from comparity.ranking.anchors import ZERO_MEAN, Anchor, Move, move_of
from comparity.ranking.connectivity import Diagnosis
from comparity.ranking.fits import Prior, by_cross_validation, folds
from comparity.ranking.items import list_first
from comparity.ranking.likelihood.comparison_rows import ComparisonRows, rows_of
from comparity.ranking.likelihood.errors import Errors, errors_of
from comparity.ranking.likelihood.evidence import LEAST_SCORE_SD
from comparity.ranking.likelihood.lapses import SCALE, pass_over
from comparity.ranking.likelihood.objective import (
    EFFECT_SD,
    Penalised,
    Solution,
    Watch,
    minimise,
    watch_fit,
)
from comparity.ranking.likelihood.search import (
    COMPARISONS_TO_SHOW,
    Search,
    Task,
    evidence_at,
    groups_won_both_ways,
)
from comparity.ranking.likelihood.sharpness import equality_test, with_log_sharpness

Floats = NDArray[np.float64]

N_FOLDS = 5
AT_REST = 1e-3
"""Norm of the gradient that is enough with lapses, where expected curvatures come near slowly: it
moves a score by a thousandth of its error."""
PRIORS = ("score_prior", "bias_prior")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """A fit at its optimum, anchored.

    Attributes
    ----------
    scores, bias, extra : ndarray
        Anchored scores with mean zero, anchored biases, seat effect and tie parameter.
    log_likelihood : float
        Without the priors.
    objective : Penalised
        Evaluated last at `solution`.
    solution : Solution
    move : Move
        From the solution to the anchored parameters.
    trusted : ndarray of int
        Evaluators whose biases are zero by assumption.
    priors : tuple of Prior
    log_sharpness : ndarray
        Of each evaluator, with mean zero; all zero where sharpness is equal.
    sharpness_sd : float
        SD of its prior; ``nan`` where sharpness is equal.
    inverted : ndarray of bool
        Evaluators with a negative sharpness, of which the logarithm is that of its size.
    equality : tuple of float, int, float or None
        Test of equal sharpness on the way to a sharpness of each.
    tastes : ndarray or None, (evaluators,)
        SD of each evaluator's tastes, in the unit of the scores, where the model has any.
    """

    scores: Floats
    bias: Floats
    extra: Floats
    log_likelihood: float
    objective: Penalised
    solution: Solution
    move: Move
    trusted: NDArray[np.int64]
    priors: tuple[Prior, ...]
    log_sharpness: Floats
    sharpness_sd: float
    inverted: NDArray[np.bool_]
    equality: tuple[float, int, float] | None
    tastes: Floats | None = None

    def errors(self) -> Errors:
        """Return standard errors; biases of the trusted, which are zero, have none.

        Where evaluators have a sharpness, its logarithm is the last contrast.
        """
        known = np.zeros(self.bias.shape, dtype=bool)
        known[self.trusted] = True
        if not self.has_sharpness:
            return errors_of(self.objective, self.move, known)
        known = np.column_stack([known, np.zeros(len(known), dtype=bool)])
        return errors_of(self.widened_likelihood(), self.move, known)

    def widened_likelihood(self) -> Penalised:
        """Return the likelihood with log sharpness as one more parameter of each evaluator."""
        return with_log_sharpness(self.objective, self.solution.point, self.sharpness_sd)

    @property
    def has_sharpness(self) -> bool:
        """Whether each evaluator has a sharpness of its own."""
        return not math.isnan(self.sharpness_sd)

    def test_equality(self) -> tuple[float, int, float]:
        """Return chi-square, degrees of freedom and p value of equal sharpness.

        Rao's test where the fit is of equal sharpness or began with it, Wald's after large fits.
        """
        if self.equality is not None:
            return self.equality
        return equality_test(self.log_sharpness, evidence_at(self.objective, self.solution.point))


def fit(task: Task, rows: ComparisonRows | None = None) -> Fit:
    """Maximise the penalised likelihood, choosing priors where the task leaves them open.

    `rows` are what :func:`rows_for` makes of the task, where they are there already.
    """
    task = _choose_by_folds(task)
    rows = rows_for(task) if rows is None else rows
    move = move_of(task.anchor, task.columns, rows.n_evaluators)
    with watch_fit(len(rows.better), COMPARISONS_TO_SHOW) as watch:
        search, objective, solution = _fit_and_choose(task, rows, move, watch)
    scores, bias, extra = objective.split(solution.point)
    scores, bias = move.apply(scores, bias)
    bias = bias.copy()
    bias[task.anchor.trusted] = 0.0
    return Fit(
        scores=scores,
        bias=bias,
        extra=extra.copy(),
        log_likelihood=-objective.last.loss,
        objective=objective,
        solution=solution,
        move=move,
        trusted=task.anchor.trusted,
        priors=_priors(task, rows, search.sds),
        log_sharpness=search.log_sharpness,
        sharpness_sd=search.sharpness_sd,
        inverted=search.data.sharpness < 0
        if search.data.sharpness is not None
        else np.zeros(rows.n_evaluators, dtype=bool),
        equality=search.equality,
    )


def check_finite(task: Task, diagnosis: Diagnosis) -> None:
    """Raise an error where the likelihood has no maximum and no prior gives it one."""
    if math.isinf(task.score_prior.sd) and diagnosis.is_separated:
        raise NoPriorError("scores", " ".join(diagnosis.notes))
    if not math.isinf(task.bias_prior.sd) or not task.columns.shape[1]:
        return
    if len(diagnosis.unmet):
        # Notes end with these contrasts.
        raise NoPriorError("biases", " ".join(diagnosis.notes[-len(diagnosis.unmet) :]))
    lost = np.union1d(diagnosis.silent, diagnosis.one_sided)
    if len(lost):
        names = list_first(task.judgments.evaluators[lost])
        raise NoPriorError("biases", f"no or one-sided comparisons by {names}")


def rows_for(task: Task) -> ComparisonRows:
    """Return the comparisons sorted by evaluator, with contrasts; trusted evaluators have none.

    Where each evaluator has a seat effect, that of the trusted is one effect for all, and those of
    others are differences from it.
    """
    rows = rows_of(task.judgments, task.columns, seat_by_evaluator=task.seat_by_evaluator)
    rows = rows if task.lapses == rows.lapses else replace(rows, lapses=task.lapses)
    if not len(task.anchor.trusted):
        return rows
    # A trusted evaluator has no bias: the groups of its items make no difference.
    contrast = rows.contrast.copy()
    contrast[np.isin(rows.evaluator, task.anchor.trusted)] = 0
    shared = rows.contrast[:, -1].copy() if rows.own_seats else rows.seat
    return replace(rows, contrast=contrast, seat=shared)


def _fit_and_choose(
    task: Task, rows: ComparisonRows, move: Move, watch: Watch | None
) -> tuple[Search, Penalised, Solution]:
    """Fit, choose priors and correct in turns until nothing moves, then fit to the end."""
    search = Search(task, rows, move, watch)
    if task.score_prior.by_likelihood or task.bias_prior.by_likelihood or task.corrected:
        if task.may_sharpen:
            search.settle_with_sharpness()
        else:
            search.settle()
    objective = search.objective()
    tolerance = task.tolerance if task.lapses == 0.0 else max(task.tolerance, AT_REST)
    solution = minimise(objective, search.point, tolerance=tolerance, watch=watch)
    converged = solution.converged and search.settled
    return search, objective, replace(solution, converged=converged)


def _priors(task: Task, rows: ComparisonRows, sds: Floats) -> tuple[Prior, ...]:
    score_sd, bias_sd = sds.tolist()
    priors = [task.score_prior.grant(score_sd, least=LEAST_SCORE_SD)]
    if rows.contrast.shape[1]:
        priors.append(task.bias_prior.grant(bias_sd))
        if not math.isinf(bias_sd) and not groups_won_both_ways(rows):
            priors.append(Prior(of="mean bias", sd=EFFECT_SD, chosen_by="default"))
    if len(task.anchor.trusted) and not math.isinf(score_sd):
        priors.append(Prior(of="levels of groups", sd=EFFECT_SD, chosen_by="default"))
    if rows.seat is not None or rows.tied is not None:
        priors.append(Prior(of="seat effect and ties", sd=EFFECT_SD, chosen_by="default"))
    if rows.lapses is None:
        priors.append(Prior(of="log odds of lapses", sd=SCALE * EFFECT_SD, chosen_by="default"))
    return tuple(priors)


def _choose_by_folds(task: Task) -> Task:
    """Replace wishes for cross-validation by the best standard deviation, scores first."""
    for of in PRIORS:
        if getattr(task, of).by_folds:
            sd = by_cross_validation(partial(_loss_left_out, task, of))
            task = replace(task, **{of: replace(getattr(task, of), sd=sd)})
    return task


def _loss_left_out(task: Task, chosen: str, sd: float) -> float:
    """Return the loss on comparisons left out, a part at a time, with one prior at this SD."""
    scores, biases = (
        replace(wish, chosen_by="the caller", sd=sd if of == chosen else wish.sd)
        for of, wish in (("score_prior", task.score_prior), ("bias_prior", task.bias_prior))
    )
    task = replace(task, corrected=False, score_prior=scores, bias_prior=biases)
    fold = folds(len(task.judgments), N_FOLDS, np.random.default_rng(task.seed))
    total = 0.0
    for k in range(N_FOLDS):
        fitted = fit(replace(task, judgments=task.judgments.subset(fold != k)))
        test = rows_for(replace(task, judgments=task.judgments.subset(fold == k)))
        total += pass_over(test).evaluate(*fitted.objective.split(fitted.solution.point)).loss
    return total


NO_ANCHOR = Anchor(kind=ZERO_MEAN, trusted=np.empty(0, dtype=np.int64), words="")
"""For models without biases: scores have mean zero, nothing else moves."""
