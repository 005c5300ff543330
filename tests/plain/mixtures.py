"""Definitions of the mixture models, one comparison after the other."""

from collections.abc import Sequence
from math import exp, log


def sigma(x: float) -> float:
    return 1 / (1 + exp(-x))


def crowd_bt(winner_score: float, loser_score: float, reliability: float) -> float:
    """Chen et al. (2013): the probability that an evaluator puts the winner first."""
    d = winner_score - loser_score
    return reliability * sigma(d) + (1 - reliability) * sigma(-d)


def factor_bt(
    winner_score: float,
    loser_score: float,
    attention: float,
    slopes: Sequence[float],
    winner_groups: Sequence[float],
    loser_groups: Sequence[float],
) -> float:
    """Bugakova et al. (2019): the same where only groups count without attention."""
    pull = sum(r * (w - x) for r, w, x in zip(slopes, winner_groups, loser_groups, strict=True))
    d = winner_score - loser_score
    return attention * sigma(d) + (1 - attention) * sigma(pull)


def log_prior(
    scores: Sequence[float],
    shares: Sequence[float],
    slopes: Sequence[float],
    *,
    score_sd: float,
    slope_sd: float,
    virtual: float,
    beta: tuple[float, float],
) -> float:
    """Normal scores and slopes, Beta shares, games against an item with score 0; no constants."""
    total = -sum(s**2 for s in scores) / (2 * score_sd**2)
    total -= sum(r**2 for r in slopes) / (2 * slope_sd**2)
    total += virtual * sum(log(sigma(s)) + log(sigma(-s)) for s in scores)
    return total + sum((beta[0] - 1) * log(g) + (beta[1] - 1) * log(1 - g) for g in shares)
