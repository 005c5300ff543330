"""Exposure and fair top-k rankings for terminal, notebook and picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from comparity.orderings import FairTopK, GroupExposure
from comparity.reporting.formats import count, rate, signed, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["as_html", "as_text", "exposure_view", "plot_exposure", "topk_view"]

WIDTH = 100
# So many places are shown; all of them are in to_frame().
SHOWN = 20
FORMULAS = {"singh-joachims": "1 / log2(rank + 1)", "ferrara": "1 / (log2(rank + 1) + 1)"}


def exposure_view(exposure: GroupExposure) -> RenderableType:
    """Lay out the mean exposure of every group and the widest gap."""
    headline = (
        f"Exposure by group: widest gap {signed(exposure.largest_gap)}, "
        f"ratio {rate(exposure.smallest_ratio)}"
    )
    basis = f"a place is worth {FORMULAS[exposure.discount]} ({exposure.discount}), rank 1 is best"
    notes = [
        f"{count(number)} {what}"
        for number, what in (
            (exposure.tied, "tied items share what their places are worth."),
            (exposure.unranked, "items are not shown; their exposure is 0."),
        )
        if number
    ]
    table = _table("group", "mean exposure", "items")
    for group, mean in exposure.means.items():
        table.add_row(visible(group), f"{mean:.4f}", count(exposure.n_items[group]))
    return Group(Text(headline, "bold"), Text(basis, "dim"), table, *map(Text, notes))


def topk_view(result: FairTopK) -> RenderableType:
    """Lay out a fair top-k ranking: whether the scores had passed, then the first places."""
    group, p = visible(result.group), result.p
    passed = "passed" if result.passed else f"failed at place {result.failed_at}"
    headline = f"Top {result.k} with at least a share of {p:g} of {group!r}: scores alone {passed}"
    if not result.satisfied:
        headline += "; the group is too small to meet the table"
    basis = (
        f"alpha {result.alpha:g}, each place tested at {result.adjusted_alpha:.4g}; a ranking "
        f"drawn with that share fails with probability {result.failure_probability:.4g}"
    )
    table = _table("rank", "item", "protected", "held", "needed")
    held = 0
    places = zip(result.ranking.tolist(), result.protected.tolist(), result.table, strict=True)
    for place, (item, flag, needed) in enumerate(places, start=1):
        held += flag
        if place <= SHOWN:
            table.add_row(str(place), str(item), "yes" if flag else "", str(held), str(needed))
    hidden = result.k - SHOWN
    more = [Text(f"and {count(hidden)} more places, in to_frame()")] if hidden > 0 else []
    return Group(Text(headline, "bold"), Text(basis, "dim"), table, *more)


def plot_exposure(exposure: GroupExposure, ax: Axes | None = None) -> Axes:
    """Draw the mean exposure of each group as a bar.

    Parameters
    ----------
    exposure : GroupExposure
        The exposures.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(6, 1.2 + 0.5 * len(exposure.groups)), layout="tight").subplots()
    ax.barh([visible(group) for group in exposure.groups], list(exposure.means.values()))
    ax.invert_yaxis()
    ax.set_xlabel(f"mean exposure, {FORMULAS[exposure.discount]}")
    return ax


def as_text(view: RenderableType) -> str:
    """Return a view as plain text, 100 columns wide, without colour."""
    console = Console(width=WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(view)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def as_html(view: RenderableType) -> str:
    """Return a view as preformatted HTML for a notebook."""
    from html import escape

    return f"<pre>{escape(as_text(view))}</pre>"


def _table(first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", overflow="fold")
    return table
