from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from comparity import barp, bradley_terry, crowd_bt, factor_bt
from comparity.ranking.fits import SEAT
from comparity.ranking.pictures import LEVEL, plot_ranking, plot_scores
from comparity.ranking.rank import RankedPanel
from comparity.ranking.result import BiasedRanking
from comparity.reports.page import page
from tests.calibration.panels import leaning_panel

WORLD = leaning_panel(np.random.default_rng(6), n_items=40, n_evaluators=25, n_comparisons=3000)


@pytest.fixture(scope="module")
def fit() -> BiasedRanking:
    return barp(WORLD.comparisons, evaluators=WORLD.evaluators, sensitive_features=WORLD.group)


def test_what_needs_no_assumption_is_said_first(fit: BiasedRanking) -> None:
    apart = int((fit.centred_q <= LEVEL).sum())
    first, second = fit.section().sentences[:2]
    assert first.startswith(f"{apart} of 25 evaluators treat the groups differently from")
    assert second.endswith(
        "Assumed (equal group means): items of all groups have the same mean score."
    )


def test_the_headline_counts_who_leans_whatever_groups_differ_by_chance(fit: BiasedRanking) -> None:
    sure, more = (int((q <= LEVEL).sum()) for q in (fit.cautious_q, fit.q))
    assert 1 < sure < more
    _, _, found, if_equal = fit.section().sentences[:4]
    assert f"items are drawn from, {sure} of 25 evaluators lean; about 5%" in found
    said = f"exactly equal in mean, {more} of 25 evaluators lean, all the same way"
    assert if_equal.endswith(f"{said}, as if the groups differed.")
    assert "drawn from" not in str(replace(fit, cautious_q=fit.q))


def test_intervals_shown_are_those_that_decided(fit: BiasedRanking) -> None:
    (grid,) = (grid for grid in fit.section().grids if grid.title.startswith("Evaluators by"))
    k = int(grid.rows[0][0])
    low, high = fit.cautious_intervals()[k, 0]
    assert grid.rows[0][2] == f"[{low:+.3f}, {high:+.3f}]"


def test_evaluators_who_lean_only_together_are_not_said_not_to_lean(fit: BiasedRanking) -> None:
    error = np.full_like(fit.mean_bias, 0.1)
    ones = np.ones_like(fit.q)
    nobody = replace(fit, q=ones, cautious_q=ones, mean_bias_standard_errors=error)
    # 0.4 is four of its errors from zero, 0.1 is one of them.
    together = replace(nobody, mean_bias=np.full_like(error, 0.4))
    shown = " ".join(str(together).split())
    assert "none of 25 evaluators is found to lean" in shown
    assert f"mean bias +0.400 {fit.unit}, 95% interval [+0.204, +0.596]." in shown
    assert "Together" not in str(replace(nobody, mean_bias=error))
    assert "Together" not in str(replace(together, cautious_q=fit.cautious_q))


def test_evaluators_who_lean_most_surely_come_first(fit: BiasedRanking) -> None:
    (grid,) = (grid for grid in fit.section().grids if grid.title.startswith("Evaluators by"))
    surest = [str(k) for k in np.argsort(-np.abs(fit.z[:, 0]))[:15]]
    assert [row[0] for row in grid.rows] == surest


def test_the_page_and_the_terminal_show_the_same_numbers(fit: BiasedRanking) -> None:
    shown = page(fit)
    for grid in fit.section().grids:
        for row in grid.rows:
            assert all(cell.replace("<", "&lt;") in shown for cell in row)


def test_a_model_without_errors_shows_none() -> None:
    ranked = crowd_bt(WORLD.comparisons, evaluators=WORLD.evaluators)
    assert "std. error" not in str(ranked)
    assert "reliability" in str(ranked)
    # Any rank would be within a range that no error bounds.
    assert not ranked.section().charts
    assert "Chen, Bennett" in page(ranked)


def test_slopes_of_evaluators_stand_beside_their_attention() -> None:
    known = {"evaluators": WORLD.evaluators, "sensitive_features": WORLD.group}
    ranked = factor_bt(WORLD.comparisons, **known)
    (grid,) = (grid for grid in ranked.section().grids if grid.title.startswith("Evaluators"))
    lowest = int(np.argmin(ranked.parameters["attention"]))
    assert grid.header == ("evaluator", "attention", "slopes")
    assert grid.rows[0][0] == str(lowest)
    assert float(grid.rows[0][2]) == pytest.approx(ranked.parameters["slopes"][lowest, 0], abs=5e-4)


def test_a_bias_is_shown_with_the_comparisons_that_bear_on_it(fit: BiasedRanking) -> None:
    (grid,) = (grid for grid in fit.section().grids if grid.title.startswith("Evaluators by"))
    first = int(grid.rows[0][0])
    own = WORLD.comparisons[WORLD.evaluators == first]
    crossing = (WORLD.group[own[:, 0]] != WORLD.group[own[:, 1]]).sum()
    assert grid.rows[0][-1] == f"{crossing} of {len(own)}"


def test_names_from_data_cannot_move_the_cursor() -> None:
    judges = np.array(["\x1b[31mred", "<b>bold</b>"])[WORLD.evaluators % 2]
    fit = barp(WORLD.comparisons, evaluators=judges, sensitive_features=WORLD.group)
    assert "\x1b" not in str(fit)
    assert "<b>bold" not in page(fit)


def test_the_caterpillar_has_a_mark_for_every_evaluator(fit: BiasedRanking) -> None:
    ax = plot_ranking(fit)
    drawn = np.sort(
        np.concatenate([line.get_xdata() for line in ax.lines if len(line.get_xdata())])
    )
    assert np.isin(np.round(fit.bias[:, 0], 9), np.round(drawn, 9)).all()


def test_scores_before_and_after_are_drawn_by_group(fit: BiasedRanking) -> None:
    before = bradley_terry(WORLD.comparisons, n_items=40)
    panel = RankedPanel(ranking=fit, before=before, groups={"group": WORLD.group})
    ax = plot_scores(panel)
    labels = [tick.get_text().split("\n")[0] for tick in ax.get_yticklabels()]
    assert labels == ["a, unadjusted", "b, unadjusted", "a, BARP", "b, BARP"]
    means = [row["before"] for row in panel.mean_scores()]
    assert means == [before.scores[WORLD.group == group].mean() for group in "ab"]


def test_a_lone_evaluator_anchored_at_zero_is_shown_and_drawn() -> None:
    """Its bias and interval are exactly zero, which leaves the picture no width of its own."""
    judge = np.zeros(len(WORLD.comparisons), dtype=int)
    fit = barp(
        WORLD.comparisons,
        evaluators=judge,
        sensitive_features=WORLD.group,
        anchor="zero mean bias",
    )
    # A bias that is zero by assumption was not tested.
    assert "found to lean" not in str(fit)
    assert "zero mean bias puts its bias at zero" in " ".join(str(fit).split())
    assert "<svg" in page(fit)


def test_means_before_are_shown_only_where_they_were_computed() -> None:
    ranked = bradley_terry(WORLD.comparisons)
    alone = RankedPanel(ranking=ranked, groups={"sex": WORLD.group})
    both = RankedPanel(ranking=ranked, before=ranked, groups={"sex": WORLD.group})
    assert "evaluators unadjusted" not in str(alone)
    assert "evaluators unadjusted" in str(both)


def test_pictures_of_many_leave_out_who_said_nothing_and_draw_spreads() -> None:
    rng = np.random.default_rng(2)
    group = np.arange(700) % 2
    pairs = np.array([rng.choice(700, 2, replace=False) for _ in range(3000)])
    judge = np.arange(3000) % 90
    # The last judge saw pairs of one group only.
    kept = (judge < 89) | (group[pairs[:, 0]] == group[pairs[:, 1]])
    fit = barp(pairs[kept], evaluators=judge[kept], sensitive_features=group)
    assert "89 evaluators" in plot_ranking(fit).get_ylabel()
    assert "1 who judged no such pair" in plot_ranking(fit).get_ylabel()
    drawn = plot_scores(RankedPanel(ranking=fit, groups={"group": group}))
    assert len(drawn.collections) == 2


def test_each_contrast_has_its_chart_and_its_rows_in_the_picture() -> None:
    kinds = {"group": WORLD.group, "town": np.array(["x", "y", "y"])[np.arange(40) % 3]}
    judge = WORLD.evaluators % 4
    fit = barp(WORLD.comparisons, evaluators=judge, sensitive_features=kinds)
    titles = [chart.title for chart in fit.section().charts]
    assert "harpness" in titles.pop()
    assert sorted(title[title.index("(") :] for title in titles) == [
        "(group: b over a)",
        "(town: y over x)",
    ]
    names = [tick.get_text() for tick in plot_ranking(fit).get_yticklabels()]
    assert len(names) == 8
    assert sum("town: y over x" in name for name in names) == 4


def test_of_the_only_evaluator_it_is_said_that_the_anchor_makes_the_bias() -> None:
    judge = np.zeros(len(WORLD.comparisons), dtype=int)
    fit = barp(WORLD.comparisons, evaluators=judge, sensitive_features=WORLD.group)
    # It is what groups differ by without an adjustment for the evaluator's bias.
    word = bradley_terry(WORLD.comparisons, n_items=40, prior=fit.priors[0].sd)
    gap = np.subtract(*(word.scores[WORLD.group == group].mean() for group in "ba"))
    assert fit.bias[0, 0] == pytest.approx(gap, rel=0.1)
    assert "which only the anchor (equal group means) calls a lean" in " ".join(fit.notes)


def test_where_nothing_was_tested_nobody_is_said_not_to_lean() -> None:
    known = {"evaluators": WORLD.evaluators, "sensitive_features": WORLD.group}
    shown = " ".join(str(barp(WORLD.comparisons, mode="alternating", **known)).split())
    assert "No bias could be tested; the notes say why." in shown
    assert "Nothing fixes the common level of the biases: started at zero" in shown
    assert "no errors" in shown[shown.index("Notes") :]


def test_means_that_the_anchor_makes_zero_have_no_sign_of_rounding(fit: BiasedRanking) -> None:
    tiny = replace(fit, scores=np.where(WORLD.group == "a", -1e-16, 1e-16))
    (grid,) = (
        grid
        for grid in RankedPanel(ranking=tiny, groups={"sex": WORLD.group}).section().grids
        if grid.title == f"Mean score by group ({fit.unit})"
    )
    assert [row[-1] for row in grid.rows] == ["+0.000", "+0.000"]


def test_a_list_of_several_biases_of_each_evaluator_counts_biases() -> None:
    kinds = {"group": WORLD.group, "town": np.array(["x", "y", "z"])[np.arange(40) % 3]}
    fit = barp(WORLD.comparisons, evaluators=WORLD.evaluators, sensitive_features=kinds)
    assert "the first 15 of 75 biases" in " ".join(str(fit).split())


def judge_alike(seed: int, bias: list[float], n: int = 6000) -> dict[str, Any]:
    """Draw comparisons of 200 items by evaluators with these biases toward group b."""
    rng = np.random.default_rng(seed)
    worth, in_b, judge = rng.normal(0, 1, 200), np.arange(200) % 2, np.arange(n) % len(bias)
    one, other = rng.integers(0, 200, n), rng.integers(0, 199, n)
    other += other >= one
    lead = worth[one] - worth[other] + np.array(bias)[judge] * (in_b[one] - in_b[other])
    won = rng.random(n) < 1 / (1 + np.exp(-lead))
    pairs = np.where(won[:, None], np.column_stack([one, other]), np.column_stack([other, one]))
    groups = np.array(["a", "b"])[in_b]
    return {"comparisons": pairs, "evaluators": judge, "sensitive_features": groups}


def test_a_panel_that_is_of_one_mind_is_not_said_to_lean_to_a_man() -> None:
    seen = barp(**judge_alike(4, [2.0] * 5), sharpness="equal")
    assert (seen.cautious_q <= LEVEL).all()
    first, _, found, *_ = seen.section().sentences
    assert first.startswith("None of 5 evaluators is found to treat the groups differently")
    assert "5 of 5" not in " ".join(seen.section().sentences)
    assert "all evaluators lean, and the same way. If it does not, the groups differ" in found
    told = barp(**judge_alike(4, [2.0] * 5), sharpness="equal", anchor="zero mean bias")
    assert "none of 5 evaluators is found to lean" in " ".join(told.section().sentences)


def test_nobody_is_said_to_lean_by_a_model_of_equal_sharpness_that_data_reject() -> None:
    """Two sharp people and a dull judge, none of whom leans; the second group is worth more."""
    rng = np.random.default_rng(5)
    scores, judge = np.tile(rng.normal(0, 1, 50), 2) + np.repeat([0, 1], 50), np.arange(9000) % 3
    pairs = np.array([rng.choice(100, 2, replace=False) for _ in judge])
    lead = np.array([2.0, 2.0, 0.6])[judge] * (scores[pairs[:, 0]] - scores[pairs[:, 1]])
    pairs = np.where((rng.random(9000) < 1 / (1 + np.exp(-lead)))[:, None], pairs, pairs[:, ::-1])
    known = {"evaluators": judge, "sensitive_features": np.repeat(["a", "b"], 50)}
    told = barp(pairs, **known, anchor=[0, 1], sharpness="equal").section()
    assert told.sentences[0].startswith(
        "If all evaluators were equally consistent, 3 of 3 evaluators"
    )
    assert "They are not (p < 0.0001)" in told.sentences[0]
    assert (
        "If that holds and all were equally consistent, the other evaluator leans;"
        in told.sentences[2]
    )
    assert told.grids[0].title.startswith(
        "Evaluators by how surely they lean, if all were equally consistent"
    )
    assert told.charts[0].legend["found"] == "found to lean, if all were equally consistent"
    own = barp(pairs, **known, anchor=[0, 1]).section()
    assert own.sentences[0].startswith("None of 3 evaluators")
    assert own.sentences[0].endswith(
        " This needs no assumption but that the trusted treat them alike."
    )
    assert "If that holds, the other evaluator is not found to lean" in own.sentences[2]


def test_who_differs_is_named_first() -> None:
    fit = barp(**judge_alike(2, [0, 0, 0, 0, 2.0]), sharpness="equal")
    first = fit.section().sentences[0]
    # The average lies between the one and the many, who differ from it as well, and less.
    said = f"in {fit.unit}: 4 {fit.centred_bias[4, 0]:+.3f}, "
    average = f"the panel's average ({fit.contrasts[0]}, {said}"
    assert f"5 of 5 evaluators treat the groups differently from {average}" in first
    assert first.endswith(". This needs no assumption.")
    two = barp(**judge_alike(3, [0.0, 2.0]), sharpness="equal").section().sentences[0]
    assert two.startswith("The two evaluators treat the groups differently from each other.")


def test_a_seat_is_no_group_to_lean_toward(fit: BiasedRanking) -> None:
    # Everybody favours what is shown first, and of two groups in name only nobody does either.
    rng = np.random.default_rng(8)
    pairs = np.array([rng.choice(40, 2, replace=False) for _ in range(2000)])
    first = rng.random(2000) < 0.75
    seated = barp(
        np.where(first[:, None], pairs, pairs[:, ::-1]),
        evaluators=np.arange(2000) % 4,
        sensitive_features=np.array(["a", "b"] * 20),
        seats=np.where(first, 1, -1),
        seat_by_evaluator=True,
        anchor="zero mean bias",
    )
    assert seated.contrasts[-1] == SEAT
    assert (seated.q[:, 1] <= LEVEL).all()
    assert "0 of 4 evaluators lean toward a group, 4 toward a seat" in str(seated)
    assert "toward a seat" not in str(fit)


def test_a_table_of_one_contrast_says_what_a_positive_bias_favours(fit: BiasedRanking) -> None:
    (grid,) = (grid for grid in fit.section().grids if grid.title.startswith("Evaluators by"))
    assert grid.title == (
        "Evaluators by how surely they lean (group: b over a), the first 15 of 25"
    )


def test_of_those_who_are_trusted_only_that_is_shown() -> None:
    few = WORLD.evaluators < 6
    known = {"evaluators": WORLD.evaluators[few], "sensitive_features": WORLD.group}
    (grid, *_) = barp(WORLD.comparisons[few], anchor=[3, 5], **known).section().grids
    shown = {row[0]: row[1:] for row in grid.rows}
    assert shown["3"] == shown["5"] == ("+0.000", "trusted", "", "")
    assert not any("" in row for name, row in shown.items() if name not in {"3", "5"})
