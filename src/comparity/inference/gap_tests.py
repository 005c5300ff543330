"""Tests of gaps and rates, with their error."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from scipy.special import ndtr, ndtri, stdtr, stdtrit


def plain(value: float | None) -> float | None:
    """Return a float that JSON can hold; what is not finite is ``None``.

    Examples
    --------
    >>> plain(0.5), plain(float("nan")), plain(None)
    (0.5, None, None)
    """
    return None if value is None or not math.isfinite(value) else float(value)


EPSILON = math.ulp(1.0)

# No sample is as large; margins and levels next to zero would ask for more.
MOST_ITEMS = 2**53


class Interval(NamedTuple):
    """A confidence interval and its level."""

    low: float
    high: float
    level: float


class Pivot(Protocol):
    """What a test of a gap can be asked: any hypothesised gap, either side, any level."""

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The distribution a statistic is compared with.

    Attributes
    ----------
    n_clusters : int
        Independent clusters behind the variance; 0 for the normal distribution.
    """

    n_clusters: int = 0

    def tail(self, statistic: float) -> float:
        """Return the probability of a statistic at least this large."""
        if not self.n_clusters:
            return float(ndtr(-statistic))
        room = self.n_clusters - statistic**2
        if room <= 0:
            return 0.0 if statistic > 0 else 1.0
        t = statistic * math.sqrt((self.n_clusters - 1) / room)
        return float(stdtr(self.n_clusters - 1, -t))

    def quantile(self, alpha: float) -> float:
        """Return the size a statistic has with probability `alpha`, on either side."""
        if not self.n_clusters:
            return float(-ndtri(alpha / 2))
        t = float(-stdtrit(self.n_clusters - 1, alpha / 2))
        return t * math.sqrt(self.n_clusters / (self.n_clusters - 1 + t * t))


NORMAL = Reference()
"""The distribution of a statistic that sums over many items."""


class Statistic(ABC):
    """A statistic of the hypothesised gap and its distribution: what p values follow from."""

    __slots__ = ()

    @property
    @abstractmethod
    def reference(self) -> Reference:
        """The distribution the statistic is compared with."""

    @abstractmethod
    def statistic(self, hypothesised: float) -> float:
        """Return the distance between observed and hypothesised gap in standard errors."""

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        return min(1.0, 2 * self.reference.tail(abs(self.statistic(hypothesised))))

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        return self.reference.tail(-self.statistic(hypothesised))

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        return self.reference.tail(self.statistic(hypothesised))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A test that was made elsewhere: only what was written down can be asked."""

    known: tuple[Interval, ...]
    p: float

    def p_value(self, hypothesised: float) -> float:
        """Return the p value of no gap; of another gap nothing is known."""
        return self.p if hypothesised == 0 else math.nan

    def p_below(self, hypothesised: float) -> float:
        """Return nothing: one side was not written down."""
        return math.nan

    def p_above(self, hypothesised: float) -> float:
        """Return nothing: one side was not written down."""
        return math.nan

    def interval(self, level: float) -> Interval:
        """Return the interval that was written down; at another level nothing is known."""
        unknown = Interval(math.nan, math.nan, level)
        return next((one for one in self.known if one.level == level), unknown)


def items_to_see(margin: float, alpha: float) -> int:
    r"""Return how many items of a group it takes to have seen what could fill a margin.

    .. math:: n \ge \frac{2 \ln(1 / \alpha)}{margin}

    A share :math:`q` of a group's items may be hopeless: the model loses every pair with one of
    them. None is among :math:`n` items with probability :math:`(1 - q)^n \le e^{-q n}`, so that
    at error rate :math:`\alpha` a share of up to :math:`\ln(1 / \alpha) / n` can go unseen
    (3 / n at 0.05, the rule of three [1]_). Every pair within the group has two items, and loses
    :math:`2 q` of its agreement. Of a pair across groups only one item is of the group, but an item
    that is hopeless as the better one alone is met there among half of the items: the same
    :math:`2 q`. The largest gap that can go unseen, :math:`2 \ln(1 / \alpha) / n`, has to be below
    the margin. No test of the pairs can know it: nothing in them hints at items not met.

    Where labels say which item of a pair is the better one, an item may have one role only: items
    with the higher of two labels are never the worse ones. Of a kind of pairs with :math:`n_1`
    items in one role and :math:`n_2` in the other, shares of :math:`q_1` and :math:`q_2` go unseen
    with probability :math:`e^{-q_1 n_1 - q_2 n_2}` at most, and cost :math:`q_1 + q_2`. The most
    that can go unseen is :math:`\ln(1 / \alpha) / \min(n_1, n_2)`: half as many items are needed,
    of either role.

    References
    ----------
    .. [1] Hanley and Lippman-Hand (1983), "If nothing goes wrong, is everything all right?", JAMA
       249.

    Examples
    --------
    >>> items_to_see(0.05, 0.05), items_to_see(0.2, 0.05)
    (120, 30)
    >>> items_to_see(1.0, 5e-324) == math.ceil(2 * 1074 * math.log(2))
    True
    """
    return math.ceil(min(-2 * math.log(alpha) / margin, MOST_ITEMS))


@dataclass(frozen=True, slots=True, kw_only=True)
class GapTest:
    """Two-sided test that two proportions are equal.

    Attributes
    ----------
    null : str
        The hypothesis in words, such as ``"agree(a > b) = agree(b > a)"``.
    gap : float
        First proportion minus second.
    standard_error : float
        Standard error of the gap: at the observed rates where counts are large or pairs are
        shared, at the pooled rate in the small-sample tests of independent proportions.
    p_value : float
        Probability, if the null holds, of a gap at least this large; ``nan`` where no test is
        possible, and then `reason` says why.
    n : tuple of int
        Trials behind the first and the second proportion.
    method : str
        Name of the test.
    pivot : Pivot or None
        The test as a function of the hypothesised gap; ``None`` where no test is possible.
    shared_variance : float
        The part of the squared standard error that stays when more judgments are made on the same
        items by the same evaluators; 0 where items and evaluators are fresh.
    reason : str
        Why no test was possible, or what the test had to do without.
    smallest_group : int or None
        Items in the smallest of the groups that the gap is about; ``None`` where pairs are not
        what is tested.
    smallest_role : int or None
        Items in the scarcer role, the better or the worse one, of the kinds of pairs compared;
        ``None`` where judges say which item is the better one.
    """

    null: str
    gap: float
    standard_error: float
    p_value: float
    n: tuple[int, int]
    method: str
    # A function cannot be written down; what is read back knows the intervals that were.
    pivot: Pivot | None = field(compare=False, metadata={"written": False})
    shared_variance: float = 0.0
    reason: str = ""
    smallest_group: int | None = None
    smallest_role: int | None = None

    def interval(self, level: float = 0.95) -> Interval:
        """Return the gaps this very test does not reject at ``1 - level``."""
        if self.pivot is None:
            return Interval(math.nan, math.nan, level)
        return self.pivot.interval(level)

    def equivalence_p_value(self, margin: float) -> float:
        """Return the p value of "the gap is at least `margin` in size" (two one-sided tests)."""
        if self.pivot is None:
            return math.nan
        return max(self.pivot.p_below(margin), self.pivot.p_above(-margin))

    def has_seen_enough(self, margin: float, alpha: float) -> bool:
        """Return whether bad items that could fill the margin would have been met."""
        return self.share_seen(margin, alpha) >= 1

    def share_seen(self, margin: float, alpha: float) -> float:
        """Return the share of the items that it takes to have met such bad ones; 1 for all."""
        needed = items_to_see(margin, alpha)
        met = [self.smallest_group, self.smallest_role and 2 * self.smallest_role]
        return min((one / needed for one in met if one is not None), default=1.0)


def untested_gap(
    null: str, n: tuple[int, int], reason: str, *, gap: float = math.nan, method: str = "none"
) -> GapTest:
    """Return the test of a gap that no test is possible for, with the reason."""
    return GapTest(
        null=null,
        gap=gap,
        standard_error=math.nan,
        p_value=math.nan,
        n=n,
        method=method,
        pivot=None,
        reason=reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """How much more data would decide an open question, at 80 % power.

    Each pair of numbers is for two truths: the gap is what was observed, and the gap is zero. If it
    is what was observed, any finding counts as a decision; if it is zero, only the right one.

    Attributes
    ----------
    judgments : tuple of (int or None)
        Judgments in all, on the same items and by the same evaluators; ``None`` where no number
        of judgments would do.
    items : tuple of int
        Items in all, if items, evaluators and judgments grow in the present ratio.
    judgments_with_items : tuple of int
        Judgments in all that go with `items`.
    """

    judgments: tuple[int | None, int | None]
    items: tuple[int, int]
    judgments_with_items: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTest:
    """A test of several equalities at once; reported, never judged.

    Attributes
    ----------
    null : str
        The hypothesis in words.
    statistic, dof, p_value : float
        Chi-square statistic, its degrees of freedom and its p value; ``nan`` where not testable.
    method : str
        Name of the test.
    """

    null: str
    statistic: float
    dof: int
    p_value: float
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RateEstimate:
    """One proportion with its interval.

    Attributes
    ----------
    name : str
        What it is a rate of: ``"agreement"``, ``"true positive rate"``, ...
    of : str
        The group or cell.
    rate : float
        The proportion; ``nan`` without trials.
    trials : int
        Number of trials.
    score_ties : int
        Trials in which the model's scores tied.
    interval : Interval
        95 % interval of the rate.
    """

    name: str
    of: str
    rate: float
    trials: int
    score_ties: int
    interval: Interval


def find_limit(excess: Callable[[float], float], inside: float, end: float, step: float) -> float:
    """Return where a function that is negative at `inside` becomes positive towards `end`.

    Walks in growing steps, the first of the size given; `end` if it stays negative.
    """
    direction = math.copysign(1.0, end - inside)
    near, reach = inside, max(step, 1e-9)
    at_near: float | None = None
    while abs(near - end) > 4 * EPSILON:
        far = inside + direction * min(reach, abs(end - inside))
        at_far = excess(far)
        if at_far > 0:
            at_near = excess(near) if at_near is None else at_near
            ends = (at_near, min(at_far, 1e6))
            return find_root(lambda x: min(excess(x), 1e6), near, far, at_ends=ends)
        near, at_near, reach = far, at_far, 1.5 * reach
    return end


def find_root(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    tolerance: float = 1e-12,
    at_ends: tuple[float, float] | None = None,
) -> float:
    """Return where a continuous function changes its sign between two places.

    `at_ends` are its values there, where they are known.

    By Chandrupatla (1997): a step of inverse quadratic interpolation where it is safe, otherwise of
    bisection. SciPy has it and the like in a module that takes a quarter of a second to import,
    for every command.

    Examples
    --------
    >>> round(find_root(lambda x: x * x - 2, 0, 2), 9)
    1.414213562
    """
    a, b = float(high), float(low)
    at_b, at_a = at_ends or (function(b), function(a))
    if at_a == 0 or at_b == 0:
        return a if at_a == 0 else b
    assert (at_a < 0) != (at_b < 0), (low, high)
    c, at_c, step = a, at_a, 0.5
    while True:
        place = a + step * (b - a)
        value = function(place)
        if (value < 0) == (at_a < 0):
            c, at_c = a, at_a
        else:
            b, c, at_b, at_c = a, b, at_a, at_b
        a, at_a = place, value
        best, least = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        allowed = tolerance + 2 * EPSILON * abs(best)
        if least == 0 or abs(b - a) <= 2 * allowed:
            return best
        nearest = allowed / abs(b - a)
        xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        step = 0.5
        if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
            step = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            step += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        step = min(1 - nearest, max(nearest, step))
