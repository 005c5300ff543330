"""Plans of panels: sizes and powers that belong together, and what cannot be planned."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from comparity import plan_ranking
from comparity.errors import OptionError, PlanError
from comparity.reports.page import sources_of

PANEL: dict[str, Any] = {"lean": 0.8, "n_items": 100, "n_evaluators": 20, "share": 0.3}


def test_the_size_for_a_power_is_the_smallest_that_has_it() -> None:
    plan = plan_ranking(**PANEL, power=0.8)
    assert plan.n_per_evaluator is not None
    powers = [
        plan_ranking(**PANEL, n_per_evaluator=plan.n_per_evaluator + more).power for more in (-1, 0)
    ]
    assert powers[0] < 0.8 <= powers[1] == plan.power
    assert plan.n_comparisons == 20 * plan.n_per_evaluator


def test_other_leans_are_planned_as_they_would_be_alone() -> None:
    plan = plan_ranking(**PANEL, power=0.8)
    for lean in plan.leans:
        alone = plan_ranking(**PANEL | {"lean": lean.lean}, power=0.8)
        assert (alone.n_per_evaluator, alone.power) == (lean.n_per_evaluator, lean.power)
        assert lean.preferred == pytest.approx(expit(lean.lean))


def test_where_groups_may_differ_by_chance_small_leans_are_never_found_and_a_note_says_why() -> (
    None
):
    plan = plan_ranking(**PANEL | {"lean": 0.3}, power=0.8, cautious=True)
    assert plan.n_per_evaluator is None
    assert plan.power == plan.ceiling < 0.8
    # Groups of 30 and 70 items of spread 1: sqrt(1 / 30 + 1 / 70) = 0.218.
    assert "differ by 0.22 by chance" in plan.notes[0]


def test_chance_between_groups_is_no_reason_where_the_plan_does_not_allow_for_it() -> None:
    plan = plan_ranking(**PANEL | {"lean": 1e-7}, power=0.8)
    assert plan.n_per_evaluator is None
    assert "takes more than 1,000,000,000,000 comparisons" in plan.notes[0]


def test_leans_that_leave_hardly_an_outcome_open_are_named() -> None:
    """In 120 drawn panels each, leans of 5 and 6 were always found where 0.8 was planned."""
    foregone = [
        [
            note
            for note in plan_ranking(**PANEL | {"lean": lean}, power=0.8).notes
            if "hardly" in note
        ]
        for lean in (1.0, -3.0, 6.0)
    ]
    assert foregone[0] == []
    assert "against a lean of -4.5 or further" in foregone[1][0]
    assert "against a lean of +4.5 or further" in foregone[2][0]


def test_a_plan_is_written_as_json_and_as_rows() -> None:
    plan = plan_ranking(**PANEL, n_per_evaluator=200)
    content = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert content["n_comparisons"] == 4000
    assert [row["lean"] for row in content["leans"]] == list(plan.to_frame("pandas")["lean"])


def test_numbers_of_numpy_neither_overflow_nor_stay_out_of_json() -> None:
    sizes = {"n_items": 3000, "n_evaluators": 3000, "n_per_evaluator": 2_000_000}
    plan = plan_ranking(lean=np.float32(0.5), **{k: np.int32(v) for k, v in sizes.items()})
    assert plan.n_comparisons == 3000 * 2_000_000
    assert json.loads(json.dumps(plan.to_dict()))["n_items"] == 3000


def test_the_page_of_a_plan_cites_the_model_and_not_the_tests_of_audits() -> None:
    sources = sources_of(plan_ranking(**PANEL, power=0.8).to_dict())
    assert [source.split(":")[1].split(",")[0].strip() for source in sources] == [
        "Ferrara",
        "Benjamini",
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lean": 0.0}, "that there is to find"),
        ({"lean": float("nan")}, "lean cannot be nan"),
        ({"lean": 60}, "log odds from -20 to 20"),
        ({"lean": -700.0}, "log odds from -20 to 20"),
        ({"n_items": 1}, "n_items cannot be 1.*from 2 on"),
        ({"n_items": None}, "n_items cannot be None.*whole number"),
        ({"n_evaluators": 0}, "n_evaluators cannot be 0"),
        ({"share": 0.001}, "share must leave items in the group"),
        ({"share": 30}, "share cannot be 30"),
        ({"score_spread": -1.0}, "score_spread cannot be .*from 0 to 100"),
        ({"score_spread": 101.0}, "score_spread cannot be .*from 0 to 100"),
        ({"score_spread": 1e200}, "score_spread cannot be .*from 0 to 100"),
        ({"score_spread": float("nan")}, "score_spread cannot be .*from 0 to 100"),
        ({"score_spread": float("inf")}, "score_spread cannot be .*from 0 to 100"),
        ({"lean": 1e200}, "log odds from -20 to 20"),
        ({"others_leaning": 20}, "others_leaning cannot be 20.*from 0 to 1"),
        ({"tie_share": 1.0}, "tie_share cannot be 1.0"),
        ({"rule": "holm"}, "'fdr' or 'single'"),
        ({"alpha": None}, "alpha cannot be None"),
        ({"power": None}, "exactly one of n_per_evaluator and power"),
    ],
)
def test_what_cannot_be_planned_is_named(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises((OptionError, PlanError), match=f"(?s){said}"):
        plan_ranking(**PANEL | {"power": 0.8} | wrong)
