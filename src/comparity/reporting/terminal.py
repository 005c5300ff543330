"""Results for a terminal, by rich: the finding first, then what it rests on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from comparity.reporting.grids import Grid
from comparity.reporting.sections import KINDS, Reportable, section_of

__all__ = ["as_text", "show", "view"]

COLOUR = {"found": "bold red", "inside": "bold green", "open": "bold yellow", "plain": "bold"}
TEXT_WIDTH = 100
# So many lines of a list are shown; the rest is in to_dict().
LISTED = 12


def view(result: Reportable) -> RenderableType:
    """Lay out a result: the answer, what it means, tables, and what the reader must know."""
    section = section_of(result)
    meaning, *basis = section.sentences or ("",)
    return Group(
        Text(section.headline, style=COLOUR[section.kind]),
        *([Text(meaning)] if meaning else []),
        *(Text(sentence, style="dim") for sentence in basis),
        *_titled((*section.signs, *section.grids)),
        *_listed(section.lists),
    )


def as_text(result: Reportable) -> str:
    """Return a result as plain text, 100 columns wide, without colour."""
    console = Console(width=TEXT_WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(view(result))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def show(*results: Reportable | Grid) -> None:
    """Print results, in colour where the terminal has any."""
    # What is piped has no width of its own; rich would take 80.
    console = Console(width=None if sys.stdout.isatty() else TEXT_WIDTH)
    for place, result in enumerate(results):
        if place:
            console.print()
        console.print(_table(result) if isinstance(result, Grid) else view(result))


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
        cells = [*map(_cell, row)]
        if grid.findings:
            cells[-1].stylize(COLOUR[KINDS[grid.findings[position]]])
        if grid.shades:
            cells[1:] = map(_shaded, cells[1:], grid.shades[position])
        table.add_row(*cells)
    return table


def _shaded(cell: Text, light: float) -> Text:
    """Put a cell on a grey that is the lighter the larger `light`, from 0 to 1."""
    if light != light:
        return cell
    grey = round(40 + 200 * min(max(light, 0.0), 1.0))
    ink = "black" if grey > 128 else "white"
    return Text(f" {cell.plain} ", style=f"{ink} on rgb({grey},{grey},{grey})")


def _cell(text: str) -> Text:
    line, *more = text.split("\n", 1)
    return Text(line).append("".join(f"\n{rest}" for rest in more), style="dim")


def _listed(lists: Mapping[str, list[str]]) -> Iterator[RenderableType]:
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
