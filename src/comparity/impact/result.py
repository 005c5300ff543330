"""The frozen answer of an audit of impact ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from comparity.inference.gap_tests import Interval
from comparity.reports.plots import draw
from comparity.reports.sections import Section
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AT_LEAST, BELOW, OPEN = "at least 4/5", "below 4/5", "neither"
NOWHERE = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactGroup:
    """A group, its rate, and that rate over the largest one.

    Attributes
    ----------
    group : str
    n, hits : int
        People, and those selected (or above the median); -1 where they are hidden.
    rate : float
    rate_interval : Interval
    share : float
        Of all people whose group is known.
    ratio : float
        Rate over the largest rate of the groups compared; ``nan`` where there is none.
    interval : Interval
        Allows for not knowing which group has the largest rate.
    p_value : float
        Of no group having a larger rate: Fisher's exact test, one-sided, corrected for the number
        of other groups.
    four_fifths : str
        What is shown of a ratio of four fifths, where that was asked.
    why_none : str
        Why there is no ratio.
    """

    group: str
    n: int = -1
    hits: int = -1
    rate: float = math.nan
    rate_interval: Interval = NOWHERE
    share: float = math.nan
    ratio: float = math.nan
    interval: Interval = NOWHERE
    p_value: float = math.nan
    four_fifths: str = ""
    why_none: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactTable:
    """All groups of one attribute, or of a combination.

    Attributes
    ----------
    attribute : str
    groups : tuple of ImpactGroup
    unknown, unknown_hits : int
        People whose group is not known, and how many of them were selected.
    """

    attribute: str
    groups: tuple[ImpactGroup, ...]
    unknown: int
    unknown_hits: int

    @property
    def best(self) -> ImpactGroup:
        """The group with the largest rate of those that have a ratio."""
        return max(
            (one for one in self.groups if not one.why_none), key=lambda one: (one.rate, one.group)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactRatios(Result):
    """Selection or scoring rates of groups, and their impact ratios.

    Attributes
    ----------
    tables : tuple of ImpactTable
        One for each attribute, and one for their combination.
    outcome : str
        What rates are of.
    median : float or None
        Of the scores, where rates are shares above it.
    n, hits : int
    level : float
        Of the intervals.
    four_fifths : bool
        Whether that was asked.
    provenance : mapping
    """

    tables: tuple[ImpactTable, ...]
    outcome: str
    median: float | None
    n: int
    hits: int
    level: float
    four_fifths: bool
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def with_provenance(self, more: Mapping[str, Any]) -> ImpactRatios:
        """Return the same answer with more on where it came from."""
        return replace(self, provenance={**self.provenance, **more})

    def section(self) -> Section:
        """Return what is told of the ratios."""
        from comparity.impact.section import section_of

        return section_of(self)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each group."""
        return [
            {
                **{"attribute": table.attribute, "group": one.group},
                "n": None if one.n < 0 else one.n,
                "selected": None if one.hits < 0 else one.hits,
                **{"rate": one.rate, "ratio": one.ratio},
                **{"ratio_low": one.interval.low, "ratio_high": one.interval.high},
                **{"p_value": one.p_value, "four_fifths": one.four_fifths, "remark": one.why_none},
            }
            for table in self.tables
            for one in table.groups
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group, as a frame of the named engine."""
        return frame_of_rows(self.rows(), backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the impact ratios of the last table, the finest groups."""
        from comparity.impact.section import ratio_chart

        return draw(ratio_chart(self, self.tables[-1]), ax)
