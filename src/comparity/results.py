"""Frozen answers: tests of gaps, rates with their error, and audits made of them.

A result knows its question, its counts and its error. What depends on a choice (a confidence
level, a margin) is a method. Findings and exit statuses are put in by the desk
(:mod:`comparity.auditing.verdicts`), which alone knows the words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from comparity.showing import Shown, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Audit",
    "GapTest",
    "Interval",
    "JointTest",
    "JudgedGap",
    "Needed",
    "Pivot",
    "RateEstimate",
    "Ties",
]


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
    pivot: Pivot | None = field(compare=False)
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

    def to_dict(self) -> dict[str, Any]:
        """Return the pairs of numbers as lists: for the gap as observed, and for no gap."""
        return {
            "judgments_on_same_items": list(self.judgments),
            "items": list(self.items),
            "judgments_with_items": list(self.judgments_with_items),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedGap(GapTest):
    """A test of a gap with what the desk found.

    Attributes
    ----------
    p_adjusted : float
        p value after the correction for several tests (and looks).
    level : float
        Confidence level of the interval that inverts the test as it was judged.
    finding : str
        One of the three words of :mod:`comparity.auditing.verdicts`.
    differs_from_zero : bool
        Whether equality was rejected, whatever the finding.
    equivalence_p : float
        p value of the two one-sided tests at the margin.
    needed : Needed or None
        What would decide, where the finding is open.
    """

    p_adjusted: float
    level: float
    finding: str
    differs_from_zero: bool
    equivalence_p: float
    needed: Needed | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the test as plain data; numbers that do not exist are ``None``."""
        low, high, level = self.interval(self.level)
        return {
            "null": self.null,
            "gap": plain(self.gap),
            "standard_error": plain(self.standard_error),
            "interval": [plain(low), plain(high)],
            "level": level,
            "p_value": plain(self.p_value),
            "p_adjusted": plain(self.p_adjusted),
            "equivalence_p": plain(self.equivalence_p),
            "n": list(self.n),
            "finding": self.finding,
            "differs_from_zero": self.differs_from_zero,
            "method": self.method,
            "reason": self.reason,
            "needed": None if self.needed is None else self.needed.to_dict(),
        }


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

    def to_dict(self) -> dict[str, Any]:
        """Return the test as plain data."""
        return {
            "null": self.null,
            "statistic": plain(self.statistic),
            "dof": self.dof,
            "p_value": plain(self.p_value),
            "method": self.method,
        }


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

    def to_dict(self) -> dict[str, Any]:
        """Return the rate as plain data."""
        return {
            "name": self.name,
            "of": self.of,
            "rate": plain(self.rate),
            "interval": [plain(self.interval.low), plain(self.interval.high)],
            "level": self.interval.level,
            "n": self.trials,
            "score_ties": self.score_ties,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """Comparisons without an order, from the judges and from the model.

    Attributes
    ----------
    judgments : int
        Judgments that put neither item first; left out of every rate.
    judgments_by_groups : mapping of str to int
        The same by the two groups compared.
    scores : int
        Judged pairs whose model scores are equal.
    scores_by_cell : mapping of str to int
        The same by cell.
    scored_as : str
        ``"disagree"`` or ``"half"``.
    change_finding : bool
        Whether the other way of scoring them would give another finding.
    """

    judgments: int = 0
    judgments_by_groups: Mapping[str, int] = field(default_factory=dict)
    scores: int = 0
    scores_by_cell: Mapping[str, int] = field(default_factory=dict)
    scored_as: str = "disagree"
    change_finding: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the ties as plain data."""
        return {
            "judgments": self.judgments,
            "judgments_by_groups": dict(self.judgments_by_groups),
            "scores": self.scores,
            "scores_by_cell": dict(self.scores_by_cell),
            "scored_as": self.scored_as,
            "change_finding": self.change_finding,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Shown):
    """What an audit found, and everything one needs to stand behind it.

    Attributes
    ----------
    notion : str
        ``"separation"`` or ``"comparative separation"``.
    finding : str
        The finding over all tests.
    exit_status : int
        What a command that made this audit returns to the shell.
    tests : tuple of JudgedGap
        One for each hypothesis.
    rates : tuple of RateEstimate
        The proportions the gaps are made of.
    joint_tests : tuple of JointTest
        Tests of all equalities at once; reported, never judged.
    summary : mapping of str to float
        Well-known single numbers, such as the equalized odds difference.
    groups : tuple of str
        The groups compared.
    design : str
        Which sampling design the variance is right for.
    unit : str
        What was counted: ``"decisions"``, ``"judgments"`` or ``"pairs"``.
    n, n_items, n_evaluators : int
        How many of them, distinct items and evaluators; 0 where not applicable.
    alpha, margin : float
        Overall false-alarm rate and the largest harmless gap.
    rule : str
        ``"holm"`` or ``"paper"``.
    looks : tuple of int or None
        This look and the number of planned looks.
    ties : Ties
        Ties of the judges and of the model.
    notes : tuple of str
        What the reader must know: what was assumed, left out or could not be done.
    provenance : mapping
        Version, options and, for files, their hashes.
    raw : Audit or None
        The audit of the same judgments without weights, where this one is standardised.
    imbalance : float
        How far weighted laws of the reference are still apart, where this one is standardised.
    effective_sizes : mapping of str to float
        What the items of each group are worth after weighting, where this one is standardised.
    """

    notion: str
    finding: str
    exit_status: int
    tests: tuple[JudgedGap, ...]
    rates: tuple[RateEstimate, ...]
    groups: tuple[str, ...]
    design: str
    n: int
    alpha: float
    margin: float
    rule: str
    unit: str = "judgments"
    n_items: int = 0
    n_evaluators: int = 0
    joint_tests: tuple[JointTest, ...] = ()
    summary: Mapping[str, float] = field(default_factory=dict)
    looks: tuple[int, int] | None = None
    ties: Ties = field(default_factory=Ties)
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    raw: Audit | None = None
    imbalance: float = 0.0
    effective_sizes: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data, ready for JSON."""
        return {
            "notion": self.notion,
            "finding": self.finding,
            "design": self.design,
            "alpha": self.alpha,
            "margin": self.margin,
            "rule": self.rule,
            "looks": None if self.looks is None else list(self.looks),
            "groups": list(self.groups),
            "unit": self.unit,
            "n": self.n,
            "n_items": self.n_items,
            "n_evaluators": self.n_evaluators,
            "tests": [test.to_dict() for test in self.tests],
            "joint_tests": [test.to_dict() for test in self.joint_tests],
            "rates": [rate.to_dict() for rate in self.rates],
            "summary": {name: plain(value) for name, value in self.summary.items()},
            "ties": self.ties.to_dict(),
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
            "raw": None if self.raw is None else self.raw.to_dict(),
            "imbalance": plain(self.imbalance),
            "effective_sizes": {name: plain(n) for name, n in self.effective_sizes.items()},
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each test, as a frame of the named engine.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The engine; the first of these that is installed by default.
        """
        from comparity.reporting.frames import frame_of_tests

        return frame_of_tests(self, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every gap with the interval it was judged by and the margin."""
        from comparity.reporting.plots import plot_gaps

        return plot_gaps(self, ax)
