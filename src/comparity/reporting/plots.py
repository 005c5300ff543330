"""Pictures of results, by matplotlib and without its global state."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comparity.auditing.verdicts import UNDECIDED, VIOLATED, WITHIN
from comparity.matrices import PairwiseAccuracy
from comparity.plans import ComparativePlan, Plan
from comparity.reporting.formats import count, visible
from comparity.reporting.sentences import gap_axis, headline, plan_headline
from comparity.results import Audit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "FORMATS", "own_axes", "plot_gaps", "plot_matrix", "plot_power", "save"]

FORMATS = (".png", ".svg", ".pdf")

# From the palette of Okabe and Ito, which readers of every kind of colour vision can tell apart;
# the marker says the same a second time.
COLOURS = {VIOLATED: "#D55E00", WITHIN: "#009E73", UNDECIDED: "#56B4E9"}
MARKERS = {VIOLATED: "X", WITHIN: "o", UNDECIDED: "D"}
CURVES = ("#0072B2", "#E69F00", "#CC79A7", "#009E73")
LINES = ("-", "--", "-.", ":")


def plot_gaps(audit: Audit, ax: Axes | None = None) -> Axes:
    """Draw every gap with the interval it was judged by, and the margin as a band.

    Parameters
    ----------
    audit : Audit
        The audit. Tests that could not be made have a label and no mark.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; ``.figure`` has the figure.
    """
    rows, own = len(audit.tests), ax is None
    ax = own_axes(width=8.0, height=1.6 + 0.5 * max(rows, 1)) if ax is None else ax
    band = f"within {audit.margin:g}"
    ax.axvspan(-audit.margin, audit.margin, color="#999999", alpha=0.18, lw=0, label=band)
    ax.axvline(0, color="#666666", lw=0.8)
    labelled: set[str] = set()
    for row, test in enumerate(audit.tests):
        if test.pivot is None:
            continue
        low, high, _ = test.interval(test.level)
        colour = COLOURS[test.finding]
        ax.plot([low, high], [row, row], color=colour, lw=2.2, solid_capstyle="butt")
        label = None if test.finding in labelled else test.finding
        ax.plot(test.gap, row, MARKERS[test.finding], color=colour, ms=8, ls="", label=label)
        labelled.add(test.finding)
    labels = [f"{visible(test.null)}\n{_sizes(audit, test.n)}" for test in audit.tests]
    # Names come from data: a dollar sign in one is not mathematics.
    ax.set_yticks(range(rows), labels, parse_math=False)
    ax.set_ylim(rows - 0.5, -0.5)
    ax.set_xlabel(f"{gap_axis(audit)}, with the interval it was judged by")
    ax.set_title(headline(audit), loc="left")
    _finish(ax, own=own)
    return ax


def plot_matrix(result: PairwiseAccuracy, ax: Axes | None = None) -> Axes:
    """Draw the matrix of pairwise accuracies as a heat map, with pairs behind each entry.

    Parameters
    ----------
    result : PairwiseAccuracy
        All pairs.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    k = len(result.groups)
    ax = own_axes(width=2.6 + 1.1 * k, height=2.2 + 0.9 * k) if ax is None else ax
    shown = ax.imshow(result.matrix, vmin=0.0, vmax=1.0, cmap="cividis")
    for row in range(k):
        for column in range(k):
            value, pairs = result.matrix[row, column], result.n_pairs[row, column]
            text = "none" if value != value else f"{value:.3f}\nn {count(round(pairs))}"
            ink = "black" if value > 0.55 else "white"
            ax.text(column, row, text, ha="center", va="center", color=ink)
    names = [visible(group) for group in result.groups]
    ax.set_xticks(range(k), names)
    ax.set_yticks(range(k), names)
    ax.set_xlabel("group of the worse item")
    ax.set_ylabel("group of the better item")
    ax.set_title("Raw pairwise accuracy")
    ax.figure.colorbar(shown, ax=ax, label="pairwise accuracy")
    return ax


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
    ax.set_xlabel("judged pairs" if isinstance(plan, ComparativePlan) else "decisions")
    ax.set_ylabel("power")
    ax.set_title(plan_headline(plan), loc="left", wrap=True)
    ax.grid(visible=True, alpha=0.3)
    _finish(ax, own=own)
    return ax


def save(ax: Axes, path: Path) -> None:
    """Write the figure of `ax`; names whose characters the font lacks are no reason to warn."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        figure = ax.get_figure(root=True)
        assert figure is not None, path
        figure.savefig(path, dpi=150)


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


def own_axes(*, width: float, height: float) -> Any:
    """Return axes of a new figure."""
    # A figure that pyplot does not know of needs no closing and no display.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def _sizes(audit: Audit, n: tuple[int, int]) -> str:
    return f"{count(n[0])} vs {count(n[1])} {audit.unit}"


def _finish(ax: Axes, *, own: bool) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if own:
        ax.figure.legend(loc="outside lower center", ncols=5, frameon=False)
    else:
        ax.legend(loc="best")
