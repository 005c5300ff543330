"""Cells taken together: row and column marginals, the whole, and cells without items of no group.

The second moments of a union of cells are sums of the moments of its parts, so nothing is counted
again. Unions may overlap: the cell (a, a) is part of the row and of the column of a.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array

from comparity.counting.sharing import Sharing
from comparity.counts import Cell

__all__ = ["ANY", "column_marginals", "merged", "overall", "row_marginals", "without"]


Floats = NDArray[np.float64]


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


def merged(sharing: Sharing, parts: Mapping[Cell, Sequence[Cell]]) -> Sharing:
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
    >>> from comparity.counting.sharing import independent_judgments
    >>> from comparity.counts import PairCounts, Tally
    >>> counts = PairCounts({Cell("a", "a"): Tally(8, 10), Cell("a", "b"): Tally(3, 6)})
    >>> row = Cell("a", ANY)
    >>> rows = merged(independent_judgments(counts), {row: [Cell("a", "a"), Cell("a", "b")]})
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


def without(sharing: Sharing, groups: Collection[str]) -> Sharing:
    """Leave out the cells that involve any of the given groups, such as items in no group.

    Marginals of the rest then lack their pairs: take marginals first.
    """
    kept = [cell for cell in sharing.cells if not {cell.better, cell.worse} & {*groups}]
    return merged(sharing, MappingProxyType({cell: [cell] for cell in kept}))
