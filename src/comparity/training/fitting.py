"""From features and labelled items to a trained score and an account of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.errors.fits import (
    ConstantFeaturesError,
    EmptyCellError,
    InfeasibleGoalWarning,
    TooFewRowsError,
)
from comparity.tables.items import LabelledItems
from comparity.training import solve as games
from comparity.training.goals import PARITY, Choices, differences, largest_difference, overall
from comparity.training.mixtures import Model, StochasticScorer
from comparity.training.pooling import Part, between, pooled
from comparity.training.result import Outcome, Training
from comparity.training.rows import Rows, Scale, held_out, training_rows
from comparity.training.scorers import first_guess
from comparity.training.solve import KEPT, Candidates, Chosen, minima

__all__ = [
    "Prepared",
    "TrainingFit",
    "account",
    "fitted",
    "laid_out",
    "prepared",
    "worst_difference",
]

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


Codes = NDArray[np.int64]
Layout = Callable[[Floats, LabelledItems, Codes, Scale, Choices], Rows]
"""From features, items, which of them, a scale and choices to rows with their pairs."""


SMALLEST = 1e-100
"""Features that vary by less are constant: the square of it is a number still."""


class TrainingFit(NamedTuple):
    """A trained score.

    Attributes
    ----------
    model : Model
        The best single one; it takes features as they were given.
    mixture : StochasticScorer
        The best mixture.
    training : Training
        What was asked and what came out.
    missed : InfeasibleGoalWarning or None
        What to tell where no mixture keeps the goal.
    """

    model: Model
    mixture: StochasticScorer
    training: Training
    missed: InfeasibleGoalWarning | None


def laid_out(X: Floats, items: LabelledItems, kept: Codes, scale: Scale, choices: Choices) -> Rows:
    """Lay out the pairs of some rows."""
    return training_rows(X, items, kept, scale, choices.goals)


class Prepared(NamedTuple):
    """Rows to train on and rows to choose by, in which everything asked for occurs.

    Attributes
    ----------
    items : LabelledItems
        Of both.
    train, held : ndarray of int
        Which items are trained on and chosen by; the same array where none are held out.
    rows, by : Rows
        The same with their pairs.
    seed : int
        Of whatever models start from.
    """

    items: LabelledItems
    train: Codes
    held: Codes
    rows: Rows
    by: Rows
    seed: int

    @property
    def name(self) -> str:
        """What errors call the rows chosen by."""
        return "training" if self.held is self.train else "held out"


def prepared(
    X: Floats,
    items: LabelledItems,
    choices: Choices,
    *,
    predicted: bool,
    fraction: float,
    rng: Any,
    layout: Layout = laid_out,
) -> Prepared:
    """Hold rows out and lay out pairs; refuse what cannot be trained before anything long is done.

    Parameters
    ----------
    X : ndarray, (n, p)
        Features, finite.
    items : LabelledItems
        Labels, groups, queries and positive weights of the same rows.
    choices : Choices
        How to train.
    predicted : bool
        Whether labels are to be predicted and not only ordered.
    fraction : float
        Share of rows, or of queries, held out to choose by; 0 to choose on the training rows.
    rng : RandomState
        What draws them, and the seed of whatever models start from.
    layout : callable
        How pairs are laid out, where that differs.

    Raises
    ------
    TooFewRowsError, ConstantFeaturesError, EmptyCellError
        No rows to hold out; nothing to order by, to order or to compare.
    """
    train, held = _split(items, fraction, rng)
    scale = _scale(X, items, train, predicted=predicted)
    rows = layout(X, items, train, scale, choices)
    by = rows if held is train else layout(X, items, held, scale, choices)
    ready = Prepared(items, train, held, rows, by, int(rng.randint(2**31 - 1)))
    for part, name in ((by, ready.name), (rows, "training")):
        games.asked(part, items.groups, choices, name=name)
        if not predicted and not part.pairs.trials.any():
            raise EmptyCellError("ranking", ["items with different labels"], name)
    return ready


def fitted(
    kind: games.Kind,
    ready: Prepared,
    choices: Choices,
    *,
    progress: bool = True,
    accounted: Callable[..., Training] = account,
) -> TrainingFit:
    """Train, and choose among what training went through.

    Parameters
    ----------
    kind : Kind
        What is trained.
    ready : Prepared
        Rows, prepared for the same choices.
    choices : Choices
        How to train.
    progress : bool
        Show a bar on a terminal.
    accounted : callable
        How training is told of, where that differs.
    """
    items, train, held, rows, by, seed = ready
    found, picked = games.trained(
        kind, rows, by, items.groups, choices, name=ready.name, seed=seed, progress=progress
    )
    picked = pooled(found, picked, Part(rows, items, train), Part(by, items, held), choices)
    found, picked = between(found, picked, rows, by, choices)
    training = accounted(found, picked, rows, by, choices)
    missed = None
    if not training.feasible:
        least, worst = training.mixture.largest_difference, worst_difference(picked)
        missed = InfeasibleGoalWarning(choices.slack, least, worst, training.judged_rows)
    members = [kind.kept(found.models[one], rows.scale) for one in picked.mixture.members]
    return TrainingFit(
        model=kind.kept(found.models[picked.best], rows.scale),
        mixture=StochasticScorer(members, picked.mixture.probabilities),
        training=training,
        missed=missed,
    )


def _split(items: LabelledItems, fraction: float, rng: Any) -> tuple[Codes, Codes]:
    """Return rows to train on and rows to choose by; the same where none are held out."""
    rows = np.arange(len(items))
    if not fraction:
        return rows, rows
    held = held_out(items, fraction, rng)
    if held.all() or not held.any():
        queries = None if items.query is None else len(np.unique(items.query))
        raise TooFewRowsError(len(rows), queries, fraction)
    return np.flatnonzero(~held), np.flatnonzero(held)


def _scale(X: Floats, items: LabelledItems, train: Codes, *, predicted: bool) -> Scale:
    weight = np.ones(len(train)) if items.weight is None else items.weight[train]
    share = weight / weight.sum()
    centre = share @ X[train]
    spread = np.sqrt(np.maximum(share @ (X[train] - centre) ** 2, 0))
    constant = spread <= np.maximum(1e-12 * np.abs(centre), SMALLEST)
    scale = Scale(centre=centre, unit=np.where(constant, np.inf, spread))
    if not predicted:
        if constant.all():
            raise ConstantFeaturesError(X.shape[1], len(train))
        return scale
    label = items.label[train]
    middle = float(share @ label)
    away = label - middle
    # In shares of the largest, so that no square is lost however small labels are.
    largest = float(np.abs(away).max()) or 1.0
    width = largest * math.sqrt(float(share @ (away / largest) ** 2))
    return replace(scale, label_centre=middle, label_unit=width or 1.0, predicted=True)
