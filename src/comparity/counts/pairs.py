"""Judged pairs, counted by cell: one class for each sampling design.

The sampling design is in the type. :class:`DecisionCounts` holds independent decisions about single
items, :class:`PairCounts` judged pairs made of fresh items, :class:`SharedPairCounts` judged pairs
that reuse items or evaluators. They need different variances, so a test accepts one of them only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import Tally, _added
from comparity.errors import IncompatibleCountsError

__all__ = [
    "Cell",
    "JudgedPairs",
    "PairCounts",
    "SharedPairCounts",
]


class Cell(NamedTuple):
    """A kind of pair: the group of the better item and the group of the worse one."""

    better: str
    worse: str

    def __str__(self) -> str:
        return f"{self.better} > {self.worse}"


class _CellTallies(Mapping[Cell, Tally]):
    """Agreement by cell, and judgments that put neither item first."""

    __slots__ = ("_cells", "_judgment_ties")

    def __init__(
        self,
        cells: Mapping[Cell, Tally],
        judgment_ties: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        self._cells = {cell: cells[cell] for cell in sorted(cells) if cells[cell].trials}
        ties = judgment_ties or {}
        self._judgment_ties = {pair: ties[pair] for pair in sorted(ties) if ties[pair]}
        assert all(first <= second for first, second in self._judgment_ties), judgment_ties

    def __getitem__(self, cell: Cell) -> Tally:
        return self._cells.get(cell, Tally(0, 0))

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __contains__(self, cell: object) -> bool:
        return cell in self._cells

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._cells!r}, {self._judgment_ties!r})"

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that occur in any cell or tied judgment, sorted."""
        named = [*self._cells, *self._judgment_ties]
        return tuple(sorted({group for pair in named for group in pair}))

    @property
    def judgment_ties(self) -> Mapping[tuple[str, str], int]:
        """Tied judgments by the two groups compared, the groups in sorted order."""
        return dict(self._judgment_ties)

    @property
    def n(self) -> int:
        """Number of judgments that put one item first."""
        return sum(tally.trials for tally in self.values())

    @property
    def n_judgment_ties(self) -> int:
        """Number of judgments that put neither item first."""
        return sum(self._judgment_ties.values())


class PairCounts(_CellTallies):
    """Judged pairs made of fresh items: no item and no evaluator occurs twice.

    Adding parts says that no item and no evaluator of one occurs in another; where they may, count
    every part with ``design="shared"``, whose counts add up whatever they share.

    Parameters
    ----------
    cells : mapping of Cell to Tally
        How often the model put the better item first, by kind of pair. Empty cells may be left out.
    judgment_ties : mapping of (str, str) to int, optional
        Tied judgments by the two groups compared, in sorted order.

    Examples
    --------
    >>> counts = PairCounts({Cell("a", "b"): Tally(80, 100)}, {("a", "b"): 4})
    >>> counts[Cell("a", "b")].rate, counts[Cell("b", "a")].trials, counts.n_judgment_ties
    (0.8, 0, 4)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairCounts):
            return NotImplemented
        return (self._cells, self._judgment_ties) == (other._cells, other._judgment_ties)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: PairCounts) -> PairCounts:
        if not isinstance(other, PairCounts):
            raise IncompatibleCountsError("design", [type(self).__name__, type(other).__name__])
        return PairCounts(
            _added(self, other, Tally(0, 0)), _added(self._judgment_ties, other._judgment_ties, 0)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedPairs:
    """Distinct judged pairs and how often each was judged, as columns.

    Attributes
    ----------
    better, worse : ndarray of int
        Positions of the two items in the item table.
    evaluator : ndarray of int or None
        Positions in `evaluators`; ``None`` where evaluators are unknown.
    cell : ndarray of int
        Positions in `cells`.
    order : ndarray of int8
        1 where the model puts the better item first, 0 where it ties, -1 where it does not.
    trials : ndarray of int
        How often this pair was judged this way (by this evaluator).
    cells : tuple of Cell
    evaluators : tuple of str
    n_items : int
        Length of the item table.
    item_table : str
        Fingerprint of the item table: positions mean nothing in another one.
    reference : ndarray of float or None
        Label or reference score of every item, where agreement is to be standardised to one law
        of it.
    """

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    evaluator: NDArray[np.int64] | None
    cell: NDArray[np.int64]
    order: NDArray[np.int8]
    trials: NDArray[np.int64]
    cells: tuple[Cell, ...]
    evaluators: tuple[str, ...] = ()
    n_items: int
    item_table: str = ""
    reference: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        by_pair = (self.better, self.worse, self.evaluator, self.cell, self.order, self.trials)
        for column in (*by_pair, self.reference):
            if column is not None:
                column.setflags(write=False)

    def __len__(self) -> int:
        return len(self.trials)

    def tallies(self) -> dict[Cell, Tally]:
        """Return the tally of every cell."""
        codes = 3 * self.cell + self.order + 1
        table = np.bincount(codes, self.trials, 3 * len(self.cells)).astype(np.int64)
        missed, tied, hit = table.reshape(-1, 3).T.tolist()
        return {
            cell: Tally(hit[code], missed[code] + tied[code] + hit[code], tied[code])
            for code, cell in enumerate(self.cells)
        }


class SharedPairCounts(_CellTallies):
    """Judged pairs that reuse items, or evaluators, or both.

    Beside the tallies of the cells it keeps how often each distinct pair was judged, because the
    variance depends on which judgments share an item or an evaluator. Parts that were counted
    against the same item table can be added, whatever items and evaluators they share.

    Parameters
    ----------
    pairs : JudgedPairs
        Distinct judged pairs.
    judgment_ties : mapping of (str, str) to int, optional
        Tied judgments by the two groups compared, in sorted order.
    """

    __slots__ = ("pairs",)

    def __init__(
        self, pairs: JudgedPairs, judgment_ties: Mapping[tuple[str, str], int] | None = None
    ) -> None:
        super().__init__(pairs.tallies(), judgment_ties)
        self.pairs = pairs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SharedPairCounts):
            return NotImplemented
        return self._judgment_ties == other._judgment_ties and _same_pairs(self.pairs, other.pairs)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: SharedPairCounts) -> SharedPairCounts:
        if not isinstance(other, SharedPairCounts):
            raise IncompatibleCountsError("design", [type(self).__name__, type(other).__name__])
        return SharedPairCounts(
            _merged([self.pairs, other.pairs]),
            _added(self._judgment_ties, other._judgment_ties, 0),
        )

    @property
    def has_evaluators(self) -> bool:
        """Whether it is known who judged."""
        return self.pairs.evaluator is not None


def _merged(parts: Sequence[JudgedPairs]) -> JudgedPairs:
    """Join parts into one set of distinct pairs, in a canonical order."""
    _check_compatible(parts)
    cells = tuple(sorted({cell for part in parts for cell in part.cells}))
    evaluators = tuple(sorted({name for part in parts for name in part.evaluators}))
    n_items = parts[0].n_items
    better = np.concatenate([part.better for part in parts])
    worse = np.concatenate([part.worse for part in parts])
    cell = np.concatenate([_recoded(part.cell, part.cells, cells) for part in parts])
    order = np.concatenate([part.order for part in parts])
    trials = np.concatenate([part.trials for part in parts])
    known = [
        _recoded(part.evaluator, part.evaluators, evaluators)
        for part in parts
        if part.evaluator is not None
    ]
    evaluator = np.concatenate(known) if known else None
    # The cell and the order follow from the pair, so pair and evaluator identify a row.
    columns = (worse, better) if evaluator is None else (evaluator, worse, better)
    sequence = np.lexsort(columns)
    changed = np.zeros(len(sequence), dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= np.diff(column[sequence]) != 0
    first = sequence[changed]
    return JudgedPairs(
        better=better[first],
        worse=worse[first],
        evaluator=None if evaluator is None else evaluator[first],
        cell=cell[first],
        order=order[first],
        trials=np.add.reduceat(trials[sequence], np.flatnonzero(changed)) if len(first) else trials,
        cells=cells,
        evaluators=evaluators,
        n_items=n_items,
        item_table=parts[0].item_table,
        reference=parts[0].reference,
    )


def _check_compatible(parts: Sequence[JudgedPairs]) -> None:
    if len({(part.item_table, part.n_items) for part in parts}) > 1:
        raise IncompatibleCountsError("item table", [part.n_items for part in parts])
    if len({part.evaluator is None for part in parts}) > 1:
        raise IncompatibleCountsError("evaluators", [part.evaluator is not None for part in parts])


def _recoded(
    codes: NDArray[np.int64], old: Sequence[Hashable], new: Sequence[Hashable]
) -> NDArray[np.int64]:
    if tuple(old) == tuple(new):
        return codes
    position = {name: code for code, name in enumerate(new)}
    return np.array([position[name] for name in old], dtype=np.int64)[codes]


def _same_pairs(first: JudgedPairs, second: JudgedPairs) -> bool:
    if (first.item_table, first.n_items) != (second.item_table, second.n_items):
        return False
    if (first.evaluator is None) != (second.evaluator is None):
        return False
    one, two = _named(first), _named(second)
    return one.keys() == two.keys() and all(np.array_equal(one[key], two[key]) for key in one)


def _named(pairs: JudgedPairs) -> dict[str, NDArray[np.generic]]:
    """Return the canonical columns with cells and evaluators by name instead of by code."""
    merged = _merged([pairs])
    columns: dict[str, NDArray[np.generic]] = {
        name: getattr(merged, name) for name in ("better", "worse", "order", "trials")
    }
    columns["cell"] = np.array([str(cell) for cell in merged.cells], dtype=object)[merged.cell]
    if merged.evaluator is not None:
        columns["evaluator"] = np.array(merged.evaluators, dtype=object)[merged.evaluator]
    return columns
