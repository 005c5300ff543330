"""All pairs of items with ranges of labels and bins of scores, by definition: loops over items."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RangedItem(NamedTuple):
    """An item whose score is known to items of its range, and up to its bin to all others."""

    label: float
    score: float
    group: int
    range: int
    bin: int
    weight: float


def pairs(
    items: Sequence[RangedItem], single: Sequence[bool]
) -> Iterator[tuple[int, int, float, bool, bool]]:
    """Yield better and worse item, hits (half in doubt), whether scores tie, and whether in doubt.

    `single` says for each bin whether it holds one score.
    """
    for (i, better), (j, worse) in product(enumerate(items), repeat=2):
        if better.label <= worse.label:
            continue
        if better.range == worse.range:
            yield i, j, float(better.score > worse.score), better.score == worse.score, False
        elif better.bin != worse.bin:
            yield i, j, float(better.bin > worse.bin), False, False
        elif single[better.bin]:
            yield i, j, 0.0, True, False
        else:
            yield i, j, 0.5, False, True


def vectors(
    items: Sequence[RangedItem], single: Sequence[bool], n_groups: int, tie: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return trials, then hits, of each item by cell, and half of its pairs in doubt by cell."""
    n_cells = n_groups**2
    known, unknown = np.zeros((len(items), 2 * n_cells)), np.zeros((len(items), n_cells))
    for i, j, hit, tied, in_doubt in pairs(items, single):
        weight = items[i].weight * items[j].weight
        cell = items[i].group * n_groups + items[j].group
        for item in (i, j):
            known[item, cell] += weight
            known[item, n_cells + cell] += weight * (hit + tie * tied)
            unknown[item, cell] += weight / 2 * in_doubt
    return known, unknown
