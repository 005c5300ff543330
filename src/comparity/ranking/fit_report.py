"""The report of a fit: what every ranking by a likelihood holds, and how well the model fits.

Then the sharpness of evaluators: its scale, its test, and biases tested with it; and their lapses,
which look like a lack of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from comparity.errors import OptionError
from comparity.ranking.connectivity import Diagnosis
from comparity.ranking.fits import AUTO, Effect, EqualSharpness, ModelFit, Prior, Sharpness
from comparity.ranking.items import list_first
from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.errors import Errors
from comparity.ranking.likelihood.exact import DENSE
from comparity.ranking.likelihood.lapses import CENTRE, SCALE
from comparity.ranking.likelihood.objective import conjugate_gradients
from comparity.ranking.likelihood.penalised_fit import Fit
from comparity.ranking.likelihood.search import Task
from comparity.ranking.likelihood.sharpness import VAGUE
from comparity.results.judging import cluster_notes

Floats = NDArray[np.float64]

LEVEL = 0.05
ESTIMATED = "estimated"
MOST_LAPSES = 0.9
"""With more random judgments nothing is left to rank by."""
TOO_FEW = (
    "Assumed: all evaluators are equally consistent. Nobody made enough judgments to estimate "
    'their sharpness within a factor of two. sharpness="own" (--sharpness own) lets them differ, '
    "with wider intervals."
)
NO_ROOM = (
    "Assumed: all evaluators are equally consistent. A given prior of scores, and biases that are "
    "not corrected or that depend on the score, do not allow a sharpness for each."
)
OF_EVALUATORS = "evaluator and item"


class FittedFields(TypedDict):
    """What every ranking by a likelihood holds, by the names of its fields."""

    items: NDArray[Any]
    scores: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    log_likelihood: float
    converged: bool
    n_comparisons: int
    n_ties: int
    diagnosis: Diagnosis
    priors: tuple[Prior, ...]
    seat: Effect | None
    ties: Effect | None
    gradient_norm: float
    iterations: int
    n_clusters: Mapping[str, int]
    model_fit: ModelFit | None
    notes: tuple[str, ...]


def fields_of_fit(
    judgments: Judgments, fitted: Fit, errors: Errors, diagnosis: Diagnosis
) -> FittedFields:
    """Return what every ranking by a likelihood holds."""
    seat, ties = _effects(fitted, errors)
    clusters = {name: one.n for name, one in judgments.clusters.items()}
    model_fit = _model_fit_of(fitted, errors)
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
        "n_clusters": clusters,
        "model_fit": model_fit,
        "notes": (
            *diagnosis.notes,
            *cluster_notes(clusters, [*clusters], rows="judgments"),
            *_words_on_fit(model_fit, [*clusters]),
        ),
    }


def _model_fit_of(fitted: Fit, errors: Errors) -> ModelFit | None:
    """Return the test of fit, where any two comparisons are in one cell."""
    found = errors.fit
    if found is None or math.isnan(found.z):
        return None
    several = fitted.objective.n_evaluators > 1
    return ModelFit(
        of=OF_EVALUATORS if several else "pair of items",
        statistic=found.z,
        p_value=found.p_value,
        spread=math.sqrt(found.variance),
        rejected=found.rejects,
        tastes=() if fitted.tastes is None else tuple(fitted.tastes.tolist()),
    )


def _words_on_fit(found: ModelFit | None, clusters: list[str]) -> Iterator[str]:
    """Say where a model does not fit, and what that does."""
    allowed = f"clusters by {clusters[0]} instead" if clusters else "it"
    if found is not None and found.tastes:
        yield (
            f"A model without tastes does not fit (p {found.p_value:.2g}): judgments of one "
            f"{found.of} go together beyond scores and biases. So each evaluator has tastes of "
            f"their own, with an SD from {min(found.tastes):.2g} to {max(found.tastes):.2g}; "
            "scores, biases and errors allow for them."
        )
    elif found is not None and found.rejected:
        yield (
            f"The model does not fit (p {found.p_value:.2g}): judgments of one {found.of} go "
            f"together beyond scores and biases, as if by tastes with SD {found.spread:.2g}. "
            f"Errors allow for {allowed}; scores and biases come out somewhat too small."
        )
        if found.of == OF_EVALUATORS and not clusters:
            yield (
                "All evaluators are taken to have equally strong tastes. Those of each are "
                "estimated only from three evaluators on, in panels that are not too large, and "
                "with corrected biases. One whose tastes are stronger than the others' can be "
                "found to lean without leaning."
            )


def _effects(fitted: Fit, errors: Errors) -> tuple[Effect | None, Effect | None]:
    """Return the common seat effect and the tie parameter, where the model has them."""
    rows = fitted.objective.data.rows
    values = list(zip(fitted.extra.tolist(), errors.extra.tolist(), strict=True))
    seat = ties = None
    if rows.seat is not None:
        value, error = values.pop(0)
        name = "shown first, trusted evaluators" if rows.own_seats else "shown first"
        seat = Effect(name=name, value=value, standard_error=error)
    if rows.tied is not None:
        value, error = values.pop(0)
        ties = Effect(name="log tie parameter", value=value, standard_error=error)
    return seat, ties


def equality_of(task: Task, fitted: Fit) -> EqualSharpness | None:
    """Return the test of equal sharpness, where judgments suffice to ask for it."""
    if not task.corrected or task.judgments.n_evaluators < 2:
        return None
    statistic, dof, p_value = fitted.test_equality()
    return EqualSharpness(statistic=statistic, dof=dof, p_value=p_value) if dof else None


def in_score_sds(fitted: Fit, errors: Errors) -> tuple[Fit, Errors, Sharpness]:
    """Return a fit in units of the SD of scores within groups, and the sharpness in these units.

    The fit has sharpness with geometric mean 1 and estimates the SD of scores; this is the same
    model with SD 1. Seat effects are outside of sharpness, and stay in logits.
    """
    prior, rest = fitted.priors[0], fitted.priors[1:]
    sd, rows = prior.sd, fitted.objective.data.rows
    units = np.full(fitted.bias.shape, 1 / sd)
    if rows.own_seats:
        units[:, -1] = np.exp(fitted.log_sharpness)
    bias, known = fitted.bias * units, fitted.bias.shape[1]
    half = _scale_variance(fitted) / 2
    squares = _without((errors.bias[:, :known] * units) ** 2, half * bias**2)
    covariances = errors.with_last[:, :known] * units + half * bias
    own = np.sqrt(_without(errors.bias[:, known] ** 2, half))
    no_error = errors.bias[:, :known] == 0
    if rows.own_seats:
        squares[:, -1], no_error[:, -1] = (errors.bias[:, known - 1] * units[:, -1]) ** 2, True
    whole = np.broadcast_to(units.mean(axis=0), (1, known))[0]
    centred = _without(
        (errors.centred[:, :known] * units) ** 2, half * (bias - bias.mean(axis=0)) ** 2
    )
    about = np.maximum(errors.scores**2 - _scale_part(fitted, 2 * half), 0.0)
    moved = replace(
        errors,
        scores=np.sqrt(about) / sd,
        bias=np.where(errors.bias[:, :known] == 0, 0.0, np.sqrt(squares)),
        centred=np.sqrt(centred),
        level=errors.level[:known] * whole,
        gap=errors.gap / sd,
        fit=errors.fit and errors.fit._replace(variance=errors.fit.variance / sd**2),
    )
    spread = Prior(of="log sharpness", sd=fitted.sharpness_sd, chosen_by="marginal likelihood")
    scale = Prior(of="scores", sd=1.0, chosen_by="their scale")
    sharpness = Sharpness(
        values=np.where(fitted.inverted, -1, 1) * np.exp(fitted.log_sharpness) * sd,
        log_standard_errors=own,
        covariances=np.where(no_error, 0.0, covariances),
        spread=fitted.sharpness_sd,
        inverted=fitted.inverted,
    )
    anew = replace(
        fitted,
        scores=fitted.scores / sd,
        bias=bias,
        priors=(scale, *rest, spread),
        tastes=None if fitted.tastes is None else fitted.tastes / sd,
    )
    return anew, moved, sharpness


def _without(variance: Floats, part: Floats | float) -> Floats:
    """Take a part from variances; where it is said to be more than all, it is not known."""
    return np.where(variance > part, variance - part, variance)


def _scale_part(fitted: Fit, approximate: float) -> Floats:
    r"""Return what the error of the scale has in the variance of each score.

    Scores are compared with each other, and that error is the same for all of them. With
    :math:`\lambda` the log SD of the scores within groups, :math:`s_i - s_i \lambda` has a variance
    smaller by :math:`2 s_i \operatorname{cov}(s_i, \lambda) - s_i^2 \operatorname{var}(\lambda)`.
    With many items that is about :math:`s_i^2` times the `approximate` variance.
    """
    scores, move = fitted.scores, fitted.move
    if len(scores) > DENSE:
        return approximate * scores**2
    wider = fitted.widened_likelihood()
    within = scores - move.basis @ np.linalg.lstsq(move.basis, scores, rcond=None)[0]
    target = np.zeros(wider.size)
    target[: len(scores)] = within / max(float(within @ within), np.finfo(float).tiny)
    solved, _ = conjugate_gradients(wider, target, relative=1e-3)
    linear = replace(move, shifts=np.zeros_like(move.shifts))
    moved, changed, _ = wider.split(solved)
    together = linear.apply(moved[: len(scores)], changed)[0]
    return np.asarray(2 * scores * together - scores**2 * float(target @ solved))


def _scale_variance(fitted: Fit) -> float:
    """Return the variance of the log SD of the scores as the Hessian has it.

    n normal variables tell their log SD with information 2 n. The Hessian, quadratic in the scores,
    has half of that: where data tell a share of each score, n times the square of that share.
    """
    objective = fitted.objective
    scores = objective.split(fitted.solution.point)[0]
    told = float(scores @ objective.penalty.pull_within(scores))
    return len(fitted.scores) / max(told, 1.0) ** 2


def errors_if_zero(bias: Floats, errors: Floats, sharpness: Sharpness | None) -> Floats:
    r"""Return the errors that biases have if they are zero.

    A bias is a ratio: what an evaluator adds to a group in logits, :math:`a_k`, over their
    sharpness :math:`g_k`. That it is b is tested by :math:`a_k - b g_k`, which is normal also where
    :math:`g_k` is near zero (Fieller, 1954).
    """
    if sharpness is None:
        return errors
    own = sharpness.log_standard_errors[:, None] ** 2
    squares = errors**2 + 2 * bias * sharpness.covariances + bias**2 * own
    squares = np.where(sharpness.covariances == 0, errors**2, squares)
    return np.sqrt(np.maximum(squares, 0.0))


def words_on_sharpness(
    task: Task, sharpness: Sharpness | None, tested: EqualSharpness | None
) -> Iterator[str]:
    """Say what sharpness has to do with the biases found."""
    evaluators = task.judgments.evaluators
    if sharpness is None:
        if task.sharpness == AUTO and len(evaluators) > 1:
            yield TOO_FEW if task.may_sharpen else NO_ROOM
        if tested is not None and tested.p_value <= LEVEL:
            yield (
                f"Evaluators differ in sharpness (p {tested.p_value:.2g}), but this model assumes "
                "that they are equally consistent: if groups differ in quality, a noisier "
                'evaluator seems to lean. sharpness="own" (--sharpness own) separates the two.'
            )
        return
    yield (
        "Sharpness is what an item that is one SD better gains with an evaluator, in logits; "
        "scores are integrated out of it, and biases are in SDs of the scores within groups."
    )
    if sharpness.inverted.any():
        names = list_first(evaluators[sharpness.inverted])
        yield (
            f"Inverted, with a negative sharpness: {names}. They decide against the order of the "
            "others, as where better and worse were confused."
        )
    if vague := int((sharpness.log_standard_errors > VAGUE).sum()):
        yield (
            f"{vague:,} of {len(evaluators):,} evaluators made too few judgments to tell their "
            "sharpness within a factor of two; it is drawn to that of the others, and intervals of "
            "their biases are wide or unbounded."
        )


def read_lapses(lapse_rate: float | str, judgments: Judgments, refusing: bool) -> float | None:
    """Return the share of random judgments, or none to estimate it; `refusing` what knows none."""
    if lapse_rate == 0.0:
        return 0.0
    given = isinstance(lapse_rate, float | int) and 0 < lapse_rate <= MOST_LAPSES
    if lapse_rate != ESTIMATED and not given:
        allowed = [f"a share of judgments from 0 to {MOST_LAPSES:g}", repr(ESTIMATED)]
        raise OptionError("lapse_rate", lapse_rate, allowed)
    if judgments.tied is not None or refusing:
        why = "models with ties, or with biases that depend on the score, know no lapses"
        raise OptionError("lapse_rate", lapse_rate, ["0"], why)
    return float(lapse_rate) if given else None


def lapses_of(fitted: Fit, errors: Errors) -> Effect | None:
    """Return the log odds of a random judgment, where they are estimated."""
    if fitted.objective.data.rows.lapses is not None:
        return None
    value, error = CENTRE + SCALE * float(fitted.extra[-1]), SCALE * float(errors.extra[-1])
    return Effect(name="log odds of a random judgment", value=value, standard_error=error)


def words_on_lapses(task: Task, found: Effect | None) -> Iterator[str]:
    """Say how many judgments are taken for random."""
    if found is not None:
        share, low, high = expit([found.value, *found.interval()[:2]]).tolist()
        yield (
            f"{share:.1%} of judgments are taken for random, whoever made them (95% interval "
            f"{low:.1%} to {high:.1%}, with a prior about 5%)."
        )
    elif task.lapses:
        yield f"{task.lapses:.1%} of judgments are taken for random, as given."
