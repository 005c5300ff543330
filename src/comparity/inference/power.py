"""Power: how likely a planned test is to find what is there.

Most of it is a function of gaps and the covariance of their estimates. A test either knows its
standard error or has to estimate it from a few evaluators. What gaps, covariance and evaluators are
for a given plan is said by :mod:`comparity.planning.scenarios`. Where next to no hits or misses are
expected no estimate is normal, and the tables of the exact test are enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrik, ndtri

from comparity.counts.pairs import Tally
from comparity.inference.proportions import ExactPivot
from comparity.inference.rejection import Clusters, half_width, normal_within, rectangle_probability

Vector = NDArray[np.float64]

#: Beyond this many judgments a size counts as unreachable.
LARGEST_SIZE = 10**12
# Tables with fewer or more hits than these shares of tables have are left out of a power, in each
# group and on each side.
_LEFT_OUT = 1e-4
# Numbers of trials tried in either group where chance decides them: three that integrate cubics,
# and equally likely ones where chance decides nothing else, so that the power is a step.
_NODES, _STEPS = 3, 100


def detection_power(
    gap: float, standard_error: float, *, alpha: float, clusters: Clusters | None = None
) -> float:
    r"""Return the probability that a two-sided test rejects "the gap is zero".

    .. math:: 1 - \beta = 1 - F(q \sigma; \mu, \sigma) + F(-q \sigma; \mu, \sigma),
              \qquad q = \Phi^{-1}(1 - \alpha / 2)

    with :math:`F` the normal distribution function, :math:`\mu` the true gap and :math:`\sigma`
    the standard error of its estimate: Proposition 3.5 of [1]_ for any `alpha`.

    Parameters
    ----------
    gap, standard_error : float
        The true gap and the standard error of its estimate.
    alpha : float
        Level of this one test.
    clusters : Clusters, optional
        The evaluators from whom the test estimates the standard error; by default it knows it.

    Returns
    -------
    float
        Between `alpha` (no gap) and 1. Without error it is 1 where there is a gap and 0 where
        there is none.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Proposition 3.5.

    Examples
    --------
    >>> round(detection_power(0.0, 0.02, alpha=0.05), 4)
    0.05
    >>> round(detection_power(0.08, 0.03, alpha=0.05), 4)
    0.7601
    """
    covariance = np.array([[standard_error**2]])
    return any_detection_power(np.array([gap]), covariance, alpha=alpha, clusters=clusters)


def any_detection_power(
    gaps: Vector,
    covariance: Vector,
    *,
    alpha: float,
    clusters: Clusters | None = None,
    distances: Vector | None = None,
) -> float:
    """Return the probability that at least one of several two-sided tests rejects.

    Parameters
    ----------
    gaps : ndarray of shape (m,)
        The true gaps.
    covariance : ndarray of shape (m, m)
        Covariance of their estimates; may be singular.
    alpha : float
        Level of each test: the whole error rate over `m` for Holm's rule, whose smallest p value
        is judged there, or the error rate itself where nothing is corrected.
    clusters : Clusters, optional
        The evaluators from whom the tests estimate their standard errors; by default they know
        them, and are z-tests.
    distances : ndarray of shape (m,), optional
        How far from zero estimates must be for tests that know their errors to reject; by default
        the quantile times the standard error.

    Returns
    -------
    float
        One minus the probability that no test rejects. Independent tests multiply, as in
        equations (31) and (34) of Xi et al. A test without error rejects if the gap is farther
        than its distance.

    Notes
    -----
    A test that estimates its error has a power of its own. It is replaced by the z-test of the
    same power, so that the joint probability is one of correlated normal variables in a box.
    """
    errors = np.sqrt(np.diag(covariance))
    known = errors == 0
    needed = -ndtri(alpha / 2) * errors if distances is None else distances
    if np.any(np.abs(gaps[known]) > needed[known]):
        return 1.0
    errors, standardised = errors[~known], gaps[~known] / errors[~known]
    if clusters is None:
        critical = needed[~known] / errors
    else:
        estimated, weights = clusters.of(~known).thresholds(alpha)
        short = normal_within(estimated / errors[:, None], standardised[:, None]) @ weights
        critical = half_width(short, standardised)
    accepted = rectangle_probability(
        -critical - standardised, critical - standardised, _correlation(covariance, ~known)
    )
    return 1.0 - accepted


def all_within_power(
    gaps: Vector,
    covariance: Vector,
    *,
    margin: float,
    alpha: float,
    clusters: Clusters | None = None,
    distances: tuple[Vector, Vector] | None = None,
) -> float:
    """Return the probability that every gap is shown to lie within the margin.

    Parameters
    ----------
    gaps, covariance, clusters
        As in :func:`any_detection_power`.
    margin : float
        Largest harmless gap.
    alpha : float
        Level of every one-sided test. All have to reject, so none needs a correction.
    distances : tuple of ndarray of shape (m,), optional
        How far above minus the margin, and below the margin, estimates must be for tests that know
        their errors to reject; by default the quantile times the standard error.

    Returns
    -------
    float
        0 where a standard error is too large for the margin.

    References
    ----------
    .. [1] Schuirmann, "A comparison of the two one-sided tests procedure and the power approach",
       J. Pharmacokinet. Biopharm. 15 (1987).

    Examples
    --------
    >>> gap, variance = np.zeros(1), np.array([[0.02**2]])
    >>> round(all_within_power(gap, variance, margin=0.05, alpha=0.05), 4)
    0.6075
    """
    errors = np.sqrt(np.diag(covariance))
    known = errors == 0
    usual = -ndtri(alpha) * errors
    above, below = (usual, usual) if distances is None else distances
    low, high = above - margin, margin - below
    if np.any((gaps[known] <= low[known]) | (gaps[known] >= high[known])):
        return 0.0
    errors, standardised = errors[~known], gaps[~known] / errors[~known]
    if clusters is None:
        lower, upper = low[~known] / errors, high[~known] / errors
    else:
        # One-sided at alpha is two-sided at twice alpha, which beyond a half is any estimate.
        estimated, weights = clusters.of(~known).thresholds(min(2 * alpha, 1.0))
        inside = np.maximum(margin - estimated, 0.0) / errors[:, None]
        upper = half_width(normal_within(inside, standardised[:, None]) @ weights, standardised)
        lower = -upper
    correlation = _correlation(covariance, ~known)
    return rectangle_probability(lower - standardised, upper - standardised, correlation)


@lru_cache(maxsize=2**12)
def exact_power(
    rates: tuple[float, float],
    trials: tuple[float, float],
    *,
    alpha: float,
    margin: float | None = None,
    size: float | None = None,
) -> float:
    """Return the power of the exact test of two rates, by enumeration of the tables.

    Parameters
    ----------
    rates : tuple of float
        The two true rates.
    trials : tuple of float
        Trials behind them.
    alpha : float
        Level of the two-sided test of equal rates or, with a margin, of each one-sided test.
    margin : float, optional
        Largest harmless gap, if that is to be shown.
    size : float, optional
        All observations of the study, of which the trials are the expected ones: how many belong to
        either group is left to chance. By default the trials are those, to the next whole number.

    Returns
    -------
    float
        With given trials at most 4e-4 too small. 0 without trials in a group.

    Examples
    --------
    All of ten are accepted in the first group. A test of level 0.05 rejects if at most six are in
    the second, which at a rate of one half has the probability 848 / 1024.

    >>> round(exact_power((1.0, 0.5), (10, 10), alpha=0.05), 4), 848 / 1024
    (0.8281, 0.828125)

    If each of twenty belongs to either group by chance, the power is a little lower.

    >>> round(exact_power((1.0, 0.5), (10, 10), alpha=0.05, size=20), 2)
    0.79
    """
    certain = all(rate in (0.0, 1.0) for rate in rates)
    if certain and rates[0] == rates[1] and margin is None:  # all tables have equal rates
        return 0.0
    nodes, weights = _likely_steps() if certain else _normal_nodes()
    spreads = [0.0 if size is None else math.sqrt(n * (1 - n / size)) for n in trials]
    power = 0.0
    for node, weight in zip(nodes, weights, strict=True):
        for other, also in zip(nodes, weights, strict=True):
            drawn = round(trials[0] + node * spreads[0]), round(trials[1] + other * spreads[1])
            power += weight * also * _power_of_tables(rates, drawn, alpha, margin)
    return power


def _normal_nodes() -> tuple[list[float], list[float]]:
    """Return nodes of a normal variable and their weights, which sum to 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes.tolist(), (weights / weights.sum()).tolist()


def _likely_steps() -> tuple[list[float], list[float]]:
    """Return equally likely values of a normal variable."""
    return ndtri((np.arange(_STEPS) + 0.5) / _STEPS).tolist(), [1 / _STEPS] * _STEPS


@lru_cache(maxsize=2**14)
def _power_of_tables(
    rates: tuple[float, float], trials: tuple[int, int], alpha: float, margin: float | None
) -> float:
    if min(trials) < 1:
        return 0.0
    columns = [
        (Tally(hits, trials[1]), likely) for hits, likely in _probable_hits(rates[1], trials[1])
    ]
    power = 0.0
    for hits, likely in _probable_hits(rates[0], trials[0]):
        first = Tally(hits, trials[0])
        power += likely * sum(
            also for second, also in columns if _rejects(ExactPivot(first, second), alpha, margin)
        )
    return power


def _rejects(pivot: ExactPivot, alpha: float, margin: float | None) -> bool:
    if margin is None:
        return pivot.p_value(0.0) <= alpha
    return pivot.p_below(margin) <= alpha and pivot.p_above(-margin) <= alpha


def _probable_hits(rate: float, trials: int) -> list[tuple[int, float]]:
    """Return the numbers of hits worth a look, each with its probability."""
    if rate in (0.0, 1.0):
        return [(trials * int(rate), 1.0)]
    low, high = (math.ceil(bdtrik(tail, trials, rate)) for tail in (_LEFT_OUT, 1 - _LEFT_OUT))
    hits = np.arange(max(low, 0), high + 1)
    below = np.where(hits > 0, bdtr(np.maximum(hits - 1, 0), trials, rate), 0.0)
    return list(zip(hits.tolist(), (bdtr(hits, trials, rate) - below).tolist(), strict=True))


def _correlation(covariance: Vector, kept: NDArray[np.bool_]) -> Vector:
    inner = covariance[np.ix_(kept, kept)]
    errors = np.sqrt(np.diag(inner))
    correlation: Vector = inner / np.outer(errors, errors)
    return correlation


def first_step_alpha(alpha: float, rule: str, tests: int) -> float:
    """Return the level at which the smallest of several p values is judged.

    Whether anything is rejected depends on that level alone.

    Examples
    --------
    >>> first_step_alpha(0.05, "holm", 2), first_step_alpha(0.05, "paper", 2)
    (0.025, 0.05)
    """
    return alpha / tests if rule == "holm" else alpha


def smallest_size(power_at: Callable[[int], float], target: float) -> int | None:
    """Return the smallest size whose power reaches the target, or ``None`` if none does.

    Doubles until the target is reached, then halves the bracket: the size returned reaches the
    target and the one below it does not.

    Parameters
    ----------
    power_at : callable
        Power as a function of a size of at least 1; should not fall.
    target : float
        Power wanted.

    Examples
    --------
    >>> smallest_size(lambda n: 1 - 1 / n, 0.9)
    10
    >>> smallest_size(lambda n: 0.5, 0.9) is None
    True
    """
    short, enough = 0, 1
    while power_at(enough) < target:
        short, enough = enough, enough * 2
        if enough > LARGEST_SIZE:
            return None
    while enough - short > 1:
        middle = math.floor((short + enough) / 2)
        if power_at(middle) < target:
            short = middle
        else:
            enough = middle
    return enough
