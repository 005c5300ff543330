"""Intersections: read as people write them, suggested where they matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, norm
from statsmodels.api import OLS

from comparity import barp
from comparity.datasets.simulated_panels import SimulatedPanel, simulate_comparisons
from comparity.errors import OptionError, UnknownReferenceError
from comparity.ranking.bias_tests import chosen_intersections
from comparity.ranking.items import attributes_of


def panel(seed: int, **bias: Any) -> SimulatedPanel:
    return simulate_comparisons(
        rng=np.random.default_rng(seed),
        bias={name.replace("_", " & "): law for name, law in bias.items()},
        scores=norm(0, 1.5),
        groups={"sex": 40, "race": 40},
        n_items=80,
        n_evaluators=20,
        pairs=300,
    )


def suggestions(world: SimulatedPanel) -> Any:
    found = barp(
        world.comparisons,
        evaluators=world.evaluators,
        sensitive_features=world.groups,
        intersections="suggest",
    )
    return found, found.suggestions


@pytest.mark.long
def test_an_intersection_that_evaluators_treat_differently_deserves_a_bias() -> None:
    _, found = suggestions(panel(1, sex=norm(0, 1), race=norm(0, 1), sex_race=norm(0, 2)))
    assert [(one.attributes, one.groups) for one in found] == [(("sex", "race"), ("b", "b"))]
    assert found[0].deserves
    assert found[0].spread_p < 1e-6


def test_an_intersection_that_all_put_down_deserves_a_bias() -> None:
    _, found = suggestions(panel(2, sex=norm(0, 1), race=norm(0, 1), sex_race=norm(-4, 0.1)))
    assert found[0].deserves
    assert found[0].score_gap < -2


def test_the_gap_is_the_interaction_of_a_regression_of_scores() -> None:
    world = panel(3, sex=norm(0, 1))
    _, found = suggestions(world)
    groups = {"sensitive_features": world.groups}
    result = barp(world.comparisons, evaluators=world.evaluators, corrected=False, **groups)
    sex, race = ((group == "b").astype(float) for group in world.groups.values())
    design = np.column_stack([np.ones(80), sex, race, sex * race])
    peer = OLS(result.scores, design).fit()
    assert found[0].score_gap == pytest.approx(peer.params[3], rel=1e-6)
    assert found[0].gap_p == pytest.approx(peer.pvalues[3], rel=1e-6)
    # Nobody treats the intersection differently: a score statistic is as large as its degrees.
    assert found[0].spread_dof == 19
    assert chi2.ppf(1e-3, 19) < found[0].spread < chi2.isf(1e-3, 19)
    assert found[0].spread_p == pytest.approx(chi2.sf(found[0].spread, 19))
    # Who decides everything the other way round treats groups just as differently.
    _, turned = suggestions(replace(world, comparisons=world.comparisons[:, ::-1]))
    assert turned[0].spread == pytest.approx(found[0].spread, rel=1e-3)


@pytest.mark.long
def test_without_an_intersection_suggestions_are_rare() -> None:
    """Nominal rate 0.05 for one intersection; 3 of 20 or fewer with probability 0.984."""
    found = [suggestions(panel(seed, sex=norm(1, 1), race=norm(0, 1)))[1] for seed in range(20)]
    assert sum(one[0].deserves for one in found) <= 3


def test_small_intersections_are_not_looked_at() -> None:
    world = panel(4, sex=norm(0, 1))
    race = np.where(np.arange(80) < 2, "b", "a")
    groups = {"sex": world.groups["sex"], "race": race}
    found = barp(
        world.comparisons,
        evaluators=world.evaluators,
        sensitive_features=groups,
        intersections="suggest",
    )
    assert found.suggestions == ()


def test_intersections_name_known_attributes_and_groups() -> None:
    groups = attributes_of({"sex": ["f", "m", "m"], "age": [1, 1, 2]})
    assert chosen_intersections({"sex": "f", "age": 1.0}, groups) == ((("sex", "f"), ("age", "1")),)
    assert chosen_intersections(None, groups) == ()
    with pytest.raises(OptionError, match="'race'"):
        chosen_intersections([{"sex": "f", "race": "b"}], groups)
    for nonsense in ("sexes", 5):
        with pytest.raises(OptionError, match=f"cannot be {nonsense!r}"):
            chosen_intersections(nonsense, groups)
    with pytest.raises(OptionError, match="no item is of all these groups"):
        chosen_intersections([{"sex": "f", "age": 2}], groups)
    with pytest.raises(UnknownReferenceError, match=r"^group 'x' of 'sex' has no item"):
        barp(
            [[0, 1], [1, 2]],
            evaluators=[0, 0],
            sensitive_features={"sex": ["f", "m", "m"], "age": [1, 1, 2]},
            intersections=[{"sex": "x", "age": 1}],
        )


@pytest.mark.parametrize(("size", "said"), [(40, "looked at: none"), (3, "nothing to suggest")])
def test_a_note_says_what_looking_found(size: int, said: str) -> None:
    world = simulate_comparisons(
        rng=np.random.default_rng(8),
        scores=norm(0, 1.5),
        groups={"sex": 40, "race": size},
        n_items=80,
        n_evaluators=5,
        pairs=300,
    )
    result, _ = suggestions(world)
    assert said in result.notes[-1]
