from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparity.errors import (
    ComparityError,
    ConstantDecisionError,
    DuplicateItemError,
    EmptyTableError,
    GroupMismatchError,
    InconsistentSubjectError,
    LengthMismatchError,
    MissingValueError,
    NonFiniteScoreError,
    NotNumericError,
    OneGroupError,
    ReferenceGroupError,
    TooFewSubjectsError,
    TooNarrowError,
    TwoGroupsError,
)
from comparity.relative.subjects import decided_subjects, twins

DECISIONS = [1.0, 2.0, 3.0, 4.0]
GROUPS = ["f", "m", "f", "m"]


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"first": [1.0, 2.0, 3.0]}, LengthMismatchError, "first: 3"),
        ({"first": []}, LengthMismatchError, "first: 0"),
        ({"first": [1.0, float("nan"), 3.0, 4.0]}, MissingValueError, "data row 2"),
        ({"second": [1.0, float("inf"), 3.0, 4.0]}, NonFiniteScoreError, "'second'"),
        ({"second": ["a", "b", "c", "d"]}, NotNumericError, "such as 'a'"),
        ({"first": [2.0, 2.0, 2.0, 2.0]}, ConstantDecisionError, "every decision is 2"),
        ({"second": [0, 0, 0, 0]}, ConstantDecisionError, "'second'"),
        ({"groups": ["f", None, "f", "m"]}, MissingValueError, "data row 2"),
        ({"groups": ["f", "x", "f", "x"]}, GroupMismatchError, "'m', 'x' cannot be compared"),
        ({"groups": ["f"] * 4}, GroupMismatchError, "'f' for the first, 'f', 'm' for the second"),
        ({"groups": ["f"] * 4, "others": ["f"] * 4}, OneGroupError, "at least two groups"),
        ({"groups": [*"fmxf"], "others": [*"fmxf"]}, TwoGroupsError, "3: 'f', 'm', 'x'"),
        ({"groups": ["f", "m", "f", "f"]}, TooFewSubjectsError, "group 'm' of the first"),
        ({"reference": "x"}, ReferenceGroupError, "'x' does not occur"),
        ({"subjects": ([1, 1, 2, 3], [4, 5, 6, 7])}, DuplicateItemError, "repeated ids in 2 rows"),
        ({"first": [0.0, 1e-200, 0.0, 0.0]}, TooNarrowError, "smaller unit"),
        ({"subjects": ([1, 2, 3, None], [4, 5, 6, 7])}, MissingValueError, "'subjects'"),
        ({"subjects": ([1, 2, 3, 4], [2, 8, 9, 4])}, InconsistentSubjectError, "row 1.* '2'"),
    ],
)
def test_bad_input_is_named(
    changed: dict[str, Any], error: type[ComparityError], words: str
) -> None:
    given = {"first": DECISIONS, "second": DECISIONS, "groups": GROUPS, "others": GROUPS}
    given |= changed
    with pytest.raises(error, match=words):
        decided_subjects(
            (given["first"], given["second"]),
            (given["groups"], given["others"]),
            given.get("subjects"),
            reference=given.get("reference"),
        )


def test_no_rows_are_refused() -> None:
    with pytest.raises(EmptyTableError):
        decided_subjects(([], [1.0]), ([], ["f"]))


def test_the_reference_group_comes_first() -> None:
    found = decided_subjects((DECISIONS, DECISIONS), (GROUPS, GROUPS), reference="m")
    assert found.groups == ("m", "f")
    assert found.group[0].tolist() == [1, 0, 1, 0]


def test_ids_that_are_written_alike_are_one_subject() -> None:
    assert twins(np.array([7.0, 8.0]), np.array(["8", "9"], dtype=object)).tolist() == [1, -1]


def test_shared_subjects_are_found_on_both_sides() -> None:
    ids = ["a", "b", "c", "d"], ["x", "d", "a", "y"]
    found = decided_subjects((DECISIONS, DECISIONS), (GROUPS, GROUPS), ids)
    assert found.twin.tolist() == [-1, 3, 0, -1]
    assert found.is_shared.tolist() == [True, False, False, True]
    assert found.n_shared == 2
