"""Figure 1, the clusters of Tables 4 and 5, and RQ2: which metrics go together."""

from __future__ import annotations

from typing import Any

import numpy as np
from folds import (
    MODELS,
    OF_MODELS,
    PUBLISHED,
    SEVEN,
    data_folds,
    is_inside,
    medians,
    model_folds,
    pooled,
)
from matplotlib.figure import Figure

from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import track_progress
from comparity.metrics.metric_clusters import (
    cluster_agreement,
    cluster_metrics,
    published_partition,
)
from comparity.metrics.result import MetricClusters
from comparity.tables.outputs import replace_file

SEVEN_CLUSTERS = 7


def figure_1(request: Request) -> Reproduction:
    """Cluster metrics of models over all data sets and models."""
    runs = request.runs or 5
    seeds = [request.seed + number for number in range(runs)]
    trees = [_tree(request, seed) for seed in track_progress(seeds, "fitting")]
    found = trees[0]
    low, high = found.stretch
    ours = _members("figure 1", found)
    known = PUBLISHED.numbers["figure 1"]
    for name in ours:
        same = [_members("figure 1", tree)[name]["members"] for tree in trees]
        ours[name][f"found with, of {runs} seeds"] = same.count(known[name]["members"])
    ours["number of clusters"] = {"count": len(found.clusters)}
    ours["cut"] = {"lowest": low, "highest": high}
    ours |= {f"merge {place}": {"height": h} for place, h in enumerate(found.heights, 1)}
    why = dict.fromkeys(ours, "another seed of the meta fair classifier")
    rows = PUBLISHED.beside("figure 1", ours, tolerance=0.1, why=why, stand_ins=ours)
    return PUBLISHED.reproduction(
        "figure 1",
        rows,
        conclusions=_conclusions(trees),
        figures=_dendrogram(request, found, "figure_1.png"),
        notes=(
            f"{found.n_resamples} rows: {len(SEVEN)} data sets, {len(MODELS)} models and 5 folds; "
            f"{found.n_dropped} more left out, where a metric does not exist.",
            f"Members and heights with seed {request.seed}, cut to seven clusters. The seed of the "
            "authors' meta fair classifier is not known, so that nothing here is confirmed; "
            "heights within 0.1 are consistent.",
        ),
        options={"seed": request.seed, "runs": runs},
    )


def _conclusions(trees: list[MetricClusters]) -> tuple[Conclusion, ...]:
    known = PUBLISHED.numbers["figure 1"]
    same = [
        [
            known[name]["members"] == own["members"]
            for name, own in _members("figure 1", one).items()
        ]
        for one in trees
    ]
    whole, always = sum(map(all, same)), sum(map(all, zip(*same, strict=True)))
    return (
        Conclusion(
            f"the seven published clusters come out with most seeds ({whole} of {len(trees)})",
            whole > len(trees) / 2,
        ),
        Conclusion(f"most of them come out with every seed ({always} of 7)", always >= 4),
    )


def _tree(request: Request, seed: int) -> MetricClusters:
    """Cluster with one seed of the meta fair classifier; the other models know no seed."""
    home = request.home()
    parts = [
        model_folds(home, name, model, seed if model == "meta fair" else 0)
        for name in SEVEN
        for model in MODELS
    ]
    return _cut(pooled(parts), SEVEN_CLUSTERS)


def clusters_of_data(request: Request) -> Reproduction:
    """Cluster metrics of data as they are and reweighed."""
    home = request.home()
    tasks = [(name, model) for name in SEVEN for model in MODELS[:2]]
    values = pooled(
        [data_folds(home, *task) for task in track_progress(tasks, "looking for neighbours")]
    )
    found = _cut(values, 3)
    part = "table 5 clusters"
    ours = _members(part, found)
    ours |= {f"merge {place}": {"height": h} for place, h in enumerate(found.heights, 1)}
    rows = PUBLISHED.beside(part, ours, tolerance=5e-4)
    same = all(row.matches for row in rows if row.column == "members")
    return PUBLISHED.reproduction(
        part,
        rows,
        conclusions=(Conclusion("the three published clusters come out", same),),
        figures=_dendrogram(request, found, "table_5.png"),
    )


def rq2(request: Request) -> Reproduction:
    """Count clusters in which all metrics say the same, in the median over data sets."""
    shares: dict[str, list[float]] = {}
    for name in track_progress(list(SEVEN), "fitting"):
        found = medians(model_folds(request.home(), name, "plain"))
        inside = {number: is_inside(number, found[number]) for number in OF_MODELS}
        for cluster, share in cluster_agreement(inside, published_partition(OF_MODELS)).items():
            shares.setdefault(cluster.replace(",", ""), []).append(share)
    least = min(shares, key=lambda cluster: float(np.median(shares[cluster])))
    whole = sum(float(np.median(found)) == 1 for found in shares.values())
    ours: dict[str, dict[str, Any]] = {
        "clusters whose metrics all agree": {"of 7": whole},
        "cluster without agreement": {"members": least},
    }
    ours |= {
        f"agreement, {cluster}": {"median share": float(np.median(found))}
        for cluster, found in shares.items()
    }
    why = {"clusters whose metrics all agree": "five or six by the authors' stored medians, too"}
    rows = PUBLISHED.beside("RQ2", ours, why=why)
    return PUBLISHED.reproduction(
        "RQ2",
        rows,
        conclusions=(Conclusion("metrics of most clusters agree", whole >= 4),),
        notes=("The published clusters; the authors' folds.",),
    )


def _cut(values: Any, n_clusters: int) -> MetricClusters:
    """Cluster, and cut in the middle of the heights that give so many clusters."""
    heights = (0.0, *cluster_metrics(values, threshold=0.5).heights)
    low, high = heights[-n_clusters], (*heights, 1.0)[-n_clusters]
    return cluster_metrics(values, threshold=(low + high) / 2)


def _members(part: str, found: MetricClusters) -> dict[str, dict[str, Any]]:
    """Return, for each published cluster, the one of ours that holds its first metric."""
    ours = {}
    for name, columns in PUBLISHED.numbers[part].items():
        if "members" in columns:
            first = str(columns["members"]).split()[0]
            own = next(cluster for cluster in found.clusters if first in cluster)
            ours[name] = {"members": " ".join(sorted(own, key=lambda one: int(one[1:])))}
    return ours


def _dendrogram(request: Request, found: MetricClusters, name: str) -> tuple[str, ...]:
    path = request.picture(name)
    if path is None:
        return ()
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    found.plot(figure.subplots())
    with replace_file(path) as part:
        figure.savefig(part, dpi=120)
    return (str(path),)
