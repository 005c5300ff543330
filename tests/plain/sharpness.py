"""The marginal likelihood of a tiny panel with sharpness, by a sum over a grid of all scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


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
