"""Counts can be added in any order, and only where they speak of the same things."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.counts.decisions import Confusion, DecisionCounts
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.errors import IncompatibleCountsError

sizes = st.integers(0, 50)
tallies = st.tuples(sizes, sizes, sizes).map(lambda t: Tally(t[0], sum(t), t[2]))
cells = st.builds(Cell, better=st.sampled_from("ab"), worse=st.sampled_from("ab"))
ties = st.dictionaries(st.sampled_from([("a", "a"), ("a", "b"), ("b", "b")]), sizes)
pair_counts = st.builds(PairCounts, st.dictionaries(cells, tallies), ties)
confusions = st.builds(
    Confusion,
    true_positives=sizes,
    false_negatives=sizes,
    false_positives=sizes,
    true_negatives=sizes,
)
decision_counts = st.dictionaries(st.sampled_from("abc"), confusions).map(DecisionCounts)


@given(pair_counts, pair_counts, pair_counts)
def test_counting_pairs_in_parts_changes_nothing(
    x: PairCounts, y: PairCounts, z: PairCounts
) -> None:
    assert x + y == y + x
    assert (x + y) + z == x + (y + z)
    assert x + PairCounts({}) == x


@given(decision_counts, decision_counts, decision_counts)
def test_counting_decisions_in_parts_changes_nothing(
    x: DecisionCounts, y: DecisionCounts, z: DecisionCounts
) -> None:
    assert x + y == y + x
    assert (x + y) + z == x + (y + z)
    assert (x + y).n == x.n + y.n


GROUPS = ("a", "b", "a", "b")
SCORES = (0.1, 0.4, 0.4, 0.2)


def shared(rows: list[tuple[int, int, int]], *, evaluators: bool = True, **changes: Any) -> Any:
    """Build counts of judged pairs whose cells and orders follow from their items."""
    first, second, judge = (np.array([row[k] for row in rows], dtype=np.int64) for k in range(3))
    names = tuple(Cell(x, y) for x in "ab" for y in "ab")
    cell = np.array([names.index(Cell(GROUPS[b], GROUPS[w])) for b, w, _ in rows], dtype=np.int64)
    order = np.array([np.sign(SCORES[b] - SCORES[w]) for b, w, _ in rows], dtype=np.int8)
    columns: dict[str, Any] = {
        "better": first,
        "worse": second,
        "evaluator": judge if evaluators else None,
        "cell": cell,
        "order": order,
        "trials": np.ones(len(rows), dtype=np.int64),
        "cells": names,
        "evaluators": ("x", "y", "z") if evaluators else (),
        "n_items": 4,
        "item_table": "t",
    }
    return JudgedPairs(**{**columns, **changes})


pairs = st.permutations(range(4)).map(lambda items: items[:2])
rows = st.lists(st.tuples(pairs, st.integers(0, 2)).map(lambda t: (*t[0], t[1])), max_size=15)


@given(rows, rows)
def test_judged_pairs_counted_in_parts_equal_the_whole(
    first: list[tuple[int, int, int]], second: list[tuple[int, int, int]]
) -> None:
    for evaluators in (True, False):
        parts = [shared(part, evaluators=evaluators) for part in (first, second)]
        assert parts[0] + parts[1] == shared(first + second, evaluators=evaluators)


@given(rows)
def test_adding_makes_judged_pairs_distinct_and_keeps_every_tally(
    drawn: list[tuple[int, int, int]],
) -> None:
    whole = shared(drawn)
    twice = whole + whole
    assert len(twice) == len(set(drawn))
    assert {cell: 2 * tally.trials for cell, tally in whole.tallies().items()} == {
        cell: tally.trials for cell, tally in twice.tallies().items()
    }


@pytest.mark.parametrize("changes", [{"item_table": "other"}, {"n_items": 5}])
def test_pairs_of_other_item_tables_cannot_be_added(changes: dict[str, Any]) -> None:
    with pytest.raises(IncompatibleCountsError, match="item table"):
        shared([(0, 1, 0)]) + shared([(0, 1, 0)], **changes)


def test_pairs_with_and_without_evaluators_cannot_be_added() -> None:
    with pytest.raises(IncompatibleCountsError, match="evaluators"):
        shared([(0, 1, 0)]) + shared([(0, 1, 0)], evaluators=False)


def test_a_score_tie_is_a_miss_or_half_a_hit() -> None:
    tally = Tally(3, 8, 2)
    assert (tally.rate, tally.half_rate) == (3 / 8, 4 / 8)
    assert np.isnan(Tally(0, 0).rate)


def test_counts_cannot_be_changed() -> None:
    counts = shared([(0, 1, 0)])
    with pytest.raises(ValueError, match="read-only"):
        counts.better[0] = 2
    with pytest.raises(AttributeError):
        Tally(1, 2).hits = 2  # type: ignore[misc]
