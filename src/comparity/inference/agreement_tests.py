r"""The hypotheses of comparative separation, tested by what the sampling design allows.

Comparative separation holds when the model agrees with the judges equally often in every cell. For
each two groups :math:`a, b` there are two hypotheses,

.. math::

    H_{across}: agree(a > b) = agree(b > a), \qquad H_{within}: agree(a > a) = agree(b > b),

which for binary quality and decisions are together equivalent to separation [1]_ (all true positive
and true negative rates equal, if none is zero). If quality is graded they are not enough:
agreement may be lower in both kinds of pairs across groups than in both within. With two groups a
third hypothesis excludes this,

.. math::

    H_{kinds}: \tfrac12 (agree(a > b) + agree(b > a)) = \tfrac12 (agree(a > a) + agree(b > b)),

and the three together mean that all four cells are equal. With more groups all pairs of cells are
compared.

References
----------
.. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", equations (21)-(22), Proposition 3.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.pairs import Cell, PairCounts, SharedPairCounts, Sharing, subset
from comparity.inference.dyadic import (
    FEWEST_CLUSTERS,
    compare_cells,
    null_covariance,
    rate_interval,
)
from comparity.inference.evaluators import ClusterGap
from comparity.inference.gap_tests import GapTest, Interval, RateEstimate
from comparity.inference.permuted_means import SLOPE, TOLERATED
from comparity.inference.pivots import NOTHING, DyadicGap
from comparity.inference.proportions import compare_rates, compare_rates_wald, wilson_interval

FEWEST_EVALUATORS = FEWEST_CLUSTERS
"""With fewer, evaluators cannot stand for others like them and are taken as given."""


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

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that the gap is made of."""
        return tuple(self)


class KindContrast(NamedTuple):
    """The cells across and within two groups, whose mean agreement should be equal."""

    first: tuple[Cell, Cell]
    second: tuple[Cell, Cell]

    @property
    def null(self) -> str:
        """The hypothesis in words."""
        return "agree(across) = agree(within)"

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that the gap is made of."""
        return (*self.first, *self.second)


Contrast = CellContrast | KindContrast


def sides_of(contrast: Contrast) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
    """Return the cells whose mean rates a gap compares."""
    if isinstance(contrast, CellContrast):
        return (contrast.first,), (contrast.second,)
    return contrast.first, contrast.second


class Family(NamedTuple):
    """The hypotheses about one attribute that are judged together.

    Attributes
    ----------
    tested : tuple of CellContrast or KindContrast
        Gaps whose equality with zero is tested.
    further : tuple of CellContrast
        Gaps that have to be within the margin, too.
    correlated : bool
        Whether the correction knows how the tests are correlated, because there are many of them.
    about : str
        Which hypotheses these are, in words.
    """

    tested: tuple[Contrast, ...]
    further: tuple[CellContrast, ...]
    correlated: bool
    about: str

    def judged_contrasts(self, *, margin: bool) -> tuple[Contrast, ...]:
        """Return gaps that are tested, or those between two cells that a margin is asked of."""
        if not margin:
            return self.tested
        return tuple(one for one in (*self.tested, *self.further) if isinstance(one, CellContrast))


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


def family_of_cells(
    groups: Sequence[str], *, graded: bool = True, hypotheses: str = "all"
) -> Family:
    """Return what equal agreement in all cells asks for.

    Parameters
    ----------
    groups : sequence of str
    graded : bool
        Whether the judged quality may have more than two values.
    hypotheses : {"all", "across", "within"}
        Which of them to keep.

    Examples
    --------
    >>> family = family_of_cells(["a", "b"])
    >>> [len(family.tested), len(family.further)], family.tested[2].null
    ([3, 4], 'agree(across) = agree(within)')
    >>> len(family_of_cells(["a", "b", "c"]).tested)
    36
    """
    usual = contrasts_of_groups(groups)
    across, within = usual[: len(usual) // 2], usual[len(usual) // 2 :]
    if hypotheses == "across":
        return Family(across, (), False, "pairs across groups only, as requested")
    if hypotheses == "within":
        return Family(within, (), False, "pairs within groups only, as requested")
    if not graded:
        about = "the gaps across and within groups, which is enough for binary quality"
        return Family(usual, (), False, about)
    cells = [Cell(better, worse) for better in groups for worse in groups]
    every = tuple(CellContrast(one, two) for one, two in combinations(cells, 2))
    if len(groups) > 2:
        about = "all kinds of pairs, two at a time, because quality may be graded"
        return Family(every, (), True, about)
    (one, two), (three, four) = across[0], within[0]
    kinds = KindContrast((one, two), (three, four))
    known = {frozenset(one) for one in usual}
    further = tuple(one for one in every if frozenset(one) not in known)
    about = "the gap across groups, the gap within groups, and across against within, because "
    about += "quality may be graded (more than good or bad)"
    return Family((*usual, kinds), further, False, about)


def contrast_factor(sharing: Sharing, contrasts: Sequence[Contrast]) -> NDArray[np.float64]:
    """Return a factor of the covariance of gaps if all cells have one rate.

    A gap with a cell that holds no judgments has a row of zeros.
    """
    held = np.flatnonzero(sharing.trials > 0)
    if not len(held):
        return np.zeros((len(contrasts), 1))
    kept = subset(sharing, held.tolist())
    values, vectors = np.linalg.eigh(null_covariance(kept))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    known = {cell: code for code, cell in enumerate(kept.cells)}
    factor = np.zeros((len(contrasts), len(held)))
    for row, contrast in enumerate(contrasts):
        if all(cell in known for cell in contrast.cells):
            first, second = (known[cell] for cell in contrast.cells)
            factor[row] = root[first] - root[second]
    return factor


def contrasts_of_order() -> tuple[CellContrast, ...]:
    """Return the one hypothesis about a continuous attribute.

    The model agrees as often where the better item has the larger value as where it has the
    smaller one.
    """
    return (CellContrast(LARGER, SMALLER),)


def compare_fresh(
    counts: PairCounts, contrasts: Iterable[Contrast], *, score_ties: str = "disagree"
) -> list[GapTest]:
    """Test contrasts from pairs that share nothing.

    Score ties counted as half make the outcome three-valued; a binomial test is then wrong, and
    the score test of independent judgments takes its place.
    """
    if score_ties == "half" and any(tally.ties for tally in counts.values()):
        sharing = counts.sharing_moments(score_ties)
        return [compare_cells(sharing, *contrast, null=contrast.null) for contrast in contrasts]
    sharing = counts.sharing_moments()
    return [
        compare_rates(counts[contrast.first], counts[contrast.second], null=contrast.null)
        if isinstance(contrast, CellContrast)
        else compare_cells(sharing, *contrast, null=contrast.null)
        for contrast in contrasts
    ]


def compare_fresh_wald(counts: PairCounts, contrasts: Iterable[Contrast]) -> list[GapTest]:
    """Test contrasts by the z-test of Xi et al. at any counts, for ``rule="paper"``."""
    return [
        compare_rates_wald(*(counts[cell] for cell in contrast.cells), null=contrast.null)
        for contrast in contrasts
    ]


def compare_shared(
    counts: SharedPairCounts,
    contrasts: Iterable[Contrast],
    *,
    score_ties: str = "disagree",
    guarded: bool = True,
) -> list[GapTest]:
    """Test contrasts from pairs that share items or evaluators.

    `guarded` is explained in :func:`comparity.inference.dyadic.compare_cells`.
    """
    sharing = moments_of(counts, score_ties)
    if not guarded:
        sharing = replace(sharing, effective_items=counts.cell_items)
    return [
        compare_cells(sharing, *contrast, null=contrast.null, guarded=guarded)
        for contrast in contrasts
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class SkewedGap(DyadicGap):
    r"""A gap between cells with ample counts whose error grows with it.

    Suppose that a model is wrong in every pair with one item in forty. A sample of 125 items
    contains three such items on average, but often one or two. A sample with few of them has a
    small gap and also a small variance. So a hypothesised gap :math:`\delta` must be compared with
    the error that there would be if :math:`\delta` were true, with as many such items as that
    takes. Let :math:`e_i` be what item :math:`i` adds to the gap: the sum of the residuals of its
    judgments, at the observed rates. Give items probabilities proportional to
    :math:`e^{\theta e_i}` instead of equal ones, an exponential family through the sample [1]_.
    As :math:`\theta` grows the gap moves away from the observed :math:`d`, and its variance with
    it, at the rate :math:`\kappa_3 / V`, so that to first order

    .. math:: V(\delta) = V(d) + \frac{\kappa_3}{V(d)} (\delta - d), \qquad
        \kappa_3 = \sum_i e_i^3 - \sum_p u_p^3.

    (A judgment :math:`p` is among the sums of two items, so that its residual :math:`u_p` is taken
    off once, as in the variance.) It is exact for hopeless items: they come in Poisson numbers, and
    with :math:`e_i = \epsilon` for each :math:`\kappa_3 / V = \epsilon`. For pairs that share
    nothing it is the slope of the binomial variance. The larger of this and the usual variance
    counts for gaps beyond the observed one, :math:`|\delta| > |d|`: tests of no gap are as before.
    It is the correction of Student's t for skewness [2]_, put into the variance.

    Attributes
    ----------
    growth : float
        How fast the variance grows with the gap, or falls where this is negative.

    References
    ----------
    .. [1] Efron (1981), "Nonparametric standard errors and confidence intervals", Canadian Journal
       of Statistics 9.
    .. [2] Johnson (1978), "Modified t tests and confidence intervals for asymmetrical populations",
       JASA 73.
    """

    growth: float = 0.0

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the gap if it is `hypothesised`."""
        usual = DyadicGap.variance_at(self, hypothesised)
        if abs(hypothesised) <= abs(self.gap):
            return usual
        observed = DyadicGap.variance_at(self, self.gap)
        return max(usual, observed + self.growth * (hypothesised - self.gap))

    def interval(self, level: float) -> Interval:
        """Return the smallest interval that holds all gaps not rejected at ``1 - level``."""
        usual = DyadicGap.interval(self, level)
        squared = self.reference.quantile(1 - level) ** 2
        # How far a gap is from the observed one solves x^2 = q^2 (V + g x), on the side of g.
        half = squared * abs(self.growth) / 2
        reach = half + math.sqrt(half**2 + squared * DyadicGap.variance_at(self, self.gap))
        end = min(max(self.gap + math.copysign(reach, self.growth), -1.0), 1.0)
        if abs(end) <= abs(self.gap):
            return usual
        return Interval(min(usual.low, end), max(usual.high, end), level)


def items_to_be_normal(margin: float) -> float:
    r"""Return from how many items of a group on rare ones that fill a margin are no worry.

    Such items come in Poisson numbers with mean :math:`n \cdot margin / 2`, so that the skewness of
    the gap is at most :math:`\sqrt{2 / (n \cdot margin)}`. From here on it moves a one-sided level
    of 0.05 by at most 0.015 (:mod:`comparity.inference.permuted_means`).

    Examples
    --------
    >>> round(items_to_be_normal(0.05)), round(items_to_be_normal(0.2))
    (2159, 540)
    """
    return float(2 / margin * (SLOPE / TOLERATED) ** 2)


def allow_for_skewness(test: GapTest, third_cumulant: float) -> GapTest:
    """Let the error of a gap grow with it as skewed items make it (:class:`SkewedGap`)."""
    pivot, variance = test.pivot, test.standard_error**2
    # Rates of one and zero have no variance, nor skewness.
    if not variance > NOTHING:
        return test
    growth = third_cumulant / variance
    if isinstance(pivot, DyadicGap):
        return replace(test, pivot=_skewed_gap(pivot, growth))
    if isinstance(pivot, ClusterGap) and isinstance(pivot.between, DyadicGap):
        return replace(test, pivot=replace(pivot, between=_skewed_gap(pivot.between, growth)))
    # Few hits or misses have a variance that grows with the gap by itself.
    return test


def _skewed_gap(gap: DyadicGap, growth: float) -> SkewedGap:
    known = {one.name: getattr(gap, one.name) for one in fields(DyadicGap)}
    return SkewedGap(**known, growth=growth)


def agreement_rates(
    counts: PairCounts | SharedPairCounts, *, score_ties: str = "disagree", level: float = 0.95
) -> list[RateEstimate]:
    """Return the agreement in every cell that holds a judgment, with its interval."""
    half = score_ties == "half"
    binomial = isinstance(counts, PairCounts) and not half
    sharing = None if binomial else moments_of(counts, score_ties)
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


def moments_of(counts: PairCounts | SharedPairCounts, score_ties: str) -> Sharing:
    """Return the moments of judgments, with evaluators as clusters where there are enough."""
    if isinstance(counts, PairCounts):
        return counts.sharing_moments(score_ties)
    return counts.sharing_moments(score_ties, evaluators=counts.n_evaluators >= FEWEST_EVALUATORS)
