"""Parts of a fitted ranking: priors, single effects, what the graph of comparisons can tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.inference.gap_tests import Interval

__all__ = [
    "SEAT",
    "Diagnosis",
    "Effect",
    "GroupContrast",
    "Prior",
    "ScoreDependence",
    "Suggestion",
    "normal_quantile",
]

Ints = NDArray[np.int64]

SHOWN = 20
"""Names listed in `to_dict` where there may be thousands; counts are always given."""


def _no_positions() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A Gaussian prior, which is a ridge penalty seen from the other side.

    Attributes
    ----------
    of : str
        What it is a prior of: ``"scores"`` or ``"biases"``.
    sd : float
        Its standard deviation, in logits; infinite where there is no prior.
    chosen_by : str
        ``"the caller"``, ``"default"``, ``"marginal likelihood"`` or ``"cross-validation"``.
    """

    of: str
    sd: float
    chosen_by: str

    @property
    def precision(self) -> float:
        """Weight of half the sum of squares in the penalised likelihood."""
        return 0.0 if math.isinf(self.sd) else self.sd**-2

    def __str__(self) -> str:
        prior = "no prior" if math.isinf(self.sd) else f"Normal with SD {self.sd:.4g}"
        return f"{self.of}: {prior} ({self.chosen_by})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One number with its standard error, such as the effect of the first seat.

    Attributes
    ----------
    name : str
        What it is.
    value, standard_error : float
        In logits.
    """

    name: str
    value: float
    standard_error: float

    DERIVED: ClassVar[Mapping[str, str]] = {"interval": "interval", "p_value": "p_value"}

    @property
    def z(self) -> float:
        """Value over standard error."""
        return self.value / self.standard_error if self.standard_error > 0 else math.nan

    @property
    def p_value(self) -> float:
        """Two-sided p value of no effect."""
        return math.erfc(abs(self.z) / math.sqrt(2)) if math.isfinite(self.z) else math.nan

    def interval(self, level: float = 0.95) -> Interval:
        """Return the normal interval."""
        half = normal_quantile(level) * self.standard_error
        return Interval(self.value - half, self.value + half, level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Diagnosis:
    """What the graph of comparisons can and cannot tell.

    Without a prior, scores exist only if every item can be reached from every other along "was put
    above"; a prior makes all numbers finite, and then it alone places the components.

    Attributes
    ----------
    n_items, n_comparisons : int
        Size of the graph.
    component : ndarray of int
        For each item the component in which comparisons, whatever their outcome, join items.
    strong_component : ndarray of int
        The same along "was put above".
    uncompared, undefeated, winless : ndarray of int
        Positions of items in no comparison, items never put below another one, items never above.
    silent : ndarray of int
        Evaluators whose comparisons say nothing about some bias of theirs.
    one_sided : ndarray of int
        Evaluators who always decided for the same group where groups met.
    unmet : ndarray of int
        Contrasts of groups that no comparison joins, not even by way of others.
    needed : int
        About n log n, below which rankings from random comparisons are unreliable.
    notes : tuple of str
        The same in words, with names.
    """

    n_items: int
    n_comparisons: int
    component: Ints
    strong_component: Ints
    uncompared: Ints = field(default_factory=_no_positions)
    undefeated: Ints = field(default_factory=_no_positions)
    winless: Ints = field(default_factory=_no_positions)
    silent: Ints = field(default_factory=_no_positions)
    one_sided: Ints = field(default_factory=_no_positions)
    unmet: Ints = field(default_factory=_no_positions)
    needed: int = 0
    notes: tuple[str, ...] = ()

    DERIVED: ClassVar[Mapping[str, str]] = {
        "n_components": "n_components",
        "n_strong_components": "n_strong_components",
    }

    @property
    def n_components(self) -> int:
        """How many parts of the items are never compared with each other."""
        return int(self.component.max(initial=-1)) + 1

    @property
    def n_strong_components(self) -> int:
        """How many parts lose against each other in one direction only, or not at all."""
        return int(self.strong_component.max(initial=-1)) + 1

    @property
    def connected(self) -> bool:
        """Whether comparisons join all items."""
        return self.n_components <= 1

    @property
    def separated(self) -> bool:
        """Whether the likelihood alone would send scores to infinity."""
        return self.n_strong_components > 1

    @property
    def enough(self) -> bool:
        """Whether there are about n log n comparisons."""
        return self.n_comparisons >= self.needed


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupContrast:
    """Which group a bias favours, and over which.

    Attributes
    ----------
    attribute : str
        The sensitive attribute, or several joined by ``" x "`` for an intersection.
    group, reference : str
        A positive bias puts `group` above `reference`; for an intersection `reference` is
        ``"the sum of its parts"``.
    """

    attribute: str
    group: str
    reference: str

    DERIVED: ClassVar[Mapping[str, str]] = {"name": "__str__"}

    def __str__(self) -> str:
        return f"{self.attribute}: {self.group} over {self.reference}"


SEAT = GroupContrast(attribute="seat", group="first", reference="second")
"""What each evaluator gives to the item shown first is a bias, but toward no group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDependence:
    """Does a bias grow with the score of the item? One slope for each contrast.

    Attributes
    ----------
    slopes : tuple of float
        An evaluator's bias for an item with score s is bias + slope * (bias - mean bias) * s.
    statistic, dof, p_value : float
        Score test of all slopes zero, at the fit without them.
    """

    slopes: tuple[float, ...]
    statistic: float
    dof: int
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """An intersection of groups and whether it deserves a bias of its own.

    Attributes
    ----------
    attributes, groups : tuple of str
        Which intersection.
    n_items, n_comparisons : int
        Items in it, and comparisons between it and the rest.
    score_gap, gap_p : float
        How far its items' mean score lies from the sum of its parts, in logits, and the p value
        of no such gap: a bias that all evaluators share shows up here.
    spread, spread_dof, spread_p : float
        Score test of no bias for it that differs between evaluators.
    p_value, q_value : float
        Both tests together (Bonferroni), and its Benjamini-Hochberg q over all intersections.
    deserves : bool
        Whether q is below the level.
    """

    attributes: tuple[str, ...]
    groups: tuple[str, ...]
    n_items: int
    n_comparisons: int
    score_gap: float
    gap_p: float
    spread: float
    spread_dof: int
    spread_p: float
    p_value: float
    q_value: float
    deserves: bool


def normal_quantile(level: float) -> float:
    """Return how many standard errors an interval of this level reaches to each side."""
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise OptionError("level", level, ["a level between 0 and 1"])
    return NormalDist().inv_cdf((1 + level) / 2)
