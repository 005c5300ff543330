"""Joint tests: several equalities at once, reported beside the tests that are judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from comparity.counts.pairs import (
    ROUNDING,
    Cell,
    PairCounts,
    SharedPairCounts,
    Sharing,
    Tally,
    subset,
)
from comparity.inference.agreement_tests import EQUAL_VALUES, moments_of
from comparity.inference.dyadic import FEWEST_ITEMS, null_covariance, rate_covariance
from comparity.inference.gap_tests import JointTest

# With this many evaluators or queries the Wald chi-square can do with uneven ones.
MANY_CLUSTERS = 1000


# Below this ratio of the smallest to the largest eigenvalue a covariance carries no information in
# some direction: double precision leaves nothing to divide by.
LEAST_EIGENVALUE = 1e-12
# A variance below this, in units of the squared rates, is rounding: a billion trials leave 1e-10.
LEAST_VARIANCE = 1e-15


def all_cells_equal(
    counts: PairCounts | SharedPairCounts, *, score_ties: str = "disagree"
) -> tuple[JointTest, ...]:
    """Test by two chi-squares that the agreement is equal in all cells that hold judgments."""
    return equal_cells(moments_of(counts, score_ties))


def equal_cells(sharing: Sharing) -> tuple[JointTest, ...]:
    """Test that the rate is equal in all cells that hold pairs: the Wald and the score chi-square.

    The Wald test takes variances at the observed rates, as the textbooks do. It rejects too often
    in small samples, and with few clusters or clusters of unequal size even in large ones: with 60
    queries it was measured to reject 0.77 where 0.05 are allowed, with 400 still 0.17, and with
    five evaluators of equal shares 0.3, with ten 0.2, so that its name says so.
    The score test takes them under the hypothesis, as the tests of two cells do. Cells that rest
    on too few items are left out, and so is the cell of pairs with equal attributes.

    Where all pairs are counted, only what the groups of the better and of the worse item add is
    tested (:func:`_added_by_group`).
    """
    held = [
        code
        for code, cell in enumerate(sharing.cells)
        if sharing.trials[code] > 0 and cell != EQUAL_VALUES
    ]
    used = [code for code in held if sharing.effective_items[code] >= FEWEST_ITEMS]
    kept = subset(sharing, used)
    null, contrasts = "agreement is equal in all cells", None
    if sharing.counts_all_pairs and len(used) > 2:
        null, contrasts = "agreement depends on neither item's group", _added_by_group(kept.cells)
    if len(used) < len(held):
        few = len(held) - len(used)
        null = f"{null} (cells compared: {len(used)}; left out, with too few items: {few})"
    clustered = 0 < sharing.n_clusters < MANY_CLUSTERS
    eager = ", rejects too often if clusters are few or uneven" if clustered else ""
    variances = {f"Wald chi-square{eager}": rate_covariance, "score chi-square": null_covariance}
    # Fewer than two cells have no covariance to speak of, and joint_equality says so.
    nothing = np.zeros((len(used), len(used)))
    return tuple(
        joint_equality(
            kept.hits / kept.trials,
            covariance(kept) if len(used) > 1 else nothing,
            null=null,
            method=method,
            contrasts=contrasts,
        )
        for method, covariance in variances.items()
    )


def _added_by_group(cells: Sequence[Cell]) -> NDArray[np.float64]:
    """Return orthonormal contrasts: what the better item's group adds to a rate, and the worse's.

    If groups are alike, the rates of all pairs are such sums but for terms of the order of one
    item in all: what the two groups add together varies too little for a chi-square (with it, 0.05
    became 0.1 to 0.6, or the covariance was singular).
    """
    groups = sorted({group for cell in cells for group in cell})
    sides = [(cell.better == group, cell.worse == group) for cell in cells for group in groups]
    indicators = np.array(sides, dtype=np.float64).reshape(len(cells), -1)
    directions, sizes, _ = np.linalg.svd(indicators - indicators.mean(axis=0), full_matrices=False)
    contrasts: NDArray[np.float64] = directions[:, sizes > ROUNDING].T
    return contrasts


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
        return _no_joint_test(null, method, 0, "fewer than two groups have trials")
    dof = len(trials) - 1
    pooled = hits.sum() / trials.sum()
    if pooled in (0, 1):
        return _no_joint_test(null, method, dof, "all trials came out alike")
    deviations = trials * (hits / trials - pooled) ** 2
    return _joint_test(null, method, float(deviations.sum() / (pooled * (1 - pooled))), dof)


def homogeneous_shares(table: ArrayLike, *, null: str) -> JointTest:
    r"""Test whether several outcomes are distributed alike in all groups.

    Pearson's chi-square of a table of groups (rows) by outcomes (columns), with
    :math:`(K - 1)(M - 1)` degrees of freedom; empty rows and columns are left out. For two outcomes
    it is :func:`homogeneous_rates`.

    Examples
    --------
    >>> test = homogeneous_shares([[30, 15, 5], [20, 20, 10]], null="alike in both groups")
    >>> test.dof, round(test.statistic, 3), round(test.p_value, 4)
    (2, 4.381, 0.1119)
    """
    method = "Pearson chi-square"
    counts = np.asarray(table, dtype=np.float64)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(counts.shape) < 2:
        return _no_joint_test(
            null, method, 0, "fewer than two groups have trials, or all are alike"
        )
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    dof = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return _joint_test(null, method, float(((counts - expected) ** 2 / expected).sum()), dof)


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
        Sums of rates that are to be zero, instead of differences.

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
        return _no_joint_test(null, method, 0, "fewer than two rates")
    tested = -np.diff(np.eye(len(rates)), axis=0) if contrasts is None else contrasts
    dof = len(tested)
    if not (np.isfinite(rates).all() and np.isfinite(covariance).all()):
        return _no_joint_test(null, method, dof, "a rate has no trials")
    differences = tested @ rates
    spread = tested @ covariance @ tested.T
    eigenvalues = np.linalg.eigvalsh(spread)
    # Rates that cannot vary have a covariance of rounding errors, whose size theirs tells.
    rounding = LEAST_VARIANCE * float(np.abs(rates).max()) ** 2
    if eigenvalues[0] <= max(LEAST_EIGENVALUE * eigenvalues[-1], rounding):
        return _no_joint_test(
            null, method, dof, "the covariance of the differences is not positive definite"
        )
    statistic = float(differences @ np.linalg.solve(spread, differences))
    return _joint_test(null, method, statistic, dof)


def _joint_test(null: str, method: str, statistic: float, dof: int) -> JointTest:
    p_value = float(chdtrc(dof, statistic))
    return JointTest(null=null, statistic=statistic, dof=dof, p_value=p_value, method=method)


def _no_joint_test(null: str, method: str, dof: int, reason: str) -> JointTest:
    return JointTest(
        null=null,
        statistic=math.nan,
        dof=dof,
        p_value=math.nan,
        method=f"{method}; not testable: {reason}",
    )
