r"""Which metrics say the same: clusters of metrics by how they move together over resamples.

Two metrics are as unlike as :math:`1 - |\rho|`, with :math:`\rho` their correlation over resamples;
clusters merge in order of their average dissimilarity, and the tree is cut where the clusters stay
the same over the longest stretch of heights.

References
----------
.. [1] Majumder et al., "Fair Enough", Section 3.4.5, eq. (1), Figure 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from comparity.errors import NoSuchEntryError, OptionError, TooFewResamplesError
from comparity.metrics.catalogue import CLUSTERS
from comparity.metrics.result import MetricClusters, MetricsAnswer, Partition
from comparity.tables.columns import check_option
from comparity.tables.values import check_lengths

Floats = NDArray[np.float64]

CORRELATIONS = ("spearman", "pearson", "kendall")
LINKAGES = ("average", "complete", "single")
FEWEST_RESAMPLES = 10


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
class ClusterStability(MetricsAnswer):
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

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each trial."""
        return [asdict(one) for one in self.trials]


def cluster_metrics(
    values: Mapping[str, Floats],
    *,
    threshold: float | None = None,
    n_clusters: int | None = None,
    correlation: str = "spearman",
    linkage: str = "average",
) -> MetricClusters:
    """Group metrics that move together.

    Parameters
    ----------
    values : mapping of str to ndarray
        Values of each metric over the same resamples. Resamples in which a metric does not exist
        are left out and counted; an infinite ratio has a rank, so it stays, except for Pearson's
        correlation.
    threshold : float, optional
        Height of the cut; by default the middle of the longest stretch without a merge, between
        the first merge and the last.
    n_clusters : int, optional
        Cut where there are so many clusters, instead of at a height.
    correlation : {"spearman", "pearson", "kendall"}
        How two metrics are compared.
    linkage : {"average", "complete", "single"}
        How two clusters are compared.

    Returns
    -------
    MetricClusters
        A metric without variation correlates with nothing and is named.

    Raises
    ------
    TooFewResamplesError
        Fewer than 10 resamples have every metric.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(2, 50))
    >>> found = cluster_metrics({"C0": x, "C2": -x, "C4": y, "C8": y**3})
    >>> found.clusters
    (('C0', 'C2'), ('C4', 'C8'))
    """
    from scipy.cluster.hierarchy import fcluster
    from scipy.cluster.hierarchy import linkage as merged
    from scipy.spatial.distance import squareform

    check_option("correlation", correlation, CORRELATIONS)
    check_option("linkage", linkage, LINKAGES)
    ids = tuple(values)
    check_lengths({one: np.asarray(values[one]) for one in ids})
    if len(ids) < 2:
        raise OptionError("values", list(ids), ["at least two metrics"])
    table = np.column_stack([np.asarray(values[one], dtype=np.float64) for one in ids])
    exists = np.isfinite(table) if correlation == "pearson" else ~np.isnan(table)
    kept = table[exists.all(axis=1)]
    if len(kept) < FEWEST_RESAMPLES:
        raise TooFewResamplesError(len(kept), len(table), FEWEST_RESAMPLES)
    dissimilarity, constant = _dissimilarity(kept, correlation)
    merges = merged(squareform(dissimilarity, checks=False), method=linkage)
    heights = merges[:, 2]
    cut = _longest_stretch(heights) if threshold is None else threshold
    if n_clusters is not None:
        cut = _cut_for(heights, n_clusters)
    codes = fcluster(merges, cut, criterion="distance")
    below, above = heights[heights <= cut], heights[heights > cut]
    return MetricClusters(
        clusters=_partition(ids, codes),
        threshold=float(cut),
        stretch=(float(below.max(initial=0.0)), float(above.min(initial=1.0))),
        heights=tuple(heights.tolist()),
        ids=ids,
        dissimilarity=dissimilarity,
        merges=merges,
        correlation=correlation,
        linkage=linkage,
        n_resamples=len(kept),
        n_dropped=len(table) - len(kept),
        constant=tuple(one for one, is_so in zip(ids, constant, strict=True) if is_so),
    )


def published_partition(ids: Iterable[str]) -> Partition:
    """Return the published clusters of some metrics.

    Examples
    --------
    >>> published_partition(["C0", "C4", "C2"])
    (('C4',), ('C0', 'C2'))
    """
    asked = set(ids)
    found = (tuple(one for one in cluster.members if one in asked) for cluster in CLUSTERS)
    return tuple(members for members in found if members)


def cluster_differences(found: Partition, published: Partition) -> tuple[str, ...]:
    """Say in words which metrics are together in one partition and apart in the other.

    Examples
    --------
    >>> cluster_differences((("C0", "C4"), ("C2",)), (("C0", "C2"), ("C4",)))
    ('C0 and C2 are published as one cluster and part here.', \
'C0 and C4 are published apart and move together here.')
    """
    said = []
    for groups, others, words in (
        (published, found, "are published as one cluster and part here."),
        (found, published, "are published apart and move together here."),
    ):
        for group in groups:
            parts = [tuple(x for x in group if x in other) for other in others]
            parts = sorted((part for part in parts if part), key=lambda part: _order(part[0]))
            if len(parts) > 1:
                said.append(f"{' and '.join(', '.join(part) for part in parts)} {words}")
    return tuple(said)


def cluster_agreement(inside: Mapping[str, bool], clusters: Partition) -> dict[str, float]:
    """Return the share of the majority in each cluster: how many metrics say the same.

    Parameters
    ----------
    inside : mapping of str to bool
        Whether each metric lies in its published range.
    clusters : sequence of sequence of str
        Metrics by cluster; those without a value are left out.

    Returns
    -------
    dict of str to float
        By the members of the cluster, between a half and 1.

    Examples
    --------
    >>> cluster_agreement({"C4": True, "C8": True, "C0": False}, (("C4", "C8"), ("C0",)))
    {'C4, C8': 1.0, 'C0': 1.0}
    """
    shares = {}
    for cluster in clusters:
        said = [inside[one] for one in cluster if one in inside]
        if said:
            share = sum(said) / len(said)
            shares[", ".join(cluster)] = max(share, 1 - share)
    return shares


def cluster_stability(
    values: Mapping[str, Mapping[str, Floats]],
    *,
    threshold: float | None = None,
    thresholds: Sequence[float] = (0.4, 0.5, 0.6, 0.7),
) -> ClusterStability:
    """Compare clusters under other thresholds, linkages, correlations and classifiers.

    Heights mean something else under another linkage or correlation, so that these, and other
    classifiers, are cut to as many clusters as the reference has.

    Parameters
    ----------
    values : mapping of str to mapping
        Values of each metric over resamples, by classifier; the first one is the reference.
    threshold : float, optional
        Height of the cut of the reference; by default where the longest stretch is.
    thresholds : sequence of float
        Heights of the cut to try.

    Returns
    -------
    ClusterStability
        The adjusted Rand index of every choice with the reference.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(2, 50))
    >>> found = cluster_stability({"logistic": {"C0": x, "C2": -x, "C4": y, "C8": y**3}})
    >>> found["linkage", "single"].agreement
    1.0
    """
    from sklearn.metrics import adjusted_rand_score

    first, *others = values
    reference = cluster_metrics(values[first], threshold=threshold)
    codes = _codes(reference)
    tried = [("reference", first, reference)]
    for choice, value, name, changed in _choices(
        first, others, len(reference.clusters), thresholds
    ):
        tried.append((choice, value, cluster_metrics(values[name], **changed)))
    trials = tuple(
        ClusterTrial(
            choice=choice,
            value=value,
            n_clusters=len(found.clusters),
            agreement=float(adjusted_rand_score(codes, _codes(found))),
        )
        for choice, value, found in tried
    )
    return ClusterStability(reference=reference, trials=trials)


class _Otherwise(TypedDict, total=False):
    threshold: float
    n_clusters: int
    linkage: str
    correlation: str


def _choices(
    first: str, others: Sequence[str], same: int, thresholds: Sequence[float]
) -> Iterator[tuple[str, str, str, _Otherwise]]:
    """Yield what is chosen otherwise, how, whose values are taken, and what changes."""
    for cut in thresholds:
        yield "threshold", f"{cut:g}", first, {"threshold": cut}
    for linkage in LINKAGES[1:]:
        yield "linkage", linkage, first, {"n_clusters": same, "linkage": linkage}
    for correlation in CORRELATIONS[1:]:
        yield "correlation", correlation, first, {"n_clusters": same, "correlation": correlation}
    for name in others:
        yield "classifier", name, name, {"n_clusters": same}


def _codes(found: MetricClusters) -> list[int]:
    places = {one: place for place, cluster in enumerate(found.clusters) for one in cluster}
    return [places[one] for one in sorted(places)]


def _dissimilarity(table: Floats, correlation: str) -> tuple[Floats, NDArray[np.bool_]]:
    from scipy.stats import kendalltau, rankdata

    constant = (table == table[:1]).all(axis=0)
    if correlation == "kendall":
        k = table.shape[1]
        rho: Floats = np.eye(k)
        for i, j in zip(*np.triu_indices(k, 1), strict=True):
            if not (constant[i] or constant[j]):
                rho[i, j] = rho[j, i] = kendalltau(table[:, i], table[:, j]).statistic
    else:
        data = rankdata(table, axis=0) if correlation == "spearman" else table
        with np.errstate(invalid="ignore", divide="ignore"):
            rho = np.atleast_2d(np.corrcoef(data, rowvar=False))
    rho[constant, :] = rho[:, constant] = 0.0
    dissimilarity = np.clip(1 - np.abs(rho), 0.0, 1.0)
    np.fill_diagonal(dissimilarity, 0.0)
    return (dissimilarity + dissimilarity.T) / 2, constant


def _longest_stretch(heights: Floats) -> float:
    """Return the middle of the longest stretch between two merges; half of a single height."""
    if len(heights) < 2:
        return float(heights[0]) / 2
    place = int(np.argmax(np.diff(heights)))
    return float(heights[place] + heights[place + 1]) / 2


def _cut_for(heights: Floats, n_clusters: int) -> float:
    """Return a height between the merges that lead to, and on from, so many clusters."""
    if not 1 <= n_clusters <= len(heights) + 1:
        choices = [f"a whole number from 1 to {len(heights) + 1}"]
        raise OptionError("n_clusters", n_clusters, choices)
    ends = np.concatenate([[0.0], heights, [1.0]])
    place = len(heights) + 1 - n_clusters
    return float(ends[place] + ends[place + 1]) / 2


def _partition(ids: Sequence[str], codes: NDArray[np.int64]) -> Partition:
    groups = [
        tuple(one for one, own in zip(ids, codes, strict=True) if own == code)
        for code in np.unique(codes)
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group), _order(group[0]))))


def _order(number: str) -> tuple[str, int]:
    digits = number[1:]
    return number[:1], int(digits) if digits.isdecimal() else 0
