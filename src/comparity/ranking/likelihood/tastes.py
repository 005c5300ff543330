r"""Tastes of each evaluator, estimated with scores and tastes integrated out.

An evaluator with tastes agrees with itself more than with others. A fit without tastes takes that
for sharpness and, where groups differ in quality, for a lean against the better one. So where
residuals say that there are tastes (:mod:`comparity.ranking.likelihood.dispersion`), evaluator k
sees :math:`s + t_k` with :math:`t_{ki} \sim N(0, \tau_k^2)`, and the search goes on with scores as
each evaluator sees them (:mod:`comparity.ranking.likelihood.seen_scores`).

The marginal likelihood has the slope, in :math:`\log \tau_k`,

.. math:: |\hat t_k|^2 / \tau_k^2 - \gamma_k, \qquad
          \gamma_k = n - \operatorname{tr} \operatorname{Cov}(t_k) / \tau_k^2 .

Its curvature in log sharpness :math:`\ell_k` and in :math:`\kappa_k = \log(g_k \tau_k)` is, to the
first order, that of two contrasts: :math:`\ell_k` multiplies what an evaluator sees without its
tastes, :math:`\kappa_k` its tastes. n normal variables of which data tell a share tell their log SD
with twice the square of that share. Contrasts have half of it; the other, :math:`\gamma_k^2 / n`,
is added. Judgments of an evaluator alone tell :math:`g_k^2 (\sigma^2 + \tau_k^2)`; its parts are
told by how far it agrees with others, of whom there must be two.

:math:`\tau_k`, in SDs of scores, has the prior :math:`\tau e^{-\tau^2 / 8}`. It keeps tastes off
zero (Chung et al., 2013): with few judgments an estimate of zero would leave too small an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orth
from scipy.special import ndtri, stdtrit

from comparity.ranking.fits import Prior
from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.dispersion import Dispersion
from comparity.ranking.likelihood.errors import Errors, errors_by_solving
from comparity.ranking.likelihood.exact import Solving, one_thread
from comparity.ranking.likelihood.lapses import general_pass
from comparity.ranking.likelihood.objective import Penalised, Solution, minimise
from comparity.ranking.likelihood.one_pass import OnePass
from comparity.ranking.likelihood.penalised_fit import AT_REST, Fit, fit
from comparity.ranking.likelihood.search import Search, Task, penalty_of
from comparity.ranking.likelihood.seen_scores import (
    SeenInverse,
    SeenMove,
    SeenObjective,
    TastePenalty,
    see_apart,
    seen_leads,
)
from comparity.ranking.likelihood.sharpness import Evidence, border_of, evidence_of

Floats = NDArray[np.float64]

FEWEST = 3
"""Evaluators from which on sharpness and tastes can be told apart."""
MOST_WORK = 2e8
"""Products that a round may take, and a search some twenty times: a second or two in all."""
LEAST_TASTE, LARGEST_TASTE = 0.05, 5.0
"""Bounds of the SD of tastes in SDs of scores. A taste at the lower one moves no bias, and counts
as none."""
WIDE = 2.0
"""Scale of the prior of an SD of tastes, in SDs of scores."""
LONGEST_STEP = 1.0
"""Change of the log SD of tastes in one round at most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TastedFit(Fit):
    """A fit in which each evaluator has tastes, with an SD of zero where data show none.

    Attributes
    ----------
    dispersion : Dispersion
        Of the fit without tastes.
    """

    dispersion: Dispersion

    def errors(self) -> Errors:
        """Return standard errors; sharpness, where evaluators have one, is the last contrast."""
        wider, columns = self.widened_likelihood(), self.bias.shape[1]
        kept = [*range(columns), -1] if self.has_sharpness else [*range(columns)]
        known = np.zeros((len(self.bias), wider.n_contrasts), dtype=bool)
        known[self.trusted, :columns] = True
        with one_thread():
            solved, move = SeenInverse(wider), SeenMove.of(self.move, len(self.bias))
            found = errors_by_solving(wider, solved, move, known)
        # Tastes of so many items tell their SD: biases are as far from it as Student's t.
        unsure = np.where(np.arange(len(kept)) < columns, _student(len(self.scores), columns), 1.0)
        return replace(
            found,
            scores=found.scores[: len(self.scores)],
            bias=found.bias[:, kept] * unsure,
            centred=found.centred[:, kept] * unsure,
            level=found.level[kept] * unsure,
            with_last=found.with_last[:, kept],
            fit=self.dispersion,
        )

    def widened_likelihood(self) -> SeenObjective:
        """Return the likelihood with the logarithms of what scales leads as parameters."""
        assert isinstance(self.objective, SeenObjective)
        assert self.tastes is not None
        wider = with_scales(self.objective, self.tastes > 0, self.sharpness_sd)
        wider.solver = SeenInverse(wider)
        return wider


def _student(n_items: int, columns: int) -> float:
    """Return by how much Student's quantile exceeds the normal one, at a level of 95%."""
    dof = max(n_items - columns - 1, 1)
    return float(stdtrit(dof, 0.975) / ndtri(0.975))


def fit_with_tastes(task: Task, rows: ComparisonRows) -> tuple[Fit, Errors]:
    """Fit, with tastes of each evaluator where data show any and they can be told.

    Parameters
    ----------
    task : Task
    rows : ComparisonRows
        What :func:`comparity.ranking.likelihood.penalised_fit.rows_for` makes of it.
    """
    fitted = fit(task, rows)
    errors = fitted.errors()
    if errors.fit is None or not errors.fit.rejects or not may_have_tastes(task, rows):
        return fitted, errors
    search = TasteSearch(task, rows, fitted, errors.fit.variance)
    search.settle()
    if not search.settled:
        return fitted, errors
    tasted = _fit_of_search(search, fitted, errors.fit)
    return tasted, tasted.errors()


def _fit_of_search(search: TasteSearch, fitted: Fit, found: Dispersion) -> TastedFit:
    """Return what a search ended at, anchored as the fit without tastes."""
    objective, solution = search.finish()
    scores, bias, extra = objective.split(solution.point)
    scores, bias = fitted.move.apply(scores[: search.n_scores], bias)
    bias = bias.copy()
    bias[fitted.trusted] = 0.0
    has_taste = ~search.is_least
    given = {field.name: getattr(fitted, field.name) for field in fields(Fit)}
    changed = {
        "scores": scores,
        "bias": bias,
        "extra": extra.copy(),
        "log_likelihood": -objective.last.loss,
        "objective": objective,
        "solution": solution,
        "priors": search.priors(fitted),
        "log_sharpness": search.log_sharpness,
        "sharpness_sd": search.sharpness_sd,
        "inverted": fitted.inverted if search.signs is None else search.signs < 0,
        "tastes": np.where(has_taste, np.sqrt(search.tastes), 0.0),
        "dispersion": found,
    }
    return TastedFit(**{**given, **changed})


def may_have_tastes(task: Task, rows: ComparisonRows) -> bool:
    """Return whether tastes of each evaluator can be told and are soon worked out."""
    n, m, c = rows.n_items, rows.n_evaluators, rows.contrast.shape[1] + 2
    work = (m + 1) * n * (n**2 + n * m * c + (m * c) ** 2)
    scores_held = math.isfinite(task.score_prior.sd) or task.score_prior.by_likelihood
    alone = rows.cluster is None and task.corrected and scores_held
    return alone and m >= FEWEST and work <= MOST_WORK


class TasteSearch(Search):
    """A search that goes on from a fit without tastes."""

    def __init__(self, task: Task, rows: ComparisonRows, fitted: Fit, variance: float) -> None:
        m, old = rows.n_evaluators, fitted.objective
        super().__init__(task, see_apart(rows), SeenMove.of(fitted.move, m), None)
        scores, bias, extra = old.split(fitted.solution.point)
        self.n_scores = rows.n_items
        self.point = np.concatenate([np.tile(scores, m + 1), bias.ravel(), extra])
        self.free = orth(fitted.move.basis) if len(task.anchor.trusted) else None
        self.sds = np.array([old.penalty.scores**-0.5, _bias_sd(task, old)])
        if fitted.has_sharpness:
            self.signs = np.where(fitted.inverted, -1.0, 1.0)
            self.log_sharpness, self.sharpness_sd = fitted.log_sharpness, fitted.sharpness_sd
            self.data.sharpness = self.signs * np.exp(self.log_sharpness)
        self.tastes = np.full(m, max(variance, (2 * LEAST_TASTE * self.sds[0]) ** 2))
        # With the inverse at hand, going on costs little.
        self.loose = self.tolerance
        self._part, self._last_step = np.ones(m), np.zeros(m)
        self.solver: SeenInverse | None = None

    def settle(self) -> None:
        """Go on until nothing moves."""
        objective = self.objective()
        objective.evaluate(self.point)
        self.solver = SeenInverse(objective)
        self._settle(exact=True)

    def finish(self) -> tuple[SeenObjective, Solution]:
        """Fit to the end."""
        objective = self.objective()
        return objective, minimise(objective, self.point, tolerance=self.tolerance)

    @property
    def tolerance(self) -> float:
        """Norm of the gradient to reach."""
        asked = self.task.tolerance
        return asked if self.task.lapses == 0.0 else max(asked, AT_REST)

    def objective(self) -> SeenObjective:
        """Return the penalised likelihood as far as it is known."""
        plain = penalty_of(self.task, self.data.rows, self.n_scores, self.free, self.sds)
        known = {field.name: getattr(plain, field.name) for field in fields(plain)}
        penalty = TastePenalty(**known, tastes=self.tastes)
        basis, flat = self.move.basis, self.free is None
        found = SeenObjective(self.data, penalty, basis, flat=flat, tilt=self.tilt)
        found.solver = self.solver
        return found

    def covariances_at(self, objective: Penalised, *, exact: bool) -> SeenInverse:
        """Return errors at the point that the objective was evaluated at last."""
        assert isinstance(objective, SeenObjective)
        self.solver = SeenInverse(objective)
        return self.solver

    @property
    def is_least(self) -> NDArray[np.bool_]:
        """Return which evaluators have tastes at the lower bound."""
        return np.asarray(self.tastes <= (1.01 * LEAST_TASTE * self.sds[0]) ** 2)

    def rescale(self, objective: Penalised, covariances: Solving | OnePass) -> float:
        """Take over sharpness and tastes of each evaluator, and return how far they went."""
        assert isinstance(covariances, SeenInverse)
        found = scales_at(objective, self.point, covariances)
        found = found.with_prior(np.sqrt(self.tastes) / self.sds[0])
        # Who is at the bound and would go below has tastes in proportion to the scores.
        held = self.is_least & (found.slope[1] < 0)
        slope, information = found.hold(held)
        own, m = slice(0, len(held)), len(held)
        of_tastes = information[m:, m:]
        follow = np.linalg.solve(of_tastes, np.column_stack([information[m:, own], slope[m:]]))
        moved, before = 0.0, self.log_sharpness
        if self.signs is not None:
            profile = Evidence(
                slope=slope[own] - information[own, m:] @ follow[:, -1],
                information=information[own, own] - information[own, m:] @ follow[:, :-1],
            )
            moved = self.sharpen(profile)
        sharper = self.log_sharpness - before
        step = np.where(held, 0.0, follow[:, -1] - follow[:, :-1] @ sharper - sharper)
        step = self._calm(np.clip(step, -LONGEST_STEP, LONGEST_STEP))
        low, high = (LEAST_TASTE * self.sds[0]) ** 2, (LARGEST_TASTE * self.sds[0]) ** 2
        old, self.tastes = self.tastes, np.clip(self.tastes * np.exp(2 * step), low, high)
        apart = np.abs(np.sqrt(self.tastes) - np.sqrt(old)) / self.sds[0]
        return max(moved, float(apart.max()))

    def _calm(self, step: Floats) -> Floats:
        """Shorten steps that swing.

        Where two evaluators hardly have tastes, those of one grow as those of the other fall, which
        steps of both at once do not foresee.
        """
        swings = step * self._last_step < 0
        self._part = np.where(swings, self._part / 2, np.minimum(1.2 * self._part, 1.0))
        self._last_step = self._part * step
        return self._last_step

    def priors(self, fitted: Fit) -> tuple[Prior, ...]:
        """Return priors with the SDs of this fit."""
        score_sd, bias_sd = self.sds.tolist()
        sds = {"scores": score_sd, "biases": bias_sd}
        return tuple(replace(one, sd=sds.get(one.of, one.sd)) for one in fitted.priors)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaleEvidence:
    r"""What comparisons tell about log sharpness and :math:`\kappa`.

    Attributes
    ----------
    slope : ndarray, (2, evaluators)
        Of the marginal log-likelihood.
    information : ndarray, (2 evaluators, 2 evaluators)
    """

    slope: Floats
    information: Floats

    def with_prior(self, tastes: Floats) -> ScaleEvidence:
        """Return both with the prior of tastes, in SDs of the scores, of which the log is lambda.

        It is a prior of the difference of the two.
        """
        apart = np.array([[-1.0], [1.0]])
        square = (tastes / WIDE) ** 2
        own = np.kron(apart @ apart.T, np.diag(2 * square))
        return ScaleEvidence(
            slope=self.slope + apart * (1 - square), information=self.information + own
        )

    def hold(self, held: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return both where tastes of some stay as they are, and scale with their sharpness."""
        m = len(held)
        along = np.eye(2 * m)
        along[m:, :m], along[m:, m:] = np.diag(held), np.diag(~held)
        information = along.T @ self.information @ along
        places = m + np.flatnonzero(held)
        information[places, places] = 1.0
        return along.T @ self.slope.ravel(), information


def scales_at(objective: Penalised, point: Floats, covariances: SeenInverse) -> ScaleEvidence:
    """Return what comparisons tell about the scales of leads, at the point evaluated last."""
    assert isinstance(objective, SeenObjective)
    data, rows, m = objective.data, objective.data.rows, objective.n_evaluators
    scores, bias, _ = objective.split(point)
    tastes, free = taste_leads(objective, scores), free_tastes(objective, scores, covariances)
    seen = scores.reshape(m + 1, -1)
    squares = ((seen[1:] - seen[0]) ** 2).sum(axis=1) / objective.penalty.tastes
    in_tastes = squares - free
    in_sharpness = evidence_of(objective, point, covariances).slope
    leads = data.leads(scores, bias) - tastes
    weight = data.weights()
    n, first = seen.shape[1], np.zeros_like(rows.better)
    of_scores = seen_leads(rows.better % n + first, rows.worse % n + first, covariances.given)
    whole = np.zeros((2 * m, 2 * m))
    own, place = np.arange(m), rows.evaluator
    whole[own, own] = np.bincount(place, weight * (leads**2 + of_scores), m)
    whole[own, m + own] = whole[m + own, own] = np.bincount(place, weight * leads * tastes, m)
    whole[m + own, m + own] = np.bincount(place, weight * tastes**2, m) + free**2 / n
    border = np.column_stack([border_of(objective, leads), border_of(objective, tastes)])
    information = whole - border.T @ covariances.solve(border)
    return ScaleEvidence(
        slope=np.array([in_sharpness - in_tastes, in_tastes]), information=information
    )


def taste_leads(objective: Penalised, scores: Floats) -> Floats:
    """Return what tastes have in the lead of every comparison."""
    rows = objective.data.rows
    seen = scores.reshape(objective.n_evaluators + 1, -1)
    tastes = (seen - seen[0]).ravel()
    return np.asarray(tastes[rows.better] - tastes[rows.worse], dtype=np.float64)


def free_tastes(objective: SeenObjective, scores: Floats, covariances: SeenInverse) -> Floats:
    """Return the degrees of freedom of the tastes of each evaluator that data determine."""
    n = len(scores) // (objective.n_evaluators + 1)
    return np.maximum(n - covariances.of_tastes / objective.penalty.tastes, 1e-9)


def with_scales(objective: SeenObjective, has_taste: NDArray[np.bool_], sd: float) -> SeenObjective:
    """Return the likelihood with the scales of leads as further parameters of each evaluator.

    As in :func:`comparity.ranking.likelihood.sharpness.with_log_sharpness`: a contrast for tastes
    and, where `sd` is that of a prior of log sharpness, one for it.
    """
    data, penalty = objective.data, objective.penalty
    scores, bias, extra = objective.split(objective.point)
    columns = [data.rows.contrast]
    tastes = taste_leads(objective, scores) * has_taste[data.rows.evaluator]
    columns.append(tastes[:, None])
    if not math.isnan(sd):
        columns.append((data.leads(scores, bias) - tastes)[:, None])
    contrast, c = np.column_stack(columns), bias.shape[1]
    wider = general_pass(replace(data.rows, contrast=contrast, own_seats=False))
    wider.sharpness = data.sharpness
    precision = np.zeros((contrast.shape[1],) * 2)
    precision[:c, :c] = penalty.bias
    if not math.isnan(sd):
        precision[-1, -1] = sd**-2
    free = free_tastes(objective, scores, SeenInverse(objective))
    own = np.zeros((len(bias), contrast.shape[1]))
    own[:, c] = np.where(has_taste, free**2 * (len(bias) + 1) / len(scores), 1.0)
    wider_penalty = replace(penalty, bias=precision, own=own)
    found = SeenObjective(wider, wider_penalty, objective.flat_basis, flat=True, tilt=None)
    changes = np.column_stack([bias, np.zeros((len(bias), contrast.shape[1] - c))])
    found.evaluate(np.concatenate([scores, changes.ravel(), extra]))
    return found


def _bias_sd(task: Task, objective: Penalised) -> float:
    """Return the SD of the prior of biases."""
    bias = objective.penalty.bias
    if not bias.size or bias[0, 0] == 0:
        return math.inf
    first = task.precision[0, 0] if task.precision.size else 1.0
    return math.sqrt(float(first / bias[0, 0]))
