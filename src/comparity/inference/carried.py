r"""A gap measured against a reference that was itself estimated, with that error carried along.

Question: labels are not known but estimated, say as a panel's scores freed of its evaluators' bias;
what can a gap :math:`d` between two cells still tell?

Two things can be wrong with the reference. Its groups may be shifted against each other: one error
common to all items, which moves the gap by :math:`d(h) - d(-h)` and adds
:math:`((d(h) - d(-h)) / 2)^2` to its variance, with :math:`h` one standard error of the shift. And
each item has an error of its own, which reverses the order of close pairs and pulls agreement
towards one half, in some cells more than in others. How much it pulled is seen by doing it again:
adding errors of the same law once more moves the gap by about as much as the first time, by
:math:`b = E\,d^* - d` (the idea of simulation-extrapolation [1]_). The test allows for a bias of
up to twice that, :math:`|b| \le a`:

.. math:: T(\delta) = \operatorname{sign}(d - \delta)
    \frac{\max(|d - \delta| - a, 0)}{\sqrt{V(\delta) + V_{shift}}}

References
----------
.. [1] Cook and Stefanski (1994), "Simulation-extrapolation estimation in parametric measurement
   error models", JASA 89.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from comparity.inference.pivots import DyadicGap, Reference, SharedGap, Statistic, crossing
from comparity.results import Interval

__all__ = ["CarriedGap"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CarriedGap(Statistic):
    """A gap with the error of its reference: a :class:`comparity.results.Pivot`.

    Attributes
    ----------
    given : DyadicGap or SharedGap
        The gap if the reference were the truth.
    shift_variance : float
        What an error common to all items of a group adds to the variance.
    allowance : float
        How far errors of single items may have moved the gap.
    """

    given: DyadicGap | SharedGap
    shift_variance: float
    allowance: float

    @property
    def reference(self) -> Reference:
        """The law the statistic is compared with."""
        return self.given.reference

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the gap if it is `hypothesised`."""
        return self.given.variance_at(hypothesised) + self.shift_variance

    def statistic(self, hypothesised: float) -> float:
        """Return how far the gap is from the hypothesis beyond the allowance, in errors."""
        distance = self.given.gap - hypothesised
        beyond = max(abs(distance) - self.allowance, 0.0)
        return math.copysign(beyond, distance) / math.sqrt(self.variance_at(hypothesised))

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        quantile = self.reference.quantile(1 - level)
        gap = self.given.gap
        step = self.allowance + quantile * math.sqrt(self.variance_at(gap))
        low, high = (
            crossing(lambda at: abs(self.statistic(at)) - quantile, gap, end, step)
            for end in (-1.0, 1.0)
        )
        return Interval(low, high, level)
