r"""Gaps that rest on few items: groups are dealt out anew among the items.

A model that loses every pair with one item in twenty has a very skewed agreement by item. Of 40
items two are such, or none, or five, and sums over 40 of them are far from normal: with 4 to 5 % of
hopeless items the normal test finds up to 0.2 gaps that are not there. But if the model treats
groups alike, the items of one group could as well be those of the other. So membership is dealt out
anew, all judgments kept, and the gap divided by its own standard error each time,

.. math:: p = \frac{1 + \#\{|T^*_b| \ge |T|\}}{1 + B}, \qquad T = \frac{d}{\sqrt{\hat V}}.

Where items are exchangeable between groups and pairs are drawn without regard to groups, all orders
of :math:`T, T^*_1, \dots, T^*_B` are equally likely, so that :math:`P(p \le \alpha) \le \alpha`
whatever the items are like. Where they are not (one group's items are used more often, or the gap
of another hypothesis is real), the permutation is right for many items only, as the normal test is
[1]_; with groups of 25 and 75 items used by rank it alone rejects in 0.135. So the larger p value
of the two counts: the test keeps its level where either of them does.

With cells :math:`c` of better group :math:`a` and worse group :math:`b`, coefficients :math:`k_c`,
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
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri

from comparity.counts.pairs import Cell, Sharing
from comparity.inference.gap_tests import GapTest, Interval, Pivot, Reference
from comparity.inference.pivots import NOTHING, NullGap

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Sides = tuple[tuple[Cell, ...], tuple[Cell, ...]]

METHOD = "studentised permutation of items"

REASON = (
    "rests on few items, so that the larger p value of the usual test and of a permutation of "
    "items counts; it keeps its level where items of the groups are exchangeable."
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

AT_ONCE = 2**18
"""Items times permutations that are worked out together."""

DENSE_SHARE = 0.05
"""Tables with a larger share of filled places are held as arrays: products are faster."""

TAIL = 0.02
"""Of statistics beyond this share there are too few draws; the tail of a normal distribution,
scaled to the quantile there, stands for them."""

SAME = 1e-9
"""Two statistics this close, relatively, are one number reached by sums in another order."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DealtPairs:
    """Judged pairs of items, and what can be dealt out anew among these.

    Attributes
    ----------
    better, worse : ndarray of int
        Positions of the two items, from 0 on.
    outcome : ndarray of float
        1 where the model agrees, 0 where not, one half for a tie that counts so.
    trials : ndarray of float
        How often the pair was judged so.
    group : ndarray of int
        Position of each item's group in `groups`.
    weight : ndarray of float
        What each item weighs; it goes where the membership goes.
    stratum : ndarray of int
        Items of one stratum change places with each other.
    groups : tuple of str
    """

    better: Codes
    worse: Codes
    outcome: Floats
    trials: Floats
    group: Codes
    weight: Floats
    stratum: Codes
    groups: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.group)

    def table(self, amount: Floats) -> Any:
        """Return sums by better item (in rows) and worse item."""
        n = len(self)
        table = csr_array((self.trials * amount, (self.better, self.worse)), shape=(n, n))
        return table.toarray() if table.nnz > DENSE_SHARE * n * n else table

    def in_order(self) -> DealtPairs:
        """Return the same with items in an order that does not depend on the one they came in."""
        hits = self.trials * self.outcome
        traits = [self._sums_by_item(one, 2 * one) for one in (self.trials, hits)]
        # Items alike in their judgments are told apart by those of the items they met.
        traits += [self._sums_by_item(hits * one[self.worse], one[self.better]) for one in traits]
        order = np.lexsort((*traits, self.weight, self.stratum, self.group))
        place = np.argsort(order)
        return replace(
            self,
            better=place[self.better],
            worse=place[self.worse],
            group=self.group[order],
            weight=self.weight[order],
            stratum=self.stratum[order],
        )

    def _sums_by_item(self, of_better: Floats, of_worse: Floats) -> Floats:
        sums = np.bincount(self.better, of_better, len(self))
        return np.round(sums + np.bincount(self.worse, of_worse, len(self)), 6)

    def deal(self, draws: int, rng: np.random.Generator) -> Codes:
        """Return from which item every item gets its membership; draws beside each other."""
        source = np.empty((len(self), draws), dtype=np.int64)
        for stratum in np.unique(self.stratum):
            rows = np.flatnonzero(self.stratum == stratum)
            source[rows] = rng.permuted(np.repeat(rows[:, None], draws, axis=1), axis=0)
        return source


class _Dealt:
    """Counts by cell and by item, for many ways to deal out membership."""

    def __init__(self, pairs: DealtPairs, tables: Sequence[Any], source: Codes) -> None:
        member = pairs.group[source]
        weight = pairs.weight[source]
        self.code = {group: code for code, group in enumerate(pairs.groups)}
        self.member = [weight * (member == code) for code in range(len(pairs.groups))]
        trials, hits, squares = tables
        self.as_better = [(trials @ one, hits @ one) for one in self.member]
        self.as_worse = [(trials.T @ one, hits.T @ one) for one in self.member]
        # Of a residual's square each item's weight counts squared.
        self.squared = [one**2 for one in self.member]
        self.own = [tuple(table @ one for table in (trials, hits, squares)) for one in self.squared]

    def statistics(self, sides: Sides) -> tuple[Floats, Floats]:
        """Return the gap of every dealing, and its variance where there is no gap."""
        cells = [(self.code[cell.better], self.code[cell.worse]) for side in sides for cell in side]
        n, hits = (
            np.array([(self.member[a] * self.as_better[b][of]).sum(axis=0) for a, b in cells])
            for of in range(2)
        )
        coefficient = np.repeat([1 / len(sides[0]), -1 / len(sides[1])], list(map(len, sides)))
        with np.errstate(divide="ignore", invalid="ignore"):
            # Dealings that leave a cell empty have no gap, and count as extreme ones.
            gap = coefficient @ (hits / n)
            share = coefficient[:, None] / n
            rates = hits / n - gap * share / (share * coefficient[:, None]).sum(axis=0)
            rates = np.clip(rates, 0.0, 1.0)
            parts = list(zip(cells, rates, share, strict=True))
            sums = np.sum([self._residuals(*one) for one in parts], axis=0)
            own = np.sum([self._own(*one) for one in parts], axis=0)
            return gap, np.maximum((sums**2).sum(axis=0) - own, own)

    def _residuals(self, cell: tuple[int, int], rate: Floats, share: Floats) -> Floats:
        """Return the sum of the residuals of each item in one cell."""
        better, worse = cell
        sums: Floats = np.zeros(self.member[0].shape)
        for one, of in ((better, self.as_better[worse]), (worse, self.as_worse[better])):
            sums += self.member[one] * (share * (of[1] - rate * of[0]))
        return sums

    def _own(self, cell: tuple[int, int], rate: Floats, share: Floats) -> Floats:
        """Return the sum of the squares of the residuals of all judgments in one cell."""
        trials, hits, squares = self.own[cell[1]]
        residual = squares - 2 * rate * hits + rate**2 * trials
        total: Floats = share**2 * (self.squared[cell[0]] * residual).sum(axis=0)
        return total


def permute(pairs: DealtPairs, sides: Sequence[Sides], draws: int) -> tuple[Floats, Floats]:
    """Return the sizes of statistics of dealt out data, by contrast, and the standard errors.

    Standard errors are those of the data where there is no gap. The same data get the same
    dealings, in whatever order items come; other data get others, since one set of dealings for all
    would be a little too strict or too lax for all.
    """
    pairs = pairs.in_order()
    outcome = pairs.outcome
    tables = [pairs.table(amount) for amount in (np.ones_like(outcome), outcome, outcome**2)]
    seen = _Dealt(pairs, tables, np.arange(len(pairs))[:, None])
    errors = np.array([np.sqrt(seen.statistics(one)[1][0]) for one in sides])
    rng = np.random.default_rng(zlib.crc32(np.bincount(pairs.better, outcome).tobytes()))
    part, found = max(1, AT_ONCE // max(len(pairs), 1)), []
    for start in range(0, draws, part):
        dealt = _Dealt(pairs, tables, pairs.deal(min(part, draws - start), rng))
        found.append(np.array([_sizes(*dealt.statistics(one)) for one in sides]))
    return np.concatenate(found, axis=1), errors


def _sizes(gap: Floats, variance: Floats) -> Floats:
    sizes = np.abs(gap) / np.sqrt(np.maximum(variance, NOTHING))
    sizes = np.where((variance < NOTHING) & (np.abs(gap) < NOTHING), 0.0, sizes)
    found: Floats = np.where(np.isnan(sizes), np.inf, sizes)
    return found


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
        above = len(self.sizes) - int(np.searchsorted(self.sizes, size * (1 - SAME)))
        return (1 + above) / (1 + len(self.sizes))

    def quantile(self, alpha: float) -> float:
        """Return the size a statistic has to exceed to be rejected at `alpha`."""
        if alpha < TAIL:
            return float(-ndtri(alpha / 2)) / self._scale
        place = math.floor(alpha * (1 + len(self.sizes)) + SAME)
        return float(self.sizes[max(len(self.sizes) - place, 0)]) * (1 + SAME)

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
    sides: Sequence[Sides],
    sharing: Sharing,
    pairs_of: Callable[[], DealtPairs | None],
) -> list[GapTest]:
    """Let tests that rest on few items reject only where a permutation of items does, too.

    Parameters
    ----------
    tests : sequence of GapTest
        The usual tests.
    sides : sequence of two tuples of Cell
        The cells whose mean rates each test compares.
    sharing : Sharing
        Judgments by cell.
    pairs_of : callable
        Returns the judgments item by item, or nothing where items are not exchangeable; called only
        where there is something to permute.
    """
    found = list(tests)
    few = [
        place
        for place, test in enumerate(tests)
        if test.pivot is not None and _has_few_items(sharing, (*sides[place][0], *sides[place][1]))
    ]
    if not few:
        return found
    pairs = pairs_of()
    draws = 0 if pairs is None else _affordable_draws(pairs, len(few))
    if pairs is None or not draws:
        return found
    sizes, errors = permute(pairs, [sides[place] for place in few], draws)
    for place, drawn, error in zip(few, np.sort(sizes, axis=1), errors.tolist(), strict=True):
        test = found[place]
        assert test.pivot is not None
        permuted = NullGap(
            gap=test.gap,
            standard_error=max(error, NOTHING),
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


def _has_few_items(sharing: Sharing, cells: Sequence[Cell]) -> bool:
    """Say whether the pairs of some cell rest on few evenly used items of a group."""
    items = dict(zip(sharing.cells, sharing.effective_items.tolist(), strict=True))
    # Pairs across groups share their items between two groups.
    return any(items[cell] < FEW_ITEMS * (1 + (cell.better != cell.worse)) for cell in cells)


def _affordable_draws(pairs: DealtPairs, contrasts: int) -> int:
    """Return how many permutations there is time for; none where even few take too long."""
    n, filled = len(pairs), len(pairs.trials)
    # A product with an array takes a quarter of the time.
    filled = n * n // 4 if filled > DENSE_SHARE * n * n else filled
    each = 7 * len(pairs.groups) * filled + 60 * contrasts * n
    draws = min(int(MOST_WORK / max(each, 1)), DRAWS)
    return draws if draws >= FEWEST_DRAWS else 0
