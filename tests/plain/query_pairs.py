"""Pairs within queries, by definition: double loops, one vector for each query."""

from collections.abc import Hashable, Sequence

from tests.plain.ordered_pairs import Pair, totals


def group_cells(group: Sequence[int], n_groups: int) -> dict[tuple[int, int], int]:
    """Number the cells by the group of the better item, then by that of the worse one."""
    rows = range(len(group))
    return {(i, j): group[i] * n_groups + group[j] for i in rows for j in rows}


def averaged(
    pairs: Sequence[Pair], query: Sequence[Hashable], n_groups: int, once_in: str
) -> list[Pair]:
    """Weigh pairs so that those of one query in a cell, row, column or all weigh one together."""
    together: dict[tuple[Hashable, object], float] = {}
    keys = [(query[pair.better], _unit(pair.cell, n_groups, once_in)) for pair in pairs]
    for key, pair in zip(keys, pairs, strict=True):
        together[key] = together.get(key, 0.0) + pair.weight
    return [
        pair._replace(weight=pair.weight / together[key])
        for key, pair in zip(keys, pairs, strict=True)
    ]


def _unit(cell: int, n_groups: int, once_in: str) -> object:
    better, worse = divmod(cell, n_groups)
    if once_in == "cells":
        return better, worse
    return {"rows": better, "columns": worse, "whole": None}[once_in]


def query_vectors(
    pairs: Sequence[Pair], query: Sequence[Hashable], n_cells: int
) -> dict[Hashable, list[float]]:
    """Return trials, then hits by cell of every query that holds a pair."""
    vectors = {}
    for name in {query[pair.better] for pair in pairs}:
        trials, hits, _ = totals([p for p in pairs if query[p.better] == name], n_cells)
        vectors[name] = [*trials, *hits]
    return vectors


def query_moments(vectors: dict[Hashable, list[float]], n_cells: int) -> list[list[float]]:
    """Sum the outer products of trials and hits over queries."""
    size = range(2 * n_cells)
    return [[sum(v[i] * v[j] for v in vectors.values()) for j in size] for i in size]
