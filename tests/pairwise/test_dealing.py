"""Which items may change groups with each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from comparity.inference.dealt_pairs import DealtPairs
from comparity.pairwise.count import deal_pairs
from comparity.pairwise.options import PairwiseOptions
from comparity.tables.features import LabelledItems


def items_of(
    label: list[float], group: list[int], weight: list[float] | None = None
) -> LabelledItems:
    return LabelledItems(
        label=np.array(label, dtype=float),
        score=np.arange(len(label), dtype=float),
        group=np.array(group),
        groups=("a", "b"),
        weight=None if weight is None else np.array(weight),
    )


def deal(label: list[float], group: list[int]) -> DealtPairs:
    found = deal_pairs(items_of(label, group), PairwiseOptions())
    assert found is not None
    return found


def dealt_labels(pairs: DealtPairs, label: list[float]) -> set[tuple[float, ...]]:
    """Return the labels that group "a" can be dealt."""
    source = pairs.deal(2000, np.random.default_rng(1))
    member = pairs.group[source] == 0
    return {tuple(sorted(np.array(label)[one])) for one in member.T}


@pytest.mark.parametrize("label", [[0, 0, 1, 1, 0, 1], [0, 2, 1, 2, 1, 0]])
def test_items_with_the_same_label_change_groups_where_groups_have_the_same_labels(
    label: list[float],
) -> None:
    pairs = deal(label, [0, 0, 0, 1, 1, 1])
    assert dealt_labels(pairs, label) == {tuple(sorted(label[:3]))}


def test_raw_items_change_groups_together_with_labels_that_differ() -> None:
    label = [0.0, 0.0, 1.0, 2.0]
    pairs = deal(label, [0, 0, 1, 1])
    assert dealt_labels(pairs, label) == {(0, 0), (0, 1), (0, 2), (1, 2)}


def test_weighted_items_with_labels_that_differ_are_not_dealt() -> None:
    items = items_of([0, 0, 1, 2], [0, 0, 1, 1], [1.0, 0.5, 1.0, 1.0])
    assert deal_pairs(items, PairwiseOptions()) is None


def test_items_in_no_group_keep_their_place_and_their_pairs() -> None:
    pairs = deal([0, 1, 1, 0, 1, 0], [0, 0, 1, 1, 2, 2])
    source = pairs.deal(500, np.random.default_rng(2))
    assert (pairs.group[source][4:] == 2).all()
    assert len(pairs.better) == 9


@pytest.mark.parametrize(("score_ties", "tie"), [("disagree", 0.0), ("half", 0.5)])
def test_a_dealt_pair_agrees_disagrees_or_ties_as_its_scores_do(
    score_ties: Literal["disagree", "half"], tie: float
) -> None:
    items = items_of([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])
    items = replace(items, score=np.array([1.0, 3.0, 1.0, 2.0, 9.0, 1.0]))
    pairs = deal_pairs(items, PairwiseOptions(score_ties=score_ties))
    assert pairs is not None
    columns = (pairs.better.tolist(), pairs.worse.tolist(), pairs.outcome.tolist())
    found = {(better, worse): outcome for better, worse, outcome in zip(*columns, strict=True)}
    won, lost = {(3, 0), (4, 0), (4, 1), (4, 2), (4, 3)}, {(2, 1), (3, 1), (5, 1), (5, 3)}
    tied = {(2, 0), (5, 0), (5, 2)}
    expected = {**dict.fromkeys(won, 1.0), **dict.fromkeys(lost, 0.0), **dict.fromkeys(tied, tie)}
    assert found == expected
