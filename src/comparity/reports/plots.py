"""Charts drawn by matplotlib: one function for each kind of chart, for every question."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comparity.errors.spelling import visible
from comparity.reports.charts import (
    DENSE_ROWS,
    Chart,
    Curve,
    CurveChart,
    Mark,
    Row,
    RowChart,
    TreeChart,
)
from comparity.reports.heat import UNKNOWN_COLOUR, HeatMap, colours, signed_colours
from comparity.tables.outputs import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""From Okabe and Ito: readers of every kind of colour vision can tell them apart."""

STYLES = {
    "found": ("#D55E00", "s"),
    "inside": ("#009E73", "o"),
    "open": ("#56B4E9", "D"),
    "first": ("#E69F00", "D"),
    "second": ("#0072B2", "o"),
    "plain": ("#666666", "D"),
}
"""Colour and marker of each kind of mark; the marker, as on a page, says the same again."""

FORMATS = (".png", ".svg", ".pdf")

GREY, PALE = "#666666", "#999999"
# Letters of 10 points that fit into an inch, on average and in the font of matplotlib.
LETTERS_AN_INCH = 13.0
# With more rows than this none is named, and marks are small.
NAMED_ROWS = 60
# Names of at most so many letters stand in narrow rows, which are so many inches high.
ONE_LINE, NARROW = 48, 0.22
# A heat map of more names than the first has one line in each entry, than the second none.
WHOLE_CELLS, FIRST_LINES = 6, 14
# Names of at most so many letters stand beside each other under a heat map.
SHORT_NAME = 8


def draw(chart: Chart, ax: Axes | None = None) -> Axes:
    """Draw a chart.

    Parameters
    ----------
    chart : Chart
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; ``.figure`` has the figure.
    """
    own = ax is None
    if ax is None:
        width, height = _inches(chart)
        ax = own_axes(width=width, height=height)
    title, across = chart.heading or chart.title, chart.under or chart.axis_label
    if isinstance(chart, HeatMap):
        shown = _draw_heat_map(ax, chart)
        _write_around(ax, title=title, across=across, own=own, aside=1.3)
        ends = "both" if chart.both_ways else "neither"
        ax.figure.colorbar(shown, ax=ax, label=chart.unit, shrink=0.8, extend=ends)
        return ax
    if isinstance(chart, RowChart):
        _draw_rows(ax, chart)
    elif isinstance(chart, CurveChart):
        _draw_curves(ax, chart)
    else:
        assert isinstance(chart, TreeChart), chart
        _draw_tree(ax, chart)
    return finish_axes(ax, title=title, across=across, own=own)


def _inches(chart: Chart) -> tuple[float, float]:
    """Return width and height of a figure that has room for a chart."""
    if isinstance(chart, RowChart):
        if len(chart.rows) > NAMED_ROWS:
            return 8.0, 1.6 + 0.16 * NAMED_ROWS
        labels = _row_labels(chart)
        height = NARROW if _are_narrow(chart.rows) else row_height(labels)
        return 8.0 + _are_narrow(chart.rows), 1.6 + height * max(len(labels), 1)
    if isinstance(chart, HeatMap):
        k = len(chart.names)
        side = 1.1 * k if k <= WHOLE_CELLS else 0.55 * k
        if k > FIRST_LINES:
            side = max(0.55 * FIRST_LINES, min(3.2 + 0.16 * k, 15.0))
        return max(side + 3.4, 5.5), side + 2.2
    if isinstance(chart, TreeChart):
        return 8.0, 1.8 + NARROW * len(chart.leaves)
    return (6.6, 6.0) if isinstance(chart, CurveChart) and chart.is_square else (8.0, 4.6)


def _draw_rows(ax: Axes, chart: RowChart) -> None:
    """Draw each number with its interval, and the band and the line behind them."""
    if chart.band is not None:
        ax.axvspan(*chart.band, color=PALE, alpha=0.18, lw=0, label=chart.band_is)
    if chart.line is not None:
        ax.axvline(chart.line, color=GREY, lw=0.8)
    many, narrow = len(chart.rows) > NAMED_ROWS, _are_narrow(chart.rows)
    size = 2 if many else 5 if narrow else 7
    for place, row in enumerate(chart.rows):
        for mark in row.marks:
            _draw_mark(ax, mark, place + mark.below, chart.legend.get(mark.kind), size)
        if not any(mark.is_known for mark in row.marks):
            middle = (chart.axis.low + chart.axis.high) / 2
            ax.text(middle, place, "no estimate", ha="center", va="center", color="#444444")
    if many:
        ax.set_yticks([])
        ax.set_ylabel(chart.beside)
        ax.set_ylim(len(chart.rows) - 0.5, -0.5)
    else:
        label_rows(ax, _row_labels(chart), fontsize=8 if narrow else None)
    ax.set_xlim(chart.axis.low, chart.axis.high)
    ax.set_xticks(*zip(*((tick.at, tick.label) for tick in chart.axis.ticks), strict=True))


def _draw_mark(ax: Axes, mark: Mark, y: float, label: str | None, size: float) -> None:
    if not mark.is_known:
        return
    colour, marker = STYLES[mark.kind]
    ends, fade = [mark.low, mark.high], 0.4 if size < 5 else 1.0
    ax.plot(ends, [y, y], color=colour, lw=0.3 * size, alpha=fade, solid_capstyle="butt")
    # Marks at the very end of the axis are whole.
    ax.plot([mark.x], [y], marker, color=colour, ms=size, ls="", label=label, clip_on=False)


def _are_narrow(rows: Sequence[Row]) -> bool:
    """Return whether rows are many, and their names short enough for one line each."""
    return len(rows) > DENSE_ROWS and max(len(row.label) for row in rows) <= ONE_LINE


def _row_labels(chart: RowChart) -> list[str]:
    if not _are_narrow(chart.rows):
        return [_row_label(row) for row in chart.rows]
    labels = [f"{row.label} ({row.note})" if row.note else row.label for row in chart.rows]
    return [fit_text(label, letters=80, lines=1) for label in labels]


def _row_label(row: Row) -> str:
    """Return name and note of a row; the two sides of a long hypothesis have their own lines."""
    first, equal, second = row.label.partition(" = ")
    label = fit_text(row.label, letters=44)
    if len(row.label) > 44 and equal:
        label = f"{fit_text(f'{first} =', lines=2)}\n{fit_text(second, lines=2)}"
    return "\n".join(filter(None, (label, fit_text(row.note, letters=60, lines=1))))


def _draw_curves(ax: Axes, chart: CurveChart) -> None:
    """Draw curves and points, told apart by colour and by line or marker."""
    lines, markers = cycle(("-", "--", "-.", ":")), cycle("oDsX")
    for curve, colour in zip(chart.curves, cycle(PALETTE), strict=False):
        line = "" if curve.style == "points" else next(lines)
        marker = next(markers) if curve.style in ("points", "both") else ""
        _draw_curve(ax, curve, color=colour, ls=line, marker=marker)
    if chart.target is not None:
        ax.axhline(chart.target, color=GREY, lw=1, ls=(0, (1, 2)), label=chart.target_is)
    if chart.point is not None:
        ax.plot(*chart.point, "o", color=PALETTE[0], ms=8)
        ax.annotate(chart.point_is, chart.point, xytext=(8, -14), textcoords="offset points")
    if chart.axis.is_log:
        ax.set_xscale("log")
        ax.minorticks_off()
    for axis, set_ticks in ((chart.axis, ax.set_xticks), (chart.up, ax.set_yticks)):
        set_ticks([tick.at for tick in axis.ticks], [tick.label for tick in axis.ticks])
    ax.set_xlim(chart.axis.low, chart.axis.high)
    ax.set_ylim(chart.up.low, chart.up.high)
    ax.set_ylabel(fit_text(chart.up.label, letters=34), parse_math=False)
    ax.grid(visible=True, alpha=0.3)


def _draw_curve(ax: Axes, curve: Curve, **style: Any) -> None:
    if curve.style == "guide":
        style = {"color": GREY, "ls": "--", "lw": 1}
    elif curve.style == "points":
        style |= {"alpha": 0.6 if len(curve.points) > 1 else 1.0}
    steps = "steps-post" if curve.style == "steps" else "default"
    points = zip(*curve.points, strict=True)
    ax.plot(*points, label=curve.label, drawstyle=steps, **{"lw": 2, "ms": 6, **style})
    for note, point in zip(curve.notes, curve.points, strict=False):
        ax.annotate(note, point, xytext=(5, 5), textcoords="offset points")


def _draw_heat_map(ax: Axes, chart: HeatMap) -> Any:
    """Draw a matrix in colours, with its numbers where there is room for them."""
    from matplotlib.colors import LinearSegmentedColormap

    k = len(chart.names)
    style: dict[str, Any] = {"parse_math": False, "fontsize": 6 if k > 25 else 9}
    scale = LinearSegmentedColormap.from_list("scale", chart.steps).with_extremes(
        bad=UNKNOWN_COLOUR
    )
    shown = ax.imshow(chart.values, vmin=chart.low, vmax=chart.high, cmap=scale)
    ink_on = signed_colours if chart.both_ways else colours
    for row, shades in enumerate(chart.shades if k <= FIRST_LINES else ()):
        for column, shade in enumerate(shades):
            text = chart.cells[row][column]
            ax.text(
                column,
                row,
                text if k <= WHOLE_CELLS else text.partition("\n")[0],
                ha="center",
                va="center",
                color="black" if shade != shade else ink_on(shade)[1],
                fontsize=10 if k <= WHOLE_CELLS else 7,
            )
    room = {"letters": 18, "lines": 3} if k <= WHOLE_CELLS else {"letters": 28, "lines": 1}
    names = [fit_text(name, **room) for name in chart.names]
    is_short = k <= WHOLE_CELLS or (max(map(len, names)) <= SHORT_NAME and k <= FIRST_LINES)
    ax.set_xticks(range(k), names, rotation=0 if is_short else 90, **style)
    ax.set_yticks(range(k), names, **style)
    ax.set_ylabel(chart.beside)
    return shown


def _draw_tree(ax: Axes, chart: TreeChart) -> None:
    """Draw the branches from the leaves on the left to the last merge on the right."""
    ax.axvspan(*chart.band, color=PALE, alpha=0.18, lw=0, label=chart.band_is)
    for branch in chart.branches:
        ax.plot(*zip(*branch, strict=True), color=PALETTE[0], lw=1.5)
    ax.axvline(chart.cut, color=GREY, ls="--", lw=1, label="the cut")
    label_rows(ax, chart.leaves, fontsize=9)
    for name in ax.get_yticklabels():
        if name.get_text() in chart.chosen:
            name.set(color="#D55E00", fontweight="bold", fontsize=11)
        elif name.get_text() in chart.faint:
            name.set(color="#777777", fontstyle="italic")
    ax.set_xlim(chart.axis.low, chart.axis.high)


def own_axes(*, width: float, height: float) -> Any:
    """Return axes of a new figure."""
    # A figure that pyplot does not know of needs no closing and no display.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def fit_text(text: str, *, letters: int = 40, lines: int = 3) -> str:
    r"""Return a text from data in a few short lines, cut where it is endless.

    Examples
    --------
    >>> fit_text("people who moved here from afar", letters=12, lines=2)
    'people who\nmoved here …'
    >>> fit_text("a\x1b")
    'a\\x1b'
    """
    return textwrap.fill(
        visible(text), letters, max_lines=lines, placeholder=" …", break_on_hyphens=False
    )


def row_height(labels: Sequence[str], *, least: float = 0.42) -> float:
    """Return the height in inches of a row whose label may have several lines."""
    lines = max((label.count("\n") + 1 for label in labels), default=1)
    return max(least, 0.17 * lines + 0.1)


def label_rows(ax: Axes, labels: Sequence[str], **style: Any) -> None:
    """Name rows from the top down."""
    # Names come from data: a dollar sign in one is not mathematics.
    ax.set_yticks(range(len(labels)), labels, parse_math=False, **style)
    ax.set_ylim(len(labels) - 0.5, -0.5)


def finish_axes(ax: Axes, *, title: str, across: str, own: bool) -> Axes:
    """Return a plot with title and horizontal axis, without idle lines, its legend out of the way.

    Call it last, when rows have their names and marks their labels.
    """
    _write_around(ax, title=title, across=across, own=own)
    _place_legend(ax, own=own)
    return ax


def _write_around(ax: Axes, *, title: str, across: str, own: bool, aside: float = 0.0) -> None:
    """Set title and horizontal axis in lines that fit over and under the plot.

    What the names of rows take is lost to the plot, and so are the inches `aside` that a scale of
    colours takes.
    """
    figure = _figure(ax)
    width = ax.get_window_extent().width / figure.dpi
    if own:
        names = [(one.get_text(), one.get_fontsize()) for one in ax.get_yticklabels()]
        taken = [len(line) * float(size) / 10 for name, size in names for line in name.split("\n")]
        lost = max(taken, default=0.0) / LETTERS_AN_INCH + 0.3 + aside
        width = figure.get_size_inches()[0] - lost
    room = max(24, round(width * LETTERS_AN_INCH))
    wide = round(room * 10 / 12)
    ax.set_title(fit_text(title, letters=wide), loc="left", fontsize=12, parse_math=False)
    ax.set_xlabel(fit_text(across, letters=room), parse_math=False)


def _place_legend(ax: Axes, *, own: bool) -> None:
    """Leave out the lines that frame nothing, and put the legend where it hides nothing."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    handles, labels = ax.get_legend_handles_labels()
    # One entry for each label, however many marks have it.
    entries = dict(zip(reversed(labels), reversed(handles), strict=True))
    if not entries:
        return
    words, marks = list(entries)[::-1], list(entries.values())[::-1]
    if own:
        room = _figure(ax).get_size_inches()[0] * LETTERS_AN_INCH
        columns = len(words) if sum(len(word) + 6 for word in words) <= room else 2
        ax.figure.legend(marks, words, loc="outside lower center", ncols=columns, frameon=False)
    else:
        ax.legend(marks, words, loc="best", frameon=False)


def _figure(ax: Axes) -> Figure:
    from matplotlib.figure import Figure

    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure), ax
    return figure


def save(ax: Axes, path: Path) -> None:
    """Write the figure of `ax`.

    The same result gives the same file: nothing in it is drawn at random or tells the time.

    Raises
    ------
    FileAccessError
        The file cannot be written, or the disk is full.
    """
    from matplotlib import rc_context

    # Each format has its own name for the time, and one without a time refuses the name.
    dated = {".svg": "Date", ".pdf": "CreationDate"}.get(path.suffix.lower())
    with rc_context({"svg.hashsalt": "comparity"}), replace_file(path) as part:
        _figure(ax).savefig(part, dpi=150, metadata={dated: None} if dated else None)
