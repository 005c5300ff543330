"""Simulated power: how often the tests reject when the truth is known.

A test sees counts only, so counts are drawn, not rows: decisions by group, label and prediction, or
fresh pairs by cell and agreement, are multinomial. The law is that of drawing row by row; the cost
does not depend on the number of rows (``benchmarks/bench_power.py``).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from comparity.inference.power import first_step_alpha
from comparity.planning.scenarios import ComparativeScenario, SeparationScenario

__all__ = ["simulate_comparative", "simulate_separation"]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]


def simulate_separation(
    scenario: SeparationScenario,
    *,
    n: int,
    alpha: float = 0.05,
    rule: str = "holm",
    repetitions: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> float:
    """Return how often at least one Wald test of separation rejects among `n` random decisions.

    Parameters
    ----------
    scenario : SeparationScenario
        The true rates, group shares and base rates.
    n : int
        Decisions in each repetition; how many fall to a group and label is left to chance.
    alpha : float, default 0.05
        Overall false-alarm rate, or that of each test with rule ``"paper"``.
    rule : {"holm", "paper"}, default "holm"
        Whether the smallest p value is judged at `alpha` over the number of tests, or at `alpha`.
    repetitions : int, default 10,000
        Number of simulated studies.
    rng : numpy.random.Generator, int or None
        Source of randomness, or its seed.

    Returns
    -------
    float
        Share of repetitions with a rejection. A test without trials, or without a gap and without
        variation, does not reject.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Section 4.1.

    Examples
    --------
    >>> f1 = SeparationScenario(
    ...     tpr=(0.8, 0.8), fpr=(0.36, 0.44), shares=(0.5, 0.5), base_rates=(0.55, 0.45)
    ... )
    >>> abs(simulate_separation(f1, n=1000, rule="paper", rng=1) - 0.4743) < 0.02
    True
    """
    shares, base = np.array(scenario.shares), np.array(scenario.base_rates)
    drawn = np.concatenate([shares * base, shares * (1 - base)])
    rates = np.concatenate([scenario.tpr, scenario.fpr])
    hits, trials = _drawn_tallies(drawn, rates, n, repetitions, rng)
    groups = len(scenario.tpr)
    pairs = [(s + a, s + b) for s in (0, groups) for a, b in combinations(range(groups), 2)]
    return _share_rejected(hits, trials, pairs, first_step_alpha(alpha, rule, len(pairs)))


def simulate_comparative(
    scenario: ComparativeScenario,
    *,
    n_pairs: int,
    alpha: float = 0.05,
    rule: str = "holm",
    repetitions: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> float:
    """Return how often at least one Wald test of comparative separation rejects on fresh pairs.

    Both items of every pair are new; pairs of equal quality and tied judgments are lost to chance.

    Parameters
    ----------
    scenario : ComparativeScenario
        The true rates; items and evaluators must be fresh.
    n_pairs : int
        Pairs in each repetition, before any is lost.
    alpha, rule, repetitions, rng
        As in :func:`simulate_separation`.

    Returns
    -------
    float
        Share of repetitions with a rejection.

    Examples
    --------
    >>> f1 = ComparativeScenario(
    ...     tpr=(0.8, 0.8), tnr=(0.64, 0.56), shares=(0.5, 0.5), base_rates=(0.55, 0.45)
    ... )
    >>> abs(simulate_comparative(f1, n_pairs=2000, rule="paper", rng=1) - 0.5032) < 0.02
    True
    """
    assert scenario.n_items is None, "pairs that share items are not multinomial"
    assert scenario.n_evaluators is None, "judgments that share evaluators are not multinomial"
    rates = np.outer(scenario.tpr, scenario.tnr).ravel()
    drawn = scenario.cell_shares().ravel()
    hits, trials = _drawn_tallies(drawn, rates, n_pairs, repetitions, rng)
    k = len(scenario.tpr)
    across = [(a * k + b, b * k + a) for a, b in combinations(range(k), 2)]
    within = [(a * k + a, b * k + b) for a, b in combinations(range(k), 2)]
    pairs = across + within
    return _share_rejected(hits, trials, pairs, first_step_alpha(alpha, rule, len(pairs)))


def _drawn_tallies(
    shares: Vector,
    rates: Vector,
    size: int,
    repetitions: int,
    rng: np.random.Generator | int | None,
) -> tuple[Counts, Counts]:
    """Draw hits and trials of every cell; what falls in no cell is lost."""
    lost = max(0.0, 1 - shares.sum())
    law = np.concatenate([shares * rates, shares * (1 - rates), [lost]])
    # numpy wants the probabilities to sum to 1 within rounding.
    counts = np.random.default_rng(rng).multinomial(size, law / law.sum(), repetitions)
    cells = len(shares)
    hits, misses = counts[:, :cells], counts[:, cells : 2 * cells]
    return hits, hits + misses


def _share_rejected(
    hits: Counts, trials: Counts, pairs: list[tuple[int, int]], alpha: float
) -> float:
    """Return the share of rows in which any unpooled z-test exceeds its critical value."""
    first, second = np.array(pairs).T
    critical = ndtri(alpha / 2) ** 2
    # Without trials the rate is nan, and no comparison with nan holds: the test does not reject.
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = hits / trials
        variances = rates * (1 - rates) / trials
        gaps = rates[:, first] - rates[:, second]
        rejected = gaps**2 > critical * (variances[:, first] + variances[:, second])
    return float(rejected.any(axis=1).mean())
