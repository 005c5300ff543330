"""Decisions counted by group, label and prediction, and split by privilege.

Metrics that compare privileged with unprivileged groups are functions of a :class:`Contrast`. Its
array may have leading axes, one table for each replicate of a resample, so that a metric is worked
out for all of them in one pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.pairs import Sharing, Tally, add_counts
from comparity.errors import IncompatibleCountsError
from comparity.tables.frames import text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Decisions of one group by label and prediction."""

    true_positives: int = 0
    false_negatives: int = 0
    false_positives: int = 0
    true_negatives: int = 0

    @property
    def positives(self) -> Tally:
        """Items labelled positive, and how many of them were predicted positive."""
        return Tally(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def negatives(self) -> Tally:
        """Items labelled negative, and how many of them were predicted positive."""
        return Tally(self.false_positives, self.false_positives + self.true_negatives)

    @property
    def n(self) -> int:
        """Number of decisions."""
        return self.positives.trials + self.negatives.trials

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(
            true_positives=self.true_positives + other.true_positives,
            false_negatives=self.false_negatives + other.false_negatives,
            false_positives=self.false_positives + other.false_positives,
            true_negatives=self.true_negatives + other.true_negatives,
        )


class DecisionCounts(Mapping[str, Confusion]):
    """Independent decisions about single items: one :class:`Confusion` for each group.

    Examples
    --------
    >>> counts = DecisionCounts({"a": Confusion(true_positives=3, false_negatives=1)})
    >>> counts["a"].positives.rate
    0.75
    >>> (counts + counts).n
    8
    """

    __slots__ = ("_groups",)

    def __init__(self, groups: Mapping[str, Confusion]) -> None:
        self._groups = {group: groups[group] for group in sorted(groups) if groups[group].n}

    def __getitem__(self, group: str) -> Confusion:
        return self._groups[group]

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __repr__(self) -> str:
        return f"DecisionCounts({self._groups!r})"

    def __add__(self, other: DecisionCounts) -> DecisionCounts:
        return DecisionCounts(add_counts(self, other, Confusion()))

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, sorted."""
        return tuple(self)

    @property
    def n(self) -> int:
        """Number of decisions."""
        return sum(confusion.n for confusion in self.values())


class ClusteredDecisionCounts(DecisionCounts):
    """Decisions of which some share a cluster, such as a person or a session.

    Parameters
    ----------
    groups : mapping of str to Confusion
    sharing : Sharing
        Trials, hits and second moments; the cells are (group, ``"1"``) for items labelled positive
        and (group, ``"0"``) for the others.
    n_clusters : mapping of str to int
        How many clusters there are of each kind.
    """

    __slots__ = ("n_clusters", "sharing")

    def __init__(
        self, groups: Mapping[str, Confusion], *, sharing: Sharing, n_clusters: Mapping[str, int]
    ) -> None:
        super().__init__(groups)
        self.sharing, self.n_clusters = sharing, dict(n_clusters)

    def __add__(self, other: DecisionCounts) -> DecisionCounts:
        raise IncompatibleCountsError("clusters", [list(self.n_clusters), "unknown"])


Floats = NDArray[np.float64]


# Without slots, so that camps are added up once however many metrics ask for them.
@dataclass(frozen=True, eq=False)
class GroupedDecisions:
    """Decisions by group, label and prediction, with the groups in two camps.

    Attributes
    ----------
    cells : ndarray of float, shape (..., K, 2, 2)
        Counts, or probabilities, by group, label (0, 1) and prediction (0, 1).
    is_privileged : ndarray of bool, shape (K,)
        Which groups are privileged; the others are unprivileged. Both kinds occur.

    Examples
    --------
    >>> counts = DecisionCounts({
    ...     "f": Confusion(true_positives=3, false_negatives=1),
    ...     "m": Confusion(true_positives=1, true_negatives=2),
    ... })
    >>> contrast = GroupedDecisions.of(counts, privileged={"m"})
    >>> contrast.unprivileged.tolist(), contrast.n
    ([[0.0, 0.0], [1.0, 3.0]], 7.0)
    """

    cells: Floats
    is_privileged: NDArray[np.bool_]

    @classmethod
    def of(cls, counts: DecisionCounts, privileged: Collection[str]) -> GroupedDecisions:
        """Return the counts of all groups as an array, groups in sorted order."""
        cells = [_table(counts[group]) for group in counts.groups]
        return cls(
            np.array(cells, dtype=np.float64),
            np.array([group in privileged for group in counts.groups]),
        )

    def with_cells(self, cells: Floats) -> GroupedDecisions:
        """Return other counts of the same groups."""
        return GroupedDecisions(cells, self.is_privileged)

    @cached_property
    def unprivileged(self) -> Floats:
        """Table of label and prediction over all unprivileged groups."""
        return _sum_cells(self.cells, ~self.is_privileged)

    @cached_property
    def privileged(self) -> Floats:
        """Table of label and prediction over all privileged groups."""
        return _sum_cells(self.cells, self.is_privileged)

    @cached_property
    def two_camps(self) -> GroupedDecisions:
        """The same decisions with only two groups: unprivileged, privileged."""
        both = np.stack([self.unprivileged, self.privileged], axis=-3)
        return GroupedDecisions(both, np.array([False, True]))

    @cached_property
    def whole(self) -> Floats:
        """Table of label and prediction over everybody."""
        return _sum_cells(self.cells, np.ones(len(self.is_privileged), dtype=bool))

    @property
    def n(self) -> float:
        """Number of decisions in one table."""
        return float(self.cells.sum(axis=(-3, -2, -1)).flat[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NeighbourCounts:
    """Items by their label and the positive labels among their nearest neighbours.

    Attributes
    ----------
    table : ndarray of int, shape (2, k + 1)
        Items by label (row) and number of positive neighbours (column).
    dependent_square : float
        Sum over every two items that share a neighbour of the products of their deviations from
        the mean difference: n squared times the variance of the consistency.
    tied : int
        Items with another item just as near as their last neighbour.
    checked : int
        Items whose neighbours were found a second time, exactly, where the search was approximate.
    error : tuple of float
        Consistency over these with exact neighbours minus that with approximate ones, and the
        standard error of that difference; zeros where the search was exact.
    """

    table: NDArray[np.int64]
    dependent_square: float
    tied: int = 0
    checked: int = 0
    error: tuple[float, float] = (0.0, 0.0)

    @property
    def n_neighbors(self) -> int:
        """Neighbours of each item, itself included."""
        return int(self.table.shape[1]) - 1

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self.table.sum())


def _sum_cells(cells: Floats, chosen: NDArray[np.bool_]) -> Floats:
    total: Floats = cells[..., chosen, :, :].sum(axis=-3)
    return total


def _table(confusion: Confusion) -> Sequence[Sequence[int]]:
    return (
        (confusion.true_negatives, confusion.false_positives),
        (confusion.false_negatives, confusion.true_positives),
    )


FEWEST = 10**5
"""From so many rows on, loading the compiled kernel pays."""


def count_small_codes(
    labels: NDArray[Any], predictions: NDArray[Any], groups: NDArray[Any]
) -> DecisionCounts | None:
    """Count 0/1 labels and predictions of groups coded from 0 to 255, in one pass.

    Returns ``None`` where the arrays are anything else, or too short for it to pay: then
    :func:`comparity.counts.decision_rows.count_decision_arrays` does it, and finds what is wrong.
    """
    columns = (labels, predictions, groups)
    whole = all(column.dtype.kind in "biu" and column.ndim == 1 for column in columns)
    if not whole or not FEWEST <= len(labels) == len(predictions) == len(groups):
        return None
    from comparity.counts.kernels.sorting import tabulate

    table = tabulate(*columns).reshape(-1, 4)
    occurring = np.flatnonzero(table.any(axis=1))
    if len(occurring) < 2:
        return None
    return DecisionCounts(
        {
            text_of(groups.dtype.type(code)): Confusion(
                true_negatives=tn, false_positives=fp, false_negatives=fn, true_positives=tp
            )
            for code, (tn, fp, fn, tp) in zip(
                occurring.tolist(), table[occurring].tolist(), strict=True
            )
        }
    )
