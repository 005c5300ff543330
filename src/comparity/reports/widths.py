"""How the columns of a table share the width of a terminal, and where their text breaks.

Lines break between phrases, never inside one: a number, an interval, a count with its sign, a
hypothesis about one group. Only a word longer than :data:`LONGEST` is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, chop_cells

from comparity.reports.sections import Grid

__all__ = ["GAP", "shared", "splits", "wrapped"]

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


def wrapped(line: str, width: int) -> list[str]:
    """Break a line so that no part is wider than `width`; what fits stays as it is.

    Examples
    --------
    >>> wrapped("0.741 [0.731, 0.751] n 12,378,595", 16)
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


def shared(grid: Grid, room: int, *, padding: int = 0) -> tuple[int, ...] | None:
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
    >>> shared(grid, 40), shared(grid, 16), shared(grid, 10)
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
    widths = [_used(column, width) for column, width in zip(columns, widths, strict=True)]
    # What lines that broke early leave is given to columns that are whole again with it.
    for place in sorted(range(len(widths)), key=lambda at: most[at] - widths[at]):
        if most[place] - widths[place] <= room - sum(widths):
            widths[place] = most[place]
    return tuple(widths)


def splits(grid: Grid, room: int, *, padding: int = 0) -> Iterator[slice]:
    """Yield runs of columns after the first that fit beside it, where all of them do not.

    Examples
    --------
    >>> grid = Grid(title="", header=("", *"abcd"), rows=(("row", *["0.500"] * 4),))
    >>> [*splits(grid, 20)]
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


def _used(column: Column, width: int) -> int:
    """Return how much of its width a column uses once its lines are broken."""
    lines, padding = column
    parts = [part for line in lines for part in wrapped(line, width - padding)]
    return max(map(cell_len, parts), default=0) + padding
