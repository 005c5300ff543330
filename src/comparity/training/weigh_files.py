"""Weights of rows, written to a file beside its columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.tables.columns import labelled_columns
from comparity.tables.files import read_table, write_table
from comparity.tables.outputs import check_apart
from comparity.tables.values import bounded_numbers, factorise, group_codes
from comparity.training import weigh
from comparity.training.options import WeightsForm
from comparity.training.result import WeighedCell, Weighing

Floats = NDArray[np.float64]


def weigh_file(path: str | Path, output: str | Path, **choices: Any) -> Weighing:
    """Write a file again with a column of weights.

    Parameters
    ----------
    path, output : path
        Files; the format of either follows from its name. They must be two. `output` is written
        whole or not at all.
    **choices
        Those of :class:`WeightsForm`; `density`, `radius` and `bandwidth` are None for those of
        :func:`fair_reweighing`.
    """
    check_apart(output, [path])
    form = WeightsForm(**choices)
    method, label, sensitive, column = form.method, form.label, form.sensitive, form.column
    own = {name: getattr(form, name) for name in ("density", "radius", "bandwidth")}
    given = {name: value for name, value in own.items() if value is not None}
    table = read_table(path)
    columns = labelled_columns(table, [label, *sensitive])
    # To DuckDB, which would call the new column another, capital letters make no difference.
    if column.lower() in map(str.lower, table.collect_schema().names()):
        raise OptionError("name", column, ["a name no column has"], "the column exists")
    continuous = method == "fair-reweighing"
    y = bounded_numbers(columns[label], label, "items") if continuous else columns[label]
    # Errors name the columns of the file.
    group_codes(y, label, "items", several=False)
    attributes = {name: weigh.as_words(columns[name]) for name in sensitive}
    # Groups written as numbers are groups, unless they are said to be numbers.
    for name in form.numeric or ():
        attributes[name] = bounded_numbers(columns[name], name, "items")
    missing = None
    if continuous:
        weights = weigh.fair_reweighing(y, sensitive_features=attributes, **given)
    else:
        group, classes, missing = weigh.group_and_label(y, attributes)
        weights = weigh.METHODS[method](group, classes)
    labels = factorise(y)[1]
    # Weights of 1 are right then, and of no use.
    useless = [f"Every value of {label!r} is {str(labels[0])!r}: there is nothing to balance."]
    useless = useless if len(labels) == 1 else []
    write_table(read_table(path, typed=True), output, {column: weights})
    return Weighing(
        method=method,
        column=column,
        output=str(output),
        n_rows=len(weights),
        effective_rows=weigh.effective_rows(weights),
        largest=float(weights.max()),
        cells=() if continuous else _cells(attributes, y, weights),
        notes=(*([str(missing)] if missing else []), *useless),
    )


def _cells(
    attributes: Mapping[str, NDArray[Any]], y: NDArray[Any], weights: Floats
) -> tuple[WeighedCell, ...]:
    """Return rows and weight of a row by group and label."""
    groups = {name: group_codes(column, name, "array") for name, column in attributes.items()}
    code, names = weigh.cross_groups(groups)
    label, labels = group_codes(y, "label", "items", several=False)
    cells, first, rows = np.unique(
        code * len(labels) + label, return_index=True, return_counts=True
    )
    return tuple(
        WeighedCell(names[cell // len(labels)], labels[cell % len(labels)], many, weight)
        for cell, many, weight in zip(
            cells.tolist(), rows.tolist(), weights[first].tolist(), strict=True
        )
    )
