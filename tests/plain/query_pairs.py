"""Pairs within queries, by definition: double loops, one vector for each query."""

from collections.abc import Hashable, Sequence

from tests.plain.ordered_pairs import Pair, totals


def group_cells(group: Sequence[int], n_groups: int) -> dict[tuple[int, int], int]:
    """Number the cells by the group of the better item, then by that of the worse one."""
    rows = range(len(group))
    return {(i, j): group[i] * n_groups + group[j] for i in rows for j in rows}


def averaged(pairs: Sequence[Pair], query: Sequence[Hashable]) -> list[Pair]:
    """Weigh pairs so that those of one query and cell weigh one together."""
    together: dict[tuple[Hashable, int], float] = {}
    for pair in pairs:
        key = query[pair.better], pair.cell
        together[key] = together.get(key, 0.0) + pair.weight
    return [
        pair._replace(weight=pair.weight / together[query[pair.better], pair.cell])
        for pair in pairs
    ]


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
