"""Pairs weighted by their label difference, by definition: a double loop."""

from collections.abc import Hashable, Sequence

from tests.plain.ordered_pairs import Pair, pairs_of


def far_apart(
    y: Sequence[float],
    f: Sequence[float],
    cell_of: dict[tuple[int, int], int],
    query: Sequence[Hashable],
    weights: Sequence[float],
    tie_value: float,
) -> list[Pair]:
    """List the pairs of one query with different labels, further ones with more weight."""
    return [
        pair._replace(weight=pair.weight * (y[pair.better] - y[pair.worse]))
        for pair in pairs_of(y, f, cell_of, query, weights, tie_value)
    ]
