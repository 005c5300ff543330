"""What training came to, for people to read."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from comparity.training.goals import PARITY, Choices, differences, largest_difference, overall
from comparity.training.linear import first_guess
from comparity.training.result import Outcome, Training
from comparity.training.rows import Rows
from comparity.training.solve import KEPT, Candidates, Chosen, minima

__all__ = ["account", "worst_difference"]

Floats = NDArray[np.float64]


def account(found: Candidates, picked: Chosen, rows: Rows, by: Rows, choices: Choices) -> Training:
    """Return what was asked and what came out.

    Parameters
    ----------
    found : Candidates
    picked : Chosen
    rows, by : Rows
        Rows trained on and rows chosen by.
    choices : Choices
    """
    unit = by.scale.label_unit**2 if by.target is not None else None
    known, kept = np.nan_to_num(picked.accuracy), np.nan_to_num(picked.judged)
    best, members, often = picked.best, picked.mixture.members, picked.mixture.probabilities
    outcomes: dict[str, tuple[Floats, Floats, float]] = {
        "best": (known[best], kept[best], picked.objective[best]),
        "mixture": (
            often @ known[members],
            often @ kept[members],
            float(often @ picked.objective[members]),
        ),
        "start": _least_squares(picked, rows, by, choices),
    }
    beta, multipliers = _weights(found, rows, choices)
    return Training(
        goals=choices.goals,
        form="robust" if choices.robust else "constrained",
        slack=choices.slack,
        feasible=choices.robust or picked.mixture.excess <= KEPT,
        **{name: _outcome(*facts, picked, by, unit) for name, facts in outcomes.items()},
        probabilities=tuple(picked.mixture.probabilities.tolist()),
        cell_weights=beta,
        multipliers=multipliers,
        rows={"trained on": len(rows.weight), "chosen by": len(by.weight)},
        scorer=found.kind.name,
        training_share=picked.training_share,
    )


def _least_squares(
    picked: Chosen, rows: Rows, by: Rows, choices: Choices
) -> tuple[Floats, Floats, float]:
    """Return accuracies, those that goals are judged by, and objective of a linear first guess."""
    guess = first_guess(rows, choices)
    scores = by.scores(guess)
    known = by.accuracy(scores)
    judged = known
    if picked.training_share:
        here = rows.accuracy(rows.scores(guess))
        judged = known + picked.training_share * np.nan_to_num(here - known)
    return np.nan_to_num(known), np.nan_to_num(judged), by.objective(scores, known)


def _outcome(
    accuracy: Floats,
    judged: Floats,
    objective: float,
    picked: Chosen,
    by: Rows,
    unit: float | None,
) -> Outcome:
    rates = {
        name: float(rate)
        for block in picked.terms
        for name, rate in zip(block.names, block.coefficients @ judged, strict=True)
    }
    share = overall(by.pairs, by.n_cells)
    return Outcome(
        accuracy=float(share @ accuracy) if share.any() else math.nan,
        squared_error=None if unit is None else float(objective * unit),
        terms=rates,
        largest_difference=largest_difference(picked.terms, judged),
    )


def _weights(
    found: Candidates, rows: Rows, choices: Choices
) -> tuple[dict[str, float], dict[str, float]]:
    """Return what each cell's accuracy weighed, and the multipliers by name."""
    many = found.multipliers
    # A squared error is no accuracy: where labels are predicted, goals alone weigh accuracies.
    whole = overall(rows.pairs, rows.n_cells) * (rows.target is None)
    names = [str(cell) for cell in rows.pairs.cells]
    if rows.parity is not None:
        names += [f"{cell} ({PARITY})" for cell in rows.parity.cells]
    if not found.terms:
        beta, labels = whole, ["objective"]
    elif choices.robust:
        blocks = minima(rows, found.terms, choices)
        beta, labels = many @ np.vstack(blocks) / len(blocks), []
        for block in found.terms:
            for name in (*block.names, *(["overall"] if choices.with_overall else [])):
                # Goals may overlap, as all cells do with cross-group.
                labels.append(f"{name} ({block.goal})" if name in labels else name)
    else:
        rises, compared = differences(found.terms)
        beta = whole - many[1:] @ rises / max(float(many[0]), 1e-12)
        labels = ["objective", *compared]
    return (
        dict(zip(names, beta.tolist(), strict=True)),
        dict(zip(labels, many.tolist(), strict=True)),
    )


def worst_difference(picked: Chosen) -> str:
    """Name the largest difference of the mixture."""
    judged = np.nan_to_num(picked.judged)[picked.mixture.members]
    mean = picked.mixture.probabilities @ judged
    block = max(picked.terms, key=lambda one: float(np.ptp(one.coefficients @ mean)))
    rates = block.coefficients @ mean
    return f"{block.names[int(rates.argmax())]} less {block.names[int(rates.argmin())]}"
