"""From differences to judged contrasts: what auditing two raters and auditing many share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, TypeVar

from comparity.counts.decision_sets import Decisions
from comparity.counts.differences import ClusteredRows, DecisionRange, DifferenceCounts, Moments
from comparity.inference.clustered_means import compare_clustered
from comparity.inference.differential_parity import (
    magnitude,
    mean_gap,
    one_sided_p_value,
    standardised_gap,
    standardised_gap_total,
    welch_statistic,
)
from comparity.inference.evaluators import ClusterGap
from comparity.inference.gap_tests import GapTest
from comparity.inference.means import RatioPivot, satterthwaite
from comparity.inference.permuted_means import compare_samples
from comparity.relative.options import RelativeOptions
from comparity.relative.result import RaterContrast
from comparity.relative.slopes import compare_slope
from comparity.results.audit import Audit, JudgedGap
from comparity.results.judging import conclude, judge
from comparity.tables.features import UNNAMED
from comparity.tables.values import prefix_attribute

Task = TypeVar("Task")

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
INDEPENDENT = "rows independent of each other"
# Ranges and deviations this many times as wide are hardly one scale.
MOST_SCALE_RATIO = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A contrast before it is judged: everything but the finding.

    Numbers are those of :class:`comparity.relative.result.RaterContrast`.

    Attributes
    ----------
    test : GapTest
        On the scale of DPD.
    names : mapping of str to str
        Names of ``first``, ``second``, ``attribute``, ``group``, ``reference``, ``label``.
    favoured : mapping of str to str
        What the sentence about who favours whom calls the groups, where not by their names.
    """

    test: GapTest
    names: Mapping[str, str]
    n: tuple[int, int]
    means: tuple[float, float]
    gap: float
    dpt: float
    dof: float
    p_one_sided: float
    dpd: float
    dpd_total: float = math.nan
    favoured: Mapping[str, str] = field(default_factory=dict)

    def with_finding(self, test: JudgedGap, games_howell_p: float = math.nan) -> RaterContrast:
        """Return the contrast with its finding."""
        # Another pivot: the test was judged as one that may be read at any moment.
        told = self.test if test.pivot is self.test.pivot else test
        return RaterContrast(
            **self.names,
            n=self.n,
            means=self.means,
            gap=self.gap,
            dpt=self.dpt,
            dof=self.dof,
            p_value=told.p_value,
            p_one_sided=self.p_one_sided,
            dpd=self.dpd,
            dpd_total=self.dpd_total,
            magnitude=magnitude(self.dpd),
            direction=direction(self.dpd, **{**self.names, **self.favoured}),
            test=test,
            games_howell_p=games_howell_p,
        )


def question_of_slope(found: Decisions, who: dict[str, str], null: str) -> Question:
    """Ask how the difference of the first two decision makers changes with a number."""
    differences, values = found.rows(0, 1, who["attribute"])
    return question_of_line(compare_slope(differences, values, null=null), who)


def question_of_line(test: GapTest, who: dict[str, str]) -> Question:
    """Put together what is known of how a difference changes with a number."""
    attribute, pivot = who["attribute"], test.pivot
    statistic, dof = math.nan if pivot is None else 0.0, math.nan
    if isinstance(pivot, RatioPivot):
        statistic, dof = pivot.gap / math.sqrt(pivot.variance), pivot.dof
    return Question(
        test=test,
        names={**who, "group": f"larger {attribute}", "reference": f"smaller {attribute}"},
        n=test.n,
        means=(math.nan, math.nan),
        gap=pivot.gap if isinstance(pivot, RatioPivot) else test.gap,
        dpt=statistic,
        dof=dof,
        p_one_sided=test.p_value / 2,
        dpd=test.gap,
        # A number has no groups to be named by it.
        favoured={"attribute": ""},
    )


def compare_groups(
    differences: DifferenceCounts,
    who: dict[str, str],
    word_null: Callable[[str], str],
    clustered: Callable[[tuple[str, str]], ClusteredRows] | None = None,
) -> list[Question]:
    """Ask whether mean differences are equal, for every two groups of an attribute.

    Where rows share clusters, `clustered` returns those of two groups.
    """
    moments = differences.moments

    def test_of(base: str, group: str) -> GapTest:
        test = compare_samples(
            moments[group],
            moments[base],
            lambda: (differences.rows_of(group), differences.rows_of(base)),
            null=word_null(f"{group} = {base}"),
        )
        if clustered is None:
            return test
        return compare_clustered(test, moments[group], moments[base], clustered((group, base)))

    return [
        _question_of_groups(
            test_of(base, group),
            moments[group],
            moments[base],
            names={**who, "group": group, "reference": base},
        )
        for base, group in combinations(moments, 2)
    ]


def null_of(who: Mapping[str, str], claim: str, *, several: bool) -> str:
    """Word a hypothesis about two decision makers."""
    of = f" [{who['label']}]" if who["label"] else ""
    text = f"{who['first']} - {who['second']}{of}: {claim}"
    return prefix_attribute(who["attribute"], text, several=several)


def _question_of_groups(
    test: GapTest, group: Moments, reference: Moments, *, names: dict[str, str]
) -> Question:
    statistic, dof = welch_statistic(group, reference), math.nan
    if min(group.n, reference.n) > 1:
        variances = [group.variance / group.n, reference.variance / reference.n]
        dof = satterthwaite(variances, [group.n - 1, reference.n - 1])
    if isinstance(test.pivot, ClusterGap):
        statistic = test.gap / math.sqrt(test.pivot.variance_at(0.0))
        dof, p_one_sided = test.pivot.dof, test.p_value / 2
    else:
        p_one_sided = one_sided_p_value(statistic, dof)
    return Question(
        test=test,
        names=names,
        n=(group.n, reference.n),
        means=(group.mean, reference.mean),
        gap=mean_gap(group, reference),
        dpt=statistic,
        dof=dof,
        p_one_sided=p_one_sided,
        dpd=standardised_gap(group, reference),
        dpd_total=standardised_gap_total(group, reference),
    )


def direction(
    size: float,
    *,
    first: str,
    second: str,
    group: str,
    reference: str,
    attribute: str = "",
    **_: str,
) -> str:
    """Say who favours whom.

    Examples
    --------
    >>> names = {"first": "A", "second": "B", "group": "women", "reference": "men"}
    >>> direction(0.3, **names)
    'Compared with B, A favours women over men'
    >>> direction(-0.3, **names, attribute="sex")
    'Compared with B, A favours sex = men over sex = women'
    """
    if math.isnan(size):
        return "not known"
    of = f"{attribute} " if attribute == UNNAMED else f"{attribute} = " if attribute else ""
    groups = [f"{of}{name}" for name in (group, reference)]
    if size == 0:
        return f"Compared with {second}, {first} favours neither {groups[0]} nor {groups[1]}"
    favoured = groups if size > 0 else groups[::-1]
    return f"Compared with {second}, {first} favours {' over '.join(favoured)}"


def judge_questions(
    questions: Sequence[Question], options: RelativeOptions, n: int
) -> tuple[JudgedGap, ...]:
    """Judge all questions as one family."""
    tests = [question.test for question in questions]
    paper = options.rule == "paper"
    if paper:
        tests = [replace(one.test, p_value=one.p_one_sided) for one in questions]
    found = judge(tests, **options.judging, n=n, n_items=n)
    if paper:
        # One-sided in both directions at alpha is two-sided at twice alpha.
        level = max(1 - 2 * options.alpha, 0.0)
        found = tuple(replace(one, level=level) for one in found)
    return found


def audit_of(
    tests: tuple[JudgedGap, ...],
    options: RelativeOptions,
    data: Mapping[str, Any],
    *,
    n: int,
    groups: Sequence[str],
    notes: Sequence[str],
    raters: int = 2,
    design: str = "",
    clusters: Mapping[str, int] | None = None,
) -> Audit:
    """Put judged tests together with what the reader must know.

    Without a `design`, both decided about the same subjects.
    """
    rule = []
    rows = f"clustered by {' and '.join(clusters)}" if clusters else INDEPENDENT
    if options.rule == "paper":
        rule = [PAPER_RULE.format(alpha=options.alpha, twice=2 * options.alpha)]
    return conclude(
        tests,
        options,
        data,
        notion="differential parity",
        rates=(),
        groups=tuple(groups),
        design=design or f"the same subjects, {rows}",
        unit="decisions",
        n=n,
        n_items=n,
        n_evaluators=raters,
        n_clusters=clusters or {},
        notes=(BIASED_REFERENCE, SCALE, *rule, *notes),
    )


def show_progress(tasks: Sequence[Task], doing: str) -> Iterable[Task]:
    """Show progress over tasks, where there is a terminal to show it on."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(tasks, doing, console=console, disable=not console.is_terminal)


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
    """Return whether two scales differ: ranges that do not meet or differ much in width, or shares.

    Decision makers may use a scale differently; only what hardly is one scale counts.
    """
    narrow, wide = sorted((one, other), key=lambda found: found.high - found.low)
    apart = one.high < other.low or other.high < one.low
    spans = (wide.high - wide.low) >= MOST_SCALE_RATIO * (narrow.high - narrow.low)
    wider = spans and wide.deviation >= MOST_SCALE_RATIO * narrow.deviation
    shares = [(found.low, found.high) == (0.0, 1.0) for found in (narrow, wide)]
    beyond = shares[0] and not shares[1] and (wide.low < 0 or wide.high > 1)
    return apart or wider or beyond


def _other_scale(one: tuple[str, DecisionRange], other: tuple[str, DecisionRange]) -> str:
    spans = (f"{name} uses {found.low:g} to {found.high:g}" for name, found in (one, other))
    return (
        f"WARNING: these decisions look like different scales: {' and '.join(spans)}. Their "
        "difference then shows mostly the wider one; bring both to one scale first, such as ranks."
    )
