"""A model against the bias-adjusted panel, from files or frames: what ``rank --score`` judges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparity.ranking.options import RankForm
from comparity.ranking.panel import PanelAudit
from comparity.ranking.rank import RankedPanel, rank_files, rank_table
from comparity.results.options import column
from comparity.tables.layouts import to_comparisons


@dataclass(frozen=True, kw_only=True)
class PanelForm(RankForm):
    """The choices of a ranking, with a score to audit."""

    sensitive: tuple[str, ...] = column("Column with the group.")
    score: str = column("Column of the items with a model's score.")


def audit_files(comparisons: str | Path, items: str | Path, **choices: Any) -> PanelAudit:
    """Audit a model's score against a panel in files; `choices` are those of :class:`PanelForm`."""
    PanelForm(**choices)
    return _audit_of(rank_files(comparisons, items, **choices))


def audit_frames(comparisons: Any, items: Any, **choices: Any) -> PanelAudit:
    """Audit a model's score against a panel in frames of any engine."""
    form = PanelForm(**choices)
    read = to_comparisons(comparisons, **form.layout_of_comparisons())
    return _audit_of(rank_table(read, items, form))


def _audit_of(panel: RankedPanel) -> PanelAudit:
    assert panel.audit is not None, "a score was named"
    return panel.audit
