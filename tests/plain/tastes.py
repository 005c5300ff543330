"""Tastes by definition: a marginal likelihood of three items, integrated over a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

ACROSS = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
"""Two directions of length one across that of all three items at once, which no lead has."""


def log_marginal(
    tallies: Mapping[tuple[int, int, int], int],
    groups: Sequence[int],
    sharpness: Sequence[float],
    bias: Sequence[float],
    tastes: Sequence[float],
    spread: float,
    *,
    reach: float = 8.0,
    steps: int = 161,
) -> float:
    """Integrate over scores and over each evaluator's tastes, of SD `spread` and `tastes`.

    `tallies` count (better, worse, evaluator). What an evaluator sees of three items are two
    numbers; its likelihood over a grid of these is averaged with the density of its tastes about
    the scores, and the product over evaluators with that of the scores.
    """
    places = np.linspace(-reach, reach, steps)
    one, two = np.meshgrid(places, places, indexing="ij")
    seen = np.einsum("dn,dij->nij", ACROSS, np.array([one, two]))
    step = places[1] - places[0]
    logs = -(one**2 + two**2) / (2 * spread**2) - np.log(2 * np.pi * spread**2)
    for k, taste in enumerate(tastes):
        log_judged = np.zeros_like(one)
        for (better, worse, who), count in tallies.items():
            if who == k:
                lead = seen[better] - seen[worse] + bias[k] * (groups[better] - groups[worse])
                log_judged -= count * np.logaddexp(0.0, -sharpness[k] * lead)
        peak = log_judged.max()
        apart = places[:, None] - places
        near = np.exp(-(apart**2) / (2 * taste**2)) * step / np.sqrt(2 * np.pi * taste**2)
        logs += peak + np.log(near @ np.exp(log_judged - peak) @ near.T)
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum() * step**2))
