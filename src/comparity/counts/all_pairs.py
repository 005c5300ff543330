r"""All pairs that labels imply, summed up as judged pairs that share items; cells taken together.

Every two items with different labels are a judgment: the item with the larger label is better.
There are up to :math:`N^2 / 2` of them, and none is looked at: an item's number of pairs and hits
against each group (its *placements*) follow from its rank by label and by score. An item of group
:math:`a` occurs in the cells :math:`(a, \cdot)` and :math:`(\cdot, a)` only. With :math:`v_i` its
pairs and hits there, the second moments of the design are

.. math:: \sum_i v_i v_i^T - \sum_{pairs} v_{ij} v_{ij}^T

as in :mod:`comparity.counts.pairs`, where the last sum needs only the totals: a pair belongs to
one cell. For one group and binary labels this is the variance of DeLong, DeLong and Clarke-Pearson
("Comparing the areas under two or more correlated receiver operating characteristic curves",
Biometrics 44, 1988), for several groups its covariance between all cells.

The second moments of a union of cells are sums of the moments of its parts, so nothing is counted
again. Unions may overlap: the cell (a, a) is part of the row and of the column of a.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array

from comparity.counts.kernels.dominance import Line, line_totals, line_up
from comparity.counts.kernels.moments import (
    binned_products,
    fill_grid,
    moments_by_cell,
    pair_moments,
    placement_products,
)
from comparity.counts.pairs import TIE_VALUE, Cell, Sharing, evenness

ITEMS_TO_SHARE_MEANS = 10**5
"""From so many items on, items with nearly the same placement share their mean."""


Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllPairs:
    """All pairs of items with different labels, or those within queries, summed up.

    Attributes
    ----------
    sharing : Sharing
        Trials, hits and second moments of all K * K cells, in the order of the groups given; the
        group of the better item changes slowest. Its clusters are the queries that hold a pair.
    score_ties : ndarray
        Pairs with equal scores by cell (their weight, where items are weighted), counted in the
        trials, whatever they count for in the hits.
    """

    sharing: Sharing
    score_ties: Floats


def name_sums(
    cells: tuple[Cell, ...],
    sums: Iterable[Floats],
    squares: Iterable[Floats],
    *,
    tie: float,
    moments: Floats,
    uses: Floats,
    n_clusters: int | None = None,
) -> AllPairs:
    """Name the sums over pairs by cell.

    Parameters
    ----------
    cells : tuple of Cell
        The cells, in the order of the sums.
    sums, squares : iterable of ndarray
        Trials, hits and score ties, with the weights of pairs and with these squared.
    tie : float
        What a pair with equal scores counts as.
    moments : ndarray
        Products of trials and hits, summed over items, or over queries where these are clusters.
    uses : ndarray
        Squared trials of each item, summed over items.
    n_clusters : int, optional
        How many queries hold a pair, where these are clusters.
    """
    trials, hits, ties = (part.ravel() for part in sums)
    n, strict, tied = squares
    own = pair_moments(n, strict, tied, tie)
    clustered = n_clusters is not None
    sharing = Sharing(
        cells=cells,
        trials=trials,
        hits=hits + tie * ties,
        dependent=moments if clustered else moments - own,
        own=own,
        half_hits=ties if tie else np.zeros_like(ties),
        effective_items=evenness(trials, uses),
        n_clusters=n_clusters or 0,
        method="query-clustered score z" if clustered else "all-pairs score z",
    )
    return AllPairs(sharing=sharing, score_ties=ties)


def add_pairs(one: AllPairs | None, two: AllPairs) -> AllPairs:
    """Add up pairs of the same cells that share no query.

    Parameters
    ----------
    one, two : AllPairs
        Clustered by queries; nothing may be the first.
    """
    if one is None:
        return two
    parts = (one.sharing, two.sharing)
    names = ("trials", "hits", "dependent", "own", "half_hits", "n_clusters")
    sums = {name: getattr(parts[0], name) + getattr(parts[1], name) for name in names}
    uses = sum(_squared_uses(part) for part in parts)
    sharing = replace(
        one.sharing, **sums, effective_items=evenness(sums["trials"], np.asarray(uses))
    )
    return AllPairs(sharing=sharing, score_ties=one.score_ties + two.score_ties)


def _squared_uses(sharing: Sharing) -> Floats:
    """Return the sum over items of their squared uses, by cell."""
    effective = sharing.effective_items
    none = np.zeros_like(effective)
    return np.divide((2 * sharing.trials) ** 2, effective, out=none, where=effective > 0)


def cells_of(groups: Sequence[str]) -> tuple[Cell, ...]:
    """Return all K * K cells; the group of the better item changes slowest."""
    return tuple(Cell(better, worse) for better in groups for worse in groups)


def all_pairs(
    y: Floats,
    f: Floats,
    group: Codes,
    groups: tuple[str, ...],
    *,
    weights: Floats | None = None,
    score_ties: str = "disagree",
) -> AllPairs:
    """Sum up how often scores order items as labels do, over all pairs, with second moments.

    Defined by the double loop in ``tests/plain/all_pairs.py``.

    Parameters
    ----------
    y, f : ndarray of float
        Label and score of each item, all finite.
    group : ndarray of int
        Position of its group in `groups`.
    groups : tuple of str
        The groups; some may have no item.
    weights : ndarray of float, optional
        Positive weights of items; a pair weighs the product of its two.
    score_ties : {"disagree", "half"}
        What a pair with equal scores counts as: a miss, or half a hit.

    Returns
    -------
    AllPairs
        With no trials where all labels are equal or there are no items.

    Notes
    -----
    Trials, hits and ties are exact (to rounding, with weights that are no whole numbers), and so
    are second moments of fewer than 100,000 items: O(N log N + N K^2) time and O(N K) memory for N
    items of K groups.

    From 100,000 items on (:data:`ITEMS_TO_SHARE_MEANS`) items with nearly the same label and score
    share their placement: O(N log N) time and O(N) memory. Standard errors of rates and of their
    differences are then within 0.5 %, and much nearer where labels have few levels; where a coarser
    table shows that they would not be, as happens where most pairs agree, they are exact after all.

    Examples
    --------
    >>> y, f = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.1, 0.4, 0.4, 0.9])
    >>> pairs = all_pairs(y, f, np.array([0, 1, 0, 1]), ("a", "b"))
    >>> for cell, hits, ties in zip(pairs.sharing.cells, pairs.sharing.hits, pairs.score_ties):
    ...     print(cell, int(hits), int(ties))
    a > a 1 0
    a > b 0 1
    b > a 1 0
    b > b 1 0
    """
    tie = TIE_VALUE[score_ties]
    line = line_up(y, f, group, len(groups), weights)
    trials, hits, ties = totals = line_totals(line)
    squares = totals if weights is None else line_totals(line._replace(weight=line.weight**2))
    moments = moments_by_cell(_products(line, trials, hits + tie * ties, tie))
    uses = np.diag(moments)
    return name_sums(cells_of(groups), totals, squares, tie=tie, moments=moments, uses=uses)


def cell_counts(y: Floats, f: Floats, group: Codes, n_groups: int) -> tuple[Codes, Codes, Codes]:
    """Count pairs, hits and score ties by group of the better item and group of the worse one.

    Parameters are those of :func:`all_pairs`; three K x K arrays. A score tie is no hit.
    """
    trials, hits, ties = line_totals(line_up(y, f, group, n_groups))
    return trials.astype(np.int64), hits.astype(np.int64), ties.astype(np.int64)


def _products(line: Line, trials: Floats, hits: Floats, tie: float) -> Floats:
    """Return sums of products of placements, from a table where there are many items."""
    if len(line.level) < ITEMS_TO_SHARE_MEANS:
        return placement_products(line, tie)
    found = binned_products(fill_grid(line), trials, hits, tie)
    return placement_products(line, tie) if found is None else found


class AnyGroup(str):
    """Stands for every group in a cell; equal to itself alone, whatever groups are called."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> str:
        return "ANY"


ANY = AnyGroup("*")
"""Every group: ``Cell("a", ANY)`` are the pairs whose better item is in a.

It prints as ``*`` and is not equal to a group of that name.
"""


def merge_cells(sharing: Sharing, parts: Mapping[Cell, Sequence[Cell]]) -> Sharing:
    """Take cells together.

    Parameters
    ----------
    sharing : Sharing
        Pairs by cell and what they share.
    parts : mapping of Cell to sequence of Cell
        For each new cell the cells it is made of; these may occur in several. Cells that `sharing`
        does not have hold no pairs.

    Returns
    -------
    Sharing
        One cell for each entry of `parts`. How many evenly used items it rests on is not known
        exactly from those of its cells; a bound is given that can only be too small (it decides
        whether there are enough items to believe a variance).

    Examples
    --------
    >>> from comparity.counts.pairs import PairCounts
    >>> from comparity.counts.pairs import Tally
    >>> counts = PairCounts({Cell("a", "a"): Tally(8, 10), Cell("a", "b"): Tally(3, 6)})
    >>> row = Cell("a", ANY)
    >>> rows = merge_cells(counts.sharing_moments(), {row: [Cell("a", "a"), Cell("a", "b")]})
    >>> print(rows.cells[0], rows.trials, rows.hits)
    a > * [16.] [11.]
    """
    known = {cell: code for code, cell in enumerate(sharing.cells)}
    merge = np.zeros((len(parts), len(known)))
    for row, cells in enumerate(parts.values()):
        merge[row, [known[cell] for cell in cells if cell in known]] = 1.0
    return replace(
        sharing,
        cells=tuple(parts),
        trials=merge @ sharing.trials,
        hits=merge @ sharing.hits,
        dependent=_moments(merge, sharing.dependent),
        own=_moments(merge, sharing.own),
        half_hits=merge @ sharing.half_hits,
        effective_items=_effective_items(merge, sharing),
    )


def _effective_items(merge: Floats, sharing: Sharing) -> Floats:
    r"""Return at most as many evenly used items as each union rests on.

    The root of the sum of squared uses is a norm, so that of a union is at most the sum of those of
    its cells, :math:`2 n_c / \sqrt{e_c}` with :math:`e_c` the effective items of cell c.
    """
    roots = np.sqrt(sharing.effective_items)
    norms = np.divide(sharing.trials, roots, out=np.zeros_like(roots), where=roots > 0)
    trials, norm = merge @ sharing.trials, merge @ norms
    found: Floats = np.divide(trials, norm, out=np.zeros_like(trials), where=norm > 0) ** 2
    return found


def _moments(merge: Floats, matrix: Floats) -> Floats:
    """Merge rows and columns of a matrix of trials, then hits."""
    # Nearly all of it is zeros: of fifty groups, 2,500 rows of 2,500 numbers.
    both = block_diag([csr_array(merge)] * 2, format="csr")
    moments: Floats = (both @ (both @ matrix).T).T
    return moments


def row_marginals(groups: Sequence[str], others: Sequence[str] = ()) -> dict[Cell, list[Cell]]:
    r"""Return the parts of :math:`A_{i>:}`: pairs whose better item is in group i.

    Parameters
    ----------
    groups : sequence of str
        The groups that get a marginal.
    others : sequence of str
        What stands for items in no group: their pairs count too.

    Examples
    --------
    >>> {str(cell): [str(part) for part in parts] for cell, parts in row_marginals("ab").items()}
    {'a > *': ['a > a', 'a > b'], 'b > *': ['b > a', 'b > b']}
    """
    everyone = [*groups, *others]
    return {Cell(group, ANY): [Cell(group, other) for other in everyone] for group in groups}


def column_marginals(groups: Sequence[str], others: Sequence[str] = ()) -> dict[Cell, list[Cell]]:
    r"""Return the parts of :math:`A_{:>i}`: pairs whose worse item is in group i.

    Parameters are those of :func:`row_marginals`.
    """
    everyone = [*groups, *others]
    return {Cell(ANY, group): [Cell(other, group) for other in everyone] for group in groups}


def overall(groups: Sequence[str], others: Sequence[str] = ()) -> dict[Cell, list[Cell]]:
    """Return the parts of the whole: all pairs. Parameters are those of :func:`row_marginals`."""
    everyone = [*groups, *others]
    return {Cell(ANY, ANY): [Cell(better, worse) for better in everyone for worse in everyone]}


def drop_groups(sharing: Sharing, groups: Collection[str]) -> Sharing:
    """Leave out the cells that involve any of the given groups, such as items in no group.

    Marginals of the rest then lack their pairs: take marginals first.
    """
    kept = [cell for cell in sharing.cells if not {cell.better, cell.worse} & {*groups}]
    return merge_cells(sharing, MappingProxyType({cell: [cell] for cell in kept}))
