"""Figures 4, 5, 6, 10 and 11: what the order found and the biases found depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from panels import (
    COLOURS,
    PUBLISHED,
    Floats,
    Table,
    beside,
    deviations,
    fitted,
    means,
    saved,
    tau_of,
)
from scipy.stats import expon, norm, poisson, spearmanr, uniform

from comparity import bradley_terry
from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import tracked
from comparity.datasets.simulated_panels import simulate_comparisons

EVALUATORS = (320, 160, 80, 40, 20, 10)
PAIRS = (10, 20, 40, 80, 160, 320)
SCORE_SPREADS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0)
TOLERANCES = (10.0, 1.0, 0.1, 1e-3, 1e-5)
BOTH = {"sex": "b", "race": "b"}
PAIR_COUNTS: dict[str, Any] = {
    "equal": 100,
    "poisson": poisson(100),
    "spread": sorted([*range(10, 191, 20)] * 5),
    "extreme": [5] * 25 + [195] * 25,
}
"""How many pairs each of 50 evaluators judges in Figure 10, about 100 on average."""


def figure_4(request: Request) -> Reproduction:
    """More comparisons help; scores further apart are easier."""
    runs = max(2, request.runs or 8)
    found: dict[str, dict[str, list[float]]] = {}
    cells = [(n, p) for n in EVALUATORS for p in PAIRS]
    for n, p in tracked(cells, "simulating panels"):
        taus = [_tau_of_size(request, number, n, p) for number in range(runs)]
        found.setdefault(f"{n} evaluators", {})[f"{p} pairs"] = taus
    by_spread = [
        float(np.mean([_tau_of_spread(request, number, sd) for number in range(runs)]))
        for sd in SCORE_SPREADS
    ]
    ours = means(found)
    tau = np.array([list(columns.values()) for columns in ours.values()])
    rows = beside("figure 4", found, "one panel for each cell in the paper")
    total = np.outer(EVALUATORS, PAIRS).ravel()
    return PUBLISHED.reproduction(
        "figure 4",
        rows,
        conclusions=(
            Conclusion(
                "more comparisons in all give a better order",
                float(spearmanr(total, tau.ravel()).statistic) > 0.9,
            ),
            Conclusion(
                "the order is easier to find the further scores lie apart",
                by_spread[0] < by_spread[2] < by_spread[-1],
            ),
        ),
        figures=saved(request, _picture_4(tau, by_spread), "figure_4.png"),
        notes=(
            f"Mean over {runs} panels, ± the standard deviation of one; the paper has one panel "
            "for each cell.",
        ),
        options={"seed": request.seed, "runs": runs},
    )


def _tau_of_size(request: Request, number: int, n_evaluators: int, pairs: int) -> float:
    panel = simulate_comparisons(
        rng=np.random.default_rng([request.seed, n_evaluators, pairs, number]),
        scores=uniform(-5, 10),
        bias=norm(2, 1e-9),
        n_evaluators=n_evaluators,
        pairs=pairs,
    )
    return tau_of(panel)


def _tau_of_spread(request: Request, number: int, sd: float) -> float:
    rng = np.random.default_rng([request.seed, int(10 * sd), number])
    return tau_of(simulate_comparisons(rng=rng, scores=norm(0, sd), bias=norm(sd / 10, 0.01)))


def _picture_4(tau: Floats, by_spread: list[float]) -> Figure:
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = left.imshow(tau, cmap="cividis")
    left.set_xticks(range(len(PAIRS)), [str(n) for n in PAIRS])
    left.set_yticks(range(len(EVALUATORS)), [str(n) for n in EVALUATORS])
    left.set_xlabel("pairs of each")
    left.set_ylabel("evaluators")
    figure.colorbar(shown, ax=left, label="Kendall's tau")
    right.plot(SCORE_SPREADS, by_spread, "o-", color=COLOURS[0])
    right.set_xlabel("SD of the true scores")
    right.set_ylabel("Kendall's tau")
    return figure


def figure_5(request: Request) -> Reproduction:
    """Biases come back whatever their law."""
    laws = {"uniform": uniform(-5, 10), "normal": norm(0, 2), "exponential": expon(scale=2)}
    figure = Figure(figsize=(11, 4), layout="constrained")
    ours: Table = {}
    for ax, (name, law) in zip(figure.subplots(1, 3), laws.items(), strict=True):
        rng = np.random.default_rng([request.seed, 5])
        panel = simulate_comparisons(rng=rng, bias=law, scores=uniform(-5, 10))
        fit = fitted(panel)
        true, found = panel.bias[:, 0], fit.bias[:, 0]
        error = 1.96 * fit.bias_standard_errors[:, 0]
        ax.errorbar(true, found, yerr=error, fmt="o", ms=3, color=COLOURS[1], lw=0.8)
        ax.axline((0, 0), slope=1, color="#666666", lw=0.8)
        ax.set_title(name)
        ax.set_xlabel("true bias")
        ax.set_ylabel("estimated bias, 95 %")
        ours[name] = {"correlation": float(np.corrcoef(true, found)[0, 1])}
    return PUBLISHED.reproduction(
        "figure 5",
        PUBLISHED.beside("figure 5", ours),
        conclusions=tuple(
            Conclusion(f"biases come back, {name}", row["correlation"] > 0.9)
            for name, row in ours.items()
        ),
        figures=saved(request, figure, "figure_5.png"),
        options={"seed": request.seed},
    )


def figure_6(request: Request) -> Reproduction:
    """Two attributes and their intersection: the doubly disadvantaged come back up."""
    runs = max(2, request.runs or 12)
    moved: dict[str, list[float]] = {"BT": [], "BARP": []}
    figures: tuple[str, ...] = ()
    for number in tracked(range(runs), "simulating panels"):
        panel = simulate_comparisons(
            rng=np.random.default_rng([request.seed, 6, number]),
            groups={"sex": 50, "race": 50},
            bias={"sex": norm(-1, 0.2), "race": norm(-1, 0.2), "sex & race": norm(-2, 0.2)},
            pairs=200,
        )
        found = {
            "BT": bradley_terry(panel.comparisons, n_items=100, prior=5.0).scores,
            "BARP": fitted(panel, intersections=[BOTH]).scores,
        }
        hit = np.all([panel.groups[name] == "b" for name in BOTH], axis=0)
        true = _ranks(panel.scores)
        for name, scores in found.items():
            moved[name].append(float((_ranks(scores) - true)[hit].mean()))
        if number == 0:
            figures = saved(request, _picture_6(true, found, hit), "figure_6.png")
    table = {"places down of 100, of the doubly disadvantaged": moved}
    ours = means(table)
    plain, freed = next(iter(ours.values())).values()
    return PUBLISHED.reproduction(
        "figure 6",
        PUBLISHED.beside("figure 6", ours, spread=deviations(table)),
        conclusions=(
            Conclusion("Bradley-Terry puts the doubly disadvantaged down", plain > 5),
            Conclusion("BARP does not, on average", abs(freed) < plain / 4),
        ),
        figures=figures,
        notes=(
            f"Mean over {runs} panels, ± the standard deviation of one: the assumption of equal "
            "group means takes chance differences between groups for bias.",
        ),
        options={"seed": request.seed, "runs": runs},
    )


def _picture_6(true: Floats, found: dict[str, Floats], hit: NDArray[np.bool_]) -> Figure:
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    for ax, (name, scores) in zip(figure.subplots(1, 2), found.items(), strict=True):
        ranks = _ranks(scores)
        ax.plot(true[~hit], ranks[~hit], "o", ms=4, color=COLOURS[1], label="others")
        ax.plot(true[hit], ranks[hit], "s", ms=4, color=COLOURS[0], label="b in both attributes")
        ax.axline((1, 1), slope=1, color="#666666", lw=0.8)
        ax.set_title(name)
        ax.set_xlabel("true rank")
        ax.set_ylabel("rank found")
        ax.legend(frameon=False)
    return figure


def _ranks(scores: Floats) -> Floats:
    return (-scores).argsort().argsort() + 1.0


def figure_10(request: Request) -> Reproduction:
    """How pairs are spread over evaluators matters little."""
    runs = max(2, request.runs or 10)
    found: dict[str, dict[str, list[float]]] = {}
    for kind in ("equal", "poisson", "spread", "extreme"):
        taus = [_tau_of_kind(request, number, kind) for number in range(runs)]
        found[kind] = {"Kendall's tau": taus}
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    values = np.array([columns["Kendall's tau"] for columns in found.values()])
    mean, spread = values.mean(axis=1), values.std(axis=1)
    ax.errorbar(list(found), mean, yerr=spread, fmt="o", color=COLOURS[1], capsize=4)
    ax.set_ylabel("Kendall's tau, mean and SD")
    ax.set_ylim(0.8, 1)
    rows = beside("figure 10", found, "fresh scores in every panel")
    return PUBLISHED.reproduction(
        "figure 10",
        rows,
        conclusions=(
            Conclusion("no distribution of pairs moves tau by 0.02", float(np.ptp(mean)) < 0.02),
        ),
        figures=saved(request, figure, "figure_10.png"),
        notes=(f"Mean over {runs} panels, ± the standard deviation of one.",),
        options={"seed": request.seed, "runs": runs},
    )


def _tau_of_kind(request: Request, number: int, kind: Any) -> float:
    rng = np.random.default_rng([request.seed, 10, number])
    return tau_of(simulate_comparisons(rng=rng, bias=norm(2, 2), pairs=PAIR_COUNTS[kind]))


def figure_11(request: Request) -> Reproduction:
    """Loose or tight convergence gives nearly the same order."""
    runs = max(2, request.runs or 6)
    found: dict[str, dict[str, list[float]]] = {
        f"stops at gradient {tolerance:g}": {"Kendall's tau": []} for tolerance in TOLERANCES
    }
    for number in range(runs):
        rng = np.random.default_rng([request.seed, 11, number])
        panel = simulate_comparisons(rng=rng, bias=norm(2, 1))
        for columns, tolerance in zip(found.values(), TOLERANCES, strict=True):
            columns["Kendall's tau"].append(tau_of(panel, tolerance=tolerance))
    tau = np.array([columns["Kendall's tau"] for columns in found.values()]).T
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    for row in tau:
        ax.plot(TOLERANCES, row, "o-", ms=3, lw=0.9)
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel("norm of the gradient at which the fit stops")
    ax.set_ylabel("Kendall's tau, one line for each panel")
    moved = float(np.abs(tau[:, 2] - tau[:, -1]).max())
    return PUBLISHED.reproduction(
        "figure 11",
        PUBLISHED.beside("figure 11", means(found), spread=deviations(found)),
        conclusions=(
            Conclusion(
                "stopping early moves tau less than another panel does", moved < tau[:, -1].std()
            ),
        ),
        figures=saved(request, figure, "figure_11.png"),
        notes=("The paper counts iterations of its scheme; here the gradient says when to stop.",),
        options={"seed": request.seed, "runs": runs},
    )
