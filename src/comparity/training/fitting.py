"""From features and labelled items to a trained score and an account of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.errors import (
    ConstantFeaturesError,
    EmptyCellError,
    InfeasibleGoalWarning,
    TooFewRowsError,
)
from comparity.tables.features import LabelledItems
from comparity.training.candidates import Candidates, Kind, PreparedRows, goal_terms, pool
from comparity.training.game import first_guess
from comparity.training.goals import PARITY, Choices, differences, largest_difference, overall
from comparity.training.mixtures import Chosen, Mixture, frontier, minima
from comparity.training.models import LinearModel, Model, StochasticScorer
from comparity.training.result import Outcome, Training
from comparity.training.rows import Rows, Scale, hold_out, training_rows
from comparity.training.solve import KEPT, train

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
        **{name: _outcome(facts, picked, by) for name, facts in outcomes.items()},
        probabilities=tuple(picked.mixture.probabilities.tolist()),
        cell_weights=beta,
        multipliers=multipliers,
        rows={"trained on": rows.n_judged, "chosen by": by.n_judged},
        scorer=found.kind.name,
        training_share=picked.training_share,
        judged=rows.judged is not None,
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
        judged = pool(known, rows.accuracy(rows.scores(guess)), picked.training_share)
    return np.nan_to_num(known), np.nan_to_num(judged), by.objective(scores, known)


def _outcome(facts: tuple[Floats, Floats, float], picked: Chosen, by: Rows) -> Outcome:
    accuracy, judged, objective = facts
    rates = {
        name: float(rate)
        for block in picked.terms
        for name, rate in zip(block.names, block.coefficients @ judged, strict=True)
    }
    share = overall(by.pairs, by.n_cells)
    return Outcome(
        accuracy=float(share @ accuracy) if share.any() else math.nan,
        squared_error=None if by.target is None else float(objective * by.scale.label_unit**2),
        terms=rates,
        largest_difference=largest_difference(picked.terms, judged),
    )


def _weights(
    found: Candidates, rows: Rows, choices: Choices
) -> tuple[dict[str, float], dict[str, float]]:
    """Return what each cell's accuracy weighed, and the multipliers by name."""
    many = found.multipliers
    # A squared error is no accuracy, nor is the loss of judgments: goals alone weigh accuracies.
    whole = overall(rows.pairs, rows.n_cells) * rows.counts_orders
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


def _worst_difference(picked: Chosen) -> str:
    """Name the largest difference of the mixture."""
    judged = np.nan_to_num(picked.judged)[picked.mixture.members]
    mean = picked.mixture.probabilities @ judged
    block = max(picked.terms, key=lambda one: float(np.ptp(one.coefficients @ mean)))
    rates = block.coefficients @ mean
    return f"{block.names[int(rates.argmax())]} minus {block.names[int(rates.argmin())]}"


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
    frontier : tuple of (float, StochasticScorer)
        The best mixture at other slacks, where these were asked for.
    """

    model: Model
    mixture: StochasticScorer
    training: Training
    missed: InfeasibleGoalWarning | None
    frontier: tuple[tuple[float, StochasticScorer], ...] = ()


def prepare_rows(
    X: Floats,
    items: LabelledItems,
    choices: Choices,
    *,
    predicted: bool,
    fraction: float,
    rng: Any,
    layout: Layout = training_rows,
    split: tuple[Codes, Codes] | None = None,
    shape: tuple[int, ...] | None = None,
) -> PreparedRows:
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
    split : tuple of ndarray of int, optional
        Rows to train on and rows to choose by, where those are not drawn here.
    shape : tuple of int, optional
        Of the features of a row, where these are arrays.

    Raises
    ------
    TooFewRowsError, ConstantFeaturesError, EmptyCellError
        No rows to hold out; nothing to order by, to order or to compare.
    """
    train, held = _split(items, fraction, rng) if split is None else split
    if not len(train) or not len(held):
        raise TooFewRowsError(len(items), None, fraction)
    scale = replace(_scale(X, items, train, predicted=predicted), shape=shape)
    rows = layout(X, items, train, scale, choices)
    by = rows if held is train else layout(X, items, held, scale, choices)
    ready = PreparedRows(items, train, held, rows, by, int(rng.randint(2**31 - 1)))
    for part, name in ((by, ready.name), (rows, "training")):
        goal_terms(part, items.groups, choices, name=name)
        if not predicted and not part.pairs.trials.any():
            raise EmptyCellError("ranking", ["items with different labels"], name)
    return ready


def fit_score(
    kind: Kind,
    ready: PreparedRows,
    choices: Choices,
    *,
    progress: bool = True,
    tell_of: Callable[..., Training] = account,
    slacks: int = 0,
) -> TrainingFit:
    """Train, and choose among what training went through.

    Parameters
    ----------
    kind : Kind
        What is trained.
    ready : PreparedRows
        Rows, prepared for the same choices.
    choices : Choices
        How to train.
    progress : bool
        Show a bar on a terminal.
    tell_of : callable
        How the report describes training, where that differs.
    slacks : int
        At so many slacks, from 0 to the difference of least squares, the best mixture is looked
        for, too.
    """
    rows = ready.rows
    found, picked = train(kind, ready, choices, progress=progress)
    training = tell_of(found, picked, rows, ready.by, choices)
    missed = None
    if not training.feasible:
        least, worst = training.mixture.largest_difference, _worst_difference(picked)
        missed = InfeasibleGoalWarning(choices.slack, least, worst, training.judged_rows)

    def scorer(mixture: Mixture) -> StochasticScorer:
        members = [kind.model_of(found.models[one], rows.scale) for one in mixture.members]
        return StochasticScorer(members, mixture.probabilities)

    limited = training.limited and slacks
    others = np.linspace(0, training.start.largest_difference, slacks).tolist() if limited else []
    mixtures = frontier(picked, choices, others)
    return TrainingFit(
        model=kind.model_of(found.models[picked.best], rows.scale),
        mixture=scorer(picked.mixture),
        training=training,
        missed=missed,
        frontier=tuple(zip(others, map(scorer, mixtures), strict=True)),
    )


def keep_fit(estimator: Any, fit: TrainingFit, choices: Choices) -> InfeasibleGoalWarning | None:
    """Give an estimator what was fitted, and return what to warn of."""
    estimator.model_, mixture, estimator.training_, missed, _ = fit
    estimator.adjustment_ = None
    names = getattr(estimator, "feature_names_in_", None)
    estimator.stochastic_ = StochasticScorer(mixture.members, mixture.probabilities, names)
    if isinstance(fit.model, LinearModel):
        estimator.coef_, estimator.intercept_ = fit.model.coefficients, fit.model.intercept
    estimator.n_iter_ = choices.steps * len(choices.step_sizes)
    return missed


def _split(items: LabelledItems, fraction: float, rng: Any) -> tuple[Codes, Codes]:
    """Return rows to train on and rows to choose by; the same where none are held out."""
    rows = np.arange(len(items))
    if not fraction:
        return rows, rows
    held = hold_out(items, fraction, rng)
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
