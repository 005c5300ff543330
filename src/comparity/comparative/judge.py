"""Audits of judged pairs, from counts to findings.

The counting step says whether items or evaluators repeat; this module picks the test that is right
for that design, and says in words what was assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from comparity.comparative.assumptions import (
    Size,
    design_name,
    few_evaluators,
    notes_on,
    uses_of_items,
)
from comparity.comparative.options import ComparativeOptions
from comparity.comparative.standardised import n_levels, standardised_audit
from comparity.counts.disjoint import disjoint_pairs
from comparity.counts.pairs import PairCounts, SharedPairCounts
from comparity.errors import OneGroupError
from comparity.inference.agreement import (
    EQUAL_VALUES,
    CellContrast,
    agreement_rates,
    all_cells_equal,
    compare_fresh,
    compare_fresh_wald,
    compare_shared,
    contrasts_of_groups,
    contrasts_of_order,
)
from comparity.inference.gap_tests import GapTest
from comparity.results.audit import Audit, JudgedGap, Ties
from comparity.results.findings import EXIT_STATUS
from comparity.results.judging import judge, overall_finding
from comparity.results.options import provenance
from comparity.tables.features import qualified
from comparity.tables.values import check_groups

__all__ = ["audit_counts", "design_to_count"]

Counts = PairCounts | SharedPairCounts


def audit_counts(
    counts: Mapping[str, Counts],
    options: ComparativeOptions,
    *,
    evaluators_known: bool = False,
    **data: Any,
) -> Audit:
    """Test comparative separation from counts, one for each sensitive attribute.

    Counts of items with a reference of more than two values are judged by standardised agreement.
    """
    raw = _raw_audit(counts, options, evaluators_known=evaluators_known, **data)
    if options.reference is None:
        return raw
    named = replace(raw, notion=f"{raw.notion} (raw)")
    kept = {name: one for name, one in counts.items() if isinstance(one, SharedPairCounts)}
    assert kept.keys() == counts.keys(), "pairs with a reference are kept one by one"
    if not any(one.pairs.cells for one in kept.values()):
        # Nothing but ties: there is no judgment to weigh, and the raw audit says so.
        return named
    if n_levels(kept, options.reference) > 2:
        return standardised_audit(named, kept, options)
    note = (
        "The reference has two values, so that all pairs it orders are alike; agreement was not "
        "standardised, and raw agreement decides."
    )
    return replace(named, notes=(*named.notes, note))


def _raw_audit(
    counts: Mapping[str, Counts],
    options: ComparativeOptions,
    *,
    evaluators_known: bool,
    **data: Any,
) -> Audit:
    check_groups({attribute: one.groups for attribute, one in counts.items()})
    for attribute, one in counts.items():
        if len(one.groups) < 2 and not options.continuous:
            raise OneGroupError(attribute, one.groups)
    used = {attribute: _as_designed(one, options) for attribute, one in counts.items()}
    judged, finding = _judged(used, options, options.score_ties)
    size = _size(counts, used, options)
    several = len(used) > 1
    ties = _ties(used, options, finding)
    return Audit(
        notion="comparative separation",
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=judged,
        rates=tuple(
            replace(rate, of=qualified(attribute, rate.of, several=several))
            for attribute, one in used.items()
            for rate in agreement_rates(one, score_ties=options.score_ties)
        ),
        joint_tests=tuple(
            replace(joint, null=qualified(attribute, joint.null, several=several))
            for attribute, one in used.items()
            for joint in all_cells_equal(one, score_ties=options.score_ties)
        ),
        groups=tuple(
            f"{attribute}={group}" if several else group
            for attribute, one in used.items()
            for group in one.groups
            if not options.continuous or group != EQUAL_VALUES.better
        ),
        design=design_name(next(iter(counts.values())), next(iter(used.values())), options),
        n=size.judgments,
        n_items=size.items,
        n_evaluators=size.evaluators,
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        ties=ties,
        notes=notes_on(counts, used, options, ties, evaluators_known=evaluators_known),
        provenance=provenance(options, **data),
    )


def design_to_count(options: ComparativeOptions) -> str:
    """Return the design counting is asked for; choosing and weighing pairs needs them listed."""
    listed = options.method == "disjoint" or options.reference is not None
    return "shared" if listed else options.design


def _as_designed(counts: Counts, options: ComparativeOptions) -> Counts:
    """Return the counts the tests will see."""
    if isinstance(counts, PairCounts):
        return counts
    if options.method == "disjoint":
        return disjoint_pairs(counts, rng=np.random.default_rng(options.seed or 0))
    fresh = few_evaluators(counts) and uses_of_items(counts).max(initial=0) <= 1
    if options.design == "auto" and (options.rule == "paper" or fresh):
        return PairCounts(counts, counts.judgment_ties)
    if options.design == "fresh":
        return PairCounts(counts, counts.judgment_ties)
    return counts


def _size(
    given: Mapping[str, Counts], used: Mapping[str, Counts], options: ComparativeOptions
) -> Size:
    """Return the size of what was tested, with items as they were counted."""
    source = used if options.method == "disjoint" else given
    return Size.of(next(iter(source.values())), declared=options.design == "fresh")


def _judged(
    counts: Mapping[str, Counts], options: ComparativeOptions, score_ties: str
) -> tuple[tuple[JudgedGap, ...], str]:
    several = len(counts) > 1
    tests = [
        replace(test, null=qualified(attribute, test.null, several=several))
        for attribute, one in counts.items()
        for test in _tests(one, options, score_ties)
    ]
    size = Size.of(next(iter(counts.values())))
    judged = judge(
        tests,
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        n=size.judgments,
        n_items=size.items,
    )
    return judged, overall_finding(judged)


def _tests(counts: Counts, options: ComparativeOptions, score_ties: str) -> list[GapTest]:
    contrasts: tuple[CellContrast, ...] = (
        contrasts_of_order() if options.continuous else contrasts_of_groups(counts.groups)
    )
    if isinstance(counts, SharedPairCounts):
        guarded = options.method != "dyadic"
        return compare_shared(counts, contrasts, score_ties=score_ties, guarded=guarded)
    if options.rule == "paper" and score_ties == "disagree":
        return compare_fresh_wald(counts, contrasts)
    return compare_fresh(counts, contrasts, score_ties=score_ties)


def _ties(counts: Mapping[str, Counts], options: ComparativeOptions, finding: str) -> Ties:
    """Count ties, and see whether scoring them the other way would change the finding."""
    several = len(counts) > 1
    first = next(iter(counts.values()))
    tied_scores = sum(tally.ties for tally in first.values())
    other = "half" if options.score_ties == "disagree" else "disagree"
    return Ties(
        judgments=first.n_judgment_ties,
        judgments_by_groups={
            qualified(attribute, f"{a} = {b}", several=several): n
            for attribute, one in counts.items()
            for (a, b), n in one.judgment_ties.items()
        },
        scores=tied_scores,
        scores_by_cell={
            qualified(attribute, str(cell), several=several): tally.ties
            for attribute, one in counts.items()
            for cell, tally in one.items()
        },
        scored_as=options.score_ties,
        change_finding=tied_scores > 0 and _judged(counts, options, other)[1] != finding,
    )
