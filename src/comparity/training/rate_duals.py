r"""The ratios a meta fair classifier can keep; labels and groups given features.

A classifier :math:`t(x) > 0` is sought with :math:`t = c_0 + C \lambda`, where
:math:`c_0 = P(y = 1 | x) - 1/2` and the columns of :math:`C` say how a positive decision changes
the rate of each group. The multipliers :math:`\lambda` minimise

.. math:: E |c_0 + C \lambda| + h(\lambda)

for a lower and an upper bound a and b of all rates (Celis, Huang, Keswani and Vishnoi,
"Classification with fairness constraints: a meta-algorithm with provable guarantees", 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DUALS",
    "Dual",
    "FalseDiscoveryDual",
    "Posterior",
    "StatisticalRateDual",
    "joint_normal",
    "ratio",
]


Floats = NDArray[np.float64]


SMOOTH = 0.01
"""Absolute values are rounded off within about this distance of 0, for gradients."""


class Dual(Protocol):
    """The program for a pair of bounds."""

    base: Floats
    columns: Floats

    def value(self, multipliers: Floats) -> float:
        """Return the value to minimise."""

    def smooth(self, multipliers: Floats) -> tuple[float, Floats]:
        """Return the rounded off value and its gradient."""


def _absolute(base: Floats, columns: Floats, multipliers: Floats) -> tuple[float, Floats]:
    """Return the mean of rounded off absolute values, and its gradient."""
    decision = base + columns @ multipliers
    size = np.sqrt(decision**2 + SMOOTH**2)
    return float(size.mean()), np.asarray((decision / size) @ columns / len(base))


@dataclass(frozen=True, slots=True, eq=False)
class StatisticalRateDual:
    r"""Shares of positive decisions between a and b in both groups.

    :math:`h(\lambda) = \sum_g (-b \lambda_g + (b - a) \max(0, \lambda_g))`.

    Attributes
    ----------
    base, columns : ndarray
        :math:`c_0` and :math:`C`, of the rows given.
    low, high : float
        a and b.
    """

    base: Floats
    columns: Floats
    low: float
    high: float

    @staticmethod
    def start(round_: int) -> Floats:
        """Return where the published search begins its rounds, counted from 1."""
        return np.full(2, round_ - 5.0)

    @staticmethod
    def over(shares: Floats, of_groups: Floats, low: float, high: float) -> StatisticalRateDual:
        """Lay out the program for rows with the given posterior shares of label and group."""
        base, groups, _ = _parts(shares)
        return StatisticalRateDual(base, groups / of_groups, low, high)

    @staticmethod
    def bounds() -> tuple[float | None, float | None]:
        """Return the least and the largest value of a multiplier."""
        return None, None

    def value(self, multipliers: Floats) -> float:
        """Return the value to minimise."""
        size = float(np.abs(self.base + self.columns @ multipliers).mean())
        positive = np.maximum(multipliers, 0).sum()
        width = self.high - self.low
        return float(size - self.high * multipliers.sum() + width * positive)

    def smooth(self, multipliers: Floats) -> tuple[float, Floats]:
        """Return the rounded off value and its gradient."""
        size, slope = _absolute(self.base, self.columns, multipliers)
        long, width = np.sqrt(multipliers**2 + SMOOTH**2), self.high - self.low
        value = size - self.high * multipliers.sum() + width * (multipliers + long).sum() / 2
        return float(value), slope - self.high + width * (1 + multipliers / long) / 2


@dataclass(frozen=True, slots=True, eq=False)
class FalseDiscoveryDual:
    r"""Shares of wrong among positive decisions between a and b in both groups; h is 0.

    Attributes
    ----------
    base, columns : ndarray
        :math:`c_0` and :math:`C`, of the rows given: two columns for the lower bound of both
        groups, two for the upper.
    """

    base: Floats
    columns: Floats

    @staticmethod
    def start(round_: int) -> Floats:
        """Return where the published search begins its rounds, counted from 1."""
        return np.full(4, float(round_))

    @staticmethod
    def over(shares: Floats, of_groups: Floats, low: float, high: float) -> FalseDiscoveryDual:
        """Lay out the program for rows with the given posterior shares of label and group."""
        base, groups, wrong = _parts(shares)
        return FalseDiscoveryDual(base, np.hstack([wrong - low * groups, high * groups - wrong]))

    @staticmethod
    def bounds() -> tuple[float | None, float | None]:
        """Return the least and the largest value of a multiplier."""
        return 0.0, None

    def value(self, multipliers: Floats) -> float:
        """Return the value to minimise."""
        return float(np.abs(self.base + self.columns @ multipliers).mean())

    def smooth(self, multipliers: Floats) -> tuple[float, Floats]:
        """Return the rounded off value and its gradient."""
        return _absolute(self.base, self.columns, multipliers)


DUALS: dict[str, type[StatisticalRateDual] | type[FalseDiscoveryDual]] = {
    "sr": StatisticalRateDual,
    "fdr": FalseDiscoveryDual,
}
"""Programs by the name of the rate: statistical rate and false discovery rate."""


def _parts(shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Return P(y = 1 | x) - 1/2, P(z | x) and P(y = -1, z | x) for both groups z.

    The columns of `shares` are (y, z) = (-1, 0), (1, 0), (-1, 1), (1, 1).
    """
    wrong = shares[:, [0, 2]]
    positive = shares[:, [1, 3]]
    return positive.sum(axis=1) - 0.5, wrong + positive, wrong


def ratio(
    metric: str, positive: NDArray[np.bool_], y: NDArray[np.bool_], group: NDArray[np.bool_]
) -> float:
    """Return the smaller of both groups' rates in shares of the larger; 0 where one is 0.

    Parameters
    ----------
    metric : {"sr", "fdr"}
    positive, y, group : ndarray of bool
        Decisions, labels and groups.
    """
    rates = []
    for members in (~group, group):
        chosen = positive[members]
        if metric == "sr":
            rates.append(float(chosen.mean()))
        else:
            rates.append(float((~y[members])[chosen].mean()) if chosen.any() else 0.0)
    least, largest = sorted(rates)
    return least / largest if least else 0.0


RANK = 1e6 * np.finfo(np.float64).eps
"""Variances below this share of the largest are none."""


APART = 1e-6
"""Squared distances from what can occur count as different beyond this share."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """A normal distribution of features and targets, conditional on features.

    Attributes
    ----------
    mean, unit : ndarray, (p + d,)
        Mean and standard deviation of features and targets; infinite for what does not vary, which
        then tells nothing.
    values : ndarray, (V, d)
        The values of targets that can occur.
    """

    mean: Floats
    unit: Floats
    values: Floats
    _precision: Floats
    _null: Floats

    def probabilities(self, features: Floats) -> Floats:
        """Return the density at each value of the targets, by row in shares of their sum.

        Where features determine targets, as when the group is a feature, only the values that the
        features allow have a share.
        """
        p = features.shape[1]
        away = (features - self.mean[:p]) / self.unit[:p]
        targets = (self.values - self.mean[p:]) / self.unit[p:]
        known, mixed = self._precision[p:, p:], self._precision[:p, p:]
        # What depends on features alone is the same for all values and falls out of the shares.
        logs = -0.5 * np.einsum("vi,ij,vj->v", targets, known, targets) - away @ mixed @ targets.T
        if self._null.shape[1]:
            off = away @ self._null[:p]
            apart = off[:, None, :] + (targets @ self._null[p:])[None, :, :]
            squared = (apart**2).sum(axis=2)
            least = squared.min(axis=1, keepdims=True)
            far = squared > least + APART * (least + np.abs(targets).max() ** 2)
            logs = np.where(far, -np.inf, logs)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)


def joint_normal(features: Floats, targets: Floats, values: Floats) -> Posterior:
    """Fit a normal distribution to features and targets; it may be degenerate.

    Parameters
    ----------
    features : ndarray, (n, p)
    targets : ndarray, (n, d)
    values : ndarray, (V, d)
        The values of targets that can occur.
    """
    both = np.column_stack([features, targets])
    mean, spread = both.mean(axis=0), both.std(axis=0)
    # Which axes have no variance must not depend on the units of features.
    unit = np.where(spread > RANK * np.abs(mean), spread, np.inf)
    standardised = (both - mean) / unit
    variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(standardised, rowvar=False)))
    used = variances > RANK * np.abs(variances).max()
    return Posterior(
        mean=mean,
        unit=unit,
        values=values,
        _precision=(axes[:, used] / variances[used]) @ axes[:, used].T,
        _null=axes[:, ~used],
    )
