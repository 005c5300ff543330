"""Bridges between different subjects for terminal, page and notebook."""

from __future__ import annotations

import math
from dataclasses import replace

from comparity.bridges import BridgeDiagnosis, BridgedParity
from comparity.reporting import relative
from comparity.reporting.formats import count, p_value, percent, rate, signed, visible
from comparity.reporting.grids import Grid
from comparity.reporting.sections import Section

__all__ = ["section"]


def section(result: BridgedParity) -> Section:
    """Return what is shown of a bridge: the comparison, and how good the bridge is."""
    shown = relative.section(result)
    sentences = shown.sentences
    if not result.diagnosis.carries:
        # The usual sentence speaks of too few data; here it is the bridge that does not hold.
        foremost, _, *others = sentences
        refused = "The bridge does not carry a finding; the notes say why."
        sentences = (refused, foremost, *others)
    return replace(shown, sentences=sentences, grids=(*shown.grids, _diagnosis(result.diagnosis)))


def _diagnosis(found: BridgeDiagnosis) -> Grid:
    rows = [
        ("variance of the first's decisions explained", percent(found.explained)),
        ("error against the first, the second", " , ".join(map(rate, found.errors))),
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
