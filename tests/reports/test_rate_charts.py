"""Pictures put every mark where its number is, between the ends of their axis."""

from typing import Any

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from comparity.metrics.pictures import tree_chart
from comparity.metrics.result import MetricClusters
from comparity.ranking.pictures import bias_chart, bias_picture, rank_chart
from comparity.reports.charts import Axis, round_numbers
from comparity.training.result import Outcome, Training
from comparity.training.section import training_chart

BEFORE, AFTER = {"f > m": 0.71, "m > f": 0.93}, {"f > m": 0.8, "m > f": 0.85}


def outcome(terms: dict[str, float]) -> Outcome:
    return Outcome(accuracy=0.9, squared_error=None, terms=terms, largest_difference=0.1)


@pytest.fixture
def training() -> Training:
    return Training(
        goals=("cross-group",),
        form="constrained",
        slack=0.05,
        feasible=True,
        best=outcome(AFTER),
        mixture=outcome(AFTER),
        start=outcome(BEFORE),
        probabilities=(1.0,),
        cell_weights={"f > m": 1.0},
        multipliers={"objective": 1.0},
        rows={"trained on": 30, "chosen by": 10},
    )


def read_off(axis: Axis, value: float) -> float:
    """Return the number at the place of a value, read off the ticks as a reader would."""
    at = [axis.across(tick.at) for tick in axis.ticks]
    known = [float(tick.label.replace(",", "")) for tick in axis.ticks]
    slope, start = np.polyfit(at, known, 1)
    return float(slope * axis.across(value) + start)


def test_rates_before_and_after_training_are_where_the_axis_says(training: Training) -> None:
    chart = training_chart(training)
    for (name, before), row in zip(BEFORE.items(), chart.rows, strict=True):
        assert row.label == name
        assert read_off(chart.axis, row.marks[0].x) == pytest.approx(before, abs=1e-3)
        assert read_off(chart.axis, row.marks[1].x) == pytest.approx(AFTER[name], abs=1e-3)


def test_the_plot_of_training_has_both_rates_of_every_kind_of_pair(training: Training) -> None:
    drawn = [line.get_xdata().tolist() for line in training.plot().lines]
    for name in BEFORE:
        assert [BEFORE[name], AFTER[name]] in drawn
    assert "10 rows" in training.plot().get_xlabel()


def bias(name: str, value: float, q: float) -> dict[str, Any]:
    facts = {"evaluator": name, "contrast": "sex: m over f", "bias": value, "comparisons": 1}
    ends = {"cautious_low": value - 0.5, "cautious_high": value + 0.5}
    return facts | ends | {"cautious_q_value": q}


def test_biases_are_in_order_and_where_the_axis_says() -> None:
    rows = [bias("a", 1.5, 0.001), bias("b", -0.75, 0.04), bias("c", 0.25, 0.9)]
    chart = bias_chart(rows, level=0.05)
    marks = [row.marks[0] for row in chart.rows]
    assert [row.label for row in chart.rows] == ["b", "c", "a"]
    assert [mark.kind for mark in marks] == ["found", "open", "found"]
    assert {row.note for row in chart.rows} == {"1 comparison"}
    assert "squares are found to lean, diamonds not found to lean" in chart.caption
    for mark, value in zip(marks, (-0.75, 0.25, 1.5), strict=True):
        places = [read_off(chart.axis, end) for end in (mark.low, mark.x, mark.high)]
        assert places == pytest.approx([value - 0.5, value, value + 0.5], abs=0.01)


def test_of_many_evaluators_the_surest_are_drawn_and_the_title_says_so() -> None:
    chart = bias_chart([bias(str(k), 0.1 * k, 0.5) for k in range(90)], level=0.05)
    assert len(chart.rows) == 40
    assert "the 40 of 90 evaluators who stand out most" in chart.title


def test_biases_of_many_evaluators_are_counted_by_range() -> None:
    rows = [bias(str(k), 0.1 * k - 0.95, 0.01 if k >= 30 else 0.5) for k in range(40)]
    chart = bias_picture(rows, level=0.05, unit="logits")
    assert [row.label for row in chart.rows][:3] == ["-1 to -0.5", "-0.5 to 0", "0 to +0.5"]
    assert [row.note for row in chart.rows] == ["5 evaluators"] * 8
    assert sum(mark.x for row in chart.rows for mark in row.marks if mark.kind == "found") == 10
    assert len(bias_picture(rows[:30], level=0.05, unit="logits").rows) == 30


def test_an_evaluator_without_a_bias_has_a_row_without_a_mark() -> None:
    names = ("bias", "cautious_low", "cautious_high", "cautious_q_value")
    nothing = dict.fromkeys(names)
    chart = bias_chart([bias("a", 1.0, 0.01), bias("b", 0.0, 0.5) | nothing], level=0.05)
    assert sorted(row.marks[0].is_known for row in chart.rows) == [False, True]


def test_ranks_are_where_the_axis_says() -> None:
    rows = [
        {"item": f"i{k}", "rank": k, "rank_low": max(1, k - 3), "rank_high": min(200, k + 40)}
        for k in range(1, 201)
    ]
    chart = rank_chart(rows)
    assert len(chart.rows) == 15
    (mark,), row = chart.rows[9].marks, rows[9]
    assert [read_off(chart.axis, end) for end in (mark.low, mark.x, mark.high)] == pytest.approx(
        [row["rank_low"], row["rank"], row["rank_high"]], abs=0.2
    )


def test_the_tree_merges_metrics_at_the_heights_of_scipy() -> None:
    rng = np.random.default_rng(4)
    points = rng.uniform(size=(7, 2))
    far = np.linalg.norm(points[:, None] - points[None], axis=2)
    merges = linkage(squareform(far, checks=False), "average")
    ids = tuple(f"C{k}" for k in range(7))
    chart = tree_chart(
        MetricClusters(
            clusters=(ids[:3], ids[3:]),
            threshold=0.3,
            stretch=(0.2, 0.4),
            heights=tuple(merges[:, 2]),
            ids=ids,
            dissimilarity=far,
            merges=merges,
            correlation="spearman",
            linkage="average",
            n_resamples=10,
            n_dropped=0,
        )
    )
    assert sorted(chart.leaves) == sorted(ids)
    heights = [read_off(chart.axis, branch[1][0]) for branch in chart.branches]
    assert heights == pytest.approx(merges[:, 2].tolist(), abs=0.01)
    assert max(heights) == pytest.approx(cophenet(merges).max(), abs=0.01)
    # Every branch stays between the first leaf and the last.
    places = [chart.down(place) for branch in chart.branches for _, place in branch]
    assert min(places) > 0
    assert max(places) < chart.floor


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0.81, 0.83), (-250, 3), (1e-6, 3e-6)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = round_numbers(low, high)
    assert 2 <= len(found) <= 8
    assert min(found) >= low
    assert max(found) <= high
    assert np.ptp(np.diff(found)) < 1e-9
