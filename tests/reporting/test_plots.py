import sys
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from comparity.auditing.planning import plan_comparative, plan_separation
from comparity.reporting.plots import plot_gaps, plot_power, save
from comparity.results import Audit

HALVES = {"shares": [0.5, 0.5], "base_rates": [0.5, 0.5]}


def segments(ax: Axes) -> list[tuple[float, float]]:
    """Return the ends of every horizontal line of two points."""
    lines = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    return [(float(ends[0]), float(ends[1])) for ends in lines if ends[0] != ends[1]]


def test_every_gap_is_drawn_with_the_interval_it_was_judged_by(audit: Audit) -> None:
    ax = plot_gaps(audit)
    for drawn, test in zip(segments(ax), audit.tests, strict=True):
        assert drawn == pytest.approx(test.interval(test.level)[:2])


def test_findings_differ_by_marker_as_well_as_colour(audit: Audit) -> None:
    marks = [line for line in plot_gaps(audit).lines if line.get_marker() not in ("None", "")]
    assert len({line.get_marker() for line in marks}) == 2
    assert len({line.get_color() for line in marks}) == 2


def test_labels_hold_names_literally_and_the_number_of_judgments(
    audit: Audit, tmp_path: Path
) -> None:
    tests = (replace(audit.tests[0], null="agree($x > \N{CJK UNIFIED IDEOGRAPH-7537}\x1b)"),)
    ax = plot_gaps(replace(audit, tests=tests))
    assert (
        ax.get_yticklabels()[0]
        .get_text()
        .startswith("agree($x > \N{CJK UNIFIED IDEOGRAPH-7537}\\x1b)\n1,234")
    )
    save(ax, tmp_path / "gaps.png")
    assert (tmp_path / "gaps.png").read_bytes().startswith(b"\x89PNG")


def test_an_untestable_hypothesis_keeps_its_row_without_a_mark(audit: Audit) -> None:
    untested = replace(audit.tests[0], pivot=None, gap=float("nan"))
    ax = plot_gaps(replace(audit, tests=(untested, audit.tests[1])))
    assert len(ax.get_yticks()) == 2
    assert len(segments(ax)) == 1


def test_given_axes_are_drawn_on_and_no_global_figure_is_made(audit: Audit) -> None:
    ax = Figure().subplots()
    assert plot_gaps(audit, ax) is ax
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_power_is_drawn_as_the_plan_says_with_the_target() -> None:
    plan = plan_separation(tpr=[0.8, 0.8], fpr=[0.4, 0.32], power=0.8, **HALVES)
    lines = plot_power(plan).lines
    sizes, powers = lines[0].get_data()
    assert list(zip(sizes, powers, strict=True)) == list(plan.curve())
    assert list(lines[1].get_ydata()) == [0.8, 0.8]


def test_power_on_shared_items_is_drawn_for_other_numbers_of_items_too() -> None:
    plan = plan_comparative(tpr=[0.8, 0.84], tnr=[0.6, 0.56], n_pairs=4000, n_items=2000, **HALVES)
    labels = [line.get_label() for line in plot_power(plan).lines]
    assert labels[:4] == ["2,000 items", "fresh items", "half the items", "twice the items"]
