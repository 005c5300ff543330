"""Trained models, whatever their kind, and mixtures of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counting._values import as_array, check_lengths, group_codes
from comparity.mitigation.features import check_features, unmasked

__all__ = ["Model", "StochasticScorer"]

Floats = NDArray[np.float64]


class Model(Protocol):
    """A trained score of features in the units they were given in."""

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""


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

    @property
    def intercepts(self) -> Floats:
        """Intercepts of linear members."""
        return np.array([one.intercept for one in self.members])  # type: ignore[attr-defined]

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
        >>> from comparity.mitigation.linear import LinearModel
        >>> up, down = LinearModel(np.ones(1), 0.0), LinearModel(-np.ones(1), 0.0)
        >>> mixture = StochasticScorer([up, down], np.array([0.75, 0.25]))
        >>> mixture.predict([[1.0], [2.0]], 1).tolist()
        [-1.0, -2.0]
        """
        self._check_names(X)
        features = np.asarray(unmasked(X), dtype=np.float64)
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
