r"""How much the items of each group are seen in a ranking, and how alike two rankings are.

Readers look at the first places most. What a place is worth falls with its rank :math:`r`, counted
from 1 for the best item:

===================  ===========================  ================================================
name                 worth of rank r              source
===================  ===========================  ================================================
``singh-joachims``   :math:`1/\log_2(r+1)`        Singh and Joachims [1]_; 1 for the first place
``ferrara``          :math:`1/(\log_2(r+1)+1)`    Ferrara et al. [2]_; 1/2 for the first place
===================  ===========================  ================================================

Items with equal scores share what their places are worth, which is the mean over all orders of
them; so the numbers never depend on the order of the rows.

References
----------
.. [1] Singh and Joachims, "Fairness of exposure in rankings", KDD 2018.
.. [2] Ferrara, Bonchi, Fabbri, Karimi and Wagner, "Bias-aware ranking from pairwise comparisons",
   2024, section 5.2. Their figures sort the worst item first; here the best item has rank 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors import EmptyTableError, OptionError, UnknownGroupError
from comparity.errors.spelling import visible
from comparity.ranking.fair_topk import FairTopK
from comparity.ranking.result import Ranking
from comparity.reports.charts import Mark, Row, RowChart, axis_between
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, count, rate, several, signed
from comparity.results.result import Result, frame_of_rows
from comparity.tables.columns import check_option
from comparity.tables.frames import text_of
from comparity.tables.values import as_array, check_lengths, group_codes, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DISCOUNTS = ("singh-joachims", "ferrara")

Floats = NDArray[np.float64]


FORMULAS = {"singh-joachims": "1 / log2(rank + 1)", "ferrara": "1 / (log2(rank + 1) + 1)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupExposure(Result):
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

    DERIVED: ClassVar[Mapping[str, str]] = {
        "largest_gap": "largest_gap",
        "smallest_ratio": "smallest_ratio",
    }

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, sorted."""
        return tuple(self.means)

    def gap(self, first: Any = None, second: Any = None) -> float:
        """Return the mean exposure of one group minus that of another: 0 at parity.

        Parameters
        ----------
        first, second : optional
            The groups, as they were given or as text. Without them, the two groups there are, in
            sorted order.
        """
        one, other = self._pair(first, second)
        return self.means[one] - self.means[other]

    def ratio(self, first: Any = None, second: Any = None) -> float:
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

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        notes = [
            f"{count(number)} {what}"
            for number, what in (
                (self.tied, "tied items share what their places are worth."),
                (self.unranked, "items are not shown; their exposure is 0."),
            )
            if number
        ]
        worth = f"A place is worth {FORMULAS[self.discount]} ({self.discount}), rank 1 is best."
        return Section(
            headline=f"Exposure by group: widest gap {signed(self.largest_gap)}, "
            f"ratio {rate(self.smallest_ratio)}",
            sentences=(worth,),
            grids=(
                Grid(
                    title="Mean exposure",
                    header=("group", "mean exposure", "items"),
                    rows=tuple(
                        (visible(group), f"{mean:.4f}", count(self.n_items[group]))
                        for group, mean in self.means.items()
                    ),
                ),
            ),
            lists={"Notes": notes},
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group, as a frame of the named engine."""
        rows = [
            {"group": group, "exposure": mean, "n_items": self.n_items[group]}
            for group, mean in self.means.items()
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean exposure of each group as a bar."""
        return draw(exposure_chart(self), ax)

    def _pair(self, first: Any, second: Any) -> tuple[str, str]:
        if first is None and second is None and len(self.means) == 2:
            return self.groups[0], self.groups[1]
        if first is None or second is None:
            why = f"there are {len(self.means)} groups"
            raise OptionError("first, second", (first, second), ["the names of two groups"], why)
        # Groups are known by their text, whatever they were: 0 is "0".
        names = text_of(first), text_of(second)
        for group in names:
            if group not in self.means:
                raise UnknownGroupError(group, "sensitive_features", self.groups)
        return names


def exposure(
    ranking: ArrayLike | Ranking | FairTopK,
    *,
    sensitive_features: ArrayLike,
    discount: str = "singh-joachims",
) -> GroupExposure:
    r"""Mean exposure of the items of each group.

    .. math:: \mathrm{exposure}(g) = \frac{1}{|g|} \sum_{i \in g} v(r_i)

    where :math:`r_i` is the rank of item i, 1 for the best, and :math:`v` what a rank is worth.

    Parameters
    ----------
    ranking : array_like of float, Ranking or FairTopK
        The score of each item, larger is better; or the fit of a ranker; or a fair top-k ranking,
        whose items left out have exposure 0. Give ranks as ``-ranks``.
    sensitive_features : array_like
        Group of each item.
    discount : {"singh-joachims", "ferrara"}
        What a rank is worth: :math:`1/\log_2(r+1)` or :math:`1/(\log_2(r+1)+1)`.

    Returns
    -------
    GroupExposure
        Means by group in (0, 1], the gap (0 at parity) and the ratio (1 at parity) of any two
        groups.

    Raises
    ------
    OneGroupError
        If there is only one group.

    Notes
    -----
    A gap says that one group stands higher, not why. Ranked by scores of independent items, two
    groups of 30 and 70 have a gap with a standard deviation near 0.02 (``"singh-joachims"``) by
    chance alone.

    Examples
    --------
    >>> found = exposure([3.0, 2.0, 1.0], sensitive_features=["f", "m", "f"])
    >>> {group: round(mean, 3) for group, mean in found.means.items()}
    {'f': 0.75, 'm': 0.631}
    >>> round(found.gap("f", "m"), 3)
    0.119
    """
    check_option("discount", discount, DISCOUNTS)
    scores, shown = _scores_of(ranking)
    column = as_array(sensitive_features, "sensitive_features")
    check_lengths({"ranking": scores, "sensitive_features": column})
    if not len(scores):
        raise EmptyTableError("item")
    codes, names = group_codes(column, "sensitive_features", "item")
    worth = np.zeros(len(scores))
    worth[shown], tied = shared_worth(scores[shown], discount=discount)
    sizes = np.bincount(codes, minlength=len(names))
    means = np.bincount(codes, worth, len(names)) / sizes
    return GroupExposure(
        means=dict(zip(names, means.tolist(), strict=True)),
        n_items=dict(zip(names, sizes.tolist(), strict=True)),
        discount=discount,
        tied=tied,
        unranked=int((~shown).sum()),
    )


def exposure_chart(exposure: GroupExposure) -> RowChart:
    """Describe the mean exposure of each group."""
    means = exposure.means
    across = f"mean exposure; a place is worth {FORMULAS[exposure.discount]}"
    return RowChart(
        title=f"Mean exposure by group, {several(sum(exposure.n_items.values()), 'item')}",
        axis=axis_between(across, means.values(), from_zero=True),
        rows=tuple(
            Row(
                label=visible(group),
                note=f"n {count(exposure.n_items[group])}",
                marks=(Mark(kind="second", x=means[group], low=0.0, high=means[group]),),
            )
            for group in exposure.groups
        ),
        line=0.0,
    )


def place_worth(ranks: ArrayLike, *, discount: str = "singh-joachims") -> Floats:
    r"""Return what each rank is worth: :math:`1/\log_2(r+1)`, or with 1 added below the line.

    Parameters
    ----------
    ranks : array_like of int
        Ranks, 1 for the best item.
    discount : {"singh-joachims", "ferrara"}
        The formula.

    Examples
    --------
    >>> place_worth([1, 3]).tolist(), place_worth([1, 3], discount="ferrara").round(3).tolist()
    ([1.0, 0.5], [0.5, 0.333])
    """
    check_option("discount", discount, DISCOUNTS)
    below: Floats = np.log2(np.asarray(ranks, dtype=np.float64) + 1)
    return 1 / (below if discount == "singh-joachims" else below + 1)


def shared_worth(scores: Floats, *, discount: str) -> tuple[Floats, int]:
    """Return what the place of each item is worth, and how many items are tied.

    The largest score has rank 1; items with equal scores get the mean worth of their places.

    Examples
    --------
    >>> shared_worth(np.array([1.0, 5.0, 1.0, 0.0]), discount="ferrara")[0].round(3).tolist()
    [0.36, 0.5, 0.36, 0.301]
    """
    _, place, size = np.unique(-scores, return_inverse=True, return_counts=True)
    worth = place_worth(np.arange(1, len(scores) + 1), discount=discount)
    level = np.add.reduceat(worth, np.cumsum(size) - size) / size if len(scores) else worth
    return level[place], int(size[size > 1].sum())


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float:
    r"""Agreement of two orders: Kendall's tau-b, adjusted for ties.

    .. math:: \tau_b = \frac{c - d}{\sqrt{(c + d + t_1)(c + d + t_2)}}

    with c and d the pairs of items that both scores order alike and unlike, and :math:`t_1, t_2`
    those that only the first or only the second ties [1]_. Computed by scipy.

    Parameters
    ----------
    first, second : array_like of float
        Two scores of the same items.

    Returns
    -------
    float
        Between -1 (reversed) and 1 (the same order); ``nan`` where a score is constant or
        there are fewer than two items.

    References
    ----------
    .. [1] Kendall, "The treatment of ties in ranking problems", Biometrika 1945.

    Examples
    --------
    >>> round(kendall_tau([1, 2, 3, 4], [1, 2, 4, 3]), 3)
    0.667
    """
    from scipy.stats import kendalltau

    one = numbers(as_array(first, "first"), "first", "array")
    other = numbers(as_array(second, "second"), "second", "array")
    check_lengths({"first": one, "second": other})
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(kendalltau(one, other).statistic)


def _scores_of(ranking: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Return scores, larger is better, and which items the ranking shows."""
    if isinstance(ranking, FairTopK):
        ranks = ranking.ranks
        return -ranks, np.isfinite(ranks)
    values = ranking.scores if isinstance(ranking, Ranking) else ranking
    scores = numbers(as_array(values, "ranking"), "ranking", "item")
    return scores, np.ones(len(scores), dtype=bool)
