r"""The Bradley-Terry loss of judged pairs, with what is known of the judges.

With :math:`t` the score of the item that was judged better minus that of the other, a judgment
costs

.. math:: \log_2 (1 + e^{-(\gamma t + \delta)}),

one bit where scores say nothing. :math:`\gamma` is how sharp the judge is beside the others and
:math:`\delta` how far the judge leans toward the item that won; they are 1 and 0 where judges are
taken as they are. The mean over judgments is then that of a logistic regression on differences of
features, without intercept (Bradley and Terry, 1952).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]

MOST_STEPS = 100
"""Newton steps; ten are plenty unless judgments can be separated."""
SMALLEST_DECREASE = 1e-12
"""A step that promises less, in bits, is the last."""


def softplus(values: Floats) -> Floats:
    """Return log(1 + exp(x)) without overflow."""
    return np.logaddexp(0.0, values)


def logistic(values: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.asarray(np.exp(-softplus(-values)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedLoss:
    """Judgments as rows: the better item of judgment k is row 2 k, the worse one is row 2 k + 1.

    Attributes
    ----------
    sharpness, lean : ndarray, (m,)
        The factor and the offset of each judgment.

    Examples
    --------
    >>> loss = JudgedLoss(sharpness=np.ones(2), lean=np.zeros(2))
    >>> loss.bits(np.zeros(4))
    1.0
    >>> loss.gradient(np.zeros(4)).round(3).tolist()
    [-0.361, 0.361, -0.361, 0.361]
    """

    sharpness: Floats
    lean: Floats

    def bits(self, scores: Floats) -> float:
        """Return the mean loss of a judgment; 1 where scores say nothing."""
        return float(softplus(-self._odds(scores)).mean() / np.log(2))

    def gradient(self, scores: Floats) -> Floats:
        """Return the gradient of the mean loss in the scores of all rows."""
        pull = self.sharpness * logistic(-self._odds(scores)) / len(self.lean) / np.log(2)
        return np.column_stack([-pull, pull]).reshape(-1)

    def largest_curvature(self) -> Floats:
        """Return the largest second derivative that the score of each row may have."""
        return np.repeat(self._second(np.zeros(len(self.lean))), 2)

    def minimum(self, features: Floats, *, l2: float) -> Floats:
        """Return the coefficients with the least mean loss, by Newton's method.

        Parameters
        ----------
        features : ndarray, (2 m, p)
            One row for each row of this loss.
        l2 : float
            Weight of the squared coefficients.
        """
        difference = features[::2] - features[1::2]
        # Coefficients that nothing determines stay where they are, at 0.
        penalty = 2 * (l2 + 1e-10) * np.eye(difference.shape[1])
        now = np.zeros(difference.shape[1])
        for _ in range(MOST_STEPS):
            odds = self.sharpness * (difference @ now) + self.lean
            pull = self.sharpness * logistic(-odds) / len(odds) / np.log(2)
            slope = -difference.T @ pull + penalty @ now
            curved = difference.T @ (self._second(odds)[:, None] * difference) + penalty
            step = np.linalg.solve(curved, slope)
            now = now - self._length(difference, now, step, slope, penalty) * step
            if float(slope @ step) < SMALLEST_DECREASE:
                break
        return now

    def _odds(self, scores: Floats) -> Floats:
        return np.asarray(self.sharpness * (scores[::2] - scores[1::2]) + self.lean)

    def _second(self, odds: Floats) -> Floats:
        share = logistic(odds) * logistic(-odds)
        return np.asarray(self.sharpness**2 * share / len(odds) / np.log(2))

    def _length(
        self, difference: Floats, now: Floats, step: Floats, slope: Floats, penalty: Floats
    ) -> float:
        """Return how much of a Newton step to take, halved while it leads uphill."""

        def value(at: Floats) -> float:
            odds = self.sharpness * (difference @ at) + self.lean
            return float(softplus(-odds).mean() / np.log(2) + at @ penalty @ at / 2)

        start, length, gain = value(now), 1.0, float(slope @ step)
        while value(now - length * step) > start - 1e-4 * length * gain and length > 1e-6:
            length /= 2
        return length

    def take(self, kept: Any) -> JudgedLoss:
        """Return the loss of some of the judgments."""
        return JudgedLoss(sharpness=self.sharpness[kept], lean=self.lean[kept])


def tensor_bits(judged: JudgedLoss, scores: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of a judgment, for torch to differentiate."""
    import torch

    sharpness, lean = (torch.as_tensor(one) for one in (judged.sharpness, judged.lean))
    odds = sharpness * (scores[::2] - scores[1::2]) + lean
    bits: torch.Tensor = torch.nn.functional.softplus(-odds).mean() / np.log(2)
    return bits


def as_they_are(n: int) -> JudgedLoss:
    """Return the loss of so many judgments that are taken at face value."""
    return JudgedLoss(sharpness=np.ones(n), lean=np.zeros(n))
