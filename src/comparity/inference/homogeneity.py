"""Are more than two rates all equal? Tests of several equalities at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from comparity.counts import Tally
from comparity.results import JointTest

__all__ = ["homogeneous_rates", "joint_equality"]

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
