"""Simulated panels of section 5.1, every method's scores of them, and what pictures share.

100 items with scores N(0, SD 5), 30 of them in the group ``"b"``; 50 evaluators of 100 pairs each.
The paper keeps one vector of scores; here every panel draws its own, so that what is found does not
hang on how far the two groups happen to lie apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from comparity import barp, bradley_terry, crowd_bt, factor_bt, fair_topk, rank_centrality
from comparity.cli.published import Reproduced, Request, one_run_away
from comparity.cli.reproduce import read_published
from comparity.datasets.simulated_panels import SimulatedPanel
from comparity.ranking.exposure import kendall_tau
from comparity.tables.outputs import replace_file

PUBLISHED = read_published(Path(__file__).parent)

Floats = NDArray[np.float64]
Table = dict[str, dict[str, float]]

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#666666", "#B0B0B0")
# The authors' reliabilities and attentions have no prior.
FLAT = (1.0, 1.0)


def fitted(panel: SimulatedPanel, **choices: Any) -> Any:
    """Fit BARP as the paper does: no ties, no seats, all evaluators equally sharp."""
    return barp(
        panel.comparisons,
        sharpness="equal",
        evaluators=panel.evaluators,
        sensitive_features=dict(panel.groups),
        reference=dict.fromkeys(panel.groups, "a"),
        **choices,
    )


def tau_of(panel: SimulatedPanel, **choices: Any) -> float:
    """Return Kendall's tau of BARP with the truth."""
    return kendall_tau(fitted(panel, **choices).scores, panel.scores)


def scores_of(panel: SimulatedPanel, **topk: Any) -> dict[str, Floats]:
    """Return the scores by every method; `topk` says whom FA*IR protects, and how much."""
    pairs, group = panel.comparisons, panel.sensitive_features
    n, judges = len(panel.scores), {"evaluators": panel.evaluators}
    plain = bradley_terry(pairs, n_items=n, prior=5.0).scores
    again = fair_topk(plain, sensitive_features=group, k=n, correction="closest", **topk)
    reranked = np.empty(n)
    reranked[again.ranking] = -np.arange(n)
    factor = factor_bt(pairs, **judges, sensitive_features=group, attention_prior=FLAT)
    return {
        "BARP": fitted(panel).scores,
        "BT": plain,
        "RankCentrality": rank_centrality(pairs, n_items=n, smoothing=0, teleport=1).scores,
        "CrowdBT": crowd_bt(pairs, **judges, n_items=n, reliability_prior=FLAT).scores,
        "FactorBT": factor.scores,
        "FA*IR": reranked,
    }


def means(found: dict[str, dict[str, list[float]]]) -> Table:
    """Return the mean over panels, by row and column."""
    return {
        row: {name: float(np.mean(values)) for name, values in columns.items()}
        for row, columns in found.items()
    }


def deviations(found: dict[str, dict[str, list[float]]]) -> Table:
    """Return the standard deviation over panels, by row and column."""
    return {
        row: {name: float(np.std(values, ddof=1)) for name, values in columns.items()}
        for row, columns in found.items()
    }


def beside(part: str, found: dict[str, dict[str, list[float]]], why: str) -> tuple[Reproduced, ...]:
    """Put means over panels beside published numbers, within what one further panel may differ."""
    ours = means(found)
    runs = min(len(values) for columns in found.values() for values in columns.values())
    return PUBLISHED.beside(
        part,
        ours,
        tolerance=0.0005,
        spread=deviations(found),
        why=dict.fromkeys(ours, why),
        errors=one_run_away(runs),
    )


def saved(request: Request, figure: Figure, name: str) -> tuple[str, ...]:
    """Write a picture where one is wanted."""
    path = request.picture(name)
    if path is None:
        return ()
    with replace_file(path) as part:
        figure.savefig(part, dpi=120)
    return (str(path),)


def curves(found: dict[float, dict[str, list[float]]], label: str, title: str) -> Figure:
    """Draw a line with a band of one standard deviation for every method."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    ax = figure.subplots()
    places = list(found)
    for method, colour in zip(next(iter(found.values())), COLOURS, strict=False):
        values = np.array([found[place][method] for place in places])
        mean, spread = values.mean(axis=1), values.std(axis=1)
        ax.plot(places, mean, color=colour, label=method)
        ax.fill_between(places, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
    ax.set_xlabel(title)
    ax.set_ylabel(label)
    ax.legend(frameon=False, ncols=2)
    return figure
