"""Results for a terminal, by rich: the finding first, then what it rests on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from comparity.auditing.verdicts import UNDECIDED, VIOLATED, WITHIN
from comparity.matrices import PairwiseAccuracy
from comparity.plans import Plan
from comparity.reporting.formats import visible
from comparity.reporting.grids import Grid, audit_grids, pairwise_grids, plan_grids
from comparity.reporting.sentences import (
    audit_lists,
    basis,
    explanation,
    headline,
    plan_basis,
    plan_headline,
)
from comparity.results import Audit

__all__ = ["as_text", "audit_view", "heat_map", "pairwise_view", "plan_view", "show"]

Result = Audit | Plan | PairwiseAccuracy

COLOUR = {VIOLATED: "bold red", WITHIN: "bold green", UNDECIDED: "bold yellow"}
TEXT_WIDTH = 100
# So many lines of a list are shown; the rest is in to_dict().
LISTED = 12


def audit_view(audit: Audit) -> RenderableType:
    """Lay out an audit: finding, tests, rates, and what the reader must know."""
    return Group(
        Text(headline(audit), style=COLOUR[audit.finding]),
        Text(explanation(audit)),
        Text(basis(audit), style="dim"),
        *_titled(audit_grids(audit)),
        *_listed(audit_lists(audit)),
    )


def pairwise_view(result: PairwiseAccuracy) -> RenderableType:
    """Lay out all pairs: the finding, the matrix as a heat map, and the tables."""
    audit = result.audit
    return Group(
        Text(headline(audit), style=COLOUR[audit.finding]),
        Text(explanation(audit)),
        Text(basis(audit), style="dim"),
        Text("\nRaw accuracy by the group of the better item (row) and the worse (column)", "bold"),
        heat_map(result),
        *_titled(pairwise_grids(result)),
        *_listed(audit_lists(audit)),
    )


def heat_map(result: PairwiseAccuracy) -> Table:
    """Show the matrix with darker cells where scores agree less with labels."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(Text(""), overflow="fold")
    for group in result.groups:
        table.add_column(Text(visible(group)), justify="center", overflow="fold")
    for group, row in zip(result.groups, result.matrix, strict=True):
        table.add_row(Text(visible(group)), *map(_shaded, row.tolist()))
    return table


def _shaded(value: float) -> Text:
    if value != value:
        return Text(" - ")
    grey = round(40 + 200 * min(max(value, 0.0), 1.0))
    ink = "black" if grey > 128 else "white"
    return Text(f" {value:.3f} ", style=f"{ink} on rgb({grey},{grey},{grey})")


def plan_view(plan: Plan) -> RenderableType:
    """Lay out a plan: what it takes, each test on its own, and what more items would save."""
    return Group(
        Text(plan_headline(plan), style="bold"),
        Text(plan_basis(plan), style="dim"),
        *_titled(plan_grids(plan)),
        *_listed({"Notes": [*map(visible, plan.notes)]}),
    )


def as_text(result: Result) -> str:
    """Return a result as plain text, 100 columns wide, without colour."""
    console = Console(width=TEXT_WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(_view(result))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def show(*results: Result | Grid) -> None:
    """Print results, in colour where the terminal has any."""
    # What is piped has no width of its own; rich would take 80.
    console = Console(width=None if sys.stdout.isatty() else TEXT_WIDTH)
    for result in results:
        console.print(_table(result) if isinstance(result, Grid) else _view(result))


def _view(result: Result) -> RenderableType:
    if isinstance(result, PairwiseAccuracy):
        return pairwise_view(result)
    return audit_view(result) if isinstance(result, Audit) else plan_view(result)


def _titled(grids: Iterable[Grid]) -> Iterator[RenderableType]:
    for grid in grids:
        yield Text(f"\n{grid.title}", style="bold")
        yield _table(grid)


def _table(grid: Grid) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    first, *others = grid.header
    table.add_column(Text(first), overflow="fold")
    for name in others:
        table.add_column(Text(name), justify="right", overflow="fold")
    if grid.findings:
        # The one column that must stay whole in a narrow terminal.
        words = " ".join(grid.findings).split()
        table.columns[-1].min_width = max(map(len, words))
    for position, row in enumerate(grid.rows):
        *cells, last = map(_cell, row)
        if grid.findings:
            last.stylize(COLOUR[grid.findings[position]])
        table.add_row(*cells, last)
    return table


def _cell(text: str) -> Text:
    line, *more = text.split("\n", 1)
    return Text(line).append("".join(f"\n{rest}" for rest in more), style="dim")


def _listed(lists: dict[str, list[str]]) -> Iterator[RenderableType]:
    for title, lines in lists.items():
        if lines:
            yield Text(f"\n{title}", style="bold")
            yield _bullets(lines)


def _bullets(lines: list[str]) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for line in lines[:LISTED]:
        grid.add_row("-", Text(line))
    if len(lines) > LISTED:
        grid.add_row("-", Text(f"and {len(lines) - LISTED} more, in --json and to_dict()"))
    return grid
