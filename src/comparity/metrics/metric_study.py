"""The published study of metrics on one's own data: which of them move together.

Learners are fitted to parts of the data, again and again, and every metric is worked out on the
part that was left out. Metrics that rise and fall together over these runs measure one thing [1]_.
A new metric is redundant where it falls into a cluster with a published one (the litmus test of
that paper); what it adds has to be shown where it does.

References
----------
.. [1] Majumder, Chakraborty, Bai, Stolee and Menzies, "Fair Enough: Searching for Sufficient
   Measures of Fairness", sections 3.3, 3.4 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decision_rows import count_decision_arrays, truths
from comparity.counts.decisions import GroupedDecisions
from comparity.counts.neighbours import feature_matrix
from comparity.errors import OptionError
from comparity.errors.spelling import visible
from comparity.metrics.audit import join_attributes, privileged_groups
from comparity.metrics.catalogue import EVERY_METRIC
from comparity.metrics.comparison import metric_values
from comparity.metrics.metric_clusters import (
    cluster_differences,
    cluster_metrics,
    published_partition,
)
from comparity.metrics.options import LEARNERS, StudyForm
from comparity.metrics.pictures import tree_chart
from comparity.metrics.result import MetricClusters, MetricsAnswer
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, rate, several
from comparity.tables.columns import check_option, labelled_columns
from comparity.tables.features import as_array, check_apart, placed_features
from comparity.tables.files import read_table
from comparity.tables.values import check_groups, check_lengths, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Metric = Callable[[NDArray[np.bool_], NDArray[np.bool_], NDArray[Any]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redundancy:
    """Whether a metric moves with published ones.

    Attributes
    ----------
    metric, nearest : str
        The metric, and the published one that it moves with most.
    correlation : float
        Size of their rank correlation over all runs.
    together : tuple of str
        Published metrics in its cluster; none where it is one of its own.
    """

    metric: str
    nearest: str
    correlation: float
    together: tuple[str, ...]

    @property
    def is_redundant(self) -> bool:
        """Whether it falls into a cluster with a published metric."""
        return bool(self.together)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricStudy(MetricsAnswer):
    """Metrics over many runs on one's own data.

    Attributes
    ----------
    values : mapping of str to ndarray
        Values of every metric, one for each run; ``nan`` where it does not exist.
    runs : tuple of str
        Learner and number of each run.
    clusters : MetricClusters
        Metrics that exist in every run, by what moves together.
    differences : tuple of str
        Where the clusters differ from the published ones.
    redundancy : tuple of Redundancy
        Of every metric beside the published ones that exists in every run.
    """

    values: Mapping[str, Floats]
    runs: tuple[str, ...]
    clusters: MetricClusters
    differences: tuple[str, ...] = ()
    redundancy: tuple[Redundancy, ...] = ()
    notes: tuple[str, ...] = field(default=())
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        return _section(self)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each run, with the value of every metric."""
        return [
            {"run": run, **{name: float(column[place]) for name, column in self.values.items()}}
            for place, run in enumerate(self.runs)
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the tree of metrics."""
        return draw(tree_chart(self.clusters), ax)


def study_metrics(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    privileged: Any,
    learners: Sequence[str] = LEARNERS,
    new: Mapping[str, Metric] | None = None,
    folds: int = 5,
    repeats: int = 5,
    threshold: float = 0.57,
    seed: int = 0,
) -> MetricStudy:
    """Run the published study on one's own data, and ask of new metrics whether they are redundant.

    Every learner is fitted to all folds but one, `repeats` times with other folds, and metrics are
    worked out on the one left out: folds are shuffled, unlike the published ones.

    Parameters
    ----------
    X : array-like or frame
        Features as numbers; scaled for networks and logistic regression.
    y : array-like
        Labels, 0/1 or true/false.
    sensitive_features, privileged
        As in :func:`comparity.fairness_metrics`.
    learners : sequence of {"logistic", "forest", "network"}
        Logistic regression, a random forest, a network with one hidden layer.
    new : mapping of str to callable, optional
        New metrics by name: each takes labels, decisions (true or false) and groups, and returns a
        number.
    folds, repeats : int
        How the data are divided.
    threshold : float
        Height of the cut; the published one by default.
    seed : int
        Of folds and learners.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex, skill = rng.choice(["f", "m"], 600), rng.normal(size=(600, 2))
    >>> good = skill[:, 0] + rng.normal(size=600) + 0.5 * (sex == "m") > 0
    >>> def twice(label, decided, group):      # statistical parity once more
    ...     return 2 * (decided[group == "f"].mean() - decided[group == "m"].mean())
    >>> study = study_metrics(
    ...     np.column_stack([skill, sex == "m"]), good, sensitive_features=sex, privileged="m",
    ...     learners=["logistic"], new={"twice": twice},
    ... )
    >>> found = study.redundancy[-1]
    >>> found.metric, found.nearest, round(found.correlation, 3), found.is_redundant
    ('twice', 'C15', 1.0, True)
    """
    for one in learners:
        check_option("learners", one, LEARNERS)
    for name, value, least in (("folds", folds, 2), ("repeats", repeats, 1)):
        if not isinstance(value, int) or value < least:
            raise OptionError(name, value, [f"a whole number from {least} on"])
    if clash := [name for name in new or {} if name in EVERY_METRIC]:
        raise OptionError("new", clash[0], ["a name that no metric of the catalogue has"])
    attribute, groups = join_attributes(sensitive_features)
    labels = as_array(y, "y")
    check_lengths({"y": labels, attribute: np.asarray(groups)})
    right, _ = truths(labels, labels, ("y", "y"))
    matrix = feature_matrix(placed_features(X), len(labels))
    runs, values = [], []
    for run, rows, decided in _predict(matrix, right, learners, folds, repeats, seed):
        told = right[rows], decided, np.asarray(groups)[rows]
        found = _measure(*told, attribute, privileged)
        found |= {name: float(metric(*told)) for name, metric in (new or {}).items()}
        runs.append(run)
        values.append(found)
    return _conclude(runs, values, threshold)


def study_file(path: str | Path, **choices: Any) -> MetricStudy:
    """Run the study on a file; `choices` are those of :class:`StudyForm`."""
    form = StudyForm(**choices)
    check_apart(form.sensitive, (form.label,))
    columns = labelled_columns(read_table(path), [form.label, *form.sensitive, *form.features])
    matrix = [numbers(columns[name], name, "items") for name in form.features]
    return study_metrics(
        np.column_stack(matrix),
        columns[form.label],
        sensitive_features={name: columns[name] for name in form.sensitive},
        privileged=form.privileged,
        **{name: getattr(form, name) for name in ("learners", "folds", "repeats", "seed")},
    )


def _predict(
    X: Floats,
    right: NDArray[np.bool_],
    learners: Sequence[str],
    folds: int,
    repeats: int,
    seed: int,
) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield each run, the rows that were left out, and what was decided about them."""
    from sklearn.model_selection import StratifiedKFold

    for name in learners:
        for repeat in range(repeats):
            dealt = StratifiedKFold(folds, shuffle=True, random_state=seed + repeat)
            for fold, (train, rows) in enumerate(dealt.split(X, right)):
                model = learner_of(name, seed + repeat).fit(X[train], right[train])
                yield f"{name} {repeat}.{fold}", rows, np.asarray(model.predict(X[rows]), bool)


def learner_of(name: str, seed: int) -> Any:
    """Return an unfitted classifier: ``"logistic"``, ``"forest"`` or ``"network"``."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(min_samples_leaf=5, random_state=seed)
    if name == "network":
        from sklearn.neural_network import MLPClassifier

        # Stops where a tenth of the rows is predicted no better, long before the last iteration.
        network = MLPClassifier((20,), early_stopping=True, max_iter=2000, random_state=seed)
        return make_pipeline(StandardScaler(), network)
    from sklearn.linear_model import LogisticRegression

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _measure(
    right: NDArray[np.bool_],
    decided: NDArray[np.bool_],
    groups: NDArray[Any],
    attribute: str,
    privileged: Any,
) -> dict[str, float]:
    """Return every metric of predictions, published and further ones."""
    counts = count_decision_arrays(right, decided, sensitive={attribute: groups})[attribute]
    check_groups({attribute: counts.groups})
    contrast = GroupedDecisions.of(counts, privileged_groups(privileged, attribute, counts.groups))
    return {
        name: float(value)
        for name, value in metric_values(contrast, EVERY_METRIC).items()
        if not name.startswith("D")
    }


def _conclude(
    runs: Sequence[str], values: Sequence[Mapping[str, float]], threshold: float
) -> MetricStudy:
    """Cluster the metrics that exist in every run, and place those that are not published."""
    table = {name: np.array([one[name] for one in values]) for name in values[0]}
    steady = {name: column for name, column in table.items() if not np.isnan(column).any()}
    clusters = cluster_metrics(steady, threshold=threshold)
    published = [name for name in steady if name.startswith("C") and name in EVERY_METRIC]
    known = tuple(
        kept for one in clusters.clusters if (kept := tuple(n for n in one if n in published))
    )
    missing = [name for name in table if name not in steady]
    notes = [f"Left out, since they do not exist in every run: {', '.join(missing)}."]
    return MetricStudy(
        values=table,
        runs=tuple(runs),
        clusters=clusters,
        differences=cluster_differences(known, published_partition(published)),
        redundancy=tuple(
            _place(name, clusters, published) for name in steady if name not in published
        ),
        notes=tuple(notes if missing else ()),
    )


def _place(name: str, clusters: MetricClusters, published: Sequence[str]) -> Redundancy:
    """Return which published metrics another one moves with."""
    row = clusters.dissimilarity[clusters.ids.index(name)]
    nearest = min(published, key=lambda one: row[clusters.ids.index(one)])
    (own,) = (one for one in clusters.clusters if name in one)
    return Redundancy(
        metric=name,
        nearest=nearest,
        correlation=1 - float(row[clusters.ids.index(nearest)]),
        together=tuple(one for one in own if one in published),
    )


def _section(study: MetricStudy) -> Section:
    """Return what is shown: clusters, and of further metrics what they move with."""
    clusters = study.clusters.section()
    rows = tuple(
        (
            visible(one.metric),
            one.nearest,
            rate(one.correlation),
            ", ".join(one.together) or "none: it measures something of its own",
        )
        for one in study.redundancy
    )
    further = Grid(
        title="Metrics beside the published ones",
        header=("metric", "nearest", "rank correlation", "in one cluster with"),
        rows=rows,
    )
    return Section(
        headline=f"{clusters.headline}, over {several(len(study.runs), 'run')}",
        sentences=clusters.sentences,
        charts=clusters.charts,
        grids=(*clusters.grids, *((further,) if rows else ())),
        lists={
            "Clusters, here and as published": [visible(one) for one in study.differences]
            or ["The same."],
            "Notes": [visible(note) for note in study.notes],
            **clusters.lists,
        },
    )
