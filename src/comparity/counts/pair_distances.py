r"""Rates of kinds of pairs, adjusted for how far apart the labels of their items are.

Weights on items give the labels of every group one smooth distribution. They cannot give them one
grid: where one group's labels are rounded, close pairs of that group are ties, which are not
compared, and its pairs lie further apart than others. A precise score then orders them better
though it depends on labels alone.

If it does, a pair is ordered rightly with a chance :math:`g(y, y')` that is the same in every cell,
so the rate of cell :math:`c` has the expectation :math:`\int g \, d\mu_c`, with :math:`\mu_c` the
weighted distribution of the labels of its pairs. With any estimate :math:`\hat g`

.. math:: \hat r_c - \int \hat g \, d\mu_c + \overline{\int \hat g \, d\mu}

has the same expectation in all cells up to
:math:`\int (g - \hat g) \, d(\mu_c - \overline\mu)`: the product of what weights left out of
balance and of the error of :math:`\hat g`. Either may fail if the other does not [1]_. Here
:math:`\hat g` is a least-squares fit to the pairs of all cells alike, piecewise linear in the
distance :math:`y - y'` and quadratic in the position of the pair among all labels. A rate is moved
by a number, so the errors of gaps stay those of weighted pairs: too large rather than too small,
because what distances explain is still in them.

A fit with half the knots shows how far a fit can be wrong: halving the steps of a piecewise linear
curve quarters its error, so the finer is off by about a third of the difference of the two.

References
----------
.. [1] Robins, Rotnitzky and Zhao (1994), "Estimation of regression coefficients when some
   regressors are not always observed", JASA 89.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.label_differences import add_functions, add_products
from comparity.counts.kernels.sorting import order_of
from comparity.counts.pairs import TIE_VALUE, Floats, Sharing

Codes = NDArray[np.int64]

FEWEST_STEPS, MOST_STEPS = 4, 64
"""Steps of the finer curve, at least and at most."""

PAIRS_TO_FIT = (2**14, 2**16, 2**18, 2**20)
"""So many pairs are fitted, or all: more where the doubt that fewer leave is not tolerable."""

PAIRS_FOR_KNOTS = 2**15
"""Quantiles of distances are read off about so many pairs."""

BINS = 300
"""Bins of neighbouring labels whose pairs are summed up, where there are more labels."""

PLACE_DEGREE = 2
"""Degree of curves in the place: scores may be more precise at one end of labels, or at both."""

RIDGE = 1e-6
"""Penalty that keeps coefficients finite where no pair is near a knot; relative to all pairs."""

PLASTIC = 1.324717957244746
"""The real root of x^3 = x + 1: multiples of 1/x and 1/x^2 fill a square evenly (Roberts 2018)."""

LARGEST_DOUBT = 0.33
"""Share of its standard error by which a gap may be off: a test at 0.05 then has at most 0.063."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPairs:
    """Compared pairs of items, one in each row.

    Attributes
    ----------
    distance : ndarray of float
        Label of the better item minus that of the worse.
    place : ndarray of float
        Mean rank of the two labels among all, from -1 to 1.
    weight : ndarray of float
        In a row for each cell, where pairs of several cells have these distances.
    """

    distance: Floats
    place: Floats
    weight: Floats


class _Basis:
    """Piecewise linear functions of the distance, 1 at one knot, times powers of the place."""

    def __init__(self, pairs: ComparedPairs, knots: Floats) -> None:
        step = np.clip(np.searchsorted(knots, pairs.distance, "right") - 1, 0, len(knots) - 2)
        part = np.clip((pairs.distance - knots[step]) / np.diff(knots)[step], 0.0, 1.0)
        self.step, self.part, self.place, self.size = step, part, pairs.place, len(knots)

    def values(self, heights: Floats) -> Floats:
        """Return the sum of the functions, each times its height."""
        low, high = 0.0, 0.0
        for of_power in heights.reshape(-1, self.size)[::-1]:
            low = low * self.place + of_power[self.step]
            high = high * self.place + of_power[self.step + 1]
        values: Floats = low + (high - low) * self.part
        return values

    def sums(self, weights: Floats) -> Floats:
        """Return the sums of every function over pairs, for each row of weights."""
        sums: Floats = np.zeros((len(weights), PLACE_DEGREE + 1, self.size))
        add_functions(self.step, self.part, self.place, weights, sums)
        return sums.reshape(len(weights), -1)

    def products(self, weight: Floats) -> Floats:
        """Return the weighted sums of the products of every two functions."""
        same, beside = np.zeros((2, 2 * PLACE_DEGREE + 1, self.size))
        add_products(self.step, self.part, self.place, weight, same, beside)
        of = [
            np.diag(one) + np.diag(two[:-1], 1) + np.diag(two[:-1], -1)
            for one, two in zip(same, beside, strict=True)
        ]
        degrees = range(PLACE_DEGREE + 1)
        products: Floats = np.block([[of[one + two] for two in degrees] for one in degrees])
        return products


@dataclass(frozen=True, slots=True, eq=False)
class _OrderCurve:
    """Chance that a pair is ordered rightly, by its distance and its place."""

    knots: Floats
    heights: Floats
    covariance: Floats

    @classmethod
    def fit(cls, pairs: ComparedPairs, hit: Floats, n_steps: int) -> _OrderCurve:
        """Fit a curve by least squares, with the covariance it has if pairs are independent."""
        knots = _knots(pairs, n_steps)
        basis = _Basis(pairs, knots)
        square = basis.products(pairs.weight)
        square += RIDGE * pairs.weight.sum() / len(knots) * np.eye(len(square))
        (right,) = basis.sums((pairs.weight * hit)[None])
        heights: Floats = np.linalg.solve(square, right).astype(np.float64)
        residual = pairs.weight * (hit - basis.values(heights))
        half = np.linalg.solve(square, basis.products(residual**2))
        return cls(knots, heights, np.linalg.solve(square, half.T).astype(np.float64))

    def averages(self, cells: Sequence[ComparedPairs]) -> Floats:
        """Return what each height counts for in the mean of every cell; ``nan`` without weight."""
        sums = np.concatenate(
            [_Basis(pairs, self.knots).sums(np.atleast_2d(pairs.weight)) for pairs in cells]
        )
        # The functions of distance add up to one, so that their sums add up to the weight.
        total = sums[:, : len(self.knots)].sum(axis=1, keepdims=True)
        averages: Floats = np.full_like(sums, np.nan)
        np.divide(sums, total, out=averages, where=total > 0)
        return averages


def _knots(pairs: ComparedPairs, n_steps: int) -> Floats:
    """Return distances from zero on, closer together where they are short, on either side."""
    sides = [
        sign * _quantiles(sign * pairs.distance[chosen], pairs.weight[chosen], n_steps)
        for sign in (-1, 1)
        if (chosen := sign * pairs.distance > 0).any()
    ]
    knots = np.unique(np.concatenate([[0.0], *sides]))
    return knots if len(knots) > 1 else np.array([0.0, 1.0])


def _quantiles(distance: Floats, weight: Floats, n_steps: int) -> Floats:
    # Knots need not be exact: of many pairs some are looked at.
    every = len(distance) // PAIRS_FOR_KNOTS + 1
    distance, weight = distance[::every], weight[::every]
    order = np.argsort(distance)
    cumulative = np.cumsum(weight[order])
    # Accuracy changes most among close pairs: shares of 1, 4, 9, ... parts of all.
    shares = (np.arange(1, n_steps + 1) / n_steps) ** 2
    at = np.searchsorted(cumulative, shares * cumulative[-1])
    quantiles: Floats = distance[order][np.minimum(at, len(order) - 1)]
    return quantiles


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedRates:
    """Rates of cells if pairs were ordered rightly by distance and place alone.

    Attributes
    ----------
    fine, coarse : ndarray of float
        By cell, from a curve and from one with half its knots; ``nan`` for cells without weight.
    sampling : ndarray of float
        Covariance of `fine` because not all pairs were fitted.
    """

    fine: Floats
    coarse: Floats
    sampling: Floats

    def doubt(self, cells: Sequence[int] = ()) -> float:
        """Return how far a gap between any two of these cells, or of all, may be off.

        That is a third of the change by halving steps, and the error of fitting some pairs only.
        """
        held = [cell for cell in cells or range(len(self.fine)) if np.isfinite(self.fine[cell])]
        change, sampling = (self.fine - self.coarse)[held], self.sampling[np.ix_(held, held)]
        own = np.diag(sampling)
        variance = (own[:, None] + own - 2 * sampling).max(initial=0.0)
        return math.sqrt(variance + (np.ptp(change) / 3 if held else 0.0) ** 2)

    def reason_against(self, standard_error: float, cells: Sequence[int] = ()) -> str:
        """Return why a gap with this standard error is not trusted; nothing where it is."""
        doubt, limit = self.doubt(cells), LARGEST_DOUBT * standard_error
        if not doubt > limit:
            return ""
        return (
            f"labels lie apart differently in two kinds of pairs, which could move the gap by "
            f"{doubt:.4f}, more than the {limit:.4f} that is trusted"
        )

    def even_out(self, sharing: Sharing) -> Sharing:
        r"""Move the rate of every cell by what distances explain of it, the mean of all kept.

        Moments move along: a pair that counted :math:`h` now counts :math:`h - \kappa`, so that
        residuals, and with them the errors of gaps, are what they were.
        """
        held = (sharing.trials > 0) & np.isfinite(self.fine)
        trials = np.where(held, sharing.trials, 1.0)
        excess = np.where(held, self.fine, 0.0)
        excess = np.where(held, excess - np.average(excess, weights=trials * held), 0.0)
        hits = np.clip(sharing.hits - excess * trials, 0.0, trials)
        turn = np.eye(2 * len(hits))
        turn[len(hits) :, : len(hits)] = -np.diag(np.where(held, (sharing.hits - hits) / trials, 0))
        touching = sharing.touching
        return replace(
            sharing,
            hits=np.where(held, hits, sharing.hits),
            dependent=turn @ sharing.dependent @ turn.T,
            own=turn @ sharing.own @ turn.T,
            touching=None if touching is None else turn @ touching @ turn.T,
        )


def expect_from_items(
    label: Floats,
    score: Floats,
    group: Codes,
    n_groups: int,
    *,
    weights: Floats,
    score_ties: str = "disagree",
    by_difference: bool = False,
    tolerance: float = math.inf,
) -> ExpectedRates:
    """Return the rates that distances explain, of all pairs of items with different labels.

    The curve is fitted to all pairs, or to many that are spread evenly over them, whatever the
    order of rows. Its means are sums over all pairs, labels beyond 300 taken in bins.

    Parameters
    ----------
    label, score : ndarray of float
    group : ndarray of int
        From 0 to ``n_groups - 1``.
    n_groups : int
    weights : ndarray of float
        Weights of items; a pair weighs their product.
    score_ties : {"disagree", "half"}
    by_difference : bool
        Whether a pair weighs the difference of its labels besides.
    tolerance : float
        Doubt that need not be made smaller by fitting more pairs.

    Returns
    -------
    ExpectedRates
        By cell: the group of the better item, then of the worse.
    """
    order = _order(label, score, group, weights)
    label, group, weights = label[order], group[order], weights[order]
    levels = _Levels(label, group, weights, n_groups)
    rank = np.repeat(levels.rank, levels.sizes)
    cells = [levels.pairs_of_cells(by_difference)]
    for most in PAIRS_TO_FIT:
        worse, better, chance = _spread_pairs(len(label), most)
        distance = label[better] - label[worse]
        weight = weights[worse] * weights[better] / chance * (distance > 0)
        place = (rank[worse] + rank[better]) / 2
        sample = ComparedPairs(distance, place, weight * (distance if by_difference else 1.0))
        above, below = score[order[better]], score[order[worse]]
        hit = np.where(above == below, TIE_VALUE[score_ties], above > below)
        complete = len(label) * (len(label) - 1) // 2 <= most
        n_steps = int((distance > 0).sum()) ** (1 / 3)
        found = expect_rates(sample, hit, cells, n_steps=n_steps, complete=complete)
        if complete or found.doubt() <= tolerance:
            break
    return found


def _order(label: Floats, *others: NDArray[Any]) -> Codes:
    """Return the order of labels, and of equal labels that of the other columns."""
    order, same = order_of(label)
    tied = np.flatnonzero(same | np.append(same[1:], False))
    rows = order[tied]
    # Equal labels lie together, so that sorting all that have an equal sorts each lot in place.
    order[tied] = rows[np.lexsort(tuple(column[rows] for column in (*others[::-1], label)))]
    return order


def expect_rates(
    sample: ComparedPairs,
    hit: Floats,
    cells: Sequence[ComparedPairs],
    *,
    n_steps: float,
    complete: bool,
) -> ExpectedRates:
    """Fit curves to pairs and their outcomes, and return their means over the pairs of cells.

    Parameters
    ----------
    sample : ComparedPairs
        The pairs to fit.
    hit : ndarray of float
        What each of them counts: 1 where the score orders it rightly.
    cells : sequence of ComparedPairs
        The pairs of every cell, or of several with a row of weights for each.
    n_steps : float
        Steps of the curve; from 4 to 48 are taken.
    complete : bool
        Whether all pairs are fitted, so that there is no error of sampling.
    """
    n_steps = min(max(int(n_steps), FEWEST_STEPS), MOST_STEPS)
    curves = [_OrderCurve.fit(sample, hit, number) for number in (n_steps, n_steps // 2)]
    fine, coarse = (curve.averages(cells) for curve in curves)
    sampling = (0.0 if complete else 1.0) * (fine @ curves[0].covariance @ fine.T)
    return ExpectedRates(fine @ curves[0].heights, coarse @ curves[1].heights, sampling)


def _spread_pairs(n: int, most: int) -> tuple[Codes, Codes, Floats]:
    """Return all pairs of positions below `n`, smaller first, or many, and how likely each was.

    Accuracy changes among close pairs: the logarithm of how many positions lie between is spread
    evenly.
    """
    if n * (n - 1) // 2 <= most:
        first, second = np.triu_indices(n, 1)
        return first, second, np.ones(len(first))
    number = np.arange(1, most + 1)
    apart, place = (number / PLASTIC**power % 1 for power in (1, 2))
    between = np.exp(apart * math.log(n)).astype(np.int64)
    first = (place * (n - between)).astype(np.int64)
    return first, first + between, np.log1p(1 / between) / (n - between)


class _Levels:
    """What the items of each group weigh at each label; items come in order of their labels."""

    def __init__(self, label: Floats, group: Codes, weights: Floats, n_groups: int) -> None:
        self.first = np.flatnonzero(np.diff(label, prepend=-np.inf))
        self.values, self.n_items = label[self.first], len(label)
        self.mass = np.array(
            [np.add.reduceat(weights * (group == code), self.first) for code in range(n_groups)]
        )
        self.sizes = np.diff(self.first, append=len(label))
        self.rank: Floats = (2 * self.first + self.sizes) / len(label) - 1
        self.starts = np.flatnonzero(self._begins(self.sizes))

    def _begins(self, sizes: Codes) -> NDArray[np.bool_]:
        """Return which labels begin a bin: all are about as large; a frequent label has its own."""
        frequent = sizes * BINS > self.n_items
        begins: NDArray[np.bool_] = np.diff(self.first * BINS // self.n_items, prepend=-1) > 0
        begins |= frequent
        begins[1:] |= frequent[:-1]
        return begins

    def pairs_of_cells(self, by_difference: bool) -> ComparedPairs:
        """Return all pairs of bins, with their weights in every cell in rows."""
        ends = np.append(self.starts[1:], len(self.values))
        sums = np.add.reduceat([self.values, self.rank], self.starts, axis=1)
        value, rank = sums / (ends - self.starts)
        # Two labels of one bin are a third of its width apart, if they are spread evenly.
        width = (self.values[ends - 1] - self.values[self.starts]) / 3
        worse, better = np.triu_indices(len(value), 1)
        distance = np.concatenate([value[better] - value[worse], width])
        place = np.concatenate([(rank[better] + rank[worse]) / 2, rank])
        weights, binned = [], np.add.reduceat(self.mass, self.starts, axis=1)
        for one, two in product(range(len(binned)), repeat=2):
            tied = np.add.reduceat(self.mass[one] * self.mass[two], self.starts)
            # Of two different labels in a bin either item may be the better one.
            near = np.maximum(binned[one] * binned[two] - tied, 0.0) / 2
            weights.append(np.concatenate([binned[one][better] * binned[two][worse], near]))
        weight = np.array(weights) * (distance if by_difference else 1.0)
        return ComparedPairs(distance, place, weight)
