"""Exposure and fair top-k rankings, for terminal, page and picture."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from comparity.orderings import FairTopK, GroupExposure
from comparity.reporting.canvas import (
    PALETTE,
    finished,
    fitted,
    label_rows,
    own_axes,
    row_height,
)
from comparity.reporting.formats import count, rate, several, signed, visible
from comparity.reporting.grids import Grid
from comparity.reporting.sections import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_exposure", "plot_places", "section"]

# So many places are shown; all of them are in to_frame().
SHOWN = 20
FORMULAS = {"singh-joachims": "1 / log2(rank + 1)", "ferrara": "1 / (log2(rank + 1) + 1)"}


@singledispatch
def section(result: GroupExposure | FairTopK) -> Section:
    """Return what is shown of an ordering."""
    raise TypeError(f"{type(result).__name__} is no ordering")


@section.register
def _(exposure: GroupExposure) -> Section:
    notes = [
        f"{count(number)} {what}"
        for number, what in (
            (exposure.tied, "tied items share what their places are worth."),
            (exposure.unranked, "items are not shown; their exposure is 0."),
        )
        if number
    ]
    worth = f"A place is worth {FORMULAS[exposure.discount]} ({exposure.discount}), rank 1 is best."
    return Section(
        headline=f"Exposure by group: widest gap {signed(exposure.largest_gap)}, "
        f"ratio {rate(exposure.smallest_ratio)}",
        sentences=(worth,),
        grids=(
            Grid(
                title="Mean exposure",
                header=("group", "mean exposure", "items"),
                rows=tuple(
                    (visible(group), f"{mean:.4f}", count(exposure.n_items[group]))
                    for group, mean in exposure.means.items()
                ),
            ),
        ),
        lists={"Notes": notes},
    )


@section.register
def _(result: FairTopK) -> Section:
    return Section(
        headline=_headline(result),
        sentences=(
            f"alpha {result.alpha:g}, each place tested at {result.adjusted_alpha:.4g}; a ranking "
            f"drawn with that share fails with probability {result.failure_probability:.4g}.",
        ),
        grids=(_places(result),),
    )


def _headline(result: FairTopK) -> str:
    passed = "passed" if result.passed else f"failed at place {count(result.failed_at or 0)}"
    missed = "" if result.satisfied else "; the group is too small to meet the table"
    return (
        f"Top {count(result.k)} with at least a share of {result.p:g} of "
        f"{visible(result.group)!r}: scores alone {passed}{missed}"
    )


def _places(result: FairTopK) -> Grid:
    more = f", the first {SHOWN} of {count(result.k)}" if result.k > SHOWN else ""
    rows, held = [], 0
    places = zip(result.ranking.tolist(), result.protected.tolist(), result.table, strict=True)
    for place, (item, flag, needed) in enumerate(places, start=1):
        held += flag
        rows.append((str(place), str(item), "yes" if flag else "", str(held), str(needed)))
    return Grid(
        title=f"Places{more}",
        header=("rank", "item", "protected", "held", "needed"),
        rows=tuple(rows[:SHOWN]),
    )


def plot_exposure(exposure: GroupExposure, ax: Axes | None = None) -> Axes:
    """Draw the mean exposure of each group as a bar.

    Parameters
    ----------
    exposure : GroupExposure
        The exposures.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    own = ax is None
    labels = [f"{fitted(group)}\nn {count(exposure.n_items[group])}" for group in exposure.groups]
    if ax is None:
        ax = own_axes(width=7.0, height=1.3 + row_height(labels) * len(labels))
    ax.barh(range(len(labels)), list(exposure.means.values()), color=PALETTE[0], height=0.7)
    label_rows(ax, labels)
    title = f"Mean exposure by group, {several(sum(exposure.n_items.values()), 'item')}"
    across = f"mean exposure; a place is worth {FORMULAS[exposure.discount]}"
    return finished(ax, title=title, across=across, own=own)


def plot_places(result: FairTopK, ax: Axes | None = None) -> Axes:
    """Draw how many protected items the first places hold, and how many they must.

    Parameters
    ----------
    result : FairTopK
        The ranking.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    from matplotlib.ticker import MaxNLocator

    own = ax is None
    ax = own_axes(width=7.5, height=4.4) if ax is None else ax
    places = range(1, result.k + 1)
    held = result.protected.cumsum()
    ax.plot(places, held, drawstyle="steps-post", color=PALETTE[0], lw=2, label="held")
    ax.plot(
        places,
        result.table,
        drawstyle="steps-post",
        color=PALETTE[5],
        ls="--",
        lw=2,
        label="needed",
    )
    share = [result.p * place for place in places]
    ax.plot(places, share, color="#666666", ls=":", lw=1, label=f"a share of {result.p:g}")
    if result.failed_at is not None:
        told = f"scores alone fail at place {count(result.failed_at)}"
        ax.axvline(result.failed_at, color=PALETTE[3], ls="-.", lw=1.2, label=told)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel(
        fitted(f"items of {result.group!r} among the first", letters=34), parse_math=False
    )
    across = f"place, of {count(result.k)}; chosen from {several(result.n_items, 'item')}"
    return finished(ax, title=_headline(result), across=across, own=own)
