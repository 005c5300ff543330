"""Where the marks of a picture go, for pictures that are drawn as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from comparity.auditing.verdicts import UNDECIDED, VIOLATED, WITHIN
from comparity.plans import Plan
from comparity.reporting.deferred import Deferred
from comparity.reporting.formats import clipped, count, several, signed, sizes, visible
from comparity.reporting.sentences import gap_axis
from comparity.resamples import MetricClusters
from comparity.results import Audit, JudgedGap

__all__ = [
    "ROW",
    "WIDTH",
    "Chart",
    "Mark",
    "Tick",
    "Tile",
    "bias_chart",
    "drawn_tests",
    "gap_chart",
    "gap_charts",
    "most_drawn",
    "numbers_between",
    "power_chart",
    "round_numbers",
    "shortened",
    "tree_chart",
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
# So many tests or evaluators are drawn; all of them are in to_dict() and --json.
DRAWN = 40
LEAF = 24.0
# As the template draws them.
SHAPES = {VIOLATED: "squares", WITHIN: "circles", UNDECIDED: "diamonds"}


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


def drawn_tests(audit: Audit) -> list[JudgedGap]:
    """Return all tests in their order, or of very many those with the smallest p values."""
    if len(audit.tests) <= DRAWN:
        return list(audit.tests)
    ps = [math.inf if math.isnan(test.p_value) else test.p_value for test in audit.tests]
    surest = sorted(range(len(ps)), key=ps.__getitem__)[:DRAWN]
    return [audit.tests[place] for place in sorted(surest)]


def most_drawn(audit: Audit) -> str:
    """Say which tests are drawn where not all are."""
    n = len(audit.tests)
    return f"; the {DRAWN} of {count(n)} tests with the smallest p values" if n > DRAWN else ""


def _shapes(tests: Sequence[JudgedGap]) -> str:
    """Say which finding each shape of a picture stands for, of those that occur in it."""
    found = {test.finding for test in tests if test.pivot is not None}
    named = [f"{shape} {finding}" for finding, shape in SHAPES.items() if finding in found]
    return "; " + ", ".join(named).replace(" ", " are ", 1) if named else ""


def gap_charts(audit: Audit) -> Sequence[Chart]:
    """Return the picture of an audit, which is drawn where it is shown; none without a test."""
    return Deferred(1, lambda _: gap_chart(audit)) if audit.tests else ()


def gap_chart(audit: Audit) -> Chart:
    """Place every gap with the interval it was judged by, and the margin."""
    tests = drawn_tests(audit)
    intervals = [test.interval(test.level) for test in tests]
    known = [end for low, high, _ in intervals for end in (low, high) if math.isfinite(end)]
    reach = 1.08 * max([audit.margin, *map(abs, known)])
    left, right = LABELS + 10.0, WIDTH - 20.0

    def place(gap: float) -> float | None:
        share = (gap + reach) / (2 * reach)
        return round(left + share * (right - left), 1) if math.isfinite(gap) else None

    marks = [
        Mark(
            label=clipped(test.null),
            note=f"n {sizes(test.n, audit.n)}",
            finding=test.finding,
            y=ROW * (row + 0.5),
            x=place(test.gap),
            low=place(low),
            high=place(high),
        )
        for row, (test, (low, high, _)) in enumerate(zip(tests, intervals, strict=True))
    ]
    return Chart(
        title=f"Gaps with the intervals they were judged by{most_drawn(audit)}{_shapes(tests)}",
        about="; ".join(f"{clipped(test.null)}: {signed(test.gap)}" for test in tests),
        height=ROW * len(marks) + 48.0,
        left=left,
        right=right,
        ticks=tuple(
            Tick(place(at) or 0.0, f"{at:+g}" if at else "0") for at in round_numbers(reach)
        ),
        axis=gap_axis(audit),
        marks=tuple(marks),
        band=(place(-audit.margin) or 0.0, place(audit.margin) or 0.0, place(0.0) or 0.0),
    )


def bias_chart(biases: Sequence[Mapping[str, Any]], *, level: float) -> Chart:
    """Place the biases of evaluators with their intervals, in order: a caterpillar.

    Parameters
    ----------
    biases : sequence of mapping
        Rows of one contrast as they are in JSON, who leans most surely first; of many evaluators
        the first are drawn.
    level : float
        False-discovery rate up to which an evaluator is said to lean.
    """
    shown = sorted(biases[:DRAWN], key=lambda row: _or_nan(row["bias"]))
    ends = [abs(_or_nan(row[end])) for row in shown for end in ("bias", "low", "high")]
    # A lone evaluator under "zero mean bias" has a bias and an interval of exactly zero.
    reach = 1.08 * max((end for end in ends if math.isfinite(end)), default=0.0) or 1.0
    left, right = LABELS + 10.0, WIDTH - 20.0

    def place(bias: float | None) -> float | None:
        share = (_or_nan(bias) + reach) / (2 * reach)
        return round(left + share * (right - left), 1) if math.isfinite(share) else None

    zero = place(0.0) or 0.0
    some, chosen = "each evaluator", ""
    if len(biases) > DRAWN:
        some = f"the {count(len(shown))} of {count(len(biases))} evaluators who stand out most"
        chosen = "; of so many some leave zero out by chance: only squares are findings"
    return Chart(
        title=f"Bias of {some} with its 95% interval ({clipped(str(biases[0]['contrast']))})"
        f"{chosen}",
        about="; ".join(
            f"{shortened(visible(str(row['evaluator'])))}: {signed(row['bias'])}" for row in shown
        ),
        height=ROW * len(shown) + 48.0,
        left=left,
        right=right,
        ticks=tuple(
            Tick(place(at) or 0.0, f"{at:+g}" if at else "0") for at in round_numbers(reach)
        ),
        axis="bias in logits; squares are found to lean, diamonds are not",
        marks=tuple(
            Mark(
                label=shortened(visible(str(row["evaluator"]))),
                note=several(row["comparisons"], "comparison"),
                finding="found" if _or_nan(row["q_value"]) <= level else "open",
                y=ROW * (place_of + 0.5),
                x=place(row["bias"]),
                low=place(row["low"]),
                high=place(row["high"]),
            )
            for place_of, row in enumerate(shown)
        ),
        band=(zero, zero, zero),
    )


def power_chart(plan: Plan) -> Chart:
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
        axis=plan.unit,
        curve=tuple((across(n), up(power)) for n, power in points),
        target=None if plan.target is None else up(plan.target),
        point=None if size is None else (across(size), up(plan.power)),
    )


def tree_chart(clusters: MetricClusters) -> Chart:
    """Place the tree of merges, leaves on the left and the last merge on the right."""
    merges, ids = clusters.merges.tolist(), clusters.ids
    order = _leaves(merges, len(ids))
    most = max([clusters.stretch[1], *(merge[2] for merge in merges)]) * 1.02 or 1.0
    left, right = LABELS + 10.0, WIDTH - 20.0

    def place(height: float) -> float:
        return round(left + height / most * (right - left), 1)

    at = {leaf: (0.0, LEAF * (row + 0.5)) for row, leaf in enumerate(order)}
    branches = []
    for number, (first, second, height, _) in enumerate(merges, start=len(ids)):
        (near, upper), (far, lower) = at[int(first)], at[int(second)]
        line = ((near, upper), (height, upper), (height, lower), (far, lower))
        branches.append(tuple((place(x), y) for x, y in line))
        at[number] = (height, (upper + lower) / 2)
    low, high = map(place, clusters.stretch)
    return Chart(
        title="Which metrics move together in resamples of this data",
        about="; ".join(" ".join(cluster) for cluster in clusters.clusters),
        height=LEAF * len(ids) + AXIS,
        left=left,
        right=right,
        ticks=tuple(Tick(place(one), f"{one:g}") for one in round_numbers(most) if one >= 0),
        levels=tuple(Tick(LEAF * (row + 0.5), ids[leaf]) for row, leaf in enumerate(order)),
        axis=f"1 - |{clusters.correlation} correlation|",
        band=(low, high, low),
        band_is=f"where a cut gives the same {count(len(clusters.clusters))} clusters",
        branches=tuple(branches),
    )


def _leaves(merges: Sequence[Sequence[float]], n: int) -> list[int]:
    """Return the leaves so that no two branches cross."""
    members = {leaf: [leaf] for leaf in range(n)}
    for number, (first, second, *_) in enumerate(merges, start=n):
        members[number] = members[int(first)] + members[int(second)]
    return members[n + len(merges) - 1]


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


def _decades(low: int, high: int) -> Iterator[int]:
    """Yield 1, 2 and 5 times the powers of ten from `low` to `high`."""
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        yield from (size for factor in (1, 2, 5) if low <= (size := factor * 10**exponent) <= high)


def shortened(text: str) -> str:
    """Return a text that fits beside a picture."""
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
