"""Lots of items by their definition: scores integrated out on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from tests.plain.ranking import log_probability

Judgment = tuple[int, int, float, float, bool, float | None]
"""Better item, worse item, sharpness, what is added, whether it is a tie, and log ties."""


def probability(judgments: Sequence[Judgment], scores: Sequence[float]) -> float:
    """Return how probable judgments are, if scores are known."""
    logs = [
        log_probability(g * (scores[i] - scores[j]) + offset, tied=tied, log_tie=log_tie)
        for i, j, g, offset, tied, log_tie in judgments
    ]
    return float(np.exp(sum(logs)))


def likelihood_of_pair(judgments: Sequence[Judgment], sd: float) -> float:
    """Return how probable judgments of items 0 and 1 are, whatever their scores of this SD."""

    def density(u: float) -> float:
        return probability(judgments, (u, 0.0)) * float(norm.pdf(u, scale=sd * 2**0.5))

    ends = np.array([-8.0, 0.0, 8.0]) * sd
    return sum(quad(density, *part, epsabs=0, epsrel=1e-10)[0] for part in pairwise(ends))


def likelihood_of_opinions(
    opinions: Sequence[tuple[float, Sequence[Judgment]]], sd: float, steps: int = 80
) -> float:
    """Return how probable judgments of items 0 and 1 are, by evaluators of the tastes given.

    Each sees the lead u of item 0 and a lead of its own, that many times as spread; both are
    integrated by the trapezoid rule.
    """
    grid = np.linspace(-8, 8, steps + 1)
    shares = norm.pdf(grid) * float(grid[1] - grid[0])
    leads = grid * sd * 2**0.5
    total = 0.0
    for u, share in zip(leads.tolist(), shares.tolist(), strict=True):
        for taste, judgments in opinions:
            seen = [probability(judgments, (u + taste * own, 0.0)) for own in leads.tolist()]
            share *= float(shares @ np.array(seen))
        total += share
    return total


def likelihood_of_three(judgments: Sequence[Judgment], sd: float, steps: int = 60) -> float:
    """Return the same of three items, by the trapezoid rule over two differences.

    With scores (a, b, 0) less their common level, a and b have variance 2 and covariance 1.
    """
    grid = np.linspace(-8, 8, steps + 1)
    root = np.linalg.cholesky(sd**2 * np.array([[2.0, 1.0], [1.0, 2.0]]))
    total = 0.0
    for one, two in product(grid.tolist(), repeat=2):
        a, b = root @ np.array([one, two])
        total += probability(judgments, (a, b, 0.0)) * float(norm.pdf(one) * norm.pdf(two))
    return total * float(grid[1] - grid[0]) ** 2
