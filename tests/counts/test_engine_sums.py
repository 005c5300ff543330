"""Sums of judged pairs that engines take are those of single pairs, which the plain loops define.

`JudgedPairs` is tested by the double loop over judgments (`tests/plain/dyadic.py`,
`tests/plain/item_skewness.py`); here every number of it has to come out of group-bys.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import duckdb
import numpy as np
import pytest

from comparity.comparative.audit import audit_frames
from comparity.counts import engine_rows, engine_sums, judged_rows, judgments_in_memory
from comparity.counts.judged_pairs import JudgedPairs, item_residuals
from comparity.counts.judged_rows import count_comparisons, count_wide_comparisons
from comparity.counts.kernels import touches
from comparity.counts.pairs import PairCounts
from comparity.counts.running_moments import RunningPairs
from comparity.errors import (
    EmptyTableError,
    MissingValueError,
    NonBinaryError,
    SelfComparisonError,
    UnknownItemError,
)
from comparity.tables.memory import current_limits
from tests.comparative.test_state_tables import assert_same_counts
from tests.conftest import ENGINES
from tests.plain.counting import Item, Judgment
from tests.tables.tables import IDS, comparison_columns, item_columns, wide_columns

DUCKDB = ENGINES["duckdb"]
OPTIONS: dict[str, Any] = {
    "tied": "tied",
    "score": "score",
    "sensitive": ["sex", "race"],
    "intersection": True,
}


# What a judgment takes of the memory, as numbers and as a row that the engine stored; and how many
# counts by evaluator and heaps of items are few.
NOTHING, TOO_MUCH = 1, 10**18
WAYS = {
    "as numbers": (NOTHING, NOTHING, touches.FEW_COUNTS, touches.MOST_HEAPS),
    "as numbers, sorted": (NOTHING, NOTHING, 0, 2),
    "stored, then in memory": (TOO_MUCH, NOTHING, touches.FEW_COUNTS, 2),
    "on the engine": (TOO_MUCH, TOO_MUCH, 0, 1),
}


@pytest.fixture(autouse=True, params=WAYS)
def _everything_is_many(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    usual, judged_rows.MOST_COLLECTED = judged_rows.MOST_COLLECTED, 0
    as_number, as_row, few_counts, heaps = WAYS[request.param]
    monkeypatch.setattr(touches, "FEW_COUNTS", few_counts)
    monkeypatch.setattr(touches, "MOST_HEAPS", heaps)
    monkeypatch.setattr(engine_rows, "BYTES_CODED", as_number)
    for name in ("BYTES_AT_ONCE", "BYTES_PER_JUDGMENT"):
        monkeypatch.setattr(judgments_in_memory, name, as_row)
    yield
    judged_rows.MOST_COLLECTED = usual


def only(way: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("_everything_is_many", [way], indirect=True)


on_the_engine = only("on the engine")


def assert_same_sums(found: Any, expected: Any) -> None:
    assert type(found) is (PairCounts if type(expected) is PairCounts else RunningPairs)
    if isinstance(expected, PairCounts):
        assert found == expected
        return
    assert_same_counts(found.shared_counts(), expected.shared_counts())
    cells = [*expected.tallies()]
    sides = [((one,), (two,)) for one in cells for two in cells if one != two]
    for score_ties in ("disagree", "half"):
        residuals = item_residuals(expected, expected.trials.astype(float), score_ties)
        cumulants = [residuals.third_cumulant(*one) for one in sides]
        assert found.third_cumulants(sides, score_ties) == pytest.approx(cumulants, abs=1e-12)


def draw(seed: int) -> tuple[list[Judgment], dict[str, Item]]:
    """Draw judgments of six items, some of them alike, some tied, with scores that tie."""
    rng = np.random.default_rng(seed)
    known = {
        name: Item(float(rng.integers(3)), {"sex": "fm"[k % 2], "race": "xyz"[k % 3]}, 1.0)
        for k, name in enumerate(IDS)
    }
    names = [rng.permutation(IDS)[:2] for _ in range(25)]
    rows = [
        Judgment(*pair, str(rng.choice(list("uvw"))), bool(rng.random() < 0.2)) for pair in names
    ]
    return rows, known


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("who", [{}, {"evaluator": "evaluator"}])
def test_sums_on_duckdb_equal_those_of_single_pairs(seed: int, who: dict[str, str]) -> None:
    rows, known = draw(seed)
    tables = DUCKDB(comparison_columns(rows)), DUCKDB(item_columns(known))
    listed = count_comparisons(*tables, **OPTIONS, **who)
    summed = count_comparisons(*tables, **OPTIONS, **who, may_sum=True)
    assert summed.keys() == listed.keys()
    for name, expected in listed.items():
        assert_same_sums(summed[name], expected)


@on_the_engine
def test_cubes_of_many_items_are_taken_on_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_sums, "FEW_SUMS", 0)
    tables = [DUCKDB(one) for one in (comparison_columns(draw(3)[0]), item_columns(draw(3)[1]))]
    choices = {**OPTIONS, "sensitive": ["sex"], "intersection": False}
    listed = count_comparisons(*tables, **choices)["sex"]
    assert_same_sums(count_comparisons(*tables, **choices, may_sum=True)["sex"], listed)


@on_the_engine
@pytest.mark.parametrize(("times", "has_room"), [(1, True), (900, False)])
def test_counts_are_digits_of_a_number_where_they_have_room(
    monkeypatch: pytest.MonkeyPatch, times: int, has_room: bool
) -> None:
    packed, found = engine_sums._EngineJudgments._packed_products, []

    def spy(*given: Any) -> Any:
        found.append(packed(*given))
        return found[-1]

    monkeypatch.setattr(engine_sums._EngineJudgments, "_packed_products", spy)
    rows, known = draw(4)
    tables = DUCKDB(comparison_columns(rows * times)), DUCKDB(item_columns(known))
    choices = {**OPTIONS, "sensitive": ["sex"], "intersection": False, "evaluator": "evaluator"}
    listed = count_comparisons(*tables, **choices)["sex"]
    assert_same_sums(count_comparisons(*tables, **choices, may_sum=True)["sex"], listed)
    assert [one is not None for one in found] == [has_room]


@pytest.mark.parametrize("who", [{}, {"evaluator": "evaluator"}])
def test_a_pair_may_be_judged_some_million_times(who: dict[str, str]) -> None:
    # Its cube has more than 64 bits from 2.1 million judgments on.
    home = duckdb.connect()
    judged = home.sql(
        """select if(i % 3 = 0, 'b', 'a') as better, if(i % 3 = 0, 'a', 'b') as worse, 'u' as
        evaluator from range(3 * 2_100_000) t(i) union all select 'b', 'c', 'v'"""
    )
    items = home.sql(
        "select * from (values ('a', 'f', 2), ('b', 'm', 1), ('c', 'f', 0)) t(item, sex, s)"
    )
    found = count_comparisons(judged, items, score="s", sensitive=["sex"], **who, may_sum=True)
    cubes = found["sex"].moments.cubes
    assert sorted(cubes.tolist()) == [1.0, pytest.approx(2.1e6**3), pytest.approx(4.2e6**3)]


def test_rows_with_scores_and_groups_are_summed_alike() -> None:
    table = DUCKDB(wide_columns(*draw(2)))
    ids = {"better": "better", "worse": "worse"}
    listed = count_wide_comparisons(table, **ids, **OPTIONS)
    for name, found in count_wide_comparisons(table, **ids, **OPTIONS, may_sum=True).items():
        assert_same_sums(found, listed[name])


def test_fresh_pairs_are_seen_to_be_fresh() -> None:
    rows = [Judgment("007", "NA", "u", False), Judgment("2", "10", "v", False)]
    tables = DUCKDB(comparison_columns(rows)), DUCKDB(item_columns(draw(0)[1]))
    choices = {**OPTIONS, "evaluator": "evaluator"}
    listed = count_comparisons(*tables, **choices)
    assert all(isinstance(one, PairCounts) for one in listed.values())
    assert count_comparisons(*tables, **choices, may_sum=True) == listed


def panel(n: int = 900, n_items: int = 60) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(5)
    quality = rng.normal(size=n_items)
    one = rng.integers(0, n_items, n)
    two = (one + rng.integers(1, n_items, n)) % n_items
    first = quality[one] > quality[two]
    judge = rng.integers(0, 12, n).astype(str).astype(object)
    better, worse = np.where(first, one, two), np.where(first, two, one)
    judged = {"better": better, "worse": worse, "judge": judge}
    # Two items lose every pair, so that items are skewed, and permuted.
    scores = np.where(np.arange(n_items) < 2, -9.0, quality)
    groups = np.array(["a", "b", "b"] * (n_items // 3), dtype=object)
    return judged, {"item": np.arange(n_items), "score": scores, "sex": groups}


@pytest.mark.parametrize("who", [{}, {"evaluator": "judge"}])
def test_a_whole_audit_is_the_same_permutations_included(who: dict[str, str]) -> None:
    tables = tuple(duckdb.from_arrow(_arrow(one)) for one in panel())
    choices: dict[str, Any] = {"score": "score", "sensitive": ("sex",), **who}
    summed = audit_frames(*tables, **choices)
    judged_rows.MOST_COLLECTED = 10**6
    listed = audit_frames(*tables, **choices)
    assert_alike(summed.to_dict(), listed.to_dict())
    assert any("permutation" in test.method for test in summed.tests)


@only("stored, then in memory")
@pytest.mark.parametrize("who", [{}, {"evaluator": "judge"}])
def test_judgments_of_some_items_at_a_time_add_up(
    who: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BYTES_AT_ONCE", "BYTES_PER_JUDGMENT"):
        monkeypatch.setattr(judgments_in_memory, name, current_limits().memory // 200)
    check_parts(who, monkeypatch)


@only("as numbers")
@pytest.mark.parametrize("who", [{}, {"evaluator": "judge"}])
def test_lists_of_some_items_at_a_time_add_up(
    who: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judgments_in_memory, "TOUCHES_SHARE", current_limits().memory // 2000)
    check_parts(who, monkeypatch)


def check_parts(who: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that judgments come in parts, and that these add up."""
    bring, parts = judgments_in_memory._Brought.bring, []

    def spy(brought: Any, first: int, last: int) -> Any:
        parts.append((first, last))
        return bring(brought, first, last)

    monkeypatch.setattr(judgments_in_memory._Brought, "bring", spy)
    tables = tuple(duckdb.from_arrow(_arrow(one)) for one in panel())
    choices: dict[str, Any] = {"score": "score", "sensitive": ["sex"], **who}
    listed = count_comparisons(*tables, **choices)["sex"]
    assert_same_sums(count_comparisons(*tables, **choices, may_sum=True)["sex"], listed)
    assert len(parts) > 5
    assert [0, *(last for _, last in parts)] == [*(first for first, _ in parts), 61]


@only("as numbers")
@pytest.mark.parametrize("factor", [1, -1, 5, 10**15, 2**57])
def test_whole_numbers_are_looked_up_or_joined_wherever_they_lie(factor: int) -> None:
    judged, known = panel(n_items=30)
    for table, names in ((judged, ("better", "worse")), (known, ("item",))):
        table |= {name: table[name] * factor + 7 for name in names}
    judged["judge"] = judged["judge"].astype(np.int64) % 5
    tables = tuple(duckdb.from_arrow(_arrow(one)) for one in (judged, known))
    choices: dict[str, Any] = {"score": "score", "sensitive": ["sex"], "evaluator": "judge"}
    listed = count_comparisons(*tables, **choices)["sex"]
    assert_same_sums(count_comparisons(*tables, **choices, may_sum=True)["sex"], listed)


@only("as numbers")
@pytest.mark.parametrize(
    ("id_", "error"),
    [(-1, UnknownItemError), (60, UnknownItemError), (2**62, UnknownItemError), (1, None)],
)
def test_whole_numbers_that_are_no_item_are_refused(
    id_: int, error: type[Exception] | None
) -> None:
    judged, known = panel()
    judged["better"] = np.append(judged["better"], id_)
    judged["worse"], judged["judge"] = (
        np.append(judged[name], judged[name][:1]) for name in ("worse", "judge")
    )
    judged["worse"][-1] = 2
    tables = tuple(duckdb.from_arrow(_arrow(one)) for one in (judged, known))
    raises = nullcontext() if error is None else pytest.raises(error)
    with raises:
        count_comparisons(*tables, score="score", sensitive=["sex"], may_sum=True)


@only("as numbers")
def test_whole_numbers_may_be_missing_which_is_refused() -> None:
    judged, known = panel()
    judged["better"] = [None, *judged["better"][1:].tolist()]
    tables = tuple(duckdb.from_arrow(_arrow(one)) for one in (judged, known))
    with pytest.raises(MissingValueError, match="better"):
        count_comparisons(*tables, score="score", sensitive=["sex"], may_sum=True)


@only("as numbers")
def test_few_different_judgments_are_listed_and_many_are_not() -> None:
    tables = tuple(duckdb.from_arrow(_arrow(one)) for one in panel())
    found = count_comparisons(*tables, score="score", sensitive=["sex"], may_sum=True)["sex"]
    assert isinstance(found, RunningPairs)
    assert found.list_pairs is not None
    listed = found.list_pairs(900)
    assert listed is not None
    different = len(listed)
    assert found.list_pairs(different) is not None
    assert found.list_pairs(different - 1) is None
    assert found.list_pairs(3) is None


def assert_alike(found: Any, expected: Any) -> None:
    """Compare answers: numbers that were added up in another order to 1e-9, all else exactly."""
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = [*found.values()], [*expected.values()]
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, two in zip(found, expected, strict=True):
            assert_alike(one, two)
    else:
        exact = not isinstance(expected, float)
        assert found == (expected if exact else pytest.approx(expected, rel=1e-9, abs=1e-12))


def _arrow(columns: dict[str, Any]) -> Any:
    import pyarrow

    return pyarrow.table({name: pyarrow.array(list(one)) for name, one in columns.items()})


@on_the_engine
def test_nothing_is_left_on_the_connection_of_the_tables() -> None:
    home = duckdb.connect()
    judged, known = (home.from_arrow(_arrow(one)) for one in panel())
    counts = count_comparisons(judged, known, score="score", sensitive=["sex"], may_sum=True)
    tables = "select count(*) from duckdb_tables() where temporary"
    assert home.sql(tables).fetchall() != [(0,)]
    del counts
    gc.collect()
    assert home.sql(tables).fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ({"better": ["a", "x"]}, UnknownItemError),
        ({"better": ["a", "d"]}, SelfComparisonError),
        ({"judge": ["x", None]}, MissingValueError),
        ({"tie": ["true", "perhaps"]}, NonBinaryError),
        ({"better": [], "worse": [], "judge": [], "tie": []}, EmptyTableError),
    ],
)
def test_broken_rows_are_refused_on_the_engine(
    broken: dict[str, list[Any]], error: type[Exception]
) -> None:
    judged = {"better": ["a", "c"], "worse": ["b", "d"], "judge": ["x", "y"], "tie": ["0", "0"]}
    known = {"item": list("abcd"), "score": [0.9, 0.2, 0.4, 0.1], "sex": ["f", "m", "f", "m"]}
    told: dict[str, Any] = {"evaluator": "judge", "tied": "tie", "score": "score"}
    with pytest.raises(error):
        count_comparisons(
            _table(judged | broken), DUCKDB(known), **told, sensitive=["sex"], may_sum=True
        )


def _table(columns: dict[str, list[Any]]) -> Any:
    import pyarrow

    kinds = {name: pyarrow.array(one, pyarrow.string()) for name, one in columns.items()}
    return duckdb.from_arrow(pyarrow.table(kinds))


def test_nothing_but_ties_has_no_moments() -> None:
    judged = {"better": ["a", "c"], "worse": ["b", "d"], "tied": [True, True]}
    known = {"item": list("abcd"), "score": [0.9, 0.2, 0.4, 0.1], "sex": ["f", "m", "f", "m"]}
    asked: dict[str, Any] = {"tied": "tied", "score": "score", "sensitive": ["sex"]}
    counts = count_comparisons(DUCKDB(judged), DUCKDB(known), **asked, may_sum=True)
    assert isinstance(counts["sex"], PairCounts)
    assert counts["sex"].judgment_ties == {("f", "m"): 2}


def test_so_many_kinds_of_judgments_are_listed() -> None:
    names = [f"g{k}" for k in range(40)]
    known = {"item": names, "score": [float(k) for k in range(40)], "sex": names}
    judged = {"better": names, "worse": names[1:] + names[:1]}
    asked: dict[str, Any] = {"score": "score", "sensitive": ["sex"], "may_sum": True}
    assert isinstance(count_comparisons(DUCKDB(judged), DUCKDB(known), **asked)["sex"], JudgedPairs)
