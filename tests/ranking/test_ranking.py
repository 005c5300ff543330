"""Ranking from frames: what is asked of every model before anything is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from comparity import barp
from comparity.errors import MissingValueError, OptionError, TooManyGroupsError
from comparity.ranking.options import MODULES
from comparity.ranking.rank import rank_frames
from tests.calibration.panels import leaning_panel

WORLD = leaning_panel(np.random.default_rng(9), n_items=20, n_evaluators=4, n_comparisons=600)
NAMES = np.array([f"c{place:02d}" for place in range(20)])
COMPARISONS = pl.DataFrame(
    {
        "better": NAMES[WORLD.comparisons[:, 0]],
        "worse": NAMES[WORLD.comparisons[:, 1]],
        "judge": WORLD.evaluators,
    }
)
ITEMS = pl.DataFrame({"item": NAMES, "sex": WORLD.group})


def ranked(**choices: Any) -> Any:
    return rank_frames(COMPARISONS, ITEMS, **columns_for(**choices) | choices)


def columns_for(*, model: str = "barp", **_: Any) -> dict[str, Any]:
    """Name the groups, and who judged unless the model takes all alike."""
    alike = model in ("bt", "elo", "rankcentrality", "winrate")
    return {"sensitive": ["sex"], **({} if alike else {"evaluator": "judge"})}


def test_frames_give_what_arrays_give() -> None:
    plain = barp(WORLD.comparisons, evaluators=WORLD.evaluators, sensitive_features=WORLD.group)
    found = ranked().ranking
    assert found.items.tolist() == NAMES.tolist()
    assert found.bias == pytest.approx(plain.bias, abs=1e-6)


@pytest.mark.parametrize("model", MODULES)
@pytest.mark.parametrize("sensitive", ["sex", ["sex", "sex"]], ids=str)
def test_one_name_is_no_list_of_names(model: str, sensitive: Any) -> None:
    with pytest.raises(OptionError, match="list of one or more different columns"):
        ranked(model=model, sensitive=sensitive)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"model": "chess"}, "'chess'"),
        ({"sensitive": []}, "barp needs it"),
        ({"evaluator": None}, "barp needs it"),
        ({"model": "crowdbt", "seat": "judge"}, "knows no seats; barp and bt do"),
        ({"model": "bt", "anchor": "zero mean bias"}, "bt knows none"),
        ({"model": "elo", "clusters": {"judge": "judge"}}, "no errors that clusters could widen"),
        ({"model": "bt", "score": "sex"}, "barp with one sensitive column"),
    ],
)
def test_what_a_model_needs_or_does_not_know_is_said(choices: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        ranked(**choices)


def test_groups_belong_to_ids_in_whatever_order_rows_come() -> None:
    order = np.random.default_rng(3).permutation(20)
    numbers = COMPARISONS.with_columns(
        pl.Series("better", WORLD.comparisons[:, 0]), pl.Series("worse", WORLD.comparisons[:, 1])
    )
    items = pl.DataFrame({"item": order, "sex": WORLD.group[order]})
    found = rank_frames(numbers, items, sensitive=["sex"], evaluator="judge")
    assert found.ranking.items.tolist() == order.astype(str).tolist()
    assert found.ranking.bias == pytest.approx(ranked().ranking.bias, abs=1e-5)


def test_groups_have_one_name_everywhere() -> None:
    items = ITEMS.with_columns(pl.Series("sex", (WORLD.group == "b").astype(float)))
    found = rank_frames(COMPARISONS, items, sensitive=["sex"], evaluator="judge")
    assert str(found.ranking.contrasts[0]) == "sex: 1 over 0"
    assert [row["group"] for row in found.mean_scores()] == ["0", "1"]
    assert found.to_dict()["ranking"][0]["groups"]["sex"] in ("0", "1")


@pytest.mark.parametrize("model", MODULES)
def test_an_item_in_no_group_is_named_by_every_model(model: str) -> None:
    items = ITEMS.with_columns(sex=pl.when(pl.col("item") != "c03").then(pl.col("sex")))
    with pytest.raises(MissingValueError, match="data row 4"):
        rank_frames(COMPARISONS, items, model=model, **columns_for(model=model))


@pytest.mark.parametrize("model", ["barp", "factorbt"])
def test_scores_before_and_after_are_on_one_scale(model: str) -> None:
    """Nobody leans, items are compared 8 times each: what differs is the prior, if anything."""
    world = leaning_panel(np.random.default_rng(5), n_comparisons=800, lean=0.0)
    pairs = pl.DataFrame({"better": world.comparisons[:, 0], "worse": world.comparisons[:, 1]})
    found = rank_frames(
        pairs.with_columns(pl.Series("judge", world.evaluators)),
        pl.DataFrame({"item": np.arange(200), "sex": world.group}),
        model=model,
        sensitive=["sex"],
        evaluator="judge",
    )
    assert found.before is not None
    assert found.before.scores.std() == pytest.approx(found.ranking.scores.std(), rel=0.15)


def shuffling(items: pl.DataFrame) -> Any:
    """Return a query that answers in another order whenever it is asked."""
    import duckdb

    named = duckdb.connect().register("named", items.to_arrow())
    return named.sql("SELECT * FROM named ORDER BY random()")


def test_items_from_a_query_keep_their_groups_whatever_order_it_answers_in() -> None:
    items = ITEMS.with_columns(pl.Series("model", WORLD.model))
    options = {"sensitive": ["sex"], "evaluator": "judge", "score": "model"}
    found = rank_frames(COMPARISONS, shuffling(items), **options)
    true = dict(zip(NAMES.tolist(), WORLD.group.tolist(), strict=True))
    names = found.ranking.items.tolist()
    assert found.groups["sex"].tolist() == [true[name] for name in names]
    expected = dict(zip(NAMES.tolist(), ranked().ranking.scores, strict=True))
    assert found.ranking.scores == pytest.approx([expected[name] for name in names], abs=1e-5)
    assert found.before is not None
    assert found.before.items.tolist() == names


def test_a_query_keeps_ids_and_groups_together_for_factorbt_too() -> None:
    options = {"model": "factorbt", "sensitive": ["sex"], "evaluator": "judge"}
    one, two = (
        rank_frames(COMPARISONS, items, **options).ranking.parameters["attention"]
        for items in (ITEMS, shuffling(ITEMS))
    )
    assert two == pytest.approx(one, abs=1e-3)


@pytest.mark.parametrize("model", ["barp", "factorbt"])
def test_a_number_is_no_group_of_items(model: str) -> None:
    others = pl.DataFrame({"item": [f"other {k}" for k in range(60)]})
    everyone = pl.concat([ITEMS.select("item"), others]).with_row_index("age")
    with pytest.raises(TooManyGroupsError, match="'age' must have at most 50 groups"):
        rank_frames(COMPARISONS, everyone, model=model, sensitive=["age"], evaluator="judge")
