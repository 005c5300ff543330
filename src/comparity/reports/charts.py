"""Charts as data: a question describes a picture once, and a page or matplotlib draws it.

Numbers are in the units of their axis. A page (``templates/charts.html.jinja``) and matplotlib
(:func:`comparity.reports.plots.draw`) have one way of drawing for each kind of chart.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

KINDS = {VIOLATED: "found", WITHIN: "inside", UNDECIDED: "open"}
"""How media mark a finding; what has none is ``"plain"``."""

SHAPES = {
    "found": "squares",
    "inside": "circles",
    "open": "diamonds",
    "first": "diamonds",
    "second": "circles",
}
"""The shape of each kind of mark, in every medium; colour says the same a second time."""

MOST_ROWS = 15
"""So many items and rates are drawn; all of them are in to_dict() and --json."""

# So many letters fit into the width of a label, in wide fonts too.
LABEL_LETTERS = 36
# With more rows than the first, rows are narrow, if half of their names have at most so many
# letters as the second.
DENSE_ROWS, DENSE_LETTERS = 14, 24
TICKS = 6
# Pixels of a page: height of a leaf, height of a curve's plot and room above it.
LEAF_HEIGHT, CURVE_HEIGHT, CURVE_ROOM = 24.0, 240.0, 10.0


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What is measured along an axis, from where to where."""

    label: str
    low: float
    high: float
    ticks: tuple[Tick, ...]
    is_log: bool = False

    def across(self, value: float) -> float:
        """Return how far a value lies from the low end to the high one, in percent."""
        ends = (self.low, value, self.high)
        low, at, high = map(math.log, ends) if self.is_log else ends
        return round(100 * (at - low) / (high - low), 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One number with its interval, or a stem from `low` to `high`; ``nan`` where there is none.

    `kind` is one of :data:`SHAPES` or ``"plain"``; `below` moves the mark down from the middle of
    its row, by a share of the row's height.
    """

    kind: str
    x: float
    low: float
    high: float
    below: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether there is something to draw."""
        return all(map(math.isfinite, (self.x, self.low, self.high)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A name, what is said below it, and the marks beside it."""

    label: str
    note: str = ""
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart(ABC):
    """A picture.

    Attributes
    ----------
    title, about : str
        What it shows, and the same for readers who do not see it.
    heading, under : str
        Title, and words under the horizontal axis, of a picture that stands alone; by default
        the title and the name of the axis.
    """

    title: str
    about: str = ""
    heading: str = ""
    under: str = ""

    @property
    @abstractmethod
    def axis_label(self) -> str:
        """What is said below the plot on a page."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a caption explains besides the title."""
        return ()

    @property
    def caption(self) -> str:
        """What is told below the picture on a page."""
        return "; ".join((self.title, *self.remarks))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlottedChart(Chart):
    """A picture with a horizontal axis."""

    axis: Axis

    @property
    def axis_label(self) -> str:
        """What is measured across."""
        return self.axis.label


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChart(PlottedChart):
    """Numbers with intervals, one row below the other.

    Attributes
    ----------
    axis : Axis
        What the numbers measure.
    rows : tuple of Row
        From the top down.
    band : tuple of float or None
        Ends of a shaded band, such as the harmless gaps.
    band_is : str
        What that band is, in words.
    line : float or None
        Where a vertical line is drawn; on a page at the left end by default.
    legend : mapping of str to str
        What each kind of mark stands for.
    beside : str
        What the rows are, where they are too many to be named.
    """

    rows: tuple[Row, ...]
    band: tuple[float, float] | None = None
    band_is: str = "the margin"
    line: float | None = None
    legend: Mapping[str, str] = field(default_factory=dict)
    beside: str = ""

    @property
    def is_dense(self) -> bool:
        """Whether there are many rows, most of them with a name that fits beside a narrow one."""
        letters = sorted(len(row.label) for row in self.rows)
        return len(letters) > DENSE_ROWS and letters[len(letters) // 2] <= DENSE_LETTERS

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which shape stands for what, of those that occur, and what the band is."""
        found = {mark.kind for row in self.rows for mark in row.marks if mark.is_known}
        shapes = [f"{SHAPES[kind]} {words}" for kind, words in self.legend.items() if kind in found]
        band = (f"the shaded band is {self.band_is}",) if self.band else ()
        return (*([", ".join(shapes).replace(" ", " are ", 1)] if shapes else ()), *band)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points of one kind, joined or not, each with a note or none of them.

    A guide is thin and grey: not data, but something to compare them with.
    """

    label: str
    points: Sequence[tuple[float, float]]
    style: Literal["line", "points", "both", "steps", "guide"] = "line"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveChart(PlottedChart):
    """Curves or points over a horizontal axis.

    Attributes
    ----------
    axis, up : Axis
        The horizontal and the vertical axis.
    curves : tuple of Curve
        The most important first.
    target : float or None
        Height of a dotted line.
    target_is : str
        What that line is, in words.
    point : tuple of float or None
        A point of the first curve that stands out.
    point_is : str
        What is written beside it.
    is_square : bool
        Whether both axes measure the same, and deserve the same room.
    """

    up: Axis
    curves: tuple[Curve, ...]
    target: float | None = None
    target_is: str = ""
    point: tuple[float, float] | None = None
    point_is: str = ""
    is_square: bool = False

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the dotted line is."""
        return () if self.target is None else (f"the dotted line is {self.target_is}",)

    @property
    def floor(self) -> float:
        """Height of the plot in pixels of a page."""
        return CURVE_HEIGHT + CURVE_ROOM

    def down(self, value: float) -> float:
        """Return how far below the top of the plot a value lies, in pixels of a page."""
        return round(CURVE_ROOM + CURVE_HEIGHT * (1 - self.up.across(value) / 100), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChart(PlottedChart):
    """A tree of merges, its leaves one below the other on the left.

    Attributes
    ----------
    axis : Axis
        Height of the merges, from zero.
    leaves : tuple of str
        From the top down, so that no two branches cross.
    branches : tuple of tuple of (float, float)
        Lines of points: height, and place between the leaves, which stand at whole numbers.
    band : tuple of float
        Heights between which a cut gives the same clusters.
    band_is : str
        What that band is, in words.
    cut : float
        Height at which the tree was cut.
    chosen, faint : tuple of str
        Leaves that stand out, and leaves that stand back.
    """

    leaves: tuple[str, ...]
    branches: tuple[tuple[tuple[float, float], ...], ...]
    band: tuple[float, float]
    band_is: str
    cut: float
    chosen: tuple[str, ...] = ()
    faint: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the band is."""
        return (f"the shaded band is {self.band_is}",)

    @property
    def floor(self) -> float:
        """Height of the plot in pixels of a page."""
        return LEAF_HEIGHT * len(self.leaves)

    def down(self, place: float) -> float:
        """Return how far below the top a place between leaves lies, in pixels of a page."""
        return LEAF_HEIGHT * (place + 0.5)


def axis_around(label: str, values: Iterable[float]) -> Axis:
    """Return an axis with zero in its middle that holds all values; those missing do not count."""
    sizes = [abs(value) for value in values if math.isfinite(value)]
    reach = 1.08 * max(sizes, default=0.0) or 1.0
    ticks = tuple(Tick(at, f"{at:+g}" if at else "0") for at in round_numbers(-reach, reach))
    return Axis(label=label, low=-reach, high=reach, ticks=ticks)


def axis_between(label: str, values: Iterable[float], *, from_zero: bool = False) -> Axis:
    """Return an axis that holds all values with room at either end, or from zero on."""
    known = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = (0.0 if from_zero else min(known)), max(known)
    # Beside large numbers a twentieth is lost.
    room = 0.1 * (high - low) or 0.05 * max(1.0, abs(high))
    low, high = (min(low, *known, 0.0) if from_zero else low - room), high + room
    ticks = tuple(Tick(at, f"{at:g}") for at in round_numbers(low, high))
    return Axis(label=label, low=low, high=high, ticks=ticks)


def round_numbers(low: float, high: float) -> Sequence[float]:
    """Return round numbers from `low` to `high`, about six of them."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(step * number, 10) for number in range(first, last + 1)]


def round_edges(values: Sequence[float]) -> list[float]:
    """Return the ends of about ten ranges of one round width that hold all values.

    Examples
    --------
    >>> round_edges([-0.95, 0.0, 1.4])
    [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5]
    """
    low, high = min(values), max(values)
    rough = max(high - low, 1e-9) / 10
    unit = 10.0 ** math.floor(math.log10(rough))
    width = next(unit * step for step in (1, 2, 5, 10) if unit * step >= rough)
    first, last = math.floor(low / width), math.floor(high / width) + 1
    return [round(width * place, 9) for place in range(first, last + 1)]


def shorten_label(text: str) -> str:
    """Return a text that fits beside a picture."""
    return text if len(text) <= LABEL_LETTERS else f"{text[: LABEL_LETTERS - 1]}…"
