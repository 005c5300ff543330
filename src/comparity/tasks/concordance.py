r"""How often two answers order a pair of items alike, by one judge or by two.

Both tasks are measured on one scale. An answer orders items :math:`i` and :math:`k` by
:math:`o \in \{1, 0, -1\}`, and two answers are alike with

.. math:: a = \tfrac{1}{2} (1 + o\, o'),

so that a tie counts as a coin that is thrown: half. Guessing gives 1/2, and so do ties only.

*Consistency* is the mean over pairs that one judge ordered twice, *agreement* the mean over pairs
that two judges ordered. The error for other judges of these items, :math:`V_{judges}`, is from
leaving out each judge in turn (jackknife), with everything that involves this judge. Other items
add what answers about one item have in common: with residuals
:math:`e_c = w_c (a_c - \bar a) / \sum w`,

.. math:: V = V_{judges} + \max\Big(0, \sum_{c \ne c'} e_c e_{c'} \,
    [c, c' \text{ share an item}] \Big) .

The sum is one of squares: over items, minus that over pairs of items, which would count twice
[1]_. What shares an item and a judge is in both parts, so that the error is rather too large.

Pairs that ratings imply are weighted so that kinds of pairs (the groups of both items) have the
shares that they have among comparisons.

References
----------
.. [1] Aronow, Samii and Assenova (2015), "Cluster-robust variance estimation for dyadic data",
   Political Analysis 23.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from comparity.tasks.answers import Floats, Ints, TaskAnswers

ROUNDING = 1e-9
"""Weights of pairs below which nothing is left."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Concordance:
    """How often answers are alike.

    Attributes
    ----------
    value : float
        ``nan`` where no pair was ordered twice.
    variance : float
        For other judges and other items.
    judge_variance : float
        For other judges of these items, from leaving out each judge in turn.
    n : int
        Pairs of answers behind it.
    judges : ndarray of int
        Judges behind it.
    by_judge : ndarray of float
        The mean of each of them.
    n_items : int
    """

    value: float
    variance: float
    judge_variance: float
    n: int
    judges: Ints
    by_judge: Floats
    n_items: int


def consistency(answers: TaskAnswers, weights: Floats | None, n_items: int) -> Concordance:
    """Return how often a judge who orders a pair twice orders it alike.

    Parameters
    ----------
    answers : TaskAnswers
    weights : ndarray of float or None
        Of each pair that was ordered twice.
    n_items : int
    """
    rows = answers.again
    weight = np.ones(len(rows.order)) if weights is None else weights
    total = float(weight.sum())
    if not total > 0:
        return _unknown()
    alike = (1 + rows.order) / 2
    value = float(weight @ alike) / total
    e = weight * (alike - value) / total
    pair = rows.low * n_items + rows.high
    of_judges = _jackknife(rows.judge, weight * alike, weight, 1)
    of_items = _dyadic(rows.low, rows.high, pair, e)
    judges = np.unique(rows.judge)
    sums = [np.bincount(rows.judge, one)[judges] for one in (weight * alike, weight)]
    return Concordance(
        value=value,
        variance=of_judges + max(of_items - float(e @ e), 0.0),
        judge_variance=of_judges,
        n=len(alike),
        judges=judges,
        by_judge=sums[0] / sums[1],
        n_items=len(np.unique([rows.low, rows.high])),
    )


def agreement(answers: TaskAnswers, weights: Floats | None, n_items: int) -> Concordance:
    r"""Return how often two judges who order the same pair order it alike.

    Answers are not put beside each other one by one: with the sum :math:`S_p` of the orders of a
    pair that :math:`n_p` judges ordered, all that involve judge :math:`j` add up to
    :math:`w_p \big((n_p - 1) (\tfrac12 - \bar a) + \tfrac12 o_{jp} (S_p - o_{jp}) \big)`.
    """
    rows = answers.orders
    weight = np.ones(len(rows.order)) if weights is None else weights
    key = rows.low * n_items + rows.high
    _, pair, times = np.unique(key, return_inverse=True, return_counts=True)
    shared = times[pair] > 1
    if not (weight[shared] > 0).any():
        return _unknown()
    rows, weight = rows.keep(shared), weight[shared]
    key, pair = np.unique(rows.low * n_items + rows.high, return_inverse=True)
    order = rows.order.astype(np.float64)
    n, sums = np.bincount(pair), np.bincount(pair, order)
    others, matched = n[pair] - 1, order * (sums[pair] - order)
    # Every two answers are met twice, from either of them.
    total = float(weight @ others) / 2
    value = float(weight @ (others + matched)) / 4 / total
    mine = weight * (others * (0.5 - value) + matched / 2) / total
    of_pairs = np.bincount(pair, mine) / 2
    low, high = key // n_items, key % n_items
    item = _dyadic(low, high, np.arange(len(key)), of_pairs)
    decided = np.bincount(pair, order**2)
    centre = 0.5 - value
    # The squares of w (c + o o' / 2), summed over the pairs of judges of each pair of items.
    squares = centre**2 * n * (n - 1) + centre * (sums**2 - decided) + decided * (decided - 1) / 4
    of_pair = np.zeros(len(key))
    of_pair[pair] = weight / total
    single = float(of_pair**2 @ squares) / 2
    judges = np.unique(rows.judge)
    met = [np.bincount(rows.judge, weight * one)[judges] for one in (others + matched, others)]
    by_judges = _jackknife(rows.judge, weight * (others + matched) / 2, weight * others, 2)
    return Concordance(
        value=value,
        variance=by_judges + max(item - single, 0.0),
        judge_variance=by_judges,
        n=int((n * (n - 1) // 2).sum()),
        judges=judges,
        by_judge=met[0] / met[1] / 2,
        n_items=len(np.unique([low, high])),
    )


def _squares(cluster: Ints, e: Floats) -> float:
    """Return the sum of the squares of sums by cluster."""
    _, place = np.unique(cluster, return_inverse=True)
    sums = np.bincount(place, e)
    return float(sums @ sums)


def _dyadic(one: Ints, two: Ints, pair: Ints, e: Floats) -> float:
    """Return the same for rows with two members each; what shares both counts once."""
    return _squares(np.concatenate([one, two]), np.tile(e, 2)) - _squares(pair, e)


def _jackknife(judge: Ints, alike: Floats, weight: Floats, members: int) -> float:
    """Return the variance of a ratio of sums, from leaving out each judge in turn.

    Parameters
    ----------
    judge, alike, weight : ndarray
        Rows of judges, with what is summed above and below.
    members : int
        How many judges have each part of the sums among their rows.
    """
    _, who = np.unique(judge, return_inverse=True)
    n = int(who.max()) + 1
    above, below = (one.sum() / members - np.bincount(who, one) for one in (alike, weight))
    # Without one of few judges there may be nothing left.
    if n < 2 or not (below > ROUNDING).all():
        return math.nan
    left = above / below
    return float((n - 1) / n * ((left - left.mean()) ** 2).sum())


def _unknown() -> Concordance:
    none = np.zeros(0, dtype=np.int64)
    return Concordance(
        value=math.nan,
        variance=math.nan,
        judge_variance=math.nan,
        n=0,
        judges=none,
        by_judge=np.zeros(0),
        n_items=0,
    )
