"""Two sets of decisions about different subjects, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counting._values import (
    as_array,
    bounded_numbers,
    check_lengths,
    factorised,
    group_codes,
    rows_of,
)
from comparity.differences import NARROWEST
from comparity.errors import (
    ConstantDecisionError,
    DuplicateItemError,
    EmptyTableError,
    GroupMismatchError,
    InconsistentSubjectError,
    MissingValueError,
    OneGroupError,
    ReferenceGroupError,
    TooFewSubjectsError,
    TooNarrowError,
    TwoGroupsError,
)
from comparity.tables import text_of

__all__ = ["SIDES", "DecidedSubjects", "decided_subjects", "twins"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SIDES = ("first", "second")
"""What errors call the two decision makers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecidedSubjects:
    """Subjects of two decision makers.

    Attributes
    ----------
    decisions : tuple of ndarray
        Decisions of the first about its subjects, and of the second about others.
    group : tuple of ndarray
        Position in `groups` of each subject, on both sides.
    groups : tuple of str
        The reference group, and the group whose gap over it is asked for.
    twin : ndarray of int
        For each subject of the second, its row among those of the first; -1 where it has none.
    with_ids : bool
        Whether ids say who that is.
    """

    decisions: tuple[Floats, Floats]
    group: tuple[Codes, Codes]
    groups: tuple[str, str]
    twin: Codes
    with_ids: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """Subjects of both sides."""
        return len(self.decisions[0]), len(self.decisions[1])

    @property
    def n_shared(self) -> int:
        """Subjects whom both decided about."""
        return int((self.twin >= 0).sum())

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Which subjects of the first the second decided about, too."""
        found = np.zeros(self.sizes[0], dtype=bool)
        found[self.twin[self.twin >= 0]] = True
        return found


def decided_subjects(
    decisions: tuple[Any, Any],
    sensitive: tuple[Any, Any],
    subjects: tuple[Any, Any] | None = None,
    *,
    names: tuple[str, str] = SIDES,
    attribute: str = "sensitive_features",
    reference: object = None,
) -> DecidedSubjects:
    """Check decisions and groups of two sets of subjects.

    Parameters
    ----------
    decisions, sensitive : pair of array_like
        Decisions as numbers and groups, on both sides.
    subjects : pair of array_like, optional
        Ids of subjects, by which those decided about twice are found.
    names : pair of str
        What errors call the decisions.
    attribute : str
        What errors call the groups.
    reference : optional
        The group that the other is compared with; the first in sorted order by default.

    Raises
    ------
    ComparityError
        Different lengths, no rows, gaps, infinite numbers, text where numbers are needed, decisions
        all equal, other than two groups or not the same two on both sides, fewer than two subjects
        of a group on a side, an id that occurs twice on a side.
    """
    given: list[Mapping[str, NDArray[Any]]] = []
    for side in (0, 1):
        columns = {
            names[side]: as_array(decisions[side], names[side], names[side]),
            attribute: as_array(sensitive[side], attribute, names[side]),
        }
        if subjects is not None:
            columns["subjects"] = as_array(subjects[side], "subjects", names[side])
        check_lengths(columns)
        if not len(columns[names[side]]):
            raise EmptyTableError(names[side])
        given.append(columns)
    first, second = (
        _decisions(columns[name], name) for columns, name in zip(given, names, strict=True)
    )
    group, groups = _groups((given[0][attribute], given[1][attribute]), names, attribute)
    if reference is not None:
        group, groups = _turned(group, groups, text_of(reference))
    twin = np.full(len(second), -1, dtype=np.int64)
    if subjects is not None:
        twin = twins(given[0]["subjects"], given[1]["subjects"])
        broken = (twin >= 0) & (group[0][twin] != group[1])
        if broken.any():
            ids = given[1]["subjects"]
            raise InconsistentSubjectError(attribute, rows_of(broken, ids))
    return DecidedSubjects(
        decisions=(first, second),
        group=group,
        groups=groups,
        twin=twin,
        with_ids=subjects is not None,
    )


def _decisions(column: NDArray[Any], name: str) -> Floats:
    found = bounded_numbers(column, name, name)
    if found.min() == found.max():
        raise ConstantDecisionError(name, text_of(found[0]))
    if np.ptp(found) < NARROWEST:
        raise TooNarrowError([name], float(np.ptp(found)), NARROWEST)
    return found


def _groups(
    columns: tuple[NDArray[Any], NDArray[Any]], names: tuple[str, str], attribute: str
) -> tuple[tuple[Codes, Codes], tuple[str, str]]:
    (one, known), (two, others) = (
        group_codes(column, attribute, name, several=False)
        for column, name in zip(columns, names, strict=True)
    )
    if len({*known, *others}) < 2:
        raise OneGroupError(attribute, known)
    if known != others:
        raise GroupMismatchError(attribute, known, others)
    if len(known) > 2:
        raise TwoGroupsError(attribute, known)
    for codes, name in zip((one, two), names, strict=True):
        sizes = np.bincount(codes, minlength=2)
        if sizes.min() < 2:
            place = int(sizes.argmin())
            why = "to have a variance"
            raise TooFewSubjectsError(known[place], name, int(sizes[place]), 2, why)
    return (one, two), (known[0], known[1])


def _turned(
    group: tuple[Codes, Codes], groups: tuple[str, str], reference: str
) -> tuple[tuple[Codes, Codes], tuple[str, str]]:
    """Put the reference group first."""
    if reference not in groups:
        raise ReferenceGroupError(reference, groups)
    if reference == groups[0]:
        return group, groups
    return (1 - group[0], 1 - group[1]), (groups[1], groups[0])


def twins(first: NDArray[Any], second: NDArray[Any]) -> Codes:
    """Return for each id of the second side its row on the first, or -1.

    Examples
    --------
    >>> twins(np.array(["a", "b", "c"]), np.array(["x", "c", "a"])).tolist()
    [-1, 2, 0]
    """
    codes, _ = factorised(np.concatenate([first.astype(object), second.astype(object)]))
    one, two = codes[: len(first)], codes[len(first) :]
    for ids, side in zip((one, two), SIDES, strict=True):
        if (ids < 0).any():
            raise MissingValueError("subjects", side, rows_of(ids < 0))
        _, place, times = np.unique(ids, return_inverse=True, return_counts=True)
        repeated = times[place.reshape(-1)] > 1
        if repeated.any():
            values = first if side == SIDES[0] else second
            raise DuplicateItemError("subjects", rows_of(repeated, values))
    row = np.full(max(int(codes.max()), 0) + 1, -1, dtype=np.int64)
    row[one] = np.arange(len(one))
    return row[two]
