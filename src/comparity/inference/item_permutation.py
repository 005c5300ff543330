r"""Gaps that rest on few items: groups are permuted among the items.

A model that loses every pair with one item in twenty has a very skewed agreement by item. Of 40
items two are such, or none, or five, and sums over 40 of them are far from normal: with 4 to 5 % of
hopeless items the normal test finds up to 0.2 gaps that are not there. But if the model treats
groups alike, the items of one group could as well be those of the other. So membership is permuted,
all judgments kept, and the gap divided by its own standard error each time,

.. math:: p = \frac{1 + \#\{|T^*_b| \ge |T|\}}{1 + B}, \qquad T = \frac{d}{\sqrt{\hat V}}.

Where items are exchangeable between groups and pairs are drawn without regard to groups, all orders
of :math:`T, T^*_1, \dots, T^*_B` are equally likely, so that :math:`P(p \le \alpha) \le \alpha`
whatever the items are like. Where they are not (one group's items are used more often, or the gap
of another hypothesis is real), the permutation is right for many items only, as the normal test is
[1]_; with groups of 25 and 75 items used by rank it alone rejects in 0.135. So the larger p value
of the two counts: the test keeps its level where either of them does.

**Evaluators and clusters.** Leans of evaluators make gaps that no permutation of items has. The
gap is then divided by the error that allows for leans, and compared with the same
:math:`T^*_b`, whose tails are at least as heavy as those of a sum of skewed items and leans; the
usual test, which knows how few evaluators there are, has to reject, too.

**Pairs within groups alone.** Items that met only items of their own group cannot change groups:
their pairs would be across. What is dealt out is then the mean outcome :math:`m_i` of each item,

.. math:: T^* = \frac{\bar m^*_a - \bar m^*_b}{\sqrt{v^*_a + v^*_b}}, \qquad
    v_g = \sum_{i \in g} s_i^2 (m_i - \bar m_g)^2,

with :math:`s_i` the item's share of the judgments of the group it is dealt to, where items of all
groups are used alike on average. Both items of a pair are of the
group, so that its rate varies twice as much as such a mean:
:math:`T = d / (2 \sqrt{v_a + v_b})`.

**When it is asked.** A permutation costs power where it is not needed: cells of few judgments have
a rough error, and its dealings know no better. The sum of :math:`n` items of skewness
:math:`\gamma`, over its own error, has a one-sided level of 0.05 that is off by

.. math:: \frac{2 z^2 + 1}{6} \varphi(z) \frac{|\gamma|}{\sqrt n} s^{3/2}

(Edgeworth, as in :mod:`comparity.inference.permuted_means`), where :math:`s` is the share of the
variance that items account for, and not the chance of single judgments. Items are permuted where a
group has few of them and this is above 0.015. Skewness is taken over items of all groups: a small
group that happens to hold no bad item shows none, which is when the normal test fails.

With cells :math:`c` of better group :math:`a` and worse group :math:`b` (or several cells pooled
into one rate, as in marginal accuracies), coefficients :math:`k_c`,
trials :math:`n_c` and rates :math:`r_c`, :math:`d = \sum_c k_c r_c`. Its variance is taken where
there is no gap, at the rates nearest to the observed ones by trials,

.. math::

    r^0_c = r_c - d \frac{k_c / n_c}{\sum_{c'} k_{c'}^2 / n_{c'}}, \qquad
    \hat V = \max\Big(\sum_i e_i^2 - O, O\Big),

with :math:`e_i` the sum over the judgments of item :math:`i` of
:math:`(h - r^0_c) k_c / n_c`, and :math:`O` the sum of the squares of these residuals, which
:math:`\sum_i e_i^2` holds twice. For two cells :math:`r^0` is the pooled rate. Defined by the loops
in ``tests/plain/item_permutation.py``.

References
----------
.. [1] Chung and Romano (2013), "Exact and asymptotically robust permutation tests", Annals of
   Statistics 41.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from comparity.counts.pairs import Sharing
from comparity.inference.dealt_pairs import DENSE_SHARE, DealtPairs, Part, permute
from comparity.inference.gap_tests import NORMAL, GapTest, Interval, Pivot, Reference, Statistic
from comparity.inference.permuted_means import SLOPE, TOLERATED
from comparity.inference.pivots import NOTHING

Floats = NDArray[np.float64]

METHOD = "studentised permutation of items"

REASON = (
    "rests on few items, so the larger of two p values is used: that of the usual test and that of "
    "a permutation of items, which is valid if items of the groups are exchangeable."
)

FEW_ITEMS = 100
"""Below so many items in a group, evenly used, gaps are checked by permutation.

Cochran's rule believes the normal distribution of a count from five expected on, and of a hundred
items five are of a kind that one in twenty belongs to.
"""

DRAWS, FEWEST_DRAWS = 999, 499
"""Permutations of few items, and of many: a p value of 0.05 is known to 0.007 and 0.010."""

MOST_WORK = 4e9
"""Products that permuting may cost, some seconds; what costs more keeps the usual test."""

TAIL = 0.02
"""Of statistics beyond this share there are too few draws; the tail of a normal distribution,
scaled to the quantile there, stands for them."""

SAME_STATISTIC = 1e-9
"""Two statistics this close, relatively, are one number reached by sums in another order."""


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

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance, which is that of no gap whatever is `hypothesised`."""
        return self.standard_error**2

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        half = self.reference.quantile(1 - level) * self.standard_error
        return Interval(max(self.gap - half, -1.0), min(self.gap + half, 1.0), level)

    def statistic(self, hypothesised: float) -> float:
        """Return the distance between observed and hypothesised gap in standard errors."""
        return (self.gap - hypothesised) / self.standard_error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnReference(Reference):
    """The distribution of a statistic's size, as permutations drew it.

    Attributes
    ----------
    sizes : ndarray of float
        Absolute values of the drawn statistics, in ascending order.
    """

    sizes: Floats

    def tail(self, statistic: float) -> float:
        """Return half the share of sizes at least this large, the data counted as one of them."""
        half = self._share(abs(statistic)) / 2
        return half if statistic >= 0 else 1 - half

    def _share(self, size: float) -> float:
        if size > self.quantile(TAIL):
            return float(2 * ndtr(-size * self._scale))
        above = len(self.sizes) - int(np.searchsorted(self.sizes, size * (1 - SAME_STATISTIC)))
        return (1 + above) / (1 + len(self.sizes))

    def quantile(self, alpha: float) -> float:
        """Return the size a statistic has to exceed to be rejected at `alpha`."""
        if alpha < TAIL:
            return float(-ndtri(alpha / 2)) / self._scale
        place = math.floor(alpha * (1 + len(self.sizes)) + SAME_STATISTIC)
        return float(self.sizes[max(len(self.sizes) - place, 0)]) * (1 + SAME_STATISTIC)

    @property
    def _scale(self) -> float:
        """What a normal quantile is divided by to be one of the draws."""
        return float(-ndtri(TAIL / 2)) / max(self.quantile(TAIL), NOTHING)


@dataclass(frozen=True, slots=True)
class BothTests:
    """Two tests of one gap that both have to reject: a pivot."""

    one: Pivot
    two: Pivot

    def p_value(self, hypothesised: float) -> float:
        """Return the larger p value of ``gap = hypothesised``."""
        return max(self.one.p_value(hypothesised), self.two.p_value(hypothesised))

    def p_below(self, hypothesised: float) -> float:
        """Return the larger p value of ``gap >= hypothesised``."""
        return max(self.one.p_below(hypothesised), self.two.p_below(hypothesised))

    def p_above(self, hypothesised: float) -> float:
        """Return the larger p value of ``gap <= hypothesised``."""
        return max(self.one.p_above(hypothesised), self.two.p_above(hypothesised))

    def interval(self, level: float) -> Interval:
        """Return the gaps that either test does not reject."""
        first, second = self.one.interval(level), self.two.interval(level)
        return Interval(min(first.low, second.low), max(first.high, second.high), level)


def check_by_permutation(
    tests: Sequence[GapTest],
    gaps: Sequence[Sequence[Part]],
    sharing: Sharing,
    pairs_of: Callable[[], DealtPairs | None],
    *,
    only_items: bool = True,
) -> list[GapTest]:
    """Let tests that rest on few items reject only where a permutation of items does, too.

    Parameters
    ----------
    tests : sequence of GapTest
        The usual tests.
    gaps : sequence of sequences of Part
        The rates that each test compares.
    sharing : Sharing
        Judgments by cell.
    pairs_of : callable
        Returns the judgments item by item, or nothing where items are not exchangeable; called only
        where there is something to permute.
    only_items : bool
        Whether judgments share nothing but items. If they share evaluators or clusters, too, the
        gap is divided by the error that knows of these, where it is larger.
    """
    found = list(tests)
    few = [
        place
        for place, test in enumerate(tests)
        if test.pivot is not None and _items_of_a_group(test, sharing, gaps[place]) < FEW_ITEMS
    ]
    if not few:
        return found
    pairs = pairs_of()
    if pairs is None:
        return found
    skewness = abs(pairs.skewness())
    few = [
        place
        for place in few
        if skewness * _weight_of_skewness(tests[place], sharing, gaps[place]) > TOLERATED
    ]
    if not few:
        return found
    draws = _affordable_draws(pairs, len(few))
    if not draws:
        return found
    sizes, errors = permute(pairs, [gaps[place] for place in few], draws)
    for place, drawn, error in zip(few, np.sort(sizes, axis=1), errors.tolist(), strict=True):
        test = found[place]
        assert test.pivot is not None
        permuted = NullGap(
            gap=test.gap,
            standard_error=max(error, NOTHING if only_items else test.standard_error),
            reference=DrawnReference(sizes=drawn),
        )
        both = BothTests(test.pivot, permuted)
        found[place] = replace(
            test,
            p_value=both.p_value(0.0),
            pivot=both,
            method=f"{test.method}, {METHOD}",
            reason=test.reason or REASON,
        )
    return found


def _items_of_a_group(test: GapTest, sharing: Sharing, gap: Sequence[Part]) -> float:
    """Return the evenly used items of a group that the scarcest rate rests on."""
    if any(len(part.cells) > 1 for part in gap):
        # The other item of such a pair is of any group; those of the rarer role are few.
        return float(test.smallest_role or 0)
    items = dict(zip(sharing.cells, sharing.effective_items.tolist(), strict=True))
    # Pairs across groups share their items between two groups.
    return min(float(items[cell]) / (1 + (cell.better != cell.worse)) for _, (cell,) in gap)


def _weight_of_skewness(test: GapTest, sharing: Sharing, gap: Sequence[Part]) -> float:
    r"""Return how much a one-sided level of 0.05 is off for each unit of skewness of items.

    See the module: :math:`(2 z^2 + 1) \varphi(z) s^{3/2} / (6 \sqrt n)`.
    """
    variance = test.standard_error**2
    share = min(test.shared_variance / variance, 1.0) if variance > NOTHING else 1.0
    return float(SLOPE * share**1.5 / math.sqrt(max(_items_of_a_group(test, sharing, gap), 1.0)))


def _affordable_draws(pairs: DealtPairs, contrasts: int) -> int:
    """Return how many permutations there is time for; none where even few take too long."""
    n, filled = len(pairs), len(pairs.trials)
    # A product with an array takes a quarter of the time.
    filled = n * n // 4 if filled > DENSE_SHARE * n * n else filled
    each = 7 * len(pairs.groups) * filled + 60 * contrasts * n
    draws = min(int(MOST_WORK / max(each, 1)), DRAWS)
    return draws if draws >= FEWEST_DRAWS else 0
