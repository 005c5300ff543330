"""Judged pairs by position, whatever table the positions came from, made into counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.clusters import Clustering, combine_codes, read_clusters, shared_clusters
from comparity.counts.judged_pairs import Codes, JudgedPairs
from comparity.counts.pairs import Cell, PairCounts
from comparity.errors import (
    EmptyTableError,
    MissingValueError,
    OneGroupError,
    Option,
    OptionError,
    PositionError,
    SelfComparisonError,
)
from comparity.tables.columns import check_option, check_sensitive
from comparity.tables.frames import is_missing
from comparity.tables.typing import Column
from comparity.tables.values import (
    as_array,
    check_lengths,
    cross_attributes,
    group_codes,
    numbers,
    rows_of,
    values_of,
)

DESIGNS = ("auto", "fresh", "shared")

LARGER_SMALLER_EQUAL = (
    Cell("smaller", "larger"),
    Cell("equal", "equal"),
    Cell("larger", "smaller"),
)

MANY_CELLS = 10**6
"""With more possible cells than this, pairs are sorted instead of looked up in a table."""


def count_position_pairs(
    pairs: ArrayLike,
    *,
    scores: ArrayLike,
    sensitive: Mapping[str, ArrayLike],
    evaluators: ArrayLike | None = None,
    tied_pairs: Column | None = None,
    reference: ArrayLike | None = None,
    clusters: Mapping[str, NDArray[Any]] | None = None,
    continuous: bool = False,
    intersection: bool = False,
    design: str = "auto",
) -> dict[str, PairCounts | JudgedPairs]:
    """Count judged pairs by cell and agreement, from positions of items.

    Parameters
    ----------
    pairs : array_like of int, shape (n, 2)
        Positions of the items, the better one first.
    scores : array_like of float
        The model's score of each item.
    sensitive : mapping of str to array_like
        Group of each item, by attribute.
    evaluators : array_like, optional
        Who judged, for each of `pairs`.
    tied_pairs : array_like of int, shape (m, 2), optional
        Pairs judged equal.
    reference : array_like of float, optional
        Label or reference score of each item; the counts keep it, and single pairs.
    clusters : mapping of str to ndarray, optional
        What else makes judgments dependent, for each of `pairs`, by name.
    continuous : bool
        Whether the attributes are numbers; the cells then say whether the better item has the
        larger value.
    intersection : bool
        Whether to count the intersection of all attributes too.
    design : {"auto", "fresh", "shared"}
        ``"auto"`` looks whether an item, an evaluator or a cluster occurs in two judgments.

    Returns
    -------
    dict of str to PairCounts or JudgedPairs
        One for each attribute.

    Examples
    --------
    >>> counts = count_position_pairs(
    ...     [[0, 1], [3, 2]], scores=[0.9, 0.2, 0.4, 0.1], sensitive={"sex": ["f", "m", "f", "m"]}
    ... )
    >>> counts["sex"]
    PairCounts({Cell(better='f', worse='m'): Tally(hits=1, trials=1, ties=0), \
Cell(better='m', worse='f'): Tally(hits=0, trials=1, ties=0)}, {})
    """
    check_option("design", design, DESIGNS)
    score_array = as_array(scores, "scores", "item")
    columns = {str(name): as_array(column, str(name)) for name, column in sensitive.items()}
    check_sensitive(list(columns))
    known = {} if reference is None else {"reference": as_array(reference, "reference", "item")}
    check_lengths({"scores": score_array, **columns, **known})
    if not len(score_array):
        raise EmptyTableError("item")
    judged = _check_positions(pairs, "pairs", len(score_array))
    tied = _check_positions(
        [] if tied_pairs is None else tied_pairs, "tied_pairs", len(score_array)
    )
    if not len(judged) and not len(tied):
        raise EmptyTableError("comparison")
    given = {} if evaluators is None else {"evaluators": as_array(evaluators, "evaluators")}
    judges = read_clusters(given, table="array", beside={"pairs": judged}, several=False)
    evaluator, names = judges.get("evaluators", (None, ()))
    ledger = Ledger(
        better=judged[:, 0],
        worse=judged[:, 1],
        trials=np.ones(len(judged), dtype=np.int64),
        evaluator=evaluator,
        evaluators=names,
        clusters=read_clusters(clusters or {}, table="array", beside={"pairs": judged}),
        tied_first=tied[:, 0],
        tied_second=tied[:, 1],
        tied_trials=np.ones(len(tied), dtype=np.int64),
    )
    return count_ledger(
        ledger,
        scores=numbers(score_array, "scores", "item"),
        attributes=attributes_of(columns, continuous=continuous, intersection=intersection),
        design=design,
        reference=numbers(known["reference"], "reference", "item") if known else None,
    )


def _check_positions(pairs: Column, name: str, n_items: int) -> NDArray[np.int64]:
    try:
        # np.asarray alone would forget a mask.
        array = values_of(pairs, name) if np.ma.is_masked(pairs) else np.asarray(pairs)
    except ValueError as error:
        raise PositionError(name, "pairs of integers", "rows of different lengths") from error
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise PositionError(name, "an array of shape (n, 2)", f"shape {array.shape}")
    if array.dtype.kind not in "iu":
        missing = np.array([any(map(is_missing, row)) for row in array.tolist()], dtype=bool)
        if missing.any():
            raise MissingValueError(name, "comparison", rows_of(missing))
        raise PositionError(name, "integers", f"{array.dtype}, such as {array.tolist()[0][0]!r}")
    outside = (array < 0) | (array >= n_items)
    if outside.any():
        rows = outside[:, 0] | outside[:, 1]
        found = f"{array[outside][:5].tolist()} in {rows_of(rows)}"
        raise PositionError(name, f"positions from 0 to {n_items - 1}", found)
    equal = array[:, 0] == array[:, 1]
    if equal.any():
        raise SelfComparisonError(rows_of(equal, array[:, 0]))
    return array.astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Judgments by position: ordered ones with how often each was made, and tied ones.

    Attributes
    ----------
    better, worse : ndarray of int
        Positions of the items.
    trials : ndarray of int
        How often this row was judged.
    evaluator : ndarray of int or None
        Positions in `evaluators`.
    evaluators : tuple of str
    clusters : mapping of str to Clustering
        What else makes judgments dependent.
    tied_first, tied_second, tied_trials : ndarray of int
        The same for judgments that put neither item first.
    is_distinct : bool
        Whether every (better, worse, evaluator, clusters) has one row already.
    """

    better: Codes
    worse: Codes
    trials: Codes
    evaluator: Codes | None
    evaluators: tuple[str, ...]
    clusters: Mapping[str, Clustering]
    tied_first: Codes
    tied_second: Codes
    tied_trials: Codes
    is_distinct: bool = False

    def repeats(self, n_items: int) -> bool:
        """Return whether an item, an evaluator or a cluster occurs in two judgments."""
        uses = np.bincount(self.better, self.trials, n_items)
        uses += np.bincount(self.worse, self.trials, n_items)
        if (uses > 1).any():
            return True
        judges = [] if self.evaluator is None else [Clustering(self.evaluator, self.evaluators)]
        return any(one.repeats(self.trials) for one in (*judges, *self.clusters.values()))

    def distinct(self, n_items: int) -> Ledger:
        """Return every (better, worse, evaluator, clusters) once, without clusters of one row."""
        kept = shared_clusters(self.clusters, self.trials)
        if self.is_distinct and len(kept) == len(self.clusters):
            return self
        key = self.better * n_items + self.worse
        shared = [one.codes for one in kept.values()]
        shared += [] if self.evaluator is None else [self.evaluator]
        if not shared and not (self.trials != 1).any():
            # A key says all there is to its rows; keys are sorted in a third of the time of rows.
            rows, trials = np.unique(key, return_counts=True)
            better, worse = np.divmod(rows, n_items)
            return replace(
                self, better=better, worse=worse, trials=trials, clusters={}, is_distinct=True
            )
        if shared:
            # Keys are numbered first where their products with others would not fit into 63 bits.
            large = len(key) * n_items**2 >= 2**62
            key = np.unique(key, return_inverse=True)[1] if large else key
            key = combine_codes([*shared, key])
        rows, code = np.unique(key, return_inverse=True)
        # Rows of one key are alike, so that any of them will do.
        first = np.empty(len(rows), dtype=np.int64)
        first[code] = np.arange(len(code))
        return replace(
            self,
            better=self.better[first],
            worse=self.worse[first],
            trials=np.bincount(code, self.trials, len(rows)).astype(np.int64),
            evaluator=None if self.evaluator is None else self.evaluator[first],
            clusters={name: Clustering(one.codes[first], one.names) for name, one in kept.items()},
            is_distinct=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One sensitive attribute of the items: codes into group names, or numbers.

    Attributes
    ----------
    codes : ndarray of int or None
        Group of each item; ``None`` for a numeric attribute.
    names : tuple of str
    values : ndarray of float or None
        Value of each item, for a numeric attribute.
    """

    codes: Codes | None = None
    names: tuple[str, ...] = ()
    values: NDArray[np.float64] | None = None

    def cells(self, better: Codes, worse: Codes) -> tuple[Codes, tuple[Cell, ...]]:
        """Return the cell of each pair as a code into the cells that occur."""
        if self.values is not None:
            return compare_values(self.values, better, worse) + 1, LARGER_SMALLER_EQUAL
        assert self.codes is not None
        return compact_cells(self.codes[better], self.codes[worse], self.names)

    def content(self) -> bytes:
        """Return what identifies the attribute."""
        if self.values is not None:
            return (self.values + 0.0).tobytes()
        assert self.codes is not None
        names = "\0".join(self.names).encode("utf-8", "surrogatepass")
        return names + b"\0\0" + self.codes.tobytes()


def compare_values(values: NDArray[np.float64], better: Codes, worse: Codes) -> Codes:
    """Return 1, 0 or -1 as the better item's value is larger, equal or smaller."""
    first, second = values[better], values[worse]
    # Not the sign of a difference, which overflows where values are huge.
    signs: Codes = (first > second).astype(np.int64) - (first < second)
    return signs


def compact_cells(
    better: Codes, worse: Codes, names: tuple[str, ...]
) -> tuple[Codes, tuple[Cell, ...]]:
    """Return the cell of each pair as a code into the cells that occur."""
    size = len(names)
    codes = better * size + worse
    if size**2 <= MANY_CELLS:
        # A table of all cells is cheaper than sorting the pairs.
        used = np.flatnonzero(np.bincount(codes, minlength=size**2))
        place = np.zeros(size**2, dtype=np.int64)
        place[used] = np.arange(len(used))
        codes = place[codes]
    else:
        used, codes = np.unique(codes, return_inverse=True)
    pairs = [divmod(int(code), size) for code in used]
    return codes, tuple(Cell(names[first], names[second]) for first, second in pairs)


def tied_by_groups(
    cell: Codes, trials: Codes, cells: tuple[Cell, ...]
) -> dict[tuple[str, str], int]:
    """Add up tied judgments by the two groups in sorted order."""
    ties: dict[tuple[str, str], int] = {}
    counts = np.bincount(cell, trials, len(cells)).astype(np.int64).tolist()
    for name, count in zip(cells, counts, strict=True):
        pair = (min(name), max(name))
        ties[pair] = ties.get(pair, 0) + count
    return ties


def count_ledger(
    ledger: Ledger,
    *,
    scores: NDArray[np.float64],
    attributes: Mapping[str, Attribute],
    design: str,
    ids: Iterable[str] = (),
    reference: NDArray[np.float64] | None = None,
) -> dict[str, PairCounts | JudgedPairs]:
    """Count judged pairs for every attribute.

    Parameters
    ----------
    ledger : Ledger
    scores : ndarray of float
        The model's score of each item.
    attributes : mapping of str to Attribute
    design : {"auto", "fresh", "shared"}
        ``"auto"`` looks whether an item, an evaluator or a cluster occurs twice.
    ids : iterable of str
        Names of the items by position, for the fingerprint of the item table.
    reference : ndarray of float, optional
        What the items are to be standardised to; the counts then keep single pairs.
    """
    shared = reference is not None or design == "shared"
    shared = shared or (design == "auto" and ledger.repeats(len(scores)))
    ledger = ledger.distinct(len(scores)) if shared else ledger
    digest = hashlib.blake2b(digest_size=16)
    digest.update("\0".join(ids).encode("utf-8", "surrogatepass"))
    digest.update((scores + 0.0).tobytes())
    if reference is not None:
        digest.update((reference + 0.0).tobytes())
    order = compare_values(scores, ledger.better, ledger.worse).astype(np.int8)
    counts: dict[str, PairCounts | JudgedPairs] = {}
    for name, attribute in attributes.items():
        cell, cells = attribute.cells(ledger.better, ledger.worse)
        tied = attribute.cells(ledger.tied_first, ledger.tied_second)
        own = digest.copy()
        own.update(attribute.content())
        pairs = JudgedPairs(
            better=ledger.better,
            worse=ledger.worse,
            evaluator=ledger.evaluator,
            cell=cell,
            order=order,
            trials=ledger.trials,
            cells=cells,
            evaluators=ledger.evaluators,
            n_items=len(scores),
            item_table=own.hexdigest(),
            reference=reference,
            clusters=ledger.clusters,
            judgment_ties=tied_by_groups(tied[0], ledger.tied_trials, tied[1]),
        )
        counts[name] = pairs if shared else pairs.fresh_counts()
    return counts


def attributes_of(
    columns: Mapping[str, NDArray[Any]],
    *,
    continuous: bool,
    intersection: bool,
    table: str = "item",
) -> dict[str, Attribute]:
    """Return what the items' sensitive columns say, with the intersection where asked for."""
    if continuous:
        check_not_crossed(intersection)
        return {name: _numeric_attribute(column, name, table) for name, column in columns.items()}
    coded = {name: group_codes(column, name, table) for name, column in columns.items()}
    groups = cross_attributes(coded, intersection=intersection)
    return {name: Attribute(codes=codes, names=tuple(n)) for name, (codes, n) in groups.items()}


def check_not_crossed(intersection: bool) -> None:
    """Raise an error if numbers are to be crossed like groups."""
    if intersection:
        why = "continuous attributes have no groups to cross"
        raise OptionError(
            "intersection", True, [Option("intersection", False), Option("continuous", False)], why
        )


def _numeric_attribute(column: NDArray[Any], name: str, table: str) -> Attribute:
    values = numbers(column, name, table)
    if len(values) and values.min() == values.max():
        raise OneGroupError(name, [str(values[0])])
    return Attribute(values=values)
