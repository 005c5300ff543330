r"""Smoothed counts of pairs in the right order, with their gradient, in one pass.

With :math:`t` the score of the upper minus that of the lower item, the step :math:`[t > 0]` becomes

.. math:: S(t) = \frac{(h + t)_+^2 - 2 (t)_+^2 + (t - h)_+^2}{2 h^2},

two parabolas that meet at 0: the mean of the step over a triangle of width h on either side. S
rises from 0 at -h to 1 at h, S(-t) = 1 - S(t), and S'(t) = (h - \|t\|)_+ / h^2. Runs of sorted
items are merged as in :mod:`comparity.training.pair_order`; of the items that are closer than h
three moments are carried along.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.training.pair_order import PairOrder
from comparity.training.pair_sums import SHORT_SEGMENT, halve_runs, items_in_order, merge_runs

Floats = NDArray[np.float64]


def smooth_sums(
    order: PairOrder, scores: Floats, *, width: float, weights: Floats
) -> tuple[Floats, Floats]:
    """Sum smoothed steps over all pairs, with the gradient of their weighted sum.

    Parameters
    ----------
    order : PairOrder
        The pairs.
    scores : ndarray, (n,)
        Finite.
    width : float
        The width h, positive.
    weights : ndarray, (K, K) or (S, K, K)
        What a pair weighs in the gradient, by group of the upper and of the lower item; in each
        segment.

    Returns
    -------
    sums : ndarray, (K, K) or (S, K, K)
        By group of the upper and group of the lower item.
    gradient : ndarray, (n,)
        With respect to the scores of all rows.

    Examples
    --------
    >>> from comparity.training.pair_order import pair_order
    >>> pairs = pair_order(np.array([0, 1]), np.zeros(2, dtype=int), 1)
    >>> sums, slope = smooth_sums(pairs, np.array([0.0, 0.5]), width=1.0, weights=np.ones((1, 1)))
    >>> sums.tolist(), slope.tolist()
    ([[0.875]], [-0.5, 0.5])
    """
    each = np.ascontiguousarray(weights).reshape(-1, *order.trials.shape)
    sums, gradient = np.zeros_like(each), np.zeros(order.n_rows)
    if len(order.rows):
        score = scores[order.rows]
        runs = order.by_score(score), order.starts, order.segments
        gradient[order.rows] = _smooth_pairs(
            score, order.group, order.weights, *runs, width, each, sums
        )
    return sums.reshape(weights.shape), gradient


@njit(cache=True, nogil=True)
def _smooth_pairs(  # type: ignore[no-untyped-def]
    score, group, weights, order, starts, segments, width, each, sums
):
    """Return the gradient by position; add sums by groups. See :func:`sum_pairs`."""
    n, k = len(score), each.shape[1]
    gradient, held = np.zeros(n), np.empty((3, 3, k))
    one, two = items_in_order(score, group, weights, order)
    bounds = starts.copy()
    for segment in range(len(segments) - 1):
        first, n_runs = segments[segment], segments[segment + 1] - segments[segment]
        here, there, last = one, two, first + n_runs
        at = segment if len(each) > 1 else 0
        if starts[last] - starts[first] <= SHORT_SEGMENT:
            _compare(one, starts[first : last + 1], width, each[at], sums[at])
            n_runs = 1
        centre = score[starts[first] : starts[last]].mean()
        while n_runs > 1:
            for run in range(first, first + n_runs, 2):
                middle, end = bounds[run + 1], bounds[min(run + 2, first + n_runs)]
                lower, upper = (bounds[run], middle), (middle, end)
                sides = here[1], here[2]
                _sweep(here, sides, upper, lower, centre, width, each[at], held, sums[at], 1.0)
                sides, turned = (here[2], here[1]), each[at].T
                _sweep(here, sides, lower, upper, centre, width, turned, held, sums[at], -1.0)
                if n_runs > 2:
                    merge_runs(here, there, lower, upper)
            if n_runs <= 2:
                break
            n_runs, here, there = halve_runs(bounds, first, n_runs), there, here
        for place in range(starts[first], starts[last]):
            gradient[here[5][place]] = here[3][place]
    return gradient


@njit(cache=True, nogil=True)
def _compare(here, bounds, width, each, sums):  # type: ignore[no-untyped-def]
    """Add all pairs of items of different runs, pair by pair."""
    score, high, low, gain, group, _ = here
    for run in range(1, len(bounds) - 1):
        for i in range(bounds[run], bounds[run + 1]):
            for j in range(bounds[0], bounds[run]):
                a, b, w = group[i], group[j], high[i] * low[j]
                t = score[i] - score[j]
                if t >= width:
                    sums[a, b] += w
                elif t > -width:
                    short = (width - abs(t)) / width
                    sums[a, b] += w * (1 - short * short / 2 if t > 0 else short * short / 2)
                    slope = w * each[a, b] * short / width
                    gain[i] += slope
                    gain[j] -= slope


@njit(cache=True, nogil=True)
def _sweep(  # type: ignore[no-untyped-def]
    here, sides, movers, others, centre, width, each, held, sums, sign
):
    """Add to the gradient of the movers, and where the sign is 1 their smoothed steps to `sums`.

    `sides` are the weights of movers and of others. `held` has for each group the weight of others,
    with their sums of scores and of squares, that are at most the width below, at most the width
    above, and farther below.
    """
    score, _, _, gain, group, _ = here
    moved, weight = sides
    below, above, beaten = held[0], held[1], held[2, 0]
    held[:] = 0.0
    far, near, reached = others[0], others[0], others[0]
    for place in range(movers[0], movers[1]):
        f, a, w = score[place], group[place], moved[place]
        while reached < others[1] and score[reached] - f < width:
            _add(above, group[reached], weight[reached], score[reached] - centre)
            reached += 1
        while near < reached and score[near] <= f:
            _add(above, group[near], -weight[near], score[near] - centre)
            _add(below, group[near], weight[near], score[near] - centre)
            near += 1
        while far < near and f - score[far] >= width:
            _add(below, group[far], -weight[far], score[far] - centre)
            beaten[group[far]] += weight[far]
            far += 1
        # What rounding has left of items that are gone.
        if far == near:
            below[:] = 0.0
        if near == reached:
            above[:] = 0.0
        u, v, slope = width - (f - centre), width + (f - centre), 0.0
        for b in range(len(each)):
            down = u * below[0, b] + below[1, b]
            up = v * above[0, b] - above[1, b]
            slope += each[a, b] * (down + up)
            if sign > 0:
                short = u * (down + below[1, b]) + below[2, b]
                over = v * (up - above[1, b]) + above[2, b]
                sums[a, b] += w * (beaten[b] + below[0, b] + (over - short) / (2 * width * width))
        gain[place] += sign * w * slope / (width * width)


@njit(cache=True, nogil=True, inline="always")
def _add(moments, group, weight, score):  # type: ignore[no-untyped-def]
    moments[0, group] += weight
    moments[1, group] += weight * score
    moments[2, group] += weight * score * score
