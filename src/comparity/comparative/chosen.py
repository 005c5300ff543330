r"""Audits of pairs that were chosen by earlier answers, weighted by inverse probabilities.

Pairs that are chosen because they are close are harder than others, and not equally so in every
cell, so that their agreement is not that of all pairs. ``choose_pairs`` writes down the probability
:math:`\pi_p` of each pair among all pairs of its kind. Judgments that count :math:`1 / \pi_p` have
the agreement of all pairs again,

.. math:: agree(a > b) = \sum_p \frac{C_p}{\pi_p} \Big/ \sum_p \frac{1}{\pi_p} ,

and since at least a fifth of all pairs are drawn evenly, no judgment counts for more than five
drawn ones. Standard errors are those of shared items with these weights
(:func:`comparity.counts.judged_weights.weighted_sharing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.comparative.families import (
    TestedFamily,
    family_of,
    judge_families,
    smallest_group,
)
from comparity.comparative.options import ComparativeOptions
from comparity.counts.judged_pairs import JudgedPairs, item_residuals
from comparity.counts.judged_weights import weighted_sharing
from comparity.counts.ledger import count_position_pairs
from comparity.counts.pairs import Sharing
from comparity.errors import OptionError
from comparity.inference.agreement_tests import (
    FEWEST_EVALUATORS,
    Contrast,
    allow_for_skewness,
    items_to_be_normal,
    sides_of,
)
from comparity.inference.dyadic import compare_cells, rate_interval
from comparity.inference.gap_tests import GapTest, RateEstimate
from comparity.inference.joint import equal_cells
from comparity.results.audit import Audit
from comparity.results.result import EXIT_STATUS
from comparity.tables.frames import text_of
from comparity.tables.outcomes import CHOSEN
from comparity.tables.values import numbers, prefix_attribute

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class ChosenJudgments:
    """Judgments of one attribute, with weights that make all pairs equally likely.

    Attributes
    ----------
    name : str
        The attribute.
    pairs : JudgedPairs
    weights : ndarray
        Of each row of `pairs`.
    several : bool
        Whether there are other attributes.
    """

    name: str
    pairs: JudgedPairs
    weights: NDArray[np.float64]
    several: bool

    def sharing_moments(self, score_ties: str) -> Sharing:
        """Return the moments of weighted judgments."""
        judged = self.pairs.n_evaluators >= FEWEST_EVALUATORS
        return weighted_sharing(self.pairs, self.weights, score_ties=score_ties, evaluators=judged)

    def family(self, options: ComparativeOptions) -> TestedFamily:
        """Test every hypothesis."""
        counts, sharing = self.pairs.shared_counts(), self.sharing_moments(options.score_ties)
        trials = self.pairs.trials * self.weights
        residuals = item_residuals(self.pairs, trials, options.score_ties)

        def compare(contrasts: Sequence[Contrast]) -> list[GapTest]:
            found = []
            for contrast in contrasts:
                sides = sides_of(contrast)
                n = [sum(counts[cell].trials for cell in side) for side in sides]
                fewest = smallest_group(counts, contrast.cells)
                test = compare_cells(sharing, *contrast, null=contrast.null)
                test = replace(test, n=(n[0], n[1]), smallest_group=fewest)
                if fewest < items_to_be_normal(options.margin):
                    test = allow_for_skewness(test, residuals.third_cumulant(*sides))
                found.append(test)
            return found

        family = family_of(counts.groups, options)
        tested = TestedFamily.of(family, sharing, compare)
        return tested.name_hypotheses(self.name, several=self.several)

    def rates(self, score_ties: str) -> list[RateEstimate]:
        """Return the weighted agreement in every cell."""
        counts, sharing = self.pairs.fresh_counts(), self.sharing_moments(score_ties)
        return [
            RateEstimate(
                name="agreement",
                of=prefix_attribute(self.name, str(cell), several=self.several),
                rate=float(sharing.hits[code] / sharing.trials[code]),
                trials=counts[cell].trials,
                score_ties=counts[cell].ties,
                interval=rate_interval(sharing, cell),
            )
            for code, cell in enumerate(sharing.cells)
            if sharing.trials[code] > 0
        ]


def audit_chosen(
    raw: Audit, rows: Columns, items: Columns, options: ComparativeOptions, sensitive: Sequence[str]
) -> Audit:
    """Audit judgments of pairs of which some were chosen by earlier answers.

    Parameters
    ----------
    raw : Audit
        The audit of the same judgments without weights.
    rows : mapping of str to ndarray
        Columns ``better``, ``worse``, ``tied``, ``how``, ``probability``, and ``evaluator`` where
        it is known.
    items : mapping of str to ndarray
        Columns ``item`` and ``score``, and a group for each of `sensitive`.
    options : ComparativeOptions
    sensitive : sequence of str
    """
    chance = numbers(rows["probability"], "probability", "comparisons")
    if not ((chance > 0) & (chance <= 1)).all():
        found = float(chance[~((chance > 0) & (chance <= 1))][0])
        raise OptionError("probability", found, ["chances above 0 and at most 1"])
    judged = _count_weighted(rows, items, options, sensitive, 1 / chance)
    families = [one.family(options) for one in judged]
    tests, further, finding = judge_families(families, options, n=raw.n, n_items=raw.n_items)
    chosen = int(((rows["how"] == CHOSEN) & ~rows["tied"].astype(bool)).sum())
    note = (
        f"{chosen:,} of {raw.n:,} judgments are of pairs that were chosen by earlier answers. "
        "Judgments are weighted by the inverse of the probability of their pair, as if all pairs "
        "had been drawn alike; numbers of judgments are before weighting."
    )
    return replace(
        raw,
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=tests,
        further_gaps=further,
        rates=tuple(rate for one in judged for rate in one.rates(options.score_ties)),
        joint_tests=tuple(
            replace(joint, null=prefix_attribute(one.name, joint.null, several=one.several))
            for one in judged
            for joint in equal_cells(one.sharing_moments(options.score_ties))
        ),
        ties=replace(raw.ties, change_finding=_ties_change(judged, raw, options, finding)),
        notes=(*raw.notes, note),
    )


def _ties_change(
    judged: Sequence[ChosenJudgments], raw: Audit, options: ComparativeOptions, finding: str
) -> bool:
    """Return whether scoring ties the other way would change the finding."""
    if not raw.ties.scores:
        return False
    other = replace(options, score_ties="half" if options.score_ties == "disagree" else "disagree")
    families = [one.family(other) for one in judged]
    return judge_families(families, other, n=raw.n, n_items=raw.n_items)[2] != finding


def _count_weighted(
    rows: Columns,
    items: Columns,
    options: ComparativeOptions,
    sensitive: Sequence[str],
    weight: NDArray[np.float64],
) -> list[ChosenJudgments]:
    """Count judgments, and add up their weights in the rows that they are counted in."""
    place = {text_of(one): k for k, one in enumerate(items["item"].tolist())}
    sides = [[place[text_of(one)] for one in rows[side].tolist()] for side in ("better", "worse")]
    pairs, tied = np.array(sides, dtype=np.int64).T, rows["tied"].astype(bool)
    known = rows.get("evaluator")
    judges = None if known is None else np.array([text_of(one) for one in known], dtype=object)
    counted = count_position_pairs(
        pairs[~tied],
        scores=numbers(items["score"], "score", "items"),
        sensitive={name: items[name] for name in sensitive},
        evaluators=None if judges is None else judges[~tied],
        tied_pairs=pairs[tied],
        intersection=options.intersection,
        design="shared",
    )
    found = []
    for name, one in counted.items():
        assert isinstance(one, JudgedPairs), "a shared design keeps pairs"
        key = _keys(pairs[~tied], None if judges is None else judges[~tied], one)
        held = _key(one.better, one.worse, one.evaluator, one)
        order = np.argsort(held)
        row = order[np.searchsorted(held[order], key)]
        sums = np.bincount(row, weight[~tied], len(one))
        scale = sums.sum() / max(one.n, 1)
        found.append(ChosenJudgments(name, one, sums / one.trials / scale, len(counted) > 1))
    return found


def _keys(
    pairs: NDArray[np.int64], judges: NDArray[Any] | None, held: JudgedPairs
) -> NDArray[np.int64]:
    names = {name: code for code, name in enumerate(held.evaluators)}
    codes = None if judges is None else np.array([names[one] for one in judges], dtype=np.int64)
    return _key(pairs[:, 0], pairs[:, 1], codes, held)


def _key(
    better: NDArray[np.int64],
    worse: NDArray[np.int64],
    evaluator: NDArray[np.int64] | None,
    held: JudgedPairs,
) -> NDArray[np.int64]:
    """Return one number for each pair and evaluator."""
    pair = better * held.n_items + worse
    return pair if evaluator is None else pair * max(len(held.evaluators), 1) + evaluator
