"""Several tests at once: which of them to reject, and at what level each was judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]

MOST_DRAWS = 2**15
"""Draws of a family's statistics: an adjusted p value of 0.05 is known to within 0.0012."""

MOST_NUMBERS = 5e7
"""Draws times tests are at most so many, 200 MB; of 5,000 tests 10,000 draws are made."""

FEWEST_EXCEEDING = 100
"""A probability that fewer draws speak for is bounded by Holm's instead, which is close there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyOutcome:
    """What a rule for several tests made of their p values, in the order they were given.

    Attributes
    ----------
    adjusted : tuple of float
        Adjusted p values: the smallest overall level at which each test is rejected; ``nan`` where
        the p value is ``nan``.
    rejected : tuple of bool
        Whether each test is rejected.
    local_alpha : tuple of float
        The level each test was judged at: a test is rejected exactly when its p value does not
        exceed (for :func:`no_correction`, is below) this level.
    """

    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]
    local_alpha: tuple[float, ...]


def holm(p_values: Sequence[float], alpha: float) -> FamilyOutcome:
    r"""Reject as many of `m` tests as possible while any false alarm has probability `alpha`.

    The p values are taken from the smallest up; the one at rank :math:`k` is compared with

    .. math:: \alpha_k = \frac{\alpha}{m - k + 1}

    and the first that exceeds its level stops the procedure. Tests after that one count as judged
    at the level of the step that failed. The rule holds for any dependence between the tests [1]_.

    Parameters
    ----------
    p_values : sequence of float
        One for each test. A ``nan`` says that no test was made: it is not part of the family, is
        not rejected, and gets the level ``alpha / m`` (`alpha` in an empty family).
    alpha : float
        Probability of at least one false alarm.

    Returns
    -------
    FamilyOutcome
        Adjusted p values, rejections and the level of each test.

    References
    ----------
    .. [1] Holm (1979), "A simple sequentially rejective multiple test procedure".

    Examples
    --------
    >>> outcome = holm([0.04, 0.01, 0.03], 0.05)
    >>> outcome.rejected
    (False, True, False)
    >>> outcome.adjusted
    (0.06, 0.03, 0.06)
    """
    p = np.asarray(p_values, dtype=np.float64)
    family = np.flatnonzero(~np.isnan(p))
    m = len(family)
    adjusted = np.full(len(p), np.nan)
    rejected = np.zeros(len(p), dtype=bool)
    local = np.full(len(p), alpha / max(m, 1))
    ranked = family[np.argsort(p[family], kind="stable")]
    levels = alpha / np.arange(m, 0, -1)
    passed = np.logical_and.accumulate(p[ranked] <= levels)
    # All that follow the first failure are judged at the level of that step.
    failing = int(passed.sum())
    levels[failing + 1 :] = levels[failing : failing + 1]
    rejected[ranked] = passed
    local[ranked] = levels
    adjusted[ranked] = np.minimum(1, np.maximum.accumulate(p[ranked] * np.arange(m, 0, -1)))
    return _make_outcome(adjusted, rejected, local)


def no_correction(p_values: Sequence[float], alpha: float) -> FamilyOutcome:
    r"""Judge each test at `alpha`, as if it were the only one.

    With two independent tests at 0.05 the chance of a false alarm is :math:`1 - 0.95^2 = 0.0975`.
    This is the rule of [1]_, which rejects when the p value is strictly below `alpha`.

    Parameters
    ----------
    p_values : sequence of float
        One for each test; ``nan`` is never rejected.
    alpha : float
        Level of every test.

    Returns
    -------
    FamilyOutcome
        The p values as they are, rejections, and `alpha` for every test.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Section 3.3.

    Examples
    --------
    >>> no_correction([0.04, 0.05], 0.05).rejected
    (True, False)
    """
    p = np.asarray(p_values, dtype=np.float64)
    return _make_outcome(p, p < alpha, np.full(len(p), alpha))


def hochberg(p_values: Sequence[float], alpha: float) -> FamilyOutcome:
    r"""Reject all tests if each is at most `alpha`, otherwise those that Holm's procedure rejects.

    The first step is that of an intersection-union test: a claim about all gaps needs no
    correction. A claim about some of them does. Both together are part of Hochberg's procedure
    [1]_, so that any false claim has probability `alpha` at most where the tests are independent
    or positively dependent.

    A ``nan`` says that no test was made, so that not all of them can be rejected.

    References
    ----------
    .. [1] Hochberg (1988), "A sharper Bonferroni procedure for multiple tests of significance".

    Examples
    --------
    >>> hochberg([0.04, 0.01], 0.05).rejected, hochberg([0.04, 0.2], 0.05).rejected
    ((True, True), (False, False))
    """
    p = np.asarray(p_values, dtype=np.float64)
    if len(p) and bool(np.all(p <= alpha)):
        adjusted = np.minimum(holm(p_values, alpha).adjusted, p.max())
        return _make_outcome(adjusted, p <= alpha, np.full(len(p), alpha))
    return holm(p_values, alpha)


def max_t(p_values: Sequence[float], factors: Sequence[Floats], alpha: float) -> FamilyOutcome:
    r"""Reject as many tests as possible, knowing how their statistics are correlated.

    Holm's procedure supposes nothing about dependence; the gaps between all pairs of nine cells
    are 36 tests of eight differences, for which it gives away much. Here the p value at rank
    :math:`k` is compared with

    .. math:: \alpha_k = 2 \Phi(-c_k), \qquad P\Bigl(\max_{j \ge k} |Z_j| > c_k\Bigr) = \alpha

    for normal :math:`Z` of the estimated correlation [1]_. Tests of different families are taken
    to be independent, which is conservative: symmetric convex sets are positively correlated under
    a normal distribution [2]_.

    Parameters
    ----------
    p_values : sequence of float
        One for each test, family after family; ``nan`` where no test was made.
    factors : sequence of ndarray of shape (m, d)
        For each family a factor :math:`F` of the covariance :math:`F F^\top` of its statistics,
        whose scale does not matter.
    alpha : float
        Probability of at least one false alarm.

    Returns
    -------
    FamilyOutcome

    References
    ----------
    .. [1] Romano and Wolf (2005), "Exact and approximate stepdown methods for multiple hypothesis
       testing"; Hothorn, Bretz and Westfall (2008), "Simultaneous inference in general parametric
       models".
    .. [2] Royen (2014), "A simple proof of the Gaussian correlation conjecture".

    Examples
    --------
    Two tests that always agree need no correction, and two that have nothing in common nearly
    Holm's:

    >>> np.round(max_t([0.03, 0.03], [np.array([[1.0], [1.0]])], 0.05).adjusted, 2).tolist()
    [0.03, 0.03]
    >>> np.round(max_t([0.03, 0.03], [np.eye(2)], 0.05).adjusted, 2).tolist()
    [0.06, 0.06]
    """
    simple = holm(p_values, alpha)
    p = np.asarray(p_values, dtype=np.float64)
    family = np.flatnonzero(~np.isnan(p))
    ranked = family[np.argsort(p[family], kind="stable")]
    m = len(ranked)
    if m < 2:
        return simple
    largest = _largest_of_rest(factors, ranked)
    exceeding = np.array(
        [
            np.count_nonzero(row >= -ndtri(p[test] / 2))
            for row, test in zip(largest, ranked, strict=True)
        ]
    )
    holm_p = np.minimum(1, p[ranked] * np.arange(m, 0, -1))
    drawn_p = np.where(exceeding < FEWEST_EXCEEDING, 1.0, exceeding / largest.shape[1])
    adjusted, local = np.full(len(p), np.nan), np.full(len(p), alpha / m)
    adjusted[ranked] = np.maximum.accumulate(np.minimum(holm_p, drawn_p))
    passed = adjusted[ranked] <= alpha
    levels = 2 * ndtr(-np.quantile(largest, 1 - alpha, axis=1))
    levels = np.maximum(levels, alpha / np.arange(m, 0, -1))
    failing = int(passed.sum())
    levels[failing + 1 :] = levels[failing : failing + 1]
    local[ranked] = levels
    rejected = np.zeros(len(p), dtype=bool)
    rejected[ranked] = passed
    return _make_outcome(adjusted, rejected, local)


def max_t_level(factor: Floats, alpha: float) -> float:
    """Return the level at which :func:`max_t` judges the smallest p value of one family."""
    largest = _largest_of_rest([factor], np.arange(len(factor)))[0]
    return max(float(2 * ndtr(-np.quantile(largest, 1 - alpha))), alpha / len(factor))


def _largest_of_rest(factors: Sequence[Floats], ranked: NDArray[np.int64]) -> NDArray[np.float32]:
    """Draw the largest size among the statistics from each rank on: ranks in rows, draws beside.

    The draws are the same at each call, so that the same data always get the same answer.
    """
    draws = int(min(MOST_DRAWS, MOST_NUMBERS / len(ranked)))
    rank_of = np.full(sum(map(len, factors)), -1)
    rank_of[ranked] = np.arange(len(ranked))
    largest = np.zeros((len(ranked), draws), dtype=np.float32)
    rng = np.random.default_rng(0)
    start = 0
    for factor in factors:
        rows = rank_of[start : start + len(factor)]
        start += len(factor)
        scale = np.sqrt((factor**2).sum(axis=1, keepdims=True))
        normal = rng.standard_normal((factor.shape[1], draws), dtype=np.float32)
        used = rows >= 0
        scaled = np.divide(factor, scale, out=np.zeros_like(factor), where=scale > 0)
        largest[rows[used]] = np.abs(scaled[used].astype(np.float32) @ normal)
    np.maximum.accumulate(largest[::-1], axis=0, out=largest[::-1])
    return largest


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    r"""Adjust p values so that rejecting those below a level keeps the false-discovery rate there.

    .. math:: q_{(k)} = \min_{j \ge k} \min\left(1, \frac{m \, p_{(j)}}{j}\right)

    Among the tests with q at most :math:`\alpha`, the expected share of false alarms is at most
    :math:`\alpha` where tests are independent or positively dependent [1]_.

    Parameters
    ----------
    p_values : array_like
        Of any shape. A ``nan`` says that no test was made: it stays ``nan`` and is not counted.

    Returns
    -------
    ndarray
        q values, in the shape of the p values.

    References
    ----------
    .. [1] Benjamini and Hochberg (1995), "Controlling the false discovery rate".

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.5]).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    p = np.asarray(p_values, dtype=np.float64)
    flat, adjusted = p.ravel(), np.full(p.size, np.nan)
    family = np.flatnonzero(~np.isnan(flat))
    ranked = family[np.argsort(flat[family], kind="stable")]
    scaled = flat[ranked] * len(ranked) / np.arange(1, len(ranked) + 1)
    adjusted[ranked] = np.minimum(1, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted.reshape(p.shape)


def _make_outcome(
    adjusted: NDArray[np.float64],
    rejected: NDArray[np.bool_],
    local_alpha: NDArray[np.float64],
) -> FamilyOutcome:
    return FamilyOutcome(
        adjusted=tuple(adjusted.tolist()),
        rejected=tuple(rejected.tolist()),
        local_alpha=tuple(local_alpha.tolist()),
    )
