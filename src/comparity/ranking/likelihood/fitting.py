"""From comparisons to a fit: start, priors, Newton, anchor, errors; shared by the models."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import NoPriorError, OptionError
from comparity.ranking.connectivity import Diagnosis
from comparity.ranking.contrasts import ZERO_MEAN, Anchor, Move, move_of
from comparity.ranking.fits import Prior, Wish, bounded, by_cross_validation, folds
from comparity.ranking.judgments import Judgments, count_outcomes
from comparity.ranking.likelihood import exact as _exact
from comparity.ranking.likelihood.banded import banded
from comparity.ranking.likelihood.errors import Errors, errors_of
from comparity.ranking.likelihood.evidence import LEAST_SCORE_SD, Ascent, fixed_point, tilt_of
from comparity.ranking.likelihood.exact import Inverse, Solving, few_items, one_thread
from comparity.ranking.likelihood.objective import (
    EFFECT_SD,
    Penalised,
    Penalty,
    Solution,
    Watch,
    minimise,
    norm,
    watching,
)
from comparity.ranking.likelihood.one_pass import OnePass
from comparity.ranking.likelihood.passes import Pass, pass_over
from comparity.ranking.likelihood.rows import ComparisonRows, rows_of

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
ROUNDS = 40
OFTEN = 100
"""Comparisons of each item from which on a large fit is corrected once."""
ROUGH = 1e-2
"""How far apart errors of one pass and of the inverse put standard deviations, about."""
CALM = 0.5
"""Part of the change before, beyond which changes of a tilt die out too slowly or not at all."""
STEADY = 0.02
"""Relative change of a tilt beyond which rounds before and after cannot be compared."""
TINY = 1e-300
N_FOLDS = 5
PRIORS = ("score_prior", "bias_prior")
SMALL = 600
"""Parameters up to which an inverse takes no longer than what passes would save of the search."""
SOON = 2e8
"""Products that a round may take for errors by a factor: a twentieth of a second."""
WATCHED = 1_000_000
"""Comparisons from which on a terminal shows that the fit is under way."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A model to fit.

    Attributes
    ----------
    judgments : Judgments
    columns : ndarray of int8, (items, contrasts)
        Contrasts that biases act on; none for Bradley-Terry.
    precision : ndarray
        Inverse covariance of one evaluator's biases at SD 1.
    anchor : Anchor
    score_prior, bias_prior : Wish
    seat_by_evaluator : bool
    tolerance : float
        Norm of the gradient to reach.
    seed : int
        Of the folds of cross-validation.
    corrected : bool
        Whether to give back what the errors of scores take from the biases.
    """

    judgments: Judgments
    columns: NDArray[np.int8]
    precision: Floats
    anchor: Anchor
    score_prior: Wish
    bias_prior: Wish
    seat_by_evaluator: bool = False
    tolerance: float = TOLERANCE
    seed: int = 0
    corrected: bool = False

    def __post_init__(self) -> None:
        number = isinstance(self.tolerance, int | float | np.number)
        if not number or not 0 < self.tolerance < math.inf:
            raise OptionError("tolerance", self.tolerance, ["a positive norm of the gradient"])
        if not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise OptionError("seed", self.seed, ["a whole number from 0 on"])


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

    def errors(self) -> Errors:
        """Return standard errors; biases of the trusted, which are zero, have none."""
        known = np.zeros(self.bias.shape, dtype=bool)
        known[self.trusted, : self.move.basis.shape[1] - 1] = True
        return errors_of(self.objective, self.move, known)


def fit(task: Task, rows: ComparisonRows | None = None) -> Fit:
    """Maximise the penalised likelihood, choosing priors where the task leaves them open.

    `rows` are what :func:`rows_for` makes of the task, where they are there already.
    """
    task = _choose_by_folds(task)
    rows = rows_for(task) if rows is None else rows
    move = move_of(task.anchor, task.columns, rows.n_evaluators)
    with watching(len(rows.better), WATCHED) as watch:
        objective, solution, sds = _fit_and_choose(task, rows, move, watch)
    scores, bias, extra = objective.split(solution.point)
    scores, bias = move.apply(scores, bias)
    bias = bias.copy()
    bias[task.anchor.trusted, : task.columns.shape[1]] = 0.0
    return Fit(
        scores=scores,
        bias=bias,
        extra=extra.copy(),
        log_likelihood=-objective.last.loss,
        objective=objective,
        solution=solution,
        move=move,
        trusted=task.anchor.trusted,
        priors=_priors(task, rows, sds),
    )


def check_finite(task: Task, diagnosis: Diagnosis) -> None:
    """Raise an error where the likelihood has no maximum and no prior gives it one."""
    if math.isinf(task.score_prior.sd) and diagnosis.separated:
        raise NoPriorError("scores", " ".join(diagnosis.notes))
    if not math.isinf(task.bias_prior.sd) or not task.columns.shape[1]:
        return
    if len(diagnosis.unmet):
        # Notes end with these contrasts.
        raise NoPriorError("biases", " ".join(diagnosis.notes[-len(diagnosis.unmet) :]))
    lost = np.union1d(diagnosis.silent, diagnosis.one_sided)
    if len(lost):
        names = ", ".join(str(task.judgments.evaluators[k]) for k in lost[:5])
        more = f" and {len(lost) - 5:,} more" if len(lost) > 5 else ""
        raise NoPriorError("biases", f"no or one-sided comparisons by {names}{more}")


def rows_for(task: Task) -> ComparisonRows:
    """Return the comparisons sorted by evaluator, with contrasts; trusted evaluators have none."""
    rows = rows_of(task.judgments, task.columns, seat_by_evaluator=task.seat_by_evaluator)
    if not len(task.anchor.trusted):
        return rows
    # A trusted evaluator has no bias: the groups of its items make no difference.
    contrast = rows.contrast.copy()
    own = np.isin(rows.evaluator, task.anchor.trusted)
    contrast[own, : task.columns.shape[1]] = 0
    return replace(rows, contrast=contrast)


def _fit_and_choose(
    task: Task, rows: ComparisonRows, move: Move, watch: Watch | None
) -> tuple[Penalised, Solution, Floats]:
    """Fit, choose priors and correct in turns until nothing moves, then fit to the end."""
    search = _Search(task, rows, move, watch)
    if task.score_prior.by_likelihood or task.bias_prior.by_likelihood or task.corrected:
        # What one pass tells about errors brings the search near; the inverse ends it.
        if search.size > min(SMALL, _exact.DENSE):
            search.settle(exact=False)
        if search.size <= _exact.DENSE:
            search.settle(exact=True)
    objective = search.objective()
    solution = minimise(objective, search.point, tolerance=task.tolerance, watch=watch)
    converged = solution.converged and search.settled
    return objective, replace(solution, converged=converged), search.sds


class _Search:
    """Standard deviations of the priors, the tilt, and the fit that belongs to both."""

    def __init__(self, task: Task, rows: ComparisonRows, move: Move, watch: Watch | None) -> None:
        self.task, self.move, self.watch = task, move, watch
        self.data, self.point = pass_over(rows), _start(rows, move)
        self.size, many = len(self.point), len(rows.better)
        self.chosen = task.score_prior.by_likelihood, task.bias_prior.by_likelihood
        self.sds = np.array([task.score_prior.sd, task.bias_prior.sd])
        if self.chosen[0]:
            self.sds[0] = max(LEAST_SCORE_SD, bounded(float(np.std(self.point[: rows.n_items]))))
        self.tilt = np.zeros(self.size) if task.corrected else None
        self.turned, self.settled = math.inf, True
        self.ascent = Ascent()
        self.close = 1e-3 if many < WATCHED else 1e-2
        # Of items compared so often the first tilt is within a fiftieth of the last.
        self.once = not any(self.chosen) and many >= max(WATCHED, OFTEN * rows.n_items // 2)
        self.loose = max(task.tolerance, (1e-2 if self.once else 1e-4) * math.sqrt(many))

    def settle(self, *, exact: bool) -> None:
        """Go on until standard deviations and tilt stay, by exact errors or by those of one pass.

        Rounds before the exact ones need not come closer than one pass is exact.
        """
        rough = not exact and self.size <= _exact.DENSE
        close = ROUGH if rough else self.close
        self.ascent.forget()
        self.turned = math.inf
        self.settled = self.once
        for _ in range(1 if self.once else ROUNDS):
            if self.round(exact=exact) <= close:
                self.settled = True
                break

    def round(self, *, exact: bool) -> float:
        """Fit, take a step, and return how far it went, relative to what moved."""
        objective, loose = self.objective(), self.loose
        if self.tilt is not None and self.tilt.any():
            # A fit that ignores changes of the tilt would never show that they have died out.
            still = self.close * norm(self.tilt) / 3
            loose = max(self.task.tolerance, min(loose, still))
        found = minimise(objective, self.point, tolerance=loose, watch=self.watch)
        self.point = found.point
        covariances = Inverse(objective) if exact else OnePass(objective, SOON)
        moved = 0.0
        if any(self.chosen):
            with one_thread():
                best = _exact_if_quick(covariances, objective)
                fixed = fixed_point(objective, self.point, self.sds, best, chosen=self.chosen)
            before, self.sds = self.sds, self.ascent.step(self.sds, fixed)
            own = np.array(self.chosen)
            moved = float(np.abs(self.sds[own] / before[own] - 1).max())
        if self.tilt is None:
            return moved
        turned = self.turn(tilt_of(objective, self.point, covariances))
        if turned > STEADY:
            self.ascent.restart()
        elif turned > moved:
            self.ascent.forget()
        return max(moved, turned)

    def turn(self, tilt: Floats) -> float:
        """Take over a tilt, half of it where tilts swing, and return how far it is from the last.

        An item that hardly ever lost swings: the further out, the wider its error, and the less
        a tilt has to hold on to.
        """
        assert self.tilt is not None
        change = tilt - self.tilt
        turned = norm(change) / max(norm(tilt), TINY)
        self.tilt = self.tilt + change * (0.5 if turned > CALM * self.turned else 1.0)
        self.turned = turned
        return turned

    def objective(self) -> Penalised:
        """Return the penalised likelihood as far as it is known."""
        return _objective(self.task, self.data, self.move, self.sds, self.tilt)


def _exact_if_quick(covariances: Inverse | OnePass, objective: Penalised) -> Solving | OnePass:
    """Return exact errors where they are soon worked out, instead of those by one pass."""
    if not isinstance(covariances, OnePass):
        return covariances
    band = objective.data.rows.band
    in_band = banded(objective) if band is not None and band.work <= SOON else None
    return in_band or few_items(objective, SOON) or covariances


def _objective(task: Task, data: Pass, move: Move, sds: Floats, tilt: Floats | None) -> Penalised:
    score_sd, bias_sd = sds.tolist()
    trusted = bool(len(task.anchor.trusted))
    n_contrasts = data.rows.contrast.shape[1]
    precision = np.eye(n_contrasts)
    precision[: len(task.precision), : len(task.precision)] = task.precision
    penalty = Penalty(
        scores=score_sd**-2,
        bias=precision * bias_sd**-2,
        basis=move.basis if trusted else None,
        # Two halves of the items that differ by one have a fourth of their number as squares.
        level=4 * EFFECT_SD**-2 / len(move.basis),
        mean=0.0 if math.isinf(bias_sd) or _groups_won_both_ways(data.rows) else EFFECT_SD**-2,
    )
    return Penalised(data, penalty, move.basis, flat=not trusted, tilt=tilt)


def _groups_won_both_ways(rows: ComparisonRows) -> bool:
    """Say whether each group won over others somewhere in the panel."""
    return bool(rows.leanings.sum(axis=0).all())


def _start(rows: ComparisonRows, move: Move) -> Floats:
    """Start from log-odds of wins, and of groups for one contrast, with equal group means."""
    n, c = rows.n_items, rows.contrast.shape[1]
    wins, losses = count_outcomes(rows.better, rows.worse, n) + 0.5
    scores = 1.3 * np.log(wins / losses)
    bias = np.zeros((rows.n_evaluators, c))
    directions = move.basis.shape[1] - 1
    if c == directions == 1:
        up, down = rows.leanings[:, 0].T + 0.5
        bias[:, 0] = np.log(up / down)
    inside = np.linalg.lstsq(move.basis, scores, rcond=None)[0]
    scores = scores - move.basis @ inside
    bias[:, :directions] += inside[1:]
    return np.concatenate([scores, bias.ravel(), np.zeros(rows.n_extra)])


def _priors(task: Task, rows: ComparisonRows, sds: Floats) -> tuple[Prior, ...]:
    score_sd, bias_sd = sds.tolist()
    priors = [task.score_prior.granted(score_sd, least=LEAST_SCORE_SD)]
    if rows.contrast.shape[1]:
        priors.append(task.bias_prior.granted(bias_sd))
        if not math.isinf(bias_sd) and not _groups_won_both_ways(rows):
            priors.append(Prior(of="mean bias", sd=EFFECT_SD, chosen_by="default"))
    if len(task.anchor.trusted) and not math.isinf(score_sd):
        priors.append(Prior(of="levels of groups", sd=EFFECT_SD, chosen_by="default"))
    if rows.n_extra:
        priors.append(Prior(of="seat effect and ties", sd=EFFECT_SD, chosen_by="default"))
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
    priors: dict[str, Any] = {
        of: replace(getattr(task, of), chosen_by="the caller") for of in PRIORS
    }
    priors[chosen] = replace(priors[chosen], sd=sd)
    task = replace(task, corrected=False, **priors)
    fold = folds(len(task.judgments), N_FOLDS, np.random.default_rng(task.seed))
    total = 0.0
    for k in range(N_FOLDS):
        fitted = fit(replace(task, judgments=task.judgments.subset(fold != k)))
        test = rows_for(replace(task, judgments=task.judgments.subset(fold == k)))
        total += pass_over(test).evaluate(*fitted.objective.split(fitted.solution.point)).loss
    return total


NO_ANCHOR = Anchor(kind=ZERO_MEAN, trusted=np.empty(0, dtype=np.int64), words="")
"""For models without biases: scores have mean zero, nothing else moves."""
