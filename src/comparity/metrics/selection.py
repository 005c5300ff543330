"""Which few metrics to report, and entries of the catalogue by name.

References
----------
.. [1] Majumder et al., "Fair Enough", Sections 5.2, 5.3 and 6: (1) determine what type of fairness
   is desirable, (2) look it up in the clusters, (3) test for one metric of each; where metrics of
   a cluster disagree, take one of either side.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from comparity.errors import OptionError, UnknownMetricError
from comparity.metrics.catalogue import CATALOGUE, EVERY_METRIC
from comparity.metrics.entries import CLUSTERS, Cluster, Entry
from comparity.metrics.entropy import STANDARD, BenefitVariation, GroupVariation
from comparity.metrics.options import KINDS
from comparity.metrics.result import ChosenMetric, MetricValue

__all__ = [
    "catalogue_with",
    "check_kinds",
    "choose_metrics",
    "entry",
    "ranges",
]


Merit = tuple[bool, ...]


SURER = {
    1: "is finite",
    2: "has counts large enough for its interval",
    3: "has an interval with two ends",
    6: "responds to resampling",
}
"""What data say for a metric, by its place in :func:`_merit`."""


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds without repetition; anything else than :data:`KINDS` is an error."""
    if isinstance(kinds, str) or not kinds or not set(kinds) <= set(KINDS):
        raise OptionError("kinds", kinds, [f"some of {', '.join(map(repr, KINDS))}"])
    return tuple(kind for kind in KINDS if kind in kinds)


def choose_metrics(
    metrics: Mapping[str, MetricValue], *, kinds: Sequence[str], deaf: Collection[str] = ()
) -> tuple[ChosenMetric, ...]:
    """Choose one metric of every cluster that matters, and say why.

    Parameters
    ----------
    metrics : mapping of str to MetricValue
        Metrics of this data by identifier.
    kinds : sequence of str
        Some of :data:`KINDS`. ``"group"`` and ``"individual"`` take all clusters of that kind;
        ``"false negatives"`` and ``"false positives"`` those with a metric of that error.
    deaf : collection of str
        Metrics that hardly respond: of two that are alike otherwise, the other one is taken.

    Returns
    -------
    tuple of ChosenMetric
        In the order of the clusters.
    """
    asked = check_kinds(kinds)
    chosen: list[ChosenMetric] = []
    for cluster in CLUSTERS:
        wanting = tuple(kind for kind in asked if _matters(cluster, kind))
        known = [CATALOGUE[one] for one in cluster.members if _exists(metrics.get(one))]
        if wanting and known:
            chosen += _of_cluster(cluster, known, metrics, wanting, deaf)
    return tuple(chosen)


def _matters(cluster: Cluster, kind: str) -> bool:
    if kind in ("group", "individual"):
        return cluster.kind == kind
    return any(CATALOGUE[one].about == kind for one in cluster.members)


def _exists(metric: MetricValue | None) -> bool:
    return metric is not None and not math.isnan(metric.value)


def _of_cluster(
    cluster: Cluster,
    known: Sequence[Entry],
    metrics: Mapping[str, MetricValue],
    kinds: tuple[str, ...],
    deaf: Collection[str],
) -> list[ChosenMetric]:
    errors = [kind for kind in kinds if kind.startswith("false")]
    merits = {one.id: _merit(one, metrics[one.id], errors, deaf) for one in known}
    best, *others = sorted(known, key=lambda one: merits[one.id])
    here = metrics[best.id].place
    against = [one for one in others if metrics[one.id].place != here]
    alike = [one.id for one in others if merits[one.id] == merits[best.id] and one not in against]
    reasons = [*_virtues(best, others, errors), *_surer(best, others, merits)]
    reasons += _doubts(metrics[best.id], known, deaf)
    if alike:
        reasons.append(f"{', '.join(alike)} would serve as well")
    if not others:
        known_here = "" if cluster.members == (best.id,) else " that exists here"
        reasons.insert(0, f"the only one of its cluster{known_here}")
    if against:
        reasons.append(f"{against[0].id} says otherwise")
    picked = [(best, "; ".join(reasons))]
    if against:
        clash = f"{best.id} is {here} its published range"
        there = metrics[against[0].id].place
        picked.append((against[0], f"the cluster disagrees: {clash}, this one is {there}"))
    return [
        ChosenMetric(id=one.id, name=one.name, kinds=kinds, cluster=cluster.name, reason=reason)
        for one, reason in picked
    ]


def _merit(one: Entry, metric: MetricValue, errors: Sequence[str], deaf: Collection[str]) -> Merit:
    """Order metrics: what speaks of the graver error, is finite, has a sure interval."""
    low, high, _ = metric.interval
    return (
        bool(errors) and one.about not in errors,
        not math.isfinite(metric.value),
        not metric.promised,
        not (math.isfinite(low) and math.isfinite(high)),
        # A gap exists where a rate is zero, and a reader need not know how rare it is.
        one.ideal != 0.0,
        # Of what is left, a metric of both errors says more than one of either.
        not errors and bool(one.about),
        # The published rule compares metrics of different scales, so it comes last.
        one.id in deaf,
    )


def _virtues(one: Entry, others: Sequence[Entry], errors: Sequence[str]) -> list[str]:
    """Say in words what `_merit` found better in one metric than in others."""
    reasons = []
    if errors and one.about in errors:
        reasons.append(f"speaks of {one.about}")
    if one.ideal == 0.0 and any(other.ideal == 1.0 for other in others):
        reasons.append("a difference, where a ratio would divide by a rate that may be zero")
    if not errors and not one.about and any(other.about for other in others):
        reasons.append("speaks of both errors")
    return reasons


def _surer(one: Entry, others: Sequence[Entry], merits: Mapping[str, Merit]) -> list[str]:
    """Say what decided where `_merit` came down to what this data can tell."""
    worse: dict[int, list[str]] = {}
    for other in others:
        both = zip(merits[one.id], merits[other.id], strict=True)
        decided = next((place for place, (mine, its) in enumerate(both) if mine != its), None)
        if decided is not None:
            worse.setdefault(decided, []).append(other.id)
    return [
        f"{virtue}, unlike {', '.join(worse[place])}"
        for place, virtue in SURER.items()
        if place in worse
    ]


def _doubts(metric: MetricValue, known: Sequence[Entry], deaf: Collection[str]) -> list[str]:
    """Say what speaks against a metric although no other of its cluster is better."""
    doubts = []
    if metric.id in deaf:
        every = all(one.id in deaf for one in known) and len(known) > 1
        whose = "all of its cluster hardly respond" if every else "though it hardly responds"
        doubts.append(f"{whose} to resampling")
    if not metric.promised:
        doubts.append("though counts are too small for its interval to be promised")
    return doubts


def catalogue_with(scale: float) -> Mapping[str, Entry]:
    """Return the catalogue with one of the two definitions of the coefficient of variation.

    Parameters
    ----------
    scale : float
        :data:`~comparity.metrics.entropy.STANDARD` or
        :data:`~comparity.metrics.entropy.DOUBLED_ROOT`.

    Examples
    --------
    >>> catalogue_with(2.0)["C20"].formula
    '2 sqrt(GE_2) of b = yhat - y + 1'
    """
    if scale == STANDARD:
        return CATALOGUE
    entries = dict(CATALOGUE)
    for number, one in CATALOGUE.items():
        if isinstance(one.measure, BenefitVariation | GroupVariation):
            formula = one.formula.replace("sqrt(2 GE_2)", f"{scale:g} sqrt(GE_2)")
            entries[number] = replace(
                one, formula=formula, measure=replace(one.measure, scale=scale)
            )
    return MappingProxyType(entries)


def entry(name: str) -> Entry:
    """Find a metric by its identifier, its name or its name in AIF360.

    Examples
    --------
    >>> entry("C14").name, entry("average_odds_difference").id
    ('disparate impact', 'C9')
    """
    for one in EVERY_METRIC.values():
        if name and name in (one.id, one.name, one.aif360):
            return one
    raise UnknownMetricError(name, list(EVERY_METRIC))


def ranges(ids: Iterable[str]) -> str:
    """Write identifiers shortly, three and more that follow each other by their ends.

    Examples
    --------
    >>> ranges(["C0", "C1", "C2", "C3", "C9", "C10", "D1"])
    'C0-C3, C9, C10, D1'
    """
    runs: list[list[str]] = []
    order = list(EVERY_METRIC)
    for one in ids:
        follows = runs and one[0] == runs[-1][-1][0]
        if follows and order.index(one) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    parts = [[f"{run[0]}-{run[-1]}"] if len(run) > 2 else run for run in runs]
    return ", ".join(one for part in parts for one in part)
