"""Which items are compared, laid out once; scores may then change step after step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.sorting import order_of
from comparity.training.hinge import LONG, sort_runs, sum_pairs

__all__ = ["OrderSums", "PairOrder", "pair_order"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MANY = 10_000
"""Items of a run from which on they are sorted with their positions in the low bits."""
# numba's own types know no arguments.
_sort_runs: Any = sort_runs
_sum_pairs: Any = sum_pairs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderSums:
    """Sums over all pairs of an order, by group of the upper and group of the lower item.

    Attributes
    ----------
    wrong, right : ndarray, (K, K)
        Sums of the loss of a wrong order and of the loss of a right one.
    below, above : ndarray, (K, K)
        Weight of pairs whose lower item has the smaller score, and the larger one.
    gradient : ndarray, (n,)
        Of the weighted losses, with respect to the scores of all rows.
    """

    wrong: Floats
    right: Floats
    below: Floats
    above: Floats
    gradient: Floats


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
    ) -> OrderSums:
        r"""Sum losses over all pairs, with their gradient.

        With :math:`t` the score of the upper less that of the lower item, a wrong order loses
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
            Whether to look at right orders too; their loss, its part of the gradient and
            `above` are zero otherwise.

        Notes
        -----
        O(n log n + n K log L) time for L runs in a segment, O(n + K^2) memory.
        """
        k = len(self.trials)
        sums, gradient = np.zeros((4, k, k)), np.zeros(self.n_rows)
        if len(self.rows):
            score = scores[self.rows]
            gradient[self.rows] = _sum_pairs(
                score,
                self.group,
                self.weight,
                self._by_score(score),
                self.starts,
                self.segments,
                (margin, squared, both),
                wrong,
                right,
                sums,
            )
        return OrderSums(
            wrong=sums[0], right=sums[1], below=sums[2], above=sums[3], gradient=gradient
        )

    def reach(self, weights: Floats) -> Floats:
        """Return what all pairs of each row weigh together.

        Parameters
        ----------
        weights : ndarray, (K, K)
            What a pair weighs by group of the upper and of the lower item, not counting the
            weights of the items.
        """
        found = np.zeros(self.n_rows)
        held, below, above = _around(
            len(weights), self.group, self.weight, self.starts, self.segments
        )
        # By run and group of an item: the pairs it is the upper, and the lower item of.
        each = below @ weights.T + above @ weights
        run = np.repeat(np.arange(len(held)), np.diff(self.starts))
        found[self.rows] = self.weight * each[run, self.group]
        return found

    def _by_score(self, score: Floats) -> Codes:
        order = np.empty(len(score), dtype=np.int64)
        _sort_runs(score, self.starts, order)
        for run in np.flatnonzero(np.diff(self.starts) > LONG):
            start, end = self.starts[run], self.starts[run + 1]
            own = score[start:end]
            order[start:end] = start + (np.argsort(own) if len(own) < MANY else order_of(own)[0])
        return order


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
    >>> sums = order.sums(np.array([0.0, 0.5, 2.0]), wrong=one, right=0 * one)
    >>> float(sums.wrong[0, 0]), sums.gradient.tolist()
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
    layout = {
        "rows": rows,
        "group": group[rows].astype(np.int32),
        "weight": np.ones(len(rows)) if weight is None else weight[rows],
        "starts": np.append(first_of_run, len(rows)),
        "segments": np.append(segments, len(first_of_run)),
    }
    return PairOrder(**layout, trials=_trials(n_groups, **layout), n_rows=n)


def _first(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Say where a value differs from the one before."""
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return first


def _trials(
    k: int, *, rows: Codes, group: Codes, weight: Floats, starts: Codes, segments: Codes
) -> Floats:
    """Return the weight of pairs by group of the upper and of the lower item."""
    held, below, _ = _around(k, group, weight, starts, segments)
    trials: Floats = held.T @ below
    return trials


def _around(
    k: int, group: NDArray[Any], weight: Floats, starts: Codes, segments: Codes
) -> tuple[Floats, Floats, Floats]:
    """Return the weight of items in, below and above each run of its segment, by group."""
    n_runs = len(starts) - 1
    run = np.repeat(np.arange(n_runs), np.diff(starts))
    held: Floats = np.zeros((n_runs, k))
    held += np.bincount(run * k + group, weight, minlength=n_runs * k).reshape(n_runs, k)
    upto = np.vstack([np.zeros((1, k)), np.cumsum(held, axis=0)])
    many = np.diff(segments)
    below: Floats = upto[:-1] - np.repeat(upto[segments[:-1]], many, axis=0)
    above = np.repeat(upto[segments[1:]], many, axis=0) - upto[1:]
    return held, below, above
