"""Bridges between different subjects, for terminal, page and picture."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch
from statistics import fmean

from comparity.errors.spelling import visible
from comparity.relative import section as relative
from comparity.relative.bridges.result import (
    BridgeDiagnosis,
    BridgedParity,
    Rehearsal,
    RehearsedCase,
)
from comparity.reports.charts import Curve, CurveChart, axis_between
from comparity.reports.formats import count, p_value, percent, rate, several, signed
from comparity.reports.sections import Grid, Section
from comparity.results.plain import as_plain

__all__ = ["rehearsal_chart", "section"]

COUNTED = ("right", "opposite", "refused")


@singledispatch
def section(result: BridgedParity | Rehearsal) -> Section:
    """Return what is shown of a bridge, or of bridges against direct measurement."""
    raise TypeError(f"{type(result).__name__} is no bridge")


@section.register
def _(result: BridgedParity) -> Section:
    shown = relative.section(result)
    sentences = shown.sentences
    if not result.diagnosis.carries:
        # The usual sentence speaks of too few data; here it is the bridge that does not hold.
        foremost, _, *others = sentences
        refused = "The bridge does not carry a finding; the notes say why."
        sentences = (refused, foremost, *others)
    return replace(
        shown, sentences=sentences, grids=(*shown.grids, _diagnosis_grid(result.diagnosis))
    )


@section.register
def _(result: Rehearsal) -> Section:
    counts = as_plain(result)
    best = max(result.bridges, key=result.right)
    return Section(
        headline=(
            f"Bridges against direct measurement: the {best} bridge is right in "
            f"{result.right(best):.1f} of {result.n_cases} cases"
        ),
        sentences=(
            "Right is what at least one of two direct measurements says, by the paper's rule.",
            f"Mean of {count(result.splits)} random divisions of the subjects.",
        ),
        grids=(
            Grid(
                title="Cases in a division",
                header=("bridge", "right", "opposite", "refused"),
                rows=tuple(
                    (name, *(f"{counts[what][name]:.2f}" for what in COUNTED))
                    for name in result.bridges
                ),
            ),
            _mean_dpd_grid(result),
        ),
    )


def _mean_dpd_grid(result: Rehearsal) -> Grid:
    """Set the mean DPD of each two decision makers beside what was measured directly."""
    found: dict[tuple[str, str, str], list[RehearsedCase]] = {}
    for case in result.cases:
        found.setdefault((case.attribute, case.first, case.second), []).append(case)
    return Grid(
        title="Mean DPD, direct on the two parts and across bridges",
        header=("first over second", "direct", "direct", *result.bridges),
        rows=tuple(
            (
                visible(f"{attribute}: {first} over {second}"),
                *(signed(fmean(case.direct_dpd[part] for case in same)) for part in (0, 1)),
                *(signed(fmean(case.dpd[name] for case in same)) for name in result.bridges),
            )
            for (attribute, first, second), same in found.items()
        ),
    )


def _diagnosis_grid(found: BridgeDiagnosis) -> Grid:
    rows = [
        ("variance of the first's decisions explained", percent(found.explained)),
        ("error against the first, the second", ", ".join(map(rate, found.errors))),
    ]
    rows += [
        (f"mean error against the first, {visible(group)}", signed(mean))
        for group, mean in found.calibration.items()
    ]
    rows.append(("p of equal mean errors", p_value(found.calibration_p)))
    rows += [
        (f"both sides told apart, {visible(group)} (area; 0.5 is not at all)", rate(area))
        for group, area in found.separability.items()
    ]
    rows += [
        (f"effective share if made alike, {visible(group)}", rate(share))
        for group, share in found.effective_share.items()
    ]
    rows.append(("DPD would then move by", signed(found.shift)))
    if not math.isnan(found.optimism):
        rows.append(("error in sample, as a share of that on others", rate(found.optimism)))
    if not math.isnan(found.ignored):
        rows.append(("false alarms for ignoring the fit's error", rate(found.ignored)))
    if found.n_shared:
        rows.append(("subjects decided about by both", count(found.n_shared)))
    return Grid(title="How good the bridge is", header=("", "value"), rows=tuple(rows))


def rehearsal_chart(result: Rehearsal) -> CurveChart:
    """Describe DPD across each bridge against what was measured directly."""
    direct = [fmean(case.direct_dpd) for case in result.cases]
    curves = [
        Curve(
            label=f"{name}: right in {result.right(name):.1f} of {count(result.n_cases)}",
            points=[(one, case.dpd[name]) for one, case in zip(direct, result.cases, strict=True)],
            style="points",
        )
        for name in result.bridges
    ]
    across = "DPD measured directly, mean of both parts (standard deviations of the difference)"
    axis = axis_between(across, direct)
    same = Curve(
        label="the same", points=[(end, end) for end in (axis.low, axis.high)], style="guide"
    )
    found = [value for curve in (*curves, same) for _, value in curve.points]
    return CurveChart(
        title=f"Bridges against direct measurement, {several(len(result.cases), 'case')}",
        axis=axis,
        up=axis_between("DPD across the bridge", found),
        curves=(*curves, same),
        is_square=True,
    )
