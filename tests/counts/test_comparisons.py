"""Judged pairs from tables: every engine and every path equals the plain loops."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comparity.counts.clusters import Clustering
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.judged_rows import count_comparisons, count_wide_comparisons
from comparity.counts.ledger import Ledger, count_position_pairs
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.errors import IncompatibleCountsError, OptionError
from tests.conftest import ENGINES, Build
from tests.plain.counting import (
    Item,
    Judgment,
    count_agreement,
    count_distinct,
    count_ties,
    is_shared,
)
from tests.tables.tables import (
    comparison_columns,
    item_columns,
    items,
    judgments,
    wide_columns,
)

OPTIONS: dict[str, Any] = {"tied": "tied", "score": "score", "sensitive": ["sex", "race"]}
BY_AGE: dict[str, Any] = {**OPTIONS, "sensitive": ["age"], "continuous": True}


def without_pairs(counts: Mapping[str, PairCounts | JudgedPairs]) -> dict[str, PairCounts]:
    return {
        name: one if isinstance(one, PairCounts) else one.fresh_counts()
        for name, one in counts.items()
    }


def assert_counts_equal_the_loops(
    counts: Mapping[str, PairCounts | JudgedPairs],
    rows: Sequence[Judgment],
    known: Mapping[str, Item],
) -> None:
    for attribute, found in without_pairs(counts).items():
        expected = count_agreement(rows, known, attribute)
        assert {tuple(c): (t.hits, t.trials, t.ties) for c, t in found.items()} == expected
        assert found.judgment_ties == count_ties(rows, known, attribute)


@given(rows=judgments, known=items)
@settings(max_examples=8, deadline=None)
def test_tables_with_items_equal_the_loops(
    frame: Build, rows: list[Judgment], known: dict[str, Item]
) -> None:
    tables = frame(comparison_columns(rows)), frame(item_columns(known))
    for design, options in itertools.product(["auto", "fresh"], [OPTIONS, BY_AGE]):
        counts = count_comparisons(*tables, design=design, **options)
        assert_counts_equal_the_loops(counts, rows, known)
        expected = JudgedPairs if is_shared(rows, evaluators=False) else PairCounts
        assert all(design == "fresh" or type(c) is expected for c in counts.values())


@given(rows=judgments, known=items)
@settings(max_examples=8, deadline=None)
def test_wide_tables_equal_the_loops(
    frame: Build, rows: list[Judgment], known: dict[str, Item]
) -> None:
    table = frame(wide_columns(rows, known))
    for options in (OPTIONS, BY_AGE):
        names = options["sensitive"]
        shown = {side: [known[getattr(r, side)] for r in rows] for side in ("better", "worse")}
        seen = [*shown["better"], *shown["worse"]]
        values = [{i.age if n == "age" else i.groups[n] for i in seen} for n in names]
        if min(map(len, values)) < 2 or (options is BY_AGE and _all_equal(shown)):
            continue
        counts = count_wide_comparisons(table, design="fresh", **options)
        assert_counts_equal_the_loops(counts, rows, known)


def _all_equal(shown: Mapping[str, Sequence[Item]]) -> bool:
    return all(b.age == w.age for b, w in zip(shown["better"], shown["worse"], strict=True))


@given(rows=judgments, known=items)
@settings(max_examples=8, deadline=None)
def test_the_ledger_holds_every_distinct_judgment_and_how_often_it_was_made(
    frame: Build, rows: list[Judgment], known: dict[str, Item]
) -> None:
    tables = frame(comparison_columns(rows)), frame(item_columns(known))
    counts = count_comparisons(*tables, evaluator="evaluator", design="shared", **OPTIONS)["sex"]
    assert isinstance(counts, JudgedPairs)
    assert counts.evaluator is not None
    names = sorted(known)
    found = {
        (names[b], names[w], counts.evaluators[e]): int(n)
        for b, w, e, n in zip(
            counts.better, counts.worse, counts.evaluator, counts.trials, strict=True
        )
    }
    assert found == count_distinct(rows)
    assert len(found) == len(counts)


@given(rows=judgments, known=items)
@settings(max_examples=6, deadline=None)
def test_all_engines_and_arrays_agree_on_the_ledger(
    frame: Build, rows: list[Judgment], known: dict[str, Item]
) -> None:
    ordered = dict(sorted(known.items()))
    place = {name: position for position, name in enumerate(ordered)}
    columns = item_columns(ordered)
    arrays = count_position_pairs(
        [(place[r.better], place[r.worse]) for r in rows if not r.tied],
        tied_pairs=[(place[r.better], place[r.worse]) for r in rows if r.tied],
        scores=columns["score"],
        sensitive={name: columns[name] for name in ("sex", "race")},
        evaluators=[r.evaluator for r in rows if not r.tied],
        intersection=True,
    )
    tables = count_comparisons(
        frame(comparison_columns(rows)),
        frame(item_columns(known)),
        evaluator="evaluator",
        intersection=True,
        **OPTIONS,
    )
    assert list(tables) == ["sex", "race", "sex & race"]
    for name, counts in tables.items():
        assert type(counts) is type(arrays[name])
        assert without_pairs(tables)[name] == without_pairs(arrays)[name]


@pytest.mark.long
@given(rows=judgments, known=items, cut=st.integers(0, 12))
@settings(max_examples=20, deadline=None)
def test_counting_in_parts_and_adding_equals_counting_the_whole(
    rows: list[Judgment], known: dict[str, Item], cut: int
) -> None:
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    table = ENGINES["polars"](item_columns(known))
    for design, evaluator in itertools.product(["fresh", "shared"], [None, "evaluator"]):
        options = {**OPTIONS, "design": design, "evaluator": evaluator}
        counted = [
            count_comparisons(ENGINES["polars"](comparison_columns(part)), table, **options)["race"]
            for part in parts
        ]
        total: Any = counted[0] if len(counted) == 1 else counted[0] + counted[1]  # type: ignore[operator]
        whole = count_comparisons(ENGINES["polars"](comparison_columns(rows)), table, **options)
        assert total == whole["race"]


@given(rows=judgments, known=items)
@settings(max_examples=6, deadline=None)
def test_wide_rows_with_ids_equal_the_same_rows_with_an_item_table(
    frame: Build, rows: list[Judgment], known: dict[str, Item]
) -> None:
    used = {name for row in rows for name in (row.better, row.worse)}
    present = {name: item for name, item in known.items() if name in used}
    if min(len({i.groups[n] for i in present.values()}) for n in ("sex", "race")) < 2:
        return
    ids = {"better": "better", "worse": "worse", "evaluator": "evaluator", "design": "shared"}
    wide = count_wide_comparisons(frame(wide_columns(rows, known)), **ids, **OPTIONS)
    tables = frame(comparison_columns(rows)), frame(item_columns(present))
    assert wide == count_comparisons(*tables, **ids, **OPTIONS)


@pytest.mark.parametrize("other", list(ENGINES))
def test_items_of_another_engine_travel_to_that_of_the_comparisons(
    frame: Build, other: str
) -> None:
    judged = {"better": [3, 1, 2], "worse": [1, 2, 3]}
    known = {"item": [1, 2, 3], "score": [0.5, 1.5, 0.5], "sex": ["f", "m", "f"]}
    options = {"score": "score", "sensitive": ["sex"]}
    mixed = count_comparisons(frame(judged), ENGINES[other](known), **options)["sex"]
    assert isinstance(mixed, JudgedPairs)
    assert mixed.tallies() == {
        Cell("f", "f"): Tally(0, 1, 1),
        Cell("f", "m"): Tally(0, 1),
        Cell("m", "f"): Tally(1, 1),
    }


def test_items_of_another_duckdb_connection_travel_too() -> None:
    duckdb = pytest.importorskip("duckdb")
    judged = duckdb.connect().sql("select 'a' as better, 'b' as worse")
    known = duckdb.connect().sql(
        "select * from (values ('a', 1, 'f'), ('b', 2, 'm')) t(item, s, g)"
    )
    counts = count_comparisons(judged, known, score="s", sensitive=["g"])
    assert counts["g"] == PairCounts({Cell("f", "m"): Tally(0, 1)})


@pytest.mark.parametrize(
    ("ids", "written"), [([1, 2], ["1", "2"]), ([1.0, 2.0], [1, 2]), (["1", "2"], [1.0, 2.0])]
)
def test_ids_of_different_types_are_compared_as_text(
    frame: Build, ids: list[Any], written: list[Any]
) -> None:
    judged = frame({"better": [written[0]], "worse": [written[1]]})
    known = frame({"item": ids, "score": [2, 1], "group": [0.0, 1.0]})
    counts = count_comparisons(judged, known, score="score", sensitive=["group"])
    assert counts["group"] == PairCounts({Cell("0", "1"): Tally(1, 1)})


def test_parts_counted_against_other_scores_cannot_be_added() -> None:
    judged = ENGINES["polars"]({"better": ["a", "a"], "worse": ["b", "b"]})
    counted = [
        count_comparisons(
            judged,
            ENGINES["polars"]({"item": ["a", "b"], "score": scores, "sex": ["f", "m"]}),
            score="score",
            sensitive=["sex"],
        )["sex"]
        for scores in ([1.0, 2.0], [2.0, 1.0])
    ]
    with pytest.raises(IncompatibleCountsError, match="item table"):
        counted[0] + counted[1]  # type: ignore[operator]


def test_tied_judgments_are_no_use_of_an_item(frame: Build) -> None:
    judged = frame({"better": ["a", "a"], "worse": ["b", "b"], "tie": [False, True]})
    known = frame({"item": ["a", "b"], "score": [2, 1], "sex": ["f", "m"]})
    counts = count_comparisons(judged, known, tied="tie", score="score", sensitive=["sex"])
    assert counts["sex"] == PairCounts({Cell("f", "m"): Tally(1, 1)}, {("f", "m"): 1})


def test_one_evaluator_who_judges_twice_makes_the_design_shared(frame: Build) -> None:
    judged = frame({"better": ["a", "c"], "worse": ["b", "d"], "judge": ["x", "x"]})
    known = frame({"item": list("abcd"), "score": [1, 2, 3, 4], "sex": ["f", "m", "f", "m"]})
    options = {"score": "score", "sensitive": ["sex"]}
    assert type(count_comparisons(judged, known, **options)["sex"]) is PairCounts
    shared = count_comparisons(judged, known, evaluator="judge", **options)["sex"]
    assert type(shared) is JudgedPairs


def test_ids_too_large_for_signed_integers_are_joined_as_text() -> None:
    polars = pytest.importorskip("polars")
    ids = [2**64 - 1, 2**63]
    judged = polars.DataFrame(
        {"better": [ids[0]], "worse": [ids[1]]}, schema_overrides={"better": polars.UInt64}
    )
    known = polars.DataFrame({"item": ids, "score": [2, 1], "sex": ["f", "m"]})
    counts = count_comparisons(judged, known, score="score", sensitive=["sex"])
    assert counts["sex"] == PairCounts({Cell("f", "m"): Tally(1, 1)})


def test_intersections_that_would_be_called_alike_are_refused() -> None:
    judged = ENGINES["polars"]({"better": ["a"], "worse": ["b"]})
    known = ENGINES["polars"](
        {"item": ["a", "b"], "score": [1, 2], "x": ["p & q", "p"], "y": ["r", "q & r"]}
    )
    with pytest.raises(OptionError, match="p & q & r"):
        count_comparisons(judged, known, score="score", sensitive=["x", "y"], intersection=True)


def test_one_column_name_is_not_a_list_of_letters() -> None:
    judged = ENGINES["polars"]({"better": ["a"], "worse": ["b"]})
    with pytest.raises(OptionError, match="a list of one or more"):
        count_comparisons(judged, judged, score="score", sensitive="sex")


def test_whole_numbers_beyond_two_to_the_53_are_scores_on_every_engine(
    frame: Build,
) -> None:
    judged = frame({"better": ["a", "b", "c"], "worse": ["b", "c", "d"]})
    scores = [2**53 + 1, 5, -(2**60) - 3, -7]
    items = frame({"item": list("abcd"), "s": scores, "g": ["x", "y", "x", "y"]})
    counts = count_comparisons(judged, items, score="s", sensitive=["g"])["g"]
    assert {str(cell): tally.hits for cell, tally in counts.tallies().items()} == {
        "x > y": 1,
        "y > x": 1,
    }


def test_both_kinds_of_text_that_pyarrow_has_are_joined() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    ids = pyarrow.array(["a", "b"])
    judged = pyarrow.table({"better": ids.take([0]), "worse": ids.take([1])})
    items = {"item": ids.cast(pyarrow.large_string()), "score": [2.0, 1.0], "sex": ["f", "m"]}
    counts = count_comparisons(judged, pyarrow.table(items), score="score", sensitive=["sex"])
    assert dict(counts["sex"]) == {Cell("f", "m"): Tally(1, 1)}


def test_distinct_rows_lose_clusters_of_one_row_each() -> None:
    places = np.arange(3)
    alone = {"prompt": Clustering(places, ("a", "b", "c"))}
    known = {"better": places, "worse": places + 1, "trials": np.ones(3, dtype=np.int64)}
    none = dict.fromkeys(("tied_first", "tied_second", "tied_trials"), np.empty(0, np.int64))
    ledger = Ledger(evaluator=None, evaluators=(), clusters=alone, **known, **none)
    once = ledger.distinct(4)
    assert not once.clusters
    assert once.distinct(4) is once
    assert not replace(ledger, is_distinct=True).distinct(4).clusters
