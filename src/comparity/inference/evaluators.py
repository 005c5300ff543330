r"""Tests of gaps in rows that come in a few clusters: evaluators who may lean, prompts, sessions.

Question: may two kinds of pairs have the same agreement, for evaluators like these? What is said of
evaluators holds of any clusters, and of any gap whose residuals are summed by them.

Let :math:`U_k` be the sum of the residuals of evaluator :math:`k` at the hypothesised gap
:math:`\delta` (:mod:`comparity.inference.pivots`), of :math:`G` evaluators, so that their sum is
the distance :math:`x = d - \delta`. It has two parts: :math:`z`, which the items add that several
evaluators judged, and the sum of :math:`e_k`, what evaluators add each on their own: their lean,
and the chance of their judgments. The variance of the first is estimated well, by judgments of
different evaluators that share an item,

.. math:: B = \max\Big(0, \sum_{p, q \text{ that share an item, not the evaluator}} u_p u_q\Big).

The second is known from :math:`G` numbers only. Of the distance, :math:`\lambda x` is expected to
be due to the items, with :math:`\lambda = B / (B + \sum U_k^2)`, which the signs of the
:math:`U_k` do not change; evaluator :math:`k` has the part :math:`s_k` of it, by how much of both
cells they judged. What is left, :math:`U'_k = U_k - \lambda s_k x`, estimates :math:`e_k`, and

.. math:: V = \frac{G \sum U_k'^2 - (\sum U'_k)^2}{G - 1}

the variance of their sum. Where evaluators judged equal shares :math:`\lambda` cancels.

**Student's t.** With :math:`z_\alpha` and :math:`t_\alpha` the two-sided quantiles of the normal
distribution and of Student's on :math:`G - 1` degrees of freedom, the test rejects if

.. math:: x^2 > z_\alpha^2 B + t_\alpha^2 V.

Its level is at most :math:`\alpha` for normal :math:`e_k` of equal variance [1]_: with
:math:`F` the distribution function of :math:`\chi^2_1`, which is concave, and
:math:`\beta = B / \operatorname{var} x`, it keeps the hypothesis with probability

.. math:: E F\big(\beta z_\alpha^2 + (1 - \beta) t_\alpha^2 \chi^2_{G-1} / (G - 1)\big)
    \ge \beta F(z_\alpha^2) + (1 - \beta) E F\big(t_\alpha^2 \chi^2_{G-1} / (G - 1)\big)
    = 1 - \alpha.

It is exact where nothing is shared but evaluators, where it is the t-test, and where items are all
that matters. In between the level falls to 0.024 at worst with 3 evaluators, 0.037 with 6
(Welch's degrees of freedom would reach 0.078). Without items and with uneven shares residuals at
the hypothesis make it careful: 0.02 to 0.05.

**Sign flips.** Leans need not be normal. If they fall into two camps, the t-test rejects whenever
all evaluators happen to be of one camp, and often when all but one are. With 6 to 12 evaluators the
distance is also compared with what it would be if the sign of each :math:`e_k` were turned at
random, which is its exact distribution for any :math:`e_k` that are independent and symmetric, of
whatever sizes [2]_:

.. math:: p = 2 \cdot 2^{-G} \sum_{\varepsilon \in \{-1, 1\}^G}
    \Phi\Big(\frac{\sum_k \varepsilon_k U'_k - |x|}{\sqrt B}\Big)

and the larger of the two p values counts. Without items this is the mid-p value: the observed signs
count half. The whole p value could not be below 0.03 for 6 evaluators, and no audit of several
hypotheses could ever find anything. The price is that the level may exceed :math:`\alpha` by up to
:math:`2^{-G}`.

With 3 to 5 evaluators there are too few signs to turn, with more than 12 t alone is close enough.

**Several kinds of clusters.** Rows may come in few clusters of a second kind, say of five sessions
judged by eight evaluators. The kind with the fewest clusters is treated as above; the variance of
what only the :math:`d`-th kind shares,

.. math:: V_d = \max\Big(0, \kappa_d
    \sum_{p, q \text{ that share kind } d, \text{ none before}} u_p u_q\Big),

with residuals at the observed gap, gets the quantile of its own degrees of freedom
(:mod:`comparity.inference.cluster_spread`),

.. math:: x^2 > z_\alpha^2 B + t_\alpha^2 V + \sum_d t_{\alpha, d}^2 V_d,

which keeps the level by the same inequality, for any number of terms.

**Clusters within cells** hold rows of one cell only; then their variance is taken by cell.

References
----------
.. [1] Banerjee (1961), "On confidence interval for two-means problem based on separate estimates
   of variances and tabulated values of t-table", Sankhya A 23.
.. [2] Canay, Romano and Shaikh (2017), "Randomization tests under an approximate symmetry
   assumption", Econometrica 85.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from comparity.counts.pairs import ROUNDING
from comparity.inference.gap_tests import Interval, find_limit, find_root
from comparity.inference.pivots import NOTHING, DyadicGap, Quadratic, SharedGap, value_of

if TYPE_CHECKING:
    from comparity.inference.cluster_spread import ClusterSpread
    from comparity.inference.clustered_means import MeanGap

FEWEST_FLIPPED, MOST_FLIPPED = 6, 12
"""Numbers of evaluators whose signs are flipped.

Five have 32 patterns of signs, whose smallest mid-p value, 0.031, is too coarse for several
hypotheses. Of more than twelve, Student's t was measured to reject at most 0.06 for leans in two
camps, uniform, Laplace and Cauchy leans, in 2,500 repetitions each; of eight, 0.07.
"""

# The normal quantile of the smallest p value that is looked for, and a tail that is a power law.
FARTHEST, FAR_OUT = float(-ndtri(math.exp(-700.0))), 1e-30

Vector = NDArray[np.float64]


class Estimated(NamedTuple):
    """A variance that is estimated from few clusters, and its degrees of freedom."""

    variance: float
    dof: float


class SumsAlong(NamedTuple):
    """What clusters add at the observed gap, and how that moves with the hypothesis.

    Sums of residuals at the observed gap and what they gain by a gap larger by one; their squares,
    and the variance of their total, by how far a hypothesis is from the gap; the variances that
    other clusters add, and those in place of `variance` where clusters lie within cells.
    """

    observed: Vector
    slope: Vector
    squares: Quadratic
    variance: Quadratic
    further: tuple[Estimated, ...]
    fixed: tuple[Estimated, ...]


class _DistanceParts(NamedTuple):
    """The distance, its variances (`beside` the first clusters', too), and how far sums move."""

    distance: float
    items: float
    beside: float
    estimated: tuple[Estimated, ...]
    moved: float

    @property
    def variance(self) -> float:
        """The variance of the distance."""
        return self.items + sum(one.variance for one in self.estimated)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterGap:
    """A gap in rows of a few clusters: a :class:`comparity.inference.gap_tests.Pivot`.

    Attributes
    ----------
    between : DyadicGap or MeanGap
        The gap, whose dependent judgments share an item but no cluster.
    sums : ndarray of shape (clusters, 2 cells)
        Trials of each cluster in every cell, then hits.
    further : tuple of (ndarray, ClusterSpread)
        Of other kinds that have few clusters, too: moments over what only these share, and how well
        they tell their variance.
    spread : ClusterSpread or None
        How well clusters tell the variance of the gap, where they lie within cells.
    reach : float
        The largest gap.
    binomial : SharedGap or None
        The test without evaluators that few hits or misses need, too: the sums of evaluators who
        saw next to no miss vary less than they should.
    along : SumsAlong, optional
        Made from `between`, `sums`, `further` and `spread`; copies whose `binomial` or growth of
        the error are others keep it.
    """

    between: DyadicGap | MeanGap
    sums: Vector
    further: tuple[tuple[Vector, ClusterSpread], ...] = ()
    spread: ClusterSpread | None = None
    reach: float = 1.0
    binomial: SharedGap | None = None
    along: SumsAlong | None = None

    def __post_init__(self) -> None:
        if self.along is None:
            along = _sums_along(self.between.line, self.sums, self.further, self.spread)
            object.__setattr__(self, "along", along)

    @property
    def gap(self) -> float:
        """The observed gap."""
        return self.between.gap

    @property
    def n_clusters(self) -> int:
        """How many clusters hold pairs of these cells."""
        return len(self.sums)

    @property
    def flips_signs(self) -> bool:
        """Whether signs of clusters are turned, too."""
        return FEWEST_FLIPPED <= self.n_clusters <= MOST_FLIPPED

    @property
    def dof(self) -> float:
        """Degrees of freedom of the variance as a whole, by Satterthwaite's formula."""
        own = self._parts(self.gap)
        squares = sum(one.variance**2 / one.dof for one in own.estimated)
        return own.variance**2 / squares if squares > (ROUNDING * own.variance) ** 2 else math.inf

    def parts_at(self, hypothesised: float) -> tuple[float, float]:
        """Return what single judgments and what shared ones add to the variance."""
        weights = self.between.weights(hypothesised)
        single = float(weights @ self.between.own @ weights)
        return single, self.variance_at(hypothesised) - single

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the gap if it is `hypothesised`."""
        parts = self._parts(hypothesised)
        least = 0.0 if self.binomial is None else self.binomial.variance_at(hypothesised)
        return max(parts.variance, least)

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        return min(1.0, 2 * self._tail(hypothesised))

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        tail = self._tail(hypothesised)
        return tail if self.gap < hypothesised else 1 - tail

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        tail = self._tail(hypothesised)
        return tail if self.gap > hypothesised else 1 - tail

    def interval(self, level: float) -> Interval:
        """Return the gaps around the observed one that the test at ``1 - level`` does not reject.

        The p value that signs give is a step function; its steps are found by bisection.
        """
        alpha = 1 - level
        z = -float(ndtri(alpha / 2))

        def excess(hypothesised: float) -> float:
            parts = self._parts(hypothesised)
            beyond = -_room(abs(parts.distance), parts.items, parts.estimated)(z)
            if beyond > 0 and self.binomial is not None:
                beyond = min(beyond, abs(self.binomial.statistic(hypothesised)) - z)
            if beyond > 0 and self.flips_signs:
                beyond = min(beyond, alpha / 2 - self._flipped_tail(parts))
            return beyond

        step = z * math.sqrt(self.variance_at(self.gap))
        low, high = (find_limit(excess, self.gap, end, step) for end in (-self.reach, self.reach))
        return Interval(low, high, level)

    def _tail(self, hypothesised: float) -> float:
        """Return the probability of so large a distance on its side: the largest of all tests."""
        parts = self._parts(hypothesised)
        tails = [combined_tail(abs(parts.distance), parts.items, *parts.estimated)]
        if self.binomial is not None:
            tails.append(float(ndtr(-abs(self.binomial.statistic(hypothesised)))))
        if self.flips_signs:
            tails.append(self._flipped_tail(parts))
        return min(max(tails), 0.5)

    def _parts(self, hypothesised: float) -> _DistanceParts:
        along, beyond = self.along, hypothesised - self.gap
        assert along is not None, "made with the gap"
        items = max(self.between.variance_at(hypothesised), 0.0)
        # Squares do not know the signs: where all evaluators lean to one side by chance, items
        # must not be blamed for it.
        beside = items + sum([one.variance for one in along.further])
        squares = max(value_of(along.squares, beyond), 0.0)
        due_to_others = beside / (beside + squares) if beside else 0.0
        moved = (1 - due_to_others) * beyond
        first = along.fixed
        if not first:
            variance = max(value_of(along.variance, moved), 0.0)
            first = (Estimated(variance, self.n_clusters - 1),)
        return _DistanceParts(-beyond, items, beside, (*first, *along.further), moved)

    def _flipped_tail(self, parts: _DistanceParts) -> float:
        """Return how likely the distance is on its side if the signs of evaluators are random."""
        assert self.along is not None, "made with the gap"
        own = self.along.observed + parts.moved * self.along.slope
        sums = sign_patterns(len(own)) @ own
        # Without items the observed signs count half, as they do for any small error.
        rounding = ROUNDING * float(np.abs(own).sum())
        error = max(math.sqrt(parts.beside), rounding, NOTHING)
        distance = abs(parts.distance)
        beyond = ndtr((sums - distance) / error) + ndtr((-sums - distance) / error)
        return float(beyond.mean()) / 2


def _sums_along(
    line: tuple[Vector, Vector],
    sums: Vector,
    further: Sequence[tuple[Vector, ClusterSpread]],
    spread: ClusterSpread | None,
) -> SumsAlong:
    """Return what clusters add at the observed gap and beyond it, by the line of the weights."""
    observed, slope, n = sums @ line[0], sums @ line[1], len(sums)
    scale = math.sqrt(n / (n - 1))
    centred = (scale * (one - one.sum() / n) for one in (observed, slope))
    # About the observed gap: a distance from the hypothesis is in all clusters alike.
    others = [
        part
        for moments, one in further
        for part in _by_cell(max(float(line[0] @ moments @ line[0]), 0.0), one)
    ]
    squares, variance = _products(observed, slope), _products(*centred)
    fixed = _by_cell(squares[0], spread) if spread else []
    return SumsAlong(observed, slope, squares, variance, tuple(others), tuple(fixed))


def _products(one: Vector, two: Vector) -> Quadratic:
    """Return the squared length of ``one + x * two`` as a polynomial."""
    return float(one @ one), 2 * float(one @ two), float(two @ two)


def _by_cell(squares: float, spread: ClusterSpread) -> list[Estimated]:
    """Divide a sum of squares of clusters among cells, each with its degrees of freedom."""
    both = zip(spread.factors.tolist(), spread.dofs.tolist(), strict=True)
    return [Estimated(factor * squares, dof) for factor, dof in both]


def combined_tail(distance: float, known: float, *estimated: Estimated) -> float:
    r"""Return half the level at which a distance is just beyond what several variances allow.

    The level :math:`\alpha` that solves
    :math:`x^2 = z_\alpha^2 V_{known} + \sum_d t_{\alpha, d}^2 V_d`: of the normal distribution
    where all is known, of Student's t where one variance is all.

    Examples
    --------
    >>> round(combined_tail(1.959964, 1.0, Estimated(0.0, 2)), 4)
    0.025
    >>> round(combined_tail(4.302653, 0.0, Estimated(1.0, 2)), 4)
    0.025
    >>> half = Estimated(0.5, 2)
    >>> combined_tail(3.0, 0.5, half) < combined_tail(3.0, 0.0, half, Estimated(0.5, 5))
    True
    """
    if distance < NOTHING:
        return 0.5
    variances = [one.variance for one in estimated]
    largest, uncertain = max(variances), sum(variances)
    whole = known + uncertain
    if whole - largest <= ROUNDING * largest:
        if largest < NOTHING:
            return 0.0
        dof = estimated[variances.index(largest)].dof
        return float(stdtr(dof, -distance / math.sqrt(largest)))
    if uncertain <= ROUNDING * known:
        return float(ndtr(-distance / math.sqrt(known)))
    room = _room(distance, known, estimated)
    # All of the variance known as badly as the worst part of it, and all of it known.
    high = distance / math.sqrt(whole)
    low = -float(ndtri(stdtr(min([one.dof for one in estimated]), -high)))
    high = min(high, FARTHEST)
    at_ends = (room(low), room(high)) if low < high else (0.0, 0.0)
    if not at_ends[0] < 0 < at_ends[1]:
        # Next to each other, or far out.
        low, high, at_ends = 0.0, FARTHEST, (-distance, room(FARTHEST))
    if not at_ends[1] > 0:
        return 0.0
    return float(ndtr(-find_root(room, low, high, tolerance=1e-14, at_ends=at_ends)))


def _room(
    distance: float, known: float, estimated: tuple[Estimated, ...]
) -> Callable[[float], float]:
    """Return how much more than a distance is allowed, as a function of the normal quantile."""
    errors = [(math.sqrt(variance), dof) for variance, dof in estimated]
    error = math.sqrt(known)

    def room(z: float) -> float:
        tail = float(ndtr(-z))
        parts = [-one * float(stdtrit(dof, max(tail, FAR_OUT))) for one, dof in errors]
        if tail < FAR_OUT:
            # By the power law of the tail, where scipy's quantile fails.
            growth = [math.pow(FAR_OUT / tail, 1 / dof) for _, dof in errors]
            parts = [part * by for part, by in zip(parts, growth, strict=True)]
        return math.hypot(z * error, *parts) - distance

    return room


@lru_cache(maxsize=MOST_FLIPPED)
def sign_patterns(number: int) -> Vector:
    """Return all patterns of so many signs whose last one is positive; the rest mirrors them."""
    codes = np.arange(2 ** (number - 1))[:, None] >> np.arange(number)
    signs = (1 - 2 * (codes & 1)).astype(np.float64)
    signs.setflags(write=False)
    return signs
