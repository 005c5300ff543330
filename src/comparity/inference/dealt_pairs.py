"""Judged pairs among whose items groups are permuted, and what becomes of their gaps.

The statistic is explained in :mod:`comparity.inference.item_permutation`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from comparity.counts.pairs import Cell
from comparity.inference.pivots import NOTHING

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Sides = tuple[Sequence[Cell], Sequence[Cell]]

AT_ONCE = 2**16
"""Items times permutations that are worked out together: some arrays of so many fit a cache."""

DENSE_SHARE = 0.05
"""Tables with a larger share of filled places are held as arrays: products are faster."""


class Part(NamedTuple):
    """Cells whose pairs are pooled into one rate, and the coefficient of that rate in a gap."""

    coefficient: float
    cells: tuple[Cell, ...]


def compare_means(sides: Sides) -> tuple[Part, ...]:
    """Return the gap between the means of the cells' rates on two sides.

    Examples
    --------
    >>> compare_means([[Cell("a", "a"), Cell("b", "b")], [Cell("a", "b")]])[0]
    Part(coefficient=0.5, cells=(Cell(better='a', worse='a'),))
    """
    return tuple(
        Part(sign / len(side), (cell,))
        for sign, side in zip((1, -1), sides, strict=True)
        for cell in side
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DealtPairs:
    """Judged pairs of items, and what can be permuted among these.

    Attributes
    ----------
    better, worse : ndarray of int
        Positions of the two items, from 0 on.
    outcome : ndarray of float
        1 where the model agrees, 0 where not, one half for a tie that counts so.
    trials : ndarray of float
        How often the pair was judged so.
    group : ndarray of int
        Position of each item's group in `groups`.
    weight : ndarray of float
        What each item weighs; it goes where the membership goes.
    stratum : ndarray of int
        Items of one stratum change places with each other.
    groups : tuple of str
    """

    better: Codes
    worse: Codes
    outcome: Floats
    trials: Floats
    group: Codes
    weight: Floats
    stratum: Codes
    groups: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.group)

    @property
    def is_separate(self) -> bool:
        """Whether items met items of their own group alone, so that no pair could change cells."""
        return bool((self.group[self.better] == self.group[self.worse]).all())

    def table(self, amount: Floats) -> Any:
        """Return sums by better item (in rows) and worse item."""
        n = len(self)
        table = csr_array((self.trials * amount, (self.better, self.worse)), shape=(n, n))
        return table.toarray() if table.nnz > DENSE_SHARE * n * n else table

    def in_order(self) -> DealtPairs:
        """Return the same with items in an order that does not depend on the one they came in."""
        hits = self.trials * self.outcome
        traits = [self._sums_by_item(one, 2 * one) for one in (self.trials, hits)]
        # Items alike in their judgments are told apart by those of the items they met.
        traits += [self._sums_by_item(hits * one[self.worse], one[self.better]) for one in traits]
        order = np.lexsort((*traits, self.weight, self.stratum, self.group))
        place = np.argsort(order)
        return replace(
            self,
            better=place[self.better],
            worse=place[self.worse],
            group=self.group[order],
            weight=self.weight[order],
            stratum=self.stratum[order],
        )

    def _sums_by_item(self, of_better: Floats, of_worse: Floats) -> Floats:
        sums = np.bincount(self.better, of_better, len(self))
        return np.round(sums + np.bincount(self.worse, of_worse, len(self)), 6)

    def skewness(self) -> float:
        """Return the skewness of the items' sums of residuals, whatever their groups."""
        rate = np.average(self.outcome, weights=self.trials)
        residual = self.trials * (self.outcome - rate)
        sums: Floats = np.bincount(self.better, residual, len(self)).astype(np.float64)
        sums += np.bincount(self.worse, residual, len(self))
        means = np.bincount(self.stratum, sums) / np.maximum(np.bincount(self.stratum), 1)
        sums -= means[self.stratum]
        variance = float((sums**2).mean())
        return float((sums**3).mean()) / variance**1.5 if variance > NOTHING else 0.0

    def deal(self, draws: int, rng: np.random.Generator) -> Codes:
        """Return from which item every item gets its membership; draws beside each other."""
        source = np.empty((len(self), draws), dtype=np.int64)
        for stratum in np.unique(self.stratum):
            rows = np.flatnonzero(self.stratum == stratum)
            source[rows] = rng.permuted(np.repeat(rows[:, None], draws, axis=1), axis=0)
        return source


class _Tables:
    """Sums of trials, hits and squared outcomes by two items, ready to be multiplied.

    Where trials depend on the strata of both items alone, as they do of all pairs that labels
    imply, dealing within strata changes no product with them, which are worked out once.
    """

    def __init__(self, pairs: DealtPairs) -> None:
        outcome = pairs.outcome
        self.pairs = pairs
        self.alike = bool((pairs.weight == 1).all())
        self.certain = bool(np.isin(outcome, (0.0, 1.0)).all())
        self.trials, self.hits = (
            pairs.table(amount) for amount in (np.ones_like(outcome), outcome)
        )
        # Outcomes of zero and one are their squares.
        self.squares = self.hits if self.certain else pairs.table(outcome**2)
        self.fixed = self._trials_are_fixed()

    def _trials_are_fixed(self) -> bool:
        stratum, trials = self.pairs.stratum, self.trials
        if not isinstance(trials, np.ndarray):
            return False
        _, first, place = np.unique(stratum, return_index=True, return_inverse=True)
        return bool((trials == trials[np.ix_(first[place], first[place])]).all())

    def sums(self, table: Any, member: list[Floats]) -> list[Floats]:
        """Return the sums over members of each group, for every item."""
        if not self.alike:
            return [table @ one for one in member]
        # Members weigh one each: what the last group has is what the others leave.
        found = [table @ one for one in member[:-1]]
        total: Floats = np.asarray(table.sum(axis=1)).reshape(-1, 1)
        return [*found, reduce(np.subtract, found, total)]

    def trial_sums(self, table: Any, member: list[Floats], power: int = 1) -> list[Floats]:
        """Return the same of trials, which may be the same in all dealings."""
        if not self.fixed:
            return self.sums(table, member)
        group, weight = self.pairs.group, self.pairs.weight**power
        held = [(weight * (group == code))[:, None] for code in range(len(member))]
        return self.sums(table, held)


class _Dealt:
    """Counts by cell and by item, for many ways to deal out membership."""

    def __init__(self, tables: _Tables, source: Codes) -> None:
        pairs = tables.pairs
        member = pairs.group[source]
        self.code = {group: code for code, group in enumerate(pairs.groups)}
        self.member = [(member == code).astype(np.float64) for code in range(len(pairs.groups))]
        if not tables.alike:
            weight = pairs.weight[source]
            self.member = [weight * one for one in self.member]
        self.as_better, self.as_worse = (
            list(
                zip(
                    tables.trial_sums(trials, self.member),
                    tables.sums(hits, self.member),
                    strict=True,
                )
            )
            for trials, hits in ((tables.trials, tables.hits), (tables.trials.T, tables.hits.T))
        )
        # Of a residual's square each item's weight counts squared.
        self.squared = self.member if tables.alike else [one**2 for one in self.member]
        own = self.as_better
        if not tables.alike:
            trials = tables.trial_sums(tables.trials, self.squared, power=2)
            own = list(zip(trials, tables.sums(tables.hits, self.squared), strict=True))
        squares = [one[1] for one in own]
        if not tables.certain:
            squares = tables.sums(tables.squares, self.squared)
        self.own = [(*one, square) for one, square in zip(own, squares, strict=True)]

    def statistics(self, parts: Sequence[Part]) -> tuple[Floats, Floats]:
        """Return the gap of every dealing, and its variance where there is no gap."""
        n, hits = (
            np.array([sum(self._sum(cell, of) for cell in one.cells) for one in parts])
            for of in range(2)
        )
        coefficient = np.array([one.coefficient for one in parts])
        with np.errstate(divide="ignore", invalid="ignore"):
            # Dealings that leave a part empty have no gap, and count as extreme ones.
            gap = coefficient @ (hits / n)
            share = coefficient[:, None] / n
            rates = hits / n - gap * share / (share * coefficient[:, None]).sum(axis=0)
            rates = np.clip(rates, 0.0, 1.0)
            sums: Floats = np.zeros(self.member[0].shape)
            own = np.zeros(self.member[0].shape[1])
            for cell in dict.fromkeys(cell for one in parts for cell in one.cells):
                held = [place for place, one in enumerate(parts) if cell in one.cells]
                # A hit adds this much to the gap, and every judgment takes that away.
                gain, cost = share[held].sum(axis=0), (share * rates)[held].sum(axis=0)
                self._add_residuals(sums, cell, gain, cost)
                own += self._own(cell, gain, cost)
            return gap, np.maximum(_products(sums, sums) - own, own)

    def _sum(self, cell: Cell, of: int) -> Floats:
        """Return the trials or the hits of one cell."""
        better, worse = self.code[cell.better], self.code[cell.worse]
        return _products(self.member[better], self.as_better[worse][of])

    def _add_residuals(self, sums: Floats, cell: Cell, gain: Floats, cost: Floats) -> None:
        """Add the sum of the residuals of each item in one cell."""
        better, worse = self.code[cell.better], self.code[cell.worse]
        for one, of in ((better, self.as_better[worse]), (worse, self.as_worse[better])):
            part = gain * of[1] - cost * of[0]
            part *= self.member[one]
            sums += part

    def _own(self, cell: Cell, gain: Floats, cost: Floats) -> Floats:
        """Return the sum of the squares of the residuals of all judgments in one cell."""
        own = self.squared[self.code[cell.better]]
        trials, hits, squares = (_products(own, one) for one in self.own[self.code[cell.worse]])
        return gain**2 * squares - 2 * gain * cost * hits + cost**2 * trials


class _DealtMeans:
    """Mean outcomes of items that met items of their own group alone, dealt out in many ways."""

    def __init__(self, pairs: DealtPairs, source: Codes) -> None:
        weight, n = pairs.weight, len(pairs)
        met = pairs.trials * weight[pairs.worse], pairs.trials * weight[pairs.better]
        ends = list(zip((pairs.better, pairs.worse), met, strict=True))
        held = np.sum([np.bincount(item, one, n) for item, one in ends], axis=0)
        hits = np.sum([np.bincount(item, one * pairs.outcome, n) for item, one in ends], axis=0)
        self.value: Floats = np.divide(hits, held, out=np.zeros(n), where=held > 0)[:, None]
        # How often an item met others of its group, beside how often items of the group did.
        usual = np.bincount(pairs.group, held) / np.maximum(np.bincount(pairs.group), 1)
        use = np.divide(held, usual[pairs.group], out=np.zeros(n), where=held > 0)
        self.worth: Floats = weight[source] * use[:, None]
        self.member = pairs.group[source]
        self.code = {group: code for code, group in enumerate(pairs.groups)}

    def statistics(self, parts: Sequence[Part]) -> tuple[Floats, Floats]:
        """Return the gap between two groups in every dealing, and its variance."""
        gap, variance = np.zeros((2, self.member.shape[1]))
        for coefficient, (cell, *_) in parts:
            worth = self.worth * (self.member == self.code[cell.better])
            share = worth / np.maximum(worth.sum(axis=0), NOTHING)
            mean = (share * self.value).sum(axis=0)
            gap += coefficient * mean
            variance += coefficient**2 * (share**2 * (self.value - mean) ** 2).sum(axis=0)
        return gap, variance


def _products(one: Floats, two: Floats) -> Floats:
    """Return the sum of products over items; a single column stands for all dealings."""
    if two.shape[1] < one.shape[1]:
        return np.asarray(two[:, 0] @ one)
    return np.asarray(np.einsum("ij,ij->j", one, two))


def permute(pairs: DealtPairs, gaps: Sequence[Sequence[Part]], draws: int) -> tuple[Floats, Floats]:
    """Return the sizes of statistics of dealt out data, by gap, and the standard errors.

    Standard errors are those of the data where there is no gap. The same data get the same
    dealings, in whatever order items come; other data get others, since one set of dealings for all
    would be a little too strict or too lax for all.
    """
    pairs = pairs.in_order()
    deal: Callable[[Codes], _Dealt | _DealtMeans]
    deal = partial(_DealtMeans, pairs) if pairs.is_separate else partial(_Dealt, _Tables(pairs))
    seen = deal(np.arange(len(pairs))[:, None])
    errors = np.array([np.sqrt(seen.statistics(one)[1][0]) for one in gaps])
    if pairs.is_separate:
        # Both items of a pair are of the group: its rate varies twice as much as a mean of items.
        errors *= 2
    rng = np.random.default_rng(zlib.crc32(np.bincount(pairs.better, pairs.outcome).tobytes()))
    part, found = max(1, AT_ONCE // max(len(pairs), 1)), []
    for start in range(0, draws, part):
        dealt = deal(pairs.deal(min(part, draws - start), rng))
        found.append(np.array([_sizes(*dealt.statistics(one)) for one in gaps]))
    return np.concatenate(found, axis=1), errors


def _sizes(gap: Floats, variance: Floats) -> Floats:
    sizes = np.abs(gap) / np.sqrt(np.maximum(variance, NOTHING))
    sizes = np.where((variance < NOTHING) & (np.abs(gap) < NOTHING), 0.0, sizes)
    found: Floats = np.where(np.isnan(sizes), np.inf, sizes)
    return found
