"""Answers of many rows become JSON column by column, the same as row by row."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.results import plain
from comparity.results.plain import AS_THEY_ARE, Columns, as_json, as_plain

ROWS = 5
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
values = st.one_of(st.none(), st.booleans(), names, st.floats(-9, 9), st.lists(st.integers(0, 9)))
lists = st.lists(values, min_size=ROWS, max_size=ROWS)
arrays = st.lists(st.floats(-9, 9), min_size=ROWS, max_size=ROWS).map(np.array)
tables = st.recursive(
    st.dictionaries(names, st.one_of(lists, arrays), max_size=3),
    lambda inner: st.dictionaries(names, st.one_of(lists, inner), max_size=3),
    max_leaves=6,
)


def columns_of(table: dict[str, Any]) -> Columns:
    inner = {k: columns_of(one) if isinstance(one, dict) else one for k, one in table.items()}
    return Columns(ROWS, inner)


@given(tables)
def test_a_table_is_written_as_its_rows_are(table: dict[str, Any]) -> None:
    columns = columns_of(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "WRITTEN_AT_ONCE", 2)
        written = as_json(as_plain({"rows": columns}, AS_THEY_ARE))
    assert json.loads(written) == {"rows": as_plain(columns)}


def test_a_table_without_rows_is_an_empty_list() -> None:
    assert as_json(Columns(0, {"item": [], "of": Columns(0, {"score": np.array([])})})) == b"[]"
