r"""Kernel that counts pairs within queries of any size, by merging labels in the order of score.

Defined by the loops in ``tests/plain/query_pairs.py``.
"""

from __future__ import annotations

import numpy as np

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.queries import SQUARES, USES, add_products, add_sums

__all__ = ["count_merged"]


# Places in the sums over one query for every two of its groups: first with the weights of pairs,
# then with these squared.
TRIALS, HITS, TIES, USED, N_LOCAL = 0, 2, 4, 6, 7


@njit(cache=True, nogil=True)
def count_merged(label, score, group, weight, offsets, n_groups, unit, tie, sums, products):  # type: ignore[no-untyped-def]
    """Add queries whose items are in the order of label, then of score.

    Returns how many of them hold a pair; `unit` is that of
    :func:`comparity.counts.kernels.queries.count_masked`.
    """
    longest = np.diff(offsets).max()
    rank_of = np.full(n_groups, -1, dtype=np.int64)
    local, code = np.empty((N_LOCAL, n_groups, n_groups)), np.empty(n_groups, dtype=np.int64)
    bounds = np.empty(longest + 1, dtype=np.int64)
    one, two = _new_rows(longest), _new_rows(longest)
    cell, amounts = np.empty(n_groups**2, dtype=np.int64), np.empty(2 * n_groups**2)
    together = np.zeros(len(unit))
    n_queries = 0
    for query in range(len(offsets) - 1):
        start, end = offsets[query], offsets[query + 1]
        n_present = _local_groups(group[start:end], rank_of, code, one)
        n_runs = _runs(label[start:end], bounds)
        if n_runs < 2:
            continue
        n_queries += 1
        for place in range(end - start):
            one[0][place], one[2][place] = score[start + place], weight[start + place]
        local[:, :n_present, :n_present] = 0.0
        _count_trials(one, bounds, n_runs, n_present, local)
        _merge_all(one, two, bounds, n_runs, n_present, local)
        n_touched = _collect(
            n_present, n_groups, unit, tie, code, local, cell, amounts, together, sums
        )
        add_products(cell, amounts, n_touched, products)
    return n_queries


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
                better, worse = w * passed[0, b], w * above[b]
                if a == b:
                    # Within a group an item may be better in one pair and worse in the next.
                    local[USED, a, a] += (better + worse) ** 2
                else:
                    local[USED, a, b] += better**2
                    local[USED, b, a] += worse**2
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
            add_sums(place, trials, hits, ties, share, sums, 0)
            squares = here[TRIALS + 1], here[HITS + 1], here[TIES + 1]
            add_sums(place, squares[0], squares[1], squares[2], share**2, sums, SQUARES)
            sums[place, USES] += here[USED] * share**2
            n_touched += 1
    return n_touched
