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

from comparity.pairwise.result import PairwiseAccuracy, PanelAudit
from comparity.pairwise.section import matrix_grids, pairwise_grids
from comparity.ranking.panel_result import panel_grids
from comparity.reports.audits import audit_grids, audit_lists, basis, explanation, headline
from comparity.reports.charts import Chart
from comparity.reports.gap_charts import gap_charts
from comparity.reports.grids import Grid
from comparity.reports.heat import tiles_of
from comparity.results.audit import Audit
from comparity.results.findings import UNDECIDED, VIOLATED, WITHIN

__all__ = ["HOMES", "KINDS", "Reportable", "Section", "section_of"]

HOMES: dict[str, str] = {
    "BridgedParity": "comparity.relative.bridges.section",
    "ClusterStability": "comparity.metrics.section",
    "Comparison": "comparity.metrics.section",
    "DifferentialParity": "comparity.relative.section",
    "Distortions": "comparity.metrics.section",
    "Installation": "comparity.cli.installation",
    "InformationSeparation": "comparity.separation.information",
    "MetricClusters": "comparity.metrics.section",
    "Plan": "comparity.planning.section",
    "FairTopK": "comparity.ranking.orderings",
    "GateResult": "comparity.gate.section",
    "GroupExposure": "comparity.ranking.orderings",
    "RankedPanel": "comparity.ranking.section",
    "Ranking": "comparity.ranking.section",
    "RankingPlan": "comparity.planning.section:ranking_plan_section",
    "RankingPolicy": "comparity.training.ranking_policy",
    "RaterParity": "comparity.relative.section",
    "RecordedResult": "comparity.reports.combined",
    "Rehearsal": "comparity.relative.bridges.section",
    "Reproduction": "comparity.cli.reproductions",
    "Scorecard": "comparity.metrics.section",
    "Selection": "comparity.metrics.section",
    "Sensitivity": "comparity.metrics.section",
    "Story": "comparity.demo.story",
    "TradeOff": "comparity.training.section",
    "TrainedScorer": "comparity.training.section:trained_section",
    "Training": "comparity.training.section",
    "Weighing": "comparity.training.section",
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
            home, _, name = HOMES[kind.__name__].partition(":")
            section: Section = getattr(import_module(home), name or "section")(result)
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
