"""The numbers of the dashboard are those of the export, and a rule stops a study by them."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binomtest

from comparity.cli import commands
from comparity.collect import monitor
from comparity.collect.dashboard import HOME
from comparity.collect.dashboard_words import dashboard_values, gaps_found
from comparity.collect.kept_counts import KeptCounts
from comparity.collect.monitor import Monitor
from comparity.collect.rendering import read_words, render_template
from comparity.collect.result import JudgeStatus
from comparity.collect.safety import Limits
from comparity.collect.status import AssessedJudge, Assessment, assess_study
from comparity.collect.store import Store, open_store
from comparity.comparative.audit import audit_files
from comparity.ranking.rank import rank_files
from comparity.results.result import UNDECIDED, VIOLATED
from tests.collect.filling import fill, make_large
from tests.collect.test_dashboard import PASSWORD, log_in
from tests.collect.test_pages import Site


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A study of 1,200 judgments by twelve judges, with a gap."""
    path = str(tmp_path_factory.mktemp("full") / "study.db")
    make_large(path, 120, swapped_share=0.0, margin=0.1)
    with open_store(path) as store:
        fill(store, 1200, judges=12, gap=0.35)
        store.set_password(PASSWORD, now=0.0)
        yield store


def now_of(site: Site) -> dict[str, Any]:
    """Return the JSON of the dashboard once all is counted."""
    client = log_in(site)
    site_limit = 200
    for _ in range(site_limit):
        found: dict[str, Any] = client.get(f"{HOME}/now").json()
        if found["is_complete"]:
            return found
    raise AssertionError("never complete")


@pytest.mark.long
def test_numbers_are_those_of_the_commands_on_the_exported_tables(
    full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor, "LEAST_SECONDS", 0.0)
    site = Site(full, Limits(judge="10000/minute"))
    found = now_of(site)
    packed = log_in(site).get(f"{HOME}/export/study-csv.zip")
    zipfile.ZipFile(io.BytesIO(packed.content)).extractall(tmp_path)
    words = [
        "comparative",
        str(tmp_path / "comparisons.csv"),
        "--items",
        str(tmp_path / "items.csv"),
    ]
    words += ["--score", "model", "--sensitive", "sex", "--margin", "0.1", "--anytime", "--json"]
    printed = json.loads(CliRunner().invoke(commands, words).stdout)
    verdict = found["verdict"]
    for name in ("finding", "n", "n_items", "n_evaluators", "groups", "design", "alpha", "margin"):
        assert verdict[name] == printed[name], name
    assert verdict["ties"] == printed["ties"]
    for part in ("tests", "rates"):
        assert len(verdict[part]) == len(printed[part]) > 0
        for ours, theirs in zip(verdict[part], printed[part], strict=True):
            assert ours.keys() == theirs.keys()
            for key, value in theirs.items():
                assert ours[key] == _like(value), key
    assert found["status"]["judged"] == printed["n"] + printed["ties"]["judgments"]


def _like(value: Any) -> Any:
    return (
        pytest.approx(value, rel=1e-9)
        if isinstance(value, float)
        else ({key: _like(one) for key, one in value.items()} if isinstance(value, dict) else value)
    )


@pytest.mark.long
def test_leans_sharpness_and_misfit_are_those_of_the_ranking(full: Store, tmp_path: Path) -> None:
    from comparity.collect.export import export_study

    found = assess_study(full.address)
    export_study(full, tmp_path)
    comparisons, items = tmp_path / "comparisons.csv", tmp_path / "items.csv"
    panel = rank_files(comparisons, items, sensitive=("sex",), anytime=True)
    rows = {row["evaluator"]: row for row in panel.ranking.bias_rows()}
    assert found.why_not == ""
    assert {*found.judges} == {*rows}
    for name, one in found.judges.items():
        assert one.comparisons == rows[name]["comparisons"]
        assert one.lean == pytest.approx(rows[name]["bias"], rel=1e-9)
        assert one.lean_q == pytest.approx(rows[name]["cautious_q_value"], rel=1e-9)
        assert (one.sharpness is None) == ("sharpness" not in rows[name])
        assert one.misfit is not None
    plain = rank_files(comparisons, model="bt").ranking
    scores = dict(zip(plain.items, plain.scores, strict=True))
    expected = plain_misfit(comparisons, scores)
    for name, value in expected.items():
        assert found.judges[name].misfit == pytest.approx(value, rel=1e-9)


@pytest.mark.long
def test_without_groups_judges_have_a_misfit_and_no_lean(tmp_path: Path) -> None:
    path = str(tmp_path / "study.db")
    make_large(path, 20, goal="rank", sensitive=(), score=None)
    with open_store(path) as store:
        fill(store, 120, judges=3, gap=0.0)
        eye = Monitor(store)
        snapshot = eye.look()
        eye.dispose()
    found = assess_study(path)
    assert found.why_not == ""
    assert all(one.misfit and one.lean is None for one in found.judges.values())
    assert snapshot.audit is None
    assert snapshot.to_dict()["why_no_verdict"] == "no score"


def plain_misfit(comparisons: Path, scores: dict[str, float]) -> dict[str, float]:
    """Sum squared residuals and variances row by row."""
    import csv

    sums: dict[str, list[float]] = {}
    with comparisons.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["winner"] == "tie":
                continue
            chance = 1 / (1 + np.exp(scores[row["right"]] - scores[row["left"]]))
            told = 1.0 if row["winner"] == "left" else 0.0
            pair = sums.setdefault(row["evaluator"], [0.0, 0.0])
            pair[0] += (told - chance) ** 2
            pair[1] += chance * (1 - chance)
    return {name: squares / expected for name, (squares, expected) in sums.items()}


@pytest.mark.long
def test_a_study_with_a_rule_stops_once_it_is_decided(tmp_path: Path) -> None:
    path = str(tmp_path / "study.db")
    make_large(path, 120, margin=0.1, stop_when="decided")
    with open_store(path) as store:
        fill(store, 60, judges=12, gap=0.35, seed=1)
        eye = Monitor(store, lambda: 5.0)
        eye.tick()
        assert store.look(_closed_at) is None
        fill(store, 2400, judges=12, gap=0.35, seed=2)
        while not eye.look_again().counted.is_complete:
            assert store.look(_closed_at) is None
        assert store.look(_closed_at) == 5.0
        snapshot = eye.look()
        store.reopen(now=6.0)
        assert eye.look_again().state == "open"
        eye.dispose()
    assert (snapshot.state, snapshot.stopped_by_rule) == ("closed", True)
    assert snapshot.audit is not None
    once = audit_files_of(path, tmp_path)
    assert once.finding == snapshot.audit.finding == "violated"


def _closed_at(connection: Any) -> float | None:
    import sqlalchemy as sa

    found: float | None = connection.execute(sa.text("select closed_at from study")).scalar()
    return found


def audit_files_of(path: str, folder: Path) -> Any:
    from comparity.collect.export import export_study

    with open_store(path) as store:
        export_study(store, folder)
    asked = {"score": "model", "sensitive": ("sex",), "anytime": True, "margin": 0.1}
    return audit_files(folder / "comparisons.csv", folder / "items.csv", **asked)


@pytest.mark.parametrize(
    ("changed", "flags"),
    [
        ({}, []),
        ({"lean_q": 0.01}, ["lean"]),
        ({"sharpness": 0.2, "sharpness_high": 0.4}, ["sharpness"]),
        ({"sharpness": -1.0, "sharpness_high": -0.1}, ["against"]),
        ({"misfit": 3.0}, ["misfit"]),
        ({"misfit": 3.0, "lean_q": 0.01, "comparisons": 3}, []),
    ],
)
def test_reasons_to_look_at_a_judge(changed: dict[str, Any], flags: list[str]) -> None:
    usual = {"comparisons": 40, "sharpness": 1.0, "sharpness_high": 1.5, "misfit": 1.0}
    judges = {f"judge {k}": AssessedJudge(**usual, lean_q=0.9) for k in range(12)}
    judges["odd"] = AssessedJudge(**{**usual, "lean_q": 0.9, **changed})
    assert Assessment(judges=judges).flags("odd") == flags
    assert Assessment(judges=judges).flags("judge 1") == []


@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 1), (5, 5), (61, 20), (3, 17), (40, 41)])
def test_shares_of_left_answers_are_tested_exactly(left: int, right: int) -> None:
    judge = JudgeStatus(
        name="",
        task="compare",
        state="",
        answered=0,
        seconds=None,
        left_share=None,
        attention_passed=0,
        attention_failed=0,
        flagged=False,
        left=left,
        right=right,
    )
    expected = binomtest(left, left + right).pvalue if left + right else 1.0
    assert judge.side_p_value == pytest.approx(expected, rel=1e-12)


@pytest.mark.long
def test_a_gap_that_was_found_is_told_by_its_two_rates(full: Store) -> None:
    with KeptCounts(full) as kept:
        audit = kept.update().audit
    assert audit is not None
    test = next(one for one in audit.tests if one.finding == VIOLATED)
    # The rates as the table of all kinds of pairs shows them, by name.
    rates = {one.of: f"{100 * one.rate:.0f}" for one in audit.rates}
    first, second = (side.removeprefix("agree(")[:-1] for side in test.null.split(" = "))
    for language in ("en", "de", "es", "zh"):
        told = next(iter(gaps_found(audit, read_words(language)["dashboard"])))
        numbers = [one.rstrip(",.;") for one in re.findall(r"\d+", told) if one != "100"]
        assert numbers[:3] == [rates[first], rates[second], f"{100 * abs(test.gap):.0f}"]


def test_a_verdict_that_is_open_again_does_not_read_as_decided(full: Store) -> None:
    watched = Monitor(full)
    snapshot = watched.look()
    watched.dispose()
    audit = snapshot.counted.audit
    assert audit is not None
    for finding, told in ((UNDECIDED, "is open again"), (VIOLATED, "First decided after 700")):
        changed = replace(snapshot.counted, audit=replace(audit, finding=finding, stopped_at=700))
        values = dashboard_values(replace(snapshot, counted=changed), full.study, read_words("en"))
        assert told in render_template("dashboard_summary", values)
