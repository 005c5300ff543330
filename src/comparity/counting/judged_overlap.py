r"""Weights of judgments under which every kind of judged pair has the same reference law.

Items may carry a label or a reference score beside the score of the model. Judgments are weighted
by :math:`w(y_i, a_i) \, w(y_j, a_j)` with the overlap weights of :mod:`comparity.counting.overlap`,
taken from the items *as they occur in judgments*. If pairs were drawn without regard to the
reference (some items more often than others, if need be) and judges order items by it alike in
every group, better and worse items then have the same reference laws in all cells. Whether they
have is looked up: a design that pairs likes with likes, or a judge who leans, leaves them apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from comparity.counting.overlap import LARGEST_IMBALANCE, Overlap, overlap_weights
from comparity.counts import Cell, JudgedPairs

__all__ = ["CELL_NOISE", "CellLaws", "cell_laws", "item_overlap", "judgment_weights"]

Floats = NDArray[np.float64]

CELL_NOISE = 2.5
"""Sampling noise allowed between the laws of two cells, over the root of the items they rest on."""


def item_overlap(pairs: JudgedPairs) -> Overlap:
    """Weigh items so that the reference has the same law in every group, as items were judged.

    An item judged ten times counts ten times in the laws and once in the effective sizes.

    Parameters
    ----------
    pairs : JudgedPairs
        With a reference for every item.

    Returns
    -------
    Overlap
        One weight for each item; 0 for items that were never judged.

    Examples
    --------
    >>> from comparity.counting.positions import count_position_pairs
    >>> judged = [[0, 1], [2, 1], [2, 3], [0, 3]]
    >>> counts = count_position_pairs(judged, scores=[4, 3, 2, 1], reference=[1, 0, 1, 0],
    ...     sensitive={"sex": ["f", "f", "m", "m"]})
    >>> item_overlap(counts["sex"].pairs).weights.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    assert pairs.reference is not None
    groups = sorted({group for cell in pairs.cells for group in cell})
    uses, group = np.zeros(pairs.n_items), np.full(pairs.n_items, len(groups), dtype=np.int64)
    for place, items in enumerate((pairs.better, pairs.worse)):
        codes = np.array([groups.index(cell[place]) for cell in pairs.cells], dtype=np.int64)
        group[items] = codes[pairs.cell]
        uses += np.bincount(items, pairs.trials, pairs.n_items)
    found = overlap_weights(pairs.reference, group, groups, sample_weight=uses)
    # Every use is a judgment of its own, and counted as such.
    weights = np.divide(found.weights, uses, out=np.zeros_like(uses), where=uses > 0)
    return replace(found, weights=weights)


def judgment_weights(pairs: JudgedPairs, overlap: Overlap) -> Floats:
    """Return the product of the weights of its two items for each row of judged pairs."""
    weights: Floats = overlap.weights[pairs.better] * overlap.weights[pairs.worse]
    return weights


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLaws:
    """How far the reference laws of two cells are apart after weighting.

    Attributes
    ----------
    distance : float
        The larger of the Kolmogorov distances between their better and between their worse items;
        ``nan`` where a cell has no weight left.
    limit : float
        The largest distance that is trusted: 0.05, plus sampling noise.
    """

    distance: float
    limit: float

    @property
    def reason(self) -> str:
        """Why nothing should be concluded from the two cells; empty where something may."""
        if not self.distance > self.limit:
            return ""
        return (
            f"the weighted references of the items in the two kinds of pairs are "
            f"{self.distance:.3f} apart, more than the {self.limit:.3f} that is trusted: pairs "
            "were not drawn, or not judged, alike"
        )


def cell_laws(
    pairs: JudgedPairs, weights: Floats, cells: Sequence[Cell], effective_items: float
) -> CellLaws:
    """Compare the reference laws of better and of worse items in two cells.

    Parameters
    ----------
    pairs : JudgedPairs
        With a reference for every item.
    weights : ndarray of float
        Weight of each row.
    cells : sequence of Cell
        The two cells.
    effective_items : float
        Items that the scarcer of the two rests on, counted by how evenly they are used.
    """
    assert pairs.reference is not None
    levels, level = np.unique(pairs.reference, return_inverse=True)
    amounts, distance = pairs.trials * weights, 0.0
    for items in (pairs.better, pairs.worse):
        laws = []
        for cell in cells:
            rows = pairs.cell == (pairs.cells.index(cell) if cell in pairs.cells else -1)
            law = np.cumsum(np.bincount(level[items[rows]], amounts[rows], len(levels)))
            laws.append(law / law[-1] if law[-1] > 0 else np.full(len(law), math.nan))
        # Not the built-in maximum, which would pass over what is no number.
        distance = float(np.maximum(distance, np.abs(laws[0] - laws[1]).max()))
    noise = CELL_NOISE / math.sqrt(max(effective_items, 1.0))
    return CellLaws(distance=distance, limit=LARGEST_IMBALANCE + noise)
