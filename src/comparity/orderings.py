"""Frozen answers about one ranking: who is seen, and the order after a group was put forward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError, UnknownGroupError
from comparity.showing import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FairTopK", "GroupExposure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupExposure(Shown):
    """Mean exposure of the items of each group in one ranking.

    Attributes
    ----------
    means : mapping of str to float
        Mean exposure by group, groups in sorted order.
    n_items : mapping of str to int
        Items by group.
    discount : str
        What a rank is worth: ``"singh-joachims"`` or ``"ferrara"``.
    tied : int
        Items that share their score with another one; they share what their places are worth.
    unranked : int
        Items that the ranking does not show; their exposure is 0.
    """

    means: Mapping[str, float]
    n_items: Mapping[str, int]
    discount: str
    tied: int = 0
    unranked: int = 0

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, sorted."""
        return tuple(self.means)

    def gap(self, first: str | None = None, second: str | None = None) -> float:
        """Return the mean exposure of one group minus that of another: 0 at parity.

        Parameters
        ----------
        first, second : str, optional
            The groups. Without them, the two groups there are, in sorted order.
        """
        one, other = self._pair(first, second)
        return self.means[one] - self.means[other]

    def ratio(self, first: str | None = None, second: str | None = None) -> float:
        """Return the mean exposure of one group over that of another: 1 at parity.

        ``nan`` where the second group is not shown at all.
        """
        one, other = self._pair(first, second)
        return self.means[one] / self.means[other] if self.means[other] > 0 else math.nan

    @property
    def largest_gap(self) -> float:
        """Largest mean exposure of a group minus the smallest: 0 at parity, never negative."""
        return max(self.means.values()) - min(self.means.values())

    @property
    def smallest_ratio(self) -> float:
        """Smallest mean exposure of a group over the largest: 1 at parity, never above 1."""
        return min(self.means.values()) / max(self.means.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the exposures as plain data."""
        return {
            "means": dict(self.means),
            "n_items": dict(self.n_items),
            "discount": self.discount,
            "largest_gap": self.largest_gap,
            "smallest_ratio": self.smallest_ratio,
            "tied": self.tied,
            "unranked": self.unranked,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group, as a frame of the named engine."""
        from comparity.reporting.frames import frame_of_rows

        rows = [
            {"group": group, "exposure": mean, "n_items": self.n_items[group]}
            for group, mean in self.means.items()
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean exposure of each group as a bar."""
        from comparity.reporting.orderings import plot_exposure

        return plot_exposure(self, ax)

    def _pair(self, first: str | None, second: str | None) -> tuple[str, str]:
        if first is None and second is None and len(self.means) == 2:
            return self.groups[0], self.groups[1]
        if first is None or second is None:
            why = f"there are {len(self.means)} groups"
            raise OptionError("first, second", (first, second), ["the names of two groups"], why)
        for group in (first, second):
            if group not in self.means:
                raise UnknownGroupError(group, "sensitive_features", self.groups)
        return first, second


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FairTopK(Shown):
    """The best k items, with enough of a protected group in every prefix.

    Attributes
    ----------
    ranking : ndarray of int, (k,)
        Positions of the chosen items in the input, best first.
    protected : ndarray of bool, (k,)
        Whether each of them is of the protected group.
    group : str
        The protected group.
    table : ndarray of int, (k,)
        How many protected items the first 1, 2, ..., k places must hold at least.
    p : float
        Share of protected items that a prefix is tested against.
    alpha : float
        The false-alarm rate asked for.
    adjusted_alpha : float
        The level of each of the k tests; 0 where no requirement at all keeps `alpha`.
    failure_probability : float
        How often a ranking whose places are filled by independent draws with share `p` breaks
        the table, exactly.
    correction : str
        ``"at most"``, ``"closest"`` or ``"none"``.
    passed : bool
        Whether the k best items by score met the table as they were.
    failed_at : int or None
        The first place, counted from 1, at which they did not.
    satisfied : bool
        Whether the new ranking meets the table; false only where the protected group is too small.
    n_items : int
        Items to choose from.
    """

    ranking: NDArray[np.int64]
    protected: NDArray[np.bool_]
    group: str
    table: NDArray[np.int64]
    p: float
    alpha: float
    adjusted_alpha: float
    failure_probability: float
    correction: str
    passed: bool
    failed_at: int | None
    satisfied: bool
    n_items: int

    @property
    def k(self) -> int:
        """Number of places."""
        return len(self.ranking)

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Rank of every item of the input, 1 for the best; ``nan`` for those left out."""
        ranks = np.full(self.n_items, np.nan)
        ranks[self.ranking] = np.arange(1, self.k + 1)
        return ranks

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "ranking": self.ranking.tolist(),
            "protected": self.protected.tolist(),
            "group": self.group,
            "table": self.table.tolist(),
            "k": self.k,
            "p": self.p,
            "alpha": self.alpha,
            "adjusted_alpha": self.adjusted_alpha,
            "failure_probability": self.failure_probability,
            "correction": self.correction,
            "passed": self.passed,
            "failed_at": self.failed_at,
            "satisfied": self.satisfied,
            "n_items": self.n_items,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each place, as a frame of the named engine."""
        from comparity.reporting.frames import frame_of_rows

        held = np.cumsum(self.protected).tolist()
        rows = [
            {"rank": place + 1, "item": item, "protected": flag, "held": held[place], "needed": m}
            for place, (item, flag, m) in enumerate(
                zip(
                    self.ranking.tolist(), self.protected.tolist(), self.table.tolist(), strict=True
                )
            )
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many protected items the first places hold, and how many they must."""
        from comparity.reporting.orderings import plot_places

        return plot_places(self, ax)
