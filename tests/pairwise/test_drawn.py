"""Labels of many values beyond memory: what is standardised are items that were drawn.

Drawing is tested by its definition (`tests/counts/test_drawn_items.py`), audits in memory by double
loops, published numbers and other packages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from comparity import pairwise_accuracy
from comparity.counts import engine_pairs, label_parts
from comparity.counts.drawn_items import DrawnItems
from comparity.errors import ComparityError
from comparity.pairwise import audit as pairwise_audit
from comparity.pairwise.audit import audit_file, audit_frame, items_on_engine
from comparity.pairwise.options import PairwiseForm
from comparity.pairwise.result import PairwiseAccuracy
from comparity.results.result import read_result
from comparity.tables.file_parts import join_parts
from comparity.tables.memory import MemoryLimits
from tests.conftest import ENGINES

COLUMNS: dict[str, Any] = {"label": "y", "score": "f", "sensitive": "g"}
N, DRAWN = 2000, 600
ROUNDED = {"continuous": 9, "of 80 values": 1}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let memory hold few rows, and ranges of labels and tables be small."""
    monkeypatch.setattr(pairwise_audit, "MOST_COLLECTED", 0)
    limits = MemoryLimits(memory=400 * DRAWN)
    monkeypatch.setattr(pairwise_audit, "current_limits", lambda: limits)
    for name, value in (("MOST_BINS", 64), ("FEWEST_BINS", 64), ("MOST_SCORES", 100)):
        monkeypatch.setattr(engine_pairs, name, value)
    for name, value in (("MOST_ROWS", 300), ("MOST_PARTS", 100)):
        monkeypatch.setattr(label_parts, name, value)
    return monkeypatch


def rows(labels: str = "continuous", n: int = N, shift: float = 0.0) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    group = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    label = (rng.normal(size=n) * np.array([1.0, 0.5, 0.7])[group]).round(ROUNDED[labels])
    score = label + rng.normal(size=n) + shift * (group == 1)
    names = np.array(["a", "b", "none"], dtype=object)[group]
    return {"y": label, "f": score.round(2), "g": names, "w": rng.choice([0.5, 2.0], n)}


def drawn(data: dict[str, Any], **choices: Any) -> DrawnItems:
    form = PairwiseForm(**{**COLUMNS, **choices})
    items = items_on_engine(ENGINES["duckdb"](data), form)
    assert items is not None
    assert items.sample is not None
    return items.sample


def on_engine(data: dict[str, Any], **choices: Any) -> PairwiseAccuracy:
    return audit_frame(ENGINES["duckdb"](data), **{**COLUMNS, **choices})


CASES: list[dict[str, Any]] = [
    {},
    {"no_group": "none", "notions": ("cross-group", "within-group", "marginal", "symmetric")},
    {"weight": "w", "score_ties": "half", "seed": 5},
]


@pytest.mark.parametrize("choices", CASES)
@pytest.mark.parametrize("labels", ROUNDED)
def test_the_audit_is_that_of_the_items_in_memory(labels: str, choices: dict[str, Any]) -> None:
    data = rows(labels)
    found, sample = on_engine(data, **choices), drawn(data, **choices).items
    judging = {name: choices[name] for name in ("notions", "score_ties") if name in choices}
    known = pairwise_accuracy(
        sample.label,
        sample.score,
        sensitive_features=np.array(sample.groups)[sample.group],
        sample_weight=sample.weight,
        **judging,
    )
    assert found.standardised.tests == known.standardised.tests
    assert found.standardised.rates == known.standardised.rates
    assert found.standardised.ties == known.standardised.ties
    assert (found.imbalance, found.effective_sizes) == (known.imbalance, known.effective_sizes)
    assert (found.n_sampled, found.standardised.n_items) == (DRAWN, DRAWN)
    assert found.standardised.n == known.standardised.n
    assert found.raw.n_items == N


def test_all_items_are_standardised_where_there_are_no_more() -> None:
    """With every item drawn, numbers are those of the whole table in memory."""
    data = rows(n=DRAWN)
    found = on_engine(data | {"f": data["f"] + 0.001})
    # One more row than fits, in no group.
    more = {name: np.append(column, column[:1]) for name, column in data.items()}
    more["g"][-1] = "nobody"
    found = on_engine(more, no_group="nobody")
    known = audit_frame(ENGINES["pyarrow"](data), **COLUMNS)
    for test, same in zip(found.tests, known.tests, strict=True):
        assert test.gap == pytest.approx(same.gap, abs=1e-12)
        assert test.standard_error == pytest.approx(same.standard_error, rel=1e-9)
    assert f"from all {DRAWN} items of the groups" in " ".join(found.audit.notes)


@pytest.mark.parametrize("labels", ROUNDED)
def test_files_in_whatever_order_give_the_same_numbers(labels: str, tmp_path: Path) -> None:
    data = rows(labels)
    known = on_engine(data)
    known_rows = ENGINES["pyarrow"](data)
    assert known_rows.num_rows == N
    parts = [tmp_path / f"part-{place}.parquet" for place in range(3)]
    for place, part in enumerate(parts):
        query = f"select * from known_rows where hash(f, y) % 3 = {2 - place} order by f"
        duckdb.execute(f"copy ({query}) to '{part}'")
    text = tmp_path / "items.csv"
    duckdb.execute(f"copy (select * from known_rows order by g, f) to '{text}'")
    for path in (text, join_parts(list(map(str, parts)))):
        found = audit_file(path, **COLUMNS)
        assert found.standardised.tests == known.standardised.tests
        assert found.standardised.rates == known.standardised.rates


def test_a_sample_is_told_in_words_in_json_and_read_back() -> None:
    found = on_engine(rows())
    told = " ".join(str(found).split())
    assert f"Standardised accuracies are from {DRAWN} of 2,000 items" in told
    assert "drawn at random, seed 0" in told
    assert "Raw accuracies are of all items. Labels were divided into" in told
    # Beside each standardised accuracy stands the number of pairs that were drawn.
    pairs = sum(rate.trials for rate in found.standardised.rates)
    assert f"{pairs:,}" in told
    written = json.loads(json.dumps(found.to_dict()))
    assert (written["n_sampled"], written["n_items"]) == (DRAWN, DRAWN)
    assert written["raw"]["n_items"] == N
    assert read_result(written).to_dict() == found.to_dict()


def test_errors_are_wider_than_those_of_all_items_by_no_more_than_is_said(
    few: pytest.MonkeyPatch,
) -> None:
    data = rows(n=20_000)
    found, widening = on_engine(data), drawn(data).widening
    assert f"about {widening:.1f} times" in " ".join(found.audit.notes)
    known = audit_frame(ENGINES["pyarrow"](data), **COLUMNS)
    for test, same in zip(found.tests, known.tests, strict=True):
        assert same.standard_error < test.standard_error < 1.15 * widening * same.standard_error


def test_another_seed_draws_other_items() -> None:
    data = rows()
    one, two, again = (on_engine(data, seed=seed).tests[0].gap for seed in (0, 1, 0))
    assert one != two
    assert one == again


@pytest.mark.parametrize("labels", ROUNDED)
def test_a_rare_group_is_taken_whole_and_a_tiny_one_left_open(labels: str) -> None:
    data = rows(labels, n=6000)
    rare = np.flatnonzero(data["g"] == "none")
    for kept, finding in ((100, ""), (20, "undecided")):
        group = data["g"].copy()
        group[rare[kept:]] = "a"
        found, sample = on_engine(data | {"g": group}), drawn(data | {"g": group})
        assert sample.drawn.tolist()[2] == kept
        assert sample.drawn.sum() == DRAWN
        assert found.effective_sizes["none"] <= kept
        if finding:
            assert found.finding == finding
            assert all("30 are needed" in test.reason for test in found.tests)
        else:
            assert all(not test.reason for test in found.tests)


def test_constant_scores_leave_accuracies_equal() -> None:
    data = rows()
    data["f"] = np.ones(N)
    for ties in ("half", "disagree"):
        found = on_engine(data, score_ties=ties)
        gaps = [test.gap for test in found.standardised.tests]
        assert gaps == pytest.approx([0.0] * 6, abs=1e-6)
        assert found.finding == audit_frame(ENGINES["pyarrow"](data), **COLUMNS).finding


def test_one_label_may_hold_most_items() -> None:
    data = rows()
    often = np.random.default_rng(1).random(N) < 0.8
    data["y"] = np.where(often, 0.25, data["y"])
    found, sample = on_engine(data), drawn(data).items
    assert found.n_sampled == DRAWN
    assert (sample.label == 0.25).mean() == pytest.approx(0.8, abs=0.05)


def test_within_queries_nothing_is_drawn() -> None:
    data = rows()
    data["q"] = np.arange(N) % 40
    found = on_engine(data, query="q")
    assert (found.finding, found.n_sampled) == ("undecided", 0)
    assert "curves that are fitted to single items" in found.tests[0].reason


@pytest.mark.parametrize("column", ["y", "f"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_finite_number_is_refused(column: str, value: float) -> None:
    data = rows()
    data[column][7] = value
    with pytest.raises(ComparityError, match="1 row"):
        on_engine(data)
