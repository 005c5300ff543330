"""The hypotheses of comparative separation that are judged together, and their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from comparity.comparative.options import ComparativeOptions
from comparity.counts.judged_pairs import JudgedPairs, item_residuals
from comparity.counts.overlap import label_blocks
from comparity.counts.pairs import TIE_VALUE, Cell, PairCounts, SharedPairCounts, Sharing
from comparity.counts.running_moments import RunningPairs
from comparity.errors import OptionError
from comparity.inference.agreement_tests import (
    FEWEST_EVALUATORS,
    Contrast,
    Family,
    allow_for_skewness,
    compare_fresh,
    compare_fresh_wald,
    compare_shared,
    contrast_factor,
    contrasts_of_order,
    family_of_cells,
    items_to_be_normal,
    moments_of,
    sides_of,
)
from comparity.inference.dealt_pairs import DealtPairs, compare_means
from comparity.inference.dyadic import compare_cells
from comparity.inference.gap_tests import GapTest
from comparity.inference.item_permutation import check_by_permutation
from comparity.results.audit import JudgedGap
from comparity.results.judging import judge, overall_finding
from comparity.tables.values import prefix_attribute

MOST_GROUPS = 12
"""All pairs of cells of so many groups are 10,296 tests, some seconds of work."""

MOST_JUDGMENTS_TO_DEAL = 500_000
"""More judged pairs take too long to deal out."""


def family_of(groups: Sequence[str], options: ComparativeOptions) -> Family:
    """Return the hypotheses about one attribute that the choices ask for."""
    if options.continuous:
        return Family(contrasts_of_order(), (), False, "")
    # The paper's rule is made for binary quality.
    graded = options.quality == "graded" and options.rule != "paper"
    if graded and options.hypotheses == "all" and len(groups) > MOST_GROUPS:
        why = f"all pairs of kinds of pairs can be compared for at most {MOST_GROUPS} groups"
        raise OptionError("hypotheses", "all", ["'across'", "'within'", "quality='binary'"], why)
    return family_of_cells(groups, graded=graded, hypotheses=options.hypotheses)


def compare_counts(
    counts: PairCounts | SharedPairCounts,
    contrasts: Sequence[Contrast],
    *,
    options: ComparativeOptions,
    score_ties: str,
    pairs: JudgedPairs | RunningPairs | None = None,
) -> list[GapTest]:
    """Test hypotheses by the design of the counts, with items skewed as they are in `pairs`."""
    if isinstance(counts, SharedPairCounts):
        guarded = options.method != "dyadic"
        tests = compare_shared(counts, contrasts, score_ties=score_ties, guarded=guarded)
    elif options.anytime:
        sharing = counts.sharing_moments(score_ties)
        tests = [compare_cells(sharing, *contrast, null=contrast.null) for contrast in contrasts]
    elif options.rule == "paper" and score_ties == "disagree":
        tests = compare_fresh_wald(counts, contrasts)
    else:
        tests = compare_fresh(counts, contrasts, score_ties=score_ties)
    smallest = [smallest_group(counts, contrast.cells) for contrast in contrasts]
    tests = [replace(one, smallest_group=n) for one, n in zip(tests, smallest, strict=True)]
    if isinstance(counts, PairCounts) or pairs is None or not guarded:
        return tests
    sharing = moments_of(counts, score_ties)
    return allow_for_items(tests, contrasts, sharing, pairs, options=options, score_ties=score_ties)


def allow_for_items(
    tests: Sequence[GapTest],
    contrasts: Sequence[Contrast],
    sharing: Sharing,
    pairs: JudgedPairs | RunningPairs,
    *,
    options: ComparativeOptions,
    score_ties: str,
    weights: NDArray[np.float64] | None = None,
) -> list[GapTest]:
    """Allow for skewed items: errors that grow with the gap, and a permutation of few items.

    `weights` are those of items, which make a reference alike in all groups.
    """
    found, sides = list(tests), [sides_of(contrast) for contrast in contrasts]
    fewest = min((test.smallest_group or 0 for test in tests), default=0)
    if fewest < items_to_be_normal(options.margin):
        cumulants = _third_cumulants(pairs, sides, score_ties, weights)
        found = list(map(allow_for_skewness, found, cumulants))
    # Tests that hold at any moment have no permutation.
    if options.continuous or options.anytime:
        return found
    if isinstance(pairs, RunningPairs) and pairs.list_pairs is None:
        return found
    deal = partial(deal_judgments, pairs, score_ties, weights)
    alone = pairs.n_evaluators < FEWEST_EVALUATORS and not pairs.clusters
    gaps = list(map(compare_means, sides))
    return check_by_permutation(found, gaps, sharing, deal, only_items=alone)


def _third_cumulants(
    pairs: JudgedPairs | RunningPairs,
    sides: Sequence[tuple[Sequence[Cell], Sequence[Cell]]],
    score_ties: str,
    weights: NDArray[np.float64] | None,
) -> list[float]:
    """Return the third cumulant of what items add to each gap."""
    if isinstance(pairs, RunningPairs):
        return pairs.third_cumulants(sides, score_ties)
    trials = pairs.trials.astype(np.float64)
    if weights is not None:
        trials *= weights[pairs.better] * weights[pairs.worse]
    residuals = item_residuals(pairs, trials, score_ties)
    return [residuals.third_cumulant(*one) for one in sides]


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


def deal_judgments(
    pairs: JudgedPairs | RunningPairs,
    score_ties: str,
    weights: NDArray[np.float64] | None = None,
) -> DealtPairs | None:
    """Return judged pairs whose items may change groups; nothing where there are too many.

    With `weights` of items, which make a reference alike in all groups, only items with the same
    reference change groups, or neighbours by it.
    """
    if isinstance(pairs, RunningPairs):
        assert pairs.list_pairs is not None, "somebody kept the pairs"
        listed = pairs.list_pairs(MOST_JUDGMENTS_TO_DEAL)
        return None if listed is None else deal_judgments(listed, score_ties, weights)
    if len(pairs.better) > MOST_JUDGMENTS_TO_DEAL:
        return None
    groups = tuple(sorted({group for cell in pairs.cells for group in cell}))
    sides = np.array([[groups.index(one) for one in cell] for cell in pairs.cells])
    used, place = np.unique(np.concatenate([pairs.better, pairs.worse]), return_inverse=True)
    group = np.zeros(len(used), dtype=np.int64)
    group[place] = sides[pairs.cell].T.ravel()
    better, worse = place.reshape(2, -1)
    stratum = np.zeros(len(used), dtype=np.int64)
    if weights is not None and pairs.reference is not None:
        stratum = label_blocks(pairs.reference[used])
    return DealtPairs(
        better=better,
        worse=worse,
        outcome=np.array([0.0, TIE_VALUE[score_ties], 1.0])[pairs.order + 1],
        trials=pairs.trials.astype(np.float64),
        group=group,
        weight=np.ones(len(used)) if weights is None else weights[used],
        stratum=stratum,
        groups=groups,
    )


@dataclass(frozen=True)
class TestedFamily:
    """The tests of one attribute.

    Attributes
    ----------
    tests, further : list of GapTest
        Gaps whose equality is tested, and gaps that have to be within the margin, too.
    factor : ndarray
        How the statistics of the tests vary together.
    correlated : bool
        Whether the correction for several tests is to know that.
    """

    tests: list[GapTest]
    further: list[GapTest]
    factor: NDArray[np.float64]
    correlated: bool

    @classmethod
    def of(
        cls,
        family: Family,
        moments: Sharing,
        compare: Callable[[Sequence[Contrast]], list[GapTest]],
    ) -> TestedFamily:
        """Test a family; of all pairs of cells those with the largest gaps come first."""
        # One pass over the items serves all hypotheses.
        both = compare((*family.tested, *family.further))
        tests, further = both[: len(family.tested)], both[len(family.tested) :]
        if not family.correlated:
            # If another attribute needs max-T, these tests count as independent.
            return cls(tests, further, np.eye(len(tests)), False)
        factor = contrast_factor(moments, family.tested)
        gaps = np.nan_to_num([abs(test.gap) for test in tests], nan=-1.0)
        order = np.argsort(-gaps, kind="stable")
        return cls([tests[place] for place in order], [], factor[order], True)

    def name_hypotheses(self, attribute: str, *, several: bool) -> TestedFamily:
        """Return the same with the attribute in every hypothesis, where there are several."""
        if not several:
            return self
        tests, further = (
            [
                replace(one, null=prefix_attribute(attribute, one.null, several=several))
                for one in gaps
            ]
            for gaps in (self.tests, self.further)
        )
        return replace(self, tests=tests, further=further)


def judge_families(
    families: Sequence[TestedFamily],
    options: ComparativeOptions,
    *,
    n: int,
    n_items: int,
    advises: bool = True,
) -> tuple[tuple[JudgedGap, ...], tuple[JudgedGap, ...], str]:
    """Return the judged tests of all attributes, the further gaps, and the finding over all."""
    tests = [test for family in families for test in family.tests]
    correlated = any(family.correlated for family in families)
    judged = judge(
        tests,
        **options.judging,
        n=n,
        n_items=n_items,
        further=[gap for family in families for gap in family.further],
        factors=[family.factor for family in families] if correlated else None,
        advises=advises,
    )
    return judged[: len(tests)], judged[len(tests) :], overall_finding(judged)
