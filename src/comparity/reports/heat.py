"""Heat maps: colours that every reader can tell apart, and tiles for large matrices."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

from comparity.reports.charts import WIDTH, Chart, Tick, Tile
from comparity.reports.grids import Grid

__all__ = [
    "BLUE",
    "CIVIDIS",
    "ORANGE",
    "UNKNOWN",
    "colours",
    "leaning",
    "tile_chart",
    "tiles_of",
]


CIVIDIS = (
    "#00224e",
    "#083370",
    "#35456c",
    "#4f576c",
    "#666970",
    "#7d7c78",
    "#948e77",
    "#aea371",
    "#c8b866",
    "#e5cf52",
    "#fee838",
)
"""Ten steps of the map of Nunez, Anderton and Renslow (2018), from dark blue to light yellow.

Its lightness grows evenly, so that it can be read without seeing any colour.
"""


BLUE, ORANGE = "#005aa0", "#c85500"
"""Ends of the map for numbers of either sign, white at zero; blind to no kind of colour vision."""


def colours(light: float) -> tuple[str, str]:
    """Return the colour of a cell and of the letters on it.

    Parameters
    ----------
    light : float
        From 0, the darkest, to 1; what lies beyond is taken as the nearest of them.

    Returns
    -------
    tuple of str
        The letters are black or white, whichever stands out more: the ratio of contrast of WCAG 2
        is 4.5 or more everywhere.

    Examples
    --------
    >>> colours(0.0), colours(1.0)
    (('#00224e', '#ffffff'), ('#fee838', '#000000'))
    """
    return _between(CIVIDIS, light)


def leaning(light: float) -> tuple[str, str]:
    """Return the colour of a cell for a number of either sign, and of the letters on it.

    Parameters
    ----------
    light : float
        0 for the farthest below zero, 1/2 for zero, 1 for the farthest above.

    Examples
    --------
    >>> leaning(0.0), leaning(0.5), leaning(1.0)
    (('#005aa0', '#ffffff'), ('#ffffff', '#000000'), ('#c85500', '#000000'))
    """
    return _between((BLUE, "#ffffff", ORANGE), light)


def _between(steps: tuple[str, ...], light: float) -> tuple[str, str]:
    """Return the colour between two steps of a map, and the letters that stand out on it."""
    place = min(max(light, 0.0), 1.0) * (len(steps) - 1)
    step = min(int(place), len(steps) - 2)
    low, high = (_channels(steps[code]) for code in (step, step + 1))
    mixed = [round(a + (b - a) * (place - step)) for a, b in zip(low, high, strict=True)]
    # The luminance at which black and white letters have the same contrast.
    ink = "#000000" if _luminance(mixed) > 1.05**0.5 * 0.05**0.5 - 0.05 else "#ffffff"
    return "#" + "".join(f"{channel:02x}" for channel in mixed), ink


def _channels(colour: str) -> list[int]:
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


def _luminance(channels: list[int]) -> float:
    """Return the relative luminance of WCAG 2."""
    shares = [channel / 255 for channel in channels]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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
        As in :class:`~comparity.reports.charts.Chart`.
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
