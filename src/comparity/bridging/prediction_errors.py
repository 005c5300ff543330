"""Errors of a prediction on both sides of a bridge, by group."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.bridging.predicting import Predictions
from comparity.bridging.subjects import DecidedSubjects
from comparity.differences import Moments

__all__ = ["BridgeErrors", "Shared", "bridge_errors", "second_moments"]

Floats = NDArray[np.float64]

# In standard deviations of the decisions.
ROUNDING = 1e-9
# Of the largest number there is; a regressor's predictions are off by more than one rounding.
LAST_DIGITS = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shared:
    """Both errors of the subjects of a group whom both decided about, in the same order.

    Attributes
    ----------
    first, second : ndarray of float
        Prediction minus the first's, and minus the second's decision.
    """

    first: Floats
    second: Floats

    def __len__(self) -> int:
        return len(self.first)

    @property
    def difference(self) -> Floats:
        """The second minus the first, which is constant where decisions differ by a constant."""
        found: Floats = self.second - self.first
        largest = np.abs([self.first, self.second]).max(initial=0.0)
        if not largest:
            return found
        return np.round(found, _decimals(float(largest)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BridgeErrors:
    """Errors of a prediction on both sides, by group.

    Attributes
    ----------
    groups : tuple of str
        The reference group and the group whose gap over it is asked for.
    first, second : tuple of ndarray
        Errors of subjects of one side only, for each group.
    shared : tuple of Shared
        Errors of subjects of both sides, for each group.
    """

    groups: tuple[str, str]
    first: tuple[Floats, Floats]
    second: tuple[Floats, Floats]
    shared: tuple[Shared, Shared]

    @property
    def n_shared(self) -> int:
        """Subjects of both sides."""
        return sum(map(len, self.shared))

    def n_of(self, group: int) -> int:
        """Return the decisions about a group, of both sides."""
        return sum(len(self.all_of(side, group)) for side in (0, 1))

    def all_of(self, side: int, group: int) -> Floats:
        """Return the errors of one side and group, shared subjects last."""
        alone = (self.first, self.second)[side][group]
        both = self.shared[group]
        return np.concatenate([alone, (both.first, both.second)[side]])


def bridge_errors(subjects: DecidedSubjects, predictions: Predictions) -> BridgeErrors:
    """Take the errors of predictions apart by side and group."""
    first = _without_rounding(predictions.first, subjects.decisions[0])
    second = _without_rounding(predictions.second, subjects.decisions[1])
    twin = subjects.twin
    alone_first = predictions.judged & ~subjects.shared

    def of(place: int) -> tuple[Floats, Floats, Shared]:
        here = subjects.group[1] == place
        rows = np.flatnonzero(here & (twin >= 0))
        return (
            first[alone_first & (subjects.group[0] == place)],
            second[here & (twin < 0)],
            Shared(first=first[twin[rows]], second=second[rows]),
        )

    (e0, e1, both), (f0, f1, both_too) = (_with_variance(*of(place)) for place in (0, 1))
    return BridgeErrors(
        groups=subjects.groups, first=(e0, f0), second=(e1, f1), shared=(both, both_too)
    )


def _without_rounding(predicted: Floats, decisions: Floats) -> Floats:
    """Return errors without what is rounding: a rule that is predicted up to a constant has none.

    Left in, rounding errors would be the variation that a gap is measured by.
    """
    largest = max(np.abs(predicted).max(), np.abs(decisions).max())
    errors = np.round(predicted - decisions, _decimals(float(largest)))
    return np.where(np.abs(errors) <= ROUNDING * decisions.std(), 0.0, errors)


def _decimals(largest: float) -> int:
    """Return how many decimals of a difference of two numbers up to this large mean anything."""
    return -math.ceil(math.log10(LAST_DIGITS * largest))


def _with_variance(first: Floats, second: Floats, both: Shared) -> tuple[Floats, Floats, Shared]:
    """Join what is alone of its kind to others, since one row has no variance.

    A single shared subject counts as one of each side: that its two errors are dependent is lost
    among the others. A single subject of one side beside shared ones is set aside.
    """
    if len(both) == 1:
        first, second = np.append(first, both.first), np.append(second, both.second)
        both = Shared(first=np.empty(0), second=np.empty(0))
    if len(both):
        first = first if len(first) > 1 else np.empty(0)
        second = second if len(second) > 1 else np.empty(0)
    return first, second, both


def second_moments(errors: BridgeErrors) -> tuple[Moments, Moments]:
    """Return moments of the prediction minus the second's decisions, reference group first.

    The unbiased bridge (Algorithm 1 of the paper) is Welch's test of these two, as if predictions
    were decisions. It takes for granted that the prediction has every leaning of the first, and no
    error of its own.
    """
    reference, group = (Moments.of(errors.all_of(1, place)) for place in (0, 1))
    return reference, group
