"""From counts to a scorecard: metrics, the few to report, before and after, notes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from comparity import __version__
from comparity.auditing.scoring import metric_rows, rate_rows
from comparity.catalogue.clusters import cluster_differences, cluster_metrics, published_partition
from comparity.catalogue.comparison import compare_values
from comparity.catalogue.lookup import catalogue_with, ranges
from comparity.catalogue.resampling import metric_values
from comparity.catalogue.selection import check_kinds, choose_metrics
from comparity.catalogue.sensitivity import metric_sensitivity
from comparity.contrasts import Contrast, NeighbourCounts
from comparity.counts import DecisionCounts
from comparity.errors import OptionError, TooFewResamplesError
from comparity.inference.bootstrap import SMOOTHING, resampled
from comparity.metrics.entropy import VARIATIONS
from comparity.resamples import Comparison, MetricClusters, Selection
from comparity.scorecards import MetricValue, Scorecard
from comparity.tables import check_option

__all__ = ["MetricsOptions", "scored"]

TOO_SMALL = "this data is too small to see which metrics move together."
CLUSTER_RESAMPLES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsOptions:
    """How to work out metrics.

    Attributes
    ----------
    level : float
        Confidence level of the intervals.
    replicates : int
        Resamples of the counts for metrics with a kink.
    variation : {"standard", "doubled root"}
        Definition of the coefficient of variation.
    n_neighbors : int
        Neighbours for consistency, the item itself included.
    seed : int
        Seed of the resamples.
    """

    level: float = 0.95
    replicates: int = 2000
    variation: str = "standard"
    n_neighbors: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.level, float) or not 0 < self.level < 1:
            raise OptionError("level", self.level, ["a number between 0 and 1, both excluded"])
        check_option("variation", self.variation, tuple(VARIATIONS))
        for option, least in (("replicates", 100), ("n_neighbors", 1), ("seed", 0)):
            found = getattr(self, option)
            if not isinstance(found, int | np.integer) or isinstance(found, bool) or found < least:
                raise OptionError(option, found, [f"a whole number, at least {least}"])
            # Whole numbers of numpy could not be written as JSON.
            object.__setattr__(self, option, int(found))


def scored(
    counts: DecisionCounts,
    privileged: Collection[str],
    options: MetricsOptions,
    *,
    rng: np.random.Generator,
    neighbours: NeighbourCounts | None = None,
    paired: NDArray[np.float64] | None = None,
    kinds: Sequence[str] = (),
) -> Scorecard:
    """Work out all metrics from counts."""
    contrast = Contrast.of(counts, privileged)
    drawn = resampled(contrast, replicates=options.replicates, rng=rng, smoothing=SMOOTHING)
    catalogue = catalogue_with(VARIATIONS[options.variation])
    metrics = metric_rows(catalogue, contrast, drawn, neighbours, level=options.level)
    selection = None
    if kinds:
        values = metric_values(resampled(contrast, replicates=CLUSTER_RESAMPLES, rng=rng))
        selection = _selected({one.id: one for one in metrics}, values, kinds)
    return Scorecard(
        metrics=metrics,
        spreads=rate_rows(counts.groups, contrast, drawn, level=options.level),
        groups=counts.groups,
        privileged=tuple(sorted(privileged)),
        n=counts.n,
        selection=selection,
        comparison=None if paired is None else _compared(contrast, paired, options, rng),
        notes=_notes(metrics, neighbours),
        provenance={
            "comparity": __version__,
            "seed": options.seed,
            "options": {k: v for k, v in asdict(options).items() if k != "seed"},
            "data": {},
        },
    )


def _selected(
    metrics: Mapping[str, MetricValue],
    values: Mapping[str, NDArray[np.float64]],
    kinds: Sequence[str],
) -> Selection:
    """Choose metrics, and compare the published clusters with those of resamples of this data."""
    asked = check_kinds(kinds)
    deaf = metric_sensitivity(values).deaf
    predictions = {number: v for number, v in values.items() if number.startswith("C")}
    steady = {number: v for number, v in predictions.items() if not np.isnan(v).any()}
    clusters = _clusters(steady)
    differences: tuple[str, ...] = (TOO_SMALL,)
    if clusters is not None:
        differences = cluster_differences(clusters.clusters, published_partition(steady))
    return Selection(
        chosen=choose_metrics(metrics, kinds=asked, deaf=deaf),
        kinds=asked,
        clusters=clusters,
        differences=differences,
        deaf=deaf,
    )


def _clusters(values: Mapping[str, NDArray[np.float64]]) -> MetricClusters | None:
    """Return clusters of metrics over resamples, or nothing where the data are too small."""
    if len(values) < 2:
        return None
    try:
        return cluster_metrics(values)
    except TooFewResamplesError:
        return None


def _compared(
    contrast: Contrast,
    paired: NDArray[np.float64],
    options: MetricsOptions,
    rng: np.random.Generator,
) -> Comparison:
    """Compare two sets of predictions over resamples of the same rows."""
    catalogue = catalogue_with(VARIATIONS[options.variation])
    n = round(float(paired.sum()))
    drawn = rng.multinomial(n, paired.ravel() / n, size=options.replicates)
    tables = drawn.reshape(-1, *paired.shape).astype(np.float64)
    # Summing over the other prediction leaves the table of one of them.
    both = [
        [metric_values(contrast.with_cells(cells.sum(axis=axis)), catalogue) for axis in (-1, -2)]
        for cells in (paired, tables)
    ]
    ours = [number for number in catalogue if number.startswith("C")]
    before, after = ({one: float(side[one]) for one in ours} for side in both[0])
    return compare_values(before, after, resampled=(both[1][0], both[1][1]), level=options.level)


def _notes(metrics: Sequence[MetricValue], neighbours: NeighbourCounts | None) -> tuple[str, ...]:
    notes = ["Rows are taken to be independent of each other."]
    small = [one.id for one in metrics if not one.promised]
    if small:
        notes.append(
            "Coverage of the interval is not promised, since a count is below 10, for "
            f"{ranges(small)}."
        )
    missing = [one.id for one in metrics if one.value != one.value]
    if missing:
        notes.append(f"A rate has no trials, or both rates are zero: no {ranges(missing)}.")
    if neighbours is None:
        notes.append("Without features there is no consistency (D0).")
    elif neighbours.tied:
        notes.append(
            f"{neighbours.tied:,} items have further items just as near as their last neighbour; "
            "consistency (D0) depends on which of them are taken."
        )
    if neighbours is not None and neighbours.checked:
        shift, error = neighbours.error
        notes.append(
            f"Neighbours are approximate; on {neighbours.checked:,} items found exactly the "
            f"consistency (D0) is higher by {shift:+.4f} (standard error {error:.4f})."
        )
    return tuple(notes)
