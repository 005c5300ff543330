"""Which items may change groups with each other."""

from __future__ import annotations

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
