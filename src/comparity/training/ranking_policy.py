r"""Frozen mixtures of rankings, and the best mixture of two under one linear limit.

With two groups an exposure program has a single limit, :math:`|f^\top e| \le \epsilon` on the
expected exposures e of the items. For a price :math:`\lambda` of the limit the best ranking puts
items in the order of :math:`u - \lambda f`, and :math:`f^\top e` falls as the price rises. So the
program is solved by the price at which it falls to the limit: the rankings just below and just
above that price, mixed such that the limit is met. That takes some 50 sorts instead of a linear
program with :math:`n^2` unknowns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.errors.spelling import visible
from comparity.reports.formats import count
from comparity.reports.sections import Grid, Section
from comparity.results.result import Result

if TYPE_CHECKING:
    pass

__all__ = [
    "RankingPolicy",
    "best_mixture",
    "least_difference",
    "section",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankingPolicy(Result):
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

    DERIVED: ClassVar[Mapping[str, str]] = {"difference": "difference"}

    @property
    def difference(self) -> float:
        """Largest difference of two groups' terms."""
        return max(self.terms.values()) - min(self.terms.values())

    def draw(self, rng: np.random.Generator | int | None = None) -> NDArray[np.int64]:
        """Draw a ranking: positions of items, best place first."""
        member = np.random.default_rng(rng).choice(len(self.probabilities), p=self.probabilities)
        ranking: NDArray[np.int64] = self.rankings[member]
        return ranking

    def section(self) -> Section:
        """Return what is told of this answer."""
        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group, as a frame of the named engine."""
        from comparity.reports.frames import frame_of_rows

        rows = [
            {"group": group, "exposure": self.exposure[group], "term": term}
            for group, term in self.terms.items()
        ]
        return frame_of_rows(rows, backend)


# So many rankings and places are shown; all are in to_dict().
RANKINGS, PLACES = 8, 12


def section(result: RankingPolicy) -> Section:
    """Return what is shown of a mixture of rankings."""
    many = count(len(result.probabilities))
    kept = 100 * result.utility / result.best_utility if result.best_utility else 100.0
    groups = tuple(
        (visible(group), f"{result.exposure[group]:.4f}", f"{term:.4f}")
        for group, term in result.terms.items()
    )
    shown = [
        (f"{share:.4f}", ", ".join(str(item) for item in ranking[:PLACES].tolist()))
        for share, ranking in zip(result.probabilities, result.rankings, strict=True)
    ]
    return Section(
        headline=f"A mixture of {many} rankings: {result.criterion}",
        sentences=(
            f"Expected utility {result.utility:.4f}, {kept:.1f} % of the order by relevance.",
            f"Largest difference between groups {result.difference:.4g}, "
            f"allowed {result.slack:.4g}; {count(result.rankings.shape[1])} items.",
        ),
        grids=(
            Grid(title="Groups", header=("group", "mean exposure", "compared"), rows=groups),
            Grid(
                title="Rankings, by row of the items from 0",
                header=("probability", "best first"),
                rows=tuple(shown[:RANKINGS]),
            ),
        ),
    )


Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


ROUNDING = 1e-12
"""Sums of products that are as near as this, relative to the largest there is, are equal."""


def least_difference(factor: Floats, worth: Floats) -> float:
    """Return the least size of ``factor @ exposure`` that a mixture of rankings can have.

    Parameters
    ----------
    factor : ndarray, (n,)
        What exposure of an item adds to the difference.
    worth : ndarray, (n,)
        What a place is worth, the first one most.
    """
    ordered = np.sort(factor)
    return max(float(ordered @ worth), -float(ordered[::-1] @ worth), 0.0)


def best_mixture(
    utility: Floats, factor: Floats, worth: Floats, slack: float
) -> tuple[Codes, Floats] | None:
    """Return one or two rankings of largest utility, and how often each is to be drawn.

    Parameters
    ----------
    utility, factor : ndarray, (n,)
        What exposure of an item is worth, and what it adds to the difference.
    worth : ndarray, (n,)
        What a place is worth, the first one most.
    slack : float
        Largest size of the expected difference.

    Returns
    -------
    rankings : ndarray of int, (m, n)
        Items by place, the more frequent ranking first.
    probabilities : ndarray, (m,)
        Or None where no mixture keeps within the slack.
    """
    rounding = ROUNDING * float(np.abs(factor).max(initial=0.0) * worth.sum())
    limit = slack + rounding
    if least_difference(factor, worth) > limit:
        return None
    free = np.argsort(-utility, kind="stable")
    difference = float(factor[free] @ worth)
    if abs(difference) <= limit:
        return free[None, :], np.ones(1)
    # Turned such that the difference is too large, and a positive price lowers it.
    turned = math.copysign(1.0, difference) * factor
    above, below = _around(utility, turned, worth, limit)
    high, low = float(turned[above] @ worth), float(turned[below] @ worth)
    share = min(max((limit - low) / (high - low), 0.0), 1.0)
    shares = np.array([share, 1 - share])
    kept = np.argsort(-shares, kind="stable")[: 1 if share in (0.0, 1.0) else 2]
    return np.stack([above, below])[kept], shares[kept]


def _around(utility: Floats, factor: Floats, worth: Floats, limit: float) -> tuple[Codes, Codes]:
    """Return the best rankings just below and just above the price that meets the limit.

    Prices are angles between 0, where the utility decides and ties go to a large difference, and a
    right angle, where the difference decides and ties go to utility.
    """
    u, f = (values / np.abs(values).max() for values in (_nonzero(utility), factor))
    low, high = 0.0, math.pi / 2
    above, below = np.lexsort((-factor, -utility)), np.lexsort((-utility, factor))
    while low < (angle := (low + high) / 2) < high:
        order = np.argsort(math.sin(angle) * f - math.cos(angle) * u, kind="stable")
        if factor[order] @ worth > limit:
            low, above = angle, order
        else:
            high, below = angle, order
    return above, below


def _nonzero(values: Floats) -> Floats:
    return values if values.any() else np.ones_like(values)
