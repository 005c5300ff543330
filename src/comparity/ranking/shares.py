"""Choices of the mixture models, and what a fit says by the names of a ranking's fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from comparity.errors import NoPriorError, OptionError
from comparity.inference.multiplicity import benjamini_hochberg
from comparity.ranking.anchors import LEAST_SD, MOST_SD
from comparity.ranking.fits import Diagnosis, Effect, Prior
from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.curvature import Errors
from comparity.ranking.likelihood.fitting import Fit
from comparity.ranking.mixtures import MixtureModel, Optimum
from comparity.ranking.result import Ranking

__all__ = [
    "DEFAULT_BETA",
    "DEFAULT_SD",
    "check_amount",
    "check_beta",
    "check_joined",
    "check_search",
    "facts_of",
    "gaussian",
    "ranking_of",
    "tests_of",
    "words_on",
]


DEFAULT_SD = 5.0


DEFAULT_BETA = (10.0, 1.0)


MOST_JUDGMENTS = 1e6
"""A prior worth more judgments than this leaves those made no say, and searches no digits."""


# Searches that end closer than this found the same peak.
SAME_PEAK = 1e-3


def gaussian(of: str, sd: Any) -> Prior:
    """Return the Gaussian prior with this standard deviation; ``None`` is no prior."""
    if sd is None:
        return Prior(of=of, sd=math.inf, chosen_by="the caller")
    if not _number(sd) or not LEAST_SD <= sd <= MOST_SD:
        allowed = [f"a standard deviation in logits from {LEAST_SD:g} to {MOST_SD:g}", "None"]
        raise OptionError(f"the prior of {of}", sd, allowed)
    return Prior(of=of, sd=float(sd), chosen_by="default" if sd == DEFAULT_SD else "the caller")


def check_joined(diagnosis: Diagnosis, *, regular: bool) -> None:
    """Raise an error where items would run away and nothing holds them."""
    if not regular and diagnosis.separated:
        found = f"{diagnosis.n_strong_components:,} parts of the items that never lost to the next"
        raise NoPriorError("scores", found)


def check_beta(option: str, value: Any) -> None:
    """Raise an error unless these are two parameters of a Beta prior without a pole."""
    pair = isinstance(value, tuple | list) and len(value) == 2 and all(map(_number, value))
    if not pair or not all(1 <= one <= MOST_JUDGMENTS for one in value):
        allowed = f"two numbers from 1 to {MOST_JUDGMENTS:g}, such as (10, 1); (1, 1) is flat"
        raise OptionError(option, value, [allowed])


def check_search(max_iterations: Any, tolerance: Any) -> None:
    """Raise an error unless the search has at least one step and a goal."""
    if not isinstance(max_iterations, int | np.integer) or max_iterations < 1:
        raise OptionError("max_iterations", max_iterations, ["a whole number from 1"])
    if not _number(tolerance) or not 0 < tolerance < 1:
        raise OptionError("tolerance", tolerance, ["a number between 0 and 1, both excluded"])


def check_amount(option: str, value: Any) -> None:
    """Raise an error unless this is a number of judgments that leaves a say to those made."""
    if not _number(value) or not 0 <= value <= MOST_JUDGMENTS:
        raise OptionError(option, value, [f"a number from 0 to {MOST_JUDGMENTS:g}"])


def words_on(
    share: str, beta: tuple[float, float], found: Optimum, judgments: Judgments
) -> list[str]:
    """Say which prior the shares have, whether there were several peaks, and what ties count."""
    flat = tuple(beta) == (1, 1)
    law = "no prior" if flat else f"a Beta({beta[0]:g}, {beta[1]:g}) prior"
    notes = [f"The {share} of each evaluator has {law}."]
    worse = max(found.losses) - min(found.losses)
    if worse > SAME_PEAK:
        notes.append(
            f"The likelihood has several peaks: {len(found.losses)} searches ended up to "
            f"{worse:.3g} apart in log posterior density; the highest is shown."
        )
    if not found.converged:
        notes.append(
            f"The search stopped before the gradient met its tolerance "
            f"(norm {found.gradient_norm:.3g}); allow more iterations."
        )
    if judgments.n_ties:
        notes.append(f"{judgments.n_ties:,} ties count as half a comparison each way.")
    return notes


def ranking_of(
    name: str,
    judgments: Judgments,
    model: MixtureModel,
    found: Optimum,
    *,
    scores: NDArray[np.float64],
    diagnosis: Diagnosis,
    priors: tuple[Prior, ...],
    parameters: dict[str, Any],
    notes: list[str],
    provenance: dict[str, Any],
) -> Ranking:
    """Return the fit of a mixture model as a frozen ranking; it has no standard errors."""
    return Ranking(
        model=name,
        items=judgments.items,
        scores=scores - scores.mean(),
        standard_errors=np.full(len(scores), np.nan),
        log_likelihood=model.log_likelihood(found.parameters),
        converged=found.converged,
        n_comparisons=len(judgments),
        n_ties=judgments.n_ties,
        diagnosis=diagnosis,
        priors=priors,
        evaluators=judgments.evaluators,
        parameters=parameters,
        gradient_norm=found.gradient_norm,
        iterations=found.iterations,
        notes=(*notes, *diagnosis.notes),
        provenance=provenance,
    )


def _number(value: Any) -> bool:
    real = isinstance(value, float | int | np.floating | np.integer)
    return real and not isinstance(value, bool) and not math.isnan(value)


Floats = NDArray[np.float64]


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


def tests_of(bias: Floats, errors: Floats) -> tuple[Floats, Floats, Floats]:
    """Return z, p and q of every bias against zero; none where it has no error."""
    z = np.divide(bias, errors, out=np.full_like(bias, np.nan), where=errors > 0)
    p = np.where(np.isnan(z), np.nan, erfc(np.abs(np.nan_to_num(z)) / math.sqrt(2)))
    return z, p, benjamini_hochberg(p)
