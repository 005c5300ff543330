"""What is told of a model audited against a panel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from comparity.ranking.panel_result import PanelAudit
from comparity.reports.formats import rate, signed, visible
from comparity.reports.grids import Grid
from comparity.reports.sections import Section

__all__ = ["panel_audit_section"]


def panel_audit_section(result: PanelAudit) -> Section:
    """Return what is told of the audit that decides, and what the error of the panel does."""
    shown = result.audit.section()
    return replace(shown, grids=(*shown.grids, *panel_grids(result)))


def panel_grids(result: PanelAudit) -> Iterator[Grid]:
    """Yield what the error of a panel does: pairs in the wrong order, and gaps without it."""
    groups = result.at_face_value.groups
    yield Grid(
        title="Expected share of pairs the panel has in the wrong order",
        header=("put higher", *(f"over {visible(worse)}" for worse in groups)),
        rows=tuple(
            (visible(better), *map(rate, row))
            for better, row in zip(groups, result.reversals.tolist(), strict=True)
        ),
    )
    yield Grid(
        title="The same tests if the panel's scores were the truth",
        header=("hypothesis", "gap", "std. error", "with the panel's error", "bias allowed for"),
        rows=tuple(
            (
                visible(given.null),
                signed(given.gap),
                rate(given.standard_error),
                rate(carried.standard_error),
                rate(allowance),
            )
            for given, carried, allowance in zip(
                result.at_face_value.tests, result.tests, result.allowances, strict=True
            )
        ),
    )
