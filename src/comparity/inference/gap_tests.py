"""Tests of gaps and rates, with their error, and which of several tests to reject."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "GapTest",
    "HolmOutcome",
    "Interval",
    "JointTest",
    "Needed",
    "Pivot",
    "RateEstimate",
    "Recorded",
    "benjamini_hochberg",
    "holm",
    "plain",
    "uncorrected",
    "untested_gap",
]


def plain(value: float | None) -> float | None:
    """Return a float that JSON can hold; what is not finite is ``None``.

    Examples
    --------
    >>> plain(0.5), plain(float("nan")), plain(None)
    (0.5, None, None)
    """
    return None if value is None or not math.isfinite(value) else float(value)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HolmOutcome:
    """What a rule for several tests made of their p values, in the order they were given.

    Attributes
    ----------
    adjusted : tuple of float
        Adjusted p values: the smallest overall level at which each test is rejected; ``nan`` where
        the p value is ``nan``.
    rejected : tuple of bool
        Whether each test is rejected.
    local_alpha : tuple of float
        The level each test was judged at: a test is rejected exactly when its p value does not
        exceed (for :func:`uncorrected`, is below) this level.
    """

    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]
    local_alpha: tuple[float, ...]


def holm(p_values: Sequence[float], alpha: float) -> HolmOutcome:
    r"""Reject as many of `m` tests as possible while any false alarm has probability `alpha`.

    The p values are taken from the smallest up; the one at rank :math:`k` is compared with

    .. math:: \alpha_k = \frac{\alpha}{m - k + 1}

    and the first that exceeds its level stops the procedure. Tests after that one count as judged
    at the level of the step that failed. The rule holds for any dependence between the tests [1]_.

    Parameters
    ----------
    p_values : sequence of float
        One for each test. A ``nan`` says that no test was made: it is not part of the family, is
        not rejected, and gets the level ``alpha / m`` (`alpha` in an empty family).
    alpha : float
        Probability of at least one false alarm.

    Returns
    -------
    HolmOutcome
        Adjusted p values, rejections and the level of each test.

    References
    ----------
    .. [1] Holm (1979), "A simple sequentially rejective multiple test procedure".

    Examples
    --------
    >>> outcome = holm([0.04, 0.01, 0.03], 0.05)
    >>> outcome.rejected
    (False, True, False)
    >>> outcome.adjusted
    (0.06, 0.03, 0.06)
    """
    p = np.asarray(p_values, dtype=np.float64)
    family = np.flatnonzero(~np.isnan(p))
    m = len(family)
    adjusted = np.full(len(p), np.nan)
    rejected = np.zeros(len(p), dtype=bool)
    local = np.full(len(p), alpha / max(m, 1))
    ranked = family[np.argsort(p[family], kind="stable")]
    levels = alpha / np.arange(m, 0, -1)
    passed = np.logical_and.accumulate(p[ranked] <= levels)
    # All that follow the first failure are judged at the level of that step.
    failing = int(passed.sum())
    levels[failing + 1 :] = levels[failing : failing + 1]
    rejected[ranked] = passed
    local[ranked] = levels
    adjusted[ranked] = np.minimum(1, np.maximum.accumulate(p[ranked] * np.arange(m, 0, -1)))
    return _make_outcome(adjusted, rejected, local)


def uncorrected(p_values: Sequence[float], alpha: float) -> HolmOutcome:
    r"""Judge each test at `alpha`, as if it were the only one.

    With two independent tests at 0.05 the chance of a false alarm is :math:`1 - 0.95^2 = 0.0975`.
    This is the rule of [1]_, which rejects when the p value is strictly below `alpha`.

    Parameters
    ----------
    p_values : sequence of float
        One for each test; ``nan`` is never rejected.
    alpha : float
        Level of every test.

    Returns
    -------
    HolmOutcome
        The p values as they are, rejections, and `alpha` for every test.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Section 3.3.

    Examples
    --------
    >>> uncorrected([0.04, 0.05], 0.05).rejected
    (True, False)
    """
    p = np.asarray(p_values, dtype=np.float64)
    return _make_outcome(p, p < alpha, np.full(len(p), alpha))


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    r"""Adjust p values so that rejecting those below a level keeps the false-discovery rate there.

    .. math:: q_{(k)} = \min_{j \ge k} \min\left(1, \frac{m \, p_{(j)}}{j}\right)

    Among the tests with q at most :math:`\alpha`, the expected share of false alarms is at most
    :math:`\alpha` where tests are independent or positively dependent [1]_.

    Parameters
    ----------
    p_values : array_like
        Of any shape. A ``nan`` says that no test was made: it stays ``nan`` and is not counted.

    Returns
    -------
    ndarray
        q values, in the shape of the p values.

    References
    ----------
    .. [1] Benjamini and Hochberg (1995), "Controlling the false discovery rate".

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.5]).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    p = np.asarray(p_values, dtype=np.float64)
    flat, adjusted = p.ravel(), np.full(p.size, np.nan)
    family = np.flatnonzero(~np.isnan(flat))
    ranked = family[np.argsort(flat[family], kind="stable")]
    scaled = flat[ranked] * len(ranked) / np.arange(1, len(ranked) + 1)
    adjusted[ranked] = np.minimum(1, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted.reshape(p.shape)


def _make_outcome(
    adjusted: NDArray[np.float64],
    rejected: NDArray[np.bool_],
    local_alpha: NDArray[np.float64],
) -> HolmOutcome:
    return HolmOutcome(
        adjusted=tuple(adjusted.tolist()),
        rejected=tuple(rejected.tolist()),
        local_alpha=tuple(local_alpha.tolist()),
    )
