r"""Kernel that counts pairs within queries, with the second moments of their sums.

In a small query every two items are compared, group by group, so that the processor can compare
several at once; a large one is lined up and counted as in :mod:`.dominance`. For each query let
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
from comparity.counts.kernels.dominance import add_ties, deal, order_ties

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
    """Return whether no value is smaller than the one before it."""
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
    columns, offsets, small, n_groups, unit, tie, sums, products
):
    """Add all queries; return how many of them hold a pair.

    Columns are labels, scores, groups and weights of items. In queries of up to `small` items all
    are compared. Where every query counts alike, `unit` has a number for each cell, and all pairs
    of a query in cells of one number weigh one together; otherwise it is empty. Without `products`
    none are added.
    """
    y, f, group, weight = columns
    longest = 0
    for query in range(len(offsets) - 1):
        longest = max(longest, offsets[query + 1] - offsets[query])
    rank_of, rank = np.full(n_groups, -1, dtype=np.int64), np.empty(longest, dtype=np.int64)
    local, code = np.empty((N_LOCAL, n_groups, n_groups)), np.empty(n_groups, dtype=np.int64)
    bounds = np.empty(n_groups + 1, dtype=np.int64)
    rows = np.empty(small), np.empty(small), np.empty(small, dtype=np.int64), np.empty(small)
    cell, amounts = np.empty(n_groups**2, dtype=np.int64), np.empty(2 * n_groups**2)
    together = np.zeros(len(unit))
    n_queries = 0
    for query in range(len(offsets) - 1):
        start, end = offsets[query], offsets[query + 1]
        if end - start < 2:
            continue
        n_present = _local_groups(group[start:end], rank_of, code, rank)
        local[:, :n_present, :n_present] = 0.0
        items = y[start:end], f[start:end], rank[: end - start], weight[start:end]
        if end - start <= small:
            _gather(items, rows, bounds, n_present)
            _compare_all(rows, bounds, n_present, local)
        else:
            _deal_all(items, local[:, :n_present, :n_present])
        n_touched = _collect(
            n_present, n_groups, unit, tie, code, local, cell, amounts, together, sums
        )
        n_queries += n_touched > 0
        if len(products):
            _add_products(cell, amounts, n_touched, products)
    return n_queries


@njit(cache=True, nogil=True)
def _gather(items, rows, bounds, n_present):  # type: ignore[no-untyped-def]
    """Bring the items of each group together; fill where groups begin, and the end of the last."""
    y, f, rank, weight = items
    label, score, group, weights = rows
    bounds[: n_present + 1] = 0
    for place in range(len(y)):
        bounds[rank[place]] += 1
    for number in range(1, n_present + 1):
        bounds[number] += bounds[number - 1]
    for place in range(len(y) - 1, -1, -1):
        # Each bound falls from the end of its group to the beginning.
        bounds[rank[place]] -= 1
        to = bounds[rank[place]]
        label[to], score[to], group[to] = y[place], f[place], rank[place]
        weights[to] = weight[place]


@njit(cache=True, nogil=True)
def _compare_all(rows, bounds, n_present, local):  # type: ignore[no-untyped-def]
    """Add trials, hits, score ties and uses of items, group by group."""
    label, score, rank, weight = rows
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
def _local_groups(group, rank_of, code, rank):  # type: ignore[no-untyped-def]
    """Give numbers to the groups of one query."""
    n_present = 0
    for place in range(len(group)):
        name = np.int64(group[place])
        if rank_of[name] < 0:
            rank_of[name] = n_present
            code[n_present] = name
            n_present += 1
        rank[place] = rank_of[name]
    for place in range(n_present):
        rank_of[code[place]] = -1
    return n_present


@njit(cache=True, nogil=True)
def _deal_all(items, local):  # type: ignore[no-untyped-def]
    """Add trials, hits, score ties and uses of the items of a large query."""
    y, f, rank, weight = items
    # np.unique and np.searchsorted would take seconds more to compile.
    by_label, order = np.argsort(y, kind="mergesort"), np.argsort(f, kind="mergesort")
    level, same = np.empty(len(y), dtype=np.int64), np.zeros(len(y), dtype=np.bool_)
    starts, n_levels = np.zeros(len(y) + 1, dtype=np.int64), 0
    for place in range(len(y)):
        if place > 0 and y[by_label[place]] != y[by_label[place - 1]]:
            n_levels += 1
            starts[n_levels] = place
        level[by_label[place]] = n_levels
        same[place] = place > 0 and f[order[place]] == f[order[place - 1]]
    starts[n_levels + 1] = len(y)
    starts = starts[: n_levels + 2]
    order_ties(order, same, level)
    own_rows = np.empty(0, dtype=np.int64)
    level, rank, once = level[order], rank[order], weight[order]
    for part, amount in enumerate((once * once, once)):
        dealt = deal(level, rank, amount, own_rows, starts, local[HITS + 1 - part])
        add_ties(level, rank, amount, same, own_rows, 1.0, local[TIES + 1 - part])
    _count_trials(dealt[1], dealt[2], starts, local)


@njit(cache=True, nogil=True)
def _count_trials(rank, weight, starts, local):  # type: ignore[no-untyped-def]
    """Add the trials of all items as the better one, and the uses of items in each cell."""
    n_present = local.shape[1]
    passed, here, above = np.zeros((2, n_present)), np.empty((2, n_present)), np.zeros(n_present)
    for place in range(len(rank)):
        above[rank[place]] += weight[place]
    for run in range(len(starts) - 1):
        here[:] = 0.0
        for place in range(starts[run], starts[run + 1]):
            here[0, rank[place]] += weight[place]
            here[1, rank[place]] += weight[place] ** 2
        above -= here[0]
        for place in range(starts[run], starts[run + 1]):
            a, w = rank[place], weight[place]
            for b in range(n_present):
                local[TRIALS, a, b] += w * passed[0, b]
                local[TRIALS + 1, a, b] += w * w * passed[1, b]
                _add_uses(a, b, w * passed[0, b], w * above[b], local)
        passed += here


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
