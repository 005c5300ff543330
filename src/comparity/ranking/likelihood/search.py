"""The search for a fit: Newton, priors, corrections and sharpness in turns until nothing moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orth

from comparity.errors import OptionError
from comparity.ranking.anchors import Anchor, Move
from comparity.ranking.fits import EQUAL, OWN, Wish, bound_sd
from comparity.ranking.judgments import Judgments, count_outcomes
from comparity.ranking.likelihood import exact as _exact
from comparity.ranking.likelihood.banded import solve_banded
from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.evidence import (
    LEAST_SCORE_SD,
    Ascent,
    Extrapolation,
    fixed_point,
    tilt_of,
)
from comparity.ranking.likelihood.exact import Inverse, Solving, few_items, one_thread
from comparity.ranking.likelihood.lapses import pass_over
from comparity.ranking.likelihood.objective import (
    EFFECT_SD,
    Penalised,
    Penalty,
    Watch,
    inner,
    minimise,
    norm,
)
from comparity.ranking.likelihood.one_pass import OnePass
from comparity.ranking.likelihood.passes import Pass
from comparity.ranking.likelihood.sharpness import (
    Evidence,
    equality_test,
    evidence_of,
    find_inverted,
    step_of,
    tells_sharpness,
)

Floats = NDArray[np.float64]
Covariances = Solving | OnePass

TOLERANCE = 1e-6
ROUNDS, ROUNDS_SHARP = 40, 120
"""Most rounds of a search. With few judgments, sharpness and its spread come slowly to rest."""
COMPARISONS_TO_CORRECT_ONCE = 100
"""Comparisons of each item from which on a large fit is corrected once."""
ROUGH_PRECISION = 1e-2
"""How far apart errors of one pass and of the inverse put standard deviations, about."""
LARGEST_SWING = 0.5
"""Part of the change before, beyond which changes of a tilt die out too slowly or not at all."""
LARGEST_TILT_CHANGE = 0.05
"""Relative change of a tilt beyond which rounds before and after cannot be compared."""
GRADIENT_KEPT = 0.1
"""Part of its gradient that a large fit keeps in a round, because the next moves it further."""
LEAST_NORM = 1e-300
PARAMETERS_TO_INVERT = 600
"""Parameters up to which an inverse takes no longer than what passes would save of the search."""
NEAR_ZERO = 2.0
"""How far below the mean log sharpness must be before its sign is asked for."""
MOST_PRODUCTS_A_ROUND = 2e8
"""Products that a round may take for errors by a factor: a twentieth of a second."""
COMPARISONS_TO_SHOW = 1_000_000
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
    sharpness : str
        Whether each evaluator has a sharpness of its own: ``"equal"``, ``"own"``, or ``"auto"`` for
        what data can tell.
    lapses : float or None
        Share of judgments that are random, or none to estimate it.
    """

    judgments: Judgments
    columns: NDArray[Any]
    precision: Floats
    anchor: Anchor
    score_prior: Wish
    bias_prior: Wish
    seat_by_evaluator: bool = False
    tolerance: float = TOLERANCE
    seed: int = 0
    corrected: bool = False
    sharpness: str = EQUAL
    lapses: float | None = 0.0

    def __post_init__(self) -> None:
        number = isinstance(self.tolerance, int | float | np.number)
        if not number or not 0 < self.tolerance < math.inf:
            raise OptionError("tolerance", self.tolerance, ["a positive norm of the gradient"])
        if not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise OptionError("seed", self.seed, ["a whole number from 0 on"])

    @property
    def may_sharpen(self) -> bool:
        """Whether evaluators may differ in sharpness.

        Only corrected fits integrate scores out, and sharpness is their scale where it is chosen.
        """
        several = self.judgments.n_evaluators > 1
        open_scale = self.corrected and self.score_prior.by_likelihood
        return self.sharpness != EQUAL and several and open_scale


class Search:
    """Standard deviations of the priors, the tilt, and the fit that belongs to both."""

    def __init__(self, task: Task, rows: ComparisonRows, move: Move, watch: Watch | None) -> None:
        self.task, self.move, self.watch = task, move, watch
        self.data, self.point = pass_over(rows), _start(rows, move)
        self.size, many = len(self.point), len(rows.better)
        self.chosen = task.score_prior.by_likelihood, task.bias_prior.by_likelihood
        self.sds = np.array([task.score_prior.sd, task.bias_prior.sd])
        if self.chosen[0]:
            self.sds[0] = max(LEAST_SCORE_SD, bound_sd(float(np.std(self.point[: rows.n_items]))))
        self.tilt = np.zeros(self.size) if task.corrected else None
        self.free = orth(move.basis) if len(task.anchor.trusted) else None
        self.turned, self.change, self.settled = math.inf, np.zeros(self.size), True
        self.log_sharpness, self.sharpness_sd = np.zeros(rows.n_evaluators), math.nan
        self.signs: Floats | None = None
        self.biases_are_slight = False
        self.equality: tuple[float, int, float] | None = None
        self.ascent, self.ascent_of_sharpness = Ascent(), Extrapolation()
        self.close = 1e-3 if many < COMPARISONS_TO_SHOW else 1e-2
        # Of items compared so often the first tilt is within a fiftieth of the last.
        often = COMPARISONS_TO_CORRECT_ONCE * rows.n_items // 2
        self.once = not any(self.chosen) and many >= max(COMPARISONS_TO_SHOW, often)
        self.loose = max(task.tolerance, (1e-2 if self.once else 1e-4) * math.sqrt(many))

    def settle(self) -> None:
        """Go on until nothing moves.

        What one pass tells about errors brings the search near; the inverse ends it.
        """
        if self.size > min(PARAMETERS_TO_INVERT, _exact.DENSE):
            self._settle(exact=False)
        if self.size <= _exact.DENSE:
            self._settle(exact=True)

    def settle_with_sharpness(self) -> None:
        """Go on until nothing moves, with a sharpness of each evaluator where it is to be had.

        Small fits first come to rest with equal sharpness, where its test belongs. One round with
        it brings large ones nearer to their end: a fourth less time for a million comparisons.
        """
        small = self.size <= _exact.DENSE
        if small:
            self.settle()
            self.test_equality()
        else:
            self.round(exact=False)
        if self.task.sharpness == OWN or tells_sharpness(self._evidence()):
            self.free_sharpness()
        elif small:
            return
        self.settle()

    def _settle(self, *, exact: bool) -> None:
        """Go on until standard deviations and tilt stay, by exact errors or by those of one pass.

        Rounds before the exact ones need not come closer than one pass is exact.
        """
        rough = not exact and self.size <= _exact.DENSE
        close = ROUGH_PRECISION if rough else self.close
        self.ascent.forget()
        self.turned = math.inf
        self.settled = self.once
        for _ in range(1 if self.once else ROUNDS if self.signs is None else ROUNDS_SHARP):
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
        part = 0.0 if exact else GRADIENT_KEPT
        found = minimise(objective, self.point, tolerance=loose, part=part, watch=self.watch)
        self.point = found.point
        covariances = self.covariances_at(objective, exact=exact)
        moved = self.choose_sds(objective, covariances) if any(self.chosen) else 0.0
        if self.tilt is None:
            return moved
        turned = self.turn(tilt_of(objective, self.point, covariances))
        if isinstance(covariances, OnePass):
            self.biases_are_slight = covariances.biases_are_slight
        moved = max(moved, self.rescale(objective, covariances))
        if turned > LARGEST_TILT_CHANGE:
            self.ascent.restart()
        elif turned > moved:
            self.ascent.forget()
        return max(moved, turned)

    def covariances_at(self, objective: Penalised, *, exact: bool) -> Covariances:
        """Return errors at the point that the objective was evaluated at last."""
        if exact:
            return Inverse(objective)
        near = not self.chosen[1]
        known = {"beside_scores": near, "without_biases": self.biases_are_slight}
        return OnePass(objective, MOST_PRODUCTS_A_ROUND, **known)

    def choose_sds(self, objective: Penalised, covariances: Covariances) -> float:
        """Take a step of the standard deviations, and return how far it went."""
        with one_thread():
            best = _exact_if_quick(covariances, objective)
            fixed = fixed_point(objective, self.point, self.sds, best, chosen=self.chosen)
        before, self.sds = self.sds, self.ascent.step(self.sds, fixed)
        own = np.array(self.chosen)
        return float(np.abs(self.sds[own] / before[own] - 1).max())

    def turn(self, tilt: Floats) -> float:
        """Take over a tilt, half of it where tilts swing, and return how far it is from the last.

        An item that hardly ever lost swings: the further out, the wider its error, and the less
        a tilt has to hold on to.
        """
        assert self.tilt is not None
        change = tilt - self.tilt
        turned = norm(change) / max(norm(tilt), LEAST_NORM)
        swings = turned > LARGEST_SWING * self.turned and inner(change, self.change) < 0
        self.tilt = self.tilt + change * (0.5 if swings else 1.0)
        self.turned, self.change = turned, change
        return turned

    def rescale(self, objective: Penalised, covariances: Covariances) -> float:
        """Take over what scales the leads of each evaluator, and return how far it went."""
        if self.signs is None:
            return 0.0
        return self.sharpen(evidence_of(objective, self.point, covariances))

    def sharpen(self, found: Evidence) -> float:
        """Take over a sharpness of each evaluator, and return how far it is from the last."""
        assert self.signs is not None
        new, self.sharpness_sd = step_of(self.log_sharpness, found)
        # From so near zero, one step tells well what is on the other side. Whoever was turned while
        # others still moved may turn back.
        turned = (new < new.mean() - NEAR_ZERO) & find_inverted(found)
        self.signs[turned] *= -1
        new[turned] = new[~turned].mean() if (~turned).any() else 0.0
        new = new - new.mean()
        gap = new - self.log_sharpness
        self.log_sharpness = self.ascent_of_sharpness.step(new, gap, fresh=bool(turned.any()))
        self.data.sharpness = self.signs * np.exp(self.log_sharpness)
        return float(np.abs(gap).max())

    def test_equality(self) -> None:
        """Test equal sharpness where that fit came to rest."""
        self.point = minimise(self.objective(), self.point, tolerance=self.loose).point
        self.equality = equality_test(self.log_sharpness, self._evidence())

    def _evidence(self) -> Evidence:
        """Return what comparisons tell about sharpness here."""
        objective = self.objective()
        objective.evaluate(self.point)
        return evidence_at(objective, self.point)

    def free_sharpness(self) -> None:
        """Let evaluators differ in sharpness from now on."""
        self.signs = np.ones(len(self.log_sharpness))

    def objective(self) -> Penalised:
        """Return the penalised likelihood as far as it is known."""
        return _objective(self.task, self.data, self.move, self.free, self.sds, self.tilt)


def _exact_if_quick(covariances: Covariances, objective: Penalised) -> Covariances:
    """Return exact errors where they are soon worked out, instead of those by one pass."""
    if not isinstance(covariances, OnePass):
        return covariances
    band = objective.data.rows.band
    in_band = (
        solve_banded(objective) if band is not None and band.work <= MOST_PRODUCTS_A_ROUND else None
    )
    return in_band or few_items(objective, MOST_PRODUCTS_A_ROUND) or covariances


def _objective(
    task: Task,
    data: Pass,
    move: Move,
    free: Floats | None,
    sds: Floats,
    tilt: Floats | None,
) -> Penalised:
    """Return the penalised likelihood; `free` spans levels of groups that the trusted fix."""
    penalty = penalty_of(task, data.rows, len(move.basis), free, sds)
    return Penalised(data, penalty, move.basis, flat=free is None, tilt=tilt)


def penalty_of(
    task: Task, rows: ComparisonRows, n_items: int, free: Floats | None, sds: Floats
) -> Penalty:
    """Return the precisions of the priors; `free` spans levels of groups that the trusted fix."""
    score_sd, bias_sd = sds.tolist()
    precision = np.eye(rows.contrast.shape[1])
    precision[: len(task.precision), : len(task.precision)] = task.precision
    return Penalty(
        scores=score_sd**-2,
        bias=precision * bias_sd**-2,
        basis=free,
        # Two halves of the items that differ by one have a fourth of their number as squares.
        level=4 * EFFECT_SD**-2 / n_items,
        mean=0.0 if math.isinf(bias_sd) or groups_won_both_ways(rows) else EFFECT_SD**-2,
    )


def groups_won_both_ways(rows: ComparisonRows) -> bool:
    """Return whether each group won over others somewhere in the panel."""
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


def evidence_at(objective: Penalised, point: Floats) -> Evidence:
    """Return what comparisons tell about sharpness at the point evaluated last."""
    small = objective.size <= _exact.DENSE
    return evidence_of(
        objective, point, Inverse(objective) if small else OnePass(objective, MOST_PRODUCTS_A_ROUND)
    )
