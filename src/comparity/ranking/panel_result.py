"""A panel's ranking beside what it would be without regard to evaluators' biases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.pairwise.result import PairwiseAccuracy
from comparity.ranking.result import Ranking
from comparity.results.audit import Audit, JudgedResult
from comparity.results.plain import INLINE
from comparity.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

__all__ = ["PanelAudit", "RankedPanel"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PanelAudit(JudgedResult):
    """An audit of all pairs against a panel's scores, whose error is carried into every test.

    Attributes
    ----------
    audit : Audit
        The audit that decides.
    at_face_value : PairwiseAccuracy
        The same if the panel's scores were the truth: the matrix, and audits without their error.
    reversals : ndarray, (K, K)
        Share of pairs expected to be the other way round in truth, by the groups of the item the
        panel puts higher and of the other one.
    shift_errors : mapping of str to float
        Standard error of the level of each group in the panel's scores.
    allowances : tuple of float
        How far the errors of single items may have moved each gap.
    draws, seed : int
        How often errors were drawn to see that, and from which seed.
    """

    audit: Audit = field(metadata=INLINE)
    at_face_value: PairwiseAccuracy
    reversals: NDArray[np.float64]
    shift_errors: Mapping[str, float]
    allowances: tuple[float, ...]
    draws: int
    seed: int

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.ranking.panel_section import panel_audit_section

        return panel_audit_section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each test, as a frame of the named engine."""
        return self.audit.to_frame(backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every gap with the interval it was judged by and the margin."""
        return self.audit.plot(ax)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedPanel(Result):
    """Items ranked from a panel's comparisons.

    Attributes
    ----------
    ranking : Ranking
        The ranking asked for.
    before : Ranking or None
        The Bradley-Terry ranking of the same comparisons with the same prior of scores, which
        takes every evaluator at their word, where the ranking asked for does not.
    groups : mapping of str to ndarray
        Group of each item, by attribute.
    audit : PanelAudit or None
        Of a model's scores against the ranking, where one was asked for.
    """

    ranking: Ranking = field(metadata={**INLINE, "kind": "fit"})
    before: Ranking | None = None
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    audit: PanelAudit | None = None

    DERIVED: ClassVar[Mapping[str, str]] = {"ranking": "rows", "mean_scores": "mean_scores"}

    @property
    def exit_status(self) -> int:
        """What a command that made this returns to the shell; a ranking alone judges nothing."""
        return 0 if self.audit is None else self.audit.exit_status

    def mean_scores(self) -> list[dict[str, Any]]:
        """Return the number and the mean score of the items of each group, before and after."""
        rows = []
        for attribute, groups in self.groups.items():
            for group in sorted({str(name) for name in groups.tolist()}):
                inside = np.array([str(name) == group for name in groups.tolist()])
                before = None if self.before is None else float(self.before.scores[inside].mean())
                rows.append(
                    {
                        "attribute": attribute,
                        "group": group,
                        "items": int(inside.sum()),
                        "before": before,
                        "after": float(self.ranking.scores[inside].mean()),
                    }
                )
        return rows

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each item, best first, with its groups."""
        return [{**row, **self._about(row["position"])} for row in self.ranking.rows()]

    def _about(self, item: int) -> dict[str, Any]:
        """Return the groups of an item, and its score with every evaluator at their word."""
        groups = {name: str(column[item]) for name, column in self.groups.items()}
        before = None if self.before is None else float(self.before.scores[item])
        return {"groups": groups, "score_before": before}

    def parts(self) -> dict[str, Result]:
        """Return the audit of a model against this panel, where one was asked for."""
        return {} if self.audit is None else {"a model against this panel": self.audit}

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.ranking.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each item, best first."""
        return self.ranking.to_frame(backend)

    def with_provenance(self, **facts: Any) -> RankedPanel:
        """Return the same with more facts about the data."""
        known = {**self.ranking.provenance, **facts}
        return replace(self, ranking=replace(self.ranking, provenance=known))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the evaluators' biases, or the scores where the model has no biases."""
        return self.ranking.plot(ax)

    def plot_scores(self, attribute: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the scores of each group, before and after."""
        from comparity.ranking.plots import plot_scores

        return plot_scores(self, attribute, ax=ax)
