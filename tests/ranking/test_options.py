"""Descriptions of ranking models hold for every model there is."""

from __future__ import annotations

import inspect
import json
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import comparity
from comparity.errors import OptionError
from comparity.ranking.judgments import judgments_of
from comparity.ranking.options import COMMANDS, MODULES, OPTIONS, RankForm, all_models, model_of
from comparity.ranking.rank import rank_frames
from tests.calibration.panels import leaning_panel

WORLD = leaning_panel(np.random.default_rng(2), n_items=20, n_evaluators=4, n_comparisons=600)
COMPARISONS = pl.DataFrame(
    {
        "better": WORLD.comparisons[:, 0],
        "worse": WORLD.comparisons[:, 1],
        "judge": WORLD.evaluators,
        "seat": np.tile([1, -1, 1], 200),
    }
)
ITEMS = pl.DataFrame({"item": np.arange(20), "sex": WORLD.group})


def columns_for(command: str) -> dict[str, Any]:
    """Name the groups, and who judged where the model tells evaluators apart."""
    told = "evaluators" in model_of(command).accepts
    return {"sensitive": ["sex"], **({"evaluator": "judge"} if told else {})}


@pytest.mark.parametrize("command", MODULES)
def test_models_need_and_accept_what_their_function_does(command: str) -> None:
    model = model_of(command)
    known = inspect.signature(model.fit).parameters
    needed = {name for name, one in known.items() if one.default is inspect.Parameter.empty}
    words = {"groups": "sensitive_features", "evaluators": "evaluators", "seats": "seats"}
    named = {"comparisons", *(words[need] for need in model.needs)}
    # Numbers of the items may stand in for groups.
    assert named - needed == ({"sensitive_features"} if "numbers" in known else set())
    assert needed <= named
    signs = {trait: model.keywords.get(trait, trait) for trait in OPTIONS} | {"biases": "anchor"}
    assert {*model.accepts} == {trait for trait, keyword in signs.items() if keyword in known}
    assert getattr(comparity, model.fit.__name__) is model.fit


@pytest.mark.parametrize("command", MODULES)
def test_every_model_takes_judgments_and_is_written_and_read_back(command: str) -> None:
    found = rank_frames(COMPARISONS, ITEMS, model=command, **columns_for(command)).ranking
    assert found.model == model_of(command).name
    again = type(found).from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.scores.tolist() == found.scores.tolist()
    assert again.unit == found.unit


@pytest.mark.parametrize("command", MODULES)
def test_options_are_refused_where_they_would_have_no_effect(command: str) -> None:
    given = {"seat": "seat", "score_prior": 2.0, "anchor": "zero mean bias", "bias_prior": 3.0}
    for option, value in {**given, "evaluator": "judge"}.items():
        known = {**columns_for(command), option: value}
        (about,) = (trait for trait, options in OPTIONS.items() if option in options)
        if about in model_of(command).accepts:
            rank_frames(COMPARISONS, ITEMS, model=command, **known)
        else:
            with pytest.raises(OptionError, match=f"{command}"):
                rank_frames(COMPARISONS, ITEMS, model=command, **known)


@pytest.mark.parametrize("command", MODULES)
@pytest.mark.parametrize("option", ["alpha", "margin", "seed"])
def test_choices_of_an_audit_are_refused_without_one(command: str, option: str) -> None:
    chosen = {option: 7 if option == "seed" else 0.2}
    with pytest.raises(OptionError, match=f"^{option} cannot be"):
        RankForm(model=command, **chosen)
    with pytest.raises(OptionError, match=f"^{option} cannot be"):
        rank_frames(COMPARISONS, ITEMS, model=command, **columns_for(command), **chosen)


def test_a_seed_has_a_use_in_cross_validation_and_audits() -> None:
    assert RankForm(seed=7, score_prior="cross-validation").seed == 7
    assert RankForm(seed=7, score="worth", alpha=0.2).seed == 7


@pytest.mark.parametrize(
    "named", [{"sensitive": ["sex"]}, {"score": "s"}, {"item": "name"}], ids=str
)
def test_columns_of_items_are_refused_without_items(named: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="a column of the items, none given"):
        rank_frames(COMPARISONS, model="bt", **named)


def test_who_judged_may_still_widen_errors_by_clusters() -> None:
    with pytest.raises(OptionError, match="that column as cluster=, for errors"):
        rank_frames(COMPARISONS, model="bt", evaluator="judge")


def test_ties_are_refused_by_a_model_that_knows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    tied = COMPARISONS.with_columns(tied=np.arange(600) % 5 == 0)
    monkeypatch.setattr(
        "comparity.ranking.simple_models.WIN_RATE", replace(model_of("winrate"), accepts=())
    )
    with pytest.raises(OptionError, match="winrate knows no ties"):
        rank_frames(tied, model="winrate", tied="tied")
    assert rank_frames(COMPARISONS, model="winrate").ranking.n_ties == 0


def test_a_model_of_groups_without_a_prior_has_scores_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fit(comparisons: Any, *, sensitive_features: Any) -> Any:
        return comparity.win_rate(comparisons)

    model = replace(model_of("winrate"), fit=fit, needs=("groups",))
    monkeypatch.setattr("comparity.ranking.simple_models.WIN_RATE", model)
    found = rank_frames(COMPARISONS, ITEMS, model="winrate", sensitive=["sex"])
    assert found.before is not None
    assert found.before.priors[0].chosen_by == "marginal likelihood"


def test_models_may_be_called_by_their_function() -> None:
    assert COMMANDS["win_rate"] == "winrate"
    found = rank_frames(COMPARISONS, model="win_rate").ranking
    assert found.model == "Win rate"


def test_names_are_given_once() -> None:
    names = [model.name for model in all_models().values()]
    assert len({*names}) == len(names)
    assert all(COMMANDS[function] == function for function in COMMANDS if function in MODULES)


def test_judgments_are_taken_as_they_are() -> None:
    judgments = judgments_of([[0, 1], [1, 2]])
    assert judgments_of(judgments) is judgments


def test_the_page_has_the_table_of_the_models() -> None:
    script = Path(__file__).parents[2] / "docs" / "ranking.py"
    page = runpy.run_path(str(script))["page"]()
    assert page == script.with_suffix(".md").read_text(encoding="utf-8"), f"run python {script}"
    assert all(f"| `{command}` |" in page for command in MODULES)
