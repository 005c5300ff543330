"""Draw Figures 2 to 6 and 9 to 11 of "Bias-aware ranking from pairwise comparisons".

The paper is by Ferrara, Bonchi, Fabbri, Karimi and Wagner (2024).

Run as ``python reproductions/003/figures.py OUTPUT [--panels 20] [--data DIRECTORY]``. Every figure
is drawn into OUTPUT and the paper's conclusion about it is checked and printed. Figure 9 needs the
law school data and is left out without them. Figures 7 and 8 need face comparisons; their numbers
are checked by ``tests/reproductions/test_barp_imdb_wiki.py``.

Differences from the paper are said in the README beside this file.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import expon, norm, uniform

from comparity import barp, bradley_terry, crowd_bt, exposure, factor_bt, fair_topk, rank_centrality
from comparity.metrics.exposure import kendall_tau
from comparity.ranking.simulators import SimulatedPanel, pair_counts, simulate_comparisons

Floats = NDArray[np.float64]
Checks = dict[str, bool]

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")


def fitted(panel: SimulatedPanel, **choices: Any) -> Any:
    """Fit BARP as the paper does: no ties, no seats."""
    return barp(
        panel.comparisons, evaluators=panel.evaluators, sensitive_features=dict(panel.groups),
        reference=dict.fromkeys(panel.groups, "a"), **choices,
    )  # fmt: skip


def scores_of(panel: SimulatedPanel) -> dict[str, Floats]:
    """Return the scores by every method."""
    pairs, judges, group = panel.comparisons, panel.evaluators, panel.sensitive_features
    plain = bradley_terry(pairs, n_items=len(panel.scores), prior=5.0).scores
    topk = fair_topk(
        plain, sensitive_features=group, protected="a", k=len(plain), p=0.7, alpha=0.15
    )
    reranked = np.empty(len(plain))
    reranked[topk.ranking] = -np.arange(len(plain))
    return {
        "BARP": fitted(panel).scores,
        "BT": plain,
        "RankCentrality": rank_centrality(pairs, n_items=len(plain)).scores,
        "CrowdBT": crowd_bt(pairs, evaluators=judges, n_items=len(plain)).scores,
        "FactorBT": factor_bt(pairs, evaluators=judges, sensitive_features=group).scores,
        "FA*IR": reranked,
    }


def sweep(laws: dict[float, Any], panels: int) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return Kendall's tau and the gap in exposure, by method: (columns, panels)."""
    taus: dict[str, list[list[float]]] = {}
    gaps: dict[str, list[list[float]]] = {}
    for column, law in laws.items():
        for number in range(panels):
            rng = np.random.default_rng([int(10 * column), number])
            panel = simulate_comparisons(rng=rng, bias=law)
            for method, scores in scores_of(panel).items():
                if number == 0:
                    taus.setdefault(method, []).append([])
                    gaps.setdefault(method, []).append([])
                taus[method][-1].append(kendall_tau(scores, panel.scores))
                seen = exposure(scores, sensitive_features=panel.sensitive_features)
                gaps[method][-1].append(seen.means["b"] - seen.means["a"])
    return (
        {method: np.array(rows) for method, rows in taus.items()},
        {method: np.array(rows) for method, rows in gaps.items()},
    )


def curves(
    path: Path, columns: list[float], found: dict[str, Floats], label: str, title: str
) -> None:
    """Draw a line with a band of one standard deviation for every method."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    ax = figure.subplots()
    for (method, values), colour in zip(found.items(), COLOURS, strict=True):
        mean, spread = values.mean(axis=1), values.std(axis=1)
        ax.plot(columns, mean, color=colour, label=method)
        ax.fill_between(columns, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
    ax.set_xlabel(title)
    ax.set_ylabel(label)
    ax.legend(frameon=False, ncols=2)
    figure.savefig(path, dpi=120)


def figure_2_and_3(folder: Path, panels: int) -> Checks:
    """Kendall's tau over mean bias and spread of bias; exposure over mean bias."""
    means = {m: norm(m, 0.1) for m in np.arange(0, 5.5, 0.5).tolist()}
    spreads = {s: norm(0, max(s, 1e-9)) for s in range(11)}
    checks: Checks = {}
    tau, gap = sweep(means, panels)
    curves(folder / "figure_2_left.png", list(means), tau, "Kendall's tau", "mean bias")
    curves(folder / "figure_3_left.png", list(means), gap, "exposure of b less a", "mean bias")
    checks["BARP has tau of 0.92, up to two standard errors, at every mean bias"] = _stays(tau)
    others = [method for method in tau if method != "BARP"]
    checks["every other method falls as the mean bias grows"] = all(
        tau[method][-1].mean() < tau[method][0].mean() - 0.05 for method in others
    )
    checks["FA*IR mends a part"] = bool(tau["FA*IR"][-1].mean() > tau["BT"][-1].mean() + 0.02)
    checks["exposure by BARP does not follow the bias"] = bool(
        abs(gap["BARP"][-1].mean() - gap["BARP"][0].mean()) < 0.25 * abs(gap["BT"][-1].mean())
    )
    tau, _ = sweep(dict(spreads), panels)
    curves(folder / "figure_2_right.png", list(spreads), tau, "Kendall's tau", "SD of bias")
    checks["BARP has tau of 0.92, up to two standard errors, at every spread"] = _stays(tau)
    return checks


def _stays(tau: dict[str, Floats]) -> bool:
    found = tau["BARP"]
    error = found.std(axis=1, ddof=1) / np.sqrt(found.shape[1])
    return bool((found.mean(axis=1) + 2 * error >= 0.92).all())


def figure_4(folder: Path, panels: int) -> Checks:
    """More comparisons help; more spread scores are easier."""
    evaluators, pairs = (10, 25, 50, 75, 100), (10, 25, 50, 75, 100)
    tau = np.array(
        [
            [
                np.mean([_tau(n, p, number) for number in range(max(2, panels // 4))])
                for n in evaluators
            ]
            for p in pairs
        ]
    )
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = left.imshow(tau, origin="lower", cmap="cividis")
    left.set_xticks(range(5), [str(n) for n in evaluators])
    left.set_yticks(range(5), [str(p) for p in pairs])
    left.set_xlabel("evaluators")
    left.set_ylabel("pairs of each")
    figure.colorbar(shown, ax=left, label="Kendall's tau")
    sds = (0.5, 1, 2, 3, 5, 8, 10)
    by_spread = [
        np.mean(
            [
                _tau_of(simulate_comparisons(
                    rng=np.random.default_rng([int(10 * sd), number]), scores=norm(0, sd),
                    bias=norm(sd / 10, 0.01),
                ))
                for number in range(max(2, panels // 4))
            ]
        )
        for sd in sds
    ]  # fmt: skip
    right.plot(sds, by_spread, "o-", color=COLOURS[0])
    right.set_xlabel("SD of the true scores")
    right.set_ylabel("Kendall's tau")
    figure.savefig(folder / "figure_4.png", dpi=120)
    total = np.outer(pairs, evaluators)
    return {
        "more comparisons in all give a better order": float(
            np.corrcoef(np.log(total).ravel(), tau.ravel())[0, 1]
        )
        > 0.9,
        "the order is easier to find the further scores lie apart": by_spread[0]
        < by_spread[2]
        < by_spread[-1],
    }


def _tau(n_evaluators: int, pairs: int, number: int) -> float:
    rng = np.random.default_rng([n_evaluators, pairs, number])
    return _tau_of(
        simulate_comparisons(
            rng=rng, scores=uniform(-5, 10), bias=norm(2, 1e-9), n_evaluators=n_evaluators,
            pairs=pairs,
        )
    )  # fmt: skip


def _tau_of(panel: SimulatedPanel) -> float:
    return kendall_tau(fitted(panel).scores, panel.scores)


def figure_3_and_5(folder: Path, panels: int) -> Checks:
    """Biases come back whatever their law."""
    laws = {"uniform": uniform(-5, 10), "normal": norm(0, 2), "exponential": expon(scale=2)}
    figure = Figure(figsize=(11, 4), layout="constrained")
    checks: Checks = {}
    for ax, (name, law) in zip(figure.subplots(1, 3), laws.items(), strict=True):
        rng = np.random.default_rng(44)
        panel = simulate_comparisons(rng=rng, bias=law, scores=uniform(-5, 10))
        fit = fitted(panel)
        true, found = panel.bias[:, 0], fit.bias[:, 0]
        ax.errorbar(true, found, yerr=1.96 * fit.bias_standard_errors[:, 0], fmt="o", ms=3,
                    color=COLOURS[1], lw=0.8)  # fmt: skip
        ax.axline((0, 0), slope=1, color="#666666", lw=0.8)
        ax.set_title(name)
        ax.set_xlabel("true bias")
        ax.set_ylabel("estimated bias, 95 %")
        checks[f"biases come back, {name}"] = float(np.corrcoef(true, found)[0, 1]) > 0.9
    figure.savefig(folder / "figure_5.png", dpi=120)
    return checks


def figure_6(folder: Path, panels: int) -> Checks:
    """Two attributes and their intersection: the doubly disadvantaged come back up."""
    shifts = []
    for number in range(max(12, panels)):
        panel = simulate_comparisons(
            rng=np.random.default_rng([6, number]),
            groups={"sex": 50, "race": 50},
            bias={"sex": norm(-1, 0.2), "race": norm(-1, 0.2), "sex & race": norm(-2, 0.2)},
            pairs=200,
        )
        both = {"sex": "b", "race": "b"}
        found = {
            "BT": bradley_terry(panel.comparisons, n_items=100, prior=5.0).scores,
            "BARP": fitted(panel, intersections=[both]).scores,
        }
        hit = np.all([panel.groups[name] == "b" for name in both], axis=0)
        true = _ranks(panel.scores)
        shifts.append([float((_ranks(scores) - true)[hit].mean()) for scores in found.values()])
        if number == 0:
            _draw_ranks(folder / "figure_6.png", true, found, hit)
    plain, freed = np.mean(shifts, axis=0)
    return {
        "Bradley-Terry puts the doubly disadvantaged down, on average": plain > 5,
        "BARP does not": abs(freed) < plain / 4,
    }


def _draw_ranks(path: Path, true: Floats, found: dict[str, Floats], hit: NDArray[np.bool_]) -> None:
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
    figure.savefig(path, dpi=120)


def _ranks(scores: Floats) -> Floats:
    return (-scores).argsort().argsort() + 1.0


def figure_9(folder: Path, data: Path) -> Checks:
    """Law school: scores by group, with evaluators at their word and freed of their biases."""
    with (data / "law_school" / "law_data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rng = np.random.default_rng(9)
    rows = [rows[i] for i in rng.choice(len(rows), 1000, replace=False)]
    grades = {name: np.array([float(row[name]) for row in rows]) for name in GRADES}
    pairs, judges = [], []
    for name, values in grades.items():
        drawn = np.array([rng.choice(1000, 2, replace=False) for _ in range(12_000)])
        drawn = drawn[values[drawn[:, 0]] != values[drawn[:, 1]]][:10_000]
        turned = values[drawn[:, 0]] < values[drawn[:, 1]]
        pairs.append(np.where(turned[:, None], drawn[:, ::-1], drawn))
        judges += [name] * len(drawn)
    comparisons = np.concatenate(pairs)
    attributes = {
        "gender": np.where([row["sex"] == "2" for row in rows], "male", "female"),
        "race": np.where([row["race"] == "White" for row in rows], "white", "non-white"),
    }
    plain = bradley_terry(comparisons, n_items=1000)
    figure = Figure(figsize=(9, 6), layout="constrained")
    gaps: dict[tuple[str, str], float] = {}
    for axes, (attribute, group) in zip(figure.subplots(2, 2), attributes.items(), strict=True):
        freed = barp(comparisons, evaluators=judges, sensitive_features=group)
        for ax, (name, fit) in zip(axes, {"BT": plain, "BARP": freed}.items(), strict=True):
            for value, colour in zip(sorted(set(group)), COLOURS[:2], strict=True):
                chosen = fit.scores[group == value]
                ax.hist(chosen, bins=30, density=True, alpha=0.5, color=colour, label=value)
            ax.set_title(f"{attribute}, {name}")
            ax.legend(frameon=False)
            first, second = sorted(set(group))
            gaps[attribute, name] = float(
                fit.scores[group == second].mean() - fit.scores[group == first].mean()
            )
    figure.savefig(folder / "figure_9.png", dpi=120)
    return {
        "Bradley-Terry ranks white students higher": gaps["race", "BT"] > 0.5,
        "BARP ranks the races alike": abs(gaps["race", "BARP"]) < 0.05,
        "gender makes little difference to either": abs(gaps["gender", "BT"]) < 0.3,
    }


GRADES = ("LSAT", "UGPA", "ZFYA")


def figure_10(folder: Path, panels: int) -> Checks:
    """How pairs are spread over evaluators matters little."""
    kinds = ("equal", "poisson", "spread", "extreme")
    tau = np.array(
        [
            [
                _tau_of(simulate_comparisons(
                    rng=np.random.default_rng([10, number]), bias=norm(2, 2),
                    scores=uniform(-5, 10), pairs=pair_counts(kind),
                ))
                for number in range(max(4, panels // 2))
            ]
            for kind in kinds
        ]
    )  # fmt: skip
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    ax.errorbar(kinds, tau.mean(axis=1), yerr=tau.std(axis=1), fmt="o", color=COLOURS[1], capsize=4)
    ax.set_ylabel("Kendall's tau, mean and SD")
    ax.set_ylim(0.8, 1)
    figure.savefig(folder / "figure_10.png", dpi=120)
    widest = float(np.ptp(tau.mean(axis=1)))
    return {"no distribution of pairs moves tau by 0.02": widest < 0.02}


def figure_11(folder: Path, panels: int) -> Checks:
    """Loose or tight convergence gives nearly the same order."""
    tolerances = (10.0, 1.0, 0.1, 1e-3, 1e-5)
    tau = np.array(
        [
            [_tau_with(np.random.default_rng([11, number]), tolerance) for tolerance in tolerances]
            for number in range(max(4, panels // 4))
        ]
    )
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    for row in tau:
        ax.plot(tolerances, row, "o-", ms=3, lw=0.9)
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel("norm of the gradient at which the fit stops")
    ax.set_ylabel("Kendall's tau, one line for each panel")
    figure.savefig(folder / "figure_11.png", dpi=120)
    stopping = float(np.abs(tau[:, 2] - tau[:, -1]).max())
    return {"stopping early moves tau less than another panel does": stopping < tau[:, -1].std()}


def _tau_with(rng: np.random.Generator, tolerance: float) -> float:
    panel = simulate_comparisons(rng=rng, bias=norm(2, 1))
    return kendall_tau(fitted(panel, tolerance=tolerance).scores, panel.scores)


FIGURES: dict[str, Callable[[Path, int], Checks]] = {
    "2 and 3": figure_2_and_3,
    "4": figure_4,
    "5": figure_3_and_5,
    "6": figure_6,
    "10": figure_10,
    "11": figure_11,
}


def main(arguments: list[str] | None = None) -> dict[str, Checks]:
    """Draw the figures and print what was checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--panels", type=int, default=20, help="simulated panels for each point")
    parser.add_argument("--data", type=Path, default=os.environ.get("COMPARITY_DATA"))
    parser.add_argument("--only", nargs="*", choices=[*FIGURES, "9"])
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    wanted = chosen.only or [*FIGURES, "9"]
    checks = {
        name: draw(chosen.output, chosen.panels) for name, draw in FIGURES.items() if name in wanted
    }
    if chosen.data is not None and "9" in wanted:
        checks["9"] = figure_9(chosen.output, Path(chosen.data))
    for name, facts in checks.items():
        for fact, holds in facts.items():
            print(f"Figure {name}: {fact}: {'yes' if holds else 'NO'}")
    return checks


if __name__ == "__main__":
    main()
