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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import column_marginals, merged, row_marginals
from comparity.counts.pairs import Cell, PairCounts, SharedPairCounts, Sharing, subset
from comparity.inference.dyadic import (
    FEWEST_CLUSTERS,
    FEWEST_ITEMS,
    compare_cells,
    null_covariance,
    rate_covariance,
    rate_interval,
)
from comparity.inference.gap_tests import GapTest, Interval, JointTest, RateEstimate
from comparity.inference.multiplicity import joint_equality
from comparity.inference.pivots import NORMAL, Reference, Statistic
from comparity.inference.proportions import compare_rates, compare_rates_wald, wilson_interval

__all__ = [
    "EQUAL_VALUES",
    "FEWEST_EVALUATORS",
    "CellContrast",
    "NullGap",
    "agreement_rates",
    "all_cells_equal",
    "compare_fresh",
    "compare_fresh_wald",
    "compare_shared",
    "compare_symmetric",
    "contrasts_of_groups",
    "contrasts_of_order",
    "equal_cells",
]


FEWEST_EVALUATORS = FEWEST_CLUSTERS
"""With fewer, evaluators cannot stand for others like them and are taken as given."""


# With this many evaluators or queries the Wald chi-square can do with uneven ones.
MANY_CLUSTERS = 1000


# A singular value of a table of zeros and ones below this is rounding.
ROUNDING = 1e-9


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
    contrasts: NDArray[np.float64] = directions[:, sizes > ROUNDING].T
    return contrasts


def _sharing(counts: PairCounts | SharedPairCounts, score_ties: str) -> Sharing:
    if isinstance(counts, PairCounts):
        return counts.sharing(score_ties)
    return counts.sharing(score_ties, evaluators=counts.n_evaluators >= FEWEST_EVALUATORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class NullGap(Statistic):
    """A gap with the standard error it has if there is none: a pivot.

    Attributes
    ----------
    gap, standard_error : float
    reference : Reference
    """

    gap: float
    standard_error: float
    reference: Reference = NORMAL

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        half = self.reference.quantile(1 - level) * self.standard_error
        return Interval(max(self.gap - half, -1.0), min(self.gap + half, 1.0), level)

    def statistic(self, hypothesised: float) -> float:
        """Return the distance between observed and hypothesised gap in standard errors."""
        return (self.gap - hypothesised) / self.standard_error


def compare_symmetric(
    sharing: Sharing, groups: Sequence[str], others: Sequence[str] = ()
) -> list[GapTest]:
    """Test for every two groups whether their symmetric accuracies are equal.

    Parameters
    ----------
    sharing : Sharing
        Pairs by cell and what they share.
    groups, others : sequence of str
        The groups to compare, and what stands for items in no group.
    """
    parts = {**row_marginals(groups, others), **column_marginals(groups, others)}
    sides = merged(sharing, parts)
    held = subset(sharing, np.flatnonzero(sharing.trials).tolist())
    share = np.array([[cell in cells for cell in held.cells] for cells in parts.values()])
    share = share * held.trials
    k = len(groups)
    tests = []
    for i, j in combinations(range(k), 2):
        null = f"symmetric({groups[i]}) = symmetric({groups[j]})"
        n = tuple(round(float(sides.trials[[g, k + g]].sum())) for g in (i, j))
        used = [i, k + i, j, k + j]
        if sides.effective_items[used].min() < FEWEST_ITEMS or _few(sharing):
            tests.append(_untested(null, n))
            continue
        weights = np.array([0.5, 0.5, -0.5, -0.5]) @ (
            share[used] / share[used].sum(axis=1, keepdims=True)
        )
        tests.append(_tested(held, weights, null, n))
    return tests


def _few(sharing: Sharing) -> bool:
    return 0 < sharing.n_clusters < FEWEST_CLUSTERS


def _tested(held: Sharing, weights: NDArray[np.float64], null: str, n: tuple[int, ...]) -> GapTest:
    gap = float(weights @ (held.hits / held.trials))
    variance = float(weights @ null_covariance(held) @ weights)
    if variance <= 0:
        return _untested(null, n)
    error = math.sqrt(variance)
    pivot = NullGap(gap=gap, standard_error=error, reference=Reference(n_clusters=held.n_clusters))
    return GapTest(
        null=null,
        gap=gap,
        standard_error=error,
        p_value=pivot.p_value(0.0),
        n=(n[0], n[1]),
        method=held.method,
        pivot=pivot,
    )


def _untested(null: str, n: tuple[int, ...]) -> GapTest:
    return GapTest(
        null=null,
        gap=math.nan,
        standard_error=math.nan,
        p_value=math.nan,
        n=(n[0], n[1]),
        method="none",
        pivot=None,
        reason="too few items or queries, or nothing varies",
    )
