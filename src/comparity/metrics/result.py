"""Frozen answers: every metric of the catalogue for one set of predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from comparity.errors import NoSuchEntryError
from comparity.inference.gap_tests import Interval, plain
from comparity.metrics.entries import check_metric
from comparity.metrics.resamples import Comparison, Selection
from comparity.results.plain import as_plain
from comparity.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

__all__ = ["Distortion", "Distortions", "MetricValue", "MovedRows", "RateSpread", "Scorecard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """One metric with its error and what was published about it.

    Attributes
    ----------
    id, name, formula : str
        Which metric.
    value : float
        ``nan`` where it does not exist, ``inf`` for a ratio to zero.
    interval : Interval
        ``nan`` where the value is.
    method : str
        How the interval was found.
    promised : bool
        Whether counts are large enough for the interval to cover as often as it says.
    ideal : float
        Value at parity.
    fair_range : tuple of float
        Published range, both ends included.
    direction : str
        What a value away from the ideal says.
    cluster : str
        Published cluster.
    """

    id: str
    name: str
    formula: str
    value: float
    interval: Interval
    method: str
    promised: bool
    ideal: float
    fair_range: tuple[float, float]
    direction: str
    cluster: str

    DERIVED: ClassVar[Mapping[str, str]] = {"place": "place", "interval_place": "interval_place"}

    @staticmethod
    def completed_from(content: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse a metric that the catalogue does not have."""
        check_metric(content["id"])
        return {}

    @property
    def place(self) -> str:
        """Where the value lies: ``"inside"`` the published range, ``"outside"``, or ``"none"``."""
        if self.value != self.value:
            return "none"
        low, high = self.fair_range
        return "inside" if low <= self.value <= high else "outside"

    @property
    def interval_place(self) -> str:
        """Where the interval lies: ``"inside"``, ``"outside"``, ``"across"`` an end, ``"none"``."""
        low, high, _ = self.interval
        if low != low or high != high:
            return "none"
        least, most = self.fair_range
        if least <= low and high <= most:
            return "inside"
        return "outside" if high < least or low > most else "across"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSpread:
    """One rate in all groups, and how far apart they are, without a privileged group.

    Attributes
    ----------
    name : str
        The rate.
    rates : mapping of str to float
        By group; ``nan`` without trials.
    gap, ratio : float
        Largest minus smallest, and smallest over largest; ``nan`` where a rate is, or both are 0.
    gap_interval, ratio_interval : Interval
        Their intervals.
    promised : bool
        Whether counts are large enough for the intervals.
    """

    name: str
    rates: Mapping[str, float]
    gap: float
    gap_interval: Interval
    ratio: float
    ratio_interval: Interval
    promised: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedRows:
    """How far the rows of some people were moved.

    Attributes
    ----------
    total, average, maximum : float
        Of the distances between features before and after.
    standard_error : float
        Of the average.
    n : int
        Rows.
    """

    total: float
    average: float
    maximum: float
    standard_error: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Distortion:
    """How far a change of the data moved rows, by one kind of distance.

    Attributes
    ----------
    distance : str
        ``"euclidean"``, ``"manhattan"`` or ``"mahalanobis"``.
    everybody, unprivileged, privileged : MovedRows
        Over all rows, and over the two camps.
    difference, ratio : float
        Average of the unprivileged minus, and over, that of the privileged.
    difference_interval : Interval
        Normal interval of the difference.
    """

    distance: str
    everybody: MovedRows
    unprivileged: MovedRows
    privileged: MovedRows
    difference: float
    difference_interval: Interval
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Distortions(Result):
    """How far a change of the data moved rows, by several kinds of distance.

    Attributes
    ----------
    distances : tuple of Distortion
        One for each kind; ``distortions["euclidean"]`` finds one.
    """

    distances: tuple[Distortion, ...]

    def __getitem__(self, name: str) -> Distortion:
        for one in self.distances:
            if one.distance == name:
                return one
        raise NoSuchEntryError("distance", name, [one.distance for one in self.distances])

    def __iter__(self) -> Iterator[Distortion]:
        return iter(self.distances)

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.metrics.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each kind of distance."""
        from comparity.reports.frames import frame_of_rows

        return frame_of_rows(self._rows(), backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how far rows of both camps were moved, by every kind of distance."""
        from comparity.metrics.plots import plot_distortions

        return plot_distortions(self, ax)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "distance": one.distance,
                **{
                    f"{camp}_{name}": plain(value)
                    for camp in ("everybody", "unprivileged", "privileged")
                    for name, value in asdict(getattr(one, camp)).items()
                },
                "difference": plain(one.difference),
                "low": plain(one.difference_interval.low),
                "high": plain(one.difference_interval.high),
                "level": one.difference_interval.level,
                "ratio": plain(one.ratio),
            }
            for one in self.distances
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard(Result):
    """Every metric of the catalogue for one set of predictions.

    Attributes
    ----------
    metrics : tuple of MetricValue
        In the order of the catalogue; ``scorecard["C0"]`` finds one.
    spreads : tuple of RateSpread
        Rates of all groups.
    groups, privileged : tuple of str
        All groups, and those called privileged.
    n : int
        Decisions.
    selection : Selection or None
        The few metrics to report, where they were asked for.
    comparison : Comparison or None
        Against other predictions, where they were given.
    notes : tuple of str
        What the reader must know.
    provenance : mapping
        Version, options and facts about the data.
    """

    metrics: tuple[MetricValue, ...]
    spreads: tuple[RateSpread, ...]
    groups: tuple[str, ...]
    privileged: tuple[str, ...]
    n: int
    selection: Selection | None = None
    comparison: Comparison | None = None
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> MetricValue:
        """Return the metric with this id or name."""
        for one in self.metrics:
            if name in (one.id, one.name):
                return one
        known = [word for one in self.metrics for word in (one.id, one.name)]
        raise NoSuchEntryError("metric", name, known)

    def __iter__(self) -> Iterator[MetricValue]:
        return iter(self.metrics)

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.metrics.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each metric, as a frame of the named engine.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The engine; the first of these that is installed by default.
        """
        from comparity.reports.frames import frame_of_rows

        rows = as_plain(self.metrics)
        for row in rows:
            row |= row.pop("interval")
            row["range_low"], row["range_high"] = row.pop("fair_range")
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every metric with its interval and its published range, by cluster."""
        from comparity.metrics.plots import plot_scorecard

        return plot_scorecard(self, ax)
