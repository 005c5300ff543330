"""Pictures of audits, matrices and plans, by matplotlib and without its global state."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from comparity.auditing.verdicts import UNDECIDED, VIOLATED, WITHIN
from comparity.matrices import PairwiseAccuracy
from comparity.outputs import replace_file
from comparity.plans import ComparativePlan, Plan
from comparity.reporting.canvas import finished, fitted, label_rows, lettered, own_axes, row_height
from comparity.reporting.charts import drawn_tests, most_drawn
from comparity.reporting.formats import count, short, sizes
from comparity.reporting.heat import colours
from comparity.reporting.sentences import gap_axis, headline, plan_headline
from comparity.results import Audit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "FORMATS", "plot_gaps", "plot_matrix", "plot_power", "save"]

FORMATS = (".png", ".svg", ".pdf")

# From the palette of Okabe and Ito, which readers of every kind of colour vision can tell apart;
# the marker, as on a page, says the same a second time.
COLOURS = {VIOLATED: "#D55E00", WITHIN: "#009E73", UNDECIDED: "#56B4E9"}
MARKERS = {VIOLATED: "s", WITHIN: "o", UNDECIDED: "D"}
CURVES = ("#0072B2", "#E69F00", "#CC79A7", "#009E73")
LINES = ("-", "--", "-.", ":")
# A matrix of more groups than the first says no number of pairs, than the second no number at all.
WITH_PAIRS, WITH_NUMBERS = 6, 14


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


def plot_matrix(result: PairwiseAccuracy, ax: Axes | None = None) -> Axes:
    """Draw the matrix of pairwise accuracies as a heat map, with pairs behind each entry.

    Parameters
    ----------
    result : PairwiseAccuracy
        All pairs. Of many groups the entries are colours only.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    from matplotlib import colormaps

    k, own = len(result.groups), ax is None
    room = {"letters": 18, "lines": 3} if k <= WITH_PAIRS else {"letters": 28, "lines": 1}
    names = [fitted(group, **room) for group in result.groups]
    side = k * (1.1 if k <= WITH_PAIRS else 0.55 if k <= WITH_NUMBERS else 0.3)
    ax = own_axes(width=max(side + 3.4, 5.5), height=side + 2.2) if ax is None else ax
    # Half of the scale is left out where no entry is worse than a coin.
    low = 0.5 if np.nanmin(result.matrix, initial=1.0) >= 0.5 else 0.0
    scale = colormaps["cividis"].with_extremes(bad="#bbbbbb")
    shown = ax.imshow(result.matrix, vmin=low, vmax=1.0, cmap=scale)
    if k <= WITH_NUMBERS:
        _write_entries(ax, result, low)
    upright = k > WITH_PAIRS
    ax.set_xticks(range(k), names, parse_math=False, rotation=90 if upright else 0)
    ax.set_yticks(range(k), names, parse_math=False)
    ax.set_ylabel("group of the better item")
    pairs = count(round(float(np.nansum(result.n_pairs))))
    title = f"How often scores order pairs as labels do: {pairs} pairs, raw"
    lettered(ax, title=title, across="group of the worse item", own=own, aside=1.2)
    ax.figure.colorbar(shown, ax=ax, label="pairwise accuracy", shrink=0.8)
    return ax


def _write_entries(ax: Axes, result: PairwiseAccuracy, low: float) -> None:
    """Write the number of each entry, and of few groups the pairs behind it."""
    with_pairs = len(result.groups) <= WITH_PAIRS
    for (row, column), value in np.ndenumerate(result.matrix):
        text, ink = "none", "black"
        if not math.isnan(value):
            text = f"{value:.3f}" if with_pairs else f"{value:.2f}"
            text += f"\nn {short(float(result.n_pairs[row, column]))}" if with_pairs else ""
            ink = colours((value - low) / (1 - low))[1]
        size = 10 if with_pairs else 7
        ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=size)


def plot_power(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw power against the number of decisions or judged pairs.

    Parameters
    ----------
    plan : Plan
        The plan. One for judged pairs drawn from a number of items gets a curve for fresh items
        and for half and twice as many items, too.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; ``.figure`` has the figure.
    """
    own = ax is None
    ax = own_axes(width=8.0, height=4.5) if ax is None else ax
    for (label, points), colour, line in zip(_curves(plan).items(), CURVES, LINES, strict=False):
        ax.plot(*zip(*points, strict=True), color=colour, ls=line, lw=2, label=label)
    if plan.target is not None:
        ax.axhline(plan.target, color="#666666", lw=1, ls=(0, (1, 2)), label="power wanted")
    if plan.size is not None:
        ax.plot(plan.size, plan.power, "o", color=CURVES[0], ms=8)
        ax.annotate(
            count(plan.size), (plan.size, plan.power), xytext=(8, -14), textcoords="offset points"
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: count(round(value)))
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("power")
    ax.grid(visible=True, alpha=0.3)
    return finished(ax, title=plan_headline(plan), across=plan.unit, own=own)


def save(ax: Axes, path: Path) -> None:
    """Write the figure of `ax`; names whose characters the font lacks are no reason to warn.

    The same result gives the same file: nothing in it is drawn at random or tells the time.

    Raises
    ------
    FileAccessError
        The file cannot be written, or the disk is full.
    """
    from matplotlib import rc_context

    figure = ax.get_figure(root=True)
    assert figure is not None, path
    # Each format has its own name for the time, and one without a time refuses the name.
    dated = {".svg": "Date", ".pdf": "CreationDate"}.get(path.suffix.lower())
    with (
        warnings.catch_warnings(),
        rc_context({"svg.hashsalt": "comparity"}),
        replace_file(path) as part,
    ):
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        figure.savefig(part, dpi=150, metadata={dated: None} if dated else None)


def _curves(plan: Plan) -> dict[str, tuple[tuple[int, float], ...]]:
    """Return curves by their label, that of the plan itself first."""
    own = plan.curve()
    if not isinstance(plan, ComparativePlan) or plan.n_items is None:
        return {"this plan": own}
    sizes = [size for size, _ in own]
    others = {
        "fresh items": None,
        "half the items": max(2, plan.n_items // 2),
        "twice the items": 2 * plan.n_items,
    }
    curves = {f"{count(plan.n_items)} items": own}
    for label, n_items in others.items():
        question = plan.question.on_items(n_items)
        curves[label] = tuple((size, question.power(size)) for size in sizes)
    return curves


def _hypothesis(null: str) -> str:
    """Return a hypothesis, its two sides in lines of their own where it is long."""
    first, equal, second = null.partition(" = ")
    if len(null) <= 44 or not equal:
        return fitted(null, letters=44)
    return f"{fitted(f'{first} =', lines=2)}\n{fitted(second, lines=2)}"


def _sizes(audit: Audit, n: tuple[int, int]) -> str:
    return f"{sizes(n, audit.n)} {audit.unit}"
