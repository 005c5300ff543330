"""Worlds of items with labels, and of two decision makers: no group is treated differently."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from comparity import (
    differential_parity,
    fairness_metrics,
    pairwise_accuracy,
    separation,
)
from tests.validity.worlds import (
    GROUPS,
    Floats,
    Integers,
    Rng,
    between,
    members,
    pick,
    rounded,
    shares,
)

FOUND, HARMLESS = "violated", "within the margin"


@dataclass(frozen=True)
class DecisionWorld:
    """Yes/no decisions with labels; rates by group are equal, or one pair is the margin apart."""

    shares: tuple[float, ...]
    n: int
    base: tuple[float, ...]
    tpr: float
    fpr: float
    margin: float = 0.05
    gap: str = ""

    def errs(self, rng: Rng) -> bool:
        """Return whether a violation is found where there is none, or a gap is overlooked."""
        group = members(self.shares, self.n, rng)
        label = rng.random(self.n) < np.array(self.base)[group]
        half = self.margin / 2 * ((group == 0).astype(float) - (group == 1))
        tpr = self.tpr + half * (self.gap == "TPR")
        fpr = self.fpr + half * (self.gap == "FPR")
        decision = rng.random(self.n) < np.where(label, tpr, fpr)
        audit = separation(label, decision, sensitive_features=GROUPS[group], margin=self.margin)
        return bool(audit.finding == (HARMLESS if self.gap else FOUND))


def draw_decisions(rng: Rng) -> DecisionWorld:
    """Draw a world in which true and false positive rates are equal."""
    number = int(rng.integers(2, 6))
    base = tuple(rounded(one) for one in rng.uniform(0.1, 0.9, number))
    tpr, fpr = (rounded(one) for one in np.clip(rng.beta(0.7, 0.7, 2), 0.003, 0.997))
    return DecisionWorld(shares(number, rng), between(60, 3000, rng), base, tpr, fpr)


def draw_decisions_at_margin(rng: Rng) -> DecisionWorld:
    """Draw a world in which two groups are exactly the margin apart in one rate."""
    margin = pick(rng, (0.05, 0.1, 0.2))
    number = int(rng.integers(2, 4))
    base = tuple(rounded(one) for one in rng.uniform(0.3, 0.7, number))
    tpr, fpr = (rounded(one) for one in rng.uniform(margin / 2, 1 - margin / 2, 2))
    n = between(100, 6000, rng)
    gap = pick(rng, ("TPR", "FPR"))
    return DecisionWorld(shares(number, rng), n, base, tpr, fpr, margin, gap)


LABELS = ("yes or no", "grades", "normal", "lognormal", "counts", "zero-inflated", "two humps")


@dataclass(frozen=True)
class ScoreWorld:
    """Scores that are the label plus noise, the same in all groups.

    Attributes
    ----------
    labels : str
        Kind of labels. `shift` and `spread` move and stretch what they are made of, by group.
    noise, grid : float
        Standard deviation of the score given the label, in those of the labels, and its steps.
    queries : int
        Items of a query; zero where all are compared.
    notions : tuple of str
        What is tested.
    standardised : bool
        Whether the audit standardised to one distribution of labels is looked at.
    """

    shares: tuple[float, ...]
    n: int
    labels: str
    shift: tuple[float, ...]
    spread: tuple[float, ...]
    noise: float
    grid: float
    queries: int
    notions: tuple[str, ...]
    standardised: bool

    def errs(self, rng: Rng) -> bool:
        """Return whether a violation is found where there is none."""
        group = members(self.shares, self.n, rng)
        query = np.arange(self.n) // self.queries if self.queries else None
        of_query = rng.normal(0, 0.5, self.n)[query] if self.queries else 0.0
        latent = rng.normal(size=self.n) * np.array(self.spread)[group]
        label = _labels(self.labels, latent + of_query + np.array(self.shift)[group], rng)
        score = label / max(label.std(), 1e-9) + self.noise * rng.normal(size=self.n) + of_query
        if self.grid:
            score = np.round(score / self.grid)
        result = pairwise_accuracy(
            label,
            score,
            sensitive_features=GROUPS[group],
            queries=query,
            notions=self.notions,
        )
        audit = result.standardised if self.standardised else result.raw
        return bool(audit.finding == FOUND)


def _labels(kind: str, latent: Floats, rng: Rng) -> Floats:
    """Return labels of a kind, the larger the larger what they are made of."""
    if kind == "yes or no":
        return (latent > 0.3).astype(float)
    if kind == "grades":
        return np.clip(np.round(1.5 * latent), -3, 3)
    if kind == "lognormal":
        return np.exp(latent)
    if kind == "counts":
        return rng.poisson(np.exp(np.minimum(latent, 4))).astype(float)
    if kind == "zero-inflated":
        return np.maximum(latent, 0)
    if kind == "two humps":
        return latent + 3 * (latent > 0.2)
    return latent


def draw_scores(rng: Rng, *, standardised: bool) -> ScoreWorld:
    """Draw a world in which errors do not depend on groups, nor labels unless standardised."""
    number = int(rng.integers(2, 5))
    shift = rng.uniform(-0.6, 0.6, number) * standardised
    spread = np.exp(rng.uniform(-0.4, 0.4, number) * standardised)
    notions = (("cross-group", "within-group"), ("marginal",), ("cross-group",))
    return ScoreWorld(
        shares=shares(number, rng),
        n=between(60, 600, rng),
        labels=pick(rng, LABELS),
        shift=tuple(rounded(one) for one in shift),
        spread=tuple(rounded(one) for one in spread),
        noise=rounded(np.exp(rng.uniform(np.log(0.2), np.log(3)))),
        grid=float(pick(rng, (0, 0, 0.25, 1))),
        queries=0 if standardised else int(pick(rng, (0, 0, 0, 6, 15))),
        notions=pick(rng, notions),
        standardised=standardised,
    )


@dataclass(frozen=True)
class ShiftedWorld:
    """Scores normal given a yes/no label; one group's are shifted so that a gap is the margin.

    With scores N(d y + s g, 1), agree(a > b) = Phi((d + s) / sqrt 2) where a is the shifted group,
    and Phi((d - s) / sqrt 2) in the opposite cell.
    """

    share: float
    n: int
    base: tuple[float, float]
    distance: float
    margin: float

    def errs(self, rng: Rng) -> bool:
        """Return whether the gap is called harmless."""
        group = members((1 - self.share, self.share), self.n, rng)
        label = (rng.random(self.n) < np.array(self.base)[group]).astype(float)
        score = self.distance * label + _shift(self.distance, self.margin) * group
        result = pairwise_accuracy(
            label,
            score + rng.normal(size=self.n),
            sensitive_features=GROUPS[group],
            notions=("cross-group",),
            margin=self.margin,
        )
        return bool(result.raw.finding == HARMLESS)


@cache
def _shift(distance: float, margin: float) -> float:
    def excess(shift: float) -> float:
        above, below = norm.cdf([(distance + shift) / 2**0.5, (distance - shift) / 2**0.5])
        return float(above - below - margin)

    return float(brentq(excess, 0, 10))


def draw_shifted(rng: Rng) -> ShiftedWorld:
    """Draw a world in which the gap across two groups is exactly the margin."""
    share, low, high = rng.uniform([0.15, 0.2, 0.2], [0.5, 0.8, 0.8])
    return ShiftedWorld(
        share=rounded(share),
        n=between(80, 1500, rng),
        base=(rounded(low), rounded(high)),
        distance=rounded(rng.uniform(0.2, 2.5)),
        margin=pick(rng, (0.1, 0.2)),
    )


DIFFERENCES = (
    *("normal", "exponential", "lognormal", "t with 4 degrees", "ratings", "yes or no"),
    *("rarely large", "unequal spread"),
)


@dataclass(frozen=True)
class RaterWorld:
    """Two raters whose difference has one distribution, or one mean and normal errors, in all.

    Attributes
    ----------
    sizes : tuple of int
        Subjects by group.
    kind, rare : str, float
        Distribution of the differences, and how rare the rare ones are.
    margin : float
        By how many standard deviations the first group is shifted; zero for none.
    """

    sizes: tuple[int, ...]
    kind: str
    rare: float
    margin: float = 0.0

    def errs(self, rng: Rng) -> bool:
        """Return whether a violation is found where there is none, or a gap is overlooked."""
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        merit = rng.integers(0, 10, len(group)).astype(float)
        difference = self._differences(group, rng)
        if self.margin:
            difference = difference + self.margin * _DEVIATION[self.kind] * (group == 0)
        result = differential_parity(
            merit + difference,
            merit,
            sensitive_features=GROUPS[group],
            permutations=0,
            **({"margin": self.margin} if self.margin else {}),
        )
        return bool(result.finding == (HARMLESS if self.margin else FOUND))

    def _differences(self, group: Integers, rng: Rng) -> Floats:
        n = len(group)
        if self.kind == "exponential":
            return rng.exponential(size=n)
        if self.kind == "lognormal":
            return rng.lognormal(0, 0.8, n)
        if self.kind == "t with 4 degrees":
            return rng.standard_t(4, n)
        if self.kind == "ratings":
            return np.round(rng.normal(0.3, 1, n))
        if self.kind == "yes or no":
            return rng.choice(
                [-1.0, 0.0, 1.0], n, p=[self.rare, 1 - 1.5 * self.rare, self.rare / 2]
            )
        if self.kind == "rarely large":
            return rng.normal(size=n) * np.where(rng.random(n) < self.rare, 12, 1) + 0.0
        if self.kind == "unequal spread":
            return rng.normal(size=n) * (1 + group)
        return rng.normal(size=n)


# Of one group's differences; exponential ones have 1, lognormal ones sqrt((e^v - 1) e^v), v = 0.64.
_DEVIATION = {
    "normal": 1.0,
    "exponential": 1.0,
    "lognormal": float(np.sqrt((np.exp(0.64) - 1) * np.exp(0.64))),
    "t with 4 degrees": 2**0.5,
}


def draw_raters(rng: Rng) -> RaterWorld:
    """Draw a world in which nobody leans."""
    number = int(pick(rng, (2, 2, 2, 3, 4)))
    sizes = tuple(between(6, 500, rng) for _ in range(number))
    return RaterWorld(sizes, pick(rng, DIFFERENCES), rounded(rng.uniform(0.01, 0.3)))


def draw_raters_at_margin(rng: Rng) -> RaterWorld:
    """Draw a world in which the first group is exactly the margin above the others."""
    number = int(pick(rng, (2, 2, 3)))
    sizes = tuple(between(30, 800, rng) for _ in range(number))
    return RaterWorld(sizes, pick(rng, tuple(_DEVIATION)), 0.0, float(pick(rng, (0.2, 0.4))))


METRICS = tuple(f"C{number}" for number in range(26))


@dataclass(frozen=True)
class MetricWorld:
    """Yes/no decisions of groups that may differ, and one metric whose interval is looked at."""

    shares: tuple[float, ...]
    n: int
    base: tuple[float, ...]
    tpr: tuple[float, ...]
    fpr: tuple[float, ...]
    metric: str

    def errs(self, rng: Rng) -> bool:
        """Return whether an interval that is promised to cover misses the truth."""
        cells = rng.multinomial(self.n, self._chances())
        one = self._metric(cells, replicates=300)
        low, high, _ = one.interval
        truth = _population_value(self)
        return bool(one.promised and not low - 1e-9 <= truth <= high + 1e-9)

    def _chances(self) -> Floats:
        s, b, t, f = (np.array(one) for one in (self.shares, self.base, self.tpr, self.fpr))
        chances = [(1 - b) * (1 - f), (1 - b) * f, b * (1 - t), b * t]
        return np.asarray(np.array(chances) * s / s.sum()).T.ravel()

    def _metric(self, cells: Integers, **choices: Any) -> Any:
        """Return a metric of the decisions in cells: group, then label, then decision."""
        place = np.repeat(np.arange(len(cells)), cells)
        card = fairness_metrics(
            place // 2 % 2,
            place % 2,
            sensitive_features=GROUPS[place // 4],
            privileged="a",
            **choices,
        )
        return card[self.metric]


@cache
def _population_value(world: MetricWorld) -> float:
    """Return the metric among a million people with the shares of the world."""
    cells = np.round(1e6 * world._chances()).astype(np.int64)
    return float(world._metric(cells, replicates=100).value)


def draw_metrics(rng: Rng) -> MetricWorld:
    """Draw a world of decisions, in a third of cases with equal rates, and a metric."""
    number = int(pick(rng, (2, 2, 3)))
    rates = [rng.uniform(low, high, number) for low, high in ((0.2, 0.8), (0.4, 0.95), (0.05, 0.5))]
    if rng.random() < 1 / 3:
        rates = [np.full(number, one[0]) for one in rates]
    base, tpr, fpr = (tuple(rounded(one) for one in rate) for rate in rates)
    return MetricWorld(
        shares(number, rng), between(200, 3000, rng), base, tpr, fpr, pick(rng, METRICS)
    )
