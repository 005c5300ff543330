"""What is shown of a result, the same in a terminal, a notebook and a page.

Every class of results says what is told of it (``section()``): a headline, sentences, charts,
tables, lists. Media only lay these out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from comparity.reports.audits import audit_grids, audit_lists, basis, explanation, headline
from comparity.reports.charts import Chart
from comparity.reports.gap_charts import gap_charts
from comparity.reports.grids import Grid
from comparity.results.audit import Audit
from comparity.results.findings import UNDECIDED, VIOLATED, WITHIN

__all__ = ["KINDS", "Section", "audit_section"]

KINDS = {VIOLATED: "found", WITHIN: "inside", UNDECIDED: "open"}
"""How media mark a finding; what has none is ``"plain"``."""


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


def audit_section(audit: Audit) -> Section:
    """Return what is told of an audit."""
    return Section(
        headline=headline(audit),
        sentences=(explanation(audit), basis(audit)),
        kind=KINDS[audit.finding],
        charts=gap_charts(audit),
        grids=tuple(audit_grids(audit)),
        lists=audit_lists(audit),
    )
