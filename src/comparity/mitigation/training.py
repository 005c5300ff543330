"""Training a linear score under pairwise goals, from checked rows to chosen models."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from comparity.mitigation.game import Constraints, Minima, Nothing, Play, Referee, play
from comparity.mitigation.goals import Terms, differences, overall, terms_of
from comparity.mitigation.rows import Choices, Rows, Scale
from comparity.mitigation.shrinking import (
    Mixture,
    best_iterate,
    best_of_minima,
    mix,
    mix_minima,
)

__all__ = [
    "KEPT",
    "Candidates",
    "Choices",
    "Chosen",
    "Rows",
    "Scale",
    "asked",
    "candidates",
    "chosen",
    "first_guess",
    "minima",
    "trained",
]

Floats = NDArray[np.float64]

MORE_GAMES = 2
"""So often the game is played again where the goal is missed on the rows chosen by."""
KEPT = 1e-6
"""A constraint missed by less is kept; the linear program is no more exact."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Models to choose from.

    Attributes
    ----------
    parameters : ndarray, (S, p)
        Coefficients of standardised features.
    multipliers : ndarray
        The referee's mean weights in the last game.
    terms : tuple of Terms
        What the goals compare, on the training rows.
    """

    parameters: Floats
    multipliers: Floats
    terms: tuple[Terms, ...]


def candidates(
    rows: Rows,
    groups: Sequence[str],
    choices: Choices,
    *,
    progress: bool,
    shift: Floats | float = 0.0,
) -> Candidates:
    """Play one game for each step size and keep what the model went through.

    Parameters
    ----------
    rows : Rows
        Rows to train on.
    groups : sequence of str
        Groups to compare.
    choices : Choices
    progress : bool
        Whether to show a bar.
    shift : ndarray, optional
        How much larger each difference is taken to be than it is on these rows.
    """
    terms = asked(rows, groups, choices, name="training")
    plays: list[Play] = []
    start = first_guess(rows, choices)
    # A step changes scores by its size, however many features there are.
    reach = np.sqrt(len(start))
    with _bar(len(choices.step_sizes) * choices.steps, shown=progress) as ticks:
        for step_size in choices.step_sizes:
            game = play(
                lambda parameters, weights: rows.gradient(parameters, weights, choices),
                start,
                _referee(rows, terms, choices, shift),
                steps=choices.steps,
                step_size=step_size / reach,
                referee_rate=choices.referee_rate,
                snapshots=choices.snapshots,
                ticks=ticks,
            )
            plays.append(game)
    return Candidates(
        parameters=np.vstack([game.parameters for game in plays]),
        multipliers=plays[-1].multipliers,
        terms=terms,
    )


def first_guess(rows: Rows, choices: Choices) -> Floats:
    """Return least squares: of the label, or for a ranking of its direction."""
    n, p = rows.features.shape
    label = rows.target
    if label is None:
        label = _spread(rows)
    share = rows.weight / rows.weight.sum()
    unit, centre = rows.scale.unit, rows.scale.centre
    products = (rows.features * share[:, None]).T @ rows.features - np.outer(centre, centre)
    products /= np.outer(unit, unit)
    moments = (rows.features.T @ (share * label) - centre * (share @ label)) / unit
    ridge = (choices.l2 + 1e-8 + (1e-3 if p >= n else 0.0)) * np.eye(p)
    guess: Floats = np.linalg.solve(products + ridge, moments)
    if rows.target is not None:
        return guess
    width = float(np.sqrt(share @ rows.scores(guess) ** 2))
    # Without any direction to start from, all features point upwards.
    return guess / width if width > 1e-12 else np.full(p, 1.0 / np.sqrt(p))


def _spread(rows: Rows) -> Floats:
    """Return how many pairs each row should win rather than lose: the gradient at equal scores."""
    share = overall(rows.pairs, len(rows.pairs.cells))
    slope = rows.pairs.sums(np.zeros(len(rows.weight)), wrong=share).gradient
    return -slope * len(slope) / rows.weight


def asked(rows: Rows, groups: Sequence[str], choices: Choices, *, name: str) -> tuple[Terms, ...]:
    """Return what the goals compare on given rows, which errors call `name`."""
    return tuple(
        terms_of(goal, rows.pairs, rows.parity, groups, rows=name) for goal in choices.goals
    )


def _referee(
    rows: Rows, terms: Sequence[Terms], choices: Choices, shift: Floats | float
) -> Referee:
    if not terms:
        return Nothing(rows.n_cells)
    if choices.robust:
        return Minima(minima(rows, terms, choices))
    return Constraints(differences(terms)[0], choices.slack - shift)


def minima(rows: Rows, terms: Sequence[Terms], choices: Choices) -> list[Floats]:
    """Return the terms of each minimum, as coefficients of accuracies."""
    whole = [overall(rows.pairs, rows.n_cells)] if choices.with_overall else []
    return [np.vstack([block.coefficients, *whole]) for block in terms]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """What was chosen among candidates.

    Attributes
    ----------
    best : int
        The best single candidate.
    mixture : Mixture
        The best mixture.
    accuracy : ndarray, (S, C)
        Accuracies of all cells on the rows chosen by, by candidate.
    objective : ndarray, (S,)
        What was minimised, by candidate.
    terms : tuple of Terms
        What the goals compare, on the rows chosen by.
    """

    best: int
    mixture: Mixture
    accuracy: Floats
    objective: Floats
    terms: tuple[Terms, ...]


def chosen(
    found: Candidates, rows: Rows, groups: Sequence[str], choices: Choices, *, name: str
) -> Chosen:
    """Choose the best candidate and the best mixture on given rows.

    Parameters
    ----------
    found : Candidates
    rows : Rows
        Rows to choose by.
    groups : sequence of str
    choices : Choices
    name : str
        What errors call the rows.
    """
    terms = asked(rows, groups, choices, name=name)
    scores = [rows.scores(one) for one in found.parameters]
    accuracy = np.array([rows.accuracy(one) for one in scores])
    objective = np.array([rows.objective(*one) for one in zip(scores, accuracy, strict=True)])
    known = np.nan_to_num(accuracy)
    if choices.robust and terms:
        blocks = [known @ block.T for block in minima(rows, terms, choices)]
        best, mixture = best_of_minima(blocks), mix_minima(blocks)
    else:
        excess = np.zeros((len(known), 0))
        if terms:
            excess = known @ differences(terms)[0].T - choices.slack
        best, mixture = best_iterate(objective, excess), mix(objective, excess)
    return Chosen(best=best, mixture=mixture, accuracy=accuracy, objective=objective, terms=terms)


def trained(
    rows: Rows, by: Rows, groups: Sequence[str], choices: Choices, *, name: str, progress: bool
) -> tuple[Candidates, Chosen]:
    """Play, choose, and play again where what keeps the goal in training misses it elsewhere.

    A difference on the rows chosen by may be off by chance from that on the rows trained on. If no
    mixture keeps the slack there, the next game is told by how much.

    Parameters
    ----------
    rows, by : Rows
        Rows to train on and rows to choose by, which may be the same.
    groups, choices, progress
        As in :func:`candidates`.
    name : str
        What errors call the rows chosen by.
    """
    found = candidates(rows, groups, choices, progress=progress)
    picked = chosen(found, by, groups, choices, name=name)
    for _ in range(0 if by is rows else MORE_GAMES):
        if picked.mixture.excess <= KEPT:
            break
        here = rows.accuracy(rows.scores(found.parameters[picked.best]))
        there = differences(picked.terms)[0] @ np.nan_to_num(picked.accuracy[picked.best])
        shift = there - differences(found.terms)[0] @ np.nan_to_num(here)
        more = candidates(rows, groups, choices, progress=progress, shift=shift)
        found = replace(more, parameters=np.vstack([found.parameters, more.parameters]))
        picked = chosen(found, by, groups, choices, name=name)
    return found, picked


@contextmanager
def _bar(total: int, *, shown: bool) -> Iterator[Iterator[int] | None]:
    """Show a bar on a terminal, and nothing elsewhere."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import track

    ticks = iter(track(range(total), "training", console=Console(stderr=True), transient=True))
    try:
        yield ticks
    finally:
        # Leaves the bar, also where the game ended early.
        ticks.close()  # type: ignore[attr-defined]
