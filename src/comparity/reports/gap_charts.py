"""Charts of gaps with the intervals they were judged by, on a page and by matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from comparity.reports.audits import gap_axis, headline
from comparity.reports.charts import LABELS, ROW, WIDTH, Chart, Mark, Tick, round_numbers
from comparity.reports.deferred import Deferred
from comparity.reports.formats import clipped, count, signed, sizes
from comparity.reports.plots import COLOURS, finished, fitted, label_rows, own_axes, row_height
from comparity.results.audit import Audit, JudgedGap
from comparity.results.findings import UNDECIDED, VIOLATED, WITHIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "drawn_tests",
    "gap_chart",
    "gap_charts",
    "most_drawn",
    "plot_gaps",
]


# So many tests or evaluators are drawn; all of them are in to_dict() and --json.
DRAWN = 40


# As the template draws them.
SHAPES = {VIOLATED: "squares", WITHIN: "circles", UNDECIDED: "diamonds"}


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


MARKERS = {VIOLATED: "s", WITHIN: "o", UNDECIDED: "D"}


def plot_gaps(audit: Audit, ax: Axes | None = None) -> Axes:
    """Draw every gap with the interval it was judged by, and the margin as a band.

    Parameters
    ----------
    audit : Audit
        The audit. Of very many tests those with the smallest p values are drawn. Tests that
        could not be made have a label and no mark.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; ``.figure`` has the figure.
    """
    tests, own = drawn_tests(audit), ax is None
    labels = [f"{_hypothesis(test.null)}\n{_sizes(audit, test.n)}" for test in tests]
    if ax is None:
        ax = own_axes(width=8.0, height=1.6 + row_height(labels) * max(len(tests), 1))
    band = f"within {audit.margin:g}"
    ax.axvspan(-audit.margin, audit.margin, color="#999999", alpha=0.18, lw=0, label=band)
    ax.axvline(0, color="#666666", lw=0.8)
    for row, test in enumerate(tests):
        if test.pivot is None:
            ax.text(0, row, "no test possible", ha="center", va="center", color="#444444")
            continue
        low, high, _ = test.interval(test.level)
        colour = COLOURS[test.finding]
        ax.plot([low, high], [row, row], color=colour, lw=2.2, solid_capstyle="butt")
        mark = MARKERS[test.finding]
        ax.plot(test.gap, row, mark, color=colour, ms=8, ls="", label=test.finding)
    label_rows(ax, labels)
    title = f"{headline(audit)}{most_drawn(audit)}"
    across = f"{gap_axis(audit)}, with the interval it was judged by"
    return finished(ax, title=title, across=across, own=own)


def _hypothesis(null: str) -> str:
    """Return a hypothesis, its two sides in lines of their own where it is long."""
    first, equal, second = null.partition(" = ")
    if len(null) <= 44 or not equal:
        return fitted(null, letters=44)
    return f"{fitted(f'{first} =', lines=2)}\n{fitted(second, lines=2)}"


def _sizes(audit: Audit, n: tuple[int, int]) -> str:
    return f"{sizes(n, audit.n)} {audit.unit}"
