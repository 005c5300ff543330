"""How pairs of an order count in cells: all of them alike, or every query once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.training.pair_order import PairOrder
from comparity.training.pair_sums import smooth_sums

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class FamilyPart(Protocol):
    """Some pairs of a family; what they add up to is added to that of the others."""

    @property
    def n_rows(self) -> int:
        """Number of rows that scores are needed for."""

    @property
    def has_turned(self) -> bool:
        """Whether the lower item of some pairs is the better one."""

    def add_sums(self, scores: Floats, per_pair: list[Floats], found: Floats, **how: Any) -> Floats:
        """Add hits and losses to `found`, (3, C); return the gradient.

        A pair of a cell weighs what `per_pair` says in the gradient, for wrong and right orders.
        """

    def add_smoothed(self, scores: Floats, per_pair: Floats, found: Floats, width: float) -> Floats:
        """Add smoothed hits to `found`, (C,); return the gradient."""

    def reach(self, per_pair: Floats) -> Floats:
        """Return what all pairs of each row weigh together."""


class WeighedOrder(NamedTuple):
    """An order, and the sign with which its pairs count.

    Attributes
    ----------
    order : PairOrder
    straight, turned : float
        Where the upper item is the better one, and where the lower one is.
    """

    order: PairOrder
    straight: float = 1.0
    turned: float = 1.0


class CellPart(NamedTuple):
    """An order, and which of its pairs belong to which cell.

    `upper` and `lower` are the groups of the order that make up each cell in `cell`; where it is
    `turned`, the lower item is the better one. No cell occurs twice, and no two groups do unless
    one of both is turned. Pairs count with a sign.
    """

    order: PairOrder
    cell: Codes
    upper: Codes
    lower: Codes
    turned: NDArray[np.bool_]
    sign: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows that scores are needed for."""
        return self.order.n_rows

    @property
    def has_turned(self) -> bool:
        """Whether the lower item of some pairs is the better one."""
        return bool(self.turned.any())

    def add_sums(self, scores: Floats, per_pair: list[Floats], found: Floats, **how: Any) -> Floats:
        """Add hits and losses; see :class:`FamilyPart`."""
        # A right order of the two items is a wrong one where the lower item is the better.
        weights, at = np.zeros((2, *self.order.trials.shape)), (self.upper, self.lower)
        for place, one in enumerate(per_pair):
            kind = np.where(self.turned, 1 - place, place)
            weights[kind, *at] += self.sign * one[self.cell]
        sums, gradient = self.order.sums(scores, wrong=weights[0], right=weights[1], **how)
        losses, hits = sums[:2, *at], sums[2:, *at]
        for row, (straight, turned) in enumerate((hits, losses, losses[::-1])):
            found[row, self.cell] += self.sign * np.where(self.turned, turned, straight)
        return gradient

    def add_smoothed(self, scores: Floats, per_pair: Floats, found: Floats, width: float) -> Floats:
        """Add smoothed hits; see :class:`FamilyPart`."""
        weights, at = np.zeros(self.order.trials.shape), (self.upper, self.lower)
        np.add.at(weights, at, self.sign * np.where(self.turned, -1.0, 1.0) * per_pair[self.cell])
        sums, gradient = smooth_sums(self.order, scores, width=width, weights=weights)
        # One order of two items is as much in place as the other is out of it.
        in_place = np.where(self.turned, self.order.trials[at] - sums[at], sums[at])
        found[self.cell] += self.sign * in_place
        return gradient

    def reach(self, per_pair: Floats) -> Floats:
        """Return what all pairs of each row weigh together."""
        each = np.zeros_like(self.order.trials)
        np.add.at(each, (self.upper, self.lower), self.sign * per_pair[self.cell])
        return self.order.reach(each)


class QueryPart(NamedTuple):
    """An order whose segments are queries, each of which counts once in a cell.

    Attributes
    ----------
    order : PairOrder
    member : ndarray, (C, K * K)
        1 where pairs of two groups, of the better and of the worse item, are in a cell.
    inverse : ndarray, (Q, C)
        One over the weight of all pairs of a query in a cell; 0 without pairs.
    sign : float
        With which pairs count.
    """

    order: PairOrder
    member: Floats
    inverse: Floats
    sign: float

    @property
    def n_rows(self) -> int:
        """Number of rows that scores are needed for."""
        return self.order.n_rows

    @property
    def has_turned(self) -> bool:
        """Whether the lower item of some pairs is the better one: the upper one always is."""
        return False

    def _each(self, per_pair: Floats) -> Floats:
        """Return what a pair weighs by query and groups."""
        found = self.sign * (self.inverse * per_pair) @ self.member
        return np.asarray(found.reshape(-1, *self.order.trials.shape))

    def _means(self, sums: Floats) -> Floats:
        """Return sums over queries of the share in each cell, from sums by query and groups."""
        flat = sums.reshape(*sums.shape[:-2], -1) @ self.member.T
        return np.asarray(self.sign * np.einsum("q...c,qc->...c", flat, self.inverse))

    def add_sums(self, scores: Floats, per_pair: list[Floats], found: Floats, **how: Any) -> Floats:
        """Add hits and losses; see :class:`FamilyPart`."""
        wrong, right = map(self._each, per_pair)
        sums, gradient = self.order.sums(scores, wrong=wrong, right=right, **how)
        losses, hits = self._means(sums[:, :2]), self._means(sums[:, 2])
        found += [hits, *losses]
        return gradient

    def add_smoothed(self, scores: Floats, per_pair: Floats, found: Floats, width: float) -> Floats:
        """Add smoothed hits; see :class:`FamilyPart`."""
        weights = self._each(per_pair)
        sums, gradient = smooth_sums(self.order, scores, width=width, weights=weights)
        found += self._means(sums)
        return gradient

    def reach(self, per_pair: Floats) -> Floats:
        """Return what all pairs of each row weigh together."""
        return self.order.reach(self._each(per_pair))


def query_parts(orders: Sequence[WeighedOrder], k: int) -> tuple[Floats, tuple[QueryPart, ...]]:
    """Return in how many queries each cell has pairs, and the parts of means over queries.

    Parameters
    ----------
    orders : sequence of WeighedOrder
        Whose segments are queries, and the same in all.
    k : int
        Number of groups. Cells are those of two groups, then those of one group of the better item,
        then all.
    """
    better = np.repeat(np.arange(k), k)
    rows = [better == one for one in range(k)]
    member = np.vstack([np.eye(k * k), *rows, np.ones(k * k)]).astype(np.float64)
    by_query = [one.straight * one.order.segment_trials for one in orders]
    weight = np.sum(by_query, axis=0).reshape(-1, k * k) @ member.T
    inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
    parts = [QueryPart(one.order, member, inverse, one.straight) for one in orders]
    return (inverse > 0).sum(axis=0).astype(np.float64), tuple(
        one for one in parts if len(one.order.rows)
    )
