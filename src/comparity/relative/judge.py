"""From differences to judged contrasts: what auditing two raters and auditing many share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from comparity.counts.decision_sets import Decisions
from comparity.counts.differences import DecisionRange, Moments
from comparity.inference.differences import (
    magnitude,
    mean_gap,
    one_sided_p_value,
    standardised_gap,
    standardised_gap_total,
    welch_statistic,
)
from comparity.inference.gap_tests import GapTest
from comparity.inference.means import RatioPivot, compare_means, satterthwaite
from comparity.relative.options import RelativeOptions
from comparity.relative.result import RaterContrast
from comparity.relative.slopes import compare_slope
from comparity.results.audit import Audit, JudgedGap
from comparity.results.findings import EXIT_STATUS
from comparity.results.judging import judge, overall_finding
from comparity.results.options import provenance
from comparity.tables.values import qualified

__all__ = [
    "BIASED_REFERENCE",
    "PAPER_RULE",
    "Question",
    "ask",
    "audit_of",
    "contrast_of",
    "direction",
    "group_question",
    "judged",
    "notes_on_ranges",
    "null_of",
    "range_notes",
]

BIASED_REFERENCE = (
    "Parity with a biased decision maker proves nothing: the comparison is relative, and says "
    "neither that one of them is unbiased nor which of them is not."
)
SCALE = (
    "Gaps are DPD: differences of mean differences, in standard deviations of the difference "
    "between two decisions."
)
PAPER_RULE = (
    "The rule of the paper reads a one-sided p value in both directions: where there is no "
    "relative bias it finds one with probability {twice:g}, not {alpha:g}."
)
# Ranges and deviations this many times as wide are hardly one scale.
WIDER = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A contrast before it is judged: everything but the finding.

    Attributes
    ----------
    test : GapTest
        On the scale of DPD.
    facts : dict
        The other fields of :class:`comparity.relative.result.RaterContrast`.
    """

    test: GapTest
    facts: dict[str, Any]


def ask(found: Decisions, attribute: str, *, label: str, several: bool) -> list[Question]:
    """Ask about every two groups of an attribute, or how differences change with a number."""
    first, second = found.raters[:2]
    who = {"first": first, "second": second, "attribute": attribute, "label": label}
    if attribute in found.numbers:
        return [_slope(found, attribute, who, several=several)]
    moments = found.differences(0, 1, attribute).moments
    return [
        group_question(
            moments[group],
            moments[base],
            names={**who, "group": group, "reference": base},
            null=null_of(who, f"{group} = {base}", several=several),
        )
        for base, group in combinations(moments, 2)
    ]


def _slope(found: Decisions, attribute: str, who: dict[str, str], *, several: bool) -> Question:
    differences, values = found.rows(0, 1, attribute)
    names = {**who, "group": f"larger {attribute}", "reference": f"smaller {attribute}"}
    null = null_of(who, f"no change with {attribute}", several=several)
    test = compare_slope(differences, values, null=null)
    pivot = test.pivot
    statistic, dof = math.nan if pivot is None else 0.0, math.nan
    if isinstance(pivot, RatioPivot):
        statistic, dof = pivot.gap / math.sqrt(pivot.variance), pivot.dof
    facts = {
        "n": test.n,
        "means": (math.nan, math.nan),
        "gap": pivot.gap if isinstance(pivot, RatioPivot) else test.gap,
        "dpt": statistic,
        "dof": dof,
        "p_value": test.p_value,
        "p_one_sided": test.p_value / 2,
        "dpd": test.gap,
        "dpd_total": math.nan,
        "magnitude": magnitude(test.gap),
        "direction": direction(
            test.gap,
            first=who["first"],
            second=who["second"],
            group=f"subjects with larger {attribute}",
            reference=f"those with smaller {attribute}",
        ),
    }
    return Question(test=test, facts={**names, **facts})


def null_of(who: Mapping[str, str], claim: str, *, several: bool) -> str:
    """Word a hypothesis about two decision makers."""
    of = f" [{who['label']}]" if who["label"] else ""
    text = f"{who['first']} - {who['second']}{of}: {claim}"
    return qualified(who["attribute"], text, several=several)


def group_question(
    group: Moments, reference: Moments, *, names: dict[str, str], null: str
) -> Question:
    """Ask whether two groups have the same mean difference.

    Parameters
    ----------
    group, reference : Moments
        Differences in both groups.
    names : dict
        Names of ``first``, ``second``, ``attribute``, ``group``, ``reference``, ``label``.
    null : str
        The hypothesis in words.
    """
    statistic = welch_statistic(group, reference)
    dof = math.nan
    if min(group.n, reference.n) > 1:
        variances = [group.variance / group.n, reference.variance / reference.n]
        dof = satterthwaite(variances, [group.n - 1, reference.n - 1])
    size = standardised_gap(group, reference)
    test = compare_means(group, reference, null=null)
    numbers = {
        "n": (group.n, reference.n),
        "means": (group.mean, reference.mean),
        "gap": mean_gap(group, reference),
        "dpt": statistic,
        "dof": dof,
        "p_value": test.p_value,
        "p_one_sided": one_sided_p_value(statistic, dof),
        "dpd": size,
        "dpd_total": standardised_gap_total(group, reference),
        "magnitude": magnitude(size),
        "direction": direction(size, **names),
    }
    return Question(test=test, facts={**names, **numbers})


def direction(size: float, *, first: str, second: str, group: str, reference: str, **_: str) -> str:
    """Say who favours whom.

    Examples
    --------
    >>> names = {"first": "A", "second": "B", "group": "women", "reference": "men"}
    >>> direction(0.3, **names)
    'A rates women higher, relative to men, than B does'
    >>> direction(-0.3, **names)
    'A rates women lower, relative to men, than B does'
    """
    if math.isnan(size):
        return "not known"
    if size == 0:
        return f"{first} and {second} rate {group} alike, relative to {reference}"
    word = "higher" if size > 0 else "lower"
    return f"{first} rates {group} {word}, relative to {reference}, than {second} does"


def judged(
    questions: Sequence[Question], options: RelativeOptions, n: int
) -> tuple[JudgedGap, ...]:
    """Judge all questions as one family."""
    tests = [question.test for question in questions]
    paper = options.rule == "paper"
    if paper:
        tests = [replace(one.test, p_value=one.facts["p_one_sided"]) for one in questions]
    found = judge(
        tests,
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        n=n,
        n_items=n,
    )
    if paper:
        # One-sided in both directions at alpha is two-sided at twice alpha.
        level = max(1 - 2 * options.alpha, 0.0)
        found = tuple(replace(one, level=level) for one in found)
    return found


def contrast_of(
    question: Question, test: JudgedGap, games_howell_p: float = math.nan
) -> RaterContrast:
    """Put a finding to a question."""
    return RaterContrast(**question.facts, test=test, games_howell_p=games_howell_p)


def audit_of(
    tests: tuple[JudgedGap, ...],
    options: RelativeOptions,
    *,
    n: int,
    groups: Sequence[str],
    notes: Sequence[str],
    raters: int,
    data: dict[str, Any],
) -> Audit:
    """Put judged tests together with what the reader must know."""
    finding = overall_finding(tests)
    rule = []
    if options.rule == "paper":
        rule = [PAPER_RULE.format(alpha=options.alpha, twice=2 * options.alpha)]
    return Audit(
        notion="differential parity",
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=tests,
        rates=(),
        groups=tuple(groups),
        design="the same subjects, rows independent of each other",
        unit="decisions",
        n=n,
        n_items=n,
        n_evaluators=raters,
        alpha=options.alpha,
        margin=options.margin,
        rule=options.rule,
        looks=options.looks,
        notes=(BIASED_REFERENCE, SCALE, *rule, *notes),
        provenance=provenance(options, **data),
    )


def range_notes(decisions: Decisions) -> list[str]:
    """Warn of decisions on different scales, and of decision makers who decide all alike."""
    ranges = [decisions.range_of(place) for place in range(len(decisions.raters))]
    return notes_on_ranges(dict(zip(decisions.raters, ranges, strict=True)))


def notes_on_ranges(ranges: Mapping[str, DecisionRange]) -> list[str]:
    """Warn of different scales, and of decision makers who decide all alike, by their ranges."""
    named = list(ranges.items())
    notes = [
        f"WARNING: {name} decides {one.low:g} for everybody; the difference shows the other's "
        "decisions alone."
        for name, one in named
        if one.low == one.high
    ]
    varying = [(name, one) for name, one in named if one.low < one.high]
    for pair in combinations(varying, 2):
        if _scales_differ(pair[0][1], pair[1][1]):
            # One example is enough to look at the columns.
            return [*notes, _other_scale(*pair)]
    return notes


def _scales_differ(one: DecisionRange, other: DecisionRange) -> bool:
    """Say whether two ranges do not meet, differ much in width, or are shares and something else.

    Decision makers may use a scale differently; only what hardly is one scale counts.
    """
    narrow, wide = sorted((one, other), key=lambda found: found.high - found.low)
    apart = one.high < other.low or other.high < one.low
    spans = (wide.high - wide.low) >= WIDER * (narrow.high - narrow.low)
    wider = spans and wide.deviation >= WIDER * narrow.deviation
    shares = [(found.low, found.high) == (0.0, 1.0) for found in (narrow, wide)]
    beyond = shares[0] and not shares[1] and (wide.low < 0 or wide.high > 1)
    return apart or wider or beyond


def _other_scale(one: tuple[str, DecisionRange], other: tuple[str, DecisionRange]) -> str:
    spans = (f"{name} uses {found.low:g} to {found.high:g}" for name, found in (one, other))
    return (
        f"WARNING: these decisions look like different scales: {' and '.join(spans)}. Their "
        "difference then shows mostly the wider one; bring both to one scale first, such as ranks."
    )
