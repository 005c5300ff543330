r"""Which items are compared, laid out once; sums of hinge losses over all pairs, without the pairs.

Items of a segment are cut into runs of equal key, each in the order of scores. Runs are merged two
by two; an item of the run with the larger keys is the *upper* item of every pair it forms with an
item of the other run, the *lower* one. For an upper item with score :math:`f` the lower items that
it does not beat by the margin :math:`m` are those above :math:`f - m`. Both runs are sorted, so
that a finger which only moves forward knows how many there are and the sum of their scores, and
with these the sum of :math:`\max(0, m - (f - f'))`; its slope is their number. A right order loses
:math:`\max(0, m - (f' - f))`, which is the same with the lower item as the one that should win.
Each pair of items meets in exactly one merge. Items of a short segment are compared one by one.
Defined by the double loop in ``tests/plain/pairwise_losses.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.sorting import order_of

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SHORT_SEGMENT = 128
"""So few items are compared with each other instead of merged."""
WRONG, RIGHT, BELOW, ABOVE = 0, 1, 2, 3
"""Rows of the sums: both losses, lower items with a smaller score, with a larger one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairOrder:
    """Items by segment, then by key: those of one segment and different keys are pairs.

    Attributes
    ----------
    rows : ndarray of int
        Row of the item at each position; rows that are in no pair are left out.
    group, weight : ndarray
        By position.
    starts, segments : ndarray of int
        First position of each run of equal keys, first run of each segment; both with an end.
    trials : ndarray, (K, K)
        Weight of all pairs, by group of the upper and group of the lower item.
    n_rows : int
        Number of rows, those left out included.
    """

    rows: Codes
    group: NDArray[np.int32]
    weight: Floats
    starts: Codes
    segments: Codes
    trials: Floats
    n_rows: int

    def sums(
        self,
        scores: Floats,
        *,
        wrong: Floats,
        right: Floats,
        margin: float = 1.0,
        squared: bool = False,
        both: bool = True,
    ) -> tuple[Floats, Floats]:
        r"""Sum losses over all pairs, with their gradient.

        With :math:`t` the score of the upper minus that of the lower item, a wrong order loses
        :math:`\max(0, m - t)` and a right one :math:`\max(0, m + t)`, or their squares.

        Parameters
        ----------
        scores : ndarray, (n,)
            Finite.
        wrong, right : ndarray, (K, K)
            What a unit of either loss weighs in the gradient.
        margin : float
            The margin m, positive.
        squared : bool
            Whether losses are squared.
        both : bool
            Whether to look at right orders too; their loss, its part of the gradient and the row
            `ABOVE` are zero otherwise.

        Returns
        -------
        sums : ndarray, (4, K, K)
            By group of the upper and group of the lower item: in the rows `WRONG` and `RIGHT` the
            losses of either order, in `BELOW` and `ABOVE` the weight of pairs whose lower item has
            the smaller score, and the larger one.
        gradient : ndarray, (n,)
            Of the weighted losses, with respect to the scores of all rows.

        Notes
        -----
        O(n log n + n K log L) time for L runs in a segment, O(n + K^2) memory.
        """
        k = len(self.trials)
        sums, gradient = np.zeros((4, k, k)), np.zeros(self.n_rows)
        if len(self.rows):
            score = scores[self.rows]
            runs = self.by_score(score), self.starts, self.segments
            how = margin, squared, both
            gradient[self.rows] = sum_pairs(
                score, self.group, self.weight, *runs, how, wrong, right, sums
            )
        return sums, gradient

    def reach(self, weights: Floats) -> Floats:
        """Return what all pairs of each row weigh together.

        Parameters
        ----------
        weights : ndarray, (K, K)
            What a pair weighs by group of the upper and of the lower item, not counting the
            weights of the items.
        """
        found = np.zeros(self.n_rows)
        layout = self.group, self.weight, self.starts, self.segments
        _, below, above, run = _around(len(weights), *layout)
        # By run and group of an item: the pairs it is the upper, and the lower item of.
        each = below @ weights.T + above @ weights
        found[self.rows] = self.weight * each[run, self.group]
        return found

    def by_score(self, score: Floats) -> Codes:
        """Return the positions of every run in the order of scores."""
        runs, n = np.diff(self.starts), len(score)
        if np.diff(self.starts[self.segments]).max() <= SHORT_SEGMENT or len(runs) == n:
            return np.arange(n)
        run = np.repeat(np.arange(len(runs)), runs)
        return np.asarray(deal_out(order_of(score)[0], run, self.starts))


def pair_order(
    key: NDArray[Any],
    group: Codes,
    n_groups: int,
    *,
    segment: Codes | None = None,
    weight: Floats | None = None,
) -> PairOrder:
    """Lay out the pairs of items with different keys, within segments.

    Parameters
    ----------
    key : ndarray
        The item with the larger key is the upper one.
    group : ndarray of int
        From 0 to `n_groups` - 1.
    n_groups : int
    segment : ndarray of int, optional
        Only items of one segment are pairs; all of them by default.
    weight : ndarray of float, optional
        Positive weights; a pair weighs the product of its two.

    Examples
    --------
    >>> order = pair_order(np.array([0, 1, 1]), np.zeros(3, dtype=int), 1)
    >>> one = np.ones((1, 1))
    >>> sums, gradient = order.sums(np.array([0.0, 0.5, 2.0]), wrong=one, right=0 * one)
    >>> float(sums[WRONG, 0, 0]), gradient.tolist()
    (0.5, [1.0, -1.0, 0.0])
    """
    n = len(key)
    segment = np.zeros(n, dtype=np.int64) if segment is None else segment
    rows = np.lexsort((key, segment))
    begins, of_segment = _first(segment[rows]), segment[rows]
    new_run = begins | _first(key[rows])
    # Rows of segments with a single run are in no pair.
    run_of, segment_of = np.cumsum(new_run) - 1, np.cumsum(begins) - 1
    runs_in = np.bincount(segment_of[new_run]) if n else np.zeros(0, dtype=np.int64)
    kept = runs_in[segment_of] > 1
    rows, run_of, of_segment = rows[kept], run_of[kept], of_segment[kept]
    first_of_run = np.flatnonzero(_first(run_of))
    segments = np.flatnonzero(_first(of_segment[first_of_run]))
    layout: dict[str, Any] = {
        "group": group[rows].astype(np.int32),
        "weight": np.ones(len(rows)) if weight is None else weight[rows],
        "starts": np.append(first_of_run, len(rows)),
        "segments": np.append(segments, len(first_of_run)),
    }
    held, below, _, _ = _around(n_groups, **layout)
    return PairOrder(rows=rows, **layout, trials=held.T @ below, n_rows=n)


def _first(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Say where a value differs from the one before."""
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return first


def _around(
    k: int, group: NDArray[Any], weight: Floats, starts: Codes, segments: Codes
) -> tuple[Floats, Floats, Floats, Codes]:
    """Return the weight of items in, below and above each run by group; the run of each item."""
    n_runs = len(starts) - 1
    run = np.repeat(np.arange(n_runs), np.diff(starts))
    held: Floats = np.zeros((n_runs, k))
    held += np.bincount(run * k + group, weight, minlength=n_runs * k).reshape(n_runs, k)
    upto = np.vstack([np.zeros((1, k)), np.cumsum(held, axis=0)])
    many = np.diff(segments)
    below: Floats = upto[:-1] - np.repeat(upto[segments[:-1]], many, axis=0)
    above = np.repeat(upto[segments[1:]], many, axis=0) - upto[1:]
    return held, below, above, run


@njit(cache=True, nogil=True)
def deal_out(by_score, run, starts):  # type: ignore[no-untyped-def]
    """Write positions, which are in the order of scores, one after the other into their runs."""
    order, free = np.empty_like(by_score), starts.copy()
    for position in by_score:
        order[free[run[position]]] = position
        free[run[position]] += 1
    return order


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
    turned, over = right.T.copy(), np.zeros((2, k, k))
    # Score, weight, gradient, group and position of items in the order of scores.
    one = score[order], weight[order], np.zeros(n), group[order], order
    two = np.empty(n), np.empty(n), np.empty(n), np.empty_like(group), np.empty_like(order)
    bounds = starts.copy()
    for segment in range(len(segments) - 1):
        first, n_runs = segments[segment], segments[segment + 1] - segments[segment]
        here, there, last = one, two, first + n_runs
        if starts[last] - starts[first] <= SHORT_SEGMENT:
            _compare(one, starts[first : last + 1], how, wrong, right, sums)
            n_runs = 1
        # Sums of scores are taken around their mean, so that they lose no digits.
        centre = score[starts[first] : starts[last]].mean()
        while n_runs > 1:
            # A last run without another is merged with no items.
            for run in range(first, first + n_runs, 2):
                middle, end = bounds[run + 1], bounds[min(run + 2, first + n_runs)]
                lower, upper = (bounds[run], middle), (middle, end)
                _push(here, upper, lower, centre, how, wrong, held, sums[WRONG], sums[BELOW])
                _pull(here, upper, lower, centre, how, wrong, held[0])
                if how[2]:
                    _push(here, lower, upper, centre, how, turned, held, over[0], over[1])
                    _pull(here, lower, upper, centre, how, turned, held[0])
                if n_runs > 2:
                    merge_runs(here, there, lower, upper)
            if n_runs <= 2:
                break
            half = (n_runs + 1) // 2
            for run in range(half + 1):
                bounds[first + run] = bounds[first + min(2 * run, n_runs)]
            n_runs, here, there = half, there, here
        for place in range(starts[first], starts[last]):
            gradient[here[4][place]] = here[2][place]
    sums[RIGHT] += over[0].T
    sums[ABOVE] += over[1].T
    return gradient


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


@njit(cache=True, nogil=True, inline="always")
def _move(here, source, there, target):  # type: ignore[no-untyped-def]
    there[0][target] = here[0][source]
    there[1][target] = here[1][source]
    there[2][target] = here[2][source]
    there[3][target] = here[3][source]
    there[4][target] = here[4][source]


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
