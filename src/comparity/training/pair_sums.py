r"""Sums over all pairs of an order, compiled: hinge losses, and smoothed counts of right pairs.

See :mod:`comparity.training.pair_order` for hinge losses. For smoothed counts, with :math:`t` the
score of the upper minus that of the lower item, the step :math:`[t > 0]` becomes

.. math:: S(t) = \frac{(h + t)_+^2 - 2 (t)_+^2 + (t - h)_+^2}{2 h^2},

two parabolas that meet at 0: the mean of the step over a triangle of width h on either side. S
rises from 0 at -h to 1 at h, S(-t) = 1 - S(t), and S'(t) = (h - \|t\|)_+ / h^2. Runs of sorted
items are merged in the same way; of the items that are closer than h three moments are carried
along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

if TYPE_CHECKING:
    from comparity.training.pair_order import PairOrder


SHORT_SEGMENT = 128
"""So few items are compared with each other instead of merged."""

WRONG, RIGHT, BELOW, ABOVE = 0, 1, 2, 3
"""Rows of the sums: both losses, lower items with a smaller score, with a larger one."""

# What is known of items, one array each: score, weight as the upper item of a pair, weight as the
# lower one, gradient, group and position.


@njit(cache=True, nogil=True)
def deal_out(by_score, run, starts):  # type: ignore[no-untyped-def]
    """Write positions, which are in the order of scores, one after the other into their runs."""
    order, free = np.empty_like(by_score), starts.copy()
    for position in by_score:
        order[free[run[position]]] = position
        free[run[position]] += 1
    return order


@njit(cache=True, nogil=True)
def items_in_order(score, group, weights, order):  # type: ignore[no-untyped-def]
    """Return what is known of items, in an order, and as many empty ones."""
    n = len(score)
    one = score[order], weights[0][order], weights[1][order], np.zeros(n), group[order], order
    empty = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    return one, (*empty, np.empty_like(group), np.empty_like(order))


@njit(cache=True, nogil=True)
def halve_runs(bounds, first, n_runs):  # type: ignore[no-untyped-def]
    """Take the bounds of runs together two by two, and return how many are left."""
    half = (n_runs + 1) // 2
    for run in range(half + 1):
        bounds[first + run] = bounds[first + min(2 * run, n_runs)]
    return half


@njit(cache=True, nogil=True)
def sum_pairs(  # type: ignore[no-untyped-def]
    score, group, weights, order, starts, segments, how, wrong, right, sums
):
    """Return the gradient by position; add losses and counts by groups to `sums`.

    Parameters
    ----------
    score, group : ndarray
        By position: segment by segment, run by run.
    weights : (ndarray, ndarray)
        The same: what an item weighs as the upper and as the lower item of a pair.
    order : ndarray of int
        Positions of every run in the order of scores.
    starts, segments : ndarray of int
        First position of each run, first run of each segment; both with an end.
    how : (float, bool, bool)
        The margin; whether losses are squared; whether to look at right orders too.
    wrong, right : ndarray, (S, K, K)
        What a unit of loss weighs in the gradient, by group of the upper and of the lower item: in
        each segment, or in all of them where S is 1.
    sums : ndarray, (S, 4, K, K)
    """
    n, k = len(score), wrong.shape[1]
    gradient, held = np.zeros(n), np.empty((2, 3, k))
    # Of right orders the lower item is the one that should win: its group comes first.
    turned, over = np.empty_like(right), np.zeros((len(right), 2, k, k))
    # One by one: to check the shapes of slices takes seconds to compile.
    for at, a, b in np.ndindex(right.shape):
        turned[at, a, b] = right[at, b, a]
    one, two = items_in_order(score, group, weights, order)
    bounds = starts.copy()
    for segment in range(len(segments) - 1):
        first, n_runs = segments[segment], segments[segment + 1] - segments[segment]
        here, there, last = one, two, first + n_runs
        at = segment if len(wrong) > 1 else 0
        if starts[last] - starts[first] <= SHORT_SEGMENT:
            _compare(one, starts[first : last + 1], how, wrong[at], right[at], sums[at])
            n_runs = 1
        # Sums of scores are taken around their mean, so that they lose no digits.
        centre = score[starts[first] : starts[last]].mean()
        while n_runs > 1:
            # A last run without another is merged with no items.
            for run in range(first, first + n_runs, 2):
                middle, end = bounds[run + 1], bounds[min(run + 2, first + n_runs)]
                lower, upper = (bounds[run], middle), (middle, end)
                sides = here[1], here[2]
                _push(here, sides, upper, lower, centre, how, wrong[at], held, sums[at], BELOW)
                _pull(here, sides, upper, lower, centre, how, wrong[at], held[0])
                if how[2]:
                    sides = here[2], here[1]
                    _push(here, sides, lower, upper, centre, how, turned[at], held, over[at], 1)
                    _pull(here, sides, lower, upper, centre, how, turned[at], held[0])
                if n_runs > 2:
                    merge_runs(here, there, lower, upper)
            if n_runs <= 2:
                break
            n_runs, here, there = halve_runs(bounds, first, n_runs), there, here
        for place in range(starts[first], starts[last]):
            gradient[here[5][place]] = here[3][place]
    for at, a, b in np.ndindex(right.shape):
        sums[at, RIGHT, a, b] += over[at, 0, b, a]
        sums[at, ABOVE, a, b] += over[at, 1, b, a]
    return gradient


@njit(cache=True, nogil=True)
def _compare(here, bounds, how, wrong, right, sums):  # type: ignore[no-untyped-def]
    """Add the losses of all pairs of items of different runs, pair by pair."""
    margin, squared, both = how
    score, high, low, gain, group, _ = here
    for run in range(1, len(bounds) - 1):
        for i in range(bounds[run], bounds[run + 1]):
            f, a = score[i], group[i]
            for j in range(bounds[0], bounds[run]):
                b, w, t = group[j], high[i] * low[j], f - score[j]
                sums[BELOW, a, b] += w * (f > score[j])
                slope = 0.0
                if t < margin:
                    loss = margin - t
                    slope = -wrong[a, b] * (2 * loss if squared else 1.0)
                    sums[WRONG, a, b] += w * (loss * loss if squared else loss)
                if both:
                    sums[ABOVE, a, b] += w * (f < score[j])
                    if t > -margin:
                        loss = margin + t
                        slope += right[a, b] * (2 * loss if squared else 1.0)
                        sums[RIGHT, a, b] += w * (loss * loss if squared else loss)
                gain[i] += w * slope
                gain[j] -= w * slope


@njit(cache=True, nogil=True, inline="always")
def _move(here, source, there, target):  # type: ignore[no-untyped-def]
    there[0][target] = here[0][source]
    there[1][target] = here[1][source]
    there[2][target] = here[2][source]
    there[3][target] = here[3][source]
    there[4][target] = here[4][source]
    there[5][target] = here[5][source]


@njit(cache=True, nogil=True)
def merge_runs(here, there, lower, upper):  # type: ignore[no-untyped-def]
    """Write the items of two neighbouring runs, each in the order of scores, in one order."""
    low, high = lower[0], upper[0]
    for place in range(lower[0], upper[1]):
        if low < lower[1] and (high >= upper[1] or here[0][low] <= here[0][high]):
            _move(here, low, there, place)
            low += 1
        else:
            _move(here, high, there, place)
            high += 1


@njit(cache=True, nogil=True, inline="always")
def _add(moments, group, weight, score, squared):  # type: ignore[no-untyped-def]
    moments[0, group] += weight
    moments[1, group] += weight * score
    if squared:
        moments[2, group] += weight * score * score


@njit(cache=True, nogil=True)
def _push(  # type: ignore[no-untyped-def]
    here, sides, winners, losers, centre, how, each, held, sums, hits
):
    """Add all losses and hits, and what the gradient of every item that should win gets.

    `sides` are the weights of items that should win and of items that should lose; losses are
    added to the first row of `sums`, hits to the row `hits`.
    """
    margin, squared, _ = how
    score, _, _, gain, group, _ = here
    won, weight = sides
    close, beaten = held[0], held[1, 0]
    held[:] = 0.0
    for place in range(losers[0], losers[1]):
        _add(close, group[place], weight[place], score[place] - centre, squared)
    passed, under = losers[0], losers[0]
    for place in range(winners[0], winners[1]):
        f, a, w, slope = score[place], group[place], won[place], 0.0
        # Differences are rounded alike wherever a pair is looked at, so that it counts for both.
        while passed < losers[1] and f - score[passed] >= margin:
            _add(close, group[passed], -weight[passed], score[passed] - centre, squared)
            passed += 1
        while under < losers[1] and score[under] < f:
            beaten[group[under]] += weight[under]
            under += 1
        short = margin - (f - centre)
        for b in range(len(each)):
            loss = short * close[0, b] + close[1, b]
            if squared:
                slope -= 2 * each[a, b] * loss
                loss = short * (loss + close[1, b]) + close[2, b]
            else:
                slope -= each[a, b] * close[0, b]
            sums[0, a, b] += w * loss
            sums[hits, a, b] += w * beaten[b]
        gain[place] += w * slope


@njit(cache=True, nogil=True)
def _pull(  # type: ignore[no-untyped-def]
    here, sides, winners, losers, centre, how, each, close
):
    """Add what the gradient of every item that should lose gets."""
    margin, squared, _ = how
    score, _, _, gain, group, _ = here
    won, weight = sides
    close[:] = 0.0
    reached = winners[0]
    for place in range(losers[0], losers[1]):
        f, b, slope = score[place], group[place], 0.0
        while reached < winners[1] and score[reached] - f < margin:
            _add(close, group[reached], won[reached], score[reached] - centre, squared)
            reached += 1
        for a in range(len(each)):
            if squared:
                slope += 2 * each[a, b] * ((margin + f - centre) * close[0, a] - close[1, a])
            else:
                slope += each[a, b] * close[0, a]
        gain[place] += weight[place] * slope


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
            _compare_smooth(one, starts[first : last + 1], width, each[at], sums[at])
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
def _compare_smooth(here, bounds, width, each, sums):  # type: ignore[no-untyped-def]
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
            _add_smooth(above, group[reached], weight[reached], score[reached] - centre)
            reached += 1
        while near < reached and score[near] <= f:
            _add_smooth(above, group[near], -weight[near], score[near] - centre)
            _add_smooth(below, group[near], weight[near], score[near] - centre)
            near += 1
        while far < near and f - score[far] >= width:
            _add_smooth(below, group[far], -weight[far], score[far] - centre)
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
def _add_smooth(moments, group, weight, score):  # type: ignore[no-untyped-def]
    moments[0, group] += weight
    moments[1, group] += weight * score
    moments[2, group] += weight * score * score
