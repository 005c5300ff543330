"""From judged pairs by position to counts, whatever table the positions came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import Tally
from comparity.counts.pairs import Cell, JudgedPairs, PairCounts, SharedPairCounts
from comparity.errors import OneGroupError, OptionError
from comparity.tables.values import crossed, group_codes, numbers

Codes = NDArray[np.int64]


LARGER_SMALLER_EQUAL = (
    Cell("smaller", "larger"),
    Cell("equal", "equal"),
    Cell("larger", "smaller"),
)


MANY_CELLS = 10**6


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
    tied_first, tied_second, tied_trials : ndarray of int
        The same for judgments that put neither item first.
    is_distinct : bool
        Whether every (better, worse, evaluator) has one row already.
    """

    better: Codes
    worse: Codes
    trials: Codes
    evaluator: Codes | None
    evaluators: tuple[str, ...]
    tied_first: Codes
    tied_second: Codes
    tied_trials: Codes
    is_distinct: bool = False

    def repeats(self, n_items: int) -> bool:
        """Say whether an item or an evaluator occurs in two judgments."""
        uses = np.bincount(self.better, self.trials, n_items)
        uses += np.bincount(self.worse, self.trials, n_items)
        if (uses > 1).any():
            return True
        if self.evaluator is None or not len(self.evaluator):
            return False
        return bool((np.bincount(self.evaluator, self.trials) > 1).any())

    def distinct(self, n_items: int) -> Ledger:
        """Return the ledger with every (better, worse, evaluator) once."""
        if self.is_distinct:
            return self
        pair = self.better * n_items + self.worse
        if self.evaluator is None:
            rows, code = np.unique(pair, return_inverse=True)
            better, worse, evaluator = rows // n_items, rows % n_items, None
        else:
            pairs, inverse = np.unique(pair, return_inverse=True)
            n_pairs = max(len(pairs), 1)
            rows, code = np.unique(self.evaluator * n_pairs + inverse, return_inverse=True)
            chosen = pairs[rows % n_pairs]
            better, worse, evaluator = chosen // n_items, chosen % n_items, rows // n_pairs
        trials = np.bincount(code, self.trials, len(rows)).astype(np.int64)
        return replace(
            self, better=better, worse=worse, trials=trials, evaluator=evaluator, is_distinct=True
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
            return compared(self.values, better, worse) + 1, LARGER_SMALLER_EQUAL
        assert self.codes is not None
        return compact_cells(self.codes[better], self.codes[worse], self.names)

    def content(self) -> bytes:
        """Return what identifies the attribute."""
        if self.values is not None:
            return (self.values + 0.0).tobytes()
        assert self.codes is not None
        names = "\0".join(self.names).encode("utf-8", "surrogatepass")
        return names + b"\0\0" + self.codes.tobytes()


def compared(values: NDArray[np.float64], better: Codes, worse: Codes) -> Codes:
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


def tallied(
    cell: Codes, order: NDArray[np.int8], trials: Codes, cells: tuple[Cell, ...]
) -> dict[Cell, Tally]:
    """Add up agreement by cell."""
    counts = np.bincount(cell * 3 + order + 1, trials, 3 * len(cells)).astype(np.int64)
    table = counts.reshape(-1, 3).tolist()
    return {
        name: Tally(hits, misses + ties + hits, ties)
        for name, (misses, ties, hits) in zip(cells, table, strict=True)
    }


def summed(
    cell: Codes, hits: Codes, trials: Codes, ties: Codes, cells: tuple[Cell, ...]
) -> dict[Cell, Tally]:
    """Add up rows that are tallies already, by cell."""
    columns = [
        np.bincount(cell, column, len(cells)).astype(np.int64).tolist()
        for column in (hits, trials, ties)
    ]
    return {name: Tally(*row) for name, *row in zip(cells, *columns, strict=True)}


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
) -> dict[str, PairCounts | SharedPairCounts]:
    """Count judged pairs for every attribute.

    Parameters
    ----------
    ledger : Ledger
    scores : ndarray of float
        The model's score of each item.
    attributes : mapping of str to Attribute
    design : {"auto", "fresh", "shared"}
        ``"auto"`` looks whether an item or an evaluator occurs twice.
    ids : iterable of str
        Names of the items by position, for the fingerprint of the item table.
    reference : ndarray of float, optional
        What the items are to be standardised to; the counts then keep single pairs.
    """
    shared = reference is not None or design == "shared"
    shared = shared or (design == "auto" and ledger.repeats(len(scores)))
    if shared:
        ledger = ledger.distinct(len(scores))
        digest = hashlib.blake2b(digest_size=16)
        digest.update("\0".join(ids).encode("utf-8", "surrogatepass"))
        digest.update((scores + 0.0).tobytes())
        if reference is not None:
            digest.update((reference + 0.0).tobytes())
    order = compared(scores, ledger.better, ledger.worse).astype(np.int8)
    counts: dict[str, PairCounts | SharedPairCounts] = {}
    for name, attribute in attributes.items():
        cell, cells = attribute.cells(ledger.better, ledger.worse)
        tied = attribute.cells(ledger.tied_first, ledger.tied_second)
        ties = tied_by_groups(tied[0], ledger.tied_trials, tied[1])
        if not shared:
            counts[name] = PairCounts(tallied(cell, order, ledger.trials, cells), ties)
            continue
        own = digest.copy()
        own.update(attribute.content())
        counts[name] = SharedPairCounts(
            JudgedPairs(
                better=ledger.better.copy(),
                worse=ledger.worse.copy(),
                evaluator=None if ledger.evaluator is None else ledger.evaluator.copy(),
                cell=cell,
                order=order.copy(),
                trials=ledger.trials.copy(),
                cells=cells,
                evaluators=ledger.evaluators,
                n_items=len(scores),
                item_table=own.hexdigest(),
                reference=reference,
            ),
            ties,
        )
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
    groups = crossed(coded, intersection=intersection)
    return {name: Attribute(codes=codes, names=tuple(n)) for name, (codes, n) in groups.items()}


def check_not_crossed(intersection: bool) -> None:
    """Raise an error if numbers are to be crossed like groups."""
    if intersection:
        why = "continuous attributes have no groups to cross"
        raise OptionError("intersection", True, ["intersection=False", "continuous=False"], why)


def _numeric_attribute(column: NDArray[Any], name: str, table: str) -> Attribute:
    values = numbers(column, name, table)
    if len(values) and values.min() == values.max():
        raise OneGroupError(name, [str(values[0])])
    return Attribute(values=values)
