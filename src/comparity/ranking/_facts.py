"""What fits of the likelihood say, by the names of a ranking's fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from comparity.inference.multiplicity import benjamini_hochberg
from comparity.ranking._curvature import Errors
from comparity.ranking._fitting import Fit
from comparity.ranking.judgments import Judgments
from comparity.rankings import Diagnosis, Effect

__all__ = ["facts_of", "tests_of"]

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
