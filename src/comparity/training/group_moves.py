"""How the scores of each group are moved after training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.training.score_transforms import group_positions

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMoves:
    """How the scores of each group are moved: slope times the score, plus shift.

    Attributes
    ----------
    slopes, shifts : mapping of str to float
        By group. Slopes are not negative, so that the order within a group stays.
    """

    slopes: Mapping[str, float]
    shifts: Mapping[str, float]

    def transform(self, scores: ArrayLike, *, sensitive_features: ArrayLike) -> Floats:
        """Return the moved scores.

        Parameters
        ----------
        scores : array-like
            Finite scores.
        sensitive_features : array-like
            Group of each row; every group must be known.

        Examples
        --------
        >>> moves = GroupMoves(slopes={"a": 1.0, "b": 2.0}, shifts={"a": 0.0, "b": 1.0})
        >>> moves.transform([1.0, 1.0], sensitive_features=["a", "b"]).tolist()
        [1.0, 3.0]
        """
        groups = tuple(self.slopes)
        values, codes = group_positions(scores, sensitive_features, groups)
        slopes, shifts = (
            np.array([one[name] for name in groups]) for one in (self.slopes, self.shifts)
        )
        return np.asarray(slopes[codes] * values + shifts[codes])
