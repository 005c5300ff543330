r"""The hypotheses of comparative separation, tested by what the sampling design allows.

Comparative separation holds when the model agrees with the judges equally often in every cell. For
each two groups :math:`a, b` there are two hypotheses,

.. math::

    H_{across}: agree(a > b) = agree(b > a), \qquad H_{within}: agree(a > a) = agree(b > b),

which for binary quality and decisions are together equivalent to separation [1]_ (all true positive
and true negative rates equal, if none is zero). Where quality is graded they are not all of it:
both kinds of pairs across groups may fare worse than both within. Of two groups a third hypothesis
says that they do not,

.. math::

    H_{kinds}: \tfrac12 (agree(a > b) + agree(b > a)) = \tfrac12 (agree(a > a) + agree(b > b)),

and the three together are equality of all four cells. Of more groups all pairs of cells are
compared.

References
----------
.. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", equations (21)-(22), Proposition 3.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.pairs import Cell, PairCounts, SharedPairCounts, Sharing, subset
from comparity.inference.dyadic import (
    FEWEST_CLUSTERS,
    compare_cells,
    null_covariance,
    rate_interval,
)
from comparity.inference.gap_tests import GapTest, RateEstimate
from comparity.inference.proportions import compare_rates, compare_rates_wald, wilson_interval

FEWEST_EVALUATORS = FEWEST_CLUSTERS
"""With fewer, evaluators cannot stand for others like them and are taken as given."""


LARGER, SMALLER = Cell("larger", "smaller"), Cell("smaller", "larger")


EQUAL_VALUES = Cell("equal", "equal")
"""The cells of a continuous attribute: how the better item's value compares."""


class CellContrast(NamedTuple):
    """Two cells whose agreement should be equal."""

    first: Cell
    second: Cell

    @property
    def null(self) -> str:
        """The hypothesis in words."""
        return f"agree({self.first}) = agree({self.second})"

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that the gap is made of."""
        return tuple(self)


class KindContrast(NamedTuple):
    """The cells across and within two groups, whose mean agreement should be equal."""

    first: tuple[Cell, Cell]
    second: tuple[Cell, Cell]

    @property
    def null(self) -> str:
        """The hypothesis in words."""
        return "agree(across) = agree(within)"

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that the gap is made of."""
        return (*self.first, *self.second)


Contrast = CellContrast | KindContrast


def sides_of(contrast: Contrast) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
    """Return the cells whose mean rates a gap compares."""
    if isinstance(contrast, CellContrast):
        return (contrast.first,), (contrast.second,)
    return contrast.first, contrast.second


class Family(NamedTuple):
    """The hypotheses about one attribute that are judged together.

    Attributes
    ----------
    tested : tuple of CellContrast or KindContrast
        Gaps whose equality with zero is tested.
    further : tuple of CellContrast
        Gaps that have to be within the margin, too.
    correlated : bool
        Whether the correction knows how the tests are correlated, because there are many of them.
    about : str
        Which hypotheses these are, in words.
    """

    tested: tuple[Contrast, ...]
    further: tuple[CellContrast, ...]
    correlated: bool
    about: str

    def judged_contrasts(self, *, margin: bool) -> tuple[Contrast, ...]:
        """Return gaps that are tested, or those between two cells that a margin is asked of."""
        if not margin:
            return self.tested
        return tuple(one for one in (*self.tested, *self.further) if isinstance(one, CellContrast))


def contrasts_of_groups(groups: Sequence[str]) -> tuple[CellContrast, ...]:
    """Return the across and within hypotheses of every two groups.

    Examples
    --------
    >>> [contrast.null for contrast in contrasts_of_groups(["a", "b"])]
    ['agree(a > b) = agree(b > a)', 'agree(a > a) = agree(b > b)']
    """
    pairs = list(combinations(groups, 2))
    across = [CellContrast(Cell(a, b), Cell(b, a)) for a, b in pairs]
    within = [CellContrast(Cell(a, a), Cell(b, b)) for a, b in pairs]
    return (*across, *within)


def family_of_cells(
    groups: Sequence[str], *, graded: bool = True, hypotheses: str = "all"
) -> Family:
    """Return what equal agreement in all cells asks for.

    Parameters
    ----------
    groups : sequence of str
    graded : bool
        Whether the judged quality may have more than two values.
    hypotheses : {"all", "across", "within"}
        Which of them to keep.

    Examples
    --------
    >>> family = family_of_cells(["a", "b"])
    >>> [len(family.tested), len(family.further)], family.tested[2].null
    ([3, 4], 'agree(across) = agree(within)')
    >>> len(family_of_cells(["a", "b", "c"]).tested)
    36
    """
    usual = contrasts_of_groups(groups)
    across, within = usual[: len(usual) // 2], usual[len(usual) // 2 :]
    if hypotheses == "across":
        return Family(across, (), False, "pairs across groups only, as asked for")
    if hypotheses == "within":
        return Family(within, (), False, "pairs within groups only, as asked for")
    if not graded:
        about = "across and within groups, which is all of it where quality is binary"
        return Family(usual, (), False, about)
    cells = [Cell(better, worse) for better in groups for worse in groups]
    every = tuple(CellContrast(one, two) for one, two in combinations(cells, 2))
    if len(groups) > 2:
        about = "all pairs of cells, because judged quality may be graded"
        return Family(every, (), True, about)
    (one, two), (three, four) = across[0], within[0]
    kinds = KindContrast((one, two), (three, four))
    known = {frozenset(one) for one in usual}
    further = tuple(one for one in every if frozenset(one) not in known)
    about = "across, within and the two kinds against each other, because quality may be graded"
    return Family((*usual, kinds), further, False, about)


def contrast_factor(sharing: Sharing, contrasts: Sequence[Contrast]) -> NDArray[np.float64]:
    """Return a factor of the covariance of gaps if all cells have one rate.

    A gap with a cell that holds no judgments has a row of zeros.
    """
    held = np.flatnonzero(sharing.trials > 0)
    if not len(held):
        return np.zeros((len(contrasts), 1))
    kept = subset(sharing, held.tolist())
    values, vectors = np.linalg.eigh(null_covariance(kept))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    known = {cell: code for code, cell in enumerate(kept.cells)}
    factor = np.zeros((len(contrasts), len(held)))
    for row, contrast in enumerate(contrasts):
        if all(cell in known for cell in contrast.cells):
            first, second = (known[cell] for cell in contrast.cells)
            factor[row] = root[first] - root[second]
    return factor


def contrasts_of_order() -> tuple[CellContrast, ...]:
    """Return the one hypothesis about a continuous attribute.

    The model agrees as often where the better item has the larger value as where it has the
    smaller one.
    """
    return (CellContrast(LARGER, SMALLER),)


def compare_fresh(
    counts: PairCounts, contrasts: Iterable[Contrast], *, score_ties: str = "disagree"
) -> list[GapTest]:
    """Test contrasts from pairs that share nothing.

    Score ties counted as half make the outcome three-valued; a binomial test is then wrong, and
    the score test of independent judgments takes its place.
    """
    if score_ties == "half" and any(tally.ties for tally in counts.values()):
        sharing = counts.sharing(score_ties)
        return [compare_cells(sharing, *contrast, null=contrast.null) for contrast in contrasts]
    sharing = counts.sharing()
    return [
        compare_rates(counts[contrast.first], counts[contrast.second], null=contrast.null)
        if isinstance(contrast, CellContrast)
        else compare_cells(sharing, *contrast, null=contrast.null)
        for contrast in contrasts
    ]


def compare_fresh_wald(counts: PairCounts, contrasts: Iterable[Contrast]) -> list[GapTest]:
    """Test contrasts by the z-test of 000 whatever the counts: its own rule, right or wrong."""
    return [
        compare_rates_wald(*(counts[cell] for cell in contrast.cells), null=contrast.null)
        for contrast in contrasts
    ]


def compare_shared(
    counts: SharedPairCounts,
    contrasts: Iterable[Contrast],
    *,
    score_ties: str = "disagree",
    guarded: bool = True,
) -> list[GapTest]:
    """Test contrasts from pairs that share items or evaluators.

    `guarded` is explained in :func:`comparity.inference.dyadic.compare_cells`.
    """
    sharing = moments_of(counts, score_ties)
    if not guarded:
        sharing = replace(sharing, effective_items=counts.cell_items)
    return [
        compare_cells(sharing, *contrast, null=contrast.null, guarded=guarded)
        for contrast in contrasts
    ]


def smallest_group(counts: PairCounts | SharedPairCounts, cells: Iterable[Cell]) -> int:
    """Return how many items the scarcest group has in pairs like those of the given cells.

    Within a group these are the items of the cell itself; across groups all that were judged of
    either group, since an item may be the better one here and the worse one there. Fresh pairs have
    two new items each.
    """

    def items(cell: Cell) -> int:
        if isinstance(counts, SharedPairCounts):
            if cell.better != cell.worse:
                return min(counts.group_items.get(group, 0) for group in cell)
            return int(counts.cell_items[counts.cells.index(cell)]) if cell in counts else 0
        if cell.better == cell.worse:
            return 2 * counts[cell].trials
        return min(
            sum(tally.trials * one.count(group) for one, tally in counts.items()) for group in cell
        )

    return min(map(items, cells))


def agreement_rates(
    counts: PairCounts | SharedPairCounts, *, score_ties: str = "disagree", level: float = 0.95
) -> list[RateEstimate]:
    """Return the agreement in every cell that holds a judgment, with its interval."""
    half = score_ties == "half"
    binomial = isinstance(counts, PairCounts) and not half
    sharing = None if binomial else moments_of(counts, score_ties)
    return [
        RateEstimate(
            name="agreement",
            of=str(cell),
            rate=tally.half_rate if half else tally.rate,
            trials=tally.trials,
            score_ties=tally.ties,
            interval=wilson_interval(tally, level)
            if sharing is None
            else rate_interval(sharing, cell, level),
        )
        for cell, tally in counts.items()
    ]


def moments_of(counts: PairCounts | SharedPairCounts, score_ties: str) -> Sharing:
    """Return the moments of judgments, with evaluators as clusters where there are enough."""
    if isinstance(counts, PairCounts):
        return counts.sharing(score_ties)
    return counts.sharing(score_ties, evaluators=counts.n_evaluators >= FEWEST_EVALUATORS)
