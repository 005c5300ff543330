"""Components of the graph of comparisons, against Warshall's closure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity import bradley_terry
from comparity.errors import OptionError
from comparity.ranking.connectivity import check_seats, components, diagnose, enough_comparisons
from comparity.ranking.judgments import judgments_of
from tests.plain.ranking import reachable

N = 6
pairs = st.tuples(st.integers(0, N - 1), st.integers(1, N - 1)).map(
    lambda pair: (pair[0], (pair[0] + pair[1]) % N)
)
rows = st.lists(st.tuples(pairs, st.booleans()), min_size=1, max_size=20).filter(
    lambda found: not all(tie for _, tie in found)
)


@given(rows)
def test_components_are_those_of_the_closure(found: list[tuple[tuple[int, int], bool]]) -> None:
    edges = [pair for pair, _ in found] + [pair[::-1] for pair, tie in found if tie]
    judgments = judgments_of([pair for pair, _ in found], n_items=N, ties=[tie for _, tie in found])
    weak, strong = components(judgments)
    one_way = reachable(edges, N)
    any_way = reachable(edges + [edge[::-1] for edge in edges], N)
    for i in range(N):
        for j in range(N):
            assert (weak[i] == weak[j]) == any_way[i][j]
            assert (strong[i] == strong[j]) == (one_way[i][j] and one_way[j][i])


@given(rows)
def test_items_that_never_won_or_lost_are_counted_by_hand(
    found: list[tuple[tuple[int, int], bool]],
) -> None:
    judgments = judgments_of([pair for pair, _ in found], n_items=N, ties=[tie for _, tie in found])
    told = diagnose(judgments)
    won = {pair[0] for pair, tie in found if not tie}
    lost = {pair[1] for pair, tie in found if not tie}
    tied = {item for pair, tie in found if tie for item in pair}
    assert set(told.undefeated.tolist()) == won - lost - tied
    assert set(told.winless.tolist()) == lost - won - tied
    assert set(told.uncompared.tolist()) == set(range(N)) - won - lost - tied


def test_n_log_n_comparisons_are_called_enough() -> None:
    assert enough_comparisons(100) == math.ceil(100 * math.log(100)) == 461
    few = diagnose(judgments_of([[0, 1], [1, 0]], n_items=100))
    assert not few.enough
    assert any("n log n = 461" in note for note in few.notes)


def test_items_that_nobody_compared_are_no_parts_of_their_own() -> None:
    """0 beat 1, which leaves two parts; 2, 3 and 4 are in no comparison."""
    notes = diagnose(judgments_of([[0, 1]], n_items=5)).notes
    assert any("fall into 2 parts" in note for note in notes)


def test_a_long_chain_is_one_component_however_it_is_listed() -> None:
    n = 500
    chain = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])[::-1]
    weak, strong = components(judgments_of(chain))
    assert weak.max() == strong.max() == 0


@pytest.mark.parametrize("ties", [None, [False, True]])
def test_two_items_are_joined_both_ways_only_by_both_outcomes_or_a_tie(
    ties: list[bool] | None,
) -> None:
    judgments = judgments_of([[0, 1], [0, 1]], ties=ties)
    assert diagnose(judgments).is_separated == (ties is None)


def test_items_in_no_comparison_are_not_called_parts_of_the_comparisons() -> None:
    both_ways = [[0, 1], [1, 0], [2, 1], [1, 2]]
    notes = diagnose(judgments_of(both_ways, n_items=5)).notes
    assert any(note.startswith("In no comparison: 3, 4;") for note in notes)
    assert not any("parts" in note for note in notes)
    apart = diagnose(judgments_of([*both_ways, [3, 4], [4, 3]], n_items=6)).notes
    assert any("into 2 parts" in note and "largest part: 3, 4." in note for note in apart)


def test_items_that_one_way_outcomes_cut_off_are_named() -> None:
    """Two circles of three items: everybody won and lost, and the first circle never lost."""
    circles = [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]]
    down = [[0, 3], [1, 4], [2, 5]]
    (note,) = (note for note in diagnose(judgments_of(circles + down)).notes if "infinite" in note)
    assert "into 2 parts" in note
    assert note.endswith("won and lost: 0, 1, 2.")
    # A part that was never compared with these does not hide it.
    beside = diagnose(judgments_of([*circles, *down, [6, 7], [7, 6]])).notes
    assert any(note.endswith("won and lost: 0, 1, 2.") for note in beside)
    # Nor are items named twice that never lost.
    notes = diagnose(judgments_of([*circles[:3], [3, 0]])).notes
    assert sum(": 3" in note for note in notes) == 1


@pytest.mark.parametrize(
    ("comparisons", "seats"),
    [
        ([[0, 2], [1, 3], [3, 0], [2, 1]], [1, 1, -1, -1]),
        ([[0, 1], [2, 1], [0, 2], [1, 0]], [1, 1, 0, -1]),
        ([[0, 1], [1, 2]], [1, -1]),
    ],
    ids=["two sides", "an unknown seat", "no way round"],
)
def test_seats_that_scores_explain_are_refused(comparisons: Any, seats: list[int]) -> None:
    """Numbers of the items give all seats as differences, as least squares show."""
    pairs = np.array(comparisons)
    design = np.eye(4)[pairs[:, 0]] - np.eye(4)[pairs[:, 1]]
    assert np.linalg.lstsq(design, np.array(seats, float), rcond=None)[0] @ design.T == (
        pytest.approx(seats, abs=1e-9)
    )
    with pytest.raises(OptionError, match="no item ever changes its seat"):
        bradley_terry(pairs, seats=seats)


@given(st.integers(0, 10_000))
def test_seats_are_refused_where_least_squares_leave_nothing_of_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    one = rng.integers(0, 5, n)
    two = (one + rng.integers(1, 5, n)) % 5
    seats = rng.choice([1, -1, 1, -1, 0], n)
    design = np.eye(5)[one] - np.eye(5)[two]
    left = seats - design @ np.linalg.lstsq(design, seats.astype(float), rcond=None)[0]
    judgments = judgments_of(np.c_[one, two], n_items=5, seats=seats)
    if judgments.seat is not None and np.abs(left).max() < 1e-9:
        with pytest.raises(OptionError):
            check_seats(judgments)
    else:
        check_seats(judgments)
