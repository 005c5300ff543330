import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from comparity import fair_topk, fairness_metrics, pairwise_accuracy, select_metrics
from comparity.metrics.comparison import metric_sensitivity
from comparity.metrics.distortion import distortion_metrics
from comparity.metrics.metric_clusters import ClusterStability, ClusterTrial
from comparity.metrics.result import MetricClusters
from comparity.planning.plan import plan_comparative, plan_separation
from comparity.relative.rehearsal import Rehearsal, RehearsedCase
from comparity.reports.plots import save
from comparity.results.audit import Audit
from comparity.results.result import read_result
from comparity.separation.information import information_separation

HALVES = {"shares": [0.5, 0.5], "base_rates": [0.5, 0.5]}


def segments(ax: Axes) -> list[tuple[float, float]]:
    """Return the ends of every horizontal line of two points."""
    lines = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    return [(float(ends[0]), float(ends[1])) for ends in lines if ends[0] != ends[1]]


def test_every_gap_is_drawn_with_the_interval_it_was_judged_by(audit: Audit) -> None:
    ax = audit.plot()
    for drawn, test in zip(segments(ax), audit.tests, strict=True):
        assert drawn == pytest.approx(test.interval(test.level)[:2])


def test_findings_differ_by_marker_as_well_as_colour(audit: Audit) -> None:
    marks = [line for line in audit.plot().lines if line.get_marker() not in ("None", "")]
    assert len({line.get_marker() for line in marks}) == 2
    assert len({line.get_color() for line in marks}) == 2


# What the font lacks is said by matplotlib itself: filters of warnings belong to the process.
@pytest.mark.filterwarnings("ignore:Glyph .* missing:UserWarning")
def test_labels_hold_names_literally_and_the_number_of_judgments(
    audit: Audit, tmp_path: Path
) -> None:
    tests = (replace(audit.tests[0], null="agree($x > \N{CJK UNIFIED IDEOGRAPH-7537}\x1b)"),)
    ax = replace(audit, tests=tests).plot()
    assert (
        ax.get_yticklabels()[0]
        .get_text()
        .startswith("agree($x > \N{CJK UNIFIED IDEOGRAPH-7537}\\x1b)\n1,234")
    )
    save(ax, tmp_path / "gaps.png")
    assert (tmp_path / "gaps.png").read_bytes().startswith(b"\x89PNG")


def test_an_untestable_hypothesis_keeps_its_row_without_a_mark(audit: Audit) -> None:
    untested = replace(audit.tests[0], pivot=None, gap=float("nan"))
    ax = replace(audit, tests=(untested, audit.tests[1])).plot()
    assert len(ax.get_yticks()) == 2
    assert len(segments(ax)) == 1


def test_given_axes_are_drawn_on_and_no_global_figure_is_made(audit: Audit) -> None:
    ax = Figure().subplots()
    assert audit.plot(ax) is ax
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_power_is_drawn_as_the_plan_says_with_the_target() -> None:
    plan = plan_separation(tpr=[0.8, 0.8], fpr=[0.4, 0.32], power=0.8, **HALVES)
    lines = plan.plot().lines
    sizes, powers = lines[0].get_data()
    assert list(zip(sizes, powers, strict=True)) == list(plan.curve())
    assert list(lines[1].get_ydata()) == [0.8, 0.8]


@pytest.mark.long
def test_power_on_shared_items_is_drawn_for_other_numbers_of_items_too() -> None:
    plan = plan_comparative(tpr=[0.8, 0.84], tnr=[0.6, 0.56], n_pairs=4000, n_items=2000, **HALVES)
    labels = [line.get_label() for line in plan.plot().lines]
    assert labels[:4] == ["2,000 items", "fresh items", "half the items", "twice the items"]
    # JSON holds the plan's own curve only.
    assert read_result(plan.to_dict()).plot().lines[0].get_label() == "this plan"


def longest_line(ax: Axes) -> int:
    """Return the letters of the longest line of title, axis and names."""
    texts = [ax.get_title(loc="left"), ax.get_xlabel()]
    texts += [one.get_text() for one in (*ax.get_yticklabels(), *ax.get_xticklabels())]
    return max(len(line) for text in texts for line in text.split("\n"))


def test_long_names_are_broken_and_leave_room_for_the_plot(
    audit_with_groups: Callable[[str, str], Audit], tmp_path: Path
) -> None:
    ax = audit_with_groups("people who moved here from afar " * 9, "b").plot()
    save(ax, tmp_path / "gaps.png")
    assert longest_line(ax) < 70
    assert ax.get_window_extent().width > 0.4 * ax.get_figure(root=True).bbox.width


def test_of_very_many_tests_those_with_the_smallest_p_values_are_drawn(audit: Audit) -> None:
    rng = np.random.default_rng(4)
    ps = rng.permutation(380) / 380
    tests = tuple(
        replace(audit.tests[0], null=f"{p:.6f} = 0", p_value=float(p)) for p in [*ps, math.nan]
    )
    ax = replace(audit, tests=tests).plot()
    drawn = [float(one.get_text().split(" ")[0]) for one in ax.get_yticklabels()]
    assert sorted(drawn) == pytest.approx(sorted(ps)[:40], abs=1e-6)
    assert "the 40 of 381 tests" in ax.get_title(loc="left").replace("\n", " ")


@pytest.mark.long
@pytest.mark.parametrize(("k", "says"), [(2, "n"), (10, "0."), (20, "")])
def test_a_matrix_of_many_groups_is_colours_only(k: int, says: str) -> None:
    rng = np.random.default_rng(k)
    group = np.array([f"group {number}" for number in range(k)])[np.arange(400) % k]
    label = rng.integers(0, 2, 400)
    found = pairwise_accuracy(label, label + rng.normal(size=400), sensitive_features=group)
    texts = [one.get_text() for one in found.plot().texts]
    assert len(texts) == (k * k if says else 0)
    assert all(says in text for text in texts)


def test_a_fair_top_k_is_drawn_as_held_and_needed() -> None:
    group = np.array(["a", "b"])[np.arange(60) % 2]
    found = fair_topk(np.arange(60.0), sensitive_features=group, protected="a", k=20, p=0.7)
    held, needed, *_ = (line.get_ydata() for line in found.plot().lines)
    frame = found.to_frame("polars")
    assert list(held) == frame["held"].to_list()
    assert list(needed) == frame["needed"].to_list()


def test_what_hardly_responds_is_drawn_in_the_band() -> None:
    rng = np.random.default_rng(7)
    spread = {"C0": 1.0, "C1": 0.5, "C2": 0.001}
    found = metric_sensitivity({one: rng.normal(0, sd, 200) for one, sd in spread.items()})
    ax = found.plot()
    assert segments(ax) == [(0, one.iqr) for one in found.spreads]
    labels = [line.get_label() for line in ax.lines if line.get_marker() != "None"]
    assert labels == ["responds", "responds", "hardly responds"]


def test_information_is_drawn_beside_what_chance_gives() -> None:
    rng = np.random.default_rng(3)
    label, group = rng.integers(0, 2, 200), rng.choice(["a", "b"], 200)
    scores = label + rng.normal(size=200)
    found = information_separation(label, scores, sensitive_features=group, permutations=19)
    assert segments(found.plot()) == [(0, found.information), (0, found.by_chance)]


def test_bridges_are_drawn_against_direct_measurement() -> None:
    case = RehearsedCase(
        split=0,
        attribute="sex",
        first="a",
        second="b",
        direct=(1, 0),
        direct_dpd=(0.2, 0.4),
        said={"biased": 1, "unbiased": -1},
        dpd={"biased": 0.25, "unbiased": -0.1},
    )
    ax = Rehearsal(cases=(case, case), splits=2).plot()
    drawn = {line.get_label().split(":")[0]: line.get_xydata()[0].tolist() for line in ax.lines}
    assert drawn["biased"] == pytest.approx([0.3, 0.25])
    assert drawn["unbiased"] == pytest.approx([0.3, -0.1])


def test_metrics_to_report_stand_out_in_the_tree_of_what_moves_together() -> None:
    rng = np.random.default_rng(9)
    label, group = rng.integers(0, 2, 300), rng.choice(["a", "b"], 300)
    decided = np.where(rng.random(300) < 0.8, label, 1 - label)
    found = select_metrics(label, decided, sensitive_features=group, privileged="a", replicates=100)
    bold = {one.get_text() for one in found.plot().get_yticklabels() if one.get_weight() == "bold"}
    assert bold == {one.id for one in found.chosen} & set(found.clusters.ids)
    assert "\n".join(f"{one.id} {one.name}" for one in found.chosen) in {
        text.get_text() for text in replace(found, clusters=None).plot().texts
    }
    card = fairness_metrics(label, decided, sensitive_features=group, privileged="a")
    assert "300 decisions" in card.plot().get_title(loc="left").replace("\n", " ")


def test_how_far_rows_were_moved_is_drawn_with_its_error_for_both_camps() -> None:
    rng = np.random.default_rng(2)
    group, before = np.array(["a", "b"])[np.arange(80) % 2], rng.normal(size=(80, 3))
    found = distortion_metrics(
        before, before + rng.normal(size=(80, 3)), sensitive_features=group, privileged="a"
    )
    lines = found.plot().lines
    for camp in ("unprivileged", "privileged"):
        drawn = [float(line.get_xdata()[0]) for line in lines if line.get_label() == camp]
        assert drawn == pytest.approx([getattr(one, camp).average for one in found])
    first = found.distances[0].unprivileged
    half = norm.isf(0.025) * first.standard_error
    expected = (first.average - half, first.average + half)
    assert segments(found.plot())[0] == pytest.approx(expected, rel=1e-4)


def test_clusters_found_otherwise_are_drawn_by_how_far_they_agree() -> None:
    clusters = MetricClusters(
        clusters=(("C0",), ("C1",)),
        threshold=0.5,
        stretch=(0.0, 0.9),
        heights=(0.9,),
        ids=("C0", "C1"),
        dissimilarity=np.array([[0, 0.9], [0.9, 0]]),
        merges=np.array([[0, 1, 0.9, 2]]),
        correlation="spearman",
        linkage="average",
        n_resamples=100,
        n_dropped=0,
    )
    trials = tuple(
        ClusterTrial(choice="linkage", value=name, n_clusters=2, agreement=agreement)
        for name, agreement in (("average", 1.0), ("single", 0.25))
    )
    ax = ClusterStability(reference=clusters, trials=trials).plot(Figure().subplots())
    assert segments(ax) == [(0.0, 1.0), (0.0, 0.25)]
    # On axes of somebody else the legend stays inside, and the figure is theirs.
    assert ax.get_legend() is not None
    assert not ax.get_figure(root=True).legends


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_picture_drawn_twice_is_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    files = [tmp_path / f"{when}.{ending}" for when in ("1000000000", "2000000000")]
    for file in files:
        # matplotlib takes the time from here, where it tells one.
        monkeypatch.setenv("SOURCE_DATE_EPOCH", file.stem)
        ax = Figure().subplots()
        ax.fill_between([0, 1], [0, 1], hatch="/", clip_path=None)
        save(ax, file)
    assert files[0].read_bytes() == files[1].read_bytes()
