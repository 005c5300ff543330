"""What sections of rankings say of units and names."""

from __future__ import annotations

import numpy as np

from comparity import barp, bradley_terry
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.ranking.fits import SEAT
from comparity.ranking.rank import RankedPanel

WORLD = simulate_comparisons(
    rng=np.random.default_rng(3), groups={"sex": 6}, n_items=12, n_evaluators=4, pairs=60, seat=0.5
)


def test_the_bias_of_a_seat_is_in_logits_and_others_in_the_unit_of_scores() -> None:
    fit = barp(
        WORLD.comparisons,
        evaluators=WORLD.evaluators,
        sensitive_features=WORLD.groups,
        seats=WORLD.seats,
        seat_by_evaluator=True,
        sharpness="own",
    )
    assert fit.unit != "logits"
    by_seat = {str(SEAT) in chart.title: str(chart) for chart in fit.section().charts[:2]}
    assert "logits" in by_seat[True]
    assert fit.unit not in by_seat[True]
    assert fit.unit in by_seat[False]
    assert "logits" not in by_seat[False]


def test_groups_are_named_with_their_attribute_where_there_are_several() -> None:
    sex, town = np.repeat(["f", "m"], 6), np.tile(["x", "y"], 6)
    ranking = bradley_terry(WORLD.comparisons, n_items=12)
    for groups, names in (
        ({"sex": sex}, ["f", "m"]),
        ({"sex": sex, "town": town}, ["sex: f", "sex: m", "town: x", "town: y"]),
    ):
        grids = RankedPanel(ranking=ranking, groups=groups).section().grids
        (grid,) = (one for one in grids if one.title.startswith("Mean score by group"))
        assert [row[0] for row in grid.rows] == names
