r"""Kernel that counts pairs within queries, with the second moments of their sums.

In a small query every two items are compared, group by group, so that the processor can compare
several at once; in a large one labels are merged in the order of score. For each query let
:math:`a` hold its trials by cell, then its hits; the kernel adds :math:`a a^T`. Defined by the
loops in ``tests/plain/query_pairs.py``.

It adds to two arrays. `sums`, one row for each cell: trials, hits, score ties (no hits), the same
three with squared weights of pairs, and the sum over items of the squared weight of their pairs.
`products`, for every two cells: trials by trials, hits by trials, trials by hits, hits by hits; two
cells of a query are met in one of their two orders, the other one is left to :func:`moments`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

__all__ = [
    "count_queries",
    "empty_sums",
    "is_sorted",
    "moments",
    "offsets_of",
]

N_SUMS = 7
SQUARES, USES = 3, 6

# Places in the sums over one query for every two of its groups: first with the weights of pairs,
# then with these squared.
TRIALS, HITS, TIES, USED, N_LOCAL = 0, 2, 4, 6, 7


def empty_sums(n_cells: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums and products over no query."""
    return np.zeros((n_cells, N_SUMS)), np.zeros((n_cells, n_cells, 4))


def moments(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over queries of products of trials and hits by cell, trials first."""
    diagonal = np.arange(len(products))
    once = products.copy()
    once[diagonal, diagonal] /= 2
    one, two, three, four = np.moveaxis(once, 2, 0)
    cross = three + two.T
    return np.block([[one + one.T, cross], [cross.T, four + four.T]])


@njit(cache=True, nogil=True)
def is_sorted(query):  # type: ignore[no-untyped-def]
    """Say whether no value is smaller than the one before it."""
    n_falls = 0
    for row in range(1, len(query)):
        n_falls += query[row] < query[row - 1]
    return n_falls == 0


@njit(cache=True, nogil=True)
def offsets_of(query):  # type: ignore[no-untyped-def]
    """Return where each query starts, and where the last one ends; rows of one lie together."""
    n_queries = len(query) > 0
    for row in range(1, len(query)):
        n_queries += query[row] != query[row - 1]
    offsets = np.zeros(n_queries + 1, dtype=np.int64)
    place = 1
    for row in range(1, len(query)):
        # Overwritten until the query changes, because a jump would be hard to foresee.
        offsets[place] = row
        place += query[row] != query[row - 1]
    offsets[n_queries] = len(query)
    return offsets


@njit(cache=True, nogil=True)
def count_queries(  # type: ignore[no-untyped-def]
    y, f, group, weight, offsets, small, first, last, n_groups, unit, tie, sums, products
):
    """Add the queries `first` to `last`; return how many of them hold a pair.

    Items of queries with more than `small` are in the order of label, then of score. Where every
    query counts alike, `unit` has a number for each cell, and all pairs of a query in cells of one
    number weigh one together; otherwise it is empty. Without `products` none are added.
    """
    longest = np.diff(offsets).max() if len(offsets) > 1 else 0
    rank_of = np.full(n_groups, -1, dtype=np.int64)
    local, code = np.empty((N_LOCAL, n_groups, n_groups)), np.empty(n_groups, dtype=np.int64)
    bounds = np.empty(max(longest, n_groups) + 1, dtype=np.int64)
    label, one, two = np.empty(longest), _new_rows(longest), _new_rows(longest)
    cell, amounts = np.empty(n_groups**2, dtype=np.int64), np.empty(2 * n_groups**2)
    together = np.zeros(len(unit))
    n_queries = 0
    for query in range(first, last):
        start, end = offsets[query], offsets[query + 1]
        if end - start < 2:
            continue
        n_present = _local_groups(group[start:end], rank_of, code, two)
        local[:, :n_present, :n_present] = 0.0
        if end - start <= small:
            _gather(y[start:end], f[start:end], weight[start:end], two[1], label, one, bounds)
            _compare_all(label, one, bounds, n_present, local)
        else:
            for place in range(end - start):
                one[0][place], one[1][place] = f[start + place], two[1][place]
                one[2][place] = weight[start + place]
            n_runs = _runs(y[start:end], bounds)
            _count_trials(one, bounds, n_runs, n_present, local)
            _merge_all(one, two, bounds, n_runs, n_present, local)
        n_touched = _collect(
            n_present, n_groups, unit, tie, code, local, cell, amounts, together, sums
        )
        n_queries += n_touched > 0
        if len(products):
            _add_products(cell, amounts, n_touched, products)
    return n_queries


@njit(cache=True, nogil=True)
def _gather(y, f, weight, rank, label, rows, bounds):  # type: ignore[no-untyped-def]
    """Bring the items of each group together; fill where groups begin, and the end of the last."""
    n_present = 0
    for place in range(len(y)):
        n_present = max(n_present, rank[place] + 1)
    bounds[: n_present + 1] = 0
    for place in range(len(y)):
        bounds[rank[place]] += 1
    for number in range(1, n_present + 1):
        bounds[number] += bounds[number - 1]
    for place in range(len(y) - 1, -1, -1):
        # Each bound falls from the end of its group to the beginning.
        bounds[rank[place]] -= 1
        to = bounds[rank[place]]
        label[to], rows[0][to], rows[1][to] = y[place], f[place], rank[place]
        rows[2][to] = weight[place]


@njit(cache=True, nogil=True)
def _compare_all(label, rows, bounds, n_present, local):  # type: ignore[no-untyped-def]
    """Add trials, hits, score ties and uses of items, group by group."""
    score, rank, weight = rows
    for b in range(n_present):
        start, end = bounds[b], bounds[b + 1]
        labels, scores, weights = label[start:end], score[start:end], weight[start:end]
        for i in range(bounds[n_present]):
            a, w = rank[i], weight[i]
            once, squared, worse = _compare(label[i], score[i], labels, scores, weights)
            for part in range(3):
                local[2 * part, a, b] += w * once[part]
                local[2 * part + 1, a, b] += w * w * squared[part]
            _add_uses(a, b, w * once[0], w * worse, local)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _compare(y, f, label, score, weight):  # type: ignore[no-untyped-def]
    """Sum up what is below an item: all, its hits and its score ties; and what is above it.

    Sums may be taken in any order, so that several items are compared at once.
    """
    trials = hits = ties = worse = trial_squares = hit_squares = tie_squares = 0.0
    for j in range(len(label)):
        w = weight[j]
        below = w if label[j] < y else 0.0
        hit = below if score[j] < f else 0.0
        tied = below if score[j] == f else 0.0
        worse += w if label[j] > y else 0.0
        trials += below
        hits += hit
        ties += tied
        trial_squares += below * below
        hit_squares += hit * hit
        tie_squares += tied * tied
    return (trials, hits, ties), (trial_squares, hit_squares, tie_squares), worse


@njit(cache=True, nogil=True, inline="always")
def _add_uses(a, b, better, worse, local):  # type: ignore[no-untyped-def]
    """Add the squared weight of an item's pairs with a group to the cells they are in."""
    if a == b:
        # Within a group an item may be better in one pair and worse in the next.
        local[USED, a, a] += (better + worse) ** 2
    else:
        local[USED, a, b] += better**2
        local[USED, b, a] += worse**2


@njit(cache=True, nogil=True)
def _new_rows(n):  # type: ignore[no-untyped-def]
    return np.empty(n), np.empty(n, dtype=np.int64), np.empty(n)


@njit(cache=True, nogil=True)
def _local_groups(group, rank_of, code, one):  # type: ignore[no-untyped-def]
    """Give numbers to the groups of one query."""
    n_present = 0
    for place in range(len(group)):
        name = np.int64(group[place])
        if rank_of[name] < 0:
            rank_of[name] = n_present
            code[n_present] = name
            n_present += 1
        one[1][place] = rank_of[name]
    for place in range(n_present):
        rank_of[code[place]] = -1
    return n_present


@njit(cache=True, nogil=True)
def _runs(label, bounds):  # type: ignore[no-untyped-def]
    """Fill where labels change; return how many different ones there are."""
    n_runs = 0
    for place in range(len(label)):
        if place == 0 or label[place] != label[place - 1]:
            bounds[n_runs] = place
            n_runs += 1
    bounds[n_runs] = len(label)
    return n_runs


@njit(cache=True, nogil=True)
def _count_trials(rows, bounds, n_runs, n_present, local):  # type: ignore[no-untyped-def]
    """Add the trials of all items as the better one, and the uses of items in each cell."""
    _, rank, weight = rows
    passed, here, above = np.zeros((2, n_present)), np.empty((2, n_present)), np.zeros(n_present)
    for place in range(bounds[n_runs]):
        above[rank[place]] += weight[place]
    for run in range(n_runs):
        here[:] = 0.0
        for place in range(bounds[run], bounds[run + 1]):
            here[0, rank[place]] += weight[place]
            here[1, rank[place]] += weight[place] ** 2
        above -= here[0]
        for place in range(bounds[run], bounds[run + 1]):
            a, w = rank[place], weight[place]
            for b in range(n_present):
                local[TRIALS, a, b] += w * passed[0, b]
                local[TRIALS + 1, a, b] += w * w * passed[1, b]
                _add_uses(a, b, w * passed[0, b], w * above[b], local)
        passed += here


@njit(cache=True, nogil=True)
def _merge_all(one, two, bounds, n_runs, n_present, local):  # type: ignore[no-untyped-def]
    """Merge runs of equal labels two by two in the order of score, counting hits and ties."""
    before, level = np.empty((2, n_present)), np.zeros((2, n_present))
    while n_runs > 1:
        for run in range(0, n_runs - 1, 2):
            before[:] = 0.0
            edges = bounds[run], bounds[run + 1], bounds[run + 2]
            _merge(one, two, edges, before, level, local)
        if n_runs % 2:
            for place in range(bounds[n_runs - 1], bounds[n_runs]):
                _move(one, place, two, place)
        half = (n_runs + 1) // 2
        for run in range(half):
            bounds[run] = bounds[2 * run]
        bounds[half] = bounds[n_runs]
        n_runs = half
        one, two = two, one


@njit(cache=True, nogil=True)
def _merge(one, two, edges, before, level, local):  # type: ignore[no-untyped-def]
    """Merge one run with the next, whose labels are larger."""
    start, middle, end = edges
    low, high, place = start, middle, start
    scores, rank, weight = one
    while place < end:
        if low < middle and (high >= end or scores[low] < scores[high]):
            _pass(one, low, before)
            _move(one, low, two, place)
            low += 1
            place += 1
            continue
        value, tied = scores[high], low
        while tied < middle and scores[tied] == value:
            _pass(one, tied, level)
            tied += 1
        while high < end and scores[high] == value:
            _beat(rank[high], weight[high], before, local, HITS)
            if tied > low:
                _beat(rank[high], weight[high], level, local, TIES)
            _move(one, high, two, place)
            high += 1
            place += 1
        for source in range(low, tied):
            _pass(one, source, before)
            _move(one, source, two, place)
            place += 1
        if tied > low:
            level[:] = 0.0
        low = tied


@njit(cache=True, nogil=True, inline="always")
def _pass(rows, place, sums):  # type: ignore[no-untyped-def]
    sums[0, rows[1][place]] += rows[2][place]
    sums[1, rows[1][place]] += rows[2][place] ** 2


@njit(cache=True, nogil=True, inline="always")
def _beat(a, weight, worse, local, place):  # type: ignore[no-untyped-def]
    for b in range(worse.shape[1]):
        local[place, a, b] += weight * worse[0, b]
        local[place + 1, a, b] += weight * weight * worse[1, b]


@njit(cache=True, nogil=True, inline="always")
def _move(one, source, two, place):  # type: ignore[no-untyped-def]
    two[0][place] = one[0][source]
    two[1][place] = one[1][source]
    two[2][place] = one[2][source]


@njit(cache=True, nogil=True)
def _collect(n_present, n_groups, unit, tie, code, local, cell, amounts, together, sums):  # type: ignore[no-untyped-def]
    """Add the sums of one query; return how many cells it touches."""
    n_touched = 0
    together[:] = 0.0
    for a in range(n_present if len(unit) else 0):
        for b in range(n_present):
            together[unit[code[a] * n_groups + code[b]]] += local[TRIALS, a, b]
    for a in range(n_present):
        for b in range(n_present):
            if local[TRIALS, a, b] == 0:
                continue
            place = code[a] * n_groups + code[b]
            here = local[:, a, b]
            trials, hits, ties = here[TRIALS], here[HITS], here[TIES]
            share = 1.0 / together[unit[place]] if len(unit) else 1.0
            cell[n_touched] = place
            amounts[n_touched] = trials * share
            amounts[len(cell) + n_touched] = (hits + tie * ties) * share
            _add_sums(place, trials, hits, ties, share, sums, 0)
            squares = here[TRIALS + 1], here[HITS + 1], here[TIES + 1]
            _add_sums(place, squares[0], squares[1], squares[2], share**2, sums, SQUARES)
            sums[place, USES] += here[USED] * share**2
            n_touched += 1
    return n_touched


@njit(cache=True, nogil=True, inline="always")
def _add_sums(cell, trials, hits, ties, weight, sums, place):  # type: ignore[no-untyped-def]
    """Add trials, hits and score ties of one query and cell."""
    sums[cell, place] += trials * weight
    sums[cell, place + 1] += hits * weight
    sums[cell, place + 2] += ties * weight


@njit(cache=True, nogil=True)
def _add_products(cell, amounts, n_touched, products):  # type: ignore[no-untyped-def]
    """Add the products of trials, then hits, of every two cells of one query."""
    size = len(amounts) // 2
    trials, hits = amounts[:size], amounts[size:]
    for i in range(n_touched):
        rows, n, s = products[cell[i]], trials[i], hits[i]
        for j in range(i, n_touched):
            # Unsigned: a negative place would count from the end, and ask for a test.
            sums = rows[np.uint64(cell[j])]
            sums[0] += n * trials[j]
            sums[1] += s * trials[j]
            sums[2] += n * hits[j]
            sums[3] += s * hits[j]
