r"""Power as a function of the size, and when a study that may be stopped at any moment would stop.

At sizes :math:`n_1 < n_2 < \dots` the gaps have covariance matrices :math:`C_1, C_2, \dots`. In
information time what comes later is the mean of what was before, so that a path is drawn backwards:
:math:`d_K \sim N(\delta, C_K)`, then :math:`d_j = d_{j+1} + N(0, C_j - C_{j+1})`. Every path is
judged at each size as an audit at any moment judges
(:mod:`comparity.inference.anytime`), with the errors of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.inference.agreement_tests import FEWEST_EVALUATORS
from comparity.inference.anytime import FEWEST_ANYTIME_CLUSTERS, log_e_value_of_gaps, tuned_rho
from comparity.inference.multiplicity import max_t_level
from comparity.inference.power import (
    LARGEST_SIZE,
    all_within_power,
    any_detection_power,
    first_step_alpha,
    smallest_size,
)
from comparity.planning.options import GroupPlanOptions
from comparity.planning.scenarios import ExpectedGaps, PairScenario, Scenario
from comparity.results.options import AuditOptions


class PowerFunction(Protocol):
    """What a plan can be asked again: the power at any size, the size for any power."""

    def power(self, size: float) -> float:
        """Return the power at a size."""

    def smallest_size(self, target: float) -> int | None:
        """Return the smallest size with this power; ``None`` if no size has it."""

    def limit(self) -> float:
        """Return the power as the size grows without end."""

    def on_items(self, n_items: int | None) -> PowerFunction:
        """Return the same with pairs drawn from another number of items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerQuestion:
    """A scenario and how its tests will be judged: power as a function of the size.

    Attributes
    ----------
    scenario : Scenario
        What is believed.
    alpha : float
        Overall false-alarm rate; with rule ``"paper"`` and for equivalence that of each test.
    margin : float or None
        Largest harmless gap, if the aim is to show that all gaps are within it.
    rule : str
        ``"holm"`` or ``"paper"``.
    """

    scenario: Scenario
    alpha: float
    margin: float | None
    rule: str

    def power(self, size: float) -> float:
        """Return P(any test rejects), or P(all gaps shown within the margin)."""
        return _power_at(self, size)

    def compute_power(self, size: float) -> float:
        """Work out the power at a size."""
        expected = self.expect(size)
        return self._power(expected, self._first_step(expected))

    def expect(self, size: float) -> ExpectedGaps:
        """Return the gaps that the answer is about, at a size."""
        return self.scenario.expect(size, margin=self.margin is not None)

    def test_powers(self, expected: ExpectedGaps) -> list[float]:
        """Return the power of every test taken alone."""
        alpha = self._first_step(expected)
        return [self._power(expected.of([test]), alpha) for test in range(len(expected.gaps))]

    def _first_step(self, expected: ExpectedGaps) -> float:
        """Return the level at which the smallest p value is judged."""
        family = getattr(self.scenario, "family", None)
        if family is None or not family.correlated or self.rule != "holm":
            return first_step_alpha(self.alpha, self.rule, len(expected.gaps))
        values, vectors = np.linalg.eigh(expected.covariance)
        return max_t_level(vectors * np.sqrt(np.maximum(values, 0.0)), self.alpha)

    def _power(self, expected: ExpectedGaps, alpha: float) -> float:
        """Return the power of tests, each of two sides at `alpha` or, with a margin, its own."""
        # The rule of the paper takes the errors of the observed rates whatever the counts.
        if self.rule == "paper":
            return self._normal_power(expected, alpha)
        # Rates of 0 and 1 have no error: that the test rejects depends on the trials alone.
        certain = expected.scarce & (expected.standard_errors == 0)
        rest = self._normal_power(expected.of(~certain), alpha, guarded=True)
        if self.margin is None:
            missed = 1 - expected.of(certain).exact_powers(alpha)
            return 1 - (1 - rest) * float(missed.prod())
        return rest * float(expected.of(certain).exact_powers(self.alpha, self.margin).prod())

    def _normal_power(
        self, expected: ExpectedGaps, alpha: float, *, guarded: bool = False
    ) -> float:
        gaps, covariance, clusters = expected.gaps, expected.covariance, expected.clusters
        if self.margin is None:
            away = expected.detection_distances(alpha) if guarded else None
            return any_detection_power(
                gaps, covariance, alpha=alpha, clusters=clusters, distances=away
            )
        sides = expected.margin_distances(self.margin, self.alpha) if guarded else None
        return all_within_power(
            gaps,
            covariance,
            margin=self.margin,
            alpha=self.alpha,
            clusters=clusters,
            distances=sides,
        )

    def limit(self) -> float:
        """Return the power as the size grows without end."""
        return self.power(float(LARGEST_SIZE))

    def smallest_size(self, target: float) -> int | None:
        """Return the smallest size with at least this power; ``None`` if there is none."""
        return smallest_size(self.power, target)

    def on_items(self, n_items: int | None) -> PowerQuestion:
        """Return the same question with pairs drawn from another number of items."""
        assert isinstance(self.scenario, PairScenario), self.scenario
        return replace(self, scenario=replace(self.scenario, n_items=n_items))


# A plan is told several times, by the terminal, as JSON and on a page, with the same curves.
@lru_cache(maxsize=2**12)
def _power_at(question: PowerQuestion, size: float) -> float:
    return question.compute_power(size)


@dataclass(frozen=True, slots=True)
class RecordedPower:
    """A power function of which only what was written down can be asked."""

    known: Mapping[int, float]
    pairs: int | None = None
    ceiling: float = math.nan
    by_items: Mapping[int | None, Any] = field(default_factory=dict)

    def power(self, size: float) -> float:
        """Return the power written down for this size."""
        return self.known.get(int(size), math.nan)

    def smallest_size(self, target: float) -> int | None:
        """Return the size written down for the power the plan was made for."""
        return self.pairs

    def limit(self) -> float:
        """Return the power as judgments of these items grow without end."""
        return self.ceiling

    def on_items(self, n_items: int | None) -> RecordedPower:
        """Return what was written down for pairs drawn from so many items."""
        row = self.by_items[n_items]
        known = {} if row.n_pairs is None else {row.n_pairs: row.power}
        return RecordedPower(known, row.n_pairs, row.ceiling)


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
    """Simulate when a study would be decided if it is looked at again and again.

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
    """Return when the study of a plan would stop; None where not asked or not known."""
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
    """Return for each path whether any gap is found, or all are shown to be within the margin."""
    x = rho / errors**2
    if question.margin is None:
        found = log_e_value_of_gaps(np.abs(gaps) / errors, x)
        level = question.alpha / (1 if question.rule == "paper" else len(gaps))
        return np.asarray(np.any(found >= math.log(2 / level), axis=0), dtype=bool)
    inside = log_e_value_of_gaps((question.margin - np.abs(gaps)) / errors, x)
    return np.asarray(np.all(inside >= math.log(1 / question.alpha), axis=0), dtype=bool)
