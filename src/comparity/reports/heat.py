"""Heat maps: colours that every reader can tell apart, and tiles for large matrices."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from comparity.reports.charts import Chart, Tick
from comparity.reports.sections import Grid

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


def signed_colours(light: float) -> tuple[str, str]:
    """Return the colour of a cell for a number of either sign, and of the letters on it.

    Parameters
    ----------
    light : float
        0 for the farthest below zero, 1/2 for zero, 1 for the farthest above.

    Examples
    --------
    >>> signed_colours(0.0), signed_colours(0.5), signed_colours(1.0)
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


UNKNOWN_COLOUR = "#888888"
"""Colour of an entry without a number."""


# Pixels of a page: its width, and the side of the largest tile.
PAGE_WIDTH, LARGEST = 760, 60.0


# Most letters to the left of a row, and how far apart rows with names are.
LETTERS, APART = 24, 14.0


# Widths at 12 pixels in a wide font (DejaVu Sans), rounded up: what is too narrow cuts a name.
NARROW, CAPITAL, WIDEST = 7.7, 9.8, 12.6


WIDE_LETTERS = frozenset("MWmw@%…—")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One entry of a heat map on a page: its place, its colour and what it says."""

    x: float
    y: float
    fill: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap(Chart):
    """A square matrix in colours: a table where it is small, tiles where it is large.

    Attributes
    ----------
    names : tuple of str
        What rows and columns stand for, as it is shown.
    values : tuple of tuple of float
        Entries by row; ``nan`` for an entry without a number.
    cells : tuple of tuple of str
        What each entry says; the lines after the first are shown where there is room.
    low, high : float
        Values at the ends of the scale; what lies beyond has the colour of the end.
    both_ways : bool
        Whether the middle of the scale is zero, and what is below and above differ in colour.
    unit : str
        What the values are.
    corner, beside : str
        What the rows are, in a table and in a picture that stands alone.
    order : str
        What is said of the columns on a page.
    """

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    cells: tuple[tuple[str, ...], ...]
    low: float
    high: float
    both_ways: bool = False
    unit: str
    corner: str = ""
    beside: str = ""
    order: str = "columns in the order of the rows"

    @property
    def axis_label(self) -> str:
        """What is said of the columns on a page."""
        return self.order

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which colour stands for what."""
        if self.both_ways:
            full = f"{self.high:g} and more in full colour"
            return (f"orange is positive, blue negative, {full}",)
        return (f"from {self.low:g} (blue) to {self.high:g} (yellow)",)

    @property
    def steps(self) -> tuple[str, ...]:
        """The colours of the scale, from the lowest value to the highest."""
        return (BLUE, "#ffffff", ORANGE) if self.both_ways else CIVIDIS

    @property
    def shades(self) -> tuple[tuple[float, ...], ...]:
        """How far each entry lies from the low end of the scale to the high one, from 0 to 1."""
        return tuple(
            tuple(min(max((one - self.low) / (self.high - self.low), 0.0), 1.0) for one in row)
            for row in self.values
        )

    @property
    def grid(self) -> Grid:
        """The same as a table."""
        sign = "+" if self.both_ways else ""
        return Grid(
            title=self.title,
            header=(self.corner, *self.names),
            rows=tuple((name, *row) for name, row in zip(self.names, self.cells, strict=True)),
            shades=self.shades,
            scale=(f"{self.low:{sign}g}", f"{self.high:{sign}g}"),
            both_ways=self.both_ways,
        )

    @property
    def labels(self) -> list[str]:
        """The names as they stand to the left of the tiles on a page."""
        long = LETTERS - 1
        return [name if len(name) <= LETTERS else f"{name[:long]}…" for name in self.names]

    @property
    def left(self) -> float:
        """Where tiles begin, in pixels of a page."""
        return 20.0 + max(map(_width, self.labels))

    @property
    def size(self) -> float:
        """Width and height of a tile, in pixels of a page."""
        return min((PAGE_WIDTH - self.left - 10) / len(self.names), LARGEST)

    @property
    def levels(self) -> tuple[Tick, ...]:
        """Names of rows and where they stand, as many as there is room for."""
        every, labels = math.ceil(APART / self.size), self.labels
        return tuple(
            Tick((row + 0.5) * self.size, labels[row]) for row in range(0, len(labels), every)
        )

    def tiles(self) -> Iterator[Tile]:
        """Yield one tile for each entry."""
        left, size, colour = self.left, self.size, signed_colours if self.both_ways else colours
        for row, shades in enumerate(self.shades):
            for column, shade in enumerate(shades):
                said = self.cells[row][column].partition("\n")[0]
                yield Tile(
                    x=round(left + column * size, 2),
                    y=round(row * size, 2),
                    fill=UNKNOWN_COLOUR
                    if math.isnan(self.values[row][column])
                    else colour(shade)[0],
                    about=f"{self.names[row]} over {self.names[column]}: {said}",
                )


def _width(name: str) -> float:
    """Return how wide a name is at most, in pixels."""
    return sum(map(_letter_width, name))


def _letter_width(letter: str) -> float:
    if letter in WIDE_LETTERS or unicodedata.east_asian_width(letter) in "WF":
        return WIDEST
    # Signs such as < and & are as wide as capitals.
    return CAPITAL if unicodedata.category(letter) in ("Lu", "Sm", "Po", "So") else NARROW
