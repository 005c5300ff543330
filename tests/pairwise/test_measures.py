"""Witnesses: Figure 1 (a) of Narasimhan et al. and brute-force loops over pairs.

Published: the unconstrained model has the matrix [[.941, .980], [.705, .894]] and the violation
|A(0>1) - A(1>0)| = 0.28 (Table 1), both rounded as printed.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from comparity.counts.all_pairs import all_pairs, column_marginals, merge_cells, row_marginals
from comparity.pairwise.measures import (
    cross_group_gap,
    least_accuracy,
    least_cross_group_accuracy,
    marginal_gap,
    pairwise_equal_opportunity_gap,
    pairwise_parity_gap,
    symmetric_accuracy_gap,
    within_group_gap,
)

FIGURE_1A = [[0.941, 0.980], [0.705, 0.894]]
RATES = st.integers(1, 4).flatmap(
    lambda k: st.lists(
        st.lists(st.floats(0, 1, width=16), min_size=k, max_size=k), min_size=k, max_size=k
    )
)


def test_the_cross_group_gap_is_the_published_violation() -> None:
    assert cross_group_gap(FIGURE_1A) == pytest.approx(0.28, abs=5e-3 + 1e-3)


@given(RATES)
def test_gaps_are_the_largest_difference_of_two_cells(rates: list[list[float]]) -> None:
    groups = range(len(rates))
    cells = list(product(groups, groups))

    def widest(chosen: list[tuple[int, int]]) -> float:
        return max(rates[a][b] - rates[c][d] for a, b in chosen for c, d in chosen)

    assert pairwise_equal_opportunity_gap(rates) == widest(cells)
    assert within_group_gap(rates) == widest([(i, i) for i in groups])
    if len(rates) > 1:
        across = [(i, j) for i, j in cells if i != j]
        assert cross_group_gap(rates) == widest(across)
        assert pairwise_parity_gap(rates) == widest(across)
        assert least_cross_group_accuracy(rates) == min(rates[i][j] for i, j in across)
    assert least_accuracy(rates) == min(rates[i][j] for i, j in cells)


def items() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 3, 80)
    label = rng.integers(0, 5, 80).astype(float)
    return label, np.round(label + rng.normal(size=80) + 0.5 * group, 1), group


def share_in_order(chosen: list[tuple[int, int]], score: NDArray[np.float64]) -> float:
    return float(np.mean([score[better] > score[worse] for better, worse in chosen]))


def test_marginal_gaps_compare_accuracies_pooled_over_pairs() -> None:
    label, score, group = items()
    sharing = all_pairs(label, score, group, ("a", "b", "c")).sharing
    rows = merge_cells(sharing, row_marginals("abc"))
    columns = merge_cells(sharing, column_marginals("abc"))
    pairs = [(i, j) for i, j in product(range(80), repeat=2) if label[i] > label[j]]
    as_better = [share_in_order([p for p in pairs if group[p[0]] == g], score) for g in range(3)]
    as_worse = [share_in_order([p for p in pairs if group[p[1]] == g], score) for g in range(3)]
    row_rates, column_rates = rows.hits / rows.trials, columns.hits / columns.trials
    assert marginal_gap(row_rates) == pytest.approx(max(as_better) - min(as_better))
    sums = [better + worse for better, worse in zip(as_better, as_worse, strict=True)]
    found = symmetric_accuracy_gap(row_rates, column_rates)
    assert found == pytest.approx(max(sums) - min(sums))


def test_what_a_favoured_group_gains_as_better_it_loses_as_worse_in_the_symmetric_notion() -> None:
    """Scores Phi-like in a shift: A(0>1) rises by what A(1>0) falls, to first order."""
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 4000)
    label = rng.integers(0, 2, 4000).astype(float)
    score = label + rng.normal(size=4000) + 0.2 * (group == 0)
    sharing = all_pairs(label, score, group, ("a", "b")).sharing
    rows, columns = (
        merge_cells(sharing, row_marginals("ab")),
        merge_cells(sharing, column_marginals("ab")),
    )
    row_rates, column_rates = rows.hits / rows.trials, columns.hits / columns.trials
    assert marginal_gap(row_rates) > 0.03
    assert symmetric_accuracy_gap(row_rates, column_rates) < 0.03


@pytest.mark.parametrize(
    "gap",
    [pairwise_equal_opportunity_gap, cross_group_gap, least_accuracy, least_cross_group_accuracy],
)
def test_a_cell_without_pairs_leaves_no_answer(gap) -> None:
    assert np.isnan(gap([[0.9, np.nan], [0.8, 0.7]]))


def test_notions_that_do_not_need_an_empty_cell_ignore_it() -> None:
    assert within_group_gap([[0.9, np.nan], [0.8, 0.7]]) == pytest.approx(0.2)
    assert pairwise_parity_gap([[np.nan, 0.75], [0.25, np.nan]]) == 0.5


@pytest.mark.parametrize("gap", [cross_group_gap, pairwise_parity_gap, least_cross_group_accuracy])
def test_one_group_has_nothing_across(gap) -> None:
    assert np.isnan(gap([[0.9]]))


def test_no_groups_give_no_answer() -> None:
    assert np.isnan(pairwise_equal_opportunity_gap(np.zeros((0, 0))))
    assert np.isnan(least_accuracy(np.zeros((0, 0))))
    assert np.isnan(marginal_gap([]))
