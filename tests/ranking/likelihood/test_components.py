"""Parts of items against scipy's algorithms on the matrix of comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from comparity.ranking.likelihood import components
from comparity.ranking.likelihood.components import joined_parts, strong_parts


def parts_of(above: np.ndarray, below: np.ndarray, n: int, connection: str) -> np.ndarray:
    graph = coo_array((np.ones(len(above)), (below, above)), shape=(n, n)).tocsr()
    return np.asarray(connected_components(graph, connection=connection)[1])


def is_same_partition(one: np.ndarray, two: np.ndarray) -> bool:
    both = len(set(zip(one.tolist(), two.tolist(), strict=True)))
    return both == len(set(one.tolist())) == len(set(two.tolist()))


@given(st.integers(0, 10_000), st.integers(2, 40), st.floats(0.2, 4.0))
def test_parts_are_those_of_the_matrix(seed: int, n: int, often: float) -> None:
    rng = np.random.default_rng(seed)
    above = rng.integers(0, n, int(often * n) + 1)
    below = (above + rng.integers(1, n, len(above))) % n
    assert joined_parts(above, below, n).tolist() == parts_of(above, below, n, "weak").tolist()
    assert is_same_partition(strong_parts(above, below, n), parts_of(above, below, n, "strong"))


@pytest.mark.parametrize("closed", [False, True])
def test_a_chain_that_takes_more_sweeps_than_allowed_is_left_to_the_matrix(closed: bool) -> None:
    """Listed from its end, every sweep goes one item further."""
    n = 3 * components.MOST_SWEEPS
    above, below = np.arange(n)[::-1], (np.arange(n)[::-1] + 1) % n
    kept = slice(None) if closed else below > 0
    found = strong_parts(above[kept], below[kept], n)
    assert len(set(found.tolist())) == (1 if closed else n)
