"""One way from a table to every question, and rows with gaps that are dropped and counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import comparity
from comparity.cli import main
from comparity.errors import ComparityError, MissingValueError
from comparity.results.dropped import dropped_sentence

AUDIT = {"label": "good", "prediction": "hired", "sensitive": "sex"}


def people(n: int = 300) -> polars.DataFrame:
    rng = np.random.default_rng(8)
    good = rng.integers(0, 2, n)
    return polars.DataFrame(
        {
            "item": [f"i{place}" for place in range(n)],
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
            "good": good,
            "hired": np.where(rng.random(n) < 0.8, good, 1 - good),
            "model": good + rng.normal(size=n),
            "grade": rng.integers(1, 5, n),
            "hr_0": good + rng.normal(size=n),
            "hr_1": good + rng.normal(size=n),
        }
    )


def judged(items: polars.DataFrame, n: int = 900) -> polars.DataFrame:
    rng = np.random.default_rng(9)
    pairs = np.array([rng.choice(items.height, 2, replace=False) for _ in range(n)])
    ids = items["item"].to_numpy()
    judges = rng.choice(["x", "y", "z"], n)
    return polars.DataFrame(
        {"better": ids[pairs[:, 0]], "worse": ids[pairs[:, 1]], "judge": judges}
    )


ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "separation": ("separation", AUDIT),
    "impact": ("impact", {"selected": "hired", "sensitive": ("sex",)}),
    "pairwise": ("pairwise", {"label": "grade", "score": "model", "sensitive": "sex"}),
    "parity": ("parity", {"score": "model", "sensitive": "sex"}),
    "relative": ("relative", {"first": "hr_0", "second": "hr_1", "sensitive": "sex"}),
    "raters": ("relative", {"raters": ("hr_0", "hr_1"), "sensitive": "sex"}),
    "metrics": ("metrics", {**AUDIT, "privileged": "m"}),
    "comparative": ("comparative", {"score": "model", "sensitive": "sex", "evaluator": "judge"}),
    "rank": ("rank", {"sensitive": ("sex",), "evaluator": "judge"}),
}


@pytest.fixture
def tables(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Write items and judgments, or return them as frames; some values can be blanked."""

    def make(*, as_files: bool, blank: str | None = None) -> dict[str, Any]:
        items = people()
        judgments = judged(items)
        if blank is not None:
            gap = polars.when(polars.int_range(polars.len()) % 50 == 7).then(None)
            items = items.with_columns(gap.otherwise(polars.col(blank)).alias(blank))
        if not as_files:
            return {"people": items, "judgments": judgments}
        for name, frame in {"people": items, "judgments": judgments}.items():
            frame.write_csv(tmp_path / f"{name}.csv")
        return {name: tmp_path / f"{name}.csv" for name in ("people", "judgments")}

    return make


def ask(name: str, found: dict[str, Any], **choices: Any) -> Any:
    method, asked = ASKED[name]
    if name in ("comparative", "rank"):
        data = comparity.read(found["judgments"], items=found["people"], **choices)
        frames = not isinstance(found["people"], Path)
        more = {"better": "better", "worse": "worse"} if frames and name == "comparative" else {}
        return getattr(data, method)(**asked, **more)
    return getattr(comparity.read(found["people"], **choices), method)(**asked)


def numbers(result: Any) -> Any:
    """Return the content of a result without what says where it is from."""

    def strip(part: Any) -> Any:
        if isinstance(part, dict):
            skipped = ("provenance", "notes")
            return {name: strip(one) for name, one in part.items() if name not in skipped}
        return [strip(one) for one in part] if isinstance(part, list) else part

    return strip(result.to_dict())


@pytest.mark.parametrize("name", ASKED)
def test_files_and_frames_give_the_same_numbers(
    name: str, tables: Callable[..., dict[str, Any]]
) -> None:
    by_file, by_frame = (ask(name, tables(as_files=files)) for files in (True, False))
    first, second = numbers(by_file), numbers(by_frame)
    assert json.dumps(first)[:20] == json.dumps(second)[:20]
    assert first.keys() == second.keys()
    if name not in ("comparative", "rank"):
        assert first == second


@pytest.mark.parametrize("as_files", [True, False])
@pytest.mark.parametrize("name", ASKED)
def test_rows_with_gaps_are_dropped_on_request_alone_and_counted(
    name: str, as_files: bool, tables: Callable[..., dict[str, Any]]
) -> None:
    column = {"impact": "hired", "relative": "hr_0", "raters": "hr_0"}.get(name, "sex")
    found = tables(as_files=as_files, blank=column)
    with pytest.raises(MissingValueError):
        ask(name, found)
    result = ask(name, found, drop_missing=True)
    told = dropped_sentence(result.to_dict())
    # Rows 7, 57, ..., 257 of 300.
    assert f"6 of 300 rows of {'people.csv' if as_files else ''}" in told
    assert f"({column} 6)" in told
    assert told in " ".join(str(result).split())
    assert told.partition(" (")[0] in result.to_html()
    if name in ("comparative", "rank"):
        assert "an item that was dropped" in told
    assert type(result).from_dict(result.to_dict()).to_dict() == result.to_dict()


def test_what_is_left_is_what_one_would_drop_by_hand(
    tables: Callable[..., dict[str, Any]],
) -> None:
    frame = tables(as_files=False, blank="good")["people"]
    by_us = comparity.read(frame, drop_missing=True).separation(**AUDIT)
    by_hand = comparity.read(frame.drop_nulls("good")).separation(**AUDIT)
    assert by_us.tests == by_hand.tests
    assert by_us.n == 294


def test_comparisons_of_dropped_items_go_and_no_others(
    tables: Callable[..., dict[str, Any]],
) -> None:
    found = tables(as_files=False, blank="model")
    gone = set(found["people"].filter(polars.col("model").is_null())["item"])
    kept = found["judgments"].filter(
        ~polars.col("better").is_in(gone) & ~polars.col("worse").is_in(gone)
    )
    audit = ask("comparative", found, drop_missing=True)
    assert (len(gone), audit.n) == (6, kept.height)


def test_judges_that_nobody_named_are_read_and_so_may_not_be_missing(
    tables: Callable[..., dict[str, Any]],
) -> None:
    found = tables(as_files=True)
    text = found["judgments"].read_text(encoding="utf-8").replace(",x\n", ",\n", 3)
    found["judgments"].write_text(text, encoding="utf-8")
    data = comparity.read(found["judgments"], items=found["people"], drop_missing=True)
    audit = data.comparative(score="model", sensitive="sex")
    assert "3 of 900 rows of judgments.csv (judge 3)" in dropped_sentence(audit.to_dict())


def test_unknown_groups_of_impact_ratios_are_counted_not_dropped(
    tables: Callable[..., dict[str, Any]],
) -> None:
    found = ask("impact", tables(as_files=False, blank="sex"), drop_missing=True)
    assert found.tables[0].unknown == 6
    assert dropped_sentence(found.to_dict()) == ""


COMMANDS = [
    ("separation", *["--label", "good", "--prediction", "hired", "--sensitive", "sex"]),
    ("pairwise", *["--label", "grade", "--score", "model", "--sensitive", "sex"]),
    ("pairwise", *["--score", "model", "--sensitive", "sex", "--places"]),
    (
        "metrics",
        *["--label", "good", "--prediction", "hired", "--sensitive", "sex", "--privileged", "m"],
    ),
    ("relative", *["--raters", "hr_*", "--sensitive", "sex"]),
    ("weights", *["--label", "good", "--sensitive", "sex", "--output", "out.csv"]),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_commands_drop_and_count_too(
    words: tuple[str, ...],
    tables: Callable[..., dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    file = str(tables(as_files=True, blank="sex")["people"])
    name, *choices = words
    with pytest.raises(SystemExit) as left:
        main([name, file, *choices])
    assert left.value.code == 2
    assert "--drop-missing" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main([name, file, *choices, "--drop-missing"])
    assert left.value.code in (0, 1, 3)
    assert "6 of 300 rows of people.csv (sex 6)" in " ".join(capsys.readouterr().out.split())


def test_a_policy_drops_and_counts_too(tables: Callable[..., dict[str, Any]]) -> None:
    frame = tables(as_files=False, blank="sex")["people"]
    audit = {"name": "a", "notion": "separation", "file": "p.csv", **AUDIT}
    with pytest.raises(ComparityError, match="missing values"):
        comparity.check({"audit": [audit]}, data={"p.csv": frame})
    found = comparity.check({"audit": [{**audit, "drop_missing": True}]}, data={"p.csv": frame})
    assert "6 of 300 rows of p.csv" in dropped_sentence(found["a"].result.to_dict())


def test_data_say_what_they_are_in_one_line() -> None:
    assert repr(comparity.read("a.csv", items="b.csv")) == "<Data: a.csv and b.csv>"
    assert repr(comparity.read(people(2))) == "<Data: DataFrame>"
