r"""Means of skewed differences in groups of unequal size: Welch's test, checked by permutation.

**When Welch's test errs.** With skewness :math:`\gamma` in both groups its t statistic has

.. math::

    P(T \le x) = \Phi(x) + \frac{2 x^2 + 1}{6} \kappa \, \varphi(x) + O(1/n), \qquad
    \kappa = \gamma \frac{n_0 - n_1}{\sqrt{n_0 n_1 (n_0 + n_1)}}

(Hall, *The Bootstrap and Edgeworth Expansion*, 1992): skewness cancels in groups of one size, and
not where few subjects stand against many. :func:`welch_error` is the middle term at a one-sided
level of 0.05. Skewness is taken over both groups: of ten subjects nobody knows it, and sixty of
whom none has the rare large difference that every fiftieth has show none at all, which is when
Welch's test fails.

**What is done there.** Group membership is permuted among the subjects, and Welch's t
computed each time (Janssen, "Studentized permutation tests for non-i.i.d. hypotheses and the
generalized Behrens-Fisher problem", Statistics & Probability Letters 36, 1997). For a hypothesised
DPD of :math:`h` the group is first moved by :math:`-h s`. Where groups have one distribution up to
that shift all dealings are equally likely, so that a p value of at most :math:`\alpha` has a
probability of at most :math:`\alpha`, whatever the distribution. Where they do not, the
permutation distribution is right for large groups only, as Welch's is. So the larger of the two
p values is taken, on either side: the test keeps its level where either of them does.

**What was not seen.** A share :math:`q` of differences of :math:`L` standard deviations moves DPD
by :math:`q L`. If they occur in one group alone no dealing knows of them, and :math:`n` subjects
show none of them with probability :math:`(1 - q)^n`. So "the gap is at least :math:`h`" has a p
value of at least :math:`(1 - h / L)^n`, with :math:`n` the smaller group and :math:`L` the largest
difference seen in either. Larger ones than any seen remain unknown to every test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from comparity.counts.differences import Moments
from comparity.counts.kernels.sorting import sums_of_dealings
from comparity.inference.gap_tests import GapTest, Interval
from comparity.inference.means import WELCH, RatioPivot, compare_means

Floats = NDArray[np.float64]

TOLERATED = 0.015
"""Welch's test stands where a one-sided level of 0.05 is at most 0.065.

At half of it twice as many audits are checked by permutation; at twice, 0.08 is let pass.
"""

Z = 1.6448536269514722
SLOPE = (2 * Z**2 + 1) / 6 * math.exp(-(Z**2) / 2) / math.sqrt(2 * math.pi)
"""The Edgeworth term at the upper 5 % of the normal distribution, for each unit of kappa."""

DRAWS = 4_999
"""The standard error of a one-sided p value of 0.025 is then 0.002."""

FEWEST_DRAWS, STEPS = 999, 20_000_000
"""Groups beyond 4,000 are dealt out less often, so that no test takes more than a second."""

LARGEST = 100_000
"""Larger groups than this keep Welch's test; their skewness had to be above 40."""

ENUMERATED = 10_000
"""Up to so many dealings all are listed."""

SEED = 20_101
"""Fixed, so that nobody can look for a seed that finds something."""

ANCHOR = 25
"""With fewer draws beyond it, a tail goes on as that of Welch's t does."""

SAME_STATISTIC = 1e-10
"""Two statistics this close, relatively, are one number reached by sums in another order."""

FURTHEST = 1e6
"""An interval that has no end within so many standard deviations has none."""

HALVINGS = 40

PERMUTED = "Welch t and studentised permutation"


def welch_error(group: Moments, reference: Moments) -> float:
    """Return how far a one-sided level of 0.05 of Welch's test may be off, see the module.

    Examples
    --------
    >>> skewed = np.random.default_rng(0).exponential(size=210)
    >>> few, many = Moments.of(skewed[:10]), Moments.of(skewed[10:])
    >>> round(welch_error(few, many), 2), round(welch_error(many, many), 2)
    (0.05, 0.0)
    """
    n = group.n + reference.n
    spread = group.m2 + reference.m2
    if not spread:
        return 0.0
    skewness = (group.m3 + reference.m3) / spread**1.5 * math.sqrt(n)
    unequal = (group.n - reference.n) / math.sqrt(group.n * reference.n * n)
    return abs(float(SLOPE * skewness * unequal))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dealings:
    """Ways to deal out membership of the smaller group among all subjects.

    Attributes
    ----------
    sums, squares : ndarray, (B,)
        Sums of the values, and of their squares, over those dealt into the smaller group.
    moved, moved_sums : ndarray, (B,)
        How many of them belong to the group that hypotheses shift, and the sum of their values.
    totals : tuple of float
        The same four over all subjects.
    n : tuple of int
        Size of the smaller group and of the other.
    sign : float
        1 where the smaller group is the one that hypotheses shift, otherwise -1.
    complete : bool
        Whether these are all dealings there are, the data among them.
    """

    sums: Floats
    squares: Floats
    moved: Floats
    moved_sums: Floats
    totals: tuple[float, float, float, float]
    n: tuple[int, int]
    sign: float
    complete: bool

    @classmethod
    def of(cls, group: Floats, reference: Floats) -> Dealings:
        """Permute two groups: in all ways if these are few, else in ways drawn at random."""
        values = np.concatenate([group, reference])
        moved = np.repeat([1.0, 0.0], [len(group), len(reference)])
        small, n = min(len(group), len(reference)), len(values)
        if math.comb(n, small) <= ENUMERATED:
            places = np.array(list(combinations(range(n), small)))
            found = _sums_of_rows(values[places], moved[places])
        else:
            draws = max(min(DRAWS, STEPS // small), FEWEST_DRAWS)
            found = sums_of_dealings(values, moved, small, draws, np.random.default_rng(SEED))
        return cls(
            sums=found[0],
            squares=found[1],
            moved=found[2],
            moved_sums=found[3],
            totals=tuple(_sums_of_rows(values[None], moved[None])[:, 0].tolist()),
            n=(small, n - small),
            sign=1.0 if len(group) <= len(reference) else -1.0,
            complete=math.comb(n, small) <= ENUMERATED,
        )

    def statistics(self, shift: float) -> Floats:
        """Return Welch's t of every dealing, once the group was moved by minus `shift`."""
        small, large = self.n
        total, squares, moved, moved_sum = self.totals
        sums = self.sums - shift * self.moved
        rest = total - shift * moved - sums
        own = self.squares - 2 * shift * self.moved_sums + shift**2 * self.moved
        other = squares - 2 * shift * moved_sum + shift**2 * moved - own
        gap = sums / small - rest / large
        variance = np.maximum(own - sums**2 / small, 0.0) / (small * (small - 1))
        variance += np.maximum(other - rest**2 / large, 0.0) / (large * (large - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            # Dealings that leave no variation and no gap say nothing.
            return np.nan_to_num(
                self.sign * gap / np.sqrt(variance), nan=0.0, posinf=np.inf, neginf=-np.inf
            )


def _sums_of_rows(values: Floats, moved: Floats) -> Floats:
    return np.array(
        [
            values.sum(axis=1),
            (values**2).sum(axis=1),
            moved.sum(axis=1),
            (values * moved).sum(axis=1),
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutedPivot(RatioPivot):
    """Welch's test of a ratio, and its studentised permutation; the larger p value counts.

    Attributes
    ----------
    dealings : Dealings
        Of differences about their mean.
    reach : float
        The largest difference from the mean of its group, in standard deviations.
    fewer : int
        Rows of the smaller group.
    """

    dealings: Dealings = field(compare=False)
    reach: float
    fewer: int

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``ratio = hypothesised``."""
        return min(1.0, 2 * min(self.p_below(hypothesised), self.p_above(hypothesised)))

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``ratio >= hypothesised`` against ``ratio < hypothesised``."""
        return max(RatioPivot.p_below(self, hypothesised), self._permutation_p(hypothesised, -1.0))

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``ratio <= hypothesised`` against ``ratio > hypothesised``."""
        return max(RatioPivot.p_above(self, hypothesised), self._permutation_p(hypothesised, 1.0))

    def interval(self, level: float) -> Interval:
        """Return the ratios not rejected at ``1 - level``; all numbers where none can be."""
        low, high, _ = RatioPivot.interval(self, level)
        tail = (1 - level) / 2
        return Interval(self._end(low, 1.0, tail), self._end(high, -1.0, tail), level)

    def _permutation_p(self, hypothesised: float, side: float) -> float:
        """Return the p value by permutation of a ratio this far above (1) or below (-1)."""
        share = self._share_beyond(hypothesised, side)
        if hypothesised * side < 0:
            unseen = max(1 - abs(hypothesised) / self.reach, 0.0) ** self.fewer
            # A gap further away is never the more likely one.
            if unseen > share:
                none = max(
                    self._share_beyond(0.0, side), float(stdtr(self.dof, -side * self._t(0)))
                )
                share = max(share, min(unseen, none))
        return share

    def _share_beyond(self, hypothesised: float, side: float) -> float:
        """Return the share of dealings with a statistic as far on one side as the observed one."""
        observed = side * self._t(hypothesised)
        dealt = side * self.dealings.statistics(hypothesised * self.scale)
        beyond = int(np.sum(dealt >= observed - SAME_STATISTIC * max(abs(observed), 1.0)))
        if self.dealings.complete:
            return max(beyond, 1) / len(dealt)
        if beyond < ANCHOR:
            anchor = float(np.partition(dealt, -ANCHOR)[-ANCHOR])
            known = stdtr(self.dof, -anchor)
            if 0 < anchor < observed and known > 0:
                going_on = stdtr(self.dof, -observed) / known
                return float((1 + ANCHOR) / (1 + len(dealt)) * going_on)
        return (1 + beyond) / (1 + len(dealt))

    def _end(self, start: float, side: float, tail: float) -> float:
        """Return where permutation rejects, too, from the end of Welch's interval outward."""
        if math.isinf(start) or self._permutation_p(start, side) <= tail:
            return start
        inside, step = start, self.standard_error
        outside = start - side * step
        while self._permutation_p(outside, side) > tail:
            step *= 2
            inside, outside = outside, outside - side * step
            if abs(outside) > FURTHEST:
                return -side * math.inf
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            if self._permutation_p(middle, side) > tail:
                inside = middle
            else:
                outside = middle
        return inside


def compare_samples(
    group: Moments,
    reference: Moments,
    rows: Callable[[], tuple[Floats, Floats]],
    *,
    null: str,
) -> GapTest:
    """Test whether two groups have the same mean difference; by permutation, too, where skewed.

    Parameters
    ----------
    group, reference : Moments
        Differences of two decisions in the two groups.
    rows : callable
        Returns the differences themselves, of the group and of the reference group; called only
        where they are needed.
    null : str
        The hypothesis in words.

    Returns
    -------
    GapTest
        As :func:`comparity.inference.means.compare_means`; `method` says which test it is.

    Examples
    --------
    >>> skewed = np.random.default_rng(0).exponential(size=210)
    >>> few, many = skewed[:10], skewed[10:]
    >>> test = compare_samples(Moments.of(few), Moments.of(many), lambda: (few, many), null="")
    >>> test.method, test.p_value >= compare_means(*map(Moments.of, (few, many)), null="").p_value
    ('Welch t and studentised permutation', True)
    """
    test = compare_means(group, reference, null=null)
    fewer = min(group.n, reference.n)
    if test.method != WELCH or fewer > LARGEST or welch_error(group, reference) <= TOLERATED:
        return test
    assert isinstance(test.pivot, RatioPivot)
    known = {one.name: getattr(test.pivot, one.name) for one in fields(test.pivot)}
    # Sums of squares of values far from zero would round.
    centre = (group.mean + reference.mean) / 2
    reach = max(max(one.high - one.mean, one.mean - one.low) for one in (group, reference))
    first, second = rows()
    pivot = PermutedPivot(
        **known,
        dealings=Dealings.of(first - centre, second - centre),
        reach=reach / test.pivot.scale,
        fewer=fewer,
    )
    return replace(test, pivot=pivot, p_value=pivot.p_value(0.0), method=PERMUTED, reason=_SKEWED)


_SKEWED = (
    "differences are too skewed for Welch's test of groups of such unequal size; the larger p "
    "value of it and of a permutation of groups counts, which keeps its level where groups differ "
    "by no more than a shift."
)
