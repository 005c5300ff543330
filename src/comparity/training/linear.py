"""Linear scores, and kinds of scores by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.training.game import Pace, Play, Referee, play
from comparity.training.goals import Choices, overall
from comparity.training.rows import Rows, Scale
from comparity.training.solve import Kind

__all__ = [
    "KINDS",
    "Linear",
    "LinearModel",
    "first_guess",
    "kind_of",
]


Floats = NDArray[np.float64]


PART = 2**14
"""So many rows are standardised at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """A linear score.

    Attributes
    ----------
    coefficients : ndarray, (p,)
        Of the features as they were given.
    intercept : float
    """

    coefficients: Floats
    intercept: float

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""
        found: Floats = X @ self.coefficients + self.intercept
        return found


class Linear:
    """Linear scores as a kind of model: parameters are coefficients of standardised features."""

    name = "linear"
    from_nothing = False

    def check(self) -> None:
        """Need nothing that might not be installed."""

    def played(self, rows: Rows, referee: Referee, choices: Choices, pace: Pace) -> Play:
        """Play a game from the first guess on; see :class:`comparity.training.solve.Kind`."""
        start = first_guess(rows, choices)
        return play(
            lambda parameters, weights: rows.gradient(parameters, weights, choices),
            start,
            referee,
            # A step changes scores by its size, however many features there are.
            pace=pace._replace(step_size=pace.step_size / np.sqrt(len(start))),
            steps=choices.steps,
            referee_rate=choices.referee_rate,
            snapshots=choices.snapshots,
        )

    def scores(self, models: Sequence[Floats], rows: Rows) -> Iterator[Floats]:
        """Yield the scores of each model."""
        return (rows.scores(parameters) for parameters in models)

    def kept(self, model: Floats, scale: Scale) -> LinearModel:
        """Return a model in the units of the features and labels given."""
        slope = model * scale.label_unit / scale.unit
        # An order has no level: only where labels are predicted is there an intercept.
        base = scale.label_centre - slope @ scale.centre if scale.predicted else 0.0
        return LinearModel(slope, float(base))


def first_guess(rows: Rows, choices: Choices) -> Floats:
    """Return least squares: of the label, or for a ranking of its direction."""
    n, p = rows.features.shape
    share = rows.share
    label = _spread(rows) if rows.target is None else rows.target
    products, moments = np.zeros((p, p)), np.zeros(p)
    # Standardised part by part: products of features far from 0 would lose their digits, and all
    # of them at once would take as much memory as the features.
    for start in range(0, n, PART):
        part = slice(start, start + PART)
        features = rows.scale.standardised(rows.features[part])
        products += (features * share[part, None]).T @ features
        moments += features.T @ (share[part] * label[part])
    ridge = (choices.l2 + 1e-8 + (1e-3 if p >= n else 0.0)) * np.eye(p)
    guess = np.asarray(np.linalg.solve(products + ridge, moments), dtype=np.float64)
    if rows.target is not None:
        return guess
    width = float(np.sqrt(share @ rows.scores(guess) ** 2))
    # Without any direction to start from, all features point upwards.
    return guess / width if width > 1e-12 else np.full(p, 1.0 / np.sqrt(p))


def _spread(rows: Rows) -> Floats:
    """Return how many pairs each row should win rather than lose: the gradient at equal scores."""
    share = overall(rows.pairs, len(rows.pairs.cells))
    slope = rows.pairs.sums(np.zeros(len(rows.weight)), wrong=share).gradient
    found: Floats = -slope * len(slope) / rows.weight
    return found


KINDS = {
    "linear": ("linear", "Linear"),
    "neural": ("networks", "NeuralNetwork"),
    "boosted": ("boosted", "BoostedTrees"),
}
"""What ``scorer=`` may be as a word: module and class, each with its defaults."""


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
