r"""How often two answers order a pair of items alike, by one judge or by two.

Both tasks are measured on one scale. An answer orders items :math:`i` and :math:`k` by
:math:`o \in \{1, 0, -1\}`, and two answers are alike with

.. math:: a = \tfrac{1}{2} (1 + o\, o'),

so that a tie counts as a coin that is thrown: half. Guessing gives 1/2, and so do ties only.
*Consistency* is the mean over pairs that one judge ordered twice, *agreement* the mean over pairs
that two judges ordered. Of a mean :math:`\bar a` with weights :math:`w_c` that add up to 1,
:math:`e_c = w_c (a_c - \bar a)` are the residuals.

**Other judges of these items.** The variance of consistency, :math:`V_J`, is from leaving out each
judge in turn (jackknife). Agreement is a mean over pairs of judges, of which the jackknife counts
what belongs to one pair alone twice [1]_. With :math:`e_{jk}` the residuals of judges :math:`j` and
:math:`k` together, :math:`Q = \sum_{j < k} e_{jk}^2` is therefore subtracted,

.. math:: V_J = \max(\text{jackknife} - Q,\; Q,\; V_0) .

It is at least :math:`Q`, as if pairs of judges were independent, and at least :math:`V_0`, the
variance of a mean of independent answers with four imagined ones beside them, two alike and two
not: two meetings that happen to be alike do not prove that all are. If few judges meet, much of
:math:`V_J` is noise :math:`N` of products of residuals, and

.. math:: \frac{1}{\nu} = \frac{1}{J - 1} + \frac{N}{2 V_J^2}, \qquad
    N = \tfrac{2}{3} \sum_{j < k} e_{jk}^4
    + 2 \sum_j \Big( \big( \sum_k e_{jk}^2 \big)^2 - \sum_k e_{jk}^4 \Big)

gives the degrees of freedom. With fewer than five pairs of judges there is no variance.

**Other items, too.** Answers of different judges about one item have something in common. Let
:math:`X` be the sum of :math:`e_c e_{c'}` over answers that share an item but no judge,
:math:`F_X` the same sum of :math:`w_c w_{c'}`, and :math:`F` that over all that share an item.
Residuals add up to zero, which makes :math:`X` too small by :math:`F_X V`, and what shares a judge
has as much in common by its items as what does not. Hence

.. math:: V = \max\Big(V_J,\; \frac{V_J + X F / F_X}{1 - F} \Big) .

Each sum is one of squares: over items, minus that over pairs of items, which would count twice
[2]_.

Pairs that ratings imply are weighted so that kinds of pairs (the groups of both items) have the
shares that they have among comparisons.

References
----------
.. [1] Efron and Stein (1981), "The jackknife estimate of variance", Annals of Statistics 9.
.. [2] Aronow, Samii and Assenova (2015), "Cluster-robust variance estimation for dyadic data",
   Political Analysis 23.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from comparity.counts.pairs import ROUNDING
from comparity.tasks.answers import Floats, Ints, Orders, TaskAnswers

FEWEST_PAIRS = 5
"""Pairs of judges below which nothing is said of others like them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Concordance:
    """How often answers are alike.

    Attributes
    ----------
    value : float
        ``nan`` where no pair was ordered twice.
    variance, dof : float
        For other judges and other items, with its degrees of freedom.
    judge_variance, judge_dof : float
        For other judges of these items.
    n : int
        Pairs of answers behind it.
    judges : ndarray of int
        Judges behind it.
    by_judge : ndarray of float
        The mean of each of them.
    """

    value: float
    variance: float
    dof: float
    judge_variance: float
    judge_dof: float
    n: int
    judges: Ints
    by_judge: Floats


class _JudgeSpread(NamedTuple):
    """A variance with its degrees of freedom."""

    variance: float
    dof: float


class _Apart(NamedTuple):
    """What answers about one item have in common.

    Attributes
    ----------
    products : float
        Of residuals that share an item and no judge, summed.
    weight, whole : float
        The same sum of weights, and that over all that share an item.
    noise : float
        Variance of the first, if they have nothing in common.
    n_items : int
    """

    products: float
    weight: float
    whole: float
    noise: float
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
        return _undefined_concordance()
    alike = (1 + rows.order) / 2
    value = float(weight @ alike) / total
    e = weight * (alike - value) / total
    judges = np.unique(rows.judge)
    by_judges = _JudgeSpread(_jackknife(rows.judge, weight * alike, weight, 1), len(judges) - 1)
    squares, weighed, noise = (_by_others(rows, one, n_items) for one in (e, weight / total, e**2))
    items = len(np.unique([rows.low, rows.high]))
    apart = _Apart(squares[1], weighed[1], weighed[0], 2 * noise[1], items)
    both = _with_items(by_judges, apart)
    sums = [np.bincount(rows.judge, one)[judges] for one in (weight * alike, weight)]
    return Concordance(
        value=value,
        variance=both.variance,
        dof=both.dof,
        judge_variance=by_judges.variance,
        judge_dof=by_judges.dof,
        n=len(alike),
        judges=judges,
        by_judge=sums[0] / sums[1],
    )


def _by_others(rows: Orders, e: Floats, n_items: int) -> tuple[float, float]:
    """Return the sum of products that share an item, and of those among them of two judges."""
    pair, judge = rows.low * n_items + rows.high, rows.judge
    low, high = judge * n_items + rows.low, judge * n_items + rows.high
    whole = _dyadic(rows.low, rows.high, pair, e)
    return whole, whole - _dyadic(low, high, judge * n_items**2 + pair, e)


def _with_items(judges: _JudgeSpread, apart: _Apart) -> _JudgeSpread:
    """Return the variance for other judges and other items."""
    if not apart.weight > ROUNDING or not apart.whole < 1 - ROUNDING:
        return judges
    factor = apart.whole / apart.weight / (1 - apart.whole)
    whole = judges.variance / (1 - apart.whole) + apart.products * factor
    if not whole > judges.variance:
        return judges
    of_items = whole - judges.variance
    below = judges.variance**2 / judges.dof + of_items**2 / (apart.n_items - 1)
    return _JudgeSpread(whole, whole**2 / (below + apart.noise * factor**2 / 2))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Meetings:
    """Answers of two judges about one pair, not put beside each other one by one.

    Attributes
    ----------
    judge, pair : ndarray of int
        Of each answer, counted from 0.
    order : ndarray of float
    weight : ndarray of float
        Of two answers about each pair; over all meetings the weights add up to 1.
    low, high : ndarray of int
        Items of each pair.
    shape : (int, int)
        Judges and pairs.
    centre : float
        One half minus the mean.
    """

    judge: Ints
    pair: Ints
    order: Floats
    weight: Floats
    low: Ints
    high: Ints
    shape: tuple[int, int]
    centre: float

    def by_two(self) -> tuple[Floats, Floats, Floats]:
        """Return residuals and weights by two judges, and their squares by item, summed."""
        residuals, weights = (np.zeros((self.shape[0], self.shape[0])) for _ in range(2))
        squares = np.zeros(2)
        low, high = self.low[self.pair], self.high[self.pair]
        item = np.concatenate([low, high])
        rows = np.argsort(item, kind="stable")
        for at in np.split(rows, np.flatnonzero(np.diff(item[rows])) + 1):
            one = at % len(low)
            judges, judge = np.unique(self.judge[one], return_inverse=True)
            _, other = np.unique((low + high)[one] - item[at], return_inverse=True)
            met = np.zeros((len(judges), int(other.max()) + 1))
            met[judge, other] = np.sqrt(self.weight[self.pair[one]])
            ordered = met.copy()
            ordered[judge, other] *= self.order[one]
            weight = met @ met.T
            residual = self.centre * weight + ordered @ ordered.T / 2
            for table, here in ((residuals, residual), (weights, weight)):
                np.fill_diagonal(here, 0)
                # Every pair of items is met at either of them.
                table[np.ix_(judges, judges)] += here / 2
            squares += [float((here**2).sum()) / 2 for here in (residual, weight)]
        return residuals, weights, squares

    def squares(self) -> tuple[float, float]:
        """Return the sums of squares over single meetings, of residuals and of weights."""
        n, sums, decided = (np.bincount(self.pair, self.order**power) for power in (0, 1, 2))
        ordered = (sums**2 - decided) / 2
        found = (
            self.centre**2 * n * (n - 1) / 2 + self.centre * ordered + decided * (decided - 1) / 8
        )
        squared = self.weight**2
        return float(squared @ found), float(squared @ (n * (n - 1))) / 2


def agreement(answers: TaskAnswers, weights: Floats | None, n_items: int) -> Concordance:
    r"""Return how often two judges who order the same pair order it alike.

    With the sum :math:`S_p` of the orders of a pair that :math:`n_p` judges ordered, all meetings
    that involve judge :math:`j` add up to
    :math:`w_p \big((n_p - 1) (\tfrac12 - \bar a) + \tfrac12 o_{jp} (S_p - o_{jp}) \big)`.
    """
    rows = answers.orders
    weight = np.ones(len(rows.order)) if weights is None else weights
    key = rows.low * n_items + rows.high
    _, pair, times = np.unique(key, return_inverse=True, return_counts=True)
    shared = times[pair] > 1
    if not (weight[shared] > 0).any():
        return _undefined_concordance()
    rows, weight = rows.keep(shared), weight[shared]
    key, first, pair = np.unique(
        rows.low * n_items + rows.high, return_index=True, return_inverse=True
    )
    order = rows.order.astype(np.float64)
    n, sums = np.bincount(pair), np.bincount(pair, order)
    others, matched = n[pair] - 1, order * (sums[pair] - order)
    # Every two answers are met twice, from either of them.
    total = float(weight @ others) / 2
    value = float(weight @ (others + matched)) / 4 / total
    judges, judge = np.unique(rows.judge, return_inverse=True)
    met = _Meetings(
        judge=judge,
        pair=pair,
        order=order,
        weight=weight[first] / total,
        low=key // n_items,
        high=key % n_items,
        shape=(len(judges), len(key)),
        centre=0.5 - value,
    )
    mine = weight * (others * met.centre + matched / 2) / total
    leaving = _jackknife(judge, weight * (others + matched) / 2, weight * others, 2)
    residuals, weights, squares = met.by_two()
    by_judges = _over_pairs_of_judges(met, leaving, residuals, weights)
    both = _with_items(by_judges, _apart(met, mine, weight * others / total, squares))
    by_judge = [np.bincount(judge, weight * one) for one in (others + matched, others)]
    return Concordance(
        value=value,
        variance=both.variance,
        dof=both.dof,
        judge_variance=by_judges.variance,
        judge_dof=by_judges.dof,
        n=int((n * (n - 1) // 2).sum()),
        judges=judges,
        by_judge=by_judge[0] / by_judge[1] / 2,
    )


def _over_pairs_of_judges(
    met: _Meetings, jackknife: float, residuals: Floats, weights: Floats
) -> _JudgeSpread:
    """Return the variance of agreement for other judges."""
    if (weights > 0).sum() < 2 * FEWEST_PAIRS:
        return _JudgeSpread(math.nan, math.nan)
    squares = residuals * residuals
    single, fourth = float(squares.sum()) / 2, float((squares * squares).sum()) / 2
    variance = max(jackknife - single, single, _with_four_imagined(met))
    sums = squares.sum(axis=1)
    crossed = 2 * (float(sums @ sums) - 2 * fourth) if jackknife - single >= variance else 0.0
    noise = 2 / 3 * fourth + crossed
    return _JudgeSpread(variance, 1 / (1 / (met.shape[0] - 1) + noise / (2 * variance**2)))


def _with_four_imagined(met: _Meetings) -> float:
    """Return the variance of a mean of independent meetings, four imagined ones beside them."""
    squares, weight = met.squares()
    n, value = 1 / weight, 0.5 - met.centre
    middle = (n * value + 2) / (n + 4)
    observed = n * (squares * n + (value - middle) ** 2)
    return (observed + 2 * middle**2 + 2 * (1 - middle) ** 2) / (n + 4) / n


def _apart(met: _Meetings, mine: Floats, weight: Floats, squares: Floats) -> _Apart:
    """Return what meetings of other judges about one item have in common.

    Parameters
    ----------
    met : _Meetings
    mine, weight : ndarray of float
        Residuals and weights of all meetings of each answer.
    squares : ndarray of float
        Of residuals and of weights, of two judges at one item.
    """
    n_pairs, n_items = met.shape[1], int(met.high.max()) + 1
    low, high = met.low[met.pair], met.high[met.pair]
    near, far = met.judge * n_items + low, met.judge * n_items + high
    by_two = squares - met.squares()
    own = met.judge * n_pairs + met.pair
    found = []
    for one, twice in zip((mine, weight), by_two.tolist(), strict=True):
        of_pairs = np.bincount(met.pair, one) / 2
        whole = _dyadic(met.low, met.high, np.arange(n_pairs), of_pairs)
        found.append((whole, whole - _dyadic(near, far, own, one) + twice))
    squared = (np.bincount(met.pair, mine) / 2) ** 2
    noise = _dyadic(met.low, met.high, np.arange(n_pairs), squared) - float(squared @ squared)
    items = len(np.unique([met.low, met.high]))
    return _Apart(found[0][1], found[1][1], found[1][0], 2 * noise, items)


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


def _undefined_concordance() -> Concordance:
    none = np.zeros(0, dtype=np.int64)
    return Concordance(
        value=math.nan,
        variance=math.nan,
        dof=math.nan,
        judge_variance=math.nan,
        judge_dof=math.nan,
        n=0,
        judges=none,
        by_judge=np.zeros(0),
    )
