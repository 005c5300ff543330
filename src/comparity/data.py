"""One way from a table to every question: ``comparity.read(...)``, then the name of the command."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from comparity.comparative.options import ComparativeForm
from comparity.impact.options import ImpactForm
from comparity.metrics.options import MetricsForm
from comparity.pairwise.options import PairwiseForm, ParityForm
from comparity.ranking.options import RankForm
from comparity.relative.options import RatersForm, RelativeForm
from comparity.results.dropped import gaps_of, with_dropped
from comparity.results.options import Options
from comparity.separation.options import SeparationForm
from comparity.tables.files import complete_tables, read_table

if TYPE_CHECKING:
    from comparity.impact.result import ImpactRatios
    from comparity.metrics.result import Scorecard
    from comparity.pairwise.result import PairwiseAccuracy
    from comparity.ranking.rank import RankedPanel
    from comparity.relative.result import DifferentialParity
    from comparity.results.audit import Audit
    from comparity.tables.typing import Frame

__all__ = ["Data", "read"]


def read(
    table: str | os.PathLike[str] | Frame,
    *,
    items: str | os.PathLike[str] | Frame | None = None,
    drop_missing: bool = False,
) -> Data:
    """Open a file, or a frame of any engine, and ask it questions by the names of the commands.

    Parameters
    ----------
    table : path or frame
        CSV, TSV, Parquet, JSON lines or a workbook, or a frame of pandas, Polars, PyArrow, DuckDB
        or Spark: one row for each decision, or for each comparison.
    items : path or frame, optional
        One row for each item, beside comparisons.
    drop_missing : bool
        Whether rows that lack a value in a column that is read are dropped. They are counted in
        the result, and the page says so. Without it they are an error.

    Returns
    -------
    Data
        With a method for each question; their choices are the options of the command.

    Examples
    --------
    >>> import polars
    >>> rows = [(g, y, p) for g in "fm" for y in (0, 1) for p in [y] * 320 + [1 - y] * 80]
    >>> frame = polars.DataFrame(rows, schema=["sex", "hired", "model"], orient="row")
    >>> read(frame).separation(label="hired", prediction="model", sensitive="sex").finding
    'within the margin'
    """
    return Data(table=table, items=items, drop_missing=drop_missing)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Data:
    """A table, or comparisons and their items, that can be asked every question.

    Attributes
    ----------
    table, items : path or frame
    drop_missing : bool
    """

    table: Any
    items: Any = None
    drop_missing: bool = False

    def __repr__(self) -> str:
        """Return what it is in one line."""
        tables = [one for one in (self.table, self.items) if one is not None]
        named = [os.fspath(one) if _is_path(one) else type(one).__name__ for one in tables]
        return f"<Data: {' and '.join(named)}>"

    def separation(self, **choices: Any) -> Audit:
        """Test equal error rates, as ``comparity separation`` does."""
        audit: Audit = self._ask("separation.audit", "audit_file", SeparationForm, choices)
        return audit

    def impact(self, **choices: Any) -> ImpactRatios:
        """Work out impact ratios, as ``comparity impact`` does."""
        found: ImpactRatios = self._ask("impact.audit", "audit_file", ImpactForm, choices)
        return found

    def comparative(self, **choices: Any) -> Audit:
        """Test equal agreement with judges, as ``comparity comparative`` does."""
        audit: Audit = self._ask("comparative.audit", "audit_files", ComparativeForm, choices)
        return audit

    def pairwise(self, **choices: Any) -> PairwiseAccuracy:
        """Test whether a score orders pairs equally well, as ``comparity pairwise`` does."""
        found: PairwiseAccuracy = self._ask("pairwise.audit", "audit_file", PairwiseForm, choices)
        return found

    def parity(self, **choices: Any) -> Audit:
        """Test statistical parity of a score, as ``comparity pairwise --parity`` does."""
        audit: Audit = self._ask("pairwise.parity", "audit_parity_file", ParityForm, choices)
        return audit

    def relative(self, **choices: Any) -> DifferentialParity:
        """Compare two decision makers, as ``comparity relative`` does; several with ``raters``."""
        found: DifferentialParity
        if "raters" in choices:
            found = self._ask("relative.raters", "audit_rater_file", RatersForm, choices)
        else:
            found = self._ask("relative.audit", "audit_file", RelativeForm, choices)
        return found

    def metrics(self, **choices: Any) -> Scorecard:
        """Work out thirty metrics, as ``comparity metrics`` does."""
        card: Scorecard = self._ask("metrics.audit", "metrics_file", MetricsForm, choices)
        return card

    def rank(self, **choices: Any) -> RankedPanel:
        """Rank items and find who leans, as ``comparity rank`` does."""
        panel: RankedPanel = self._ask("ranking.rank", "rank_files", RankForm, choices)
        return panel

    def _ask(
        self, module: str, function: str, form: type[Options], choices: Mapping[str, Any]
    ) -> Any:
        """Call the function for files, or the one for frames where a table is one."""
        tables = {"table": self.table, "items": self.items}
        tables = {role: one for role, one in tables.items() if one is not None}
        gaps = gaps_of(form, choices) if self.drop_missing else None
        if gaps is not None:
            tables = complete_tables(gaps, tables)
        home = import_module(f"comparity.{module}")
        ask: Callable[..., Any] = getattr(home, function)
        if not all(map(_is_path, tables.values())):
            ask = getattr(home, FRAME_FORMS.get(function, function.replace("file", "frame")))
            tables = {role: read_table(t) if _is_path(t) else t for role, t in tables.items()}
        found = ask(*tables.values(), **choices)
        return with_dropped(found, gaps.found) if gaps is not None and gaps.found else found


FRAME_FORMS = {"rank_files": "rank_layout"}
"""Functions for frames that are not called as those for files are."""


def _is_path(table: Any) -> bool:
    return isinstance(table, str | os.PathLike)
