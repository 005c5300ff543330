"""Witnesses: the examples in the documentation of the authors' code, and loops over pairs.

FARE (Kuhlman et al. 2019), repository caitlinkuhlman/fare, documents for true ranks 1 2 3 4,
predicted ranks 1 3 4 2 and groups 0 1 0 1 (rank 1 is best): rank equality errors (0, 0.25), rank
calibration errors (0.2, 0.4), rank parity errors (0.5, 0.5).
"""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from comparity.pairwise.measures import (
    rank_calibration_error,
    rank_equality_error,
    rank_parity_error,
)

Tables = tuple[NDArray[np.float64], NDArray[np.float64]]


def tables(order: list[int], score: list[int], group: list[int], *, labels: bool = True) -> Tables:
    """Return rates and pairs by cell; rank 1 is best."""
    k = max(group) + 1
    hits, pairs = np.zeros((k, k)), np.zeros((k, k))
    for i, j in permutations(range(len(order)), 2):
        if order[i] < order[j] or not labels:
            pairs[group[i], group[j]] += 1
            hits[group[i], group[j]] += score[i] < score[j]
    return np.divide(hits, pairs, out=np.full((k, k), np.nan), where=pairs > 0), pairs


TRUE, PREDICTED, GROUPS = [1, 2, 3, 4], [1, 3, 4, 2], [0, 1, 0, 1]


def test_errors_of_the_documented_example() -> None:
    judged = tables(TRUE, PREDICTED, GROUPS)
    free = tables(TRUE, PREDICTED, GROUPS, labels=False)
    assert [rank_equality_error(*judged, g) for g in (0, 1)] == pytest.approx([0, 0.25])
    assert [rank_calibration_error(*judged, g) for g in (0, 1)] == pytest.approx([0.2, 0.4])
    assert [rank_parity_error(*free, g) for g in (0, 1)] == pytest.approx([0.5, 0.5])


RANKINGS = st.integers(2, 8).flatmap(
    lambda n: st.tuples(
        st.permutations(range(n)),
        st.permutations(range(n)),
        st.lists(st.integers(0, 2), min_size=n, max_size=n),
    )
)


def share(outcomes: list[bool]) -> float:
    return sum(outcomes) / len(outcomes) if outcomes else float("nan")


@given(RANKINGS)
def test_errors_are_shares_of_pairs(ranking: tuple[list[int], list[int], list[int]]) -> None:
    order, score, group = ranking
    judged, free = tables(order, score, group), tables(order, score, group, labels=False)
    everyone = range(len(order))
    for g in range(max(group) + 1):
        mixed = [(i, j) for i, j in product(everyone, everyone) if group[i] == g != group[j]]
        favoured = [order[i] > order[j] and score[i] < score[j] for i, j in mixed]
        touched = [
            (i, j) for i, j in product(everyone, everyone) if i < j and g in (group[i], group[j])
        ]
        exchanged = [(order[i] < order[j]) != (score[i] < score[j]) for i, j in touched]
        first = [score[i] < score[j] for i, j in mixed]
        close = {"nan_ok": True}
        assert rank_equality_error(*judged, g) == pytest.approx(share(favoured), **close)
        assert rank_calibration_error(*judged, g) == pytest.approx(share(exchanged), **close)
        assert rank_parity_error(*free, g) == pytest.approx(share(first), **close)
