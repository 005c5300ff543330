"""Decisions as people pass them: names, labels in columns, choices that exclude each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from comparity.auditing.attributes import named_attributes
from comparity.counting._values import factorised
from comparity.errors import IndicatorError, LabelSpaceError, OptionError
from comparity.tables import FALSE_WORDS, TRUE_WORDS, of_engine, text_of

__all__ = ["check_apart", "check_reference", "check_words", "label_matrices", "names_of"]


def names_of(first: Any, second: Any) -> tuple[str, str]:
    """Return the names of two columns, where they have different ones."""
    names = []
    for column in (first, second):
        native = of_engine(column)
        names.append(str(native.name or "") if isinstance(native, nw.Series) else "")
    return (names[0], names[1]) if all(names) and names[0] != names[1] else ("first", "second")


def label_matrices(first: Any, second: Any) -> dict[str, tuple[Any, Any]] | None:
    """Return both decisions by label, where they have a column for each."""
    columns = [_columns_of(one) for one in (first, second)]
    if columns[0] is None and columns[1] is None:
        return None
    if columns[0] is None or columns[1] is None or columns[0].keys() != columns[1].keys():
        raise LabelSpaceError(*(list(one or ("one column",)) for one in columns))
    pairs = {label: (columns[0][label], columns[1][label]) for label in columns[0]}
    for label, pair in pairs.items():
        for values in pair:
            _check_indicator(label, values)
    return pairs


def _check_indicator(label: str, values: NDArray[Any]) -> None:
    """Refuse a column of several that says more than whether a label was given."""
    _, names = factorised(values)
    if not {name.lower() for name in names} <= {*TRUE_WORDS, *FALSE_WORDS}:
        raise IndicatorError(label, names)


def _columns_of(decisions: Any) -> dict[str, Any] | None:
    native = of_engine(decisions, "decisions")
    frame = isinstance(native, nw.DataFrame | nw.LazyFrame)
    if frame and len(native.collect_schema().names()) > 1:
        return named_attributes(decisions)
    if isinstance(decisions, Mapping) or getattr(decisions, "ndim", 1) == 2:
        return named_attributes(decisions)
    return None


def check_words(*, labels: bool, order: Sequence[Any] | None, separator: str | None) -> None:
    """Refuse words that are labels and ordered at once, or ordered in two ways."""
    if separator == "":
        raise OptionError("separator", separator, ["what stands between labels, such as ';'"])
    if order is None:
        return
    if isinstance(order, str):
        raise OptionError("order", order, ["a list of values, from the lowest up"])
    if labels or separator is not None:
        why = "labels have no order"
        raise OptionError("order", [*order], ["no order", "no labels and no separator"], why)
    if len({text_of(value) for value in order}) < len(order):
        raise OptionError("order", [*order], ["every value once, from the lowest up"])


def check_apart(sensitive: Sequence[str], decisions: Sequence[str]) -> None:
    """Refuse groups that are decisions: they differ by decision for certain."""
    for column in sensitive:
        if column in decisions:
            why = "decisions are no groups"
            raise OptionError("sensitive", column, ["a column without decisions"], why)


def check_reference(reference: Any, *, continuous: bool) -> None:
    """Refuse a reference group of a number."""
    if continuous and reference is not None:
        why = "continuous attributes have no groups to refer to"
        raise OptionError("reference", reference, ["no reference"], why)
