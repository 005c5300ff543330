"""Trained models, whatever their kind, and mixtures of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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

    Attributes
    ----------
    members, probabilities
        As given.
    coefficients : ndarray, (M, p)
        Of linear members; others have none.
    intercepts : ndarray, (M,)
        The same.
    """

    def __init__(self, members: Sequence[Model], probabilities: Floats) -> None:
        self.members = tuple(members)
        self.probabilities = probabilities

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

    def draw(self, rng: np.random.Generator | int | None = None) -> int:
        """Draw a member; all items that are to be compared are scored by the same."""
        return int(np.random.default_rng(rng).choice(len(self), p=self.probabilities))

    def predict(self, X: Floats, member: int) -> Floats:
        """Return the scores of one member."""
        return self.members[member].scores(np.asarray(X))
