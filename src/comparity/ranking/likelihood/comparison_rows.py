"""Comparisons as passes read them, and whether they run in a band.

A band is an order of parameters in which those that have to do with each other stand near.

Where evaluators judge their own batch, or items are compared within their own task, a parameter has
to do with few others, and these with each other. In a fitting order the Hessian is then a band,
plus a border for evaluators who judged items everywhere, and can be factored exactly however many
parameters it has (:mod:`comparity.ranking.likelihood.banded`). Where pairs were drawn from all
items, no order makes a band: from any item everything is a few comparisons away. That shows after a
fraction of a pass, and nothing more is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.sorting import positions_of, sort_by_code
from comparity.ranking.judgments import Judgments

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

LITTLE_WORK, MOST_WORK, NARROW = 1e9, 5e10, 0.1
"""Products that a factor may take: a fourth of a second, or fifteen where the band is narrower than
that part of its length. Wide bands are of comparisons that reach everything, where passes tell
errors as well."""
MOST_NUMBERS = 1e8
"""Numbers in band and border: 800 MB."""
STARTS, HOPS = 3, 4
SORTED = 100_000
"""Comparisons from which on those of an evaluator are in the order of the better items, so that
passes fetch these one after the other: a fourth less time for a million, a third for four."""
TILE = 2**17
"""Items whose scores and sums stay in the cache of a core. Without evaluators, comparisons of so
many better with so many worse items come together: ten million take a sixth less time."""

ALL = slice(None)


class Band(NamedTuple):
    """An order of parameters."""

    place: Longs
    """Where each score and each evaluator's first bias stands; -1 for evaluators who do not."""
    width: int
    """How far apart two parameters are at most that have to do with each other."""
    length: int
    """Parameters in the band."""
    border: int
    """Biases of evaluators in the border."""
    has_biases: bool
    """Whether biases stand there, but for evaluators in the border, or scores alone do."""

    @property
    def across(self) -> int:
        """Numbers for each parameter; a column of the border is kept as it is and solved for."""
        return self.width + 2 * self.border

    @property
    def work(self) -> float:
        """About how many products a factor takes."""
        return float(self.length) * self.across**2


# No slots: what is counted once is kept in the instance.
@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonRows:
    """Comparisons as a pass reads them, in runs of evaluators.

    Attributes
    ----------
    better, worse, evaluator : ndarray of int32
    contrast : ndarray of int8 or float, (comparisons, contrasts)
        Contrasts of the better item minus those of the worse one, or what else an evaluator has a
        parameter for.
    n_items, n_evaluators : int
    seat : ndarray of int8 or None
        1 where the better item was shown first, -1 where second.
    tied : ndarray of bool or None
    own_seats : bool
        Whether the last contrast is the seat, of which each evaluator has an effect; with trusted
        evaluators a difference from theirs, which is that of `seat`.
    cluster : ndarray of int or None
        What comparisons share beside items and evaluators.
    lapses : float or None
        Share of comparisons that are random, where it is known; zero without lapses.
    """

    better: Ints
    worse: Ints
    evaluator: Ints
    contrast: NDArray[Any]
    n_items: int
    n_evaluators: int
    seat: NDArray[np.int8] | None = None
    tied: NDArray[np.bool_] | None = None
    own_seats: bool = False
    cluster: NDArray[np.integer] | None = None
    lapses: float | None = 0.0

    @property
    def n_extra(self) -> int:
        """Parameters that are neither scores nor biases: seat effect, then ties or lapses."""
        return int(self.seat is not None) + int(self.tied is not None) + int(self.lapses is None)

    def columns(self, part: slice = ALL) -> tuple[Any, ...]:
        """Return better and worse item, evaluator and contrasts, as kernels take them."""
        return self.better[part], self.worse[part], self.evaluator[part], self.contrast[part]

    @cached_property
    def leanings(self) -> NDArray[np.int64]:
        """How often each evaluator decided for and against each contrast's group."""
        counts = np.zeros((self.n_evaluators, self.contrast.shape[1], 2), np.int64)
        for place, column in enumerate(self.contrast.T):
            for side, sign in enumerate((1, -1)):
                who = self.evaluator[sign * column > 0]
                counts[:, place, side] = np.bincount(who, minlength=self.n_evaluators)
        return counts

    @cached_property
    def band(self) -> Band | None:
        """An order of parameters in which these comparisons make a narrow band, if there is one."""
        return band_of(self)


def rows_of(
    judgments: Judgments, columns: NDArray[Any], *, seat_by_evaluator: bool
) -> ComparisonRows:
    """Return comparisons sorted by evaluator, with the contrasts of each pair.

    Parameters
    ----------
    judgments : Judgments
    columns : ndarray of int8, (items, contrasts)
    seat_by_evaluator : bool
        Whether the seat is a contrast of each evaluator, instead of one effect for all.
    """
    evaluator = judgments.evaluator
    if evaluator is None:
        evaluator = np.zeros(len(judgments), np.int32)
    better, worse, seat, tied = judgments.better, judgments.worse, judgments.seat, judgments.tied
    cluster = next((one.codes for one in judgments.clusters.values()), None)
    many = len(better) >= SORTED
    if many or (np.diff(evaluator) < 0).any():
        order = positions_of(len(better))
        if many:
            order = sort_by_code(order, better, judgments.n_items)
        if judgments.n_evaluators > 1:
            order = sort_by_code(order, evaluator, judgments.n_evaluators)
        elif judgments.n_items > TILE:
            across = -(-judgments.n_items // TILE)
            order = sort_by_code(order, better // TILE * across + worse // TILE, across**2)
        better, worse, evaluator = better[order], worse[order], evaluator[order]
        seat = None if seat is None else seat[order]
        tied = None if tied is None else tied[order]
        cluster = None if cluster is None else cluster[order]
    contrast = columns[better] - columns[worse]
    own_seats = False
    if seat_by_evaluator and seat is not None:
        contrast, seat, own_seats = np.column_stack([contrast, seat]), None, True
    return ComparisonRows(
        better=better,
        worse=worse,
        evaluator=evaluator,
        contrast=contrast,
        n_items=judgments.n_items,
        n_evaluators=max(1, judgments.n_evaluators),
        seat=seat,
        tied=tied,
        own_seats=own_seats,
        cluster=cluster,
    )


def band_of(rows: ComparisonRows) -> Band | None:
    """Return an order in which these comparisons make a narrow band, if there is one.

    Of scores and biases, or else of scores if all biases were known: answers to a question may be
    compared with each other alone, by evaluators who come across all questions.
    """
    n, c = rows.n_items, rows.contrast.shape[1]
    widest = _widest(n + rows.n_evaluators * c)
    starts = rows.better[np.linspace(0, len(rows.better) - 1, STARTS).astype(np.int64)]
    either = max(widest, _widest(n))
    if not all(_may_be_narrow(rows.better, rows.worse, n, i, either) for i in starts):
        return None
    reach = np.zeros(rows.n_evaluators, np.int64)
    _count_items(rows.better, rows.worse, rows.evaluator, rows.contrast, n, reach)
    near = reach <= widest
    band = _band_with_border(rows, near, widest)
    if band is not None or not c:
        return band
    scores_alone = _narrow_band(rows, rows.contrast[:, :0], near)
    if scores_alone is None:
        return None
    # Evaluators of few items may have found them everywhere.
    spans = _spans(rows, scores_alone.place)
    if (near & (spans > widest)).any():
        band = _band_with_border(rows, near & (spans <= widest), widest)
    return band or (scores_alone if scores_alone.work <= LITTLE_WORK else None)


def _band_with_border(rows: ComparisonRows, near: NDArray[np.bool_], widest: int) -> Band | None:
    """Return a narrow band with a border of evaluators who are not near, if these are few."""
    few = 2 * rows.contrast.shape[1] * (~near).sum() <= widest
    return _narrow_band(rows, rows.contrast, near) if few else None


def _narrow_band(
    rows: ComparisonRows, contrast: NDArray[np.int8], near: NDArray[np.bool_]
) -> Band | None:
    """Return the band of items and evaluators who are near, if it is narrow."""
    n_items, n_contrasts = rows.n_items, contrast.shape[1]
    nodes = _order_nodes(rows, contrast, near)
    steps = np.where(nodes >= n_items, n_contrasts, 1)
    place = np.full(n_items + rows.n_evaluators, -1, np.int64)
    place[nodes] = np.cumsum(steps) - steps
    width, length = _width(rows, contrast, place), int(steps.sum())
    has_biases, border = n_contrasts == rows.contrast.shape[1], n_contrasts * int((~near).sum())
    band = Band(place=place, width=width, length=length, border=border, has_biases=has_biases)
    return band if band.across <= _widest(length) else None


def _widest(length: int) -> int:
    """Return the width that a band of this length may have."""
    narrow = min(NARROW * length, (MOST_WORK / length) ** 0.5)
    width = max((LITTLE_WORK / length) ** 0.5, narrow)
    return int(min(width, MOST_NUMBERS / length))


def _order_nodes(
    rows: ComparisonRows, contrast: NDArray[np.int8], near: NDArray[np.bool_]
) -> Longs:
    """Return items and evaluators who are near in the order of Cuthill and McKee."""
    n_items, n = rows.n_items, rows.n_items + rows.n_evaluators
    judged = contrast.any(axis=1) & near[rows.evaluator]
    who = n_items + rows.evaluator[judged]
    one = np.concatenate([rows.better, rows.better[judged], rows.worse[judged]])
    two = np.concatenate([rows.worse, who, who])
    graph = coo_array((np.ones(len(one), np.int8), (one, two)), shape=(n, n)).tocsr()
    graph.data[:] = 1
    both_ways = (graph + graph.T).tocsr()
    order: Longs = reverse_cuthill_mckee(both_ways, symmetric_mode=True).astype(np.int64)
    kept = order < n_items
    if contrast.shape[1]:
        kept[~kept] = near[order[~kept] - n_items]
    return order[kept]


@njit(cache=True, nogil=True)
def _may_be_narrow(better, worse, n_items, start, widest):  # type: ignore[no-untyped-def]
    """Return whether few items are a few comparisons away from the first one.

    In a band of some width, `h` steps lead to no more than `2 h` times the width.
    """
    hops = np.full(n_items, HOPS + 1, np.int8)
    hops[start], found = 0, 1
    for hop in range(1, HOPS + 1):
        before = found
        for p in range(len(better)):
            one, two = better[p], worse[p]
            if hops[one] < hop and hops[two] > hop:
                hops[two] = hop
                found += 1
            elif hops[two] < hop and hops[one] > hop:
                hops[one] = hop
                found += 1
            if found > 2 * hop * widest + 1:
                return False
        if found == before:
            return True
    return True


@njit(cache=True, nogil=True)
def _count_items(better, worse, evaluator, contrast, n_items, reach):  # type: ignore[no-untyped-def]
    """Count the items that bear on each evaluator's biases, whose comparisons come in one run."""
    seen = np.full(n_items, -1, np.int32)
    for p in range(len(better)):
        if not np.any(contrast[p]):
            continue
        for item in (better[p], worse[p]):
            if seen[item] != evaluator[p]:
                seen[item] = evaluator[p]
                reach[evaluator[p]] += 1


def _places(
    rows: ComparisonRows, contrast: NDArray[np.int8], place: Longs
) -> tuple[Longs, Longs, Longs, NDArray[np.bool_]]:
    """Return where the items and the evaluator of each comparison stand, and if a bias is told."""
    one, two = place[rows.better], place[rows.worse]
    return one, two, place[rows.n_items + rows.evaluator], np.asarray(contrast.any(axis=1))


def _spans(rows: ComparisonRows, place: Longs) -> Longs:
    """Return how far apart the items stand at most that bear on each evaluator's biases."""
    one, two, _, told = _places(rows, rows.contrast, place)
    first = np.full(rows.n_evaluators, rows.n_items, np.int64)
    last = np.zeros(rows.n_evaluators, np.int64)
    np.minimum.at(first, rows.evaluator[told], np.minimum(one, two)[told])
    np.maximum.at(last, rows.evaluator[told], np.maximum(one, two)[told])
    return last - first


def _width(rows: ComparisonRows, contrast: NDArray[np.int8], place: Longs) -> int:
    """Return how far apart two parameters stand at most that have to do with each other."""
    one, two, who, told = _places(rows, contrast, place)
    inside = told & (who >= 0)
    first, last = np.minimum(one, two), np.maximum(one, two)
    # The last of an evaluator's biases is the furthest from what stands before them.
    end = who + max(contrast.shape[1] - 1, 0)
    apart = np.maximum(end - first, last - who)[inside]
    return int(max(contrast.shape[1] - 1, 0, (last - first).max(), apart.max(initial=0)))
