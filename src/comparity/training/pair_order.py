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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.sorting import order_of
from comparity.training.pair_sums import SHORT_SEGMENT, deal_out, sum_pairs

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairOrder:
    """Items by segment, then by key: those of one segment and different keys are pairs.

    Attributes
    ----------
    rows : ndarray of int
        Row of the item at each position; rows that are in no pair are left out.
    group : ndarray of int
        By position.
    weights : (ndarray, ndarray)
        By position: what an item weighs as the upper and as the lower item of a pair, which weighs
        the product.
    starts, segments : ndarray of int
        First position of each run of equal keys, first run of each segment; both with an end.
    trials : ndarray, (K, K)
        Weight of all pairs, by group of the upper and group of the lower item.
    n_rows : int
        Number of rows, those left out included.
    """

    rows: Codes
    group: NDArray[np.int32]
    weights: tuple[Floats, Floats]
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
        wrong, right : ndarray, (K, K) or (S, K, K)
            What a unit of either loss weighs in the gradient; in each segment.
        margin : float
            The margin m, positive.
        squared : bool
            Whether losses are squared.
        both : bool
            Whether to look at right orders too; their loss, its part of the gradient and the row
            `ABOVE` are zero otherwise.

        Returns
        -------
        sums : ndarray, (4, K, K) or (S, 4, K, K)
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
        each = [np.ascontiguousarray(one).reshape(-1, k, k) for one in (wrong, right)]
        sums, gradient = np.zeros((len(each[0]), 4, k, k)), np.zeros(self.n_rows)
        if len(self.rows):
            score = scores[self.rows]
            runs = self.by_score(score), self.starts, self.segments
            how = margin, squared, both
            gradient[self.rows] = sum_pairs(
                score, self.group, self.weights, *runs, how, *each, sums
            )
        return sums.reshape(*wrong.shape[:-2], 4, k, k), gradient

    def reach(self, weights: Floats) -> Floats:
        """Return what all pairs of each row weigh together.

        Parameters
        ----------
        weights : ndarray, (K, K) or (S, K, K)
            What a pair weighs by group of the upper and of the lower item, not counting the
            weights of the items; in each segment.
        """
        found = np.zeros(self.n_rows)
        _, below, above, run = _around(weights.shape[-1], self)
        # By run and group of an item: the pairs it is the upper, and the lower item of.
        if weights.ndim == 2:
            over, under = below @ weights.T, above @ weights
        else:
            each = weights[self._segment_of_run]
            over, under = np.einsum("rab,rb->ra", each, below), np.einsum("rab,ra->rb", each, above)
        (high, low), at = self.weights, (run, self.group)
        found[self.rows] = (
            high * (over + under)[at] if high is low else high * over[at] + low * under[at]
        )
        return found

    @property
    def segment_trials(self) -> Floats:
        """The weight of all pairs of each segment, (S, K, K), as `trials`."""
        k, many = len(self.trials), len(self.segments) - 1
        found = np.zeros((many, k, k))
        held, below, _, _ = _around(k, self)
        np.add.at(found, self._segment_of_run, held[:, :, None] * below[:, None, :])
        return found

    @property
    def _segment_of_run(self) -> Codes:
        return np.repeat(np.arange(len(self.segments) - 1), np.diff(self.segments))

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
    low_weight: Floats | None = None,
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
        Weights; a pair weighs the product of its two.
    low_weight : ndarray of float, optional
        What items weigh as the lower one of a pair, where that differs.

    Examples
    --------
    >>> order = pair_order(np.array([0, 1, 1]), np.zeros(3, dtype=int), 1)
    >>> one = np.ones((1, 1))
    >>> sums, gradient = order.sums(np.array([0.0, 0.5, 2.0]), wrong=one, right=0 * one)
    >>> float(sums[0, 0, 0]), gradient.tolist()
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
    high = np.ones(len(rows)) if weight is None else weight[rows]
    found = PairOrder(
        rows=rows,
        group=group[rows].astype(np.int32),
        weights=(high, high if low_weight is None else low_weight[rows]),
        starts=np.append(first_of_run, len(rows)),
        segments=np.append(segments, len(first_of_run)),
        trials=np.zeros((n_groups, n_groups)),
        n_rows=n,
    )
    held, below, _, _ = _around(n_groups, found)
    return replace(found, trials=held.T @ below)


def _first(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a value differs from the one before."""
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return first


def _around(k: int, order: PairOrder) -> tuple[Floats, Floats, Floats, Codes]:
    """Return the weight of upper items in, lower items below and upper items above each run.

    By group; with the run of each item.
    """
    n_runs, many = len(order.starts) - 1, np.diff(order.segments)
    run = np.repeat(np.arange(n_runs), np.diff(order.starts))
    held, upto = [], []
    for weight in order.weights:
        of_runs: Floats = np.zeros((n_runs, k))
        at = run * k + order.group
        of_runs += np.bincount(at, weight, minlength=n_runs * k).reshape(n_runs, k)
        held.append(of_runs)
        upto.append(np.vstack([np.zeros((1, k)), np.cumsum(of_runs, axis=0)]))
    high, low = upto
    below: Floats = low[:-1] - np.repeat(low[order.segments[:-1]], many, axis=0)
    above = np.repeat(high[order.segments[1:]], many, axis=0) - high[1:]
    return held[0], below, above, run
