"""What is left out while comparisons are read."""

from collections.abc import Callable
from typing import Any

import narwhals as nw

from comparity.tables.layouts import to_comparisons

Build = Callable[..., Any]
NOTE = "2 judgments are left out: their pairs were chosen by earlier answers, not drawn."


def test_judgments_of_chosen_pairs_are_left_out_where_only_random_ones_count(frame: Build) -> None:
    listed = frame(
        {
            "left": ["a", "b", "c", "d"],
            "right": ["b", "c", "d", "a"],
            "winner": ["left", "right", "left", "tie"],
            "how": ["random", "chosen", "random", "chosen"],
            "probability": [0.1, 0.4, 0.1, 0.4],
        }
    )
    read = to_comparisons(listed, random_only=True)
    kept = nw.from_native(read.frame).lazy().collect()
    assert sorted(zip(kept["better"], kept["worse"], strict=True)) == [("a", "b"), ("c", "d")]
    assert read.notes == (NOTE,)
    assert len(nw.from_native(to_comparisons(listed).frame).lazy().collect()) == 4


def test_a_column_how_of_another_meaning_leaves_nothing_out(frame: Build) -> None:
    listed = frame({"better": ["a", "b"], "worse": ["b", "c"], "how": ["chosen", "by hand"]})
    read = to_comparisons(listed, random_only=True)
    assert len(nw.from_native(read.frame).lazy().collect()) == 2
    assert read.notes == ()


def test_chosen_pairs_without_probabilities_are_left_out_too(frame: Build) -> None:
    pairs = {"better": ["a", "b", "c"], "worse": ["b", "c", "d"]}
    listed = frame(pairs | {"how": ["chosen", "random", "chosen"]})
    read = to_comparisons(listed, random_only=True)
    assert nw.from_native(read.frame).lazy().collect()["better"].to_list() == ["b"]
    assert read.notes == (NOTE,)
    assert not read.has_probabilities
