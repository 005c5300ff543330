"""Results for a terminal, by rich: the finding first, then what it rests on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from comparity.reports.charts import KINDS
from comparity.reports.formats import count, shortened
from comparity.reports.sections import Grid
from comparity.reports.widths import GAP, shared, splits, wrapped
from comparity.results.result import Result

__all__ = ["as_text", "rendered", "show", "view"]

# In the order in which a reader wants to know of them.
COLOUR = {"found": "bold red", "open": "bold yellow", "inside": "bold green", "plain": "bold"}
TEXT_WIDTH = 100
# So many lines of a list are shown; the rest is in to_dict().
LISTED = 12
# Names of columns are no wider than this where they stand beside their values.
LABEL = 22


def view(result: Result) -> RenderableType:
    """Lay out a result: the answer, what it means, tables, and what the reader must know."""
    section = result.section()
    meaning, *basis = map(shortened, section.sentences or ("",))
    return Group(
        Text(shortened(section.headline), style=COLOUR[section.kind]),
        *([Text(meaning)] if meaning else []),
        *(Text(sentence, style="dim") for sentence in basis),
        *_titled((*section.signs, *section.grids)),
        *_listed(section.lists),
    )


def as_text(result: Result) -> str:
    """Return a result as plain text, 100 columns wide, without colour."""
    return _printed(Console(width=TEXT_WIDTH, color_system=None, force_terminal=False), result)


def show(*results: Result | Grid | str) -> None:
    """Print results, tables with their titles, or sentences, in colour where there is any."""
    sys.stdout.write(rendered(*results))
    # At the end of the process it would be too late to say that nobody reads.
    sys.stdout.flush()


def rendered(*results: Result | Grid | str) -> str:
    """Return what :func:`show` prints."""
    # What is piped has no width of its own; rich would take 80.
    console = Console(width=None if sys.stdout.isatty() else TEXT_WIDTH)
    return _printed(console, *results) + "\n"


def _printed(console: Console, *results: Result | Grid | str) -> str:
    with console.capture() as captured:
        for place, result in enumerate(results):
            if place:
                console.print()
            console.print(_shown(result))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _shown(result: Result | Grid | str) -> RenderableType:
    if isinstance(result, str):
        return Text(result)
    if isinstance(result, Grid):
        return Group(
            *([Text(result.title, style="bold")] if result.title else []), GridView(result)
        )
    return view(result)


class GridView:
    """A table that knows its width only when it is printed."""

    def __init__(self, grid: Grid) -> None:
        shown = _brief(grid)
        self.left_out = len(grid.rows) - len(shown.rows)
        rows = tuple(tuple(map(shortened, row)) for row in shown.rows)
        self.grid = replace(shown, header=tuple(map(shortened, grid.header)), rows=rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the table out in the width there is."""
        yield from _laid(self.grid, options.max_width)
        if self.left_out:
            yield Text(f"and {count(self.left_out)} more rows, in --json and --html", style="dim")


def _brief(grid: Grid) -> Grid:
    """Return a table with the rows a terminal shows: the first, of tests those that found most."""
    if grid.most is None or len(grid.rows) <= grid.most:
        return grid
    places = sorted(range(len(grid.rows)), key=lambda at: _urgency(grid, at))[: grid.most]
    return replace(
        grid,
        rows=tuple(grid.rows[at] for at in places),
        findings=tuple(grid.findings[at] for at in places) if grid.findings else (),
    )


def _urgency(grid: Grid, position: int) -> int:
    return [*COLOUR].index(KINDS[grid.findings[position]]) if grid.findings else 0


def _laid(grid: Grid, room: int) -> Iterator[RenderableType]:
    """Yield a table; where it is too wide, a heat map in parts, or one row below the other."""
    padding = 2 if grid.shades else 0
    widths = shared(grid, room, padding=padding)
    if widths:
        yield _table(grid, widths)
    elif grid.shades and len(grid.header) > 2:
        for place, run in enumerate(splits(grid, room, padding=padding)):
            yield Text("\n" if place else "", end="")
            yield from _laid(_part(grid, run), room)
    else:
        yield from _records(grid)


def _titled(grids: Iterable[Grid]) -> Iterator[RenderableType]:
    for grid in grids:
        yield Text(f"\n{shortened(grid.title)}", style="bold")
        yield GridView(grid)


def _part(grid: Grid, columns: slice) -> Grid:
    """Return some columns of a heat map, with the names of the rows."""
    shades = slice(columns.start - 1, columns.stop - 1)
    return replace(
        grid,
        header=(grid.header[0], *grid.header[columns]),
        rows=tuple((row[0], *row[columns]) for row in grid.rows),
        shades=tuple(row[shades] for row in grid.shades),
    )


def _table(grid: Grid, widths: Sequence[int]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for name, width, numeric in zip(grid.header, widths, grid.numeric, strict=True):
        table.add_column(
            Text("\n".join(wrapped(name, width))),
            justify="right" if numeric else "left",
            width=width,
            overflow="fold",
        )
    for position, row in enumerate(grid.rows):
        cells = [*map(_cell, row, widths)]
        if grid.shades:
            cells[1:] = map(_shaded, cells[1:], grid.shades[position], widths[1:])
        table.add_row(*_coloured(cells, grid, position))
    return table


def _records(grid: Grid) -> Iterator[RenderableType]:
    """Yield each row as a list of what its columns say."""
    for position, row in enumerate(grid.rows):
        first, *others = _coloured([_cell(text) for text in row], grid, position)
        yield Text("\n" if position else "", end="")
        yield first
        record = Table.grid(padding=(0, GAP, 0, 0))
        record.add_column(style="dim", max_width=LABEL, overflow="fold")
        record.add_column(overflow="fold")
        for name, cell in zip(grid.header[1:], others, strict=True):
            record.add_row(Text(name), cell)
        yield Padding(record, (0, 0, 0, 2))


def _coloured(cells: list[Text], grid: Grid, position: int) -> list[Text]:
    """Give the finding of a row, its last cell, the colour of findings of its kind."""
    if grid.findings:
        cells[-1].stylize(COLOUR[KINDS[grid.findings[position]]])
    return cells


def _shaded(cell: Text, light: float, width: int) -> Text:
    """Put a cell on a grey that is the lighter the larger `light`, from 0 to 1."""
    lines = "\n".join(f"{line} ".rjust(width) for line in cell.plain.split("\n"))
    if light != light:
        return Text(lines)
    grey = round(40 + 200 * min(max(light, 0.0), 1.0))
    ink = "black" if grey > 128 else "white"
    return Text(lines, style=f"{ink} on rgb({grey},{grey},{grey})")


def _cell(text: str, width: int | None = None) -> Text:
    """Return a cell, broken into lines of a width; all but its first line are dim."""
    lines = text.split("\n")
    first, *rest = lines if width is None else ["\n".join(wrapped(one, width)) for one in lines]
    return Text(first).append("".join(f"\n{line}" for line in rest), style="dim")


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
        grid.add_row("-", Text(shortened(line)))
    if len(lines) > LISTED:
        grid.add_row("-", Text(f"and {len(lines) - LISTED} more, in --json and to_dict()"))
    return grid
