"""Frozen audits: judged gaps, ties, and everything one needs to stand behind a finding.

A result knows its question, its counts and its error. What depends on a choice (a confidence
level, a margin) is a method. Findings and exit statuses are put in by the desk
(:mod:`comparity.results.findings`), which alone knows the words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from comparity.inference.gap_tests import GapTest, JointTest, Needed, RateEstimate, plain
from comparity.results.result import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Audit",
    "JudgedGap",
    "Ties",
]


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
        One of the three words of :mod:`comparity.results.findings`.
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
        from comparity.reports.frames import frame_of_tests

        return frame_of_tests(self, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every gap with the interval it was judged by and the margin."""
        from comparity.reports.gap_charts import plot_gaps

        return plot_gaps(self, ax)
