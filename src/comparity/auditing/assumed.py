"""What an audit of comparisons assumed, in words a reader can check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from comparity.auditing.options import ComparativeOptions
from comparity.counts import PairCounts, SharedPairCounts
from comparity.inference.agreement import FEWEST_EVALUATORS
from comparity.results import Ties

__all__ = ["Size", "design_name", "notes_on"]

Counts = PairCounts | SharedPairCounts


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is to go by: judgments with an order, distinct items and evaluators."""

    judgments: int
    items: int
    evaluators: int

    @classmethod
    def of(cls, counts: Counts) -> Size:
        """Return the size of what was counted; fresh pairs have two items each."""
        if isinstance(counts, PairCounts):
            return cls(counts.n, 2 * counts.n, 0)
        pairs = counts.pairs
        items = np.zeros(pairs.n_items, dtype=bool)
        items[pairs.better] = items[pairs.worse] = True
        judges = 0 if pairs.evaluator is None else len(np.unique(pairs.evaluator))
        return cls(counts.n, int(items.sum()), judges)


def design_name(counts: Counts, options: ComparativeOptions) -> str:
    """Name the sampling design the tests were made for."""
    if isinstance(counts, PairCounts):
        return "disjoint" if options.method == "disjoint" else "fresh"
    clustered = counts.has_evaluators and len(counts.pairs.evaluators) >= FEWEST_EVALUATORS
    return "shared items and evaluators" if clustered else "shared items"


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
    notes = [_design_note(before, after, options)]
    if not evaluators_known:
        notes.append(
            "Evaluators were not given, so they were not taken into account: if one evaluator made "
            "many of the judgments, the true error is larger than shown."
        )
    elif isinstance(after, SharedPairCounts) and len(after.pairs.evaluators) < FEWEST_EVALUATORS:
        notes.append(
            f"With {len(after.pairs.evaluators)} evaluator(s) the finding is about these "
            "evaluators, not about others like them."
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


def _design_note(before: Counts, after: Counts, options: ComparativeOptions) -> str:
    if isinstance(before, PairCounts):
        if options.design == "fresh":
            return "Pairs were declared to be fresh by the caller; this was not checked."
        return "No item occurs in two judgments, so the judgments are taken to be independent."
    size = Size.of(before)
    uses = 2 * size.judgments / max(size.items, 1)
    shared = f"{size.judgments:,} judgments share {size.items:,} items ({uses:.1f} uses of an item)"
    if options.method == "disjoint":
        return (
            f"{shared}; only {after.n:,} of them, in which no item and no evaluator occurs twice, "
            "were tested. They were chosen without looking at agreement."
        )
    if isinstance(after, PairCounts):
        return (
            f"WARNING: {shared}, but the rule of the paper takes all pairs to be independent. "
            f"Where it promises {1 - (1 - options.alpha) ** 2:.4f} false alarms, 0.27 to 0.99 "
            "have been measured for such designs."
        )
    return f"{shared}; the standard errors take this into account."
