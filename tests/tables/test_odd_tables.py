"""No table, however odd, gives anything but counts or an error of ours."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comparity.counts.decision_rows import count_decision_arrays, count_decisions
from comparity.counts.decisions import DecisionCounts
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.judged_rows import count_comparisons, count_wide_comparisons
from comparity.counts.ledger import count_position_pairs
from comparity.counts.pairs import PairCounts
from comparity.errors import ComparityError
from comparity.tables.files import read_table
from comparity.tables.layouts import to_comparisons
from tests.conftest import ENGINES

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "text": st.one_of(
        st.sampled_from(["", "a", "b", "007", "NA", "1", "0", "1e5", " 2", "inf", "true", "left"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    ),
    "number": st.one_of(
        st.sampled_from([0.0, 1.0, -0.0, math.nan, math.inf, -math.inf, 1e300, 5e-324]),
        st.floats(),
    ),
    "integer": st.one_of(st.integers(0, 3), st.integers(-(2**63), 2**63 - 1)),
    "flag": st.booleans(),
}
ANYTHING = st.one_of(
    *KINDS.values(), st.none(), st.integers(), st.dates(), st.binary(max_size=2), st.just(())
)


def one_kind(size: int) -> st.SearchStrategy[list[Any]]:
    kinds = [st.none() | kind for kind in KINDS.values()] + list(KINDS.values()) + [st.none()]
    columns = [st.lists(kind, min_size=size, max_size=size) for kind in kinds]
    few = [st.sampled_from(["a", "b"]), st.sampled_from([0, 1])]
    return st.one_of(*columns, *(st.lists(kind, min_size=size, max_size=size) for kind in few))


def any_kind(size: int) -> st.SearchStrategy[list[Any]]:
    return st.one_of(one_kind(size), st.lists(ANYTHING, min_size=size, max_size=size))


RIGHT: dict[str, list[Any]] = {
    "better": ["a", "b", "c", "a"],
    "worse": ["b", "c", "a", "b"],
    "judge": ["left", "right", "tie", "left"],
    "tied": [False, True, False, False],
    "item": ["a", "b", "c", "d"],
    "score": [0.5, 1.5, 0.5, 2.5],
    "sex": [1.0, 2.0, 1.0, 2.0],
    "better_score": [0.5, 1.5, 0.5, 0.5],
    "worse_score": [1.5, 0.5, 0.5, 1.5],
}


def tables(column: Any) -> st.SearchStrategy[dict[str, list[Any]]]:
    """Draw a right table with some columns made odd, cut to some number of rows."""

    def odd(size: int) -> st.SearchStrategy[dict[str, list[Any]]]:
        right = {name: st.just(values[:size]) for name, values in RIGHT.items()}
        return st.sets(st.sampled_from(list(RIGHT)), max_size=3).flatmap(
            lambda names: st.fixed_dictionaries(
                {name: column(size) if name in names else right[name] for name in RIGHT}
            )
        )

    return st.sampled_from([4, 4, 4, 4, 1, 0]).flatmap(odd)


def count_every_way(judged: Any, items: Any) -> None:
    """Run every counting function; what they return is checked, our errors are fine."""
    for design in ("auto", "fresh"):
        for options in ({}, {"evaluator": "judge", "tied": "tied"}, {"continuous": True}):
            with suppress(ComparityError):
                counts = count_comparisons(
                    judged, items, score="score", sensitive=["sex"], design=design, **options
                )
                assert isinstance(counts["sex"], PairCounts | JudgedPairs)
    for threshold in (None, 0.5):
        with suppress(ComparityError):
            decided = count_decisions(
                items, label="tied", prediction="score", sensitive=["sex"], threshold=threshold
            )
            assert isinstance(decided["sex"], DecisionCounts)
    with suppress(ComparityError):
        to_comparisons(judged, left="better", right="worse", winner="judge")
    with suppress(ComparityError):
        count_wide_comparisons(
            judged, better="better", worse="worse", score="score", sensitive=["score"]
        )
    with suppress(ComparityError):
        count_wide_comparisons(judged, score="score", sensitive=["score"], design="fresh")


@pytest.mark.parametrize("engine", ["polars", "pyarrow", "duckdb"])
@given(judged=tables(one_kind), items=tables(one_kind))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_odd_typed_tables_give_counts_or_our_errors(
    engine: str, judged: dict[str, list[Any]], items: dict[str, list[Any]]
) -> None:
    count_every_way(ENGINES[engine](judged), ENGINES[engine](items))


@given(judged=tables(any_kind), items=tables(any_kind))
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_odd_pandas_tables_give_counts_or_our_errors(
    judged: dict[str, list[Any]], items: dict[str, list[Any]]
) -> None:
    count_every_way(ENGINES["pandas"](judged), ENGINES["pandas"](items))


CELLS = st.sampled_from(["a", "b", "1", "0", "", '"', "\n", ",", "\r\n", "é", "\x00", "0.5", "\t"])


def as_csv(table: dict[str, list[Any]]) -> str:
    rows = zip(*table.values(), strict=True)
    return "\n".join(",".join(map(str, row)) for row in [tuple(table), *rows])


@given(table=tables(one_kind), tail=st.lists(CELLS, max_size=12).map("".join), raw=st.binary())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_odd_files_give_counts_or_our_errors(
    tmp_path: Path, table: dict[str, list[Any]], tail: str, raw: bytes
) -> None:
    paths = [tmp_path / "judged.csv", tmp_path / "items.csv"]
    paths[0].write_bytes(f"{as_csv(table)}\n{tail}".encode())
    paths[1].write_bytes(f"{as_csv(RIGHT)}\n".encode() + raw[:5])
    with suppress(ComparityError):
        count_every_way(read_table(paths[0]), read_table(paths[1]))
    with suppress(ComparityError):
        count_every_way(read_table(paths[1]), read_table(paths[0]))


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json", "jsonl", "csv.gz"])
@given(raw=st.binary(max_size=60))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_arbitrary_bytes_give_counts_or_our_errors(tmp_path: Path, ending: str, raw: bytes) -> None:
    path = tmp_path / f"table.{ending}"
    path.write_bytes(raw)
    with suppress(ComparityError):
        count_every_way(read_table(path), read_table(path))


@given(
    pairs=st.lists(st.lists(st.integers(-1, 4), min_size=2, max_size=2)) | st.just([[0, 1]]),
    columns=st.sampled_from([4, 4, 2, 0]).flatmap(lambda n: st.tuples(*[any_kind(n)] * 3)),
)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_odd_arrays_give_counts_or_our_errors(
    pairs: list[list[int]], columns: tuple[list[Any], list[Any], list[Any]]
) -> None:
    first, second, groups = columns
    for threshold in (None, 0.5):
        with suppress(ComparityError):
            decided = count_decision_arrays(
                first, second, sensitive={"g": groups}, threshold=threshold
            )
            assert isinstance(decided["g"], DecisionCounts)
    for continuous in (False, True):
        with suppress(ComparityError):
            judged = count_position_pairs(
                pairs, scores=first, sensitive={"g": groups}, continuous=continuous
            )
            assert isinstance(judged["g"], PairCounts | JudgedPairs)
