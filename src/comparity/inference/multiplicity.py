"""Several tests at once: which to reject so that the overall false-alarm rate holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["HolmOutcome", "benjamini_hochberg", "holm", "uncorrected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HolmOutcome:
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
        exceed (for :func:`uncorrected`, is below) this level.
    """

    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]
    local_alpha: tuple[float, ...]


def holm(p_values: Sequence[float], alpha: float) -> HolmOutcome:
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
    HolmOutcome
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
    return _outcome(adjusted, rejected, local)


def uncorrected(p_values: Sequence[float], alpha: float) -> HolmOutcome:
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
    HolmOutcome
        The p values as they are, rejections, and `alpha` for every test.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Section 3.3.

    Examples
    --------
    >>> uncorrected([0.04, 0.05], 0.05).rejected
    (True, False)
    """
    p = np.asarray(p_values, dtype=np.float64)
    return _outcome(p, p < alpha, np.full(len(p), alpha))


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


def _outcome(
    adjusted: NDArray[np.float64],
    rejected: NDArray[np.bool_],
    local_alpha: NDArray[np.float64],
) -> HolmOutcome:
    return HolmOutcome(
        adjusted=tuple(adjusted.tolist()),
        rejected=tuple(rejected.tolist()),
        local_alpha=tuple(local_alpha.tolist()),
    )
