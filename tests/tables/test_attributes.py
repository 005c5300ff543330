"""Columns as people pass them: what is missing stays missing, what is odd gets an error of ours."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comparity import comparative_separation, pairwise_accuracy, separation
from comparity.errors import DuplicateColumnError, MissingValueError, UnsupportedColumnError

LABELS, GROUPS = [0, 1, 1, 0] * 10, ["f", "m"] * 20
PAIRS, SCORES = [[0, 1], [2, 3]], [0.1, 0.2, 0.3, 0.4]


def test_a_gap_in_a_list_of_words_is_no_group() -> None:
    """numpy writes the gap as the word "nan"."""
    with pytest.raises(MissingValueError, match="data row 1"):
        separation(LABELS, LABELS, sensitive_features=[np.nan, *GROUPS[1:]])


def test_a_gap_in_a_list_of_words_is_no_evaluator() -> None:
    with pytest.raises(MissingValueError, match="evaluators"):
        comparative_separation(
            PAIRS, scores=SCORES, sensitive_features=GROUPS[:4], evaluators=[np.nan, "ann"]
        )


def test_a_masked_value_is_missing() -> None:
    """numpy.asarray forgets masks."""
    masked = np.ma.masked_array(LABELS, mask=[True] + [False] * 39)
    with pytest.raises(MissingValueError, match="y_true"):
        separation(masked, LABELS, sensitive_features=GROUPS)
    with pytest.raises(MissingValueError, match="y_score"):
        pairwise_accuracy(LABELS, masked, sensitive_features=GROUPS)


def test_columns_named_by_numbers_are_attributes() -> None:
    frame = pd.DataFrame({0: GROUPS, 7: GROUPS[::-1]})
    audit = separation(LABELS, LABELS, sensitive_features=frame)
    assert {test.null.split(":")[0] for test in audit.tests} == {"0", "7"}


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_two_columns_written_alike_are_not_one(kind: Any) -> None:
    labels, groups = [1, 0, 1, 0], ["f", "m", "m", "f"]
    with pytest.raises(DuplicateColumnError, match="'1'"):
        separation(labels, labels, sensitive_features=kind({1: groups, "1": groups}))


def test_lists_of_one_length_are_rows_of_attributes() -> None:
    rows = [[group, "x" if place < 15 else "y"] for place, group in enumerate(GROUPS)]
    named = {"0": GROUPS, "1": ["x"] * 15 + ["y"] * 25}
    by_rows, by_name = (
        separation(LABELS, LABELS[::-1], sensitive_features=groups).to_dict()
        for groups in (rows, named)
    )
    assert by_rows["tests"] == by_name["tests"]


@pytest.mark.parametrize(
    ("groups", "error"),
    [
        ([["f"], ["m", "x"]] * 20, UnsupportedColumnError),
        ((group for group in GROUPS), UnsupportedColumnError),
        (pd.DataFrame(np.c_[GROUPS, GROUPS], columns=["sex", "sex"]), DuplicateColumnError),
    ],
    ids=["ragged", "generator", "two columns of one name"],
)
def test_what_is_no_column_is_refused(groups: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="hint:"):
        separation(LABELS, LABELS, sensitive_features=groups)


def test_numbers_of_numpy_are_choices_that_json_can_hold() -> None:
    audit = separation(
        LABELS,
        LABELS,
        sensitive_features=GROUPS,
        alpha=np.float32(0.25),
        margin=np.float32(0.125),
        looks=(np.int64(1), np.int8(2)),
    )
    kept = json.loads(json.dumps(audit.to_dict()))["provenance"]["options"]
    assert (kept["alpha"], kept["margin"], kept["looks"]) == (0.25, 0.125, [1, 2])


@pytest.mark.parametrize("kind", ["Decimal", "Int128"])
def test_columns_of_decimals_and_of_wide_integers_are_read_like_plain_numbers(kind: str) -> None:
    polars = pytest.importorskip("polars")
    wide = polars.Decimal(10, 2) if kind == "Decimal" else polars.Int128
    label, group = polars.Series("y", [1, 0] * 60), polars.Series("sex", [1, 2, 2] * 40)
    plain = separation(label, label, sensitive_features=group)
    for sex in (group.cast(wide), group.cast(wide).to_frame()):
        audit = separation(label.cast(wide), label.cast(wide), sensitive_features=sex)
        assert (audit.groups, audit.n) == (plain.groups, plain.n) == (("1", "2"), 120)
    scored = {"sensitive_features": group.cast(wide)}
    result = pairwise_accuracy(label.cast(wide), np.arange(120) % 7, **scored)
    assert result.groups == ("1", "2")


def test_a_decimal_that_is_no_number_is_missing() -> None:
    group = [Decimal("1"), Decimal("2"), Decimal("NaN")]
    with pytest.raises(MissingValueError, match="row 3"):
        separation([0, 1, 1], [0, 1, 1], sensitive_features=group)
