"""Frozen audits: judged gaps, ties, and everything that a finding is based on.

A result knows its question, its counts and its error. What depends on a choice (a confidence
level, a margin) is a method. Findings and exit statuses are decided in
:mod:`comparity.results.judging`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from comparity.inference.gap_tests import (
    GapTest,
    Interval,
    JointTest,
    Needed,
    RateEstimate,
    Recorded,
)
from comparity.results.plain import as_plain, from_plain
from comparity.results.result import WITHIN, Result, check_finding, frame_of_rows
from comparity.tables.files import file_facts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedGap(GapTest):
    """A test of a gap with its finding.

    Attributes
    ----------
    p_adjusted : float
        p value after the correction for several tests (and looks).
    level : float
        Confidence level of the interval that inverts the test as it was judged.
    equivalence_level : float
        Confidence level of the interval that inverts the two one-sided tests as they were judged:
        one minus twice their level.
    finding : str
        One of the three words of :mod:`comparity.results.result`.
    differs_from_zero : bool
        Whether equality was rejected, whatever the finding.
    equivalence_p : float
        p value of the two one-sided tests at the margin.
    needed : Needed or None
        What would decide, where the finding is open.
    """

    p_adjusted: float
    level: float
    equivalence_level: float
    finding: str
    differs_from_zero: bool
    equivalence_p: float
    needed: Needed | None = None

    DERIVED: ClassVar[Mapping[str, str]] = {
        "test_interval": "test_interval",
        "equivalence_interval": "equivalence_interval",
    }

    @property
    def test_interval(self) -> Interval:
        """The interval that excludes zero exactly where equality was rejected."""
        return self.interval(self.level)

    @property
    def equivalence_interval(self) -> Interval:
        """The interval that lies inside the margin exactly where the gap was shown to."""
        return self.interval(self.equivalence_level)

    @property
    def deciding_interval(self) -> Interval:
        """The one of the two that stands behind the finding."""
        return self.equivalence_interval if self.finding == WITHIN else self.test_interval

    @staticmethod
    def completed_from(content: Mapping[str, Any]) -> dict[str, Any]:
        """Return a pivot that knows the intervals that were written down."""
        check_finding(content["finding"])
        p = from_plain(float, content["p_value"])
        written = (content[name] for name in JudgedGap.DERIVED)
        known = tuple(from_plain(Interval, one) for one in written)
        return {"pivot": None if math.isnan(p) else Recorded(known, p)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What an audit found at one moment.

    Attributes
    ----------
    n : int
        After how many judgments.
    finding : str
        The finding over all tests.
    nulls : tuple of str
        The hypotheses.
    gaps : tuple of float
    intervals : tuple of Interval
        Those that stand behind the findings.
    """

    n: int
    finding: str
    nulls: tuple[str, ...]
    gaps: tuple[float, ...]
    intervals: tuple[Interval, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Result):
    """What an audit found, and everything that the finding is based on.

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
    further_gaps : tuple of JudgedGap
        Gaps that are judged for one thing only, whether they are within the margin.
    family : str
        Which hypotheses were tested together, and why these; empty where a notion has no choice.
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
    n_clusters : mapping of str to int
        How many clusters of each kind were taken into account, by column.
    alpha, margin : float
        Overall false-alarm rate and the largest harmless gap.
    rule : str
        ``"holm"`` or ``"paper"``.
    correction : str
        By what name the correction for several tests goes.
    looks : tuple of int or None
        This look and the number of planned looks.
    anytime : bool
        Whether the finding holds at whatever moment it is read.
    history : tuple of Look
        What was found as judgments came in, where a state was kept.
    stopped_at : int or None
        After how many judgments the audit was first decided, where a state was kept.
    ties : Ties
        Ties of the judges and of the model.
    notes : tuple of str
        What the reader must know: what was assumed, left out or could not be done.
    provenance : mapping
        Version, options and, for files, their hashes.
    raw : Audit or None
        The audit of the same judgments without weights, where this one is standardised.
    imbalance : float
        How far weighted distributions of the reference are still apart, if standardised.
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
    n_clusters: Mapping[str, int] = field(default_factory=dict)
    further_gaps: tuple[JudgedGap, ...] = ()
    family: str = ""
    correction: str = "Holm"
    joint_tests: tuple[JointTest, ...] = ()
    summary: Mapping[str, float] = field(default_factory=dict)
    looks: tuple[int, int] | None = None
    anytime: bool = False
    history: tuple[Look, ...] = ()
    stopped_at: int | None = None
    ties: Ties = field(default_factory=Ties)
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    raw: Audit | None = None
    imbalance: float = 0.0
    effective_sizes: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def completed_from(content: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse a finding that is none."""
        check_finding(content["finding"])
        return {}

    def with_files(self, *paths: str | Path, notes: tuple[str, ...] = (), **data: Any) -> Audit:
        """Return the audit with the files it was made from, and what else is known of them."""
        files = [one for path in paths for one in file_facts(path)]
        known = {**self.provenance["data"], **data, "files": files}
        return replace(
            self,
            notes=(*self.notes, *notes),
            provenance={**self.provenance, "data": known},
            raw=None if self.raw is None else self.raw.with_files(*paths, notes=notes, **data),
        )

    def section(self) -> Section:
        """Return an audit as a section of a report."""
        from comparity.reports.audits import audit_section

        return audit_section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each test, as a frame of the named engine.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The engine; the first of these that is installed by default.
        """
        return frame_of_rows([_flat(row) for row in as_plain(self.tests)], backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every gap with the interval it was judged by and the margin."""
        from comparity.reports.audits import gap_chart
        from comparity.reports.plots import draw

        return draw(gap_chart(self), ax)


class JudgedResult(Result):
    """An answer that rests on an audit: the audit's finding is its own."""

    __slots__ = ()

    audit: Audit

    @property
    def finding(self) -> str:
        """The finding over all tests."""
        return self.audit.finding

    @property
    def tests(self) -> tuple[JudgedGap, ...]:
        """The tests that were judged."""
        return self.audit.tests

    @property
    def exit_status(self) -> int:
        """What a command that made this audit returns to the shell."""
        return self.audit.exit_status

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader must know."""
        return self.audit.notes

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Version, options and, for files, their hashes."""
        return self.audit.provenance


INTERVALS = {"test_interval": "test", "equivalence_interval": "equivalence"}


def _flat(test: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in test.items() if name not in (*INTERVALS, "n", "needed")}
    for name, called in INTERVALS.items():
        row[f"{called}_low"], row[f"{called}_high"] = test[name]["low"], test[name]["high"]
    row["n_first"], row["n_second"] = test["n"]
    return row
