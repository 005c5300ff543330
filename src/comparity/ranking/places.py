"""How the groups stand in the places of a ranking: exposure, parity, and a fair top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from comparity.errors.spelling import visible
from comparity.pairwise.parity import pairwise_parity
from comparity.ranking.exposure import GroupExposure, exposure
from comparity.ranking.fair_topk import FairTopK, fair_topk
from comparity.ranking.options import PlacesForm, PlacesOptions
from comparity.ranking.result import Ranking
from comparity.reports.sections import Grid, Section, count, interval, rate
from comparity.results.audit import Audit
from comparity.results.result import Result
from comparity.tables.columns import labelled_columns
from comparity.tables.files import read_table
from comparity.tables.frames import text_of
from comparity.tables.values import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupPlaces(Result):
    """How the groups of one attribute stand in the places of a ranking.

    Attributes
    ----------
    attribute : str
        What the groups are of.
    exposure : GroupExposure
        How much the items of each group are seen.
    parity : Audit
        Whether every two groups stand higher equally often; reported, not judged here.
    top : FairTopK or None
        The first places with enough of a protected group, where they were asked for.
    top_items : tuple of str
        The items in these places, by name; by their rows, from 0, where they have none.
    """

    attribute: str
    exposure: GroupExposure
    parity: Audit
    top: FairTopK | None = None
    top_items: tuple[str, ...] = ()

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        told = [self.exposure.section()]
        if self.top is not None:
            told.append(replace(self.top.section(), grids=(self._top_grid(self.top),)))
        return Section(
            headline=f"Places of groups by {visible(self.attribute)}",
            sentences=(
                *(f"{one.headline}." for one in told),
                *(line for one in told for line in one.sentences),
                *self._wins(),
            ),
            charts=tuple(chart for one in told for chart in one.charts),
            grids=tuple(grid for one in told for grid in one.grids),
            lists={name: lines for one in told for name, lines in one.lists.items()},
        )

    def _top_grid(self, top: FairTopK) -> Grid:
        """Lay out who stands in the first places."""
        rows = [
            (
                count(row["rank"]),
                visible(name),
                visible(top.group) if row["protected"] else "",
                count(row["held"]),
                count(row["needed"]),
            )
            for row, name in zip(top.rows(), self.top_items, strict=True)
        ]
        header = ("place", "item", "protected", "so far", "needed")
        return Grid(title=f"The first {count(top.k)} places", header=header, rows=tuple(rows))

    def _wins(self) -> Iterator[str]:
        """Yield how often an item of one group stands above one of another."""
        for one in self.parity.rates:
            ends = interval(one.interval.low, one.interval.high, sign=False)
            yield f"Of pairs {visible(one.of)} the first stands higher in {rate(one.rate)} {ends}."

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group, as a frame of the named engine."""
        return self.exposure.to_frame(backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean exposure of each group."""
        return self.exposure.plot(ax)


def group_places(
    scores: ArrayLike | Ranking, *, sensitive_features: Mapping[str, ArrayLike], **choices: Any
) -> tuple[GroupPlaces, ...]:
    """Compare the places of groups in a ranking, for each attribute.

    Parameters
    ----------
    scores : array_like of float or Ranking
        Score of each item, larger is better; or the fit of a ranker.
    sensitive_features : mapping of str to array_like
        Group of each item, by attribute.
    discount : {"singh-joachims", "ferrara"}
        What a place is worth, see :func:`comparity.exposure`.
    top : int, optional
        Fill so many places with FA*IR, see :func:`comparity.fair_topk`.
    protected : str, optional
        The group that is put forward where it is missing, with `top`.
    share : float, optional
        The share of it to test against; by default its share of all items.

    Examples
    --------
    >>> (found,) = group_places(
    ...     range(40), sensitive_features={"sex": list("fm") * 20}, top=10, protected="f"
    ... )
    >>> round(found.exposure.gap("f", "m"), 3), found.parity.rates[0].rate, found.top.passed
    (-0.027, 0.475, True)
    """
    options = PlacesOptions(**choices)
    if isinstance(scores, Ranking):
        values, names = scores.scores, scores.items
    else:
        values = np.asarray(scores, dtype=np.float64)
        names = np.arange(len(values))
    known = {
        name: set(map(text_of, np.asarray(one).tolist()))
        for name, one in sensitive_features.items()
    }
    found = []
    for attribute, groups in sensitive_features.items():
        # Of several attributes the group is of one; a group of none is refused by the fair top.
        elsewhere = any(options.protected in one for one in known.values())
        asked = options.protected in known[attribute] or not elsewhere
        top = _top(values, groups, options) if asked else None
        found.append(
            GroupPlaces(
                attribute=attribute,
                exposure=exposure(values, sensitive_features=groups, discount=options.discount),
                parity=pairwise_parity(values, sensitive_features=groups),
                top=top,
                top_items=() if top is None else tuple(map(text_of, names[top.ranking].tolist())),
            )
        )
    return tuple(found)


def _top(values: ArrayLike, groups: ArrayLike, options: PlacesOptions) -> FairTopK | None:
    if options.top is None:
        return None
    held = np.mean([text_of(one) == str(options.protected) for one in np.asarray(groups).tolist()])
    return fair_topk(
        values,
        sensitive_features=groups,
        protected=options.protected,
        k=options.top,
        # Of a group that does not occur, or is alone, fair_topk says so itself.
        p=options.share or float(np.clip(held, 0.01, 0.99)),
    )


def places_file(path: str | Path, **choices: Any) -> GroupPlaces:
    """Compare the places of groups by a score; `choices` are those of :class:`PlacesForm`."""
    form = PlacesForm(**choices)
    columns = labelled_columns(read_table(path), [form.score, form.sensitive])
    asked = {name: getattr(form, name) for name in ("discount", "top", "protected", "share")}
    (found,) = group_places(
        numbers(columns[form.score], form.score, "items"),
        sensitive_features={form.sensitive: columns[form.sensitive]},
        **asked,
    )
    return found
