import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

HALVES = ("--shares", "0.5,0.5", "--base-rates", "0.5,0.5")
POINTWISE = ("plan", "separation", "--tpr", "0.8,0.8", "--fpr", "0.4,0.32", *HALVES)
JUDGED = ("plan", "comparative", "--tpr", "0.8,0.84", "--tnr", "0.6,0.56", *HALVES)


def test_power_gives_a_size_and_that_size_gives_the_power_back(run: Run) -> None:
    n = json.loads(run(*POINTWISE, "--power", 0.8, "--json").out)["n"]
    power = json.loads(run(*POINTWISE, "--n", n, "--json").out)["power"]
    assert power == pytest.approx(0.8, abs=0.002)


def test_judged_pairs_are_planned_with_items_evaluators_and_ties(run: Run) -> None:
    reuse = ("--n-items", 2000, "--n-evaluators", 20, "--tie-share", 0.1, "--n-pairs", 4000)
    content = json.loads(run(*JUDGED, *reuse, "--json").out)
    assert (content["n_items"], content["n_evaluators"], content["n_pairs"]) == (2000, 20, 4000)


@pytest.mark.long
def test_a_plan_is_shown_drawn_and_written(run: Run, tmp_path: Path) -> None:
    files = ("--plot", tmp_path / "power.png", "--html", tmp_path / "plan.html")
    outcome = run(*JUDGED, "--power", 0.8, "--groups", "f,m", *files)
    assert outcome.status == 0
    assert "agree(f > m) = agree(m > f)" in outcome.out
    assert (tmp_path / "power.png").read_bytes().startswith(b"\x89PNG")
    assert "polyline" in (tmp_path / "plan.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ((*JUDGED, "--power", 0.8), "--n-evaluators"),
        ((*POINTWISE, "--fpr", "0.4,0.38", "--power", 0.8), "--margin"),
        (
            ("plan", "rank", "--lean", 1, "--n-items", 90, "--n-evaluators", 6, "--power", 0.8),
            "--cautious",
        ),
    ],
)
def test_what_a_note_advises_can_be_asked_for_on_the_command_line(
    run: Run, words: tuple[str | float, ...], option: str
) -> None:
    assert option in run(*words).out.partition("Notes")[2]
    assert option in run(*words[:2], "--help").out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((), "power"),
        (("--power", "0.8", "--n", "100"), "power"),
        (("--power", "1.5"), "--power"),
        (("--tpr", "0.8,x", "--power", "0.8"), "0.8,x"),
        (("--tpr", "0.8", "--power", "0.8"), "tpr"),
        (("--power", "0.8", "--plot", "power.xyz"), ".png"),
    ],
)
def test_bad_plans_are_named_with_status_2(run: Run, change: tuple[str, ...], said: str) -> None:
    outcome = run(*POINTWISE, *change)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err
