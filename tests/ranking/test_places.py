"""Places of groups: exposure by hand, wins by SciPy, a fair top by a loop, and the command."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from comparity import bradley_terry
from comparity.errors import OptionError, UnknownGroupError
from comparity.ranking.options import RankForm, read_intersection
from comparity.ranking.places import GroupPlaces, group_places
from comparity.results.result import Result

RNG = np.random.default_rng(4)
SEX, RACE = RNG.choice(["f", "m"], 60), RNG.choice(["a", "b"], 60)
SCORES = RNG.normal(size=60) + 0.8 * (SEX == "m")


def places(**choices: Any) -> tuple[GroupPlaces, ...]:
    return group_places(SCORES, sensitive_features={"sex": SEX, "race": RACE}, **choices)


def test_exposure_and_wins_are_those_of_their_definitions() -> None:
    sex, race = places(discount="ferrara")
    rank = 1 + np.argsort(np.argsort(-SCORES))
    worth = 1 / (np.log2(rank + 1) + 1)
    assert sex.exposure.gap("f", "m") == pytest.approx(
        worth[SEX == "f"].mean() - worth[SEX == "m"].mean()
    )
    women, men = SCORES[SEX == "f"], SCORES[SEX == "m"]
    wins = mannwhitneyu(women, men).statistic / len(women) / len(men)
    assert sex.parity.rates[0].rate == pytest.approx(wins)
    assert race.attribute == "race"


def test_a_fair_top_is_of_the_attribute_that_has_the_group() -> None:
    sex, race = places(top=12, protected="f", share=0.7)
    assert race.top is None
    assert sex.top is not None
    held = np.cumsum(SEX[sex.top.ranking] == "f")
    assert (held >= sex.top.table).all()
    assert sex.top_items == tuple(map(str, sex.top.ranking))
    share = (SEX == "f").mean()
    (by_default, _) = places(top=12, protected="f")
    assert by_default.top is not None
    assert by_default.top.p == pytest.approx(share)
    with pytest.raises(UnknownGroupError, match="'x'"):
        places(top=3, protected="x")


def test_items_of_a_ranking_are_named_and_answers_are_read_back() -> None:
    pairs = np.array([RNG.choice(60, 2, replace=False) for _ in range(400)])
    pairs = np.where((SCORES[pairs[:, :1]] > SCORES[pairs[:, 1:]]), pairs, pairs[:, ::-1])
    ranking = bradley_terry(pairs, n_items=60)
    (found,) = group_places(ranking, sensitive_features={"sex": SEX}, top=4, protected="f")
    assert found.top is not None
    assert found.top_items == tuple(str(ranking.items[one]) for one in found.top.ranking)
    assert "The first 4 places" in str(found)
    again = Result.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"top": 5}, "protected"),
        ({"protected": "f"}, "top"),
        ({"share": 0.3}, "top"),
    ],
)
def test_a_fair_top_needs_a_group_and_the_other_way_round(
    choices: dict[str, Any], said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        places(**choices)


def test_intersections_are_read_and_refused() -> None:
    assert read_intersection("sex=f&race = b=c") == {"sex": "f", "race": "b=c"}
    for written in ("sex", "sex=", "=f", "sex=f & "):
        with pytest.raises(OptionError, match="sex=f & race=b"):
            read_intersection(written)
    with pytest.raises(OptionError, match="suggest"):
        RankForm(sensitive=("sex", "race"), suggest=True, intersections=("sex=f & race=b",))
    with pytest.raises(OptionError, match="places"):
        RankForm(places=True)
