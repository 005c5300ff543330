"""Witness: the double loop of ``tests/plain/all_pairs.py`` on groups that were merged beforehand.

The moments of a union of cells must be those of the pairs in it, whichever cells they came from.
"""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from comparity.counts.all_pairs import (
    ANY,
    all_pairs,
    column_marginals,
    drop_groups,
    merge_cells,
    overall,
    row_marginals,
)
from comparity.counts.pairs import Cell, Sharing
from comparity.inference.dyadic import compare_cells
from tests.plain import all_pairs as plain

GROUPS = ("a", "b", "c")
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=9
)


def columns(rows: list[tuple[int, int, int]]) -> list[NDArray[np.float64]]:
    return [np.array(column, dtype=float) for column in zip(*rows, strict=True)]


def counted(rows: list[tuple[int, int, int]]) -> Sharing:
    y, f, group = columns(rows)
    return all_pairs(y, f, group.astype(int), GROUPS).sharing


@given(ROWS)
def test_the_whole_has_the_moments_of_items_in_one_group(rows: list[tuple[int, int, int]]) -> None:
    y, f, _ = columns(rows)
    whole = merge_cells(counted(rows), overall(GROUPS))
    one_group, ones = [0] * len(rows), [1.0] * len(rows)
    trials, hits, _ = plain.totals(y, f, one_group, 1, ones)
    assert (whole.trials, whole.hits) == (trials, hits)
    np.testing.assert_allclose(whole.dependent, plain.moments(y, f, one_group, 1, ones, 0.0))


@given(ROWS, st.integers(0, 2))
def test_row_marginals_are_sums_over_pairs_whose_better_item_is_in_the_group(
    rows: list[tuple[int, int, int]], code: int
) -> None:
    y, f, group = columns(rows)
    row = merge_cells(counted(rows), row_marginals(GROUPS))
    found = plain.pairs(y, f, group.astype(int), [1.0] * len(rows))
    hits = [agrees for *_, cell, _, agrees, _ in found if cell[0] == code]
    assert row.trials[code] == len(hits)
    assert row.hits[code] == sum(hits)


@given(ROWS, st.integers(0, 2))
def test_column_marginals_are_sums_over_pairs_whose_worse_item_is_in_the_group(
    rows: list[tuple[int, int, int]], code: int
) -> None:
    y, f, group = columns(rows)
    column = merge_cells(counted(rows), column_marginals(GROUPS))
    found = plain.pairs(y, f, group.astype(int), [1.0] * len(rows))
    hits = [agrees for *_, cell, _, agrees, _ in found if cell[1] == code]
    assert column.trials[code] == len(hits)
    assert column.hits[code] == sum(hits)


@given(ROWS)
def test_overlapping_unions_have_the_covariance_of_their_pairs(
    rows: list[tuple[int, int, int]],
) -> None:
    y, f, group = columns(rows)
    parts = row_marginals(GROUPS) | column_marginals(GROUPS)
    both = merge_cells(counted(rows), parts)
    moments = plain.moments(y, f, group.astype(int), 3, [1.0] * len(rows), 0.0).reshape(
        2, 3, 3, 2, 3, 3
    )
    row_of_a, column_of_a = 0, 3
    assert both.dependent[row_of_a, column_of_a] == pytest.approx(moments[0, 0, :, 0, :, 0].sum())
    hits_of_row, trials_of_column = len(parts) + row_of_a, column_of_a
    assert both.dependent[hits_of_row, trials_of_column] == pytest.approx(
        moments[1, 0, :, 0, :, 0].sum()
    )


@given(ROWS)
def test_items_in_no_group_count_in_marginals_and_in_no_cell(
    rows: list[tuple[int, int, int]],
) -> None:
    sharing = counted(rows)
    cells = drop_groups(sharing, ["c"])
    assert cells.cells == tuple(Cell(i, j) for i in "ab" for j in "ab")
    row = merge_cells(sharing, row_marginals("ab", others="c"))
    in_cells = merge_cells(cells, row_marginals("ab"))
    outside = [sharing.trials[sharing.cells.index(Cell(group, "c"))] for group in "ab"]
    np.testing.assert_array_equal(row.trials - in_cells.trials, outside)


def test_a_group_named_like_the_sign_for_any_group_is_not_taken_for_it() -> None:
    assert ANY != "*"
    assert not {"*"} & {ANY}
    assert Cell("a", "*") not in row_marginals(["a", "*"])
    assert len({Cell("*", "*"): 1, Cell(ANY, ANY): 2}) == 2
    assert str(Cell("a", ANY)) == "a > *"


def test_the_sign_for_any_group_survives_copying_and_pickling() -> None:
    assert copy.deepcopy(ANY) is ANY
    assert pickle.loads(pickle.dumps(Cell("a", ANY))) == Cell("a", ANY)


def test_a_union_of_cells_that_are_not_there_holds_no_pairs() -> None:
    sharing = counted([(0, 0, 0), (1, 1, 0)])
    empty = merge_cells(sharing, {Cell("x", ANY): [Cell("x", "a")], Cell("y", ANY): []})
    assert empty.trials.tolist() == [0, 0]
    assert empty.effective_items.tolist() == [0, 0]


@given(ROWS, st.integers(0, 2))
def test_unions_rest_on_at_least_as_many_items_as_is_said(
    rows: list[tuple[int, int, int]], code: int
) -> None:
    """Effective items by definition: the square of all uses over the sum of squared uses."""
    y, f, group = columns(rows)
    row = merge_cells(counted(rows), row_marginals(GROUPS))
    uses = np.zeros(len(rows))
    for i, j, cell, *_ in plain.pairs(y, f, group.astype(int), [1.0] * len(rows)):
        uses[[i, j]] += cell[0] == code
    if uses.any():
        assert 0 < row.effective_items[code] <= uses.sum() ** 2 / (uses**2).sum() + 1e-9
    else:
        assert row.effective_items[code] == 0


def test_marginals_can_be_compared_like_cells() -> None:
    """The variance of a difference of means of merged pairs, from its parts by hand."""
    rng = np.random.default_rng(5)
    rows = [(int(y), int(f), int(g)) for y, f, g in rng.integers(0, [5, 9, 3], (60, 3))]
    row = merge_cells(counted(rows), row_marginals(GROUPS))
    test = compare_cells(row, Cell("a", ANY), Cell("b", ANY), null="")
    y, f, group = columns(rows)
    hits = {code: [] for code in range(3)}
    for *_, cell, _, agrees, _ in plain.pairs(y, f, group.astype(int), [1.0] * 60):
        hits[cell[0]].append(agrees)
    assert test.gap == pytest.approx(np.mean(hits[0]) - np.mean(hits[1]))
    assert test.standard_error > 0
