"""Rows with decisions of two or more decision makers, counted once.

Equal rows are counted on the engine the table lives in; what comes back is small where decisions
are coarse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.clusters import Clustering, read_clusters, shared_clusters
from comparity.counts.differences import (
    ClusteredRows,
    DecisionRange,
    DifferenceCounts,
    significant_decimals,
)
from comparity.errors import (
    ComparityError,
    EmptyTableError,
    MissingValueError,
    NotNumericError,
    OneGroupError,
    TooFewRatersError,
    UnorderedDecisionError,
    WordDecisionError,
)
from comparity.tables.columns import Table, check_columns, open_table
from comparity.tables.frames import collect_columns, is_missing, stays_on_engine, text_of
from comparity.tables.stored_frames import StoredFrame
from comparity.tables.values import (
    as_array,
    bounded_numbers,
    check_lengths,
    cross_attributes,
    group_codes,
    put_first,
    rows_of,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

TABLE = "decisions"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decisions:
    """Checked decisions, one entry for each distinct row.

    Attributes
    ----------
    raters : tuple of str
        The decision makers.
    values : ndarray, (m, R)
        Their decisions as numbers.
    weights : ndarray of int, (m,)
        How often the row occurs.
    groups : mapping of str to (codes, names)
        The group of each row, by attribute; the reference group comes first.
    numbers : mapping of str to ndarray
        Attributes that are numbers to be compared, not groups.
    digits : int or None
        Decimals of a difference that mean anything; ``None`` for whole numbers.
    clusters : mapping of str to Clustering
        What makes rows dependent, where any rows share it.
    """

    raters: tuple[str, ...]
    values: Floats
    weights: Codes
    groups: Mapping[str, tuple[Codes, list[str]]]
    numbers: Mapping[str, Floats]
    digits: int | None = None
    clusters: Mapping[str, Clustering] = field(default_factory=dict)

    @property
    def repeated(self) -> bool:
        """Whether any row occurs more than once."""
        return self.n > len(self.weights)

    @property
    def n(self) -> int:
        """Rows of the table."""
        return int(self.weights.sum())

    def differences(self, first: int, second: int, attribute: str) -> DifferenceCounts:
        """Count the differences of two decision makers by group of an attribute."""
        codes, names = self.groups[attribute]
        weights, gaps = self.weights if self.repeated else None, self._between(first, second)
        return DifferenceCounts.of(gaps, codes, tuple(names), weights=weights)

    def rows(self, first: int, second: int, attribute: str) -> tuple[Floats, Floats]:
        """Return differences and the values of an attribute that is a number, row by row."""
        differences, number = self._between(first, second), self.numbers[attribute]
        return np.repeat(differences, self.weights), np.repeat(number, self.weights)

    def clustered_rows(
        self, attribute: str, groups: tuple[str, str], *, raters: tuple[int, int] = (0, 1)
    ) -> ClusteredRows:
        """Return differences of two decision makers in two groups, in clusters."""
        codes, names = self.groups[attribute]
        first, second = (codes == names.index(group) for group in groups)
        every = {"values": self._between(*raters), "second": second, "weights": self.weights}
        return ClusteredRows(**every, clusters=self.clusters).keep(first | second, second)

    def _between(self, first: int, second: int) -> Floats:
        differences: Floats = self.values[:, first] - self.values[:, second]
        # 0.3 - 0.2 and 0.2 - 0.1 are one difference; left apart, they would be variation.
        return differences if self.digits is None else np.round(differences, self.digits)

    def range_of(self, rater: int) -> DecisionRange:
        """Say what a decision maker used of the scale."""
        values, n = self.values[:, rater], self.n
        low, high, mean = float(values.min()), float(values.max()), self.weights @ values / n
        deviation = float(self.weights @ (values - mean) ** 2 / n) ** 0.5
        return DecisionRange(low=low, high=high, mean=float(mean), deviation=deviation)


def decision_arrays(
    decisions: Mapping[str, ArrayLike],
    sensitive: Mapping[str, ArrayLike],
    *,
    order: Sequence[object] | None = None,
    continuous: bool = False,
    intersection: bool = False,
    reference: object = None,
    clusters: Mapping[str, NDArray[Any]] | None = None,
) -> Decisions:
    """Check decisions given as arrays, one entry for each subject.

    Parameters
    ----------
    decisions : mapping of str to array_like
        Decisions by decision maker: numbers, true and false, or values named in `order`.
    sensitive : mapping of str to array_like
        Group of each subject by attribute, or numbers with `continuous`.
    order : sequence, optional
        Values of ordinal decisions from the lowest up; they count as 0, 1, 2, ...
    continuous : bool
        Whether the attributes are numbers to be compared.
    intersection : bool
        Whether to cross all attributes, too.
    reference : optional
        The group that others are compared with, of whichever attribute has it.
    clusters : mapping of str to ndarray, optional
        What makes rows dependent, by name.
    """
    if len(decisions) < 2:
        raise TooFewRatersError(list(decisions), list(decisions))
    columns = {name: as_array(column, name) for name, column in decisions.items()}
    attributes = {name: as_array(column, name) for name, column in sensitive.items()}
    check_lengths({**columns, **attributes})
    weights = np.ones(len(next(iter(columns.values()))), dtype=np.int64)
    found = _make_decisions(
        columns,
        attributes,
        weights,
        order=order,
        continuous=continuous,
        intersection=intersection,
        reference=reference,
    )
    kinds = read_clusters(clusters or {}, table="array", beside=columns)
    return replace(found, clusters=shared_clusters(kinds, weights))


def decision_table(
    frame: Any,
    *,
    raters: Sequence[str],
    sensitive: Sequence[str],
    order: Sequence[object] | None = None,
    continuous: bool = False,
    intersection: bool = False,
    reference: object = None,
    clusters: Sequence[str] = (),
) -> Decisions:
    """Check and count decisions on the engine their table lives in.

    Parameters
    ----------
    frame : frame of any engine
        One row for each subject.
    raters, sensitive : sequence of str
    order, continuous, intersection, reference, clusters
        As in :func:`decision_arrays`; clusters are columns, too.

    Examples
    --------
    >>> import polars
    >>> rows = {"hr_0": [1, 2, 2], "hr_1": [1, 1, 1], "sex": ["f", "m", "m"]}
    >>> found = decision_table(polars.DataFrame(rows), raters=["hr_0", "hr_1"], sensitive=["sex"])
    >>> counts = found.differences(0, 1, "sex")
    >>> counts.values.tolist(), counts.counts.tolist(), found.n
    ([0.0, 1.0], [[1, 0], [0, 2]], 3)
    """
    table = open_decisions(frame, raters, sensitive, clusters)
    shared = [f"cluster{place}" for place in range(len(clusters))]
    rated = [f"rater{place}" for place in range(len(raters))]
    coded = [f"group{place}" for place in range(len(sensitive))]
    numbers, traits = ([] if order is not None else rated), (coded if continuous else [])

    def check(rows: Table) -> None:
        check_columns(rows, names=shared)
        check_decisions(rows, rated=numbers)
        check_columns(rows, complete=rated, numeric=traits)

    found = _count_equal_rows(table, [*numbers, *traits], check)
    kinds = dict(zip(clusters, map(found.__getitem__, shared), strict=True))
    decisions = _make_decisions(
        {name: found[ours] for ours, name in zip(rated, raters, strict=True)},
        {name: found[ours] for ours, name in zip(coded, sensitive, strict=True)},
        found["n"].astype(np.int64),
        order=order,
        continuous=continuous,
        intersection=intersection,
        reference=reference,
        table=TABLE,
    )
    known = read_clusters(kinds, table=TABLE)
    return replace(decisions, clusters=shared_clusters(known, decisions.weights))


def labelled_decisions(
    decisions: Mapping[str, ArrayLike],
    sensitive: Mapping[str, ArrayLike],
    *,
    separator: str | None = None,
    continuous: bool = False,
    intersection: bool = False,
    reference: object = None,
    clusters: Mapping[str, NDArray[Any]] | None = None,
) -> dict[str, Decisions]:
    """Turn decisions that are labels into one yes/no decision for each label.

    Parameters
    ----------
    decisions, sensitive : mapping of str to array_like
        Labels by decision maker, and groups as in :func:`decision_arrays`.
    separator : str, optional
        What stands between labels where a subject may get several; an empty text is none of them.

    Returns
    -------
    dict of str to Decisions
        By label, sorted; of two labels that exclude each other only the second is needed.

    Examples
    --------
    >>> sets = {"a": ["x;y", "y"], "b": ["x", "z"]}
    >>> found = labelled_decisions(sets, {"sex": ["f", "m"]}, separator=";")
    >>> list(found), found["y"].values.tolist()
    (['x', 'y', 'z'], [[1.0, 0.0], [1.0, 0.0]])
    """
    given = {
        name: _label_sets(as_array(column, name), name, separator)
        for name, column in decisions.items()
    }
    known = sorted({label for sets in given.values() for labels in sets for label in labels})
    if separator is None and len(known) == 2:
        known = known[1:]
    choices = {"continuous": continuous, "intersection": intersection, "reference": reference}
    return {
        label: decision_arrays(
            {name: [label in labels for labels in sets] for name, sets in given.items()},
            sensitive,
            clusters=clusters,
            **choices,  # type: ignore[arg-type]
        )
        for label in known
    }


def label_columns(
    frame: Any, *, raters: Sequence[str], sensitive: Sequence[str]
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Bring columns with labels and with groups of a frame to memory; gaps are an error."""
    table = open_decisions(frame, raters, sensitive)
    check_columns(table, complete=table.columns)
    found = collect_columns(table.frame)
    return (
        {name: found[f"rater{place}"] for place, name in enumerate(raters)},
        {name: found[f"group{place}"] for place, name in enumerate(sensitive)},
    )


def _label_sets(column: NDArray[Any], name: str, separator: str | None) -> list[frozenset[str]]:
    listed = column.tolist()
    missing = np.array([is_missing(value) for value in listed], dtype=bool)
    if missing.any():
        raise MissingValueError(name, TABLE, rows_of(missing))
    if separator is None:
        return [frozenset([text_of(value)]) for value in listed]
    parts = (text_of(value).split(separator) for value in listed)
    return [frozenset(filter(None, (part.strip() for part in labels))) for labels in parts]


def check_decisions(table: Table, rated: Sequence[str]) -> None:
    """Raise an error unless every group is known and every decision a number."""
    coded = [name for name in table.columns if name.startswith("group")]
    try:
        check_columns(table, complete=coded, numeric=rated)
    except NotNumericError as error:
        raise WordDecisionError(error.column, error.offenders) from None


def open_decisions(
    frame: Any, raters: Sequence[str], sensitive: Sequence[str], clusters: Sequence[str] = ()
) -> Table:
    """Open a table of decisions: its columns are rater0, ..., group0, ... and cluster0, ..."""
    columns = {f"rater{place}": name for place, name in enumerate(raters)}
    columns |= {f"group{place}": name for place, name in enumerate(sensitive)}
    columns |= {f"cluster{place}": name for place, name in enumerate(clusters)}
    return open_table(frame, TABLE, columns)


def _count_equal_rows(
    table: Table, numeric: Sequence[str], check: Callable[[Table], None]
) -> dict[str, NDArray[Any]]:
    """Check rows and count equal ones; of a table on its engine in one pass over all rows."""
    counted = table.frame.with_columns(nw.lit(1).alias("n"))
    if stays_on_engine(table.frame):
        held = StoredFrame(table.frame.group_by(*table.columns).agg(nw.len().alias("n")))
        counted = held.frame
    try:
        check(table.with_frame(counted))
    except ComparityError:
        # What is wrong is told with the rows of the table itself.
        check(table)
        raise
    values = {name: nw.col(name) for name in table.columns}
    values |= {name: table.number(name) for name in numeric}
    rows = counted.select("n", **values).group_by(*table.columns)
    return collect_columns(rows.agg(nw.col("n").sum()))


def _make_decisions(
    columns: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, NDArray[Any]],
    weights: Codes,
    *,
    order: Sequence[object] | None,
    continuous: bool,
    intersection: bool,
    reference: object,
    table: str = "array",
) -> Decisions:
    if not len(weights):
        raise EmptyTableError(table)
    values = [
        _as_numbers(column, name, table) if order is None else _ranks(column, name, order, table)
        for name, column in columns.items()
    ]
    as_numbers: dict[str, Floats] = {}
    coded: dict[str, tuple[Codes, list[str]]] = {}
    for name, column in attributes.items():
        if continuous:
            as_numbers[name] = _check_varies(column, name, table)
        else:
            coded[name] = group_codes(column, name, table)
    matrix = np.asfortranarray(np.column_stack(values))  # columns are read one by one
    groups = cross_attributes(coded, intersection=intersection) if coded else {}
    return Decisions(
        raters=tuple(columns),
        values=matrix,
        digits=significant_decimals(matrix),
        weights=weights,
        groups=put_first(groups, reference),
        numbers=as_numbers,
    )


def _as_numbers(column: NDArray[Any], name: str, table: str) -> Floats:
    try:
        return bounded_numbers(column, name, table)
    except NotNumericError as error:
        raise WordDecisionError(name, error.offenders) from None


def _ranks(column: NDArray[Any], name: str, order: Sequence[object], table: str) -> Floats:
    codes, words = group_codes(column, name, table, several=False)
    rank = {text_of(value): float(place) for place, value in enumerate(order)}
    unknown = [word for word in words if word not in rank]
    if unknown:
        raise UnorderedDecisionError(name, order, unknown)
    return np.array([rank[word] for word in words])[codes]


def _check_varies(column: NDArray[Any], name: str, table: str) -> Floats:
    values = bounded_numbers(column, name, table)
    if values.min() == values.max():
        raise OneGroupError(name, [text_of(values[0])])
    return values
