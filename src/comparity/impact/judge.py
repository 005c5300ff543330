"""Whether impact ratios are as large as a policy asks: four fifths unless it says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from comparity.impact.audit import audit_file, audit_frame
from comparity.impact.options import ImpactForm
from comparity.impact.result import ImpactRatios
from comparity.inference.gap_tests import Interval
from comparity.reports.ranges import JudgedRange, RangeAudit, RangeGate
from comparity.results.options import choice


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactGateForm(ImpactForm):
    """What a policy says of impact ratios."""

    alpha: float = choice(0.05, "Overall false-alarm rate.", above=0, below=0.5)
    smallest: float = choice(0.8, "Smallest impact ratio that may be.", above=0, most=1)


def _judge(form: ImpactGateForm, ratios: Callable[[float], ImpactRatios]) -> RangeAudit:
    found = ratios(form.level)
    n = sum(not one.why_none for table in found.tables for one in table.groups)
    # Lower limits are one-sided at half of what is left of the level, and so are upper ones.
    inside = ratios(1 - 2 * form.alpha)
    outside = ratios(1 - 2 * form.alpha / n)
    tests = [
        JudgedRange(
            name=f"impact ratio of {table.attribute} = {one.group}",
            value=one.ratio,
            low=form.smallest,
            high=1.0,
            inside=near.interval,
            outside=Interval(far.interval.low, far.interval.high, 1 - form.alpha / n),
        )
        for table, small, large in zip(found.tables, inside.tables, outside.tables, strict=True)
        for one, near, far in zip(table.groups, small.groups, large.groups, strict=True)
        if not one.why_none
    ]
    return RangeAudit(
        notion="impact ratios",
        tests=tuple(tests),
        alpha=form.alpha,
        answer=replace(found, provenance={}),
        provenance=found.provenance,
    )


GATE = RangeGate(
    form=ImpactGateForm, question=ImpactForm, of_frame=audit_frame, of_file=audit_file, judge=_judge
)
judge_frame, judge_file = GATE.judge_frame, GATE.judge_file
