"""Both tasks of a study compared: what is read, what is left out, and what is told."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from comparity import compare_tasks
from comparity.datasets.simulated_tasks import SimulatedTasks, simulate_tasks
from comparity.errors import (
    EmptyTableError,
    MissingColumnError,
    MissingValueError,
    NotNumericError,
    SelfComparisonError,
    StudyError,
    UnknownItemError,
    UnknownWinnerError,
)
from comparity.results.result import read_result
from comparity.tasks.answers import columns_of, items_named, read_comparisons, read_ratings
from comparity.tasks.result import TaskComparison
from tests.plain import concordance as plain


@pytest.fixture(scope="module")
def study() -> SimulatedTasks:
    return simulate_tasks(n_judges=24, rng=np.random.default_rng(4))


def compare(study: SimulatedTasks, **choices: Any) -> TaskComparison:
    named = {"sensitive": "group", "score": "score", **choices}
    return compare_tasks(study.comparisons, study.ratings, study.items, **named)


def with_cell(table: Any, column: str, value: object) -> Any:
    changed = table[column].astype(object).copy()
    changed[3] = value
    return {**table, column: changed}


def test_ratings_of_one_judge_order_all_pairs() -> None:
    table = {
        "item": np.array(["x", "y", "z", "x", "y", "x"], dtype=object),
        "rating": np.array([5, 3, 3, 2, 6, 1]),
        "evaluator": np.array(["j"] * 5 + ["k"], dtype=object),
        "repeated": np.array([False, False, False, True, True, False]),
    }
    items = items_named(table["item"])
    found = read_ratings(columns_of(table, "ratings", ()), items, 120.0)
    told = {(low, high): o for low, high, o in zip(*_columns(found.orders), strict=True)}
    assert told == {(0, 1): 1, (0, 2): 1, (1, 2): 0}
    # x over y at first and y over x later is a contradiction.
    assert list(zip(*_columns(found.again), strict=True)) == [(0, 1, -1)]
    assert found.n_first.tolist() == [3, 1]


def test_a_swapped_pair_is_put_beside_the_first_answer() -> None:
    table = {
        "left": np.array(["x", "y", "z", "z"], dtype=object),
        "right": np.array(["y", "x", "x", "y"], dtype=object),
        "winner": np.array(["left", "right", "tie", "right"], dtype=object),
        "evaluator": np.array(["j", "j", "j", "k"], dtype=object),
        "swapped": np.array([False, True, False, False]),
        "how": np.array(["random", "random", "random", "chosen"], dtype=object),
        "milliseconds": np.array([1000, 2000, None, 9000], dtype=object),
    }
    items = items_named(table["left"], table["right"])
    found, n_chosen = read_comparisons(columns_of(table, "comparisons", ()), items, 1.5)
    assert n_chosen == 1
    assert list(zip(*_columns(found.orders), strict=True)) == [(0, 1, 1), (0, 2, 0)]
    assert list(zip(*_columns(found.again), strict=True)) == [(0, 1, 1)]
    assert (found.seconds.tolist(), found.n_pauses, found.n_untimed) == ([1.0], 1, 1)


def _columns(orders: Any) -> tuple[list[int], list[int], list[int]]:
    return orders.low.tolist(), orders.high.tolist(), orders.order.tolist()


def test_kinds_of_pairs_have_the_shares_they_have_among_comparisons() -> None:
    study = simulate_tasks(
        n_judges=8, n_items=12, each=6, each_rated=7, rng=np.random.default_rng(8)
    )
    place = {name: at for at, name in enumerate(study.items["item"])}
    group = dict(enumerate(study.items["group"]))
    ratings: dict[str, dict[int, int]] = {}
    for who, item, rating, again in zip(
        *(study.ratings[key] for key in ("evaluator", "item", "rating", "repeated")), strict=True
    ):
        if not again:
            ratings.setdefault(who, {})[place[item]] = rating
    orders = [
        (number, low, high, int(np.sign(given[low] - given[high])))
        for number, given in enumerate(ratings.values())
        for low, high in combinations(sorted(given), 2)
    ]
    shown = Counter(
        "".join(sorted((group[place[left]], group[place[right]])))
        for left, right, again in zip(
            *(study.comparisons[key] for key in ("left", "right", "swapped")), strict=True
        )
        if not again
    )
    kinds = ["".join(sorted((group[low], group[high]))) for _, low, high, _ in orders]
    weights = [shown[kind] / kinds.count(kind) for kind in kinds]
    expected = plain.mean(plain.between_judges(orders, weights))
    assert compare(study)["agreement"].ratings.value == pytest.approx(expected)


@pytest.mark.parametrize("column", ["left", "right"])
def test_items_that_are_not_known_are_named(study: SimulatedTasks, column: str) -> None:
    changed = replace(study, comparisons=with_cell(study.comparisons, column, "nobody"))
    with pytest.raises(UnknownItemError, match="nobody"):
        compare(changed)


@pytest.mark.parametrize(
    ("table", "column", "value", "error"),
    [
        ("comparisons", "winner", "skip", UnknownWinnerError),
        ("comparisons", "evaluator", None, MissingValueError),
        ("ratings", "rating", "good", NotNumericError),
        ("ratings", "item", None, MissingValueError),
    ],
)
def test_what_cannot_be_read_is_named(
    study: SimulatedTasks, table: str, column: str, value: object, error: type[Exception]
) -> None:
    with pytest.raises(error, match=column):
        compare(replace(study, **{table: with_cell(getattr(study, table), column, value)}))


def test_a_pair_of_one_item_is_refused(study: SimulatedTasks) -> None:
    own = with_cell(study.comparisons, "left", study.comparisons["right"][3])
    with pytest.raises(SelfComparisonError):
        compare(replace(study, comparisons=own))


def test_who_did_both_tasks_is_refused(study: SimulatedTasks) -> None:
    with pytest.raises(StudyError, match="'judge 2'"):
        compare(replace(study, ratings=with_cell(study.ratings, "evaluator", "judge 2")))


def test_both_tables_are_needed(study: SimulatedTasks) -> None:
    empty = {name: column[:0] for name, column in study.ratings.items()}
    with pytest.raises(EmptyTableError, match="ratings"):
        compare(replace(study, ratings=empty))
    without = {name: column for name, column in study.ratings.items() if name != "rating"}
    with pytest.raises(MissingColumnError, match="rating"):
        compare(replace(study, ratings=without))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: compare_tasks(one.comparisons, one.ratings), "groups and scores"),
        (lambda one: compare(_first_judges(one, 8)), "fewer than 5 judges"),
        (lambda one: compare(_without_times(one)), "no times"),
        (lambda one: compare(_with_useless_model(one)), "chance"),
    ],
)
def test_why_minutes_are_not_known_is_said(
    study: SimulatedTasks, change: Callable[[SimulatedTasks], TaskComparison], why: str
) -> None:
    found = change(study)
    assert math.isnan(found["minutes"].value)
    assert why in found["minutes"].about
    assert found.fewer_minutes == "undecided"
    assert why in str(found)


def _first_judges(study: SimulatedTasks, n: int) -> SimulatedTasks:
    kept = [f"judge {number}" for number in range(1, n + 1)]
    tables = (
        {name: column[np.isin(table["evaluator"], kept)] for name, column in table.items()}
        for table in (study.comparisons, study.ratings)
    )
    return replace(study, **dict(zip(("comparisons", "ratings"), tables, strict=True)))


def _without_times(study: SimulatedTasks) -> SimulatedTasks:
    tables = (
        {name: column for name, column in table.items() if name != "milliseconds"}
        for table in (study.comparisons, study.ratings)
    )
    return replace(study, **dict(zip(("comparisons", "ratings"), tables, strict=True)))


def _with_useless_model(study: SimulatedTasks) -> SimulatedTasks:
    return replace(study, items={**study.items, "score": -np.asarray(study.items["score"])})


def test_too_few_pairs_of_judges_who_met_have_no_interval() -> None:
    study = simulate_tasks(n_judges=10, n_items=40, each=10, rng=np.random.default_rng(1))
    found = compare(study)["agreement"]
    assert math.isfinite(found.comparisons.value)
    assert not found.is_known
    assert "fewer than 5 pairs of judges met" in found.about


def test_flagged_judges_are_kept_unless_asked(study: SimulatedTasks) -> None:
    tables = [
        {**table, "flagged": table["evaluator"] == name}
        for table, name in ((study.comparisons, "judge 2"), (study.ratings, "judge 1"))
    ]
    marked = replace(study, comparisons=tables[0], ratings=tables[1])
    assert compare(marked).n_dropped == 0
    dropped = compare(marked, drop_flagged=True)
    assert (dropped.n_dropped, dropped.n_raters, dropped.n_comparers) == (88, 11, 11)


def test_a_halved_gap_needs_four_times_the_minutes(study: SimulatedTasks) -> None:
    one, two = compare(study, gap=0.1)["minutes"], compare(study, gap=0.05)["minutes"]
    assert two.ratings.value / one.ratings.value == pytest.approx(4)
    assert two.comparisons.value / one.comparisons.value == pytest.approx(4)
    assert two.value == pytest.approx(one.value)


def test_a_clock_that_runs_twice_as_fast_halves_minutes(study: SimulatedTasks) -> None:
    times = {**study.ratings, "milliseconds": study.ratings["milliseconds"] / 2}
    slow, fast = compare(study, longest=1e6), compare(replace(study, ratings=times), longest=1e6)
    assert fast["minutes"].value / slow["minutes"].value == pytest.approx(0.5)
    assert fast["time"].value / slow["time"].value == pytest.approx(0.5)


def test_certainty_counts_reversed(study: SimulatedTasks) -> None:
    asked = {
        "evaluator": ["judge 1", "judge 1", "judge 2", "judge 3", "judge 4"],
        "question": ["certainty", "hurry", "certainty", "hurry", "hurry"],
        "answer": [2, 5, 7, 3, 4],
    }
    found = compare(study, questionnaire=asked)
    # Judges 1 and 3 rate: (6 + 5) / 2 and 3; judges 2 and 4 compare: 1 and 4.
    assert found["effort"].ratings.value == pytest.approx((5.5 + 3) / 2)
    assert found["effort"].comparisons.value == pytest.approx((1 + 4) / 2)
    assert found["effort: certainty"].comparisons.value == 7


def test_it_tells_everything_and_comes_back_from_json(study: SimulatedTasks) -> None:
    found = compare(study, questionnaire=study.questionnaire)
    text = " ".join(str(found).split())
    assert "Rating an item took" in text
    assert "the sample size is the number of judges" in text
    assert read_result(json.loads(json.dumps(found.to_dict()))) == found
    assert "<svg" in found.to_html()
    assert len(found.to_frame()) == len(found.contrasts) == 13
