r"""The hypotheses of comparative separation, tested by what the sampling design allows.

Comparative separation holds when the model agrees with the judges equally often in every cell. For
each two groups :math:`a, b` there are two hypotheses,

.. math::

    H_{across}: agree(a > b) = agree(b > a), \qquad H_{within}: agree(a > a) = agree(b > b),

which for binary quality and decisions are together equivalent to separation [1]_ (all true positive
and true negative rates equal, if none is zero).

References
----------
.. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", equations (21)-(22), Proposition 3.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from comparity.counts.pairs import Cell, PairCounts, SharedPairCounts, Sharing, Tally, subset
from comparity.inference.dyadic import (
    FEWEST_CLUSTERS,
    FEWEST_ITEMS,
    compare_cells,
    null_covariance,
    rate_covariance,
    rate_interval,
)
from comparity.inference.gap_tests import GapTest, JointTest, RateEstimate
from comparity.inference.pivots import ROUNDING_TOLERANCE
from comparity.inference.proportions import compare_rates, compare_rates_wald, wilson_interval

__all__ = [
    "EQUAL_VALUES",
    "FEWEST_EVALUATORS",
    "CellContrast",
    "agreement_rates",
    "all_cells_equal",
    "compare_fresh",
    "compare_fresh_wald",
    "compare_shared",
    "contrasts_of_groups",
    "contrasts_of_order",
    "equal_cells",
    "homogeneous_rates",
    "joint_equality",
]


FEWEST_EVALUATORS = FEWEST_CLUSTERS
"""With fewer, evaluators cannot stand for others like them and are taken as given."""


# With this many evaluators or queries the Wald chi-square can do with uneven ones.
MANY_CLUSTERS = 1000


# Below this ratio of the smallest to the largest eigenvalue a covariance carries no information in
# some direction: double precision leaves nothing to divide by.
SINGULAR = 1e-12


LARGER, SMALLER = Cell("larger", "smaller"), Cell("smaller", "larger")


EQUAL_VALUES = Cell("equal", "equal")
"""The cells of a continuous attribute: how the better item's value compares."""


class CellContrast(NamedTuple):
    """Two cells whose agreement should be equal."""

    first: Cell
    second: Cell

    @property
    def null(self) -> str:
        """The hypothesis in words."""
        return f"agree({self.first}) = agree({self.second})"


def contrasts_of_groups(groups: Sequence[str]) -> tuple[CellContrast, ...]:
    """Return the across and within hypotheses of every two groups.

    Examples
    --------
    >>> [contrast.null for contrast in contrasts_of_groups(["a", "b"])]
    ['agree(a > b) = agree(b > a)', 'agree(a > a) = agree(b > b)']
    """
    pairs = list(combinations(groups, 2))
    across = [CellContrast(Cell(a, b), Cell(b, a)) for a, b in pairs]
    within = [CellContrast(Cell(a, a), Cell(b, b)) for a, b in pairs]
    return (*across, *within)


def contrasts_of_order() -> tuple[CellContrast, ...]:
    """Return the one hypothesis about a continuous attribute.

    The model agrees as often where the better item has the larger value as where it has the
    smaller one.
    """
    return (CellContrast(LARGER, SMALLER),)


def compare_fresh(
    counts: PairCounts, contrasts: Iterable[CellContrast], *, score_ties: str = "disagree"
) -> list[GapTest]:
    """Test contrasts from pairs that share nothing.

    Score ties counted as half make the outcome three-valued; a binomial test is then wrong, and
    the score test of independent judgments takes its place.
    """
    if score_ties == "half" and any(tally.ties for tally in counts.values()):
        sharing = counts.sharing(score_ties)
        return [compare_cells(sharing, *contrast, null=contrast.null) for contrast in contrasts]
    return [
        compare_rates(counts[contrast.first], counts[contrast.second], null=contrast.null)
        for contrast in contrasts
    ]


def compare_fresh_wald(counts: PairCounts, contrasts: Iterable[CellContrast]) -> list[GapTest]:
    """Test contrasts by the z-test of 000 whatever the counts: its own rule, right or wrong."""
    return [
        compare_rates_wald(counts[contrast.first], counts[contrast.second], null=contrast.null)
        for contrast in contrasts
    ]


def compare_shared(
    counts: SharedPairCounts,
    contrasts: Iterable[CellContrast],
    *,
    score_ties: str = "disagree",
    guarded: bool = True,
) -> list[GapTest]:
    """Test contrasts from pairs that share items or evaluators.

    `guarded` is explained in :func:`comparity.inference.dyadic.compare_cells`.
    """
    sharing = _sharing(counts, score_ties)
    if not guarded:
        sharing = replace(sharing, effective_items=counts.cell_items)
    return [
        compare_cells(sharing, *contrast, null=contrast.null, guarded=guarded)
        for contrast in contrasts
    ]


def agreement_rates(
    counts: PairCounts | SharedPairCounts, *, score_ties: str = "disagree", level: float = 0.95
) -> list[RateEstimate]:
    """Return the agreement in every cell that holds a judgment, with its interval."""
    half = score_ties == "half"
    binomial = isinstance(counts, PairCounts) and not half
    sharing = None if binomial else _sharing(counts, score_ties)
    return [
        RateEstimate(
            name="agreement",
            of=str(cell),
            rate=tally.half_rate if half else tally.rate,
            trials=tally.trials,
            score_ties=tally.ties,
            interval=wilson_interval(tally, level)
            if sharing is None
            else rate_interval(sharing, cell, level),
        )
        for cell, tally in counts.items()
    ]


def all_cells_equal(
    counts: PairCounts | SharedPairCounts, *, score_ties: str = "disagree"
) -> tuple[JointTest, ...]:
    """Test by two chi-squares that the agreement is equal in all cells that hold judgments."""
    return equal_cells(_sharing(counts, score_ties))


def equal_cells(sharing: Sharing) -> tuple[JointTest, ...]:
    """Test that the rate is equal in all cells that hold pairs: the Wald and the score chi-square.

    The Wald test takes variances at the observed rates, as the textbooks do, and is too eager in
    small samples, and with few clusters or clusters of unequal size even in large ones: with 60
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
    eager = ", too eager if clusters are few or uneven" if clustered else ""
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
    contrasts: NDArray[np.float64] = directions[:, sizes > ROUNDING_TOLERANCE].T
    return contrasts


def _sharing(counts: PairCounts | SharedPairCounts, score_ties: str) -> Sharing:
    if isinstance(counts, PairCounts):
        return counts.sharing(score_ties)
    return counts.sharing(score_ties, evaluators=counts.n_evaluators >= FEWEST_EVALUATORS)


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
        return _no_joint_test(null, method, 0, "fewer than two rates")
    tested = -np.diff(np.eye(len(rates)), axis=0) if contrasts is None else contrasts
    dof = len(tested)
    if not (np.isfinite(rates).all() and np.isfinite(covariance).all()):
        return _no_joint_test(null, method, dof, "a rate has no trials")
    differences = tested @ rates
    spread = tested @ covariance @ tested.T
    eigenvalues = np.linalg.eigvalsh(spread)
    if eigenvalues[0] <= SINGULAR * max(eigenvalues[-1], 0):
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
