"""What clusters of judgments hold: second moments over items, pairs and evaluators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_LISTED = 64
"""The sums of so many evaluators are kept one by one.

With more, the squares of their sums are as good as a known variance: Student's quantile on 64
degrees of freedom is 1.998, the normal one 1.960, so that half as many would cost 4 % of an
interval's length where nothing but evaluators is shared, and twice as many 1 %.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvaluatorSums:
    """What each of a few evaluators judged, and what items add beside them.

    Attributes
    ----------
    sums : ndarray of shape (evaluators, 2 cells)
        Trials of each evaluator in every cell, then hits.
    by_item : ndarray of shape (2 cells, 2 cells)
        Second moments over judgments that share an item, whoever judged.
    between : ndarray of shape (2 cells, 2 cells)
        The same over judgments of different evaluators only.
    """

    sums: Floats
    by_item: Floats
    between: Floats

    def of(self, rows: Sequence[int]) -> EvaluatorSums:
        """Keep some rows of the moments, and the evaluators who judged in any of them."""
        sums, block = self.sums[:, rows], np.ix_(rows, rows)
        return EvaluatorSums(
            sums=sums[sums.any(axis=1)], by_item=self.by_item[block], between=self.between[block]
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterMoments:
    """Second moments of trials and hits by cell, summed over each kind of cluster.

    Rows and columns are the trials of every cell, then its hits. A further kind of cluster, such
    as prompts, would be further moments of this kind.

    Attributes
    ----------
    items, pairs : ndarray
        Over items, and over unordered pairs of items.
    evaluators : ndarray or None
        Over evaluators; ``None`` where nobody knows who judged.
    within_evaluators : ndarray or None
        Over items minus over pairs, each of one evaluator only.
    sums : ndarray or None
        Trials and hits of each evaluator, where there are at most `MOST_LISTED`.
    """

    items: Floats
    pairs: Floats
    evaluators: Floats | None = None
    within_evaluators: Floats | None = None
    sums: Floats | None = None

    def dependent(self, *, evaluators: bool) -> Floats:
        """Return the sum over judgments that share an item or, if asked for, an evaluator."""
        by_item = self.items - self.pairs
        if not evaluators or self.evaluators is None or self.within_evaluators is None:
            return by_item
        return by_item + (self.evaluators - self.within_evaluators)

    def touching(self, *, evaluators: bool) -> Floats:
        """Return the same with judgments that share twice counted twice: never negative."""
        if not evaluators or self.evaluators is None:
            return self.items
        return self.items + self.evaluators

    def evaluator_sums(self, *, evaluators: bool) -> EvaluatorSums | None:
        """Return what each evaluator judged, if asked for and if they are few."""
        if not evaluators or self.sums is None or self.within_evaluators is None:
            return None
        by_item = self.items - self.pairs
        return EvaluatorSums(
            sums=self.sums, by_item=by_item, between=by_item - self.within_evaluators
        )
