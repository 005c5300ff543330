"""Frozen answers from many values of each metric: clusters, sensitivity, choices, changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.errors import NoSuchEntryError
from comparity.inference.gap_tests import Interval, plain
from comparity.metrics.entries import check_metric
from comparity.results.plain import as_plain
from comparity.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

__all__ = [
    "Change",
    "ChosenMetric",
    "ClusterStability",
    "ClusterTrial",
    "Comparison",
    "MetricClusters",
    "Partition",
    "Selection",
    "Sensitivity",
    "Spread",
]

Floats = NDArray[np.float64]
Partition = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricClusters(Result):
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

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.metrics.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each metric: its identifier and the number of its cluster."""
        from comparity.reports.frames import frame_of_rows

        places = {one: place for place, cluster in enumerate(self.clusters) for one in cluster}
        rows = [{"metric": one, "cluster": places[one]} for one in self.ids]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the tree of merges and the cut."""
        from comparity.metrics.plots import plot_dendrogram

        return plot_dendrogram(self, ax)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTrial:
    """Clusters under one choice other than the reference's.

    Attributes
    ----------
    choice, value : str
        What was chosen otherwise, and how: ``"linkage"``, ``"complete"``.
    n_clusters : int
        Clusters found.
    agreement : float
        Adjusted Rand index with the reference: 1 for the same clusters, 0 for what chance gives.
    """

    choice: str
    value: str
    n_clusters: int
    agreement: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStability(Result):
    """Whether clusters of metrics depend on how they were found.

    Attributes
    ----------
    reference : MetricClusters
        What the trials are compared with.
    trials : tuple of ClusterTrial
        The reference itself, then other cuts, linkages, correlations and classifiers.
    """

    reference: MetricClusters
    trials: tuple[ClusterTrial, ...]

    def __getitem__(self, key: tuple[str, str]) -> ClusterTrial:
        """Return the trial of a choice and its value."""
        for one in self.trials:
            if (one.choice, one.value) == key:
                return one
        known = [f"{one.choice}, {one.value}" for one in self.trials]
        raise NoSuchEntryError("trial", key, known)

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.metrics.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each trial."""
        from comparity.reports.frames import frame_of_rows

        return frame_of_rows([asdict(one) for one in self.trials], backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how far clusters found otherwise agree with the reference."""
        from comparity.metrics.plots import plot_stability

        return plot_stability(self, ax)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median and interquartile range of one metric over resamples.

    Attributes
    ----------
    id : str
        The metric.
    median, iqr : float
        Over resamples in which it exists; ``nan`` where there are none.
    deaf : bool
        Whether the range is too small to matter: the metric says the same whatever the data.
    """

    id: str
    median: float
    iqr: float
    deaf: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity(Result):
    """Which metrics respond to data.

    Attributes
    ----------
    spreads : tuple of Spread
        One for each metric.
    threshold : float
        A metric is deaf if its interquartile range is not above this: `factor` times the standard
        deviation of the interquartile ranges of all metrics.
    factor : float
        Published: 0.35.
    n_resamples : int
        Resamples behind it.
    """

    spreads: tuple[Spread, ...]
    threshold: float
    factor: float
    n_resamples: int

    DERIVED: ClassVar[Mapping[str, str]] = {"deaf": "deaf"}

    @property
    def deaf(self) -> tuple[str, ...]:
        """Metrics that hardly respond."""
        return tuple(spread.id for spread in self.spreads if spread.deaf)

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.metrics.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each metric."""
        from comparity.reports.frames import frame_of_rows

        return frame_of_rows(self._rows(), backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the interquartile range of each metric, and what is too small."""
        from comparity.metrics.plots import plot_sensitivity

        return plot_sensitivity(self, ax)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "metric": one.id,
                "median": plain(one.median),
                "iqr": plain(one.iqr),
                "deaf": one.deaf,
            }
            for one in self.spreads
        ]


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
class Selection(Result):
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

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.metrics.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each chosen metric."""
        from comparity.reports.frames import frame_of_rows

        rows = as_plain(self.chosen)
        return frame_of_rows([{**row, "kinds": ", ".join(row["kinds"])} for row in rows], backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the tree of metrics that move together, with those to report."""
        from comparity.metrics.plots import plot_choices

        return plot_choices(self, ax)


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

    @staticmethod
    def completed_from(content: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse a metric that the catalogue does not have."""
        check_metric(content["id"])
        return {}

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves no doubt about the direction."""
        return self.interval is not None and (self.interval.low > 0 or self.interval.high < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Result):
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

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.metrics.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each metric."""
        from comparity.reports.frames import frame_of_rows

        rows = as_plain(self.changes)
        for row in rows:
            row |= row.pop("interval") or {"low": None, "high": None, "level": None}
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distance from the ideal of each metric, before and after."""
        from comparity.metrics.plots import plot_changes

        return plot_changes(self, ax)
