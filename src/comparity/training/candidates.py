"""Models to choose from: of what kind they are, which rows they are trained on and chosen by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.tables.features import LabelledItems
from comparity.training.game import Pace, Play, Referee
from comparity.training.goals import Choices, Terms, terms_of
from comparity.training.models import Model
from comparity.training.polish import Differentiable
from comparity.training.rows import Rows, Scale

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
