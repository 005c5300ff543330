"""Scores moved after training: to one distribution, or to even accuracies across two groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from comparity.counts.all_pairs import cell_counts
from comparity.counts.query_pairs import query_counts
from comparity.errors import EmptyCellError, OptionError, UnknownGroupError
from comparity.tables.columns import check_option
from comparity.tables.features import LabelledItems
from comparity.tables.frames import text_of
from comparity.tables.values import group_codes
from comparity.training.feature_checks import check_columns, group_positions, items_of_two_groups

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HistogramMatching:
    """How scores of each group are moved to one distribution.

    Attributes
    ----------
    groups : tuple of str
        The groups, sorted.
    shares : mapping of str to float
        What the distribution of each group counts in the common one; they sum to 1.
    """

    groups: tuple[str, ...]
    shares: Mapping[str, float]
    _sorted: tuple[Floats, ...]

    def transform(self, scores: ArrayLike, *, sensitive_features: ArrayLike) -> Floats:
        """Return the matched scores, of the rows fitted to or of new ones.

        The order within a group stays; equal scores stay equal. A new score outside the range of
        its group is moved as the nearest score of the group.

        Parameters
        ----------
        scores : array-like
            Finite scores.
        sensitive_features : array-like
            Group of each row; every group must be known.
        """
        values, codes = group_positions(scores, sensitive_features, self.groups)
        matched = np.empty(len(values))
        for code, known in enumerate(self._sorted):
            rows = np.flatnonzero(codes == code)
            # In order, np.interp finds each place beside the last (9x at 10**6 rows, 20 groups).
            rows = rows[np.argsort(values[rows])]
            level, first, many = np.unique(known, return_index=True, return_counts=True)
            quantile = np.interp(values[rows], level, (first + many / 2) / len(known))
            matched[rows] = sum(
                self.shares[name] * np.interp(quantile, _middles(len(other)), other)
                for name, other in zip(self.groups, self._sorted, strict=True)
            )
        return matched

    def to_dict(self) -> dict[str, Any]:
        """Return the groups, their shares and their scores as plain data."""
        scores = dict(zip(self.groups, (one.tolist() for one in self._sorted), strict=True))
        return {"groups": list(self.groups), "shares": dict(self.shares), "scores": scores}


def match_histograms(
    scores: ArrayLike, *, sensitive_features: ArrayLike, target: Any = None
) -> HistogramMatching:
    r"""Find how to give every group the same distribution of scores.

    With :math:`F_g` the distribution of scores in group g, :math:`Q_g` its quantiles and
    :math:`p_g` the group's share of rows, a score s of group g becomes

    .. math:: \sum_h p_h Q_h(F_g(s))

    the common distribution that takes the least squared change of scores [1]_. Scores that are
    distributed alike have pairwise statistical parity: an item of one group is as often above one
    of another as below [2]_. The order within a group does not change.

    Parameters
    ----------
    scores : array-like
        Finite scores.
    sensitive_features : array-like
        Group of each row.
    target : optional
        A group whose distribution all others get, in place of the common one.

    Returns
    -------
    HistogramMatching
        Its ``transform(scores, sensitive_features=)`` gives the matched scores.

    Notes
    -----
    Where many scores of a group are equal they stay equal, and distributions are alike only as far
    as that allows: break ties at random before where that matters.

    References
    ----------
    .. [1] Chzhen, Denis, Hebiri, Oneto and Pontil, "Fair regression with Wasserstein barycenters",
       2020.
    .. [2] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       section on regression.

    Examples
    --------
    >>> scores, group = [1.0, 2.0, 3.0, 11.0, 12.0, 13.0], list("aaabbb")
    >>> matching = match_histograms(scores, sensitive_features=group)
    >>> matching.transform(scores, sensitive_features=group).tolist()
    [6.0, 7.0, 8.0, 6.0, 7.0, 8.0]
    """
    values, column = check_columns(scores, sensitive_features)
    codes, names = group_codes(column, "sensitive_features", "array")
    ordered = tuple(np.sort(values[codes == code]) for code in range(len(names)))
    if target is None:
        shares = {name: len(one) / len(values) for name, one in zip(names, ordered, strict=True)}
    elif text_of(target) not in names:
        raise UnknownGroupError(text_of(target), "sensitive_features", names)
    else:
        shares = {name: float(name == text_of(target)) for name in names}
    return HistogramMatching(groups=tuple(names), shares=shares, _sorted=ordered)


def _middles(n: int) -> Floats:
    """Return the quantile that each of n sorted scores stands for."""
    return (np.arange(n) + 0.5) / n


SLOPES = tuple(np.round(np.geomspace(0.1, 5.0, 24), 4).tolist())
"""Slopes tried by default."""

OTHERS = ("transformed", "unchanged")
"""What the moved scores are compared with."""
SATURATED = 40.0
"""From here on the logistic function is 1, or nearly 0."""
HALVINGS = 50
"""After so many the interval of a shift is narrower than the spacing of doubles, or nearly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOfTwoGroups:
    """What was found for the scores of two groups, on the rows fitted to.

    Attributes
    ----------
    groups : tuple of str
        The two groups, sorted.
    accuracy, difference : float
        Share of pairs ordered, or of decisions made, rightly, and the largest difference of the
        rates that were to be alike, without its sign.
    accuracy_before, difference_before : float
        The same of the scores as they were.
    """

    groups: tuple[str, ...]
    accuracy: float
    difference: float
    accuracy_before: float
    difference_before: float


class TransformOfTwoGroups(FitOfTwoGroups, ABC):
    """How the scores of two groups are moved against each other."""

    __slots__ = ()

    def transform(self, scores: ArrayLike, *, sensitive_features: ArrayLike) -> Floats:
        """Return the moved scores.

        Parameters
        ----------
        scores : array-like
            Finite scores.
        sensitive_features : array-like
            Group of each row, one of the two.
        """
        return self.move(*group_positions(scores, sensitive_features, self.groups))

    @abstractmethod
    def move(self, values: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return moved scores of rows whose groups are known by position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneTransform(TransformOfTwoGroups):
    r"""What is done to the scores of one of two groups: :math:`\alpha z + \beta`.

    Where the others stay unchanged, the logistic function is applied to that.

    Attributes
    ----------
    adjusted : str
        The group whose scores are moved.
    slope, shift : float
        :math:`\alpha` and :math:`\beta`.
    others : {"transformed", "unchanged"}
        Whether the other group's scores go through the logistic function, too.
    """

    adjusted: str
    slope: float
    shift: float
    others: str

    def move(self, values: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return the scores, moved in the adjusted group; others are as they were."""
        moved = codes == self.groups.index(self.adjusted)
        return _move(values, moved, self.slope, self.shift, self.others)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def monotone_transform(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    sensitive_features: ArrayLike,
    queries: ArrayLike | None = None,
    adjusted: Any = None,
    slopes: Sequence[float] = SLOPES,
    shifts: Sequence[float] | None = None,
    others: str = "transformed",
    slack: float = 0.0,
) -> MonotoneTransform:
    r"""Fit a monotone transform of one group's scores that evens out accuracies across two groups.

    .. math::

        \min_{\alpha, \beta} |A_{0 > 1} - A_{1 > 0}|, \qquad z \to \alpha z + \beta

    in the adjusted group [1]_, [2]_. The order within each group stays, so that only pairs across
    groups change, and the logistic function of both sides would change nothing. For a given slope
    the difference falls or rises steadily with the shift, which
    is found by halving; or it is chosen from a list, as in the experiments of [2]_.

    Parameters
    ----------
    y : array-like
        Labels as numbers; larger is better.
    scores : array-like
        Scores of any model.
    sensitive_features : array-like
        Group of each row: two groups.
    queries : array-like, optional
        Compare only rows of the same query.
    adjusted : optional
        The group to move; by default the one whose better items are ordered rightly less often.
    slopes : sequence of float
        Slopes to try, from 0 on. ``numpy.arange(0, 5.05, 0.05)`` in [2]_.
    shifts : sequence of float, optional
        Shifts to try; by default the best for each slope. ``(-1, -2, -5, -10)`` in [2]_.
    others : {"transformed", "unchanged"}
        Whether the other group's scores go through the logistic function, too, so that z' is
        compared with :math:`\alpha z + \beta`; or stay as they are, and are compared with the
        logistic function of that: the form of [1]_, where scores are probabilities. Unbounded
        scores should not be left unchanged: the moved ones are all between 0 and 1.
    slack : float
        Of all transforms with a difference up to this the most accurate is taken; if there is
        none, the one with the least difference, and of those the most accurate.

    Returns
    -------
    MonotoneTransform
        Its ``transform(scores, sensitive_features=)`` moves scores.

    Raises
    ------
    TwoGroupsOnlyError
        There are more than two groups.
    EmptyCellError
        There are no pairs across groups in one of the directions.

    References
    ----------
    .. [1] Kallus and Zhou, "The fairness of risk scores beyond classification: bipartite ranking
       and the xAUC metric", NeurIPS 2019.
    .. [2] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       AAAI 2020, appendix.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, group = rng.integers(0, 2, 500), rng.integers(0, 2, 500)
    >>> fit = monotone_transform(y, y + rng.normal(size=500) + group, sensitive_features=group)
    >>> fit.adjusted, fit.difference_before > 0.2, fit.difference < 0.001
    ('0', True, True)
    """
    check_option("others", others, OTHERS)
    _check_numbers("slopes", slopes, low=0.0)
    _check_numbers("slack", [slack], low=0.0)
    if shifts is not None:
        _check_numbers("shifts", shifts)
    what = "a monotone transform"
    items = items_of_two_groups(y, scores, sensitive_features, queries=queries, what=what)
    before = cross_group_rates(items, items.score)
    moved = _group_to_move(items, adjusted, before[1])
    tried, of_group = [], items.group == moved
    for slope in slopes:
        for shift in _shifts(items, moved, slope, others) if shifts is None else shifts:
            overall, gap = cross_group_rates(
                items, _move(items.score, of_group, slope, shift, others)
            )
            tried.append((abs(gap), overall, float(slope), float(shift)))
    best = min(tried, key=lambda one: (one[0] if one[0] > slack else 0.0, -one[1]))
    return MonotoneTransform(
        groups=items.groups,
        adjusted=items.groups[moved],
        slope=best[2],
        shift=best[3],
        others=others,
        accuracy=best[1],
        difference=best[0],
        accuracy_before=before[0],
        difference_before=abs(before[1]),
    )


def _check_numbers(name: str, found: Sequence[float], *, low: float = -np.inf) -> None:
    """Refuse an empty list, and numbers that are not finite or too small."""
    values = np.asarray(found, dtype=object).tolist()
    numeric = all(isinstance(one, int | float | np.number) for one in values)
    if not values or not numeric or not all(np.isfinite(values)) or min(values) < low:
        wanted = "finite numbers" if low == -np.inf else f"finite numbers from {low:g} on"
        raise OptionError(name, values[0] if len(values) == 1 else values, [wanted])


def _group_to_move(items: LabelledItems, asked: Any, gap: float) -> int:
    """Return which group to move: by default the one whose better items are below too often."""
    if asked is None:
        return 0 if gap < 0 else 1
    if text_of(asked) not in items.groups:
        raise UnknownGroupError(text_of(asked), "sensitive_features", items.groups)
    return items.groups.index(text_of(asked))


def _move(
    scores: Floats, moved: NDArray[np.bool_], slope: float, shift: float, others: str
) -> Floats:
    own = slope * scores + shift
    return np.asarray(np.where(moved, own if others == "transformed" else expit(own), scores))


def cross_group_rates(items: LabelledItems, scores: Floats) -> tuple[float, float]:
    """Return the accuracy over all pairs, and A(0 > 1) minus A(1 > 0)."""
    if items.query is None:
        trials, hits, _ = cell_counts(items.label, scores, items.group, 2)
    else:
        trials, hits, _ = query_counts(items.label, scores, items.group, 2, items.query)
    lacking = [f"{items.groups[i]}>{items.groups[1 - i]}" for i in (0, 1) if not trials[i, 1 - i]]
    if lacking:
        raise EmptyCellError("cross-group", lacking, "given")
    gap = hits[0, 1] / trials[0, 1] - hits[1, 0] / trials[1, 0]
    return float(hits.sum() / trials.sum()), float(gap)


def _shifts(items: LabelledItems, group: int, slope: float, others: str) -> tuple[float, float]:
    """Return two neighbouring shifts between which the difference changes its sign."""
    of_group = items.group == group
    own, other = slope * items.score[of_group], items.score[~of_group]
    if others == "unchanged":
        other = np.array([-SATURATED, SATURATED])
    low, high = float(other.min() - own.max()) - 1.0, float(other.max() - own.min()) + 1.0
    # At the lowest shift the group never wins; the difference is the other group's minus its own.
    sign = 1.0 if group == 1 else -1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if (
            sign * cross_group_rates(items, _move(items.score, of_group, slope, middle, others))[1]
            > 0
        ):
            low = middle
        else:
            high = middle
    return low, high
