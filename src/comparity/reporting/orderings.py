"""Exposure and fair top-k rankings, for terminal, page and picture."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from comparity.orderings import FairTopK, GroupExposure
from comparity.reporting.formats import count, rate, signed, visible
from comparity.reporting.grids import Grid
from comparity.reporting.plots import own_axes
from comparity.reporting.sections import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_exposure", "section"]

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
    passed = "passed" if result.passed else f"failed at place {result.failed_at}"
    missed = "" if result.satisfied else "; the group is too small to meet the table"
    return Section(
        headline=f"Top {result.k} with at least a share of {result.p:g} of "
        f"{visible(result.group)!r}: scores alone {passed}{missed}",
        sentences=(
            f"alpha {result.alpha:g}, each place tested at {result.adjusted_alpha:.4g}; a ranking "
            f"drawn with that share fails with probability {result.failure_probability:.4g}.",
        ),
        grids=(_places(result),),
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
    ax = own_axes(width=6, height=1.2 + 0.5 * len(exposure.groups)) if ax is None else ax
    ax.barh([visible(group) for group in exposure.groups], list(exposure.means.values()))
    ax.invert_yaxis()
    ax.set_xlabel(f"mean exposure, {FORMULAS[exposure.discount]}")
    return ax
