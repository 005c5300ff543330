"""Audits of judged pairs, from counts to findings.

The counting step says whether items or evaluators repeat; this module picks the test that is right
for that design, and says in words what was assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from comparity.comparative.families import TestedFamily, compare_counts, family_of, judge_families
from comparity.comparative.options import ComparativeOptions
from comparity.comparative.standardised import n_levels, standardised_audit
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.judged_weights import disjoint_pairs
from comparity.counts.pairs import PairCounts, SharedPairCounts
from comparity.counts.running_moments import RunningPairs
from comparity.errors import OneGroupError
from comparity.inference.agreement_tests import (
    EQUAL_VALUES,
    FEWEST_EVALUATORS,
    agreement_rates,
    moments_of,
)
from comparity.inference.evaluators import FEWEST_FLIPPED
from comparity.inference.joint import all_cells_equal
from comparity.results.audit import Audit, JudgedGap, Ties
from comparity.results.judging import cluster_notes
from comparity.results.options import provenance
from comparity.results.result import EXIT_STATUS
from comparity.tables.values import check_groups, prefix_attribute

Counts = PairCounts | SharedPairCounts

Counted = PairCounts | JudgedPairs | RunningPairs
Listed = Mapping[str, JudgedPairs | RunningPairs]

UNGUARDED = (
    "WARNING: squared residuals and the normal distribution are used whatever the counts, as asked "
    "for; with few hits or misses in a cell 0.2 to 0.4 false rejections have been measured."
)


def audit_counts(
    counted: Mapping[str, Counted],
    options: ComparativeOptions,
    *,
    evaluators_known: bool = False,
    **data: Any,
) -> Audit:
    """Test comparative separation from what was counted, for each sensitive attribute.

    Items with a reference of more than two values are judged by standardised agreement.
    """
    if options.reference is None:
        return _raw_audit(counted, options, evaluators_known=evaluators_known, **data)
    kept = {name: one for name, one in counted.items() if isinstance(one, JudgedPairs)}
    assert kept.keys() == counted.keys(), "pairs with a reference are kept one by one"
    # Nothing but ties: there is no judgment to weigh, and the raw audit says so.
    levels = n_levels(kept, options.reference) if any(one.cells for one in kept.values()) else 0
    if levels == 2:
        options = replace(options, quality="binary")
    raw = _raw_audit(counted, options, evaluators_known=evaluators_known, **data)
    named = replace(raw, notion=f"{raw.notion} (raw)")
    if levels != 2:
        return standardised_audit(named, kept, options) if levels else named
    note = (
        "The reference has two values, so that all pairs it orders are alike; agreement was not "
        "standardised, and raw agreement decides."
    )
    return replace(named, notes=(*named.notes, note))


def _raw_audit(
    counted: Mapping[str, Counted],
    options: ComparativeOptions,
    *,
    evaluators_known: bool,
    **data: Any,
) -> Audit:
    counts, used, listed = _counts_of(counted, options)
    judged, further, finding = _judge(used, options, options.score_ties, listed)
    families = [family_of(one.groups, options) for one in used.values()]
    # What was tested, with items as they were counted.
    sized = next(iter((used if options.method == "disjoint" else counts).values()))
    size = Size.of(sized, declared=options.design == "fresh")
    several = len(used) > 1
    ties = _ties(used, options, finding, listed)
    return Audit(
        notion="comparative separation",
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=judged,
        further_gaps=further,
        family=families[0].about,
        correction="max-T"
        if any(one.correlated for one in families) and not options.anytime
        else "Holm",
        rates=tuple(
            replace(rate, of=prefix_attribute(attribute, rate.of, several=several))
            for attribute, one in used.items()
            for rate in agreement_rates(one, score_ties=options.score_ties)
        ),
        joint_tests=tuple(
            replace(joint, null=prefix_attribute(attribute, joint.null, several=several))
            for attribute, one in used.items()
            for joint in all_cells_equal(one, score_ties=options.score_ties)
        ),
        groups=tuple(
            f"{attribute}={group}" if several else group
            for attribute, one in used.items()
            for group in one.groups
            if not options.continuous or group != EQUAL_VALUES.better
        ),
        design=_design_name(next(iter(counts.values())), next(iter(used.values())), options),
        n=size.judgments,
        n_items=size.items,
        n_evaluators=size.evaluators,
        n_clusters=_clusters(next(iter(counts.values()))),
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        anytime=options.anytime,
        ties=ties,
        notes=_notes(counts, used, options, ties, evaluators_known=evaluators_known),
        provenance=provenance(options, **data),
    )


def judge_counts(
    counted: Mapping[str, Counted], options: ComparativeOptions
) -> tuple[tuple[JudgedGap, ...], tuple[JudgedGap, ...], str]:
    """Return the judged tests, the further gaps and the finding alone."""
    _, used, listed = _counts_of(counted, options)
    return _judge(used, options, options.score_ties, listed, advises=False)


def _counts_of(
    counted: Mapping[str, Counted], options: ComparativeOptions
) -> tuple[dict[str, Counts], dict[str, Counts], Listed]:
    """Return what was counted, what the tests will see, and shared pairs."""
    listed = {name: one for name, one in counted.items() if not isinstance(one, PairCounts)}
    counts: dict[str, Counts] = {
        name: one if isinstance(one, PairCounts) else one.shared_counts()
        for name, one in counted.items()
    }
    check_groups({attribute: one.groups for attribute, one in counts.items()})
    for attribute, one in counts.items():
        if len(one.groups) < 2 and not options.continuous:
            raise OneGroupError(attribute, one.groups)
    used = {name: _counts_to_test(counted[name], one, options) for name, one in counts.items()}
    return counts, used, listed


def design_to_count(options: ComparativeOptions) -> str:
    """Return the design counting is asked for; choosing and weighing pairs needs them listed."""
    listed = options.method == "disjoint" or options.reference is not None
    return "shared" if listed else options.design


def _counts_to_test(counted: Counted, counts: Counts, options: ComparativeOptions) -> Counts:
    """Return the counts the tests will see."""
    if isinstance(counts, PairCounts):
        return counts
    if options.method == "disjoint":
        assert isinstance(counted, JudgedPairs), "single pairs are chosen from a list of them"
        return disjoint_pairs(counted, rng=np.random.default_rng(options.seed or 0))
    fresh = _has_few_evaluators(counts) and counts.most_uses <= 1 and not counts.n_clusters
    if options.design == "auto" and (options.rule == "paper" or fresh):
        return PairCounts(counts, counts.judgment_ties)
    if options.design == "fresh":
        return PairCounts(counts, counts.judgment_ties)
    return counts


def _judge(
    counts: Mapping[str, Counts],
    options: ComparativeOptions,
    score_ties: str,
    listed: Listed,
    *,
    advises: bool = True,
) -> tuple[tuple[JudgedGap, ...], tuple[JudgedGap, ...], str]:
    size = Size.of(next(iter(counts.values())))
    several = len(counts) > 1
    families = []
    for attribute, one in counts.items():
        family = family_of(one.groups, options)
        moments = moments_of(one, score_ties)
        compare = partial(
            compare_counts,
            one,
            options=options,
            score_ties=score_ties,
            pairs=listed.get(attribute),
        )
        tested = TestedFamily.of(family, moments, compare)
        families.append(tested.name_hypotheses(attribute, several=several))
    sizes = {"n": size.judgments, "n_items": size.items}
    return judge_families(families, options, **sizes, advises=advises)


def _ties(
    counts: Mapping[str, Counts],
    options: ComparativeOptions,
    finding: str,
    listed: Listed,
) -> Ties:
    """Count ties, and see whether scoring them the other way would change the finding."""
    several = len(counts) > 1
    first = next(iter(counts.values()))
    tied_scores = sum(tally.ties for tally in first.values())
    other = "half" if options.score_ties == "disagree" else "disagree"
    return Ties(
        judgments=first.n_judgment_ties,
        judgments_by_groups={
            prefix_attribute(attribute, f"{a} = {b}", several=several): n
            for attribute, one in counts.items()
            for (a, b), n in one.judgment_ties.items()
        },
        scores=tied_scores,
        scores_by_cell={
            prefix_attribute(attribute, str(cell), several=several): tally.ties
            for attribute, one in counts.items()
            for cell, tally in one.items()
        },
        scored_as=options.score_ties,
        change_finding=tied_scores > 0 and _judge(counts, options, other, listed)[2] != finding,
    )


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is to go by: judgments with an order, distinct items and evaluators."""

    judgments: int
    items: int
    evaluators: int

    @classmethod
    def of(cls, counts: Counts, *, declared: bool = False) -> Size:
        """Return the size of what was counted.

        Fresh pairs have two items each; where they were only declared to be fresh, nobody knows,
        and 0 items are returned.
        """
        if isinstance(counts, PairCounts):
            return cls(counts.n, 0 if declared else 2 * counts.n, 0)
        return cls(counts.n, counts.n_items, counts.n_evaluators)


def _design_name(given: Counts, used: Counts, options: ComparativeOptions) -> str:
    """Name the sampling design, and what the tests took it for where that is something else."""
    if options.method == "disjoint":
        return "disjoint"
    if isinstance(used, PairCounts):
        taken_as_fresh = isinstance(given, SharedPairCounts) and options.rule == "paper"
        return "shared items, taken as fresh" if taken_as_fresh else "fresh"
    items = ["items"] if used.most_uses > 1 or not used.n_clusters else []
    if not _has_few_evaluators(used):
        items = ["items"] if used.most_uses > 1 else []
        items.append("evaluators")
    shared = [f"shared {' and '.join(items)}"] if items else []
    clustered = [f"clustered by {' and '.join(used.n_clusters)}"] if used.n_clusters else []
    return ", ".join([*shared, *clustered])


def _clusters(counts: Counts) -> dict[str, int]:
    """Return how many clusters there are beside items and evaluators."""
    return {} if isinstance(counts, PairCounts) else counts.n_clusters


def _has_few_evaluators(counts: SharedPairCounts) -> bool:
    """Return whether evaluators are unknown, or too few to stand for others."""
    return counts.n_evaluators < FEWEST_EVALUATORS


def _notes(
    given: Mapping[str, Counts],
    used: Mapping[str, Counts],
    options: ComparativeOptions,
    ties: Ties,
    *,
    evaluators_known: bool,
) -> tuple[str, ...]:
    """Say what was assumed about items, evaluators and ties, and what was not shown.

    Parameters
    ----------
    given, used : mapping of str to counts
        What was counted and what was tested, by attribute.
    options : ComparativeOptions
    ties : Ties
    evaluators_known : bool
        Whether the caller said who judged.
    """
    before, after = next(iter(given.values())), next(iter(used.values()))
    notes = [_design_note(before, after, options), *_evaluator_notes(before, evaluators_known)]
    notes += cluster_notes(_clusters(before), options.cluster, rows="judgments")
    equal = after[EQUAL_VALUES].trials if options.continuous else 0
    if equal:
        notes.append(
            f"In {equal:,} of {after.n:,} judgments both items have the same value of the "
            "attribute; they are not part of the test."
        )
    if ties.change_finding:
        other = "half an agreement" if options.score_ties == "disagree" else "disagreement"
        notes.append(
            f"{ties.scores:,} pairs have tied scores; counting each as {other} would change "
            "the finding."
        )
    notes += _family_notes(after, options)
    notes.append(
        "Equal agreement in all kinds of pairs is comparative separation. If quality is only good "
        "or bad, it is the same as separation (equal error rates); otherwise it is not."
    )
    return tuple(notes)


def _family_notes(counts: Counts, options: ComparativeOptions) -> list[str]:
    """Say which hypotheses were judged, and which others there are."""
    if options.continuous:
        return []
    notes = [f"Tested together: {family_of(counts.groups, options).about}."]
    within = {cell.better == cell.worse for cell in counts}
    if options.hypotheses == "all" and len(within) == 1:
        there, other = ("within", "across") if within.pop() else ("across", "within")
        notes.append(
            f"All pairs are {there} groups, so that nothing is known of pairs {other} them; choose "
            f"the hypotheses {there!r} for a verdict about what there is."
        )
    return notes


def _evaluator_notes(counts: Counts, known: bool) -> list[str]:
    if not known:
        return [
            "Evaluators were not given, so they were not taken into account: if one evaluator made "
            "many of the judgments, the true error is larger than shown."
        ]
    if isinstance(counts, SharedPairCounts) and _has_few_evaluators(counts):
        return [
            f"With {counts.n_evaluators} evaluator(s) the finding is about these "
            "evaluators, not about others like them."
        ]
    if isinstance(counts, SharedPairCounts) and counts.n_evaluators < FEWEST_FLIPPED:
        return [_camps_note(counts.n_evaluators)]
    return []


def _camps_note(n_evaluators: int) -> str:
    """Note what cannot be ruled out with few evaluators.

    All of them are of one of two camps of equal size with probability ``2 ** (1 - n)``; measured
    were 0.24, 0.13 and 0.06 false alarms with 3, 4 and 5 evaluators (4,000 repetitions).
    """
    return (
        f"{n_evaluators} evaluators stand for others like them if leans are spread normally; if "
        "people fall into two camps, all of these may be of one by chance, and false alarms reach "
        f"{2 ** (1 - n_evaluators):.2f}. From {FEWEST_FLIPPED} evaluators on no such spread is "
        "supposed."
    )


def _design_note(before: Counts, after: Counts, options: ComparativeOptions) -> str:
    if not before.n:
        return f"All {before.n_judgment_ties:,} judgments are ties; there is no order to compare."
    if isinstance(before, PairCounts):
        if options.design == "fresh":
            return "Pairs were declared to be fresh by the caller; this was not checked."
        return "No item occurs in two judgments, so the judgments are taken to be independent."
    size = Size.of(before)
    uses = 2 * size.judgments / max(size.items, 1)
    shared = f"{size.judgments:,} judgments share {size.items:,} items ({uses:.1f} uses of an item)"
    if before.most_uses <= 1 and before.n_clusters and options.method != "disjoint":
        return "No item occurs in two judgments."
    if not _has_few_evaluators(before):
        shared += f" and {size.evaluators:,} evaluators"
    if options.method == "disjoint":
        return (
            f"{shared}; only {after.n:,} of them, in which nothing that they share occurs twice, "
            "were tested. Pairs with an order were chosen without looking at which one it is."
        )
    if isinstance(after, SharedPairCounts):
        note = f"{shared}; the standard errors take this into account."
        return f"{note} {UNGUARDED}" if options.method == "dyadic" else note
    if options.rule == "paper":
        return (
            f"WARNING: {shared}, but the rule of the paper takes all pairs to be independent. "
            f"Where it promises {1 - (1 - options.alpha) ** 2:.4f} false alarms, 0.27 to 0.99 "
            "have been measured for such designs."
        )
    return "No item occurs in two judgments, so the judgments are taken to be independent."
