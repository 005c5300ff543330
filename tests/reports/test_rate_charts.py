"""Pictures put every mark where its number is, between the ends of their axis."""

from typing import Any

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from comparity.metrics.plots import tree_chart
from comparity.metrics.result import MetricClusters
from comparity.ranking.plots import bias_chart, rank_chart
from comparity.reports.charts import Chart, numbers_between
from comparity.training.result import Outcome, Training
from comparity.training.section import plot_training, training_chart

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


def read_off(chart: Chart, x: float | None) -> float:
    """Return the number at a place, read off the ticks of the axis as a reader would."""
    assert x is not None
    at = [tick.at for tick in chart.ticks]
    value = [float(tick.label.replace(",", "")) for tick in chart.ticks]
    slope, start = np.polyfit(at, value, 1)
    return float(slope * x + start)


def test_rates_before_and_after_training_are_where_the_axis_says(training: Training) -> None:
    chart = training_chart(training)
    for (name, before), marks in zip(BEFORE.items(), chart.rows, strict=True):
        assert marks[0].label == name
        assert read_off(chart, marks[0].x) == pytest.approx(before, abs=1e-3)
        assert read_off(chart, marks[1].x) == pytest.approx(AFTER[name], abs=1e-3)


def test_the_plot_of_training_has_both_rates_of_every_kind_of_pair(training: Training) -> None:
    drawn = [line.get_xdata().tolist() for line in plot_training(training).lines]
    for name in BEFORE:
        assert [BEFORE[name], AFTER[name]] in drawn
    assert "10 rows" in training.plot().get_xlabel()


def bias(name: str, value: float, q: float) -> dict[str, Any]:
    facts = {"evaluator": name, "contrast": "sex: m over f", "bias": value, "q_value": q}
    return facts | {"low": value - 0.5, "high": value + 0.5, "comparisons": 1}


def test_biases_are_in_order_and_where_the_axis_says() -> None:
    rows = [bias("a", 1.5, 0.001), bias("b", -0.75, 0.04), bias("c", 0.25, 0.9)]
    chart = bias_chart(rows, level=0.05)
    assert [mark.label for mark in chart.marks] == ["b", "c", "a"]
    assert [mark.finding for mark in chart.marks] == ["found", "open", "found"]
    assert {mark.note for mark in chart.marks} == {"1 comparison"}
    for mark, value in zip(chart.marks, (-0.75, 0.25, 1.5), strict=True):
        places = [read_off(chart, end) for end in (mark.low, mark.x, mark.high)]
        assert places == pytest.approx([value - 0.5, value, value + 0.5], abs=0.01)


def test_of_many_evaluators_the_surest_are_drawn_and_the_title_says_so() -> None:
    chart = bias_chart([bias(str(k), 0.1 * k, 0.5) for k in range(90)], level=0.05)
    assert len(chart.marks) == 40
    assert "the 40 of 90 evaluators who stand out most" in chart.title


def test_an_evaluator_without_a_bias_has_a_row_without_a_mark() -> None:
    nothing = {"bias": None, "low": None, "high": None, "q_value": None}
    chart = bias_chart([bias("a", 1.0, 0.01), bias("b", 0.0, 0.5) | nothing], level=0.05)
    assert sorted(mark.is_known for mark in chart.marks) == [False, True]


def test_ranks_are_where_the_axis_says() -> None:
    rows = [
        {"item": f"i{k}", "rank": k, "rank_low": max(1, k - 3), "rank_high": min(200, k + 40)}
        for k in range(1, 201)
    ]
    chart = rank_chart(rows)
    assert len(chart.marks) == 15
    mark, row = chart.marks[9], rows[9]
    assert [read_off(chart, end) for end in (mark.low, mark.x, mark.high)] == pytest.approx(
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
    assert sorted(level.label for level in chart.levels) == sorted(ids)
    heights = [read_off(chart, branch[1][0]) for branch in chart.branches]
    assert heights == pytest.approx(merges[:, 2].tolist(), abs=0.01)
    assert max(heights) == pytest.approx(cophenet(merges).max(), abs=0.01)
    # No two leaves share a row, and every branch stays inside.
    assert len({level.at for level in chart.levels}) == 7
    assert all(0 <= y <= chart.floor for branch in chart.branches for _, y in branch)


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0.81, 0.83), (-250, 3), (1e-6, 3e-6)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = numbers_between(low, high)
    assert 2 <= len(found) <= 8
    assert min(found) >= low
    assert max(found) <= high
    assert np.ptp(np.diff(found)) < 1e-9
