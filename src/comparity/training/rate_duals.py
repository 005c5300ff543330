r"""The ratios a meta fair classifier can keep; labels and groups given features.

A classifier :math:`t(x) > 0` is sought with :math:`t = c_0 + C \lambda`, where
:math:`c_0 = P(y = 1 | x) - 1/2` and the columns of :math:`C` say how a positive decision changes
the rate of each group. The multipliers :math:`\lambda` minimise

.. math:: E |c_0 + C \lambda| + h(\lambda)

for a lower and an upper bound a and b of all rates (Celis, Huang, Keswani and Vishnoi,
"Classification with fairness constraints: a meta-algorithm with provable guarantees", 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDS, STEPS = range(1, 10), range(1, 50)
"""The published search: starts, and steps of size 1/k from each."""
LARGEST = 100.0
"""Beyond such a multiplier the label's probability, at most a half away from 1/2, says nothing."""
SMOOTH = 0.01
"""Absolute values are rounded off within about this distance of 0, for gradients."""
RANK = 1e6 * np.finfo(np.float64).eps
"""Variances below this share of the largest are none."""
APART = 1e-6
"""Squared distances from what can occur count as different beyond this share."""
GROUP_KNOWN = 100.0
"""Inverse penalty of the regression of groups: one that is a feature is known, or nearly."""
MOST_STEPS = 10_000
"""Of a logistic regression, which takes some dozens."""


def lay_out_dual(
    metric: str, shares: Floats, of_groups: Floats, low: float, high: float
) -> RateDual:
    """Lay out the program that keeps the rate of both groups between two bounds.

    Parameters
    ----------
    metric : {"sr", "fdr"}
    shares : ndarray, (n, 4)
        Posterior shares of (y, z) = (-1, 0), (1, 0), (-1, 1), (1, 1), by row.
    of_groups : ndarray, (2,)
        Shares of both groups.
    low, high : float
        a and b.
    """
    wrong, right = shares[:, [0, 2]], shares[:, [1, 3]]
    base, groups = right.sum(axis=1) - 0.5, wrong + right
    if metric == "sr":
        return RateDual(base, groups / of_groups, low=low, high=high, signed=True)
    # Two columns for the lower bound of both groups, two for the upper.
    return RateDual(base, np.hstack([wrong - low * groups, high * groups - wrong]))


@dataclass(frozen=True, slots=True, eq=False)
class RateDual:
    r"""The program for a pair of bounds.

    :math:`h(\lambda) = \sum_g (-b \lambda_g + (b - a) \max(0, \lambda_g))`.

    Attributes
    ----------
    base, columns : ndarray
        :math:`c_0` and :math:`C`, of the rows given.
    low, high : float
        a and b; 0 where the columns hold the bounds, so that h is 0.
    signed : bool
        Whether multipliers may be negative.
    """

    base: Floats
    columns: Floats
    low: float = 0.0
    high: float = 0.0
    signed: bool = False

    def decision(self, multipliers: Floats) -> Floats:
        """Return t(x) of the rows given."""
        return np.asarray(self.base + self.columns @ multipliers)

    def value(self, multipliers: Floats) -> float:
        """Return the value to minimise."""
        size, positive = np.abs(self.decision(multipliers)).mean(), np.maximum(multipliers, 0).sum()
        return float(size - self.high * multipliers.sum() + (self.high - self.low) * positive)

    def smooth(self, multipliers: Floats) -> tuple[float, Floats]:
        """Return the rounded off value and its gradient."""
        decision = self.decision(multipliers)
        size, long = (np.sqrt(one**2 + SMOOTH**2) for one in (decision, multipliers))
        width = self.high - self.low
        positive = (multipliers + long).sum() / 2
        slope = (decision / size) @ self.columns / len(self.base)
        slope = slope - self.high + width * (1 + multipliers / long) / 2
        return float(size.mean() - self.high * multipliers.sum() + width * positive), slope

    def minimum(self) -> Floats:
        """Return the multipliers that minimise the rounded off program, which is convex.

        It has no minimum where no classifier keeps the bounds of the rates; multipliers then stop
        at :data:`LARGEST`, and what they decide is judged like everything else.
        """
        from scipy.optimize import minimize

        many = self.columns.shape[1]
        box = [(-LARGEST if self.signed else 0.0, LARGEST)] * many
        found = minimize(self.smooth, np.zeros(many), jac=True, method="L-BFGS-B", bounds=box)
        return np.asarray(found.x, dtype=np.float64)

    def descend(self) -> Floats:
        """Return the end of the published descent that passed the least value."""
        least, kept = math.inf, np.zeros(0)
        for number in ROUNDS:
            at, passed = np.full(self.columns.shape[1], number - 5.0 * self.signed), math.inf
            for step in STEPS:
                at = at - self.smooth(at)[1] / step
                passed = min(passed, self.value(at))
            if passed < least:
                least, kept = passed, at
        return kept


class Frontier(NamedTuple):
    """Decisions along a line of multipliers, one entry for each stretch without a change.

    Attributes
    ----------
    at : ndarray
        A point of each stretch, from 0 on.
    accuracy : ndarray
        Share of right decisions.
    rates : ndarray, (2, S)
        Share of positive decisions in both groups.
    """

    at: Floats
    accuracy: Floats
    rates: Floats

    @property
    def ratio(self) -> Floats:
        """The smaller rate in shares of the larger; 0 where one is 0."""
        largest = self.rates.max(axis=0)
        return np.asarray(self.rates.min(axis=0) / np.where(largest > 0, largest, 1))


def follow_line(base: Floats, slope: Floats, positive: Flags, group: Flags) -> Frontier:
    r"""Return every set of decisions :math:`c_0 + \mu s > 0` for :math:`\mu \ge 0`.

    Parameters
    ----------
    base, slope : ndarray, (n,)
        :math:`c_0` and s.
    positive, group : ndarray of bool
        Labels and groups of the same rows.

    Notes
    -----
    Each row changes once at most, so that one sort counts them all.
    """
    flips = np.flatnonzero((base * slope < 0) | ((base == 0) & (slope > 0)))
    flips = flips[np.argsort(-base[flips] / slope[flips])]
    where = -base[flips] / slope[flips]
    gained = np.where(slope[flips] > 0, 1, -1)
    chosen = base > 0
    right = np.sum(chosen == positive) + _running_sums(gained * np.where(positive[flips], 1, -1))
    rates = [
        (chosen[members].sum() + _running_sums(gained * members[flips])) / members.sum()
        for members in (~group, group)
    ]
    ends = np.concatenate([[0.0], where, [2 * where.max(initial=0.0) or 1.0]])
    middle = (ends[:-1] + ends[1:]) / 2
    middle[0] = 0.0
    # Rows that change together, up to rounding, are no stretch of their own.
    long = np.diff(ends) > 1e-9 * ends[1:]
    return Frontier(middle[long], right[long] / len(base), np.array(rates)[:, long])


def _running_sums(changes: NDArray[np.int64]) -> Floats:
    """Return running sums that begin with 0."""
    return np.concatenate([[0.0], np.cumsum(changes)])


def ratio(metric: str, positive: Flags, y: Flags, group: Flags) -> float:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogisticPosterior:
    """Label and group by a logistic regression each, independent given the features.

    Where the group is a feature, or follows from them, that is no assumption.

    Attributes
    ----------
    mean, unit : ndarray, (p,)
        Of features; the unit is infinite for what does not vary.
    label, group : fitted classifiers
        Of standardised features; no group where there is none to tell.
    """

    mean: Floats
    unit: Floats
    label: Any
    group: Any = None

    def probabilities(self, features: Floats) -> Floats:
        """Return shares of (y, z) = (-1, 0), (1, 0), (-1, 1), (1, 1), or of y = -1, 1, by row."""
        away = (features - self.mean) / self.unit
        labels: Floats = self.label.predict_proba(away)
        if self.group is None:
            return labels
        groups: Floats = self.group.predict_proba(away)
        return np.hstack([labels * groups[:, [0]], labels * groups[:, [1]]])


def logistic_posterior(
    features: Floats, positive: Flags, group: Flags | None = None
) -> LogisticPosterior:
    """Fit a logistic regression to labels, and one to groups where there are any.

    Parameters
    ----------
    features : ndarray, (n, p)
    positive, group : ndarray of bool, (n,)
        Each with both values.
    """
    from sklearn.linear_model import LogisticRegression

    mean, spread = features.mean(axis=0), features.std(axis=0)
    unit = np.where(spread > RANK * np.abs(mean), spread, np.inf)
    away = (features - mean) / unit
    return LogisticPosterior(
        mean=mean,
        unit=unit,
        label=LogisticRegression(max_iter=MOST_STEPS).fit(away, positive),
        group=None
        if group is None
        else LogisticRegression(C=GROUP_KNOWN, max_iter=MOST_STEPS).fit(away, group),
    )
