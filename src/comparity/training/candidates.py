r"""Models to choose from, and choosing by rows held out and rows trained on.

Rows held out are honest and few: on 1,250 queries of 11 candidates, a tenth of them of one group,
a difference of accuracies is uncertain by 0.02, and a mixture that is to keep a slack of 0.01 there
misses it elsewhere by as much. Training rows are more, and flatter what memorised them. A
rate :math:`a` is estimated by

.. math:: (1 - w) \, a_{held} + w \, a_{trained}, \qquad
    w = \frac{n_{trained}}{n} \min\left(1, \frac{V}{\max(0, D)^2}\right)

with :math:`D` how much kinder training rows are and :math:`V` its variance if nothing were
memorised; of two such D, in what training pushed and in the accuracy over all pairs, the one that
leaves less. So every row counts alike while D is no larger than chance makes it. Beyond that,
:math:`D^2 - V` estimates the square of what was memorised, and w makes the expected square
of the error least. That training rows are harsher is chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import all_pairs
from comparity.counts.ordered_pairs import ordered_pairs
from comparity.counts.query_pairs import query_pairs
from comparity.errors import OptionError
from comparity.inference.dyadic import rate_covariance
from comparity.tables.features import LabelledItems
from comparity.training.game import Pace, Play, Referee
from comparity.training.goals import Choices, Terms, differences, overall, terms_of
from comparity.training.mixtures import Chosen, choose, minima
from comparity.training.models import Model
from comparity.training.polish import Differentiable
from comparity.training.rows import Rows, Scale, group_names, take_items

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

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

    def parameters(self, model: Any, rows: Rows, choices: Choices) -> Differentiable:
        """Return a model as a function of its parameters, on rows to train on."""

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


def goal_terms(
    rows: Rows, groups: Sequence[str], choices: Choices, *, name: str
) -> tuple[Terms, ...]:
    """Return what the goals compare on given rows, which errors call `name`."""
    return tuple(
        terms_of(goal, rows.pairs, rows.parity, groups, rows=name) for goal in choices.goals
    )


def pool_rates(found: Candidates, picked: Chosen, ready: PreparedRows, choices: Choices) -> Chosen:
    """Choose again by accuracies on both parts; objectives stay those of the rows held out.

    There is nothing to pool without a goal or rows held out, with a network or trees, which
    memorise rows in the course of a game, or where no variance is known here: with statistical
    parity, and where pairs do not count alike.
    """
    rows, by = ready.rows, ready.by
    alike = rows is not by and rows.pairs.cells == by.pairs.cells and rows.parity is None
    if not picked.terms or found.kind.from_nothing or not (alike and choices.counts_alike):
        return picked
    here = picked.trained
    if here is None:
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
        trained=here,
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
