"""The simulated ranking task: the first rows of Tables 1 and 6, Tables 4 and 5, Figures 1 to 3.

Trained models are judged on test queries, as in the paper, and by the closed form of their
accuracies in the population, which no test set blurs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from methods import HELD_OUT, METHODS, POLISHED, POSTPROCESSED, UNPOLISHED, free_ranker
from tasks import Floats, Task, Tested, across, apart, averages, coin, deviations, everywhere

from comparity import FairRanker
from comparity.cli.published import Conclusion, Reproduction, Request, one_run_away
from comparity.cli.reproduce import read_published, track_progress
from comparity.datasets.simulated import (
    THREE,
    TWO,
    directions,
    mix_populations,
    population,
    ranking,
)
from comparity.tables.outputs import replace_file
from comparity.training.weigh import debiasing_weights

__all__ = [
    "GAMES",
    "RUNS",
    "figure_1",
    "figure_2",
    "figure_3",
    "in_population",
    "row_of_table_1",
    "table_4",
    "table_5",
]

PUBLISHED = read_published(Path(__file__).parent)
RUNS = 5
DATA_SETS = 20
"""So many simulations have their accuracies in the population averaged, which cost no testing."""
QUERIES = 5000
BOTH = ("cross-group", "within-group")
FREE = ("Uncons.", "Debiased")
GAMES = ("Constr.", "Robust", f"Constr.{POLISHED}", f"Robust{POLISHED}")
LEARNED = (*FREE, *GAMES)

Violation = Callable[[Tested], float]


class Learned(NamedTuple):
    """A trained mixture: its accuracies on test queries and in the population, and its members."""

    tested: Tested
    true: Tested
    coefficients: Floats
    probabilities: Floats


def goal_of(method: str, goal: Any) -> Any:
    """Return the goal that a method is trained for."""
    return None if method in FREE else goal


@cache
def halves(seed: int, run: int, shares: tuple[float, ...]) -> tuple[Task, Task]:
    """Return simulated queries to learn from, three quarters of 5,000, and queries to test."""
    rng = np.random.default_rng([seed, run])
    features, label, group, query = ranking(QUERIES, rng, shares)
    task = Task(features=features, label=label.astype(float), sensitive=group, query=query)
    return task.split(rng)


@cache
def learned(seed: int, run: int, shares: tuple[float, ...], method: str, goal: Any) -> Learned:
    """Train by a method under a goal, and judge it."""
    rest, test = halves(seed, run, shares)
    if method in FREE:
        weights = None
        if method == "Debiased":
            weights = debiasing_weights(rest.label.astype(int), sensitive_features=rest.sensitive)
        model = rest.fitted(FairRanker(goal=None, steps=300, random_state=run, **HELD_OUT), weights)
    else:
        form = "robust" if method.startswith("Robust") else "constrained"
        polish = method.endswith(POLISHED)
        ranker = FairRanker(goal=goal, form=form, polish=polish, random_state=run, **HELD_OUT)
        model = rest.fitted(ranker)
    members = model.stochastic_
    matrix, overall = mix_populations(members.coefficients, members.probabilities, shares)
    return Learned(
        test.tested(test.scored(model)),
        Tested(matrix, overall, matrix @ shares),
        members.coefficients,
        members.probabilities,
    )


def row_of_table_1(names: tuple[str, ...], runs: int, seed: int) -> dict[str, list[float]]:
    """Return tested accuracy and difference across groups, by method."""
    tested: dict[str, list[float]] = {}
    for run in track_progress(range(runs), "simulated ranking"):
        rest, test = halves(seed, run, TWO)
        free = free_ranker(rest, run) if set(names) & set(POSTPROCESSED) else None
        for name in ("Uncons.", *names):
            if name in LEARNED:
                one = learned(seed, run, TWO, name, goal_of(name, "cross-group"))
                _add(tested, name, one.tested, across)
            else:
                _add(tested, name, test.tested(METHODS[name](rest, test, free, run)), across)
    return tested


def in_population(names: tuple[str, ...], runs: int, seed: int) -> dict[str, list[float]]:
    """Return the same in the population, of more data sets where the usual five are asked for."""
    true: dict[str, list[float]] = {}
    for run in track_progress(range(DATA_SETS if runs == RUNS else runs), "population"):
        for name in ("Uncons.", *names):
            if name in LEARNED:
                one = learned(seed, run, TWO, name, goal_of(name, "cross-group"))
                _add(true, name, one.true, across)
    return true


def _add(columns: dict[str, list[float]], name: str, found: Tested, violation: Violation) -> None:
    columns.setdefault(f"{name} AUC", []).append(found.accuracy)
    columns.setdefault(f"{name} violation", []).append(violation(found))


def _compared(
    part: str,
    request: Request,
    shares: tuple[float, ...],
    goal: Any,
    names: tuple[str, ...],
    violation: Violation,
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """Return means by row and column, and what a reproduction of this part consists of."""
    runs = max(2, request.runs or RUNS)
    found: dict[str, dict[str, list[float]]] = {"tested": {}, "population": {}}
    tasks = [(run, name) for run in range(runs) for name in names]
    for run, name in track_progress(tasks, "simulated ranking"):
        one = learned(request.seed, run, shares, name, goal_of(name, goal))
        _add(found["tested"], name, one.tested, violation)
        _add(found["population"], name, one.true, violation)
    ours = averages(found)
    rows = PUBLISHED.beside(
        part,
        ours,
        tolerance=0.005,
        spread=deviations(found),
        errors=one_run_away(runs),
        nothing=coin,
    )
    return ours, {"rows": rows, "options": {"runs": runs, "seed": request.seed}}


def table_4(request: Request) -> Reproduction:
    """Ask for equal accuracies across and within groups at once."""
    names = ("Uncons.", "Debiased", *GAMES)
    ours, facts = _compared("table 4", request, TWO, BOTH, names, everywhere)
    true = ours["population"]
    conclusions = (
        Conclusion(
            "Constraints lower the accuracy much, the robust form little.",
            true["Constr. AUC"] < true["Robust AUC"] - 0.05 < true["Uncons. AUC"],
        ),
        Conclusion(
            "Both are less than 0.07 apart in the population.",
            max(true["Constr. violation"], true["Robust violation"]) < 0.07,
        ),
        Conclusion(
            "The robust accuracy is within 0.01 of the published 0.89.",
            abs(true["Robust AUC"] - 0.89) <= 0.01,
        ),
    )
    note = (
        "No linear score, and no mixture, keeps both within 0.01 with more than 0.677; more "
        "accuracy is paid for with a larger difference."
    )
    return PUBLISHED.reproduction(
        "table 4", conclusions=conclusions, notes=(note, UNPOLISHED), **facts
    )


def table_5(request: Request) -> Reproduction:
    """Ask for equal marginal accuracies of three groups."""
    names = ("Uncons.", *GAMES)
    ours, facts = _compared("table 5", request, THREE, "marginal", names, apart)
    true = ours["population"]
    best = max(map(_least, directions(0.5)))
    runs = range(facts["options"]["runs"])
    robust = [learned(request.seed, run, THREE, "Robust", "marginal").true for run in runs]
    least = float(np.mean([min(*found.marginals, found.accuracy) for found in robust]))
    conclusions = (
        Conclusion(
            f"The robust form raises the least rate to its optimum ({least:.3f} of {best:.3f}).",
            least >= best - 0.015,
        ),
        Conclusion(
            "Constraints bring marginals closest, at the price of accuracy.",
            true["Constr. violation"] < true["Robust violation"] < true["Uncons. violation"]
            and true["Constr. AUC"] < true["Robust AUC"] < true["Uncons. AUC"],
        ),
    )
    notes = (
        "The mean of negative items of group 2 is (-1, -1) here; with the (-1, 1) in print the "
        "best robust accuracy is 0.716 and the best mixture within 0.01 has 0.565.",
        UNPOLISHED,
    )
    return PUBLISHED.reproduction("table 5", conclusions=conclusions, notes=notes, **facts)


def _least(direction: Floats) -> float:
    """Return the least of marginals and overall accuracy of a score, with three groups."""
    matrix, overall = population(direction, THREE)
    return float(min(*(matrix @ THREE), overall))


def figure_3(request: Request) -> Reproduction:
    """Show the accuracies behind Table 4."""
    runs = max(2, request.runs or RUNS)
    found: dict[str, dict[str, list[float]]] = {}
    for name in ("Uncons.", "Constr.", "Robust"):
        for run in track_progress(range(runs), name):
            one = learned(request.seed, run, TWO, name, goal_of(name, BOTH))
            _add_cells(found, name, one.tested.matrix)
            _add_cells(found, f"{name}, population", one.true.matrix)
    rows = PUBLISHED.beside(
        "figure 3",
        averages(found),
        tolerance=5e-4,
        spread=deviations(found),
        errors=one_run_away(runs),
        nothing=coin,
    )
    return PUBLISHED.reproduction("figure 3", rows, options={"runs": runs, "seed": request.seed})


def _add_cells(found: dict[str, dict[str, list[float]]], row: str, matrix: Floats) -> None:
    columns = found.setdefault(row, {})
    for i, j in np.ndindex(*matrix.shape):
        columns.setdefault(f"G{i} > G{j}", []).append(float(matrix[i, j]))


def figure_1(request: Request) -> Reproduction:
    """Show the accuracies by cell with two groups, and the marginals with three."""
    runs = max(2, request.runs or RUNS)
    found: dict[str, dict[str, list[float]]] = {}
    for run in track_progress(range(runs), "simulated ranking"):
        for name in ("Uncons.", "Constr."):
            one = learned(request.seed, run, TWO, name, goal_of(name, "cross-group"))
            _add_cells(found, f"{name}, two groups", one.tested.matrix)
        for name in ("Constr.", "Robust"):
            one = learned(request.seed, run, THREE, name, "marginal")
            columns = found.setdefault(f"{name}, three groups", {})
            for group, rate in enumerate(one.tested.marginals.tolist()):
                columns.setdefault(f"G{group} > all", []).append(rate)
    ours = averages(found)
    free, bound = ours["Uncons., two groups"], ours["Constr., two groups"]
    three = [ours[f"{name}, three groups"].values() for name in ("Constr.", "Robust")]
    conclusions = (
        Conclusion(
            "Constraints lower A(0 > 1) and raise A(1 > 0).",
            bound["G0 > G1"] < free["G0 > G1"] and bound["G1 > G0"] > free["G1 > G0"],
        ),
        Conclusion(
            "Constrained marginals are closer together, robust ones have the larger minimum.",
            max(three[0]) - min(three[0]) < max(three[1]) - min(three[1])
            and min(three[1]) > min(three[0]),
        ),
    )
    path = request.picture("004_figure_1.png")
    if path is not None:
        _draw_matrices(ours, path)
    return PUBLISHED.reproduction(
        "figure 1",
        PUBLISHED.beside(
            "figure 1",
            ours,
            tolerance=5e-4,
            spread=deviations(found),
            errors=one_run_away(runs),
            nothing=coin,
        ),
        conclusions=conclusions,
        figures=() if path is None else (str(path),),
        notes=("Panels (e) to (g) need all of the Wikipedia comments, which are not shipped.",),
        options={"runs": runs, "seed": request.seed},
    )


def _draw_matrices(ours: dict[str, dict[str, float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.2), layout="constrained")
    for axes, (title, cells) in zip(figure.subplots(1, 4), ours.items(), strict=True):
        matrix = "two" in title
        values = np.array(list(cells.values())).reshape(2 if matrix else 1, -1)
        axes.imshow(values, vmin=0.6, vmax=1.0, cmap="cividis")
        for (row, column), value in np.ndenumerate(values):
            ink = "white" if value < 0.8 else "black"
            axes.text(column, row, f"{value:.3f}", ha="center", va="center", color=ink)
        axes.set_title(title, fontsize="small")
        axes.set_xticks(range(values.shape[1]))
        axes.set_yticks(range(2) if matrix else [])
        axes.set_xlabel("group of the worse item" if matrix else "group of the better item")
    figure.axes[0].set_ylabel("group of the better item")
    with replace_file(path) as part:
        figure.savefig(part, dpi=150)


def figure_2(request: Request) -> Reproduction:
    """Draw the learned hyperplanes, and give the angle of the normal of each."""
    rows = {}
    lines = {}
    for name in ("Uncons.", "Constr.", "Robust"):
        one = learned(request.seed, 0, TWO, name, goal_of(name, "cross-group"))
        lines[name] = one.coefficients[one.probabilities.argmax()]
        rows[name] = {"angle": float(np.degrees(np.arctan2(lines[name][1], lines[name][0])))}
    path = request.picture("004_figure_2.png")
    if path is not None:
        _draw_hyperplanes(lines, halves(request.seed, 0, TWO)[1], path)
    steeper = rows["Uncons."]["angle"] < min(rows["Constr."]["angle"], rows["Robust"]["angle"])
    return PUBLISHED.reproduction(
        "figure 2",
        PUBLISHED.beside("figure 2", rows),
        conclusions=(Conclusion("Goals turn the score towards the second feature.", steeper),),
        figures=() if path is None else (str(path),),
        notes=("The best possible angles are 40.5, 72.9 and 69.1 degrees.",),
        options={"seed": request.seed},
    )


def _draw_hyperplanes(lines: dict[str, Floats], test: Task, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    few = slice(0, 600)
    x, y = test.features[few].T
    for axes, (name, normal) in zip(figure.subplots(1, 3, sharey=True), lines.items(), strict=True):
        for group, mark in ((0, "+"), (1, "o")):
            for label, colour in ((1, "#0072B2"), (0, "#D55E00")):
                at = (test.sensitive[few] == group) & (test.label[few] == label)
                axes.plot(x[at], y[at], mark, color=colour, ms=3, mfc="none", alpha=0.6)
        where = np.array([-4.0, 4.0])
        axes.plot(where, -normal[0] / normal[1] * where, "k--")
        axes.set(title=name, xlabel="feature 1", ylabel="feature 2", ylim=(-5, 4))
    with replace_file(path) as part:
        figure.savefig(part, dpi=150)
