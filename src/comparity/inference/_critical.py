r"""Kernel: how far a gap must be from what is hypothesised before an audit rejects.

With evaluators as clusters an audit estimates the variance of a gap from the sums of its :math:`G`
evaluators, residuals taken at the hypothesis. A gap that is :math:`x` away from the hypothesis adds
:math:`x^2 / G` to that variance, and the rest is as uncertain as :math:`G` numbers make it:

.. math:: V = \max\Bigl(\sigma_J^2,\;
    \sigma_I^2 + \frac{x^2}{G} + (\sigma_J^2 + \sigma_E^2) \frac{\chi^2_{G-1}}{G} \Bigr)

with :math:`\sigma_J^2` from single judgments (known under the hypothesis, so never less),
:math:`\sigma_I^2` from shared items (estimated well) and :math:`\sigma_E^2` from evaluators. The
statistic :math:`x / \sqrt V` is compared with :math:`q = t \sqrt{G / (G - 1 + t^2)}`, where
:math:`t` is the quantile on :math:`G - 1` degrees of freedom. Solved for the gap, the test rejects
beyond

.. math:: |x| > \max\Bigl(q \sigma_J,\;
    t \sqrt{\frac{G}{G-1} \sigma_I^2 + (\sigma_J^2 + \sigma_E^2) \frac{\chi^2_{G-1}}{G-1}} \Bigr).

Without items, and where the first bound does not bind, this is the t-test.

Without evaluators the distance is a quantile times a standard error, of which there are two kinds:
:func:`critical_distances`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr, ndtri, stdtrit

from comparity.inference._unconditional import restricted_rate
from comparity.inference.proportions import COMMON, EXPECTED, LARGE

__all__ = ["Clusters", "critical_distances", "half_width", "normal_within"]

Vector = NDArray[np.float64]

_NODES = 128
_HALVINGS = 80


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clusters:
    """Evaluators from whose sums the variances of several gaps are estimated.

    Attributes
    ----------
    number : int
        Evaluators; at least 2.
    judgments, items, evaluators : ndarray of shape (m,)
        What single judgments, shared items and leaning evaluators add to the variance of each gap.
    """

    number: int
    judgments: Vector
    items: Vector
    evaluators: Vector

    def of(self, tests: NDArray[np.bool_] | list[int]) -> Clusters:
        """Return the same evaluators for some of the tests."""
        return Clusters(
            number=self.number,
            judgments=self.judgments[tests],
            items=self.items[tests],
            evaluators=self.evaluators[tests],
        )

    def thresholds(self, alpha: float) -> tuple[Vector, Vector]:
        """Return distances beyond which a two-sided test rejects, and how likely each is.

        Parameters
        ----------
        alpha : float
            Level of the two-sided test; twice the level of a one-sided one.

        Returns
        -------
        distances : ndarray of shape (m, nodes)
        weights : ndarray of shape (nodes,)
            Their probabilities, the same for all tests.
        """
        freedom = self.number - 1
        t = -float(stdtrit(freedom, alpha / 2))
        quantile = t * np.sqrt(self.number / (freedom + t**2))
        nodes, weights = _uniform_nodes()
        chi_square = 2 * gammaincinv(freedom / 2, nodes)
        from_sums = np.outer(self.judgments + self.evaluators, chi_square / freedom)
        from_items = self.items[:, None] * self.number / freedom
        least = quantile * np.sqrt(self.judgments)
        return np.maximum(least[:, None], t * np.sqrt(from_items + from_sums)), weights


def critical_distances(
    rates: tuple[Vector, Vector],
    trials: tuple[Vector, Vector],
    variances: Vector,
    *,
    hypothesised: float,
    alpha: float | Vector,
) -> Vector:
    r"""Return how far from a hypothesised gap estimates must be for one-sided tests to reject.

    With ample counts an audit takes standard errors at the observed rates. With few hits or misses
    it takes those that the hypothesis implies, and with next to none, or in exact tests, asks for
    a continuity correction more (:func:`comparity.inference.proportions.compare_rates`). Planned
    without them, 338 decisions at rates of 0.99 and 0.01 would show gaps below 0.05 with a power of
    0.8; audits of so few never do. The larger of the two distances is taken.

    Parameters
    ----------
    rates, trials : tuple of ndarray
        True rates of the two groups of each test, and trials expected behind them.
    variances : ndarray
        Of the estimated gaps, at the true rates, with what shared items add.
    hypothesised : float
        The gap under the hypothesis.
    alpha : float or ndarray
        Level of the one-sided test. All arrays are broadcast.
    """
    (p, q), (n, m) = rates, trials
    single = p * (1 - p) / n + q * (1 - q) / m
    first = restricted_rate(p, n, q, m, hypothesised)
    second = np.clip(first - hypothesised, 0, 1)
    implied = variances - single + first * (1 - first) / n + second * (1 - second) / m
    smaller, pooled = np.minimum(n, m), (n * p + m * q) / (n + m)
    scarce = (smaller < LARGE) | (smaller * np.minimum(pooled, 1 - pooled) < EXPECTED)
    # Tests of pairs that share items have no correction.
    alone = np.isclose(variances, single, rtol=1e-9, atol=0)
    step = np.where(scarce & alone, (1 / n + 1 / m) / 2, 0.0)
    rarest = np.minimum(n * np.minimum(p, 1 - p), m * np.minimum(q, 1 - q))
    few = (smaller < LARGE) | (rarest < COMMON)
    quantile = -ndtri(alpha)
    observed, score = quantile * np.sqrt(variances), quantile * np.sqrt(implied) + step
    distances: Vector = np.where(few, np.maximum(observed, score), observed)
    return distances


@lru_cache(maxsize=1)
def _uniform_nodes() -> tuple[Vector, Vector]:
    """Return Gauss-Legendre nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def normal_within(width: Vector, centre: Vector) -> Vector:
    """Return the probability that a normal variable of variance 1 is at most `width` in size."""
    away = np.abs(centre)
    within: Vector = ndtr(width - away) - ndtr(-width - away)
    return within


def half_width(probability: Vector, centre: Vector) -> Vector:
    """Return the width at which :func:`normal_within` has a given value, by bisection.

    Examples
    --------
    >>> half_width(np.array([0.95]), np.array([0.0])).round(4)
    array([1.96])
    """
    low, high = np.zeros_like(centre), np.abs(centre) + 40.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = normal_within(middle, centre) < probability
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high
