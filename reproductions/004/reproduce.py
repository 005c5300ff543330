"""Reproduce tables and figures of "Pairwise Fairness for Ranking and Regression".

The paper is by Narasimhan, Cotter, Gupta and Wang. Run as ``comparity reproduce 004 --table 1``, or
as ``python reproductions/004/reproduce.py --table 1``. What differs from the paper, and why, is
said in the README beside this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from agreement import separation
from means import table_3
from methods import UNPOLISHED
from real import batched, rankings, regressions
from simulated import (
    GAMES,
    RUNS,
    figure_1,
    figure_2,
    figure_3,
    in_population,
    row_of_table_1,
    table_4,
    table_5,
)
from tasks import Tested, across, averages, coin, deviations, one_run_by_row

from comparity.cli.published import Conclusion, Reproduction, Request, one_run_away
from comparity.cli.reproduce import Parts, read_published

PUBLISHED = read_published(Path(__file__).parent)
METHODS = ("Debiased", "S & J", "K & Z", "B et al.", *GAMES)
ALONG_A_NUMBER = ("B et al.", *GAMES)
WITHOUT_PROGRAM = ("Debiased", "K & Z", "B et al.", *GAMES)
PENALTY, OVER_ALL = "B et al.", "B et al., all pairs"
TOPIC_RUNS = 8

Found = dict[str, dict[str, list[float]]]


def table_1(request: Request) -> Reproduction:
    """Compare seven methods of ranking."""
    home, seed, runs = request.home(), request.seed, max(2, request.runs or RUNS)
    found: Found = {}
    found["Sim."] = row_of_table_1(METHODS, runs, seed)
    found["Sim., population"] = in_population(METHODS, runs, seed)
    found["Wiki"] = _columns(rankings(home, "Wiki", WITHOUT_PROGRAM, runs, seed))
    topics = max(2, request.runs or TOPIC_RUNS)
    found["W3C"] = _columns(rankings(home, "W3C", METHODS, topics, seed))
    found["Crime"] = _columns(rankings(home, "Crime", ALONG_A_NUMBER, runs, seed))
    ours = averages(found)
    rows = PUBLISHED.beside(
        "table 1",
        ours,
        tolerance=0.005,
        spread=deviations(found),
        errors=one_run_by_row(found),
        stand_ins=("Wiki", "W3C"),
        nothing=coin,
        why={
            "Wiki": "1,492 of 127,820 comments, a linear score of words instead of a network",
            "W3C": "10 topics of 48: the expert label of the others is not at hand",
            "Sim.": "S & J: how scores become relevances is not said",
        },
    )
    return PUBLISHED.reproduction(
        "table 1",
        rows,
        conclusions=_about_table_1(ours),
        notes=(
            "Means over simulations or random splits, ± the standard deviation of one.",
            "Population: closed-form accuracies of the learned scores, free of a test set's noise; "
            "20 simulations, the five tested ones included.",
            "The business data belong to a company and were never published.",
            UNPOLISHED,
        ),
        options={"runs": runs, "runs of W3C": topics, "seed": seed},
    )


def _columns(found: Mapping[str, Sequence[Tested]]) -> dict[str, list[float]]:
    columns: dict[str, list[float]] = {}
    for name, runs in found.items():
        columns[f"{name} AUC"] = [one.accuracy for one in runs]
        columns[f"{name} violation"] = [across(one) for one in runs]
    return columns


def _about_table_1(ours: dict[str, dict[str, float]]) -> tuple[Conclusion, ...]:
    true, real = ours["Sim., population"], ours["Crime"]
    free = true["Uncons. AUC"], true["Uncons. violation"]
    bound = true["Constr. AUC"], true["Constr. violation"]
    return (
        Conclusion(
            f"Simulation without a goal: 0.92 within 0.01, 0.25 within 0.06 "
            f"({free[0]:.3f}, {free[1]:.3f}).",
            abs(free[0] - 0.92) <= 0.01 and abs(free[1] - 0.25) <= 0.06,
        ),
        Conclusion(
            f"Constrained, population: at least 0.86, of 0.8697 possible, at 0.02 at most "
            f"({bound[0]:.3f}, {bound[1]:.3f}).",
            bound[0] >= 0.86 and bound[1] <= 0.02,
        ),
        Conclusion(
            "Crime, constrained: violation up to 0.06 at an accuracy from 0.79 on.",
            real["Constr. violation"] <= 0.06 and real["Constr. AUC"] >= 0.79,
        ),
        Conclusion(
            "Crime: constraints and the robust form at least halve the violation.",
            max(real["Constr. violation"], real["Robust violation"])
            <= real["Uncons. violation"] / 2,
        ),
        Conclusion(
            "Crime: accuracies are in the published order: no goal, penalty, robust, constrained.",
            real["Uncons. AUC"] > real["B et al. AUC"] > real["Robust AUC"] > real["Constr. AUC"],
        ),
        Conclusion(
            "W3C: without a goal women are ranked above men; goals reduce that most.",
            ours["W3C"]["Constr. violation"] < ours["W3C"]["Uncons. violation"] / 2,
        ),
    )


def table_2(request: Request) -> Reproduction:
    """Compare three ways of regression."""
    found: Found = {}
    runs = max(2, request.runs or RUNS)
    for data in ("Law", "Crime"):
        tries = {
            name: [tested for tested, _, _ in several]
            for name, several in regressions(request.home(), data, runs, request.seed).items()
        }
        if data == "Law":
            tries[OVER_ALL] = tries.pop(PENALTY)
            tries[PENALTY] = batched(request.home(), runs, request.seed)
        found[data] = {}
        for name, several in tries.items():
            found[data][f"{name} MSE"] = [tested.squared_error for tested in several]
            found[data][f"{name} violation"] = [across(tested) for tested in several]
    ours = averages(found)
    rows = tuple(
        entry
        for kind, digits in (("MSE", 5e-4), ("violation", 5e-3))
        for entry in PUBLISHED.beside(
            "table 2",
            {row: _ending(columns, kind) for row, columns in ours.items()},
            tolerance=digits,
            spread=deviations(found),
            errors=one_run_away(runs),
        )
    )
    return PUBLISHED.reproduction(
        "table 2",
        rows,
        conclusions=_about_table_2(ours),
        notes=(
            "Means over random splits, ± the standard deviation of one.",
            f"{PENALTY} in Law School: batches of 100 rows, as published; {OVER_ALL!r}: the same "
            "penalty without that noise.",
            "For Crime the weight of squared coefficients is chosen on rows of the training part.",
            UNPOLISHED,
        ),
        options={"runs": runs, "seed": request.seed},
    )


def _ending(columns: Mapping[str, float], kind: str) -> dict[str, float]:
    return {name: value for name, value in columns.items() if name.endswith(kind)}


def _about_table_2(ours: dict[str, dict[str, float]]) -> tuple[Conclusion, ...]:
    law, real = ours["Law"], ours["Crime"]
    return (
        Conclusion(
            f"Law School, constrained: violation up to 0.04, error up to 0.148 "
            f"({law['Constr. violation']:.3f}, {law['Constr. MSE']:.3f}).",
            law["Constr. violation"] <= 0.04 and law["Constr. MSE"] <= 0.148,
        ),
        Conclusion(
            f"Crime, constrained: violation up to 0.05, error up to 0.031 "
            f"({real['Constr. violation']:.3f}, {real['Constr. MSE']:.4f}).",
            real["Constr. violation"] <= 0.05 and real["Constr. MSE"] <= 0.031,
        ),
        Conclusion(
            "Errors in Crime are in the published order: without a goal, constrained, penalty.",
            real["Uncons. MSE"] < real["Constr. MSE"] < real[f"{PENALTY} MSE"],
        ),
        Conclusion(
            "Errors in Law School are, too, with the penalty trained by batches as published.",
            law["Uncons. MSE"] < law["Constr. MSE"] < law[f"{PENALTY} MSE"],
        ),
        Conclusion(
            "Both methods, over all pairs, at least halve the violation without a goal.",
            all(
                max(one["Constr. violation"], one[f"{penalty} violation"])
                < one["Uncons. violation"] / 2
                for one, penalty in ((law, OVER_ALL), (real, PENALTY))
            ),
        ),
    )


def table_6(request: Request) -> Reproduction:
    """Re-rank by a linear program for disparate treatment."""
    runs, seed = max(2, request.runs or RUNS), request.seed
    names = ("S & J (DT)", "Constr.")
    found: Found = {}
    found["Sim."] = row_of_table_1(names, runs, seed)
    found["W3C"] = _columns(rankings(request.home(), "W3C", names, runs, seed))
    ours = averages(found)
    rows = PUBLISHED.beside(
        "table 6",
        ours,
        tolerance=0.005,
        spread=deviations(found),
        errors=one_run_by_row(found),
        stand_ins=("W3C",),
        nothing=coin,
        why={
            "Sim.": "how scores become relevances is not said",
            "W3C": "10 topics of 48: the expert label of the others is not at hand",
        },
    )
    simulated = ours["Sim."]
    conclusions = (
        Conclusion(
            "Exposure in proportion to relevance does not even out pairwise accuracies.",
            simulated["S & J (DT) violation"] > simulated["Constr. violation"] + 0.02,
        ),
    )
    return PUBLISHED.reproduction(
        "table 6", rows, conclusions=conclusions, options={"runs": runs, "seed": seed}
    )


def figure_5(request: Request) -> Reproduction:
    """Show accuracies of men and women among the W3C experts."""
    runs = max(2, request.runs or TOPIC_RUNS)
    found = rankings(request.home(), "W3C", WITHOUT_PROGRAM, runs, request.seed)
    found = {name: found[name] for name in ("Uncons.", "Debiased", "Constr.", "Robust")}
    return _matrices("figure 5", request, runs, found, "10 topics of 48 have a public label")


def figure_6(request: Request) -> Reproduction:
    """Show accuracies of men and women in law school."""
    runs = max(2, request.runs or RUNS)
    tries = regressions(request.home(), "Law", runs, request.seed)
    found = {name: [tested for tested, _, _ in tries[name]] for name in ("Uncons.", "Constr.")}
    return _matrices("figure 6", request, runs, found, "")


def _matrices(
    part: str, request: Request, runs: int, found: Mapping[str, Sequence[Tested]], why: str
) -> Reproduction:
    """Lay out accuracies by cell; groups are sorted, so that women come first."""
    groups, cells = ("female", "male"), {}
    for name, tested in found.items():
        cells[name] = {
            f"{groups[i]} > {groups[j]}": [float(one.matrix[i, j]) for one in tested]
            for i in (1, 0)
            for j in (1, 0)
        }
    ours = averages(cells)
    rows = PUBLISHED.beside(
        part,
        ours,
        tolerance=5e-4,
        spread=deviations(cells),
        errors=one_run_by_row(cells),
        stand_ins=ours if why else (),
        nothing=coin,
        why=dict.fromkeys(ours, why),
    )
    even = abs(ours["Constr."]["male > female"] - ours["Constr."]["female > male"])
    before = abs(ours["Uncons."]["male > female"] - ours["Uncons."]["female > male"])
    return PUBLISHED.reproduction(
        part,
        rows,
        conclusions=(Conclusion("Constraints even out the two cells across.", even < before / 2),),
        options={"runs": runs, "seed": request.seed},
    )


def figure_7(request: Request) -> Reproduction:
    """Show accuracies of predicted crime rates along the share of black people."""
    runs = max(2, request.runs or RUNS)
    tries = regressions(request.home(), "Crime", runs, request.seed)
    found: Found = {
        name: {
            "A>": [float(tested.matrix[0, 1]) for tested, _, _ in tries[name]],
            "A<": [float(tested.matrix[1, 0]) for tested, _, _ in tries[name]],
        }
        for name in ("Uncons.", "Constr.")
    }
    ours = averages(found)
    rows = PUBLISHED.beside(
        "figure 7",
        ours,
        tolerance=5e-4,
        spread=deviations(found),
        errors=one_run_by_row(found),
        nothing=coin,
    )
    return PUBLISHED.reproduction("figure 7", rows, options={"runs": runs, "seed": request.seed})


PARTS: Parts = {
    "table 1": table_1,
    "table 2": table_2,
    "table 3": table_3,
    "table 4": table_4,
    "table 5": table_5,
    "table 6": table_6,
    "figure 1": figure_1,
    "figure 2": figure_2,
    "figure 3": figure_3,
    "figure 5": figure_5,
    "figure 6": figure_6,
    "figure 7": figure_7,
    "separation": separation,
}

if __name__ == "__main__":
    from comparity.cli.reproduce import as_script

    as_script(__file__)
