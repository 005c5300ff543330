r"""Counts of judged pairs by cell: one class for each sampling design.

:class:`PairCounts` is for pairs made of fresh items, :class:`SharedPairCounts` for pairs that reuse
items or evaluators. They need different variances, so a test accepts one of them only. Neither
holds single pairs: a test needs tallies and, if items are shared, second moments.

For a contrast of cell rates with weights :math:`w` the residual of judgment :math:`p` is
:math:`u_p`, linear in its trials and hits. Judgments that share an item or an evaluator are
dependent, all others are not, so the variance is the sum of :math:`u_p u_q` over dependent
:math:`p, q`. Summed cluster by cluster:

.. math::

    V = \sum_{items} U_i^2 - \sum_{pairs} U_{ij}^2
        + \sum_{evaluators} U_k^2
        - \Big( \sum_{k, items} U_{ki}^2 - \sum_{k, pairs} U_{kij}^2 \Big)

where :math:`U` is the sum of :math:`u` over the judgments of the cluster. The first difference
counts judgments that share both items once instead of twice; the last bracket subtracts what
items and evaluators both counted. A pair that is judged four times is one pair. Further kinds of
clusters, such as prompts, are added in the same way (:mod:`comparity.counts.clusters`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import EVALUATORS, ClusterMoments, FewClusters
from comparity.errors import IncompatibleCountsError

Floats = NDArray[np.float64]
Key = TypeVar("Key", bound=Hashable)
Count = TypeVar("Count")

TIE_VALUE = {"disagree": 0.0, "half": 0.5}
"""What a tie of the model's scores counts as."""

ROUNDING = 1e-9
"""Differences this small, relative to the numbers they come from, are rounding errors."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Hits among trials, and how many of the misses are ties of the model's scores.

    Examples
    --------
    >>> Tally(80, 100, 6).rate, Tally(80, 100, 6).half_rate
    (0.8, 0.83)
    >>> Tally(80, 100, 6) + Tally(1, 2)
    Tally(hits=81, trials=102, ties=6)
    """

    hits: int
    trials: int
    ties: int = 0

    def __post_init__(self) -> None:
        assert min(self.hits, self.ties) >= 0, self
        assert self.hits + self.ties <= self.trials, self

    @property
    def rate(self) -> float:
        """Share of hits; a score tie is a miss. ``nan`` without trials."""
        return self.hits / self.trials if self.trials else float("nan")

    @property
    def half_rate(self) -> float:
        """Share of hits with a score tie counted as half a hit. ``nan`` without trials."""
        return (self.hits + self.ties / 2) / self.trials if self.trials else float("nan")

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.hits + other.hits, self.trials + other.trials, self.ties + other.ties)


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


def add_counts(
    first: Mapping[Key, Count], second: Mapping[Key, Count], zero: Count
) -> dict[Key, Count]:
    """Add up two mappings of counts; what one of them does not have counts as `zero`."""
    keys = {**dict.fromkeys(first), **dict.fromkeys(second)}
    return {key: first.get(key, zero) + second.get(key, zero) for key in keys}  # type: ignore[operator]


class PairCounts(_CellTallies):
    """Judged pairs made of fresh items: no item and no evaluator occurs twice.

    Adding parts states that no item and no evaluator of one occurs in another. If they may, count
    every part with ``design="shared"``; those counts can always be added.

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

    def sharing_moments(self, score_ties: str = "disagree") -> Sharing:
        """Return the moments of judgments that share nothing."""
        cells = tuple(self)
        n, hits, own, half_hits = _single_moments(self, cells, score_ties)
        return Sharing(
            cells=cells,
            trials=n,
            hits=hits,
            dependent=own,
            own=own,
            half_hits=half_hits,
            effective_items=2 * n,
            method="score z, independent pairs",
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairCounts):
            return NotImplemented
        return (self._cells, self._judgment_ties) == (other._cells, other._judgment_ties)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: PairCounts) -> PairCounts:
        if not isinstance(other, PairCounts):
            raise IncompatibleCountsError("design", [type(self).__name__, type(other).__name__])
        return PairCounts(
            add_counts(self, other, Tally(0, 0)),
            add_counts(self._judgment_ties, other._judgment_ties, 0),
        )


class SharedPairCounts(_CellTallies):
    """Judged pairs that reuse items, or evaluators, or both: tallies and second moments.

    Made from :class:`comparity.counts.judged_pairs.JudgedPairs`, or by any group-by over items and
    evaluators. Parts that share items are added before, as judged pairs.

    Parameters
    ----------
    tallies : mapping of Cell to Tally
        Agreement by cell, a cell for each row of the moments; cells may be empty.
    judgment_ties : mapping of (str, str) to int, optional
        Tied judgments by the two groups compared, in sorted order.
    moments, half_moments : ClusterMoments
        Where a tie of the model's scores is a miss, and where it is half a hit.
    cell_items : ndarray
        How many different items the judgments of each cell are about.
    group_items : mapping of str to int
        How many different items of each group the judgments are about.
    n_items, n_evaluators : int
        Different items and evaluators in all; 0 evaluators if it is not known who judged.
    n_clusters : mapping of str to int, optional
        Clusters of each further kind that makes judgments dependent, such as prompts.
    most_uses : int
        Judgments about the item that occurs in most.
    """

    __slots__ = (
        "cell_items",
        "cells",
        "group_items",
        "half_moments",
        "moments",
        "most_uses",
        "n_clusters",
        "n_evaluators",
        "n_items",
    )

    def __init__(
        self,
        tallies: Mapping[Cell, Tally],
        judgment_ties: Mapping[tuple[str, str], int] | None = None,
        *,
        moments: ClusterMoments,
        half_moments: ClusterMoments,
        cell_items: Floats,
        group_items: Mapping[str, int],
        n_items: int,
        n_evaluators: int,
        most_uses: int,
        n_clusters: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(tallies, judgment_ties)
        self.cells = tuple(tallies)
        self.moments, self.half_moments = moments, half_moments
        self.cell_items, self.group_items = cell_items, group_items
        self.n_items, self.n_evaluators, self.most_uses = n_items, n_evaluators, most_uses
        self.n_clusters = dict(n_clusters or {})

    def sharing_moments(self, score_ties: str = "disagree", *, evaluators: bool = True) -> Sharing:
        """Return the moments of judgments that share items, clusters, and evaluators if asked."""
        moments = self.half_moments if score_ties == "half" else self.moments
        singles = _single_moments(self, self.cells, score_ties)
        judged = [EVALUATORS] if evaluators and self.n_evaluators else []
        return Sharing.of(self.cells, singles, moments, [*judged, *self.n_clusters])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sharing:
    """Second moments of trials and hits by cell, over dependent judgments.

    Each matrix has a row and a column for the trials of every cell, then for its hits, so that
    ``w @ matrix @ w`` is the variance of a linear combination ``w`` of them.

    Attributes
    ----------
    cells : tuple of Cell
    trials, hits : ndarray
        Totals by cell; hits include half of the score ties where these were scored as half.
    dependent : ndarray
        Over all pairs of judgments that share an item, an evaluator or another cluster.
    own : ndarray
        Over each judgment with itself only: what is left when nothing is shared.
    half_hits : ndarray
        Trials that count as half a hit, by cell.
    effective_items : ndarray
        Items in each cell, counted by how evenly they are used: the square of all uses over the
        sum of squared uses. Equal to their number where all are used alike, near one where one
        item occurs in most judgments.
    touching : ndarray or None
        The same as `dependent` before judgments that share twice are taken off once: larger, and
        never negative. ``None`` where no judgment was counted twice.
    n_clusters : int
        Independent clusters (evaluators, prompts, queries) the variance is a sum over, of the kind
        that has the fewest; 0 where it sums over items and the normal distribution will do.
    few : FewClusters or None
        What each cluster holds, where there are few of a kind.
    method : str
        Name of the test made from it.
    """

    cells: tuple[Cell, ...]
    trials: Floats
    hits: Floats
    dependent: Floats
    own: Floats
    half_hits: Floats
    effective_items: Floats
    touching: Floats | None = None
    n_clusters: int = 0
    few: FewClusters | None = None
    method: str = "dyadic score z"

    @classmethod
    def of(
        cls,
        cells: tuple[Cell, ...],
        singles: tuple[Floats, ...],
        moments: ClusterMoments,
        kinds: Sequence[str],
    ) -> Sharing:
        """Return the moments of judgments that share items, and clusters of the given kinds.

        `singles` are trials, hits, the moments of single judgments, and hits that are half.
        """
        trials, hits, own, half_hits = singles
        return cls(
            cells=cells,
            trials=trials,
            hits=hits,
            dependent=moments.dependent(kinds),
            own=own,
            half_hits=half_hits,
            effective_items=evenness(trials, np.diag(moments.items)),
            touching=moments.sum_touching(kinds),
            n_clusters=min((moments.sizes[kind] for kind in kinds), default=0),
            few=moments.few(kinds),
        )

    @property
    def counts_all_pairs(self) -> bool:
        """Whether all pairs that labels imply were counted, not judgments one by one."""
        return self.touching is None and bool(np.any(self.dependent != self.own))


def evenness(trials: Floats, squared_uses: Floats) -> Floats:
    """Return how many evenly used items each cell is worth; every judgment uses two.

    `squared_uses` is the sum over items of their squared uses, by cell first.
    """
    squares = squared_uses[: len(trials)]
    return np.divide((2 * trials) ** 2, squares, out=np.zeros_like(trials), where=squares > 0)


def subset(sharing: Sharing, codes: Sequence[int]) -> Sharing:
    """Keep the cells at the given positions."""
    chosen = np.asarray(codes, dtype=np.int64)
    rows = np.concatenate([chosen, len(sharing.cells) + chosen])
    block = np.ix_(rows, rows)
    return replace(
        sharing,
        cells=tuple(sharing.cells[code] for code in codes),
        trials=sharing.trials[chosen],
        hits=sharing.hits[chosen],
        dependent=sharing.dependent[block],
        own=sharing.own[block],
        touching=None if sharing.touching is None else sharing.touching[block],
        half_hits=sharing.half_hits[chosen],
        effective_items=sharing.effective_items[chosen],
        few=None if sharing.few is None else sharing.few.of(rows.tolist()),
    )


def _single_moments(
    counts: _CellTallies, cells: tuple[Cell, ...], score_ties: str
) -> tuple[Floats, ...]:
    """Return trials and hits by cell, the moments of single judgments, and hits that are half."""
    tie = TIE_VALUE[score_ties]
    tallies = [counts[cell] for cell in cells]
    n = np.array([tally.trials for tally in tallies], dtype=np.float64)
    ties = np.array([tally.ties for tally in tallies], dtype=np.float64)
    hits = np.array([tally.hits for tally in tallies], dtype=np.float64)
    total, squares = hits + tie * ties, hits + tie**2 * ties
    own = np.block([[np.diag(n), np.diag(total)], [np.diag(total), np.diag(squares)]])
    return n, total, own, ties if tie else np.zeros_like(ties)
