"""Two runs of a judge on the same presentations, against counts by hand and McNemar's test."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from statsmodels.stats.contingency_tables import mcnemar

from comparity import audit_judges
from comparity.errors import OptionError
from comparity.judges.rates import flip_signs
from comparity.results.result import read_result


def games(judge: str, first: list[str]) -> list[dict[str, Any]]:
    """Return arena-hard's games of one model, one question for each pair of grades."""
    return [
        {
            **{"question_id": f"q{place}", "model": "m", "judge": judge},
            "games": [{"score": grade}, {"score": "B>A"}],
        }
        for place, grade in enumerate(first)
    ]


OLD = ["A>B"] * 30 + ["B>A"] * 10 + ["A=B"] * 5
NEW = ["A>B"] * 14 + ["B>A"] * 24 + ["A>B"] * 2 + ["A=B"] * 5


def test_changes_are_those_counted_by_hand_and_tested_as_by_mcnemar() -> None:
    audit = audit_judges(games("old", OLD) + games("new", NEW), drift=("old", "new"))
    drift = audit.drift
    assert drift is not None
    # The second games are alike; of the first 16 turned one way and 2 the other.
    assert (drift.same.hits, drift.same.trials) == (90 - 18, 90)
    by_name = {one.what: one for one in drift.changes}
    first = by_name["the first answer wins"]
    # 40 pairs are decided in the first game, and all 45 in the second, where B always wins.
    assert_allclose([first.before, first.after], [30 / 85, 16 / 85])
    table = [[0, 16], [2, 0]]
    assert_allclose(first.p_value, mcnemar(table, exact=True).pvalue)
    assert first.p_adjusted >= first.p_value
    assert first.interval.low < first.gap < first.interval.high < 0
    assert by_name["a tie"].gap == 0
    assert "no verdict" not in by_name
    assert "what changed: the first answer wins in 19 of 100, before in 35" in " ".join(
        str(audit).split()
    )
    assert read_result(audit.to_dict()).drift == drift


def test_files_of_one_judge_can_be_compared(tmp_path: Path) -> None:
    paths = []
    for name, grades in (("before", OLD), ("after", OLD)):
        paths.append(tmp_path / f"{name}.jsonl")
        rows = [row | {"run": name} for row in games("gpt", grades)]
        paths[-1].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    audit = audit_judges(paths, drift=("before.jsonl", "after.jsonl"))
    assert audit.drift is not None
    assert audit.drift.same.rate == 1
    assert "no change beyond chance is found" in " ".join(str(audit).split())


def test_a_name_of_two_files_is_refused_and_their_paths_are_taken(tmp_path: Path) -> None:
    paths = []
    for folder, grades in (("v1", OLD), ("v2", NEW)):
        (tmp_path / folder).mkdir()
        paths.append(str(tmp_path / folder / "log.jsonl"))
        rows = [row | {"run": folder} for row in games("gpt", grades)]
        Path(paths[-1]).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(OptionError, match="2 files are called so") as ambiguous:
        audit_judges(paths, drift=("log.jsonl", "log.jsonl"))
    with pytest.raises(OptionError) as unknown:
        audit_judges(paths, drift=("v3", "v4"))
    for error in (ambiguous, unknown):
        assert all(one in str(error.value) for one in paths)
    drift = audit_judges(paths, drift=tuple(paths)).drift
    assert drift is not None
    assert (drift.same.hits, drift.same.trials) == (90 - 18, 90)


def test_an_answerer_may_be_called_as_a_question_is() -> None:
    rows = games("old", OLD) + games("new", NEW)
    drift = audit_judges(rows, drift=("old", "new"), baseline="the first answer").drift
    assert drift is not None
    seat, wins = (one for one in drift.changes if one.what == "the first answer wins")
    assert seat.before == pytest.approx(30 / 85)
    # It is A in the first game, of which it wins 30, and B in the other, of which it wins all 45.
    assert wins.before == pytest.approx(75 / 90)


@pytest.mark.parametrize(
    ("names", "said"),
    [(("old",), "old,new"), (("old", "newer"), "newer"), (("old", "old", "new"), "old,new")],
)
def test_unknown_and_too_many_names_are_refused(names: tuple[str, ...], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        audit_judges(games("old", OLD) + games("new", NEW), drift=names)


def test_judges_without_a_common_presentation_are_refused() -> None:
    other = [row | {"question_id": f"other {row['question_id']}"} for row in games("new", NEW)]
    with pytest.raises(OptionError, match="same answers in the same seats"):
        audit_judges(games("old", OLD) + other, drift=("old", "new"))


@pytest.mark.parametrize("runs", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_two_runs_of_one_judge_seldom_seem_to_differ(runs: int) -> None:
    rng, found = np.random.default_rng(20260131), 0
    for _ in range(runs):
        # Eight verdicts of each of 60 prompts, which go together.
        chance = rng.beta(0.7, 0.7, (60, 1))
        one, two = (rng.random((60, 8)) < chance for _ in range(2))
        found += flip_signs(two.sum(1) - one.sum(1)) < 0.05
    assert found <= 0.05 * runs + 3 * (runs * 0.05 * 0.95) ** 0.5


def test_judges_of_two_files_are_compared_with_themselves(tmp_path: Path) -> None:
    """The older file has a judge more, who decides otherwise; the other judge did not change."""
    steady = ["A>B"] * 9 + ["B>A"] * 36
    rows = {"old": games("more", OLD) + games("same", steady), "new": games("same", steady)}
    paths = [tmp_path / f"{name}.jsonl" for name in rows]
    for path, (name, own) in zip(paths, rows.items(), strict=True):
        told = "\n".join(json.dumps(row | {"run": name}) for row in own)
        path.write_text(told, encoding="utf-8")
    drift = audit_judges(paths, drift=("old.jsonl", "new.jsonl")).drift
    assert drift is not None
    assert (drift.same.hits, drift.same.trials) == (90, 90)
    assert {one.gap for one in drift.changes} == {0}


@pytest.mark.parametrize("sizes", [[5000] * 5, [10_000] * 4 + [1] * 10, [9000, 4000, 3000] * 3])
def test_large_surpluses_of_few_prompts_have_the_p_value_of_all_signs(sizes: list[int]) -> None:
    signs = np.array(list(product([-1, 1], repeat=len(sizes))))
    sums = np.abs(signs @ np.array(sizes))
    for net in (np.array(sizes), np.array(sizes) * np.where(np.arange(len(sizes)) == 1, -1, 1)):
        expected = np.mean(sums >= abs(net.sum()))
        assert_allclose(flip_signs(net), expected, rtol=0.02, atol=1e-4)
