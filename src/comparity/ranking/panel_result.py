"""A panel's ranking beside what it would be without regard to evaluators' biases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors.spelling import visible
from comparity.inference.gap_tests import plain
from comparity.pairwise.result import PanelAudit
from comparity.ranking.result import Ranking
from comparity.reports.formats import rate, signed
from comparity.reports.grids import Grid
from comparity.results.result import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "RankedPanel",
    "panel_grids",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedPanel(Shown):
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

    ranking: Ranking
    before: Ranking | None = None
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    audit: PanelAudit | None = None

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

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking as plain data, with groups and their mean scores."""
        content = self.ranking.to_dict()
        return {
            **content,
            "ranking": [{**row, **self._about(row["position"])} for row in content["ranking"]],
            "mean_scores": self.mean_scores(),
            "audit": None if self.audit is None else self.audit.to_dict(),
        }

    def _about(self, item: int) -> dict[str, Any]:
        """Return the groups of an item, and its score with every evaluator at their word."""
        groups = {name: str(column[item]) for name, column in self.groups.items()}
        before = None if self.before is None else plain(self.before.scores[item])
        return {"groups": groups, "score_before": before}

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
