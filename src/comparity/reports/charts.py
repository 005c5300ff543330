"""Charts as data: where the marks of a picture go, whatever draws it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "ROW",
    "WIDTH",
    "Chart",
    "Mark",
    "Tick",
    "Tile",
    "numbers_between",
    "round_numbers",
    "shortened",
]


WIDTH = 760


LABELS = 290


# So many fit into the width of a label, in wide fonts too.
LETTERS = 36


ROW = 50


# Above so many marks rows are narrow, if most of their names have at most so many letters.
MANY, SHORT = 14, 24


CURVE = 240


TICKS = 6


AXIS = 44.0


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One gap: its row, its place, its interval, or nothing where no test was possible.

    What follows the label is in `more`. Marks whose `y` lies in one row are drawn in it.
    """

    label: str
    more: str = ""
    note: str
    finding: str
    y: float
    x: float | None
    low: float | None
    high: float | None

    @property
    def is_known(self) -> bool:
        """Whether there is something to draw."""
        return all(end is not None and end == end for end in (self.x, self.low, self.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One entry of a heat map: its place, its colour and what it says."""

    x: float
    y: float
    size: float
    fill: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture in units of its own view box.

    Attributes
    ----------
    title, about : str
        What it shows, and the same for readers who do not see it.
    width, height, left, right : float
        Size of the picture and the horizontal range of its plot.
    ticks, levels : tuple of Tick
        Places on the horizontal and on the vertical axis.
    axis : str
        What the horizontal axis measures.
    marks : tuple of Mark
        Gaps, for a picture of gaps.
    band : tuple of float
        Left end, right end and zero of the harmless gaps.
    band_is : str
        What that band is, in words.
    curve : tuple of (float, float)
        Points, for a picture of power.
    target : float or None
        Height of the power wanted.
    point : tuple of float or None
        The planned size.
    tiles : tuple of Tile
        Entries, for a heat map; `levels` name its rows.
    branches : tuple of tuple of (float, float)
        Lines, for a tree; `levels` name its leaves.
    """

    title: str
    about: str
    width: float = WIDTH
    height: float
    left: float
    right: float
    ticks: tuple[Tick, ...]
    levels: tuple[Tick, ...] = ()
    axis: str
    marks: tuple[Mark, ...] = ()
    band: tuple[float, float, float] = (0.0, 0.0, 0.0)
    band_is: str = "the margin"
    curve: tuple[tuple[float, float], ...] = ()
    target: float | None = None
    point: tuple[float, float] | None = None
    tiles: tuple[Tile, ...] = ()
    branches: tuple[tuple[tuple[float, float], ...], ...] = ()

    @property
    def rows(self) -> list[list[Mark]]:
        """Marks by the row they are drawn in."""
        found: dict[int, list[Mark]] = {}
        for mark in self.marks:
            found.setdefault(int(mark.y // ROW), []).append(mark)
        return list(found.values())

    @property
    def is_dense(self) -> bool:
        """Whether there are many rows, most of them with a name that fits beside a narrow one."""
        letters = sorted(len(mark.label) for mark in self.marks)
        return len(letters) > MANY and letters[len(letters) // 2] <= SHORT

    @property
    def floor(self) -> float:
        """Height of the plot without its axis."""
        return self.height - AXIS

    def across(self, x: float) -> float:
        """Return how far a place lies from the left end of the plot to the right, in percent."""
        return round(100 * (x - self.left) / (self.right - self.left), 3)


def round_numbers(reach: float) -> Sequence[float]:
    """Return round numbers from ``-reach`` to `reach`, about six of them."""
    return numbers_between(-reach, reach)


def numbers_between(low: float, high: float) -> Sequence[float]:
    """Return round numbers from `low` to `high`, about six of them."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(step * number, 10) for number in range(first, last + 1)]


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def shortened(text: str) -> str:
    """Return a text that fits beside a picture."""
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


LEFT, RIGHT = LABELS + 10.0, WIDTH - 20.0


# So many items and rates are drawn; all of them are in to_dict() and --json.
DRAWN_ROWS = 15
