r"""How far decisions and scores are from separation: by error rates, and by information.

Separation asks that a prediction :math:`C` is independent of the group :math:`A` given the label
:math:`Y`; for binary labels and predictions, that true and false positive rates do not depend on
the group. Gaps are first group minus second, between -1 and 1 [1]_; they are ``nan`` where a group
lacks positives or negatives, and a group that does not occur raises ``KeyError``. For scores and
labels of every kind it is the same as a conditional mutual information of zero [3]_.

References
----------
.. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eqs. (11) and (12), section 4.2.2.
.. [2] Hardt, Price and Srebro (2016), "Equality of opportunity in supervised learning".
.. [3] Steinberg, Reid and O'Callaghan (2020), "Fairness measures for regression via probabilistic
   classification".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from comparity.counts.decisions import DecisionCounts
from comparity.counts.densities import AttributeFit

__all__ = [
    "average_odds_gap",
    "equalized_odds_gap",
    "false_positive_rate",
    "false_positive_rate_gap",
    "relative_separation_information",
    "separation_information",
    "separation_odds_ratio",
    "true_positive_rate",
    "true_positive_rate_gap",
]


def true_positive_rate(counts: DecisionCounts, group: str) -> float:
    r"""Share of a group's positives that were predicted positive; ``nan`` without positives.

    .. math:: \mathrm{TPR}(a) = P(C = 1 \mid Y = 1, A = a)

    Examples
    --------
    >>> from comparity.counts.decisions import Confusion, DecisionCounts
    >>> counts = DecisionCounts({"a": Confusion(true_positives=3, false_negatives=1)})
    >>> true_positive_rate(counts, "a")
    0.75
    """
    return counts[group].positives.rate


def false_positive_rate(counts: DecisionCounts, group: str) -> float:
    r"""Share of a group's negatives that were predicted positive; ``nan`` without negatives.

    .. math:: \mathrm{FPR}(a) = P(C = 1 \mid Y = 0, A = a)

    Examples
    --------
    >>> from comparity.counts.decisions import Confusion, DecisionCounts
    >>> counts = DecisionCounts({"a": Confusion(false_positives=1, true_negatives=4)})
    >>> false_positive_rate(counts, "a")
    0.2
    """
    return counts[group].negatives.rate


def true_positive_rate_gap(counts: DecisionCounts, first: str, second: str) -> float:
    r"""Difference between two groups in the share of positives that were predicted positive.

    .. math:: \mathrm{EOD} = \mathrm{TPR}(a) - \mathrm{TPR}(b)

    Equal opportunity [2]_ holds when it is zero; it is known as the equal opportunity difference.
    Positive when the positives of `first` are found more often.

    Examples
    --------
    >>> from comparity.counts.decisions import Confusion, DecisionCounts
    >>> counts = DecisionCounts({
    ...     "a": Confusion(true_positives=3, false_negatives=1),
    ...     "b": Confusion(true_positives=1, false_negatives=1),
    ... })
    >>> true_positive_rate_gap(counts, "a", "b")
    0.25
    """
    return true_positive_rate(counts, first) - true_positive_rate(counts, second)


def false_positive_rate_gap(counts: DecisionCounts, first: str, second: str) -> float:
    r"""Difference between two groups in the share of negatives that were predicted positive.

    .. math:: \mathrm{FPR}(a) - \mathrm{FPR}(b)

    Positive when `first` has more false alarms among its negatives.

    Examples
    --------
    >>> from comparity.counts.decisions import Confusion, DecisionCounts
    >>> counts = DecisionCounts({
    ...     "a": Confusion(false_positives=1, true_negatives=3),
    ...     "b": Confusion(false_positives=1, true_negatives=1),
    ... })
    >>> false_positive_rate_gap(counts, "a", "b")
    -0.25
    """
    return false_positive_rate(counts, first) - false_positive_rate(counts, second)


def average_odds_gap(counts: DecisionCounts, first: str, second: str) -> float:
    r"""Mean of the gaps in true and in false positive rates between two groups.

    .. math:: \mathrm{AOD} = \tfrac12 \bigl(\mathrm{TPR}(a) - \mathrm{TPR}(b)
       + \mathrm{FPR}(a) - \mathrm{FPR}(b)\bigr)

    The two gaps can cancel, so zero does not mean that both rates are equal.

    Positive when `first` is predicted positive more often, labels being equal.

    Examples
    --------
    >>> from comparity.counts.decisions import Confusion, DecisionCounts
    >>> counts = DecisionCounts({
    ...     "a": Confusion(true_positives=1, false_positives=1, true_negatives=3),
    ...     "b": Confusion(true_positives=1, false_negatives=1, true_negatives=2),
    ... })
    >>> average_odds_gap(counts, "a", "b")
    0.375
    """
    odds = true_positive_rate_gap(counts, first, second)
    return (odds + false_positive_rate_gap(counts, first, second)) / 2


def equalized_odds_gap(counts: DecisionCounts) -> float:
    r"""Largest difference between any two groups in true or in false positive rates.

    .. math:: \max\bigl(\max_a \mathrm{TPR}(a) - \min_a \mathrm{TPR}(a),\;
       \max_a \mathrm{FPR}(a) - \min_a \mathrm{FPR}(a)\bigr)

    Unlike other gaps it has no sign, because it compares all groups at once. It grows with the
    number of groups by chance alone. Fairlearn calls it the equalized odds difference [1]_.

    Parameters
    ----------
    counts : DecisionCounts
        Decisions by group.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when any group lacks positives or negatives, or without decisions.

    References
    ----------
    .. [1] Bird et al. (2020), "Fairlearn: A toolkit for assessing and improving fairness in AI".

    Examples
    --------
    >>> from comparity.counts.decisions import Confusion, DecisionCounts
    >>> counts = DecisionCounts({
    ...     "a": Confusion(true_positives=1, false_positives=1, true_negatives=3),
    ...     "b": Confusion(true_positives=1, false_negatives=1, true_negatives=2),
    ... })
    >>> equalized_odds_gap(counts)
    0.5
    """
    true = [true_positive_rate(counts, group) for group in counts]
    false = [false_positive_rate(counts, group) for group in counts]
    return float(np.maximum(_range(true), _range(false)))


def _range(rates: Sequence[float]) -> float:
    """Return the largest minus the smallest rate; ``nan`` if any is ``nan`` or there is none."""
    return float(np.ptp(rates)) if rates else float("nan")


def separation_information(fit: AttributeFit) -> float:
    r"""Mean information, in nats, that a score adds about the attribute.

    .. math:: \hat I = \frac1n \sum_i \log \frac{\rho(a_i \mid y_i, \hat y_i)}{\rho(a_i \mid y_i)}

    as printed in Xi, Capak, Stockwell and Yu, "Comparative Separation", section 4.2.2.

    Returns
    -------
    float
        At best 0; at most the entropy of the attribute. Slightly negative values are possible,
        because a ridge holds the larger model back.

    Examples
    --------
    >>> separation_information(AttributeFit(n=10, joint=-5.0, margin=-6.0))
    0.1
    """
    return (fit.joint - fit.margin) / fit.n


def relative_separation_information(fit: AttributeFit) -> float:
    r"""Share of what labels leave unknown about the attribute that a score tells.

    .. math:: \hat I / \hat H(A \mid Y), \qquad
       \hat H(A \mid Y) = -\frac1n \sum_i \log \rho(a_i \mid y_i)

    which is what the authors' code of "Comparative Separation" reports.

    Returns
    -------
    float
        Between 0 and 1, up to chance; ``nan`` where labels tell the attribute entirely. For
        an attribute that is a number the denominator is a differential entropy, which may be
        negative or zero and depends on units: ``nan`` then.

    Examples
    --------
    >>> round(relative_separation_information(AttributeFit(n=10, joint=-5.0, margin=-6.0)), 4)
    0.1667
    """
    return (fit.joint - fit.margin) / -fit.margin if fit.margin < 0 else math.nan


def separation_odds_ratio(fit: AttributeFit) -> float:
    r"""Mean odds ratio of two groups given label and score against given the label.

    .. math:: r_{sep} = \frac1n \sum_i \frac{\rho(1 \mid y_i, \hat y_i)}{\rho(0 \mid y_i, \hat y_i)}
       \cdot \frac{\rho(0 \mid y_i)}{\rho(1 \mid y_i)}

    the density-ratio form of Steinberg et al.: 1 under separation. It is a mean of ratios, which
    few rows with extreme odds can dominate.

    Returns
    -------
    float
        Positive; ``nan`` unless there are two groups.

    Examples
    --------
    >>> separation_odds_ratio(AttributeFit(n=10, joint=-5.0, margin=-6.0, odds_ratio=12.0))
    1.2
    """
    return fit.odds_ratio / fit.n
