"""Trained models, which score by numpy alone, and mixtures of them.

Trees are kept and scored without LightGBM. Model files come from strangers; LightGBM trusts its own
text and ends the process on a broken one, so it only grows trees. What they are is a few arrays,
which are checked when a file is read. They give the scores of LightGBM's own ``predict``, bit for
bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.kernels.compilation import njit
from comparity.tables.values import as_array, check_lengths, group_codes
from comparity.training.feature_checks import check_features, unmask
from comparity.training.rows import Scale

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
State = Mapping[str, Floats]
"""Parameters and buffers by the names that torch gives them."""
Layer = tuple[Floats, Floats]
"""Weights, (outputs, inputs), and biases."""

MISSING = ("none", "zero right", "zero left", "nan right", "nan left")
"""What counts as missing at a split, and where it goes. NaN is 0 wherever it is not missing."""
ZERO = float(np.float32(1e-35))
"""LightGBM takes numbers up to this one for 0."""


class Model(Protocol):
    """A trained score of features in the units they were given in."""

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""


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
        return np.asarray(X @ self.coefficients + self.intercept)


@dataclass(frozen=True, slots=True, eq=False)
class LayeredModel:
    """A trained network of linear layers with rectifiers between them; needs no torch.

    Attributes
    ----------
    layers : tuple of (ndarray, ndarray)
        Weights and biases of each layer.
    scale : Scale
        The first layer takes standardised features, the last one gives standardised labels.
    """

    layers: tuple[Layer, ...]
    scale: Scale

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""
        return self.scale.labels(forward(self.layers, self.scale.standardise(X)))


def forward(layers: Sequence[Layer], features: Floats) -> Floats:
    """Return the only output of the last layer, for each row."""
    values = features
    for place, (weights, biases) in enumerate(layers):
        values = np.maximum(values, 0) if place else values
        values = values @ weights.T + biases
    return values[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class ModuleModel:
    """A trained module of somebody else's making.

    Attributes
    ----------
    module : callable
        Builds the module from the number of features.
    state : mapping of str to ndarray
        What it has learned.
    scale : Scale
        The module takes standardised features and gives standardised labels.
    raw : bool
        Whether it takes features as they were given instead.
    """

    module: Callable[[Any], torch.nn.Module]
    state: State
    scale: Scale
    raw: bool = False

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""
        features = self.scale.arrays(X.reshape(len(X), -1), raw=self.raw)
        return self.scale.labels(next(call_module(self.module, [self.state], features)))


ROWS_AT_A_TIME = 4096
"""So many rows a module scores at once: an image may become many arrays on its way."""


def inputs_of(features: NDArray[Any]) -> int | tuple[int, ...]:
    """Return what a module is built for: the number of features, or the shape of a row's array."""
    return features.shape[1] if features.ndim == 2 else features.shape[1:]


def call_module(
    build: Callable[[Any], torch.nn.Module], states: Iterable[State], features: Floats
) -> Iterator[Floats]:
    """Yield what a module makes of features in each state; torch's own state is left alone."""
    import torch

    with torch.random.fork_rng(devices=[]):
        module = build(inputs_of(features)).double().eval()
    # Of no rows, too, there is one part.
    starts = range(0, max(len(features), 1), ROWS_AT_A_TIME)
    for state in states:
        tensors = {name: torch.as_tensor(value) for name, value in state.items()}
        parts = (torch.as_tensor(features[start : start + ROWS_AT_A_TIME]) for start in starts)
        with torch.no_grad():
            found = [torch.func.functional_call(module, tensors, (part,)) for part in parts]
        yield torch.cat([one.reshape(-1) for one in found]).numpy()


class Tree(NamedTuple):
    """A decision tree of m splits and m + 1 leaves.

    Attributes
    ----------
    feature : ndarray of int, (m,)
        Column that each split looks at.
    threshold : ndarray, (m,)
        Values up to it go left; it may be infinite.
    missing : ndarray of int, (m,)
        Positions in :data:`MISSING`.
    left, right : ndarray of int, (m,)
        Where rows go: a later split, or -1, -2, ... for the first leaf, the second, ...
    leaves : ndarray, (m + 1,)
        Scores.
    """

    feature: Codes
    threshold: Floats
    missing: Codes
    left: Codes
    right: Codes
    leaves: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TreesModel:
    """A trained sum of trees.

    Attributes
    ----------
    trees : tuple of Tree
        In the order they were grown.
    scale : Scale
        Trees take features as they were given, and give standardised labels.
    """

    trees: tuple[Tree, ...]
    scale: Scale

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""
        return self.scale.labels(sum_trees(self.trees, X))


def sum_trees(trees: Iterable[Tree], X: Floats) -> Floats:
    """Return the sum of the leaves that each row falls into, one for each tree.

    Parameters
    ----------
    trees : iterable of Tree
    X : ndarray, (n, p)
        Features as they were given.

    Examples
    --------
    >>> at_most_one = Tree(
    ...     feature=np.array([0]), threshold=np.array([1.0]), missing=np.array([0]),
    ...     left=np.array([-1]), right=np.array([-2]), leaves=np.array([-0.5, 2.0]),
    ... )
    >>> sum_trees([at_most_one], np.array([[1.0], [3.0]])).tolist()
    [-0.5, 2.0]
    """
    features, scores = np.ascontiguousarray(X, dtype=np.float64), np.zeros(len(X))
    for tree in trees:
        _add_leaves(features, *tree, scores)
    return scores


@njit(cache=True, nogil=True)
def _add_leaves(  # type: ignore[no-untyped-def]
    features, feature, threshold, missing, left, right, leaves, scores
):
    """Add to every score the leaf of its row. Defined by the walk in ``tests/plain/trees.py``."""
    start = 0 if len(feature) else -1
    for row in range(len(scores)):
        node = start
        while node >= 0:
            value, kind = features[row, feature[node]], missing[node]
            if abs(value) <= ZERO or (np.isnan(value) and kind < 3):
                value = 0.0
            if np.isnan(value) or (1 <= kind <= 2 and value == 0.0):
                goes_left = kind % 2 == 0
            else:
                goes_left = value <= threshold[node]
            node = left[node] if goes_left else right[node]
        scores[row] += leaves[-node - 1]


class StochasticScorer:
    """A mixture of scores: whoever scores draws one of them first.

    Parameters
    ----------
    members : sequence of Model
    probabilities : ndarray, (M,)
        How often each member is drawn.
    feature_names : ndarray of str, (p,), optional
        Names of the features in the order members take them, where they had names.

    Attributes
    ----------
    members, probabilities
        As given.
    feature_names_in_ : ndarray of str, (p,)
        Names of the features; only where they had names.
    coefficients : ndarray, (M, p)
        Of linear members; others have none.
    intercepts : ndarray, (M,)
        The same.
    """

    def __init__(
        self,
        members: Sequence[Model],
        probabilities: Floats,
        feature_names: NDArray[Any] | None = None,
    ) -> None:
        self.members = tuple(members)
        self.probabilities = probabilities
        if feature_names is not None:
            self.feature_names_in_ = feature_names

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def coefficients(self) -> Floats:
        """Coefficients of linear members."""
        return np.array([one.coefficients for one in self.members])  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        shares = ", ".join(f"{share:.3g}" for share in self.probabilities)
        return f"<{type(self).__name__} of {len(self)}, drawn with probabilities {shares}>"

    def draw(self, rng: np.random.Generator | int | None = None) -> int:
        """Draw a member; all items that are to be compared are scored by the same."""
        return int(np.random.default_rng(rng).choice(len(self), p=self.probabilities))

    def predict(
        self,
        X: ArrayLike,
        member: int | None = None,
        *,
        queries: ArrayLike | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> Floats:
        """Return the scores of one member, a given one or one that is drawn.

        Scores of different members are not comparable, so that one member scores all rows, or with
        `queries` all rows of a query. What training says of the mixture holds on average over
        draws.

        Parameters
        ----------
        X : array-like, (n, p)
            Features, finite. Columns of a frame are those trained on, in their order.
        member : int, optional
            Which member; drawn by default.
        queries : array-like, (n,), optional
            Draw a member for each query.
        rng : Generator, int or None
            For the draws.

        Examples
        --------
        >>> up, down = LinearModel(np.ones(1), 0.0), LinearModel(-np.ones(1), 0.0)
        >>> mixture = StochasticScorer([up, down], np.array([0.75, 0.25]))
        >>> mixture.predict([[1.0], [2.0]], 1).tolist()
        [-1.0, -2.0]
        """
        self._check_names(X)
        features = np.asarray(unmask(X), dtype=np.float64)
        if any(isinstance(one, ModuleModel) for one in self.members):
            features = features.reshape(len(features), -1)
        check_features(features, getattr(self, "feature_names_in_", None))
        if member is not None or queries is None:
            return self.members[self.draw(rng) if member is None else member].scores(features)
        column = as_array(queries, "queries")
        check_lengths({"X": features, "queries": column})
        query = group_codes(column, "queries", "item", several=False)[0]
        generator, many = np.random.default_rng(rng), int(query.max(initial=-1)) + 1
        drawn = generator.choice(len(self), size=many, p=self.probabilities)[query]
        scores = np.empty(len(features))
        for place in np.unique(drawn):
            scores[drawn == place] = self.members[place].scores(features[drawn == place])
        return scores

    def _check_names(self, X: ArrayLike) -> None:
        """Refuse a frame whose columns are others, or in another order, as ``fit`` would."""
        if hasattr(self, "feature_names_in_"):
            # Imported here: models that are read from a file score without scikit-learn.
            from sklearn.utils.validation import _check_feature_names

            _check_feature_names(self, X, reset=False)
