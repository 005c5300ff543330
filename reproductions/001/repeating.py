"""Shuffled folds, other learners, and formulas against clusters (section 5.1).

What the paper leaves to later work (its section 6), and what it argues from formulas alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from folds import (
    OF_MODELS,
    PUBLISHED,
    SEVEN,
    Values,
    is_inside,
    medians,
    model_folds,
    outside_percent,
    pooled,
)

from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import track_progress
from comparity.counts.decisions import GroupedDecisions
from comparity.metrics.comparison import metric_values
from comparity.metrics.metric_clusters import (
    cluster_agreement,
    cluster_differences,
    cluster_metrics,
    published_partition,
)

CUT = 0.57
"""Where the text cuts the tree."""
REPEATS = 5
"""Five folds, five times over, as the text says."""
LEARNERS = {"logistic regression": "plain", "forest": "forest", "network": "network"}
SHARED_FORMULA = (("C16", "C19", "C20"), ("C17", "C18", "C21", "C22", "C23", "C24"))
RANDOM_TABLES = 2000


def shuffles(request: Request) -> Reproduction:
    """Cluster metrics over shuffled folds, with one seed of the shuffle after the other."""
    runs = request.runs or 20
    published = published_partition(OF_MODELS)
    home = {number: set(cluster) for cluster in published for number in cluster}
    whole, moved, said = 0, Counter[str](), Counter[str]()
    for run in track_progress(range(runs), "shuffling"):
        found = cluster_metrics(_shuffled(request, request.seed + run), threshold=CUT).clusters
        own = {number: set(cluster) for cluster in found for number in cluster}
        moved.update(number for number in OF_MODELS if own[number] != home[number])
        said.update(cluster_differences(found, published))
        whole += set(map(frozenset, found)) == set(map(frozenset, published))
    ours: dict[str, dict[str, Any]] = {"seven published clusters": {f"of {runs} seeds": whole}}
    ours |= {f"moves: {number}": {f"of {runs} seeds": moved[number]} for number in OF_MODELS}
    steady = sum(not moved[number] for number in OF_MODELS)
    return PUBLISHED.reproduction(
        "figure 1 shuffled",
        PUBLISHED.beside("figure 1 shuffled", ours),
        conclusions=(
            Conclusion(f"the seven clusters come out with most seeds ({whole})", 2 * whole > runs),
            Conclusion(f"most metrics never move ({steady} of 26)", steady > len(OF_MODELS) / 2),
        ),
        notes=(
            f"Cut at {CUT}; five folds, shuffled {REPEATS} times with every seed; the meta fair "
            "classifier by exact search.",
            "A metric moves where its cluster is not the published one.",
            *(f"{text} ({times} of {runs} seeds)" for text, times in said.most_common()),
        ),
        options={"seed": request.seed, "runs": runs},
    )


def _shuffled(request: Request, seed: int) -> Values:
    """Return metrics of all data sets and models over shuffled folds."""
    models = ("plain", "reweighed", "meta fair, exact")
    return pooled(
        [
            model_folds(request.home(), name, model, 0, REPEATS * seed + repeat)
            for name in SEVEN
            for model in models
            for repeat in range(REPEATS)
        ]
    )


def other_learners(request: Request) -> Reproduction:
    """Ask RQ1, RQ2 and the clusters of a forest and a network."""
    clusters = published_partition(OF_MODELS)
    ours: dict[str, dict[str, Any]] = {}
    apart: dict[str, tuple[str, ...]] = {}
    verdicts: dict[str, list[bool]] = {}
    for learner, model in LEARNERS.items():
        shares, agreed, said, parts = [], [], [], []
        for name in track_progress(list(SEVEN), learner):
            values = model_folds(request.home(), name, model)
            middle = medians(values)
            inside = {number: is_inside(number, middle[number]) for number in OF_MODELS}
            shares.append(outside_percent(middle))
            ours.setdefault(f"{name}: outside, %", {})[learner] = round(shares[-1])
            agreed.append(cluster_agreement(inside, clusters))
            said += list(inside.values())
            parts.append(values)
        verdicts[learner] = said
        agree = {name: float(np.median([one[name] for one in agreed])) for name in agreed[0]}
        facts = {
            "median share outside, %": float(np.median(shares)),
            "clusters that agree wholly, of 7": sum(share == 1 for share in agree.values()),
            "verdicts as of logistic regression, %": 100
            * float(np.mean(np.equal(said, verdicts["logistic regression"]))),
        }
        found = cluster_metrics(pooled(parts), threshold=CUT).clusters
        facts["published clusters among its own"] = len(
            set(map(frozenset, found)) & set(map(frozenset, clusters))
        )
        apart[learner] = cluster_differences(found, clusters)
        for fact, number in facts.items():
            ours.setdefault(fact, {})[learner] = number
    disagree = [ours["median share outside, %"][learner] for learner in LEARNERS]
    whole = [ours["clusters that agree wholly, of 7"][learner] for learner in LEARNERS]
    return PUBLISHED.reproduction(
        "other learners",
        PUBLISHED.beside("other learners", ours),
        conclusions=(
            Conclusion(
                "metrics disagree about most data sets with every learner",
                all(20 <= share <= 80 for share in disagree),
            ),
            Conclusion("metrics of most clusters agree with every learner", min(whole) >= 4),
        ),
        notes=(
            "The authors' folds; a forest of 100 trees with leaves of 5 rows, a network of 20 "
            "hidden units stopped early. Clusters of each learner alone, cut at 0.57.",
            *(f"{learner}: {text}" for learner, texts in apart.items() for text in texts),
        ),
    )


def section_5_1(request: Request) -> Reproduction:
    """Put what formulas suggest beside what data show, statement by statement."""
    home = request.home()
    models = ("plain", "reweighed", "meta fair")
    real = pooled([model_folds(home, name, model) for name in SEVEN for model in models])
    drawn = _random_tables(np.random.default_rng(request.seed))
    trees = [cluster_metrics(values, threshold=CUT) for values in (real, drawn)]
    together = [
        {number: cluster for cluster in tree.clusters for number in cluster} for tree in trees
    ]
    ours: dict[str, dict[str, Any]] = {}
    claims = (
        ("both of false discovery", ("C4",), ("C8",)),
        ("false omission and error rate", ("C3", "C7"), ("C11", "C12")),
        ("individual, alone and between groups", *SHARED_FORMULA),
        ("odds and selection rate", ("C0", "C1", "C2", "C5", "C6", "C9"), ("C14", "C15")),
        ("absolute odds and differential fairness", ("C10",), ("C25",)),
    )
    for name, first, second in claims:
        row = ours.setdefault(name, {})
        for where, values, own in zip(
            ("on data", "on random tables"), (real, drawn), together, strict=True
        ):
            row[f"mean correlation {where}"] = _correlation(values, first, second)
            # As many of the pairs as are in one cluster.
            pairs = [own[a] == own[b] for a in first for b in second]
            row[f"in one cluster {where}"] = float(np.mean(pairs))
    mirrored = float(np.nanmax(np.abs(real["C0"] + real["C2"])))
    ours["C0 is minus C2 (TPR = 1 - FNR)"] = {"largest difference": mirrored}
    data = {name: row["in one cluster on data"] for name, row in ours.items() if len(row) > 1}
    return PUBLISHED.reproduction(
        "section 5.1",
        PUBLISHED.beside("section 5.1", ours),
        conclusions=(
            Conclusion("one formula, one cluster: false discovery", data[claims[0][0]] == 1),
            Conclusion(
                "one idea, one cluster: false omission and error rate", data[claims[1][0]] == 1
            ),
            Conclusion("one formula, two clusters: benefits", data[claims[2][0]] == 0),
            Conclusion(
                "formulas alone would join these two",
                ours[claims[2][0]]["in one cluster on random tables"] > 0.5,
            ),
            Conclusion("two formulas, one cluster: odds and selection", data[claims[3][0]] > 0.5),
            Conclusion("two formulas, one cluster: C10 and C25", data[claims[4][0]] == 1),
            Conclusion("TPR mirrors FNR exactly, not FPR as printed", mirrored < 1e-12),
        ),
        notes=(
            f"On data: seven data sets, three models, five folds. On random tables: "
            f"{RANDOM_TABLES:,} tables of labels, predictions and groups with uniform shares, "
            "which know of formulas alone. Spearman's correlation, absolute; clusters cut at 0.57.",
        ),
        options={"seed": request.seed},
    )


def _random_tables(rng: np.random.Generator) -> Values:
    """Return metrics of tables of 1,000 people whose eight cells have uniform shares."""
    cells = rng.multinomial(1000, rng.dirichlet(np.ones(8), RANDOM_TABLES)).reshape(-1, 2, 2, 2)
    found = metric_values(GroupedDecisions(cells.astype(np.float64), np.array([False, True])))
    return {number: np.asarray(found[number], dtype=np.float64) for number in OF_MODELS}


def _correlation(values: Values, first: tuple[str, ...], second: tuple[str, ...]) -> float:
    """Return the mean absolute rank correlation of metrics of two kinds."""
    from scipy.stats import spearmanr

    found = []
    for a in first:
        for b in second:
            known = np.isfinite(values[a]) & np.isfinite(values[b])
            found.append(abs(float(spearmanr(values[a][known], values[b][known]).statistic)))
    return float(np.mean(found))
