"""Results for a terminal, by rich: the finding first, then what it rests on.

Lines of a table break between phrases, never inside one: a number, an interval, a count with its
sign, a hypothesis about one group. Only a word longer than :data:`LONGEST` is cut.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from comparity.reports.charts import KINDS
from comparity.reports.sections import Grid, count, shorten_words
from comparity.results.dropped import INNER, dropped_sentence
from comparity.results.result import Result

# In the order in which a reader wants to know of them.
COLOUR = {"found": "bold red", "open": "bold yellow", "inside": "bold green", "plain": "bold"}
TEXT_WIDTH = 100
# So many lines of a list are shown; the rest is in to_dict().
LISTED = 12
# Names of columns are no wider than this where they stand beside their values.
LABEL = 22
# Lines of a column, and what it needs beyond their width.
Column = tuple[Sequence[str], int]

GAP = 2
"""Blank columns between two columns of a table."""

LONGEST = 24
SIGNS = {"=", ">"}
PHRASE = re.compile(
    r"""
    \[[-+\d.,\ e]+\]               # an interval
    | (?:vs|to|at|n|[<>≥≤±])\ \S*\d\S*  # a number and what belongs to it
    | [\w-]+\([^()]*\)(?:\ =)?     # a rate of somebody, such as TPR(f), and that it equals
    | \S+
    """,
    re.VERBOSE,
)


def view(result: Result) -> RenderableType:
    """Lay out a result: the answer, what it means, tables, and what the reader must know."""
    section = result.section()
    told = [*(section.sentences or ("",)), *filter(None, [dropped_sentence(_content(result))])]
    meaning, *basis = map(shorten_words, told)
    return Group(
        Text(shorten_words(section.headline), style=COLOUR[section.kind]),
        *([Text(meaning)] if meaning else []),
        *(Text(sentence, style="dim") for sentence in basis),
        *_view_grids((*section.signs, *section.grids)),
        *_view_lists(section.lists),
    )


def _content(answer: Any) -> dict[str, Any]:
    """Return what is needed of the plain data to say what was dropped, without all of them."""
    found = {name: getattr(answer, name, None) for name in ("provenance", *INNER)}
    return {
        name: _content(one) if is_dataclass(one) else one
        for name, one in found.items()
        if one is not None
    }


def as_text(result: Result) -> str:
    """Return a result as plain text, 100 columns wide, without colour."""
    return _print_text(Console(width=TEXT_WIDTH, color_system=None, force_terminal=False), result)


def show(*results: Result | Grid | str) -> None:
    """Print results, tables with their titles, or sentences, in colour where there is any."""
    sys.stdout.write(render(*results))
    # At the end of the process it would be too late to say that nobody reads.
    sys.stdout.flush()


def render(*results: Result | Grid | str) -> str:
    """Return what :func:`show` prints."""
    # What is piped has no width of its own; rich would take 80.
    console = Console(width=None if sys.stdout.isatty() else TEXT_WIDTH)
    return _print_text(console, *results) + "\n"


def _print_text(console: Console, *results: Result | Grid | str) -> str:
    with console.capture() as captured:
        for place, result in enumerate(results):
            if place:
                console.print()
            console.print(_view_of(result))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _view_of(result: Result | Grid | str) -> RenderableType:
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
        shown = _most_urgent(grid)
        self.left_out = len(grid.rows) - len(shown.rows)
        rows = tuple(tuple(map(shorten_words, row)) for row in shown.rows)
        self.grid = replace(shown, header=tuple(map(shorten_words, grid.header)), rows=rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the table out in the width there is."""
        yield from _lay_out(self.grid, options.max_width)
        if self.left_out:
            yield Text(f"and {count(self.left_out)} more rows, in --json and --html", style="dim")


def _most_urgent(grid: Grid) -> Grid:
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


def _lay_out(grid: Grid, room: int) -> Iterator[RenderableType]:
    """Yield a table; where it is too wide, a heat map in parts, or one row below the other."""
    padding = 2 if grid.shades else 0
    widths = share_width(grid, room, padding=padding)
    if widths:
        yield _table(grid, widths)
    elif grid.shades and len(grid.header) > 2:
        for place, run in enumerate(split_columns(grid, room, padding=padding)):
            yield Text("\n" if place else "", end="")
            yield from _lay_out(_some_columns(grid, run), room)
    else:
        yield from _records(grid)


def _view_grids(grids: Iterable[Grid]) -> Iterator[RenderableType]:
    for grid in grids:
        yield Text(f"\n{shorten_words(grid.title)}", style="bold")
        yield GridView(grid)


def _some_columns(grid: Grid, columns: slice) -> Grid:
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
            Text("\n".join(wrap_line(name, width))),
            justify="right" if numeric else "left",
            width=width,
            overflow="fold",
        )
    for position, row in enumerate(grid.rows):
        cells = [*map(_cell, row, widths)]
        if grid.shades:
            cells[1:] = map(_shade_cell, cells[1:], grid.shades[position], widths[1:])
        table.add_row(*_colour_finding(cells, grid, position))
    return table


def _records(grid: Grid) -> Iterator[RenderableType]:
    """Yield each row as a list of what its columns say."""
    for position, row in enumerate(grid.rows):
        first, *others = _colour_finding([_cell(text) for text in row], grid, position)
        yield Text("\n" if position else "", end="")
        yield first
        record = Table.grid(padding=(0, GAP, 0, 0))
        record.add_column(style="dim", max_width=LABEL, overflow="fold")
        record.add_column(overflow="fold")
        for name, cell in zip(grid.header[1:], others, strict=True):
            record.add_row(Text(name), cell)
        yield Padding(record, (0, 0, 0, 2))


def _colour_finding(cells: list[Text], grid: Grid, position: int) -> list[Text]:
    """Give the finding of a row, its last cell, the colour of findings of its kind."""
    if grid.findings:
        cells[-1].stylize(COLOUR[KINDS[grid.findings[position]]])
    return cells


def _shade_cell(cell: Text, light: float, width: int) -> Text:
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
    first, *rest = lines if width is None else ["\n".join(wrap_line(one, width)) for one in lines]
    return Text(first).append("".join(f"\n{line}" for line in rest), style="dim")


def _view_lists(lists: Mapping[str, list[str]]) -> Iterator[RenderableType]:
    for title, lines in lists.items():
        if lines:
            yield Text(f"\n{title}", style="bold")
            yield _bullets(lines)


def _bullets(lines: list[str]) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for line in lines[:LISTED]:
        grid.add_row("-", Text(shorten_words(line)))
    if len(lines) > LISTED:
        grid.add_row("-", Text(f"and {len(lines) - LISTED} more, in --json and to_dict()"))
    return grid


def phrases(line: str) -> Iterator[str]:
    """Yield the parts of a line between which it may break.

    Examples
    --------
    >>> list(phrases("[-0.010, +0.200] n 1,234"))
    ['[-0.010, +0.200]', 'n 1,234']
    >>> list(phrases("agree(f > m) = agree(m > f)"))
    ['agree(f > m) =', 'agree(m > f)']
    >>> list(phrases("agree(African-American > Asian) = agree(Asian > African-American)"))
    ['agree(African-American >', 'Asian) =', 'agree(Asian >', 'African-American)']
    """
    held = ""
    for found in PHRASE.findall(line):
        for part in [found] if cell_len(found) <= LONGEST else found.split():
            # A sign alone on its line looks like an answer.
            if held and part in SIGNS and cell_len(held) + 2 <= LONGEST:
                held += f" {part}"
                continue
            if held:
                yield held
            held = part
    if held:
        yield held


def wrap_line(line: str, width: int) -> list[str]:
    """Break a line so that no part is wider than `width`; what fits stays as it is.

    Examples
    --------
    >>> wrap_line("0.741 [0.731, 0.751] n 12,378,595", 16)
    ['0.741', '[0.731, 0.751]', 'n 12,378,595']
    """
    if cell_len(line) <= width:
        return [line]
    lines = [""]
    for phrase in phrases(line):
        longer = f"{lines[-1]} {phrase}".lstrip()
        if cell_len(longer) <= width:
            lines[-1] = longer
        elif cell_len(phrase) <= width:
            lines.append(phrase)
        else:
            lines += chop_cells(phrase, width)
    return [part for part in lines if part]


def share_width(grid: Grid, room: int, *, padding: int = 0) -> tuple[int, ...] | None:
    """Return the width of each column, or nothing where the columns do not fit beside each other.

    The widest columns give way first, down to their longest phrase.

    Parameters
    ----------
    grid : Grid
    room : int
        Width of the terminal.
    padding : int
        What each column but the first needs beyond its text.

    Examples
    --------
    >>> grid = Grid(title="", header=("who", "what"), rows=(("a b c d", "[0.1, 0.2]"),))
    >>> share_width(grid, 40), share_width(grid, 16), share_width(grid, 10)
    ((7, 10), (3, 10), None)
    """
    columns = [*_columns(grid, padding)]
    least, most = zip(*map(_extent, columns), strict=True)
    room -= GAP * (len(columns) - 1)
    if sum(least) > room:
        return None
    widths = list(most)
    while sum(widths) > room:
        place = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        widths[place] -= 1
    widths = [_used_width(column, width) for column, width in zip(columns, widths, strict=True)]
    # What lines that broke early leave is given to columns that are whole again with it.
    for place in sorted(range(len(widths)), key=lambda at: most[at] - widths[at]):
        if most[place] - widths[place] <= room - sum(widths):
            widths[place] = most[place]
    return tuple(widths)


def split_columns(grid: Grid, room: int, *, padding: int = 0) -> Iterator[slice]:
    """Yield runs of columns after the first that fit beside it, where all of them do not.

    Examples
    --------
    >>> grid = Grid(title="", header=("", *"abcd"), rows=(("row", *["0.500"] * 4),))
    >>> [*split_columns(grid, 20)]
    [slice(1, 3, None), slice(3, 5, None)]
    """
    first, *others = (_extent(column)[0] for column in _columns(grid, padding))
    start, used = 1, first
    for place, width in enumerate(others, start=1):
        used += GAP + width
        if used > room and place > start:
            yield slice(start, place)
            start, used = place, first + GAP + width
    yield slice(start, len(others) + 1)


def _columns(grid: Grid, padding: int) -> Iterator[Column]:
    """Yield the lines of each column with those of its head, and what it needs beyond them."""
    for place, column in enumerate(zip(grid.header, *grid.rows, strict=True)):
        yield [line for text in column for line in text.split("\n")], padding if place else 0


def _extent(column: Column) -> tuple[int, int]:
    """Return the least width of a column, and the width at which nothing breaks."""
    lines, padding = column
    words = [cell_len(phrase) for line in lines for phrase in phrases(line)]
    least = min(max(words, default=1), LONGEST)
    return least + padding, max(least, *map(cell_len, lines)) + padding


def _used_width(column: Column, width: int) -> int:
    """Return how much of its width a column uses once its lines are broken."""
    lines, padding = column
    parts = [part for line in lines for part in wrap_line(line, width - padding)]
    return max(map(cell_len, parts), default=0) + padding
