"""Training a score under pairwise goals, from checked rows to chosen models."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.training.game import Constraints, Minima, Nothing, Pace, Play, Referee
from comparity.training.goals import COMPARED, Choices, Terms, differences, overall, terms_of
from comparity.training.mixtures import (
    Mixture,
    Model,
    best_iterate,
    best_of_minima,
    mix,
    mix_minima,
)
from comparity.training.rows import Rows, Scale

__all__ = [
    "KEPT",
    "Candidates",
    "Choices",
    "Chosen",
    "Kind",
    "Rows",
    "Scale",
    "asked",
    "candidates",
    "choice",
    "chosen",
    "minima",
    "single",
    "trained",
]

Floats = NDArray[np.float64]

MORE_GAMES = 2
"""So often the game is played again where the goal is missed on the rows chosen by."""
KEPT = 1e-6
"""A constraint missed by less is kept; the linear program is no more exact."""


class Kind(Protocol):
    """A kind of score: linear, a network, trees. What its models are is its own affair.

    Attributes
    ----------
    name : str
        What it is called.
    from_nothing : bool
        Whether its first models know nothing; a linear score starts from least squares.
    """

    name: str
    from_nothing: bool

    def check(self) -> None:
        """Raise where it cannot be used, before anything long is done."""

    def played(self, rows: Rows, referee: Referee, choices: Choices, pace: Pace) -> Play:
        """Play one game on rows and return the models it went through.

        The referee says what is asked, and is changed by the game.
        """

    def scores(self, models: Sequence[Any], rows: Rows) -> Iterator[Floats]:
        """Yield the scores of rows by each model."""

    def kept(self, model: Any, scale: Scale) -> Model:
        """Return a model that takes features as they were given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Models to choose from.

    Attributes
    ----------
    kind : Kind
        Of what kind they are.
    models : tuple
        The models.
    multipliers : ndarray
        The referee's mean weights in the last game.
    terms : tuple of Terms
        What the goals compare, on the training rows.
    """

    kind: Kind
    models: tuple[Any, ...]
    multipliers: Floats
    terms: tuple[Terms, ...]

    def scores(self, rows: Rows) -> Iterator[Floats]:
        """Yield the scores of rows by each model."""
        return self.kind.scores(self.models, rows)


def candidates(
    kind: Kind,
    rows: Rows,
    groups: Sequence[str],
    choices: Choices,
    *,
    seed: int,
    progress: bool,
    shift: Floats | float = 0.0,
) -> Candidates:
    """Play one game for each step size and keep what the model went through.

    Parameters
    ----------
    kind : Kind
        What is trained.
    rows : Rows
        Rows to train on.
    groups : sequence of str
        Groups to compare.
    choices : Choices
    seed : int
        Of whatever models start from.
    progress : bool
        Whether to show a bar.
    shift : ndarray, optional
        How much larger each difference is taken to be than it is on these rows.
    """
    terms = asked(rows, groups, choices, name="training")
    plays: list[Play] = []
    with _bar(len(choices.step_sizes) * choices.steps, shown=progress) as ticks:
        for number, step_size in enumerate(choices.step_sizes):
            referee = _referee(rows, terms, choices, shift)
            pace = Pace(step_size, seed + number, ticks)
            plays.append(kind.played(rows, referee, choices, pace))
    return Candidates(
        kind=kind,
        models=tuple(model for game in plays for model in game.models),
        multipliers=plays[-1].multipliers,
        terms=terms,
    )


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
    judged : ndarray, (S, C)
        The accuracies that goals were judged by: the same, or weighted with those on the rows
        trained on.
    training_share : float
        How much these weigh.
    """

    best: int
    mixture: Mixture
    accuracy: Floats
    objective: Floats
    terms: tuple[Terms, ...]
    judged: Floats
    training_share: float = 0.0


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
    rates, objectives = [], []
    for scores in found.scores(rows):
        rates.append(rows.accuracy(scores))
        objectives.append(rows.objective(scores, rates[-1]))
    return choice(np.array(rates), np.array(objectives), terms, rows, choices)


def choice(
    accuracy: Floats,
    objective: Floats,
    terms: tuple[Terms, ...],
    rows: Rows,
    choices: Choices,
    *,
    judged: Floats | None = None,
    training_share: float = 0.0,
) -> Chosen:
    """Choose by accuracies and objectives of all candidates; see :class:`Chosen`."""
    judged = accuracy if judged is None else judged
    known = np.nan_to_num(judged)
    if choices.robust and terms:
        blocks = [known @ block.T for block in minima(rows, terms, choices)]
        best, mixture = best_of_minima(blocks), mix_minima(blocks, objective)
    else:
        best = single(judged, objective, terms, rows, choices)
        excess, spans = _limits(judged, terms, choices)
        mixture = mix(objective, excess, spans=spans, slack=choices.slack)
    return Chosen(
        best=best,
        mixture=mixture,
        accuracy=accuracy,
        objective=objective,
        terms=terms,
        judged=judged,
        training_share=training_share,
    )


def single(
    judged: Floats, objective: Floats, terms: Sequence[Terms], rows: Rows, choices: Choices
) -> int:
    """Return the best single candidate of the constrained form."""
    # Half of all pairs right, and the variance of labels as squared error: what knows nothing has.
    useless = 0.5 if rows.target is None else 1.0
    excess, spans = _limits(judged, terms, choices)
    widths = [np.ptp(rates, axis=1) - choices.slack for rates in spans]
    return best_iterate(objective, np.column_stack([excess, *widths]), useless=useless)


def _limits(
    judged: Floats, terms: Sequence[Terms], choices: Choices
) -> tuple[Floats, list[Floats]]:
    """Return how far each difference of few terms is above the slack, and the rates of many."""
    known = np.nan_to_num(judged)
    few = [block for block in terms if len(block.names) <= COMPARED]
    spans = [known @ block.coefficients.T for block in terms if len(block.names) > COMPARED]
    if not few:
        return np.zeros((len(judged), 0)), spans
    return known @ differences(few)[0].T - choices.slack, spans


def trained(
    kind: Kind,
    rows: Rows,
    by: Rows,
    groups: Sequence[str],
    choices: Choices,
    *,
    name: str,
    seed: int,
    progress: bool,
) -> tuple[Candidates, Chosen]:
    """Play, choose, and play again where what keeps the goal in training misses it elsewhere.

    A difference on the rows chosen by may be off from that on the rows trained on, by chance or
    because these were learned by heart. If no mixture keeps the slack there (of models that start
    from nothing: if the one that training alone would choose does not), the next game is told by
    how much.

    Parameters
    ----------
    kind : Kind
        What is trained.
    rows, by : Rows
        Rows to train on and rows to choose by, which may be the same.
    groups, choices, seed, progress
        As in :func:`candidates`.
    name : str
        What errors call the rows chosen by.
    """
    how: dict[str, Any] = {"seed": seed, "progress": progress}
    found = last = candidates(kind, rows, groups, choices, **how)
    picked = chosen(found, by, groups, choices, name=name)
    for _ in range(0 if by is rows or choices.robust or not found.terms else MORE_GAMES):
        kept, best = picked.mixture.excess <= KEPT, found.models[picked.best]
        if kind.from_nothing:
            # A first model that orders nothing keeps any goal; what training alone would choose
            # says whether its rows have been learned by heart.
            best = last.models[chosen(last, rows, groups, choices, name=name).best]
        there, here = (_compared(kind, best, *at) for at in ((by, picked), (rows, found)))
        kept = float((there - choices.slack).max()) <= KEPT if kind.from_nothing else kept
        if kept:
            break
        last = candidates(kind, rows, groups, choices, shift=there - here, **how)
        found = replace(last, models=(*found.models, *last.models))
        picked = chosen(found, by, groups, choices, name=name)
    return found, picked


def _compared(kind: Kind, model: Any, rows: Rows, of: Candidates | Chosen) -> Floats:
    """Return the differences that the slack limits, of one model on some rows."""
    (scores,) = kind.scores([model], rows)
    found: Floats = differences(of.terms)[0] @ np.nan_to_num(rows.accuracy(scores))
    return found


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
