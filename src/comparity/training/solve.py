"""Playing, polishing, choosing, and looking between what was chosen.

A mixture keeps a goal on average by members that miss it on either side. Linear scores in between,
on the straight lines that join the coefficients of two members, often keep it by themselves, at
about the cost of the mixture; the game need not have come by there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.training.candidates import (
    Candidates,
    Kind,
    PreparedRows,
    goal_terms,
    pool,
    pool_rates,
)
from comparity.training.game import Constraints, Minima, Nothing, Pace, Play, Referee
from comparity.training.goals import Choices, Terms, differences
from comparity.training.mixtures import Chosen, choose, minima
from comparity.training.polish import asked_of, polish
from comparity.training.rows import Rows

Floats = NDArray[np.float64]

MORE_GAMES = 2
"""So often the game is played again where the goal is missed on the rows chosen by."""
KEPT = 1e-6
"""A constraint missed by less is kept; the linear program is no more exact."""
STEPS_BETWEEN = 20
"""So many models are tried between two members."""
JOINED_MEMBERS = 3
"""Lines join the members that are drawn most often."""
POLISHES = 3
"""So often the best single model is polished, told by how much differences are off elsewhere."""


def train(
    kind: Kind, ready: PreparedRows, choices: Choices, *, progress: bool
) -> tuple[Candidates, Chosen]:
    """Play games, choose among what their models went through, and among models in between.

    A difference on the rows chosen by may be off from that on the rows trained on, by chance or
    because the model memorised these. If no mixture keeps the slack there (of models that start
    from nothing: if the one that training alone would choose does not), the game is played again,
    and told by how much.

    Parameters
    ----------
    kind : Kind
        What is trained.
    ready : PreparedRows
        Rows to train on and rows to choose by.
    choices : Choices
    progress : bool
        Whether to show a bar.
    """
    rows, by = ready.rows, ready.by
    found = last = _play_games(kind, ready, choices, progress=progress)
    picked = _choose_on(by, found, ready, choices)
    if choices.uniform:
        return found, picked
    for _ in range(0 if by is rows or choices.robust or not found.terms else MORE_GAMES):
        kept, best = picked.mixture.excess <= KEPT, found.models[picked.best]
        if kind.from_nothing:
            # A first model that orders nothing keeps any goal; what training alone would choose
            # says whether its rows have been memorised.
            best = last.models[_choose_on(rows, last, ready, choices).best]
        there, here = (_compare(kind, best, *at) for at in ((by, picked), (rows, found)))
        kept = float((there - choices.slack).max()) <= KEPT if kind.from_nothing else kept
        if kept:
            break
        last = _play_games(kind, ready, choices, progress=progress, shift=there - here)
        found = replace(last, models=(*found.models, *last.models))
        picked = _choose_on(by, found, ready, choices)
    if choices.polish and found.terms:
        found, picked = _polish(found, picked, ready, choices)
    picked = pool_rates(found, picked, ready, choices)
    return _join_members(found, picked, ready, choices)


def _play_games(
    kind: Kind,
    ready: PreparedRows,
    choices: Choices,
    *,
    progress: bool,
    shift: Floats | float = 0.0,
) -> Candidates:
    """Play one game for each step size and keep what the model went through.

    Differences are taken to be larger by `shift` than they are on the rows trained on.
    """
    rows = ready.rows
    terms = goal_terms(rows, ready.items.groups, choices, name="training")
    plays: list[Play] = []
    with _bar(len(choices.step_sizes) * choices.steps, shown=progress) as ticks:
        for number, step_size in enumerate(choices.step_sizes):
            referee = _referee(rows, terms, choices, shift)
            pace = Pace(step_size, ready.seed + number, ticks)
            plays.append(kind.play(rows, referee, choices, pace))
    return Candidates(
        kind=kind,
        models=tuple(model for game in plays for model in game.models),
        multipliers=plays[-1].multipliers,
        terms=terms,
    )


def _polish(
    found: Candidates, picked: Chosen, ready: PreparedRows, choices: Choices
) -> tuple[Candidates, Chosen]:
    """Polish the best single model, and choose among what that goes through, too.

    Once more where rows held out choose: by as much as a difference is larger on the rows chosen
    by than on the rows trained on, what is asked of the latter is tightened, or loosened.
    """
    rows, kind, shift, pushed = ready.rows, found.kind, np.zeros(1), None
    start = found.models[picked.best]
    for _ in range(1 if rows is ready.by or choices.robust else POLISHES):
        asked = asked_of(rows, found.terms, choices, shift)
        new, pushed = polish(kind.parameters(start, rows, choices), rows, asked, pushed)
        if not new:
            break
        found, picked = _add(found, picked, new, ready, choices)
        picked = pool_rates(found, picked, ready, choices)
        start = new[-1]
        there, here = (_compare(kind, start, *at) for at in ((ready.by, picked), (rows, found)))
        shift = (1 - picked.training_share) * (there - here)
    return found, picked


def _add(
    found: Candidates, picked: Chosen, new: Sequence[Any], ready: PreparedRows, choices: Choices
) -> tuple[Candidates, Chosen]:
    """Add candidates, judged as the others are, and choose again."""
    by = ready.by
    scores = list(found.kind.scores(new, by))
    accuracy = np.array([by.accuracy(one) for one in scores])
    objective = [by.objective(*pair) for pair in zip(scores, accuracy, strict=True)]
    judged, trained = accuracy, picked.trained
    if trained is not None:
        here = np.array([ready.rows.accuracy(one) for one in found.kind.scores(new, ready.rows)])
        judged, trained = pool(accuracy, here, picked.training_share), np.vstack([trained, here])
    more = choose(
        np.vstack([picked.accuracy, accuracy]),
        np.append(picked.objective, objective),
        picked.terms,
        by,
        choices,
        judged=np.vstack([picked.judged, judged]),
        training_share=picked.training_share,
        trained=trained,
    )
    return replace(found, models=(*found.models, *new)), more


def _referee(
    rows: Rows, terms: Sequence[Terms], choices: Choices, shift: Floats | float
) -> Referee:
    if not terms:
        return Nothing(rows.n_cells)
    if choices.robust:
        return Minima(minima(rows, terms, choices))
    return Constraints(differences(terms)[0], choices.slack - shift)


def _choose_on(rows: Rows, found: Candidates, ready: PreparedRows, choices: Choices) -> Chosen:
    """Choose the best candidate and the best mixture on given rows."""
    terms = goal_terms(rows, ready.items.groups, choices, name=ready.name)
    rates, objectives = [], []
    for scores in found.kind.scores(found.models, rows):
        rates.append(rows.accuracy(scores))
        objectives.append(rows.objective(scores, rates[-1]))
    return choose(np.array(rates), np.array(objectives), terms, rows, choices)


def _compare(kind: Kind, model: Any, rows: Rows, of: Candidates | Chosen) -> Floats:
    """Return the differences that the slack limits, of one model on some rows."""
    (scores,) = kind.scores([model], rows)
    return np.asarray(differences(of.terms)[0] @ np.nan_to_num(rows.accuracy(scores)))


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


def _join_members(
    found: Candidates, picked: Chosen, ready: PreparedRows, choices: Choices
) -> tuple[Candidates, Chosen]:
    """Choose the best single model again, among linear scores between members of the mixture, too.

    Not in the robust form, whose mixtures raise little, of networks and trees, and where the
    mixture is one model.
    """
    drawn = picked.mixture
    alone = len(drawn.members) < 2
    if not picked.terms or choices.robust or found.kind.from_nothing or alone:
        return found, picked
    often = drawn.members[np.argsort(-drawn.probabilities, kind="stable")[:JOINED_MEMBERS]]
    ends = combinations([found.models[one] for one in often], 2)
    shares = np.arange(1, STEPS_BETWEEN + 1) / (STEPS_BETWEEN + 1)
    new = [(1 - t) * one + t * other for one, other in ends for t in shares]
    found, more = _add(found, picked, new, ready, choices)
    # What lies between members can be a better single model, and no better mixture.
    return found, replace(more, mixture=picked.mixture)
