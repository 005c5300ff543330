"""Decisions among several classes, counted as yes/no decisions about each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decision_rows import DecisionRows, count_kinds
from comparity.counts.decisions import DecisionCounts
from comparity.errors import TooManyClassesError
from comparity.tables.values import Codes

MOST_CLASSES = 20
"""Every class is judged given every label: with more of them nothing is left of a family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassCounts:
    """Decisions among classes, as tables of yes and no.

    Attributes
    ----------
    classes : tuple of str
        Every class that is a label or a decision of some row, sorted.
    given : mapping of (str, str) to DecisionCounts
        For a label and a decision: `positives` of a group are its rows with this label, and how
        many of them got this decision.
    against_rest : mapping of str to DecisionCounts
        For a class: labels and decisions that are this class or any other one.
    """

    classes: tuple[str, ...]
    given: Mapping[tuple[str, str], DecisionCounts]
    against_rest: Mapping[str, DecisionCounts]

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes that are the label of some row."""
        return tuple(dict.fromkeys(label for label, _ in self.given))


def count_classes(rows: DecisionRows) -> dict[str, ClassCounts]:
    """Count decisions among classes by group, one for each attribute.

    Examples
    --------
    >>> from comparity.counts.decision_rows import decision_arrays
    >>> rows = decision_arrays(list("aabbcc"), list("abbbca"), sensitive={"sex": list("fmfmfm")})
    >>> counts = count_classes(rows)["sex"]
    >>> counts.classes, counts.given["c", "a"]["m"].positives
    (('a', 'b', 'c'), Tally(hits=1, trials=1, ties=0))
    """
    classes, label, decided = class_codes(rows)
    given, against_rest = {}, {}
    for place, name in enumerate(classes):
        against_rest[name] = count_kinds(rows, label == place, decided == place)
        if not (label == place).any():
            continue
        for other, decision in enumerate(classes):
            given[name, decision] = count_kinds(rows, label == place, decided == other)
    return {
        attribute: ClassCounts(
            classes=classes,
            given={cell: one[attribute] for cell, one in given.items()},
            against_rest={name: one[attribute] for name, one in against_rest.items()},
        )
        for attribute in rows.groups
    }


def class_codes(rows: DecisionRows) -> tuple[tuple[str, ...], Codes, Codes]:
    """Return all classes, and the place of each label and of each decision among them."""
    (label, labels), (decided, decisions) = rows.factorise()
    classes = tuple(sorted({*labels, *decisions}))
    if len(classes) > MOST_CLASSES:
        raise TooManyClassesError(rows.names, classes, MOST_CLASSES)
    places = {name: place for place, name in enumerate(classes)}

    def recode(codes: Codes, names: list[str]) -> NDArray[np.int64]:
        return np.array([places[name] for name in names], dtype=np.int64)[codes]

    return classes, recode(label, labels), recode(decided, decisions)
