"""How far decisions are from separation: the same error rates in every group.

Separation asks that a prediction :math:`C` is independent of the group :math:`A` given the label
:math:`Y`; for binary labels and predictions, that true and false positive rates do not depend on
the group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from comparity.counts.decisions import DecisionCounts

__all__ = [
    "average_odds_gap",
    "equalized_odds_gap",
    "false_positive_rate",
    "false_positive_rate_gap",
    "true_positive_rate",
    "true_positive_rate_gap",
]


def true_positive_rate(counts: DecisionCounts, group: str) -> float:
    r"""Share of a group's positives that were predicted positive.

    .. math:: \mathrm{TPR}(a) = P(C = 1 \mid Y = 1, A = a)

    Parameters
    ----------
    counts : DecisionCounts
        Decisions by group.
    group : str
        A group that occurs in `counts`; any other raises ``KeyError``.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when the group has no positives.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eq. (12).

    Examples
    --------
    >>> from comparity.counts.decisions import Confusion, DecisionCounts
    >>> counts = DecisionCounts({"a": Confusion(true_positives=3, false_negatives=1)})
    >>> true_positive_rate(counts, "a")
    0.75
    """
    return counts[group].positives.rate


def false_positive_rate(counts: DecisionCounts, group: str) -> float:
    r"""Share of a group's negatives that were predicted positive.

    .. math:: \mathrm{FPR}(a) = P(C = 1 \mid Y = 0, A = a)

    Parameters
    ----------
    counts : DecisionCounts
        Decisions by group.
    group : str
        A group that occurs in `counts`; any other raises ``KeyError``.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when the group has no negatives.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eq. (12).

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

    Parameters
    ----------
    counts : DecisionCounts
        Decisions by group.
    first, second : str
        The groups to compare.

    Returns
    -------
    float
        Between -1 and 1; positive when the positives of `first` are found more often. ``nan`` when
        either group has no positives.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eq. (11).
    .. [2] Hardt, Price and Srebro (2016), "Equality of opportunity in supervised learning".

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

    Parameters
    ----------
    counts : DecisionCounts
        Decisions by group.
    first, second : str
        The groups to compare.

    Returns
    -------
    float
        Between -1 and 1; positive when `first` has more false alarms among its negatives. ``nan``
        when either group has no negatives.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eq. (11).

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

    Parameters
    ----------
    counts : DecisionCounts
        Decisions by group.
    first, second : str
        The groups to compare.

    Returns
    -------
    float
        Between -1 and 1; positive when `first` is predicted positive more often, labels being
        equal. ``nan`` when either group lacks positives or negatives.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eq. (11).

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
