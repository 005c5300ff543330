"""Frozen answers: every metric for one set of predictions, the few to report, and what changed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.errors import NoSuchEntryError
from comparity.inference.gap_tests import Interval
from comparity.metrics.catalogue import check_metric
from comparity.results.plain import as_plain
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

Floats = NDArray[np.float64]
Partition = tuple[tuple[str, ...], ...]


class MetricsAnswer(Result):
    """An answer about metrics: what is told and drawn follows from its kind."""

    __slots__ = ()

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        from comparity.metrics.section import section

        return section(self)

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table of this answer."""

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rows of this answer as a frame of the named engine.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The engine; the first of these that is installed by default.
        """
        return frame_of_rows(self.rows(), backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw this answer."""
        from comparity.metrics.pictures import plot_answer

        return plot_answer(self, ax)


def _refuse_unknown(content: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse a metric that the catalogue does not have."""
    check_metric(content["id"])
    return {}


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
        Published range, both ends included; the usual one around the ideal of a further metric.
    direction : str
        What a value away from the ideal says.
    cluster : str
        Published cluster; empty for a further metric.
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

    completed_from = staticmethod(_refuse_unknown)

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricClusters(MetricsAnswer):
    """Metrics that move together over resamples.

    Attributes
    ----------
    clusters : tuple of tuple of str
        Identifiers by cluster, largest cluster first.
    threshold : float
        Height of the cut.
    stretch : tuple of float
        Heights between which the clusters stay the same.
    heights : tuple of float
        Heights at which two clusters merge.
    ids : tuple of str
        The metrics, in the order of `dissimilarity`.
    dissimilarity : ndarray
        One minus the size of the correlation of every two metrics.
    merges : ndarray
        The tree, as scipy writes it.
    correlation, linkage : str
        How metrics, and clusters of them, were compared.
    n_resamples, n_dropped : int
        Resamples used, and left out because a metric did not exist in them.
    constant : tuple of str
        Metrics without variation: they correlate with nothing.
    """

    clusters: Partition
    threshold: float
    stretch: tuple[float, float]
    heights: tuple[float, ...]
    ids: tuple[str, ...]
    dissimilarity: Floats
    merges: Floats
    correlation: str
    linkage: str
    n_resamples: int
    n_dropped: int
    constant: tuple[str, ...] = ()

    @staticmethod
    def completed_from(content: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse merges of clusters that are not there."""
        left = set(range(len(content["ids"])))
        for made, (first, second, *_) in enumerate(content["merges"], start=len(left)):
            if not {first, second} <= left:
                raise ValueError(f"a merge of {first} and {second}")
            left = (left - {first, second}) | {made}
        if len(left) != 1:
            raise ValueError(f"{len(left)} clusters that were never merged")
        return {}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each metric: its identifier and the number of its cluster."""
        places = {one: place for place, cluster in enumerate(self.clusters) for one in cluster}
        return [{"metric": one, "cluster": places[one]} for one in self.ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenMetric:
    """A metric to report, and why.

    Attributes
    ----------
    id, name : str
        The metric.
    kinds : tuple of str
        The kinds of fairness that asked for its cluster.
    cluster : str
        Name of the published cluster.
    reason : str
        Why this one of its cluster.
    """

    id: str
    name: str
    kinds: tuple[str, ...]
    cluster: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(MetricsAnswer):
    """The few metrics to report for this data and model.

    Attributes
    ----------
    chosen : tuple of ChosenMetric
        One for each cluster that matters; two where metrics of a cluster disagree.
    kinds : tuple of str
        Kinds of fairness asked for.
    clusters : MetricClusters or None
        Clusters in resamples of this very data; ``None`` where there were too few of them.
    differences : tuple of str
        Where clusters of this data and published ones differ.
    deaf : tuple of str
        Metrics that hardly respond to resampling this data.
    """

    chosen: tuple[ChosenMetric, ...]
    kinds: tuple[str, ...]
    clusters: MetricClusters | None
    differences: tuple[str, ...] = ()
    deaf: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each chosen metric."""
        rows = as_plain(self.chosen)
        return [{**row, "kinds": ", ".join(row["kinds"])} for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of one metric.

    Attributes
    ----------
    id, name : str
        The metric.
    before, after, ideal : float
        Its values and its ideal value.
    moved : str
        ``"towards"``, ``"away"`` or ``"unchanged"``; ``"unknown"`` where a value does not exist.
    interval : Interval or None
        Of the change in the distance from the ideal, over paired resamples in which both values
        are finite; negative is towards.
    """

    id: str
    name: str
    before: float
    after: float
    ideal: float
    moved: str
    interval: Interval | None = None

    DERIVED: ClassVar[Mapping[str, str]] = {"clear": "is_clear"}

    completed_from = staticmethod(_refuse_unknown)

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves no doubt about the direction."""
        return self.interval is not None and (self.interval.low > 0 or self.interval.high < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(MetricsAnswer):
    """All metrics before and after, such as without and with a mitigation.

    Attributes
    ----------
    changes : tuple of Change
        One for each metric.
    names : tuple of str
        What is compared: before, after.
    """

    changes: tuple[Change, ...]
    names: tuple[str, str] = ("before", "after")

    DERIVED: ClassVar[Mapping[str, str]] = {"counts": "counts"}

    @property
    def counts(self) -> dict[str, int]:
        """How many metrics moved which way."""
        moves = [change.moved for change in self.changes]
        words = ("towards", "away", "unchanged", "unknown")
        return {word: moves.count(word) for word in words}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each metric."""
        rows: list[dict[str, Any]] = as_plain(self.changes)
        for row in rows:
            row |= row.pop("interval") or {"low": None, "high": None, "level": None}
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard(MetricsAnswer):
    """Every metric for one set of predictions: the thirty published ones, and further ones.

    Attributes
    ----------
    metrics : tuple of MetricValue
        The published ones, in the order of the catalogue; ``scorecard["C0"]`` finds one.
    further : tuple of MetricValue
        Metrics reported beside them; ``scorecard["F1"]`` finds one.
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
    further: tuple[MetricValue, ...] = ()
    selection: Selection | None = None
    comparison: Comparison | None = None
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> MetricValue:
        """Return the metric with this id or name."""
        every = (*self.metrics, *self.further)
        for one in every:
            if name in (one.id, one.name):
                return one
        known = [word for one in every for word in (one.id, one.name)]
        raise NoSuchEntryError("metric", name, known)

    def __iter__(self) -> Iterator[MetricValue]:
        return iter(self.metrics)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each metric."""
        rows: list[dict[str, Any]] = as_plain((*self.metrics, *self.further))
        for row in rows:
            row |= row.pop("interval")
            row["range_low"], row["range_high"] = row.pop("fair_range")
        return rows
