"""What is shown of a result, the same in a terminal, a notebook and a page.

Every kind of result has one function here or in a module of its own that says what is shown:
a headline, sentences, pictures, tables, lists. Media only lay these out, so a new kind of result
needs one line in :data:`HOMES` and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from importlib import import_module
from typing import Any, Protocol

from comparity.auditing.verdicts import UNDECIDED, VIOLATED, WITHIN
from comparity.matrices import PairwiseAccuracy, PanelAudit
from comparity.reporting.charts import Chart, gap_charts
from comparity.reporting.grids import (
    Grid,
    audit_grids,
    matrix_grids,
    pairwise_grids,
    panel_grids,
)
from comparity.reporting.sentences import (
    audit_lists,
    basis,
    explanation,
    headline,
)
from comparity.reporting.tiles import tiles_of
from comparity.results import Audit

__all__ = ["HOMES", "KINDS", "Reportable", "Section", "section_of"]

HOMES: dict[str, str] = {
    "BridgedParity": "comparity.reporting.bridges",
    "ClusterStability": "comparity.reporting.metrics",
    "Comparison": "comparity.reporting.metrics",
    "DifferentialParity": "comparity.reporting.relative",
    "Distortions": "comparity.reporting.metrics",
    "Installation": "comparity.reporting.installations",
    "InformationSeparation": "comparity.reporting.information",
    "MetricClusters": "comparity.reporting.metrics",
    "Plan": "comparity.reporting.plans",
    "FairTopK": "comparity.reporting.orderings",
    "GateResult": "comparity.reporting.gates",
    "GroupExposure": "comparity.reporting.orderings",
    "RankedPanel": "comparity.reporting.rankings",
    "Ranking": "comparity.reporting.rankings",
    "RankingPlan": "comparity.reporting.ranking_plans",
    "RankingPolicy": "comparity.reporting.policies",
    "RaterParity": "comparity.reporting.relative",
    "RecordedResult": "comparity.reporting.combined",
    "Rehearsal": "comparity.reporting.bridges",
    "Reproduction": "comparity.reporting.reproductions",
    "Scorecard": "comparity.reporting.metrics",
    "Selection": "comparity.reporting.metrics",
    "Sensitivity": "comparity.reporting.metrics",
    "Story": "comparity.reporting.story",
    "TradeOff": "comparity.reporting.trainings",
    "TrainedScorer": "comparity.reporting.trained",
    "Training": "comparity.reporting.trainings",
    "Weighing": "comparity.reporting.trainings",
}
"""Modules with a function ``section`` for results of other kinds, by the name of their class."""

# A heat map of more groups than this is wider than paper as a table.
AS_TABLE = 6

KINDS = {VIOLATED: "found", WITHIN: "inside", UNDECIDED: "open"}
"""How media mark a finding; what has none is ``"plain"``."""


class Reportable(Protocol):
    """A result that can be printed, as JSON too."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One result as a reader sees it. All strings that come from data are safe to print.

    Attributes
    ----------
    headline : str
        The answer in a few words.
    sentences : tuple of str
        What it means, then what it rests on.
    kind : str
        One of the values of :data:`KINDS`, or ``"plain"``.
    charts : tuple of Chart
        Pictures, for media that draw.
    signs : tuple of Grid
        Pictures made of signs, for media that do not.
    grids : tuple of Grid
        Tables.
    lists : mapping of str to list of str
        What is told in lines, by title.
    """

    headline: str
    sentences: tuple[str, ...] = ()
    kind: str = "plain"
    charts: Sequence[Chart] = ()
    signs: tuple[Grid, ...] = ()
    grids: tuple[Grid, ...] = ()
    lists: Mapping[str, list[str]] = field(default_factory=dict)


@singledispatch
def section_of(result: Any) -> Section:
    """Return what is shown of a result."""
    for kind in type(result).__mro__:
        if kind.__name__ in HOMES:
            section: Section = import_module(HOMES[kind.__name__]).section(result)
            return section
    raise TypeError(f"{type(result).__name__} is not a result that can be shown")


@section_of.register
def _(audit: Audit) -> Section:
    return Section(
        headline=headline(audit),
        sentences=(explanation(audit), basis(audit)),
        kind=KINDS[audit.finding],
        charts=gap_charts(audit),
        grids=tuple(audit_grids(audit)),
        lists=audit_lists(audit),
    )


@section_of.register
def _(result: PairwiseAccuracy) -> Section:
    audit, matrices = result.audit, tuple(matrix_grids(result))
    charts = gap_charts(audit)
    if len(result.groups) > AS_TABLE:
        charts, matrices = (*charts, *map(tiles_of, matrices)), ()
    return Section(
        headline=headline(audit),
        sentences=(explanation(audit), basis(audit)),
        kind=KINDS[audit.finding],
        charts=charts,
        grids=(*matrices, *pairwise_grids(result)),
        lists=audit_lists(audit),
    )


@section_of.register
def _(result: PanelAudit) -> Section:
    shown = section_of(result.audit)
    return replace(shown, grids=(*shown.grids, *panel_grids(result)))
