"""Whether impact ratios are as large as a policy asks: four fifths unless it says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from comparity.impact.audit import audit_file, audit_frame
from comparity.impact.options import ImpactForm
from comparity.impact.result import ImpactRatios
from comparity.inference.gap_tests import Interval
from comparity.reports.ranges import JudgedRange, RangeAudit
from comparity.results.options import choice


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactGateForm(ImpactForm):
    """What a policy says of impact ratios."""

    alpha: float = choice(0.05, "Overall false-alarm rate.", above=0, below=0.5)
    smallest: float = choice(0.8, "Smallest impact ratio that may be.", above=0, most=1)


def judge_frame(frame: Any, **choices: Any) -> RangeAudit:
    """Judge the impact ratios of a frame of any engine; `choices` are those of the form."""
    form = ImpactGateForm(**choices)
    return _judge(form, lambda level: audit_frame(frame, **_choices(form, level)))


def judge_file(path: str | Path, **choices: Any) -> RangeAudit:
    """Judge the impact ratios of a file; `choices` as in :func:`judge_frame`."""
    form = ImpactGateForm(**choices)
    return _judge(form, lambda level: audit_file(path, **_choices(form, level)))


def _choices(form: ImpactGateForm, level: float) -> dict[str, Any]:
    own = {one.name: getattr(form, one.name) for one in fields(ImpactForm)}
    return {**own, "level": level}


def _judge(form: ImpactGateForm, ratios: Any) -> RangeAudit:
    found: ImpactRatios = ratios(form.level)
    n = sum(not one.why_none for table in found.tables for one in table.groups)
    # Lower limits are one-sided at half of what is left of the level, and so are upper ones.
    inside: ImpactRatios = ratios(1 - 2 * form.alpha)
    outside: ImpactRatios = ratios(1 - 2 * form.alpha / n)
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
