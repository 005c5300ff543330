"""Exposure and fair top-k rankings: frozen answers, and how they are told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError, UnknownGroupError
from comparity.errors.spelling import visible
from comparity.reports.charts import Curve, CurveChart, Mark, Row, RowChart, axis_between
from comparity.reports.formats import count, rate, several, signed
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section
from comparity.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "FairTopK",
    "GroupExposure",
    "exposure_chart",
    "places_chart",
    "section",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupExposure(Result):
    """Mean exposure of the items of each group in one ranking.

    Attributes
    ----------
    means : mapping of str to float
        Mean exposure by group, groups in sorted order.
    n_items : mapping of str to int
        Items by group.
    discount : str
        What a rank is worth: ``"singh-joachims"`` or ``"ferrara"``.
    tied : int
        Items that share their score with another one; they share what their places are worth.
    unranked : int
        Items that the ranking does not show; their exposure is 0.
    """

    means: Mapping[str, float]
    n_items: Mapping[str, int]
    discount: str
    tied: int = 0
    unranked: int = 0

    DERIVED: ClassVar[Mapping[str, str]] = {
        "largest_gap": "largest_gap",
        "smallest_ratio": "smallest_ratio",
    }

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, sorted."""
        return tuple(self.means)

    def gap(self, first: str | None = None, second: str | None = None) -> float:
        """Return the mean exposure of one group minus that of another: 0 at parity.

        Parameters
        ----------
        first, second : str, optional
            The groups. Without them, the two groups there are, in sorted order.
        """
        one, other = self._pair(first, second)
        return self.means[one] - self.means[other]

    def ratio(self, first: str | None = None, second: str | None = None) -> float:
        """Return the mean exposure of one group over that of another: 1 at parity.

        ``nan`` where the second group is not shown at all.
        """
        one, other = self._pair(first, second)
        return self.means[one] / self.means[other] if self.means[other] > 0 else math.nan

    @property
    def largest_gap(self) -> float:
        """Largest mean exposure of a group minus the smallest: 0 at parity, never negative."""
        return max(self.means.values()) - min(self.means.values())

    @property
    def smallest_ratio(self) -> float:
        """Smallest mean exposure of a group over the largest: 1 at parity, never above 1."""
        return min(self.means.values()) / max(self.means.values())

    def section(self) -> Section:
        """Return what is told of this answer."""
        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group, as a frame of the named engine."""
        from comparity.reports.frames import frame_of_rows

        rows = [
            {"group": group, "exposure": mean, "n_items": self.n_items[group]}
            for group, mean in self.means.items()
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean exposure of each group as a bar."""
        return draw(exposure_chart(self), ax)

    def _pair(self, first: str | None, second: str | None) -> tuple[str, str]:
        if first is None and second is None and len(self.means) == 2:
            return self.groups[0], self.groups[1]
        if first is None or second is None:
            why = f"there are {len(self.means)} groups"
            raise OptionError("first, second", (first, second), ["the names of two groups"], why)
        for group in (first, second):
            if group not in self.means:
                raise UnknownGroupError(group, "sensitive_features", self.groups)
        return first, second


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FairTopK(Result):
    """The best k items, with enough of a protected group in every prefix.

    Attributes
    ----------
    ranking : ndarray of int, (k,)
        Positions of the chosen items in the input, best first.
    protected : ndarray of bool, (k,)
        Whether each of them is of the protected group.
    group : str
        The protected group.
    table : ndarray of int, (k,)
        How many protected items the first 1, 2, ..., k places must hold at least.
    p : float
        Share of protected items that a prefix is tested against.
    alpha : float
        The false-alarm rate asked for.
    adjusted_alpha : float
        The level of each of the k tests; 0 where no requirement at all keeps `alpha`.
    failure_probability : float
        How often a ranking whose places are filled by independent draws with share `p` breaks
        the table, exactly.
    correction : str
        ``"at most"``, ``"closest"`` or ``"none"``.
    passed : bool
        Whether the k best items by score met the table as they were.
    failed_at : int or None
        The first place, counted from 1, at which they did not.
    satisfied : bool
        Whether the new ranking meets the table; false only where the protected group is too small.
    n_items : int
        Items to choose from.
    """

    ranking: NDArray[np.int64]
    protected: NDArray[np.bool_]
    group: str
    table: NDArray[np.int64]
    p: float
    alpha: float
    adjusted_alpha: float
    failure_probability: float
    correction: str
    passed: bool
    failed_at: int | None
    satisfied: bool
    n_items: int

    DERIVED: ClassVar[Mapping[str, str]] = {"k": "k"}

    @property
    def k(self) -> int:
        """Number of places."""
        return len(self.ranking)

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Rank of every item of the input, 1 for the best; ``nan`` for those left out."""
        ranks = np.full(self.n_items, np.nan)
        ranks[self.ranking] = np.arange(1, self.k + 1)
        return ranks

    def section(self) -> Section:
        """Return what is told of this answer."""
        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each place, as a frame of the named engine."""
        from comparity.reports.frames import frame_of_rows

        held = np.cumsum(self.protected).tolist()
        rows = [
            {"rank": place + 1, "item": item, "protected": flag, "held": held[place], "needed": m}
            for place, (item, flag, m) in enumerate(
                zip(
                    self.ranking.tolist(), self.protected.tolist(), self.table.tolist(), strict=True
                )
            )
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many protected items the first places hold, and how many they must."""
        return draw(places_chart(self), ax)


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


def exposure_chart(exposure: GroupExposure) -> RowChart:
    """Describe the mean exposure of each group."""
    means = exposure.means
    across = f"mean exposure; a place is worth {FORMULAS[exposure.discount]}"
    return RowChart(
        title=f"Mean exposure by group, {several(sum(exposure.n_items.values()), 'item')}",
        axis=axis_between(across, means.values(), from_zero=True),
        rows=tuple(
            Row(
                label=visible(group),
                note=f"n {count(exposure.n_items[group])}",
                marks=(Mark(kind="second", x=means[group], low=0.0, high=means[group]),),
            )
            for group in exposure.groups
        ),
        line=0.0,
    )


def places_chart(result: FairTopK) -> CurveChart:
    """Describe how many protected items the first places hold, and how many they must."""
    places, held = range(1, result.k + 1), result.protected.cumsum().tolist()
    most = max(*held, *result.table, result.p * result.k)
    curves = [
        Curve(label="held", points=list(zip(places, held, strict=True)), style="steps"),
        Curve(label="needed", points=list(zip(places, result.table, strict=True)), style="steps"),
        Curve(
            label=f"a share of {result.p:g}",
            points=[(place, result.p * place) for place in places],
            style="guide",
        ),
    ]
    if result.failed_at is not None:
        told = f"scores alone fail at place {count(result.failed_at)}"
        ends = [(result.failed_at, 0.0), (result.failed_at, most)]
        curves.append(Curve(label=told, points=ends))
    across = f"place, of {count(result.k)}; chosen from {several(result.n_items, 'item')}"
    up = axis_between(f"items of {result.group!r} among the first", [0.0, most], from_zero=True)
    return CurveChart(
        title=_headline(result),
        axis=axis_between(across, places),
        up=replace(up, ticks=tuple(tick for tick in up.ticks if tick.at == round(tick.at))),
        curves=tuple(curves),
    )
