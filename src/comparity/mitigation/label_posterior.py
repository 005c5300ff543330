"""How probable labels and groups are for given features, when everything is normal together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Posterior", "joint_normal"]

Floats = NDArray[np.float64]

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
