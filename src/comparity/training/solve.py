r"""Playing, choosing, and choosing by rows held out and rows trained on.

Rows held out are honest and few: on 1,250 queries of 11 candidates, a tenth of them of one group,
a difference of accuracies is uncertain by 0.02, and a mixture that is to keep a slack of 0.01 there
misses it elsewhere by as much. Training rows are more, and flatter what learned them by heart. A
rate :math:`a` is estimated by

.. math:: (1 - w) \, a_{held} + w \, a_{trained}, \qquad
    w = \frac{n_{trained}}{n} \min\left(1, \frac{V}{\max(0, D)^2}\right)

with :math:`D` how much kinder training rows are and :math:`V` its variance if nothing were learned
by heart; of two such D, in what training pushed and in the accuracy over all pairs, the one that
leaves less. So every row counts alike while D is no larger than chance makes it. Beyond that,
:math:`D^2 - V` estimates the square of what was learned by heart, and w makes the expected square
of the error least. That training rows are harsher is chance.

A mixture keeps a goal on average by members that miss it on either side. Linear scores in between,
on the straight lines that join the coefficients of two members, often keep it by themselves, at
about the cost of the mixture; the game need not have come by there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import all_pairs
from comparity.counts.ordered_pairs import ordered_pairs
from comparity.counts.query_pairs import query_pairs
from comparity.errors import OptionError
from comparity.inference.dyadic import rate_covariance
from comparity.tables.features import LabelledItems
from comparity.training.game import Constraints, Minima, Nothing, Pace, Play, Referee
from comparity.training.goals import Choices, Terms, differences, overall, terms_of
from comparity.training.mixtures import Chosen, best_single, choose, minima
from comparity.training.models import Model
from comparity.training.rows import Rows, Scale, group_names, take_items

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MORE_GAMES = 2
"""So often the game is played again where the goal is missed on the rows chosen by."""
KEPT = 1e-6
"""A constraint missed by less is kept; the linear program is no more exact."""
STEPS_BETWEEN = 20
"""So many models are tried between two members."""
JOINED_MEMBERS = 3
"""Lines join the members that are drawn most often."""
KINDS = {
    "linear": ("game", "Linear"),
    "neural": ("kinds", "NeuralNetwork"),
    "boosted": ("kinds", "BoostedTrees"),
}
"""What ``scorer=`` may be as a word: module and class, each with its defaults."""


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

    def play(self, rows: Rows, referee: Referee, choices: Choices, pace: Pace) -> Play:
        """Play one game on rows and return the models it went through.

        The referee says what is asked, and is changed by the game.
        """

    def scores(self, models: Sequence[Any], rows: Rows) -> Iterator[Floats]:
        """Yield the scores of rows by each model."""

    def model_of(self, model: Any, scale: Scale) -> Model:
        """Return a model that takes features as they were given."""


def kind_of(scorer: Any, **choices: Any) -> Kind:
    """Return the kind of score asked for, by name (with its own choices) or as it is."""
    if isinstance(scorer, str) and scorer in KINDS:
        found: Kind = _class(scorer)(**choices)
        return found
    if isinstance(scorer, tuple(_class(name) for name in KINDS)):
        return scorer  # type: ignore[return-value]
    raise OptionError("scorer", scorer, [repr(word) for word in KINDS])


def _class(name: str) -> Any:
    """Import a kind of score; networks and trees load scikit-learn, a linear score does not."""
    module, found = KINDS[name]
    return getattr(import_module(f"comparity.training.{module}"), found)


class PreparedRows(NamedTuple):
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


def train(
    kind: Kind, ready: PreparedRows, choices: Choices, *, progress: bool
) -> tuple[Candidates, Chosen]:
    """Play games, choose among what their models went through, and among models in between.

    A difference on the rows chosen by may be off from that on the rows trained on, by chance or
    because these were learned by heart. If no mixture keeps the slack there (of models that start
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
            # says whether its rows have been learned by heart.
            best = last.models[_choose_on(rows, last, ready, choices).best]
        there, here = (_compare(kind, best, *at) for at in ((by, picked), (rows, found)))
        kept = float((there - choices.slack).max()) <= KEPT if kind.from_nothing else kept
        if kept:
            break
        last = _play_games(kind, ready, choices, progress=progress, shift=there - here)
        found = replace(last, models=(*found.models, *last.models))
        picked = _choose_on(by, found, ready, choices)
    picked = _pool_rates(found, picked, ready, choices)
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


def goal_terms(
    rows: Rows, groups: Sequence[str], choices: Choices, *, name: str
) -> tuple[Terms, ...]:
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


def _pool_rates(found: Candidates, picked: Chosen, ready: PreparedRows, choices: Choices) -> Chosen:
    """Choose again by accuracies on both parts; objectives stay those of the rows held out.

    There is nothing to pool without a goal or rows held out, with a network or trees, which learn
    rows by heart in the course of a game, or with statistical parity, of which no variance is known
    here.
    """
    rows, by = ready.rows, ready.by
    alike = rows is not by and rows.pairs.cells == by.pairs.cells and rows.parity is None
    if not picked.terms or found.kind.from_nothing or not alike:
        return picked
    here = np.array([rows.accuracy(scores) for scores in found.kind.scores(found.models, rows)])
    share = _training_share(found, picked, here, ready, choices)
    return choose(
        picked.accuracy,
        picked.objective,
        picked.terms,
        by,
        choices,
        judged=pool(picked.accuracy, here, share),
        training_share=share,
    )


def pool(held: Floats, trained: Floats, share: float) -> Floats:
    """Return accuracies on rows held out, with those on rows trained on weighed in."""
    return held + share * np.nan_to_num(trained - held)


def _training_share(
    found: Candidates, picked: Chosen, here: Floats, ready: PreparedRows, choices: Choices
) -> float:
    """Return how much the training rows weigh, from 0 to 1.

    How much kinder they are is seen in the mixture that they alone would choose (`here` are the
    accuracies of all candidates on them), which rows held out had no part in. The variance is that
    on the rows held out, by the theory of all pairs, and on rows trained on as much less as there
    are more of them. Where it is unknown, as with a single query, training rows weigh nothing.
    """
    by, items = ready.by, take_items(ready.items, ready.held)
    kinder = np.array([_lowered_rates(found, picked, by, choices), -overall(by.pairs, by.n_cells)])
    alone = choose(here, picked.objective, picked.terms, by, choices).mixture
    models, many = [found.models[one] for one in alone.members], alone.probabilities
    apart = kinder @ (many @ np.nan_to_num(picked.accuracy - here)[alone.members])
    # Members share rows; the mean of their variances is the most that of their mean can be.
    covariance = [_covariance(items, one) for one in found.kind.scores(models, by)]
    share = len(ready.train) / (len(ready.train) + len(ready.held))
    variance = np.diag(kinder @ np.tensordot(many, covariance, axes=1) @ kinder.T) / share
    if variance.min() <= 0:
        return 0.0
    return float(share * (variance / np.maximum(variance, np.maximum(apart, 0.0) ** 2)).min())


def _lowered_rates(found: Candidates, picked: Chosen, by: Rows, choices: Choices) -> Floats:
    """Return what training lowered, as coefficients of accuracies.

    Differences count by how far the first candidate, least squares, misses the slack; rates to be
    raised by what the referee gave them.
    """
    if choices.robust:
        raised: Floats = found.multipliers @ np.vstack(minima(by, picked.terms, choices))
        return -raised
    rises = differences(picked.terms)[0]
    missed = rises @ np.nan_to_num(picked.accuracy[0]) - choices.slack
    weights = np.maximum(missed, 0.0) if missed.max() > 0 else (missed == missed.max()) * 1.0
    return np.asarray(weights @ rises)


def _covariance(items: LabelledItems, scores: Floats) -> Floats:
    """Return the covariance of the accuracies of all cells; 0 in cells without pairs."""
    y, query, weights = items.label, items.query, items.weight
    if items.value is not None:
        sharing = ordered_pairs(y, scores, items.value, query=query, weights=weights).sharing
    else:
        columns = (y, scores, items.group, group_names(items.group, items.groups))
        if query is None:
            sharing = all_pairs(*columns, weights=weights).sharing
        else:
            sharing = query_pairs(*columns, query, weights=weights).sharing
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(rate_covariance(sharing))


def _join_members(
    found: Candidates, picked: Chosen, ready: PreparedRows, choices: Choices
) -> tuple[Candidates, Chosen]:
    """Choose the best single model again, among linear scores between members of the mixture, too.

    Not in the robust form, whose mixtures raise little, of networks and trees, and where the
    mixture is one model.
    """
    drawn, by = picked.mixture, ready.by
    alone = len(drawn.members) < 2
    if not picked.terms or choices.robust or found.kind.from_nothing or alone:
        return found, picked
    often = drawn.members[np.argsort(-drawn.probabilities, kind="stable")[:JOINED_MEMBERS]]
    ends = combinations([found.models[one] for one in often], 2)
    shares = np.arange(1, STEPS_BETWEEN + 1) / (STEPS_BETWEEN + 1)
    new = [(1 - t) * one + t * other for one, other in ends for t in shares]
    scores = list(found.kind.scores(new, by))
    accuracy = np.array([by.accuracy(one) for one in scores])
    objective = [by.objective(*pair) for pair in zip(scores, accuracy, strict=True)]
    judged = accuracy
    if picked.training_share:
        here = np.array([ready.rows.accuracy(one) for one in found.kind.scores(new, ready.rows)])
        judged = pool(accuracy, here, picked.training_share)
    more = replace(
        picked,
        accuracy=np.vstack([picked.accuracy, accuracy]),
        objective=np.append(picked.objective, objective),
        judged=np.vstack([picked.judged, judged]),
    )
    best = best_single(more.judged, more.objective, more.terms, by, choices)
    return replace(found, models=(*found.models, *new)), replace(more, best=best)
