"""Standardised agreement with judges: judged pairs weighted to one distribution of a reference.

Where quality is graded, a group whose items lie close together has harder pairs, and agreement
differs between groups although the model errs alike. Items that carry a label or a reference score
can be weighted so that it has the same distribution in every kind of pair; equal errors given the
reference then mean equal agreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from comparity.comparative.families import (
    TestedFamily,
    allow_for_items,
    family_of,
    judge_families,
)
from comparity.comparative.options import ComparativeOptions
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.judged_weights import (
    ReferenceDistributions,
    expected_agreement,
    item_overlap,
    judgment_weights,
    reference_distributions,
    weighted_sharing,
)
from comparity.counts.overlap import Overlap
from comparity.counts.pair_distances import ExpectedRates
from comparity.counts.pairs import Cell, PairCounts, Sharing
from comparity.errors import ConstantLabelError
from comparity.inference.agreement_tests import (
    FEWEST_EVALUATORS,
    Contrast,
    sides_of,
)
from comparity.inference.dyadic import compare_cells, rate_interval
from comparity.inference.gap_tests import GapTest, RateEstimate
from comparity.inference.joint import equal_cells
from comparity.results.audit import Audit, JudgedGap
from comparity.results.result import EXIT_STATUS
from comparity.tables.frames import text_of
from comparity.tables.values import prefix_attribute


def n_levels(judged: Mapping[str, JudgedPairs], name: str) -> int:
    """Return how many values the reference of the items has; `name` is for the error."""
    reference = next(iter(judged.values())).reference
    assert reference is not None
    levels = np.unique(reference)
    if len(levels) < 2:
        raise ConstantLabelError(name, text_of(levels[0]))
    return len(levels)


@dataclass(frozen=True)
class _Weighted:
    """The judged pairs of one attribute with the weights of its groups."""

    name: str
    pairs: JudgedPairs
    several: bool

    @cached_property
    def counts(self) -> PairCounts:
        """How many judgments there are, not what they weigh."""
        return self.pairs.fresh_counts()

    @cached_property
    def overlap(self) -> Overlap:
        return item_overlap(self.pairs)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        return judgment_weights(self.pairs, self.overlap)

    @cached_property
    def distributions(self) -> ReferenceDistributions:
        return reference_distributions(self.pairs, self.weights)

    @property
    def has_spline_weights(self) -> bool:
        """Whether groups may have references on different grids; counted shares have one."""
        return self.overlap.kind == "spline" and bool((self.weights > 0).any())

    def expected_rates(self, score_ties: str) -> ExpectedRates:
        return expected_agreement(self.pairs, self.weights, score_ties=score_ties)

    def sharing_moments(self, score_ties: str) -> Sharing:
        sharing = weighted_sharing(
            self.pairs,
            self.weights,
            score_ties=score_ties,
            evaluators=len(self.pairs.evaluators) >= FEWEST_EVALUATORS,
        )
        return (
            self.expected_rates(score_ties).even_out(sharing)
            if self.has_spline_weights
            else sharing
        )

    def family(self, sharing: Sharing, options: ComparativeOptions) -> TestedFamily:
        """Test every hypothesis."""
        asked = family_of(self.counts.groups, options)
        expected = self.expected_rates(options.score_ties) if self.has_spline_weights else None
        compare = partial(self.tests, sharing, expected, options)
        tested = TestedFamily.of(asked, sharing, compare)
        return tested.name_hypotheses(self.name, several=self.several)

    def tests(
        self,
        sharing: Sharing,
        expected: ExpectedRates | None,
        options: ComparativeOptions,
        contrasts: Sequence[Contrast],
    ) -> list[GapTest]:
        """Test hypotheses; without a p value, and with the reason, where weights fail."""
        tests = []
        for contrast in contrasts:
            test = compare_cells(sharing, *contrast, null=contrast.null)
            test = self.with_size(test, contrast)
            reason = self.overlap.scarcity if self.has_spline_weights else self.overlap.reason
            reason = reason or self.reason_against(sharing, contrast.cells)
            if expected is not None and not reason:
                codes = [sharing.cells.index(cell) for cell in contrast.cells]
                reason = expected.reason_against(test.standard_error, codes)
            if reason:
                test = replace(test, p_value=np.nan, pivot=None, reason=reason)
            tests.append(test)
        # What distances explain moves rates, not residuals.
        return allow_for_items(
            tests,
            contrasts,
            sharing,
            self.pairs,
            options=options,
            score_ties=options.score_ties,
            weights=self.overlap.weights,
        )

    def with_size(self, test: GapTest, contrast: Contrast) -> GapTest:
        """Return a test with its judgments, before weighting, and its items by their weights."""
        worth = min(
            self.overlap.effective_sizes[group] for cell in contrast.cells for group in cell
        )
        first, second = (
            sum(self.counts[cell].trials for cell in side) for side in sides_of(contrast)
        )
        # A group without any weight is worth nothing.
        items = 0 if np.isnan(worth) else int(worth)
        return replace(test, n=(first, second), smallest_group=items)

    def reason_against(self, sharing: Sharing, cells: Sequence[Cell]) -> str:
        """Say which weights have not made two of the cells alike; nothing where all have."""
        items = dict(zip(sharing.cells, sharing.effective_items.tolist(), strict=True))
        for pair in combinations(cells, 2):
            scarcer = min(items.get(cell, 0.0) for cell in pair)
            if reason := self.distributions.between(
                pair, scarcer, rounding=self.has_spline_weights
            ).reason:
                return reason
        return ""

    def rates(self, sharing: Sharing) -> list[RateEstimate]:
        return [
            RateEstimate(
                name="agreement",
                of=self.prefix_name(str(cell)),
                rate=float(sharing.hits[code] / sharing.trials[code]),
                trials=self.counts[cell].trials,
                score_ties=self.counts[cell].ties,
                interval=rate_interval(sharing, cell),
            )
            for code, cell in enumerate(sharing.cells)
            if sharing.trials[code] > 0
        ]

    def prefix_name(self, what: str) -> str:
        return prefix_attribute(self.name, what, several=self.several)


def standardised_audit(
    raw: Audit, judged: Mapping[str, JudgedPairs], options: ComparativeOptions
) -> Audit:
    """Audit agreement standardised to one distribution of the reference.

    Parameters
    ----------
    raw : Audit
        The audit of the same judgments without weights; kept beside.
    judged : mapping of str to JudgedPairs
        Judged pairs of items with a reference, by attribute.
    options : ComparativeOptions
    """
    several = len(judged) > 1
    weighted = [_Weighted(name, one, several) for name, one in judged.items()]
    shared = [(one, one.sharing_moments(options.score_ties)) for one in weighted]
    tests, further, finding = _judge(shared, raw, options)
    changes = False
    if raw.ties.scores:
        other: Literal["half", "disagree"]
        other = "half" if options.score_ties == "disagree" else "disagree"
        otherwise = [(one, one.sharing_moments(other)) for one in weighted]
        changes = _judge(otherwise, raw, replace(options, score_ties=other))[2] != finding
    return replace(
        raw,
        notion=raw.notion.replace("(raw)", "(standardised)"),
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=tests,
        further_gaps=further,
        rates=tuple(rate for one, sharing in shared for rate in one.rates(sharing)),
        joint_tests=tuple(
            replace(joint, null=one.prefix_name(joint.null))
            for one, sharing in shared
            for joint in equal_cells(sharing)
        ),
        ties=replace(raw.ties, change_finding=changes),
        notes=(*raw.notes, *_notes(weighted)),
        raw=raw,
        imbalance=max(one.overlap.imbalance for one in weighted),
        effective_sizes={
            f"{one.name}={group}" if several else group: size
            for one in weighted
            for group, size in one.overlap.effective_sizes.items()
        },
    )


def _judge(
    shared: list[tuple[_Weighted, Sharing]], raw: Audit, options: ComparativeOptions
) -> tuple[tuple[JudgedGap, ...], tuple[JudgedGap, ...], str]:
    families = [one.family(sharing, options) for one, sharing in shared]
    return judge_families(families, options, n=raw.n, n_items=raw.n_items)


def _notes(weighted: list[_Weighted]) -> list[str]:
    kinds = {one.overlap.kind for one in weighted}
    how = "counted at each of its values" if kinds == {"table"} else "fitted by a spline"
    return [
        "Judgments are weighted so that the reference has the same distribution in every kind of "
        "pair; equal errors given the reference then mean equal agreement. Standardised agreement "
        "decides; raw agreement is reported beside it. The numbers of judgments are before "
        "weighting.",
        f"The shares of the groups, given the reference, were {how}. That weights on items make "
        "kinds of pairs alike supposes that pairs were drawn without regard to the reference, and "
        "that judges order items by it alike in every group.",
    ]
