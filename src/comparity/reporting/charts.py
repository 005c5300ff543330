"""Where the marks of a picture go, for pictures that are drawn as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from comparity.plans import Plan
from comparity.reporting.formats import count, signed, visible
from comparity.results import Audit

__all__ = [
    "ROW",
    "WIDTH",
    "Chart",
    "Mark",
    "Tick",
    "Tile",
    "gap_chart",
    "power_chart",
    "round_numbers",
    "shortened",
]

WIDTH = 760
LABELS = 290
# So many fit into the width of a label, in wide fonts too.
LETTERS = 36
ROW = 50
CURVE = 240
TICKS = 6


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One gap: its row, its place, its interval, or nothing where no test was possible.

    What is too long for one line of the label goes on in `more`.
    """

    label: str
    more: str = ""
    note: str
    finding: str
    y: float
    x: float | None
    low: float | None
    high: float | None


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
    curve : tuple of (float, float)
        Points, for a picture of power.
    target : float or None
        Height of the power wanted.
    point : tuple of float or None
        The planned size.
    tiles : tuple of Tile
        Entries, for a heat map; `levels` name its rows.
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
    curve: tuple[tuple[float, float], ...] = ()
    target: float | None = None
    point: tuple[float, float] | None = None
    tiles: tuple[Tile, ...] = ()


def gap_chart(audit: Audit) -> Chart:
    """Place every gap with the interval it was judged by, and the margin."""
    intervals = [test.interval(test.level) for test in audit.tests]
    known = [end for low, high, _ in intervals for end in (low, high) if math.isfinite(end)]
    reach = 1.08 * max([audit.margin, *map(abs, known)])
    left, right = LABELS + 10.0, WIDTH - 20.0

    def place(gap: float) -> float | None:
        share = (gap + reach) / (2 * reach)
        return round(left + share * (right - left), 1) if math.isfinite(gap) else None

    marks = [
        Mark(
            **_label(visible(test.null)),
            note=" vs ".join(map(count, test.n)),
            finding=test.finding,
            y=ROW * (row + 0.5),
            x=place(test.gap),
            low=place(low),
            high=place(high),
        )
        for row, (test, (low, high, _)) in enumerate(zip(audit.tests, intervals, strict=True))
    ]
    return Chart(
        title="Gaps with the intervals they were judged by",
        about="; ".join(f"{visible(test.null)}: {signed(test.gap)}" for test in audit.tests),
        height=ROW * len(marks) + 48.0,
        left=left,
        right=right,
        ticks=tuple(
            Tick(place(at) or 0.0, f"{at:+g}" if at else "0") for at in round_numbers(reach)
        ),
        axis="gap",
        marks=tuple(marks),
        band=(place(-audit.margin) or 0.0, place(audit.margin) or 0.0, place(0.0) or 0.0),
    )


def power_chart(plan: Plan, unit: str) -> Chart:
    """Place the power against the size, on a logarithmic axis."""
    points = plan.curve()
    smallest, largest = math.log(points[0][0]), math.log(points[-1][0])
    left, right = 60.0, WIDTH - 20.0

    def across(size: float) -> float:
        share = (math.log(size) - smallest) / (largest - smallest)
        return round(left + share * (right - left), 1)

    def up(power: float) -> float:
        return round(10 + CURVE * (1 - power), 1)

    levels = [0, 0.2, 0.4, 0.6, 0.8, 1]
    size = plan.size
    return Chart(
        title="Power against size",
        about="; ".join(f"{count(n)}: {power:.2f}" for n, power in points[::8]),
        height=CURVE + 58.0,
        left=left,
        right=right,
        ticks=tuple(Tick(across(at), count(at)) for at in _decades(points[0][0], points[-1][0])),
        levels=tuple(Tick(up(level), f"{level:g}") for level in levels),
        axis=unit,
        curve=tuple((across(n), up(power)) for n, power in points),
        target=None if plan.target is None else up(plan.target),
        point=None if size is None else (across(size), up(plan.power)),
    )


def round_numbers(reach: float) -> Sequence[float]:
    """Return round numbers from ``-reach`` to `reach`, about six of them."""
    rough = 2 * reach / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    most = math.floor(reach / step)
    return [round(step * number, 10) for number in range(-most, most + 1)]


def _decades(low: int, high: int) -> Iterator[int]:
    """Yield 1, 2 and 5 times the powers of ten from `low` to `high`."""
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        yield from (size for factor in (1, 2, 5) if low <= (size := factor * 10**exponent) <= high)


def _label(null: str) -> dict[str, str]:
    """Return a hypothesis in one line, or cut at the sign of equality in two."""
    first, equals, second = null.partition(" = ")
    if len(null) <= LETTERS or not equals:
        return {"label": shortened(null)}
    return {"label": f"{shortened(first)} =", "more": shortened(second)}


def shortened(text: str) -> str:
    """Return a text that fits beside a picture."""
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
