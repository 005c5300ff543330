"""Heat maps made of tiles, for matrices too large to be a table."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

from comparity.reporting.charts import WIDTH, Chart, Tick, Tile
from comparity.reporting.grids import Grid
from comparity.reporting.heat import colours, leaning

__all__ = ["UNKNOWN", "tile_chart", "tiles_of"]

UNKNOWN = "#888888"
"""Colour of an entry without a number."""

LARGEST = 60.0
# Most letters to the left of a row, and how far apart rows with names are.
LETTERS, APART = 24, 14.0
# Widths at 12 pixels in a wide font (DejaVu Sans), rounded up: what is too narrow cuts a name.
NARROW, CAPITAL, WIDEST = 7.7, 9.8, 12.6
WIDE_LETTERS = frozenset("MWmw@%…—")


def tiles_of(grid: Grid) -> Chart:
    """Place the cells of a heat map that would be too wide as a table."""
    ends = ("blue", "orange") if grid.both_ways else ("blue", "yellow")
    low, high = (f"{value} ({colour})" for value, colour in zip(grid.scale, ends, strict=True))
    return tile_chart(
        [row[0] for row in grid.rows],
        [[cell.partition("\n")[0] for cell in row[1:]] for row in grid.rows],
        grid.shades,
        title=f"{grid.title}, from {low} to {high}",
        about="the tables have all numbers",
        axis="columns in the order of the rows",
        both_ways=grid.both_ways,
    )


def tile_chart(
    names: Sequence[str],
    cells: Sequence[Sequence[str]],
    shades: Sequence[Sequence[float]],
    *,
    title: str,
    about: str,
    axis: str,
    both_ways: bool,
) -> Chart:
    """Place one tile for each entry of a square matrix.

    Parameters
    ----------
    names : sequence of str
        What rows and columns are called, safe to show.
    cells : sequence of rows
        The entries as they are written.
    shades : sequence of rows
        From 0 to 1; ``nan`` where there is no number.
    title, about, axis : str
        As in :class:`~comparity.reporting.charts.Chart`.
    both_ways : bool
        Whether a shade of 1/2 is zero, and what is below and above differ in colour.
    """
    k, colour = len(names), leaning if both_ways else colours
    beside = [_short(name) for name in names]
    left = 20.0 + max(map(_width, beside))
    size = min((WIDTH - left - 10) / k, LARGEST)
    tiles = tuple(
        Tile(
            x=round(left + column * size, 2),
            y=round(row * size, 2),
            size=round(size, 2),
            fill=UNKNOWN if math.isnan(shade) else colour(shade)[0],
            about=f"{names[row]} over {names[column]}: {cells[row][column]}",
        )
        for row, line in enumerate(shades)
        for column, shade in enumerate(line)
    )
    every = math.ceil(APART / size)
    return Chart(
        title=title,
        about=about,
        height=k * size + 6.0,
        left=left,
        right=left + k * size,
        ticks=(),
        levels=tuple(Tick((row + 0.5) * size, beside[row]) for row in range(0, k, every)),
        axis=axis,
        tiles=tiles,
    )


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def _width(name: str) -> float:
    """Return how wide a name is at most, in pixels."""
    return sum(map(_letter_width, name))


def _letter_width(letter: str) -> float:
    if letter in WIDE_LETTERS or unicodedata.east_asian_width(letter) in "WF":
        return WIDEST
    # Signs such as < and & are as wide as capitals.
    return CAPITAL if unicodedata.category(letter) in ("Lu", "Sm", "Po", "So") else NARROW
