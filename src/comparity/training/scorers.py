"""Linear scores, kinds of scores by name, and trained scores of named features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import MissingColumnError, ModelScoreError, OptionError
from comparity.tables.items import labelled_columns
from comparity.tables.values import as_array, check_lengths, numbers, rows_of
from comparity.training.game import Pace, Play, Referee, play
from comparity.training.goals import Choices, overall
from comparity.training.mixtures import Model
from comparity.training.rows import Rows, Scale
from comparity.training.solve import Kind

__all__ = [
    "KINDS",
    "Linear",
    "LinearModel",
    "LinearScorer",
    "SavedScorer",
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
    "linear": ("scorers", "Linear"),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearScorer:
    """A linear score of named features, and the mixture it was chosen beside.

    Attributes
    ----------
    features : tuple of str
        Names of the columns, in the order of the coefficients.
    coefficients : tuple of float
        Of the best single model.
    intercept : float
        Of the same.
    members : tuple of (tuple of float, float, float)
        Coefficients, intercept and probability of each member of the mixture; may be empty.
    about : mapping
        How the model came about: plain data.
    """

    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float = 0.0
    members: tuple[tuple[tuple[float, ...], float, float], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, columns: Any) -> Floats:
        """Return the scores of the best single model.

        Parameters
        ----------
        columns : mapping of str to array-like, or frame of any engine
            A column for each feature; others are not looked at.

        Examples
        --------
        >>> model = LinearScorer(features=("a", "b"), coefficients=(1.0, -2.0), intercept=0.5)
        >>> model.scores({"b": [1.0, 0.0], "a": [3.0, 4.0]}).tolist()
        [1.5, 4.5]
        """
        slopes, base = np.array(self.coefficients), self.intercept
        table = _feature_table(self.features, columns)
        return _finite_scores(lambda rows: rows @ slopes + base, table)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SavedScorer:
    """A score of named features that is not linear, and the mixture it was chosen beside.

    Attributes
    ----------
    kind : {"neural", "boosted"}
    features : tuple of str
        Names of the columns, in the order the model takes them.
    model : Model
        The best single model.
    members : tuple of (Model, float)
        Members of the mixture and how often each is drawn; may be empty.
    about : mapping
        How the model came about: plain data.
    """

    kind: str
    features: tuple[str, ...]
    model: Model
    members: tuple[tuple[Model, float], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, columns: Any) -> Floats:
        """Return the scores of the best single model, of named columns or a frame."""
        return _finite_scores(self.model.scores, _feature_table(self.features, columns))


def _finite_scores(score: Callable[[Floats], Floats], table: Floats) -> Floats:
    """Return the scores of rows, all of them finite.

    Raises
    ------
    ModelScoreError
        Features or numbers of the model are so large that a score is no number.
    """
    # What overflows is refused below, with its rows.
    with np.errstate(over="ignore", invalid="ignore"):
        scores = score(table)
    lost = ~np.isfinite(scores)
    if lost.any():
        raise ModelScoreError(rows_of(lost))
    return scores


def _feature_table(features: Sequence[str], columns: Any) -> Floats:
    """Return named columns of a mapping or a frame side by side, checked; others are left alone."""
    given = columns if isinstance(columns, Mapping) else labelled_columns(columns, features)
    found = {}
    for name in features:
        if name not in given:
            raise MissingColumnError(name, "items", list(given))
        found[name] = numbers(as_array(given[name], name), name, "items")
    check_lengths(found)
    return np.column_stack(list(found.values()))
