"""Rows in batches: some at a time, with the pairs among them, until all were looked at."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.tables.features import LabelledItems
from comparity.training.goals import Choices
from comparity.training.held_out import strata_of
from comparity.training.rows import Rows, group_names, training_rows

Codes = NDArray[np.int64]


def batches(
    rows: Rows, choices: Choices, size: int, rng: np.random.Generator
) -> Iterator[tuple[Codes, Rows]]:
    """Yield parts of rows with their pairs, without an end; every round has each row once.

    Parameters
    ----------
    rows : Rows
        Rows with labels; judged pairs have none.
    choices : Choices
    size : int
        About so many rows are a part, or whole queries with about so many rows.
    rng : Generator
        What draws.

    Yields
    ------
    kept : ndarray of int
        Which rows.
    part : Rows
        The same, without their features.
    """
    items = rows.items
    if rows.judged is not None or items is None:
        why = "judged pairs are trained on all at once"
        raise OptionError("batch_size", size, ["None"], why)
    names = None if items.value is not None else group_names(items.group, items.groups)
    nothing = np.zeros((len(items), 0))
    while True:
        dealt = deal(items, size, rng)
        for one in range(int(dealt.max()) + 1):
            kept = np.flatnonzero(dealt == one)
            yield kept, training_rows(nothing, items, kept, rows.scale, choices, names)


def deal(items: LabelledItems, size: int, rng: np.random.Generator) -> Codes:
    """Return the part of each row: the same share of every group and label, or whole queries.

    Examples
    --------
    >>> group = np.repeat([0, 1], [20, 10])
    >>> y = np.tile([0.0, 1.0], 15)
    >>> items = LabelledItems(label=y, score=y, group=group, groups=("a", "b"))
    >>> part = deal(items, 10, np.random.default_rng(0))
    >>> [np.bincount(2 * group[part == one] + (part == one).nonzero()[0] % 2).tolist()
    ...  for one in range(3)]
    [[4, 3, 2, 1], [3, 4, 1, 2], [3, 3, 2, 2]]
    """
    many = max(1, round(len(items) / size))
    found = np.empty(len(items), dtype=np.int64)
    if items.query is None:
        order = np.lexsort((rng.uniform(size=len(items)), strata_of(items)))
        found[order] = np.arange(len(items)) % many
        return found
    known, query = np.unique(items.query, return_inverse=True)
    drawn = rng.permutation(len(known))
    sizes = np.bincount(query.reshape(-1))[drawn]
    # Queries one after the other, cut where so many rows are reached.
    middle = (np.cumsum(sizes) - sizes / 2) / len(items)
    part = np.unique(np.floor(middle * many), return_inverse=True)[1].reshape(-1)
    of_query = np.empty(len(known), dtype=np.int64)
    of_query[drawn] = part
    return np.asarray(of_query[query.reshape(-1)])
