r"""Sums over all pairs of hinge losses, without the pairs.

Items of a segment are cut into runs of equal key, each in the order of scores. Runs are merged two
by two; an item of the run with the larger keys is the *upper* item of every pair it forms with an
item of the other run, the *lower* one. For an upper item with score :math:`f` the lower items that
it does not beat by the margin :math:`m` are those above :math:`f - m`. Both runs are sorted, so
that a finger which only moves forward knows how many there are and the sum of their scores, and
with these the sum of :math:`\max(0, m - (f - f'))`; its slope is their number. A right order loses
:math:`\max(0, m - (f' - f))`, which is the same with the lower item as the one that should win.
Each pair of items meets in exactly one merge. Defined by the double loop in
``tests/plain/pairwise_losses.py``.
"""

from __future__ import annotations

import numpy as np

from comparity.counts.kernels.compilation import njit

__all__ = ["sort_runs", "sum_pairs"]

GAPS = 23, 10, 4, 1
"""How far apart items are that are sorted by insertion, in turn (Ciura, 2001)."""
FEW = 16
"""So few items are compared with each other instead of merged."""
LONG = 64
"""Runs of more items are sorted elsewhere, faster."""

WRONG, RIGHT, BELOW, ABOVE = 0, 1, 2, 3
"""Rows of the sums: both losses, lower items with a smaller score, with a larger one."""


@njit(cache=True, nogil=True)
def sort_runs(score, starts, order):  # type: ignore[no-untyped-def]
    """Write the positions of every run in the order of scores; long runs are left out."""
    for run in range(len(starts) - 1):
        start, end = starts[run], starts[run + 1]
        if end - start > LONG:
            continue
        for place in range(start, end):
            order[place] = place
        for gap in GAPS:
            for place in range(start + gap, end):
                item, hole = order[place], place
                while hole >= start + gap and score[order[hole - gap]] > score[item]:
                    order[hole] = order[hole - gap]
                    hole -= gap
                order[hole] = item


@njit(cache=True, nogil=True)
def sum_pairs(  # type: ignore[no-untyped-def]
    score, group, weight, order, starts, segments, how, wrong, right, sums
):
    """Return the gradient by position; add losses and counts by groups to `sums`.

    Parameters
    ----------
    score, group, weight : ndarray
        By position: segment by segment, run by run.
    order : ndarray of int
        Positions of every run in the order of scores.
    starts, segments : ndarray of int
        First position of each run, first run of each segment; both with an end.
    how : (float, bool, bool)
        The margin; whether losses are squared; whether to look at right orders too.
    wrong, right : ndarray, (K, K)
        What a unit of loss weighs in the gradient, by group of the upper and of the lower item.
    sums : ndarray, (4, K, K)
    """
    n, k = len(score), len(wrong)
    gradient, held = np.zeros(n), np.empty((2, 3, k))
    # Of right orders the lower item is the one that should win: its group comes first.
    turned, over = np.empty((k, k)), np.zeros((2, k, k))
    for a in range(k):
        for b in range(k):
            turned[b, a] = right[a, b]
    one, two, bounds = _filled(score, group, weight, order), _columns(n), np.empty_like(starts)
    for run in range(len(starts)):
        bounds[run] = starts[run]
    for segment in range(len(segments) - 1):
        first, n_runs = segments[segment], segments[segment + 1] - segments[segment]
        centre = _mean(score, starts[first], starts[first + n_runs])
        n_runs = _join(one, bounds, first, n_runs, how, wrong, right, sums)
        here, there = one, two
        while n_runs > 1:
            for run in range(first, first + n_runs - 1, 2):
                lower, upper = (bounds[run], bounds[run + 1]), (bounds[run + 1], bounds[run + 2])
                _push(here, upper, lower, centre, how, wrong, held, sums[WRONG], sums[BELOW])
                _pull(here, upper, lower, centre, how, wrong, held[0])
                if how[2]:
                    _push(here, lower, upper, centre, how, turned, held, over[0], over[1])
                    _pull(here, lower, upper, centre, how, turned, held[0])
                if n_runs > 2:
                    _merge(here, there, lower, upper)
            if n_runs <= 2:
                break
            n_runs = _halve(here, there, bounds, first, n_runs)
            here, there = there, here
        for place in range(bounds[first], bounds[first + n_runs]):
            gradient[here[4][place]] = here[2][place]
    for a in range(k):
        for b in range(k):
            sums[RIGHT, a, b] += over[0, b, a]
            sums[ABOVE, a, b] += over[1, b, a]
    return gradient


@njit(cache=True, nogil=True)
def _mean(score, start, end):  # type: ignore[no-untyped-def]
    """Return what sums of scores of a segment are taken around, so that they lose no digits."""
    total = 0.0
    for place in range(start, end):
        total += score[place]
    return total / (end - start)


@njit(cache=True, nogil=True)
def _halve(here, there, bounds, first, n_runs):  # type: ignore[no-untyped-def]
    """Let two merged runs be one; a last run without another is moved as it is."""
    if n_runs % 2:
        run = first + n_runs - 1
        for place in range(bounds[run], bounds[run + 1]):
            _move(here, place, there, place)
    half, end = (n_runs + 1) // 2, bounds[first + n_runs]
    for run in range(half):
        bounds[first + run] = bounds[first + 2 * run]
    bounds[first + half] = end
    return half


@njit(cache=True, nogil=True)
def _join(here, bounds, first, n_runs, how, wrong, right, sums):  # type: ignore[no-untyped-def]
    """Compare the items of short runs with each other; return how many runs are left to merge."""
    joined, run, last = 0, first, first + n_runs
    while run < last:
        end = run + 1
        while end < last and bounds[end + 1] - bounds[run] <= FEW:
            end += 1
        if end - run > 1:
            _compare(here, bounds[run : end + 1], how, wrong, right, sums)
            if end < last or joined > 0:
                _sort(here, bounds[run], bounds[end])
        bounds[first + joined] = bounds[run]
        joined, run = joined + 1, end
    bounds[first + joined] = bounds[last]
    return joined


@njit(cache=True, nogil=True)
def _compare(here, bounds, how, wrong, right, sums):  # type: ignore[no-untyped-def]
    """Add the losses of all pairs of items of different runs, pair by pair."""
    margin, squared, both = how
    score, weight, gain, group, _ = here
    for run in range(1, len(bounds) - 1):
        for i in range(bounds[run], bounds[run + 1]):
            f, a = score[i], group[i]
            for j in range(bounds[0], bounds[run]):
                b, w, t = group[j], weight[i] * weight[j], f - score[j]
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


@njit(cache=True, nogil=True)
def _sort(here, start, end):  # type: ignore[no-untyped-def]
    """Sort a few items by score, in place."""
    score, weight, gain, group, source = here
    for place in range(start + 1, end):
        f, w, g, a, s = score[place], weight[place], gain[place], group[place], source[place]
        hole = place
        while hole > start and score[hole - 1] > f:
            _move(here, hole - 1, here, hole)
            hole -= 1
        score[hole], weight[hole], gain[hole], group[hole], source[hole] = f, w, g, a, s


@njit(cache=True, nogil=True)
def _columns(n):  # type: ignore[no-untyped-def]
    """Return score, weight, gradient, group and position of items in the order of scores."""
    return (
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
    )


@njit(cache=True, nogil=True)
def _filled(score, group, weight, order):  # type: ignore[no-untyped-def]
    """Return the same, filled with the items of every run and no gradient yet."""
    found = _columns(len(score))
    for place in range(len(score)):
        source = order[place]
        found[0][place], found[1][place], found[2][place] = score[source], weight[source], 0.0
        found[3][place], found[4][place] = group[source], source
    return found


@njit(cache=True, nogil=True, inline="always")
def _move(here, source, there, target):  # type: ignore[no-untyped-def]
    there[0][target] = here[0][source]
    there[1][target] = here[1][source]
    there[2][target] = here[2][source]
    there[3][target] = here[3][source]
    there[4][target] = here[4][source]


@njit(cache=True, nogil=True)
def _merge(here, there, lower, upper):  # type: ignore[no-untyped-def]
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
def _push(here, winners, losers, centre, how, each, held, losses, hits):  # type: ignore[no-untyped-def]
    """Add all losses and hits, and what the gradient of every item that should win gets."""
    margin, squared, _ = how
    score, weight, gain, group, _ = here
    close, beaten = held[0], held[1, 0]
    held[:] = 0.0
    for place in range(losers[0], losers[1]):
        _add(close, group[place], weight[place], score[place] - centre, squared)
    passed, under = losers[0], losers[0]
    for place in range(winners[0], winners[1]):
        f, a, w, slope = score[place], group[place], weight[place], 0.0
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
            losses[a, b] += w * loss
            hits[a, b] += w * beaten[b]
        gain[place] += w * slope


@njit(cache=True, nogil=True)
def _pull(here, winners, losers, centre, how, each, close):  # type: ignore[no-untyped-def]
    """Add what the gradient of every item that should lose gets."""
    margin, squared, _ = how
    score, weight, gain, group, _ = here
    close[:] = 0.0
    reached = winners[0]
    for place in range(losers[0], losers[1]):
        f, b, slope = score[place], group[place], 0.0
        while reached < winners[1] and score[reached] - f < margin:
            _add(close, group[reached], weight[reached], score[reached] - centre, squared)
            reached += 1
        for a in range(len(each)):
            if squared:
                slope += 2 * each[a, b] * ((margin + f - centre) * close[0, a] - close[1, a])
            else:
                slope += each[a, b] * close[0, a]
        gain[place] += weight[place] * slope
