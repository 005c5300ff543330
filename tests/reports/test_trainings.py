"""Accounts of training as text, page and data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from comparity.reports.charts import Curve, CurveChart, axis_between
from comparity.reports.page import _environment
from comparity.training.costs import ERROR, Method, ScoreChange
from comparity.training.result import Outcome, TradeOff, Training, WeighedCell, Weighing
from comparity.training.trained_scorers import _verdict


def outcome(accuracy: float, difference: float, error: float | None = None) -> Outcome:
    terms = {"a > b": 0.8, "[b] > a": 0.8 - difference}
    return Outcome(
        accuracy=accuracy, squared_error=error, terms=terms, largest_difference=difference
    )


@pytest.fixture
def training() -> Training:
    return Training(
        goals=("cross-group",),
        form="constrained",
        slack=0.05,
        feasible=False,
        best=outcome(0.86, 0.06),
        mixture=outcome(0.87, 0.055),
        start=outcome(0.92, 0.25),
        probabilities=(0.3, 0.7),
        cell_weights={"a > a": 0.5, "[b] > a": 0.5},
        multipliers={"objective": 0.8, "a > b less [b] > a": 0.2},
        rows={"trained on": 3000, "chosen by": 1000},
    )


def test_the_headline_says_before_and_after(training: Training) -> None:
    text = str(training)
    assert text.startswith("Trained for cross-group: largest difference 0.250 before, 0.060 after")
    assert "Accuracy over all pairs 0.860 (-0.060)" in text
    assert "3,000 rows to train on, 1,000 others to choose the model by" in text
    assert "mixture of 2" in text
    assert "No mixture found keeps every difference within 0.05" in text
    assert "[b] > a" in text


def test_rates_say_which_rows_they_are_of(training: Training) -> None:
    assert "Rates on the 1,000 rows to choose by" in str(training)
    pooled = str(replace(training, training_share=0.7))
    assert "Rates on all 4,000 rows (those trained on weigh 0.700)" in pooled
    assert "all pairs, rows to choose by only" in pooled


def test_a_robust_headline_names_the_least_rate(training: Training) -> None:
    text = str(replace(training, form="robust", feasible=True))
    assert "least rate 0.550 before, 0.740 after" in text
    assert "No mixture" not in text


def test_a_single_model_that_misses_what_the_mixture_keeps_is_told(training: Training) -> None:
    kept = replace(training, feasible=True, mixture=outcome(0.87, 0.05))
    assert "Only the mixture keeps every difference within 0.05" in str(kept)
    assert kept.to_dict()["single_misses"] is True
    for same in (
        replace(kept, best=outcome(0.8, 0.05 + 1e-9)),
        replace(kept, form="robust"),
        replace(kept, multipliers={"objective": 1.0}),
    ):
        assert "Only the mixture" not in str(same)


def test_without_a_goal_there_is_no_difference_and_no_slack(training: Training) -> None:
    nothing = Outcome(accuracy=0.9, squared_error=None, terms={}, largest_difference=0.0)
    ends = {"best": nothing, "mixture": nothing, "start": nothing}
    free = replace(training, goals=(), feasible=True, multipliers={"objective": 1.0}, **ends)
    text = str(free)
    assert text.startswith("Trained without a goal: accuracy over all pairs 0.900")
    assert "difference" not in text
    assert "slack" not in text


def test_a_page_and_plain_data_hold_the_same_numbers(training: Training) -> None:
    assert "0.860" in training._repr_html_()
    content = json.loads(json.dumps(training.to_dict(), allow_nan=False))
    assert content["best"]["terms"]["a > b"] == 0.8
    frame = training.to_frame("pandas")
    assert frame["mixture"].tolist() == pytest.approx([0.8, 0.745])


def test_a_trade_off_of_predictions_shows_squared_errors(training: Training) -> None:
    ends = {"best": outcome(0.8, 0.1, 0.5), "mixture": outcome(0.8, 0.1, 0.4)}
    curve = TradeOff(trainings=(replace(training, **ends, start=outcome(0.9, 0.3, 0.3)),))
    assert "squared error" in str(curve)
    assert curve.plot().get_ylabel() == "mean squared error"
    assert curve.to_dict()["trainings"][0]["best"]["squared_error"] == 0.5


@pytest.mark.parametrize(
    ("what", "interval", "differences", "said"),
    [
        ("all pairs", (0.01, 0.03), (0.005, 0.002), "beats"),
        ("all pairs", (0.01, 0.03), (0.05, 0.002), "costs less, but misses the goal by more, than"),
        ("all pairs", (-0.03, -0.01), (0.002, 0.005), "does worse than"),
        ("all pairs", (-0.03, -0.01), (0.0, 0.05), "costs more, but misses the goal by less, than"),
        ("all pairs", (-0.01, 0.02), (0.0, 0.05), "is not shown to be better or worse than"),
        (ERROR, (-0.03, -0.01), (0.005, 0.002), "beats"),
        (ERROR, (0.01, 0.03), (0.005, 0.002), "does worse than"),
    ],
)
def test_less_lost_at_a_larger_difference_is_no_victory(
    what: str, interval: tuple[float, float], differences: tuple[float, float], said: str
) -> None:
    change = ScoreChange(what=what, before=0.5, after=0.5, low=interval[0], high=interval[1])
    ways = [
        Method(name="", accuracy=0.5, squared_error=None, largest_difference=one)
        for one in differences
    ]
    assert _verdict(change, *ways, slack=0.01) == said


def test_every_point_of_a_curve_is_on_the_page_and_named() -> None:
    curves = (
        Curve(label="joined", points=[(0.1, 0.2), (0.3, 0.4)], style="both"),
        Curve(label="alone <b>", points=[(0.25, 0.35)], style="points"),
    )
    axes = [axis_between(name, [0.0, 1.0]) for name in ("across", "up & down")]
    chart = CurveChart(title="t", axis=axes[0], up=axes[1], curves=curves)
    drawn = str(_environment().get_template("charts.html.jinja").module.chart_of(chart))
    # The line, and its key.
    assert drawn.count("<polyline") == 2
    for told in ("joined: 0.1, 0.2", "joined: 0.3, 0.4", "alone &lt;b&gt;: 0.25, 0.35"):
        assert f"<title>{told}</title>" in drawn
    assert "up &amp; down" in drawn


def test_weights_are_listed_by_group_and_label() -> None:
    cells = tuple(WeighedCell("g\x1b", str(label), 3, 1.5) for label in range(20))
    shown = Weighing(
        method="reweighing",
        column="weight",
        output="w.csv",
        n_rows=60,
        effective_rows=48.2,
        largest=1.5,
        cells=cells,
    )
    text = str(shown)
    assert "worth 48 equal rows" in text
    assert "\x1b" not in text
    assert "4 more combinations" in text
    assert len(shown.to_frame("pandas")) == 20
