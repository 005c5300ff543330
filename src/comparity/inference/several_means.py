"""Means of more than two groups with unequal variances: all at once, and every two of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

from scipy.special import fdtrc

from comparity.differences import Moments
from comparity.inference.means import satterthwaite
from comparity.relative import MeansTest

__all__ = ["games_howell", "welch_anova"]


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
        (a, b): _studentised(groups[a], groups[b], len(groups)) for a, b in combinations(groups, 2)
    }


def _studentised(first: Moments, second: Moments, k: int) -> float:
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
