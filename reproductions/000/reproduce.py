"""Reproduce tables and figures of "Comparative Separation" by Xi, Capak, Stockwell and Yu.

Run as ``comparity reproduce 000 --table 3``, or as ``python reproductions/000/reproduce.py
--table 3``. What differs from the paper, and why, is said in the README beside this file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from decisions import table_4, table_5
from scipy.stats import norm
from story_points import table_6, table_7, table_8

from comparity import plan_comparative, plan_separation
from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import Parts, read_published
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.inference.agreement_tests import compare_fresh, contrasts_of_groups
from comparity.planning.plan import simulate_power
from comparity.planning.scenarios import ComparativeScenario, SeparationScenario
from comparity.tables.outputs import replace_file

PUBLISHED = read_published(Path(__file__).parent)

# Table 1 as {classifier: {group: (true positive rate, true negative rate)}}.
CLASSIFIERS = {
    "f0": {"1": (220 / 275, 135 / 225), "0": (180 / 225, 165 / 275)},
    "f1": {"1": (220 / 275, 144 / 225), "0": (180 / 225, 154 / 275)},
    "f2": {"1": (231 / 275, 144 / 225), "0": (171 / 225, 154 / 275)},
    "f3": {"1": (230 / 275, 120 / 225), "0": (200 / 225, 175 / 275)},
}
SHARES = {"shares": (0.5, 0.5), "base_rates": (0.55, 0.45)}
REPETITIONS = 10_000
SIZES = (1000, 2000)


def figure_1(request: Request) -> Reproduction:
    """Draw the law of an estimated gap and the part of it where a null hypothesis is accepted."""
    rows = {}
    for name, gap in (("no gap", 0.0), ("a gap of 2 standard errors", 2.0)):
        rows[name] = {"accepted": float(norm.cdf(1.96 - gap) - norm.cdf(-1.96 - gap))}
    path = request.picture("000_figure_1.png")
    if path is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 3), layout="constrained")
        axes = figure.subplots()
        where = np.linspace(-4, 6, 400)
        axes.plot(where, norm.pdf(where - 1.0), color="#0072B2")
        middle = where[np.abs(where) <= 1.96]
        axes.fill_between(middle, norm.pdf(middle - 1.0), color="#0072B2", alpha=0.3)
        axes.set_xticks([-1.96, 0, 1, 1.96], [r"$-1.96\sigma$", "0", r"$\mu$", r"$1.96\sigma$"])
        axes.set_xlabel("estimated gap; the null hypothesis is accepted in the shaded part")
        axes.set_yticks([])
        with replace_file(path) as part:
            figure.savefig(part, dpi=150)
    return PUBLISHED.reproduction(
        "figure 1",
        PUBLISHED.beside("figure 1", rows, tolerance=5e-5),
        figures=() if path is None else (str(path),),
    )


def table_2(request: Request) -> Reproduction:
    """Compute the gaps of the four classifiers."""
    rows: dict[str, dict[str, float]] = {}
    for name, rates in CLASSIFIERS.items():
        for gap, value in _gaps(rates).items():
            rows.setdefault(gap, {})[name] = value
    alike = all(
        (rows["TPR(1) - TPR(0)"][name] == 0 and rows["FPR(1) - FPR(0)"][name] == 0)
        == (abs(rows["TPR(1,0) - TPR(0,1)"][name]) + abs(rows["TPR(1,1) - TPR(0,0)"][name]) == 0)
        for name in CLASSIFIERS
    )
    return PUBLISHED.reproduction(
        "table 2",
        PUBLISHED.beside("table 2", rows, tolerance=5e-4),
        conclusions=(Conclusion("Both notions hold for f0 and for no other.", alike),),
    )


def _gaps(rates: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Return the two gaps of each notion; those of pairs by equation (9)."""
    many = 10**9
    cells = {
        Cell(a, b): Tally(round(rates[a][0] * rates[b][1] * many), many) for a in "10" for b in "10"
    }
    across, within = compare_fresh(PairCounts(cells), contrasts_of_groups("10"))
    gaps = {
        "TPR(1) - TPR(0)": rates["1"][0] - rates["0"][0],
        "FPR(1) - FPR(0)": rates["0"][1] - rates["1"][1],
        "TPR(1,0) - TPR(0,1)": across.gap,
        "TPR(1,1) - TPR(0,0)": within.gap,
    }
    # Rates that are equal in print are equal: 220 / 275 and 180 / 225 differ in the last bit.
    return {name: round(gap, 9) + 0.0 for name, gap in gaps.items()}


def section_4_1_2(request: Request) -> Reproduction:
    """Draw estimated rates of f0, and compare mean and variance with what is expected."""
    runs, rng = request.runs or REPETITIONS, np.random.default_rng(request.seed)
    rows, spread = {}, {}
    for name, share, rate, sizes in (
        ("TPR(1), n", 0.275, 0.8, SIZES),
        ("TPR(1,0), n_p", 2 * 0.275 * 0.275, 0.48, [2 * n for n in SIZES]),
    ):
        for n in sizes:
            trials = rng.binomial(n, share, runs)
            found = rng.binomial(trials, rate) / trials
            variance = float(found.var(ddof=1))
            row = f"{name} = {n:,}"
            rows[row] = {
                "mean": float(found.mean()),
                "variance": variance,
                "expected variance": rate * (1 - rate) / (share * n),
            }
            # Both simulations vary, ours and the published one.
            spread[row] = {
                "mean": np.sqrt(variance * (1 / runs + 1 / REPETITIONS)),
                "variance": variance * np.sqrt(2 / runs + 2 / REPETITIONS),
            }
    return PUBLISHED.reproduction(
        "section 4.1.2",
        PUBLISHED.beside("section 4.1.2", rows, tolerance=5e-6, spread=spread),
        options={"runs": runs, "seed": request.seed},
    )


def table_3(request: Request) -> Reproduction:
    """Compute expected powers, and simulate them on fresh pairs."""
    runs, rng = request.runs or REPETITIONS, np.random.default_rng(request.seed)
    rows: dict[str, dict[str, float]] = {}
    spread: dict[str, dict[str, float]] = {}
    for name, rates in CLASSIFIERS.items():
        expected, simulated = _powers(rates, runs, rng)
        rows |= {f"{name}, expected": expected, f"{name}, simulated": simulated}
        spread[f"{name}, simulated"] = {
            column: float(np.sqrt(rate * (1 - rate) * (1 / runs + 1 / REPETITIONS)))
            for column, rate in simulated.items()
        }
    close = all(
        abs(rate - rows[f"{name}, expected"][column])
        < 4 * spread[f"{name}, simulated"][column] + 0.005
        for name in CLASSIFIERS
        for column, rate in rows[f"{name}, simulated"].items()
    )
    return PUBLISHED.reproduction(
        "table 3",
        PUBLISHED.beside("table 3", rows, tolerance=1e-4, spread=spread),
        conclusions=(Conclusion("Simulated and expected powers agree.", close),),
        notes=(
            "The three rows after f0 are printed under one name; they are f1, f2 and f3.",
            "Every pair has two fresh items. On pairs that share items these powers, and the "
            "false-alarm rate of f0, do not hold: see Table 5.",
        ),
        options={"runs": runs, "seed": request.seed},
    )


def _powers(
    rates: dict[str, tuple[float, float]], runs: int, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, float]]:
    tpr = rates["1"][0], rates["0"][0]
    tnr = rates["1"][1], rates["0"][1]
    fpr = 1 - tnr[0], 1 - tnr[1]
    points = SeparationScenario(tpr=tpr, fpr=fpr, **SHARES)
    pairs = ComparativeScenario(tpr=tpr, tnr=tnr, **SHARES)
    expected, simulated = {}, {}
    again = {"rule": "paper", "repetitions": runs, "rng": rng}
    for n in SIZES:
        column = f"separation, n = {n:,}"
        expected[column] = plan_separation(tpr=tpr, fpr=fpr, **SHARES, n=n, rule="paper").power
        simulated[column] = simulate_power(points, n, **again)
    for n in (2 * size for size in SIZES):
        column = f"comparative, n_p = {n:,}"
        plan = plan_comparative(tpr=tpr, tnr=tnr, **SHARES, n_pairs=n, rule="paper")
        expected[column] = plan.power
        simulated[column] = simulate_power(pairs, n, **again)
    return expected, simulated


PARTS: Parts = {
    "figure 1": figure_1,
    "table 2": table_2,
    "section 4.1.2": section_4_1_2,
    "table 3": table_3,
    "table 4": table_4,
    "table 5": table_5,
    "table 6": table_6,
    "table 7": table_7,
    "table 8": table_8,
}

if __name__ == "__main__":
    from comparity.cli.reproduce import as_script

    as_script(__file__)
