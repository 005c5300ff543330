"""What an audit of comparisons assumed, in words a reader can check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.comparative.options import ComparativeOptions
from comparity.counts.pairs import PairCounts, SharedPairCounts
from comparity.inference.agreement import EQUAL_VALUES, FEWEST_EVALUATORS
from comparity.results.audit import Ties

__all__ = ["Size", "design_name", "few_evaluators", "notes_on", "uses_of_items"]

Counts = PairCounts | SharedPairCounts

UNGUARDED = (
    "WARNING: squared residuals and the normal law are used whatever the counts, as asked for; "
    "with few hits or misses in a cell 0.2 to 0.4 false rejections have been measured."
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
        pairs = counts.pairs
        judges = 0 if pairs.evaluator is None else len(np.unique(pairs.evaluator))
        return cls(counts.n, int((uses_of_items(counts) > 0).sum()), judges)


def uses_of_items(counts: SharedPairCounts) -> NDArray[np.int64]:
    """Return in how many judgments each item occurs."""
    pairs = counts.pairs
    uses = np.bincount(pairs.better, pairs.trials, pairs.n_items)
    return (uses + np.bincount(pairs.worse, pairs.trials, pairs.n_items)).astype(np.int64)


def design_name(given: Counts, used: Counts, options: ComparativeOptions) -> str:
    """Name the sampling design, and what the tests took it for where that is something else."""
    if options.method == "disjoint":
        return "disjoint"
    if isinstance(used, PairCounts):
        taken_as_fresh = isinstance(given, SharedPairCounts) and options.rule == "paper"
        return "shared items, taken as fresh" if taken_as_fresh else "fresh"
    if few_evaluators(used):
        return "shared items"
    repeat = uses_of_items(used).max(initial=0) > 1
    return "shared items and evaluators" if repeat else "shared evaluators"


def few_evaluators(counts: SharedPairCounts) -> bool:
    """Say whether evaluators are unknown, or too few to stand for others."""
    return len(counts.pairs.evaluators) < FEWEST_EVALUATORS


def notes_on(
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
    notes.append(
        "Equal agreement in all kinds of pairs is comparative separation. It is separation only "
        "where the judged quality is binary."
    )
    return tuple(notes)


def _evaluator_notes(counts: Counts, known: bool) -> list[str]:
    if not known:
        return [
            "Evaluators were not given, so they were not taken into account: if one evaluator made "
            "many of the judgments, the true error is larger than shown."
        ]
    if isinstance(counts, SharedPairCounts) and few_evaluators(counts):
        return [
            f"With {len(counts.pairs.evaluators)} evaluator(s) the finding is about these "
            "evaluators, not about others like them."
        ]
    return []


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
    if not few_evaluators(before):
        shared += f" and {size.evaluators:,} evaluators"
    if options.method == "disjoint":
        return (
            f"{shared}; only {after.n:,} of them, in which no item and no evaluator occurs twice, "
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
