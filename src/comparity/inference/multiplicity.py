"""Several tests at once: which to reject, and whether more than two rates are all equal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from comparity.counts.decisions import Tally
from comparity.inference.gap_tests import JointTest

__all__ = [
    "HolmOutcome",
    "benjamini_hochberg",
    "holm",
    "homogeneous_rates",
    "joint_equality",
    "uncorrected",
]


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


# Below this ratio of the smallest to the largest eigenvalue a covariance carries no information in
# some direction: double precision leaves nothing to divide by.
SINGULAR = 1e-12


def homogeneous_rates(tallies: Mapping[str, Tally], *, null: str) -> JointTest:
    r"""Test whether independent proportions are all equal.

    Pearson's chi-square with :math:`K - 1` degrees of freedom [1]_:

    .. math:: X^2 = \sum_{k=1}^{K} \frac{n_k (\hat p_k - \bar p)^2}{\bar p (1 - \bar p)}

    with :math:`\bar p` the rate over all trials. For two groups it is the square of the pooled z.

    Parameters
    ----------
    tallies : mapping of str to Tally
        Hits and trials of each group. Groups without trials are left out.
    null : str
        The hypothesis in words.

    Returns
    -------
    JointTest
        Statistic and p value are ``nan``, and `method` says why, when fewer than two groups have
        trials or when all trials came out alike.

    References
    ----------
    .. [1] Pearson (1900), "On the criterion that a given system of deviations...", and any text on
       contingency tables.

    Examples
    --------
    >>> rates = {"a": Tally(30, 50), "b": Tally(35, 50), "c": Tally(20, 50)}
    >>> test = homogeneous_rates(rates, null="tpr(a) = tpr(b) = tpr(c)")
    >>> test.dof, round(test.statistic, 3), round(test.p_value, 4)
    (2, 9.502, 0.0086)
    """
    method = "Pearson chi-square"
    hits, trials = (
        np.array(
            [(tally.hits, tally.trials) for tally in tallies.values() if tally.trials],
            dtype=np.float64,
        )
        .reshape(-1, 2)
        .T
    )
    if len(trials) < 2:
        return _untestable(null, method, 0, "fewer than two groups have trials")
    dof = len(trials) - 1
    pooled = hits.sum() / trials.sum()
    if pooled in (0, 1):
        return _untestable(null, method, dof, "all trials came out alike")
    deviations = trials * (hits / trials - pooled) ** 2
    return _tested(null, method, float(deviations.sum() / (pooled * (1 - pooled))), dof)


def joint_equality(
    rates: NDArray[np.float64],
    covariance: NDArray[np.float64],
    *,
    null: str,
    method: str = "Wald chi-square",
    contrasts: NDArray[np.float64] | None = None,
) -> JointTest:
    r"""Test whether dependent rates are all equal, given the covariance of their estimates.

    The Wald chi-square of the :math:`K - 1` successive differences,

    .. math:: W = (C \hat p)^\top (C \Sigma C^\top)^{-1} C \hat p, \qquad (C \hat p)_k = \hat p_k -
       \hat p_{k+1}

    which no other choice of :math:`K - 1` contrasts would change [1]_.

    Parameters
    ----------
    rates : ndarray of shape (K,)
        Estimated rates.
    covariance : ndarray of shape (K, K)
        Covariance of the estimates; under the hypothesis the test is a score test.
    null : str
        The hypothesis in words.
    method : str
        What the test is called.
    contrasts : ndarray of shape (d, K), optional
        Sums of rates that are to be zero, in the place of the differences.

    Returns
    -------
    JointTest
        Statistic and p value are ``nan``, and `method` says why, for fewer than two rates, for
        numbers that are not finite, and where the covariance of the differences is singular or not
        positive definite.

    References
    ----------
    .. [1] Wald (1943), "Tests of statistical hypotheses concerning several parameters when the
       number of observations is large".

    Examples
    --------
    >>> import numpy as np
    >>> test = joint_equality(np.array([0.6, 0.5]), np.diag([0.001, 0.0015]), null="p1 = p2")
    >>> test.dof, round(test.statistic, 6), round(test.p_value, 4)
    (1, 4.0, 0.0455)
    """
    if len(rates) < 2:
        return _untestable(null, method, 0, "fewer than two rates")
    tested = -np.diff(np.eye(len(rates)), axis=0) if contrasts is None else contrasts
    dof = len(tested)
    if not (np.isfinite(rates).all() and np.isfinite(covariance).all()):
        return _untestable(null, method, dof, "a rate has no trials")
    differences = tested @ rates
    spread = tested @ covariance @ tested.T
    eigenvalues = np.linalg.eigvalsh(spread)
    if eigenvalues[0] <= SINGULAR * max(eigenvalues[-1], 0):
        return _untestable(
            null, method, dof, "the covariance of the differences is not positive definite"
        )
    statistic = float(differences @ np.linalg.solve(spread, differences))
    return _tested(null, method, statistic, dof)


def _tested(null: str, method: str, statistic: float, dof: int) -> JointTest:
    p_value = float(chdtrc(dof, statistic))
    return JointTest(null=null, statistic=statistic, dof=dof, p_value=p_value, method=method)


def _untestable(null: str, method: str, dof: int, reason: str) -> JointTest:
    return JointTest(
        null=null,
        statistic=math.nan,
        dof=dof,
        p_value=math.nan,
        method=f"{method}; not testable: {reason}",
    )
