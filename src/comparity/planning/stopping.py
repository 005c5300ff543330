r"""When a study that may be stopped at any moment would stop.

At sizes :math:`n_1 < n_2 < \dots` the gaps have covariance matrices :math:`C_1, C_2, \dots`. In
information time what comes later is the mean of what was before, so that a path is drawn backwards:
:math:`d_K \sim N(\delta, C_K)`, then :math:`d_j = d_{j+1} + N(0, C_j - C_{j+1})`. Every path is
judged at each size as an audit at any moment judges
(:mod:`comparity.inference.anytime`), with the errors of the plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.inference.agreement_tests import FEWEST_EVALUATORS
from comparity.inference.anytime import (
    FEWEST_ANYTIME_CLUSTERS,
    log_e_value_of_gaps,
    tuned_rho,
)
from comparity.planning.options import GroupPlanOptions
from comparity.planning.power_question import PowerQuestion
from comparity.results.options import AuditOptions

Floats = NDArray[np.float64]

PATHS = 4000
"""Studies that are drawn: a chance of a half is known to within 0.016."""

SIZES, EARLIEST, LATEST = 160, 0.02, 16.0
"""Looks along each of them, between these multiples of the size of the fixed design."""


# Rates of zero and one have no error.
NO_ERROR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """When a study that may be stopped at any moment would stop.

    Attributes
    ----------
    rho : float
        Variance of gaps that the boundary is tuned to.
    median, late : int or None
        Size by which half and nine tenths of such studies are decided; ``None`` where they are not
        by sixteen times the fixed size.
    price : float
        Median over the size of the fixed design with a power of 80 %; ``nan`` where there is none.
    budget : int
        The planned size.
    decided : float
        Chance to be decided by then.
    """

    rho: float
    median: int | None
    late: int | None
    price: float
    budget: int
    decided: float


def plan_stopping(question: PowerQuestion, budget: int, margin: float) -> Stopping:
    """Say when a study would be decided if it is looked at again and again.

    Parameters
    ----------
    question : PowerQuestion
        What is to be shown: any gap or, with a margin, that all gaps are within it.
    budget : int
        The planned size.
    margin : float
        Largest harmless gap of the audit, which the boundary is tuned to.
    """
    fixed = question.smallest_size(0.8)
    centre = budget if fixed is None else fixed
    sizes = np.unique(np.geomspace(EARLIEST * centre, LATEST * max(centre, budget), SIZES).round())
    sizes = np.union1d(sizes[sizes >= 2], [budget])
    rho = tuned_rho(margin, question.alpha)
    stopped = _is_decided(question, sizes, rho)
    first = np.where(stopped.any(axis=0), sizes[stopped.argmax(axis=0)], math.inf)
    median, late = (np.quantile(first, share, method="higher") for share in (0.5, 0.9))
    return Stopping(
        rho=rho,
        median=int(median) if math.isfinite(median) else None,
        late=int(late) if math.isfinite(late) else None,
        price=math.nan if fixed is None or not math.isfinite(median) else float(median / fixed),
        budget=budget,
        decided=float((first <= budget).mean()),
    )


def stopping_of(
    options: GroupPlanOptions, question: PowerQuestion, size: int | None
) -> Stopping | None:
    """Say when the study of a plan would stop, where that is asked and can be."""
    evaluators = getattr(options, "n_evaluators", None)
    few = evaluators is not None and FEWEST_EVALUATORS <= evaluators < FEWEST_ANYTIME_CLUSTERS
    if not options.anytime or size is None or few:
        return None
    return plan_stopping(question, size, options.margin or AuditOptions().margin)


def _is_decided(question: PowerQuestion, sizes: Floats, rho: float) -> NDArray[np.bool_]:
    """Return at which sizes each path is decided, as (sizes, paths)."""
    rng, last = np.random.default_rng(0), question.expect(float(sizes[-1]))
    decided = np.zeros((len(sizes), PATHS), dtype=bool)
    gaps, known = last.gaps[:, None], np.zeros_like(last.covariance)
    for place in range(len(sizes) - 1, -1, -1):
        expected = question.expect(float(sizes[place]))
        gaps = gaps + _draw(rng, expected.covariance - known)
        known = expected.covariance
        errors = np.maximum(expected.standard_errors, NO_ERROR)[:, None]
        decided[place] = _judge(question, gaps, errors, rho)
    return decided


def _draw(rng: np.random.Generator, covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn: Floats = root @ rng.normal(size=(len(values), PATHS))
    return drawn


def _judge(question: PowerQuestion, gaps: Floats, errors: Floats, rho: float) -> NDArray[np.bool_]:
    """Say of each path whether any gap is found, or all are shown to be within the margin."""
    x = rho / errors**2
    if question.margin is None:
        found = log_e_value_of_gaps(np.abs(gaps) / errors, x)
        level = question.alpha / (1 if question.rule == "paper" else len(gaps))
        return np.asarray(np.any(found >= math.log(2 / level), axis=0), dtype=bool)
    inside = log_e_value_of_gaps((question.margin - np.abs(gaps)) / errors, x)
    return np.asarray(np.all(inside >= math.log(1 / question.alpha), axis=0), dtype=bool)
