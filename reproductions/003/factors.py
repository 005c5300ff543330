"""Figures 4, 5, 6, 10 and 11: what the order found and the biases found depend on."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from panels import (
    COLOURS,
    PUBLISHED,
    Floats,
    Table,
    deviations,
    fitted,
    means,
    saved,
    tau_of,
)
from scipy.stats import expon, norm, spearmanr, uniform
from stored import (
    EVALUATORS,
    PAIRS,
    SCORE_SPREADS,
    panel_of_figure_6,
    panels_of_figure_4_left,
    panels_of_figure_4_right,
    panels_of_figure_10,
)

from comparity import bradley_terry
from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import track_progress
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.ranking.exposure import kendall_tau

THEIRS = "alternating"
"""The authors' scheme."""
ROUNDED = 5e-5
"""Half a unit in the last digit that is stored."""
UNBOUND = 100.0
"""A prior that hardly holds anything, as the authors fit Bradley-Terry."""
TOLERANCES = (10.0, 1.0, 0.1, 1e-3, 1e-5)
BOTH = {"sex": "b", "race": "b"}


def figure_4(request: Request) -> Reproduction:
    """More comparisons help; scores further apart are easier. All on the authors' own panels."""
    theirs: Table = {}
    ours: Table = {}
    for n, pairs, panel in track_progress(
        list(panels_of_figure_4_left()), "the authors' panels, left"
    ):
        theirs.setdefault(f"{n} evaluators", {})[f"{pairs} pairs"] = tau_of(panel, mode=THEIRS)
        ours.setdefault(f"{n} evaluators, converged", {})[f"{pairs} pairs"] = tau_of(panel)
    sizes = np.array([list(columns.values()) for columns in ours.values()])
    by_spread: Table = {}
    panels = list(panels_of_figure_4_right())
    for law, sd, panel in track_progress(panels, "the authors' panels, right"):
        row = by_spread.setdefault(f"bias {law}, scores SD {sd:g}", {})
        row[f"panel {len(row) + 1}"] = tau_of(panel, mode=THEIRS)
    spread = [
        float(np.mean([np.mean([*row.values()]) for name, row in by_spread.items()
                       if name.endswith(f"SD {sd:g}")]))
        for sd in SCORE_SPREADS
    ]  # fmt: skip
    return PUBLISHED.reproduction(
        "figure 4",
        PUBLISHED.beside("figure 4", {**theirs, **ours, **by_spread}, tolerance=ROUNDED),
        conclusions=_conclusions_4(theirs, sizes, spread),
        figures=saved(request, _picture_4(sizes, spread), "figure_4.png"),
        notes=(
            "The authors' own panels from their seeds, by their scheme; rows 'converged' are our "
            "default fit of the same panels. The paper's text has one bias in the right panel; "
            "stored are four: 0, 1, a fifth of the SD of the scores, and that SD.",
        ),
    )


def _conclusions_4(theirs: Table, sizes: Floats, by_spread: list[float]) -> tuple[Conclusion, ...]:
    """Judge what is said of sizes and spreads; 3,200 comparisons are on a diagonal of the sizes."""
    stored = np.array([list(columns.values()) for columns in theirs.values()])
    few, many = (stored.diagonal()[-1] - stored.diagonal()[0] for stored in (stored, sizes))
    total = np.outer(EVALUATORS, PAIRS).ravel()
    return (
        Conclusion(
            "more comparisons in all give a better order",
            float(spearmanr(total, sizes.ravel()).statistic) > 0.9,
        ),
        Conclusion(
            "of 3,200 comparisons, 10 evaluators give a better order than 320, by 0.03 or more: "
            f"by the authors' scheme ({few:+.3f})",
            bool(few > 0.03),
        ),
        Conclusion(f"the same in a converged fit ({many:+.3f})", bool(many > 0.03)),
        Conclusion(
            "the order is easier to find the further scores lie apart, up to an SD of 5",
            by_spread[0] < by_spread[1] < by_spread[2] < by_spread[3],
        ),
    )


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
    """Biases come back whatever their distribution."""
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
    for number in track_progress(range(runs), "simulating panels"):
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
    ours = {**means(table), "Kendall's tau, the authors' panel": _taus_of_figure_6()}
    plain, adjusted = next(iter(ours.values())).values()
    return PUBLISHED.reproduction(
        "figure 6",
        PUBLISHED.beside("figure 6", ours, spread=deviations(table)),
        conclusions=(
            Conclusion("Bradley-Terry puts the doubly disadvantaged down", plain > 5),
            Conclusion("BARP does not, on average", abs(adjusted) < plain / 4),
        ),
        figures=figures,
        notes=(
            f"Places: mean over {runs} panels of ours, ± the standard deviation of one: the "
            "assumption of equal group means takes chance differences between groups for bias.",
            "The authors' panel, from their seeds: 30 items of each group, biases about -3 and -4 "
            "that add up, no bias of its own for the intersection, 100 pairs of each evaluator.",
        ),
        options={"seed": request.seed, "runs": runs},
    )


def _taus_of_figure_6() -> dict[str, float]:
    panel = panel_of_figure_6()
    plain = bradley_terry(panel.comparisons, n_items=100, prior=UNBOUND).scores
    return {
        "BT": kendall_tau(plain, panel.scores),
        "BARP": tau_of(panel),
        "BARP, authors' scheme": tau_of(panel, mode=THEIRS),
    }


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
    """How pairs are spread over evaluators matters little, on the authors' own panels."""
    theirs: dict[str, list[float]] = {}
    own: dict[str, list[float]] = {}
    for kind, panel in track_progress(list(panels_of_figure_10()), "the authors' panels"):
        theirs.setdefault(kind, []).append(tau_of(panel, mode=THEIRS))
        own.setdefault(kind, []).append(tau_of(panel))
    ours: Table = {
        kind: {
            "mean": float(np.mean(values)),
            "SD": float(np.std(values)),
            "mean, converged": float(np.mean(own[kind])),
        }
        for kind, values in theirs.items()
    }
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    mean, spread = (np.array([row[name] for row in ours.values()]) for name in ("mean", "SD"))
    ax.errorbar(list(ours), mean, yerr=spread, fmt="o", color=COLOURS[1], capsize=4)
    ax.set_ylabel("Kendall's tau, mean and SD")
    ax.set_ylim(0.8, 1)
    return PUBLISHED.reproduction(
        "figure 10",
        PUBLISHED.beside("figure 10", ours, tolerance=ROUNDED),
        conclusions=tuple(
            Conclusion(
                f"no distribution of pairs moves tau by 0.02, {how}",
                float(np.ptp([row[name] for row in ours.values()])) < 0.02,
            )
            for name, how in {"mean": "authors' scheme", "mean, converged": "converged"}.items()
        ),
        figures=saved(request, figure, "figure_10.png"),
        notes=("Ten panels of each kind from the authors' seed, with one vector of scores.",),
    )


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
