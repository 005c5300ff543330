"""All pairs of items in bins of scores, by definition: loops over items."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Item(NamedTuple):
    """An item whose score is known up to its bin."""

    label: int
    group: int
    bin: int
    is_single: bool
    weight: float


def sums(items: Sequence[Item], n_groups: int) -> NDArray[np.float64]:
    """Return trials, certain hits, ties and pairs in doubt by cell, (4, K, K)."""
    found = np.zeros((4, n_groups, n_groups))
    for better, worse in product(items, repeat=2):
        if better.label > worse.label:
            weight = better.weight * worse.weight
            cell = better.group, worse.group
            found[0][cell] += weight
            if better.bin > worse.bin:
                found[1][cell] += weight
            elif better.bin == worse.bin:
                found[2 if better.is_single else 3][cell] += weight
    return found


def vectors(
    items: Sequence[Item], n_groups: int, tie: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return trials, then hits, of each item by cell, and half of its pairs in doubt by cell."""
    n_cells = n_groups**2
    known, unknown = np.zeros((len(items), 2 * n_cells)), np.zeros((len(items), n_cells))
    for (i, better), (j, worse) in product(enumerate(items), repeat=2):
        if better.label <= worse.label:
            continue
        weight, cell = better.weight * worse.weight, better.group * n_groups + worse.group
        same = better.bin == worse.bin
        hit = (tie if better.is_single else 0.5) if same else float(better.bin > worse.bin)
        for item in (i, j):
            known[item, cell] += weight
            known[item, n_cells + cell] += weight * hit
            unknown[item, cell] += weight / 2 * (same and not better.is_single)
    return known, unknown
