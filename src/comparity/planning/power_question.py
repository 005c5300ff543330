"""Power as a function of the size: a scenario, and how its tests will be judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from comparity.inference.multiplicity import max_t_level
from comparity.inference.power import (
    LARGEST_SIZE,
    all_within_power,
    any_detection_power,
    first_step_alpha,
    smallest_size,
)
from comparity.planning.scenarios import ExpectedGaps, PairScenario, Scenario


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
        return [self._power(expected.one(test), alpha) for test in range(len(expected.gaps))]

    def _first_step(self, expected: ExpectedGaps) -> float:
        """Return the level at which the smallest p value is judged."""
        family = getattr(self.scenario, "family", None)
        if family is None or not family.correlated or self.rule != "holm":
            return first_step_alpha(self.alpha, self.rule, len(expected.gaps))
        values, vectors = np.linalg.eigh(expected.covariance)
        return max_t_level(vectors * np.sqrt(np.maximum(values, 0.0)), self.alpha)

    def _power(self, expected: ExpectedGaps, alpha: float) -> float:
        """Return the power of tests, each of two sides at `alpha` or, with a margin, its own."""
        gaps, covariance, clusters = expected.gaps, expected.covariance, expected.clusters
        # The rule of the paper takes the errors of the observed rates whatever the counts.
        guarded = self.rule != "paper"
        if self.margin is None:
            away = expected.distances(0.0, alpha / 2) if guarded else None
            return any_detection_power(
                gaps, covariance, alpha=alpha, clusters=clusters, distances=away
            )
        sides = [expected.distances(end, self.alpha) for end in (-self.margin, self.margin)]
        return all_within_power(
            gaps,
            covariance,
            margin=self.margin,
            alpha=self.alpha,
            clusters=clusters,
            distances=(sides[0], sides[1]) if guarded else None,
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
