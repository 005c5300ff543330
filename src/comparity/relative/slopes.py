r"""How differences change with a number such as age, and means of more than two groups.

The difference is regressed on the attribute, :math:`R_\Delta = \alpha + \beta A + e`, with standard
errors that hold when the spread changes with the attribute (HC3). The slope is judged as the gap
between subjects two standard deviations of the attribute apart, in standard deviations of the
residuals:

.. math:: \frac{2 \, \mathrm{sd}(A) \, \hat\beta}{s_e}

The t distribution allows for how few subjects the error may rest on: its degrees of freedom are
those of a chi-square with the mean and variance that HC3 has where the spread is equal
(Satterthwaite; Bell and McCaffrey, "Bias reduction in standard errors for linear regression with
multi-stage samples", Survey Methodology 28, 2002): n where two groups have equal sizes, about a
third of that with a normal attribute, and 1 where a subject far out draws the line. With n - 2 of
them, false alarms at 0.05 would be 0.08 to 0.17 there.

With two groups of equal size coded 0 and 1 that is DPD, so one margin serves both (Gelman,
"Scaling regression inputs by dividing by two standard deviations", Statistics in Medicine 27,
2008). The attribute is taken as given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from comparity.counts.decision_sets import Decisions
from comparity.counts.differences import Moments
from comparity.inference.gap_tests import GapTest, untested_gap
from comparity.inference.means import (
    ConstantPivot,
    RatioPivot,
    is_rare,
    satterthwaite,
    without_variation,
)
from comparity.relative.result import MeansTest

Floats = NDArray[np.float64]

# From this leverage on a slope has so few degrees of freedom that little is found.
HIGH_LEVERAGE = 0.2


def compare_slope(differences: Floats, attribute: Floats, *, null: str) -> GapTest:
    """Test whether the mean difference changes linearly with an attribute.

    Parameters
    ----------
    differences, attribute : ndarray, (n,)
        One entry for each subject; the attribute must vary.
    null : str
        The hypothesis in words.

    Returns
    -------
    GapTest
        On the scale of the module. No test, and the reason, with fewer than ten subjects, where
        too few differences are off the most common one, or where one subject alone has another
        value of the attribute than all others.

    Examples
    --------
    >>> age = np.arange(100.0)
    >>> test = compare_slope(0.01 * age + np.tile([-1.0, 1.0], 50), age, null="slope = 0")
    >>> round(test.gap, 3), test.method
    (0.609, 'regression with HC3 errors')
    """
    n = len(differences)
    moments = Moments.of(differences)
    if moments.m2 == 0 and n >= FEWEST:
        return without_variation(null, (n, n), ConstantPivot(n // 2, n))
    line = SlopeFit.over(attribute)
    reason = _impossible(moments, line)
    if reason:
        return untested_gap(null, (n, n), reason)
    slope = _pivot(differences, line)
    return gap_by_ratio(slope, null=null, n=(n, n), method="regression with HC3 errors")


def gap_by_ratio(pivot: RatioPivot, *, null: str, n: tuple[int, int], method: str) -> GapTest:
    """Test that a ratio of a gap to a scale is zero."""
    return GapTest(
        null=null,
        gap=pivot.gap / pivot.scale,
        standard_error=pivot.standard_error,
        p_value=pivot.p_value(0.0),
        n=n,
        method=method,
        pivot=pivot,
    )


@dataclass(frozen=True, slots=True)
class SlopeFit:
    """What a line over an attribute rests on.

    Attributes
    ----------
    x : ndarray, (n,)
        The attribute about its mean, in units of a power of two.
    squares : float
        Their sum of squares.
    leverages : ndarray, (n,)
        How much of each difference its own fitted value takes over.
    """

    x: Floats
    squares: float
    leverages: Floats

    @classmethod
    def over(cls, attribute: Floats) -> SlopeFit:
        """Return the line over an attribute that varies."""
        x = attribute - attribute.mean()
        # In units of a power of two, which changes no digit, so that no square vanishes.
        x = np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))
        squares = float(x @ x)
        return cls(x, squares, 1 / len(x) + x**2 / squares)

    @property
    def dof(self) -> float:
        r"""Degrees of freedom of the HC3 variance of the slope, :math:`(tr G)^2 / tr(G^2)`.

        :math:`G = M D M` with M the residuals' projection and D what the variance multiplies
        squares of residuals with.
        """
        x, n, own = self.x, len(self.x), self.leverages
        d = (x / (1 - own)) ** 2
        d /= d.max()
        # M is the identity minus 1/n + x x' / squares, whose square is summed without its diagonal.
        off_diagonal = (d.sum() / n) ** 2 + 2 * (d @ x) ** 2 / (n * self.squares)
        off_diagonal += (d @ x**2 / self.squares) ** 2
        trace_of_square = off_diagonal + d**2 @ ((1 - own) ** 2 - own**2)
        # Less than 1 is rounding, where one subject is all there is.
        return max(1.0, float((d @ (1 - own)) ** 2 / trace_of_square))


FEWEST = 10


LEAST_RESIDUAL_SHARE = 1e-5
"""Part of its own residual that the furthest subject keeps at least; of less, rounding decides."""


def _impossible(moments: Moments, line: SlopeFit) -> str:
    if moments.n < FEWEST:
        return f"a slope needs {FEWEST} subjects, there are {moments.n}."
    if 1 - line.leverages.max() < LEAST_RESIDUAL_SHARE:
        return "one subject alone draws the line: all others have nearly the same value."
    if is_rare(moments):
        return (
            f"only {moments.away} of {moments.n:,} differences are off the most common one, too "
            "few to judge a slope by; the permutation test needs no such number."
        )
    return ""


def _pivot(differences: Floats, line: SlopeFit) -> RatioPivot:
    x, squares, n = line.x, line.squares, len(differences)
    slope = float(x @ differences) / squares
    residuals = differences - differences.mean() - slope * x
    # HC3: a subject far out pulls the line towards itself.
    of_slope = x * residuals / (1 - line.leverages) / squares
    # Differences that lie on the line have no spread but that of their last digit.
    least = float(np.spacing(np.abs(differences).max()))
    scale = max(math.sqrt(float(residuals @ residuals) / (n - 2)), least)
    of_scale = (residuals**2 - float(residuals @ residuals) / n) / (2 * scale * n)
    width = 2 * math.sqrt(squares / (n - 1))
    return RatioPivot(
        gap=width * slope,
        scale=scale,
        variance=width**2 * float(of_slope @ of_slope),
        covariance=width * float(of_slope @ of_scale),
        scale_variance=float(of_scale @ of_scale),
        dof=line.dof,
    )


def welch_anova(groups: Mapping[str, Moments], *, null: str) -> MeansTest:
    r"""Test whether the means of several groups are all equal, whatever their variances.

    With :math:`w_k = n_k / s_k^2`, :math:`W` their sum, :math:`\tilde x` the mean weighted by them
    and :math:`\lambda = \sum_k (1 - w_k / W)^2 / (n_k - 1)`, Welch's statistic [1]_ is

    .. math:: F = \frac{\sum_k w_k (\bar x_k - \tilde x)^2 / (K - 1)}
       {1 + 2 \lambda (K - 2) / (K^2 - 1)}

    on :math:`K - 1` and :math:`(K^2 - 1) / (3 \lambda)` degrees of freedom. For two groups it is
    the square of Welch's t.

    Parameters
    ----------
    groups : mapping of str to Moments
        Differences of each group.
    null : str
        The hypothesis in words.

    Returns
    -------
    MeansTest
        Statistic and p value are ``nan``, and `method` says why, where a group has fewer than two
        rows or differences that do not vary.

    References
    ----------
    .. [1] Welch (1951), "On the comparison of several mean values: an alternative approach".

    Examples
    --------
    >>> import numpy as np
    >>> groups = {name: Moments.of(np.arange(9.0) + place) for place, name in enumerate("abc")}
    >>> test = welch_anova(groups, null="a = b = c")
    >>> round(test.statistic, 3), [round(dof, 1) for dof in test.dof], round(test.p_value, 3)
    (1.152, [2.0, 16.0], 0.341)
    """
    k = len(groups)
    if not all(one.n > 1 and one.variance > 0 for one in groups.values()):
        method = "Welch's analysis of variance: a group does not vary, or has one row"
        return MeansTest(
            null=null, statistic=math.nan, dof=(k - 1, math.nan), p_value=math.nan, method=method
        )
    weights = [one.n / one.variance for one in groups.values()]
    means = [one.mean for one in groups.values()]
    total = sum(weights)
    centre = sum(w * mean for w, mean in zip(weights, means, strict=True)) / total
    between = sum(w * (mean - centre) ** 2 for w, mean in zip(weights, means, strict=True))
    unevenness = sum(
        (1 - w / total) ** 2 / (one.n - 1) for w, one in zip(weights, groups.values(), strict=True)
    )
    statistic = between / (k - 1) / (1 + 2 * unevenness * (k - 2) / (k**2 - 1))
    dof = (float(k - 1), (k**2 - 1) / (3 * unevenness))
    return MeansTest(
        null=null,
        statistic=statistic,
        dof=dof,
        p_value=float(fdtrc(*dof, statistic)),
        method="Welch's analysis of variance",
    )


def games_howell(groups: Mapping[str, Moments]) -> dict[tuple[str, str], float]:
    r"""Return p values of all pairwise comparisons, corrected for there being several.

    .. math:: p_{ab} = P\Big(Q_{K, \nu_{ab}} > \frac{|\bar x_a - \bar x_b|}
       {\sqrt{(s_a^2 / n_a + s_b^2 / n_b) / 2}}\Big)

    with :math:`Q` the studentised range of :math:`K` means and :math:`\nu_{ab}` Welch's degrees of
    freedom [1]_. For two groups it is Welch's test.

    Parameters
    ----------
    groups : mapping of str to Moments
        Differences of each group.

    Returns
    -------
    dict of (str, str) to float
        By pair, in the order of `groups`; ``nan`` where a group has fewer than two rows, 1 where
        the means are equal and 0 where they differ without any variance.

    References
    ----------
    .. [1] Games and Howell (1976), "Pairwise multiple comparison procedures with unequal N's and/or
       variances".

    Examples
    --------
    >>> import numpy as np
    >>> groups = {name: Moments.of(np.arange(9.0) + place) for place, name in enumerate("abc")}
    >>> {pair: round(p, 3) for pair, p in games_howell(groups).items()}
    {('a', 'b'): 0.723, ('a', 'c'): 0.295, ('b', 'c'): 0.723}
    """
    return {
        (a, b): _games_howell_p(groups[a], groups[b], len(groups))
        for a, b in combinations(groups, 2)
    }


def _games_howell_p(first: Moments, second: Moments, k: int) -> float:
    from scipy.stats import studentized_range

    if min(first.n, second.n) < 2:
        return math.nan
    variances = [first.variance / first.n, second.variance / second.n]
    distance = abs(first.mean - second.mean)
    if not sum(variances):
        return 0.0 if distance else 1.0
    dof = satterthwaite(variances, [first.n - 1, second.n - 1])
    p_value = studentized_range.sf(distance / math.sqrt(sum(variances) / 2), k, dof)
    return min(max(float(p_value), 0.0), 1.0)


def notes_on_leverage(found: Decisions) -> list[str]:
    """Warn of numbers of which one subject lies so far out that the line rests on it."""
    notes = []
    for attribute in found.numbers:
        _, values = found.rows(0, 1, attribute)
        away = np.abs(values - values.mean())
        # The square of the furthest is 1, however small the unit.
        pull = 1 / len(values) + 1 / float(np.sum((away / away.max()) ** 2))
        if pull > HIGH_LEVERAGE:
            notes.append(
                f"WARNING: the line over {attribute} rests on one subject far out (leverage "
                f"{pull:.2f}): the test allows for that and finds little; take logarithms or ranks."
            )
    return notes
