"""Frozen mixtures of rankings: which one to show how often, and what each group gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["RankingPolicy"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankingPolicy:
    """Rankings of the same items, each shown with a probability.

    Attributes
    ----------
    criterion : str
        What was to be alike in all groups.
    slack : float
        Largest difference that was allowed.
    terms : mapping of str to float
        What is compared, by group.
    exposure : mapping of str to float
        Mean exposure of the items of each group.
    utility, best_utility : float
        Expected utility of what is seen, of the policy and of the plain order by relevance.
    rankings : ndarray of int, (m, n)
        Positions of items, best place first, one ranking in each row.
    probabilities : ndarray, (m,)
        How often each is shown.
    matrix : ndarray, (n, n)
        How often item i is at place j.
    """

    criterion: str
    slack: float
    terms: Mapping[str, float]
    exposure: Mapping[str, float]
    utility: float
    best_utility: float
    rankings: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    matrix: NDArray[np.float64]

    @property
    def difference(self) -> float:
        """Largest difference of two groups' terms."""
        return max(self.terms.values()) - min(self.terms.values())

    def draw(self, rng: np.random.Generator | int | None = None) -> NDArray[np.int64]:
        """Draw a ranking: positions of items, best place first."""
        member = np.random.default_rng(rng).choice(len(self.probabilities), p=self.probabilities)
        ranking: NDArray[np.int64] = self.rankings[member]
        return ranking

    def __rich__(self) -> RenderableType:
        from comparity.reporting.terminal import view

        return view(self)

    def __str__(self) -> str:
        from comparity.reporting.terminal import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from comparity.reporting.html import fragment

        return fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the matrix, which follows, as plain data."""
        return {
            "criterion": self.criterion,
            "slack": self.slack,
            "terms": dict(self.terms),
            "difference": self.difference,
            "exposure": dict(self.exposure),
            "utility": self.utility,
            "best_utility": self.best_utility,
            "rankings": self.rankings.tolist(),
            "probabilities": self.probabilities.tolist(),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group, as a frame of the named engine."""
        from comparity.reporting.frames import frame_of_rows

        rows = [
            {"group": group, "exposure": self.exposure[group], "term": term}
            for group, term in self.terms.items()
        ]
        return frame_of_rows(rows, backend)
