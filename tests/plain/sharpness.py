"""Sharpness by definition: a marginal likelihood over a grid of scores, and profile intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2


def log_marginal(
    tallies: dict[tuple[int, int, int], int],
    groups: Sequence[int],
    sharpness: Sequence[float],
    bias: Sequence[float],
    centre: Sequence[float],
    *,
    reach: float = 1.0,
    steps: int = 25,
) -> float:
    """Integrate over standard normal scores; `tallies` count (better, worse, evaluator).

    Only differences from the first item matter, so that its score is integrated by formula. The
    grid reaches as far from the `centre`.
    """
    n, away = len(groups), np.linspace(-reach, reach, steps)
    apart = np.meshgrid(*[one - centre[0] + away for one in centre[1:]], indexing="ij")
    scores = [np.zeros_like(apart[0]), *apart]
    # Differences from one of n alike variables have this covariance.
    precision = np.linalg.inv(np.eye(n - 1) + 1)
    density = sum(
        -0.5 * precision[i, j] * apart[i] * apart[j] for i in range(n - 1) for j in range(n - 1)
    )
    for (better, worse, k), count in tallies.items():
        lean = bias[k] * (groups[better] - groups[worse])
        margin = sharpness[k] * (scores[better] - scores[worse] + lean)
        density = density - count * np.logaddexp(0.0, -margin)
    peak = density.max()
    whole = np.log(np.exp(density - peak).sum()) + peak + (n - 1) * np.log(away[1] - away[0])
    return float(whole + 0.5 * np.linalg.slogdet(precision)[1])


def profile_interval(
    lead: NDArray[np.float64], step: NDArray[np.int64], centre: float, spread: float, level: float
) -> tuple[float, float]:
    """Return the biases that a likelihood ratio does not reject, of one evaluator.

    Scores are known: `lead` is by how much the chosen item is better, `step` is 1 where it alone is
    of the group and -1 where only the other is. Of each bias the best sharpness counts, under a
    normal prior of its logarithm.
    """

    def loss(bias: float) -> float:
        def given(log_sharpness: float) -> float:
            margin = np.exp(log_sharpness) * (lead + bias * step)
            prior = (log_sharpness - centre) ** 2 / (2 * spread**2)
            return float(np.logaddexp(0.0, -margin).sum() + prior)

        return float(minimize_scalar(given, bounds=(-6, 3), method="bounded").fun)

    best = minimize_scalar(loss, bounds=(-8, 8), method="bounded")
    rejected = best.fun + chi2.ppf(level, 1) / 2
    low, high = (
        brentq(lambda bias: loss(bias) - rejected, best.x, best.x + side) for side in (-10, 10)
    )
    return low, high
