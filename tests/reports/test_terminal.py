from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from comparity import pairwise_parity
from comparity.inference.gap_tests import Interval
from comparity.planning.plan import plan_comparative
from comparity.reports.page import page
from comparity.reports.terminal import as_text, show, view
from comparity.results.audit import Audit
from tests.reports.conftest import NormalPivot

HOSTILE = ("[bold red]f[/]\x1b[2J", "m\r\n\x07")


def test_the_finding_comes_first(audit: Audit) -> None:
    assert as_text(audit).splitlines()[0] == f"Comparative separation: {audit.finding}"


def test_the_interval_shown_is_the_one_that_was_judged(audit: Audit) -> None:
    # -0.11 and 0.01 plus and minus 2.2414 standard errors of 0.02 (normal quantile of 0.9875).
    shown = as_text(audit)
    assert "[-0.155, -0.065]" in shown
    assert "[-0.035, +0.055]" in shown
    assert shown.count("at 97.5%") == 2


def test_rates_of_two_groups_are_a_matrix(audit: Audit) -> None:
    lines = as_text(audit).splitlines()
    head = next(line for line in lines if line.startswith("better item"))
    assert "over f" in head
    assert "over m" in head
    assert next(line for line in lines if line.startswith("f ")).split() == ["f", "0.800", "0.690"]


def test_shares_of_wins_without_labels_are_not_called_agreement_with_labels() -> None:
    rng = np.random.default_rng(4)
    score, group = rng.normal(size=80), np.array(["f", "m"] * 40)
    shown = as_text(pairwise_parity(score, sensitive_features=group))
    assert "Agreement with the labels" not in shown
    assert "better item" not in shown
    wins = np.greater.outer(score[group == "f"], score[group == "m"]).mean()
    _, _, table = shown.partition("Share of pairs in which the first has the higher score")
    assert table.splitlines()[3].split() == ["f", ">", "m", f"{wins:.3f}"]


def test_markup_and_control_characters_in_data_do_nothing(
    audit_with_groups: Callable[[str, str], Audit],
) -> None:
    shown = as_text(audit_with_groups(*HOSTILE))
    assert "[bold red]f[/]\\x1b[2J" in shown.replace("\n", "")
    assert not set(shown) & {"\x1b", "\r", "\x07"}


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut(audit: Audit, width: int) -> None:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(view(audit))
    shown = captured.get()
    assert max(map(len, shown.splitlines())) <= width
    for test in audit.tests:
        low, high, _ = test.interval(test.level)
        assert f"[{low:+.3f}, {high:+.3f}]" in shown
        assert set(test.finding.split()) <= set(shown.partition("Tests")[2].split())


def test_what_is_piped_has_no_blanks_at_the_end_of_a_line(
    audit: Audit, capsys: pytest.CaptureFixture[str]
) -> None:
    show(audit)
    assert not [line for line in capsys.readouterr().out.splitlines() if line != line.rstrip()]


def test_an_untestable_hypothesis_shows_its_reason_and_no_numbers(audit: Audit) -> None:
    nan = float("nan")
    test = replace(
        audit.tests[1], pivot=None, gap=nan, p_adjusted=nan, n=(0, 3), reason="an empty cell"
    )
    shown = as_text(replace(audit, tests=(test,)))
    assert "n/a" in shown
    assert "an empty cell" in shown


def test_what_is_piped_has_neither_colour_nor_escapes(
    audit: Audit, capsys: pytest.CaptureFixture[str]
) -> None:
    show(audit)
    assert "\x1b" not in capsys.readouterr().out


def test_a_plan_for_shared_items_shows_how_often_they_may_be_reused() -> None:
    halves = {"shares": [0.5, 0.5], "base_rates": [0.5, 0.5]}
    plan = plan_comparative(tpr=[0.8, 0.84], tnr=[0.6, 0.56], power=0.8, **halves)
    shown = as_text(plan)
    assert f"{plan.n_pairs:,} judged pairs" in shown
    assert "fresh" in shown
    assert "never enough" in shown


def test_of_many_tests_those_that_found_most_are_shown(audit: Audit) -> None:
    found, inside = audit.tests
    tests = [replace(inside, null=f"no {k}") for k in range(90)]
    tests += [replace(found, null=f"yes {k}") for k in range(5)]
    many = replace(audit, tests=tuple(tests))
    shown = as_text(many).partition("Tests")[2].partition("Agreement")[0]
    assert [f"yes {k}" in shown for k in range(5)] == [True] * 5
    assert "and 55 more rows" in shown
    assert len(many.to_dict()["tests"]) == 95
    assert page(many).count("yes 4") > 0
    assert page(many).count("no 89") > 0


def test_of_very_many_tests_only_the_intervals_that_are_shown_are_worked_out(audit: Audit) -> None:
    asked: list[str] = []

    class Costly(NormalPivot):
        def interval(self, level: float) -> Interval:
            asked.append(f"{self.gap:+.4f}")
            return NormalPivot.interval(self, level)

    tests = tuple(
        replace(audit.tests[1], gap=gap, pivot=Costly(gap, 0.02))
        for gap in np.linspace(-0.01, 0.01, 100).tolist()
    )
    many = replace(audit, tests=tests)
    assert "and 60 more rows" in as_text(many)
    assert len(set(asked)) == 40
    page(many)
    assert len(set(asked)) == 100
