"""Rows of a file to train a score on, and rows to audit it by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counting._values import bounded_numbers, numbers
from comparity.counting.files import read_table
from comparity.counting.labelled import NAMES, LabelledItems, labelled_columns, labelled_items
from comparity.errors import OptionError
from comparity.mitigation.holding_out import held_out

__all__ = ["Columns", "FileRows", "row_sets"]

Floats = NDArray[np.float64]


class Columns(NamedTuple):
    """Which columns play which part.

    Attributes
    ----------
    features : sequence of str
    label, sensitive : str
    query, weight : str or None
    continuous : bool
        Whether the sensitive column is a number.
    no_group : str or None
        The value that marks items in no group.
    """

    features: Sequence[str]
    label: str
    sensitive: str
    query: str | None
    weight: str | None
    continuous: bool
    no_group: str | None

    @property
    def roles(self) -> dict[str, str]:
        """Names of the columns that are no features, by what errors call their part."""
        found = {"label": self.label, "sensitive": self.sensitive}
        found |= {"queries": self.query} if self.query else {}
        return found | ({"weights": self.weight} if self.weight else {})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileRows:
    """Columns of some rows, checked: features, label, sensitive attribute, query and weight."""

    features: Floats
    label: Floats
    sensitive: NDArray[Any]
    query: NDArray[Any] | None
    weight: Floats | None

    def __len__(self) -> int:
        return len(self.label)

    def part(self, kept: NDArray[np.bool_]) -> FileRows:
        """Return some of the rows."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        taken: dict[str, Any] = {k: None if v is None else v[kept] for k, v in given.items()}
        return FileRows(**taken)

    def items(self, columns: Columns, scores: Floats) -> LabelledItems:
        """Return the rows with scores, checked for an audit."""
        return labelled_items(
            self.label,
            scores,
            self.sensitive,
            queries=self.query,
            weights=self.weight,
            continuous=columns.continuous,
            no_group=columns.no_group,
            names={**NAMES, **columns.roles},
        )


def row_sets(
    path: str | Path, audit_on: str | Path | None, columns: Columns, fraction: float, seed: int
) -> tuple[FileRows, FileRows]:
    """Return rows to train on and rows to audit.

    Parameters
    ----------
    path : path
        The file.
    audit_on : path or None
        Another file to audit; a share of the rows, or of the queries, of the first by default.
    columns : Columns
    fraction : float
        That share.
    seed : int
        What draws it.
    """
    if len(set(columns.features)) < len(columns.features):
        raise OptionError("features", list(columns.features), ["each column once"])
    if columns.label in columns.features:
        raise OptionError("features", list(columns.features), ["columns other than the label"])
    rows = _read(path, columns)
    if audit_on is not None:
        return rows, _read(audit_on, columns)
    held = held_out(rows.items(columns, rows.label), fraction, np.random.default_rng(seed))
    if held.all() or not held.any():
        wanted = ["a share that leaves rows to train on and to audit", "more rows or queries"]
        raise OptionError("held_out", fraction, wanted)
    return rows.part(~held), rows.part(held)


def _read(path: str | Path, columns: Columns) -> FileRows:
    found = labelled_columns(read_table(path), [*columns.features, *columns.roles.values()])
    table = [bounded_numbers(found[name], name, "items") for name in columns.features]
    weight = columns.weight
    return FileRows(
        features=np.column_stack(table),
        label=bounded_numbers(found[columns.label], columns.label, "items"),
        sensitive=found[columns.sensitive],
        query=found[columns.query] if columns.query else None,
        weight=numbers(found[weight], weight, "items") if weight else None,
    )
