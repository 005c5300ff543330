"""Audits of tables that stay on their engine say what audits in memory say, up to their bound.

Audits in memory are tested by double loops, published numbers and other packages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from comparity.counts import engine_pairs, label_parts
from comparity.errors import OptionError
from comparity.pairwise import audit as pairwise_audit
from comparity.pairwise import query_items
from comparity.pairwise.audit import audit_file, audit_frame
from comparity.pairwise.result import PairwiseAccuracy
from comparity.results.audit import Audit
from comparity.results.result import read_result
from comparity.tables import memory
from comparity.tables.memory import MemoryLimits
from tests.conftest import ENGINES

COLUMNS = {"label": "y", "score": "f", "sensitive": "g"}
ALL = ("cross-group", "within-group", "marginal", "symmetric")


def draw(n: int = 900, n_levels: int = 4, seed: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, n_levels, n).astype(float)
    group = rng.integers(0, 3, n)
    score = label / 3 + rng.normal(size=n) - 0.2 * (group == 1)
    names = np.array(["a", "b", "none"], dtype=object)[group]
    weight, query = rng.choice([0.5, 1.0, 2.0], n), rng.integers(0, 60, n)
    return {"y": label, "f": score.round(2), "g": names, "w": weight, "q": query}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let nothing be collected that an engine can count, by few bins."""
    monkeypatch.setattr(pairwise_audit, "MOST_COLLECTED", 0)
    for name, value in (("MOST_BINS", 64), ("FEWEST_BINS", 64), ("MOST_SCORES", 100)):
        monkeypatch.setattr(engine_pairs, name, value)
    return monkeypatch


def both(data: dict[str, Any], **choices: Any) -> tuple[PairwiseAccuracy, PairwiseAccuracy]:
    """Return the audit by the engine, and that in memory."""
    choices = {**COLUMNS, **choices}
    kept = audit_frame(ENGINES["duckdb"](data), **choices)
    return kept, audit_frame(ENGINES["pyarrow"](data), **choices)


CASES: list[dict[str, Any]] = [
    {},
    {"no_group": "none", "notions": ALL},
    {"weight": "w", "score_ties": "half"},
    {"alpha": 0.1, "margin": 0.3},
]


@pytest.mark.parametrize("choices", CASES)
@pytest.mark.parametrize("n_levels", [2, 4])
def test_exact_audits_are_those_in_memory(
    few: pytest.MonkeyPatch, n_levels: int, choices: dict[str, Any]
) -> None:
    kept, known = both(draw(n_levels=n_levels), tolerance=0, **choices)
    assert kept.is_exact
    assert "accuracies are exact" in " ".join(kept.audit.notes)
    found, expected = ({**one.to_dict()} for one in (kept, known))
    assert_alike(_without_notes(found), _without_notes(expected))


@pytest.mark.parametrize("choices", CASES)
@pytest.mark.parametrize("n_levels", [2, 4])
def test_bounds_cover_what_is_known_in_memory(
    few: pytest.MonkeyPatch, n_levels: int, choices: dict[str, Any]
) -> None:
    kept, known = both(draw(n_levels=n_levels), tolerance=0.02, **choices)
    assert 0 < kept.bound <= 0.02
    assert np.all(np.abs(kept.matrix - known.matrix) <= kept.bound)
    assert abs(kept.overall - known.overall) <= kept.bound
    assert kept.overall_interval.low <= known.overall_interval.low
    assert kept.overall_interval.high >= known.overall_interval.high
    for audit, exact in ((kept.raw, known.raw), (kept.standardised, known.standardised)):
        for test, same in zip(audit.tests, exact.tests, strict=True):
            assert (test.null, test.n) == (same.null, same.n)
            assert test.standard_error >= same.standard_error
            assert test.p_value >= same.p_value
            assert min(test.equivalence_p, 0.5) >= min(same.equivalence_p, 0.5)
            wide, narrow = test.interval(0.9), same.interval(0.9)
            assert wide.low <= narrow.low
            assert wide.high >= narrow.high
        for rate, one in zip(audit.rates, exact.rates, strict=True):
            assert rate.interval.low <= one.interval.low
            assert rate.interval.high >= one.interval.high


QUERIES: list[dict[str, Any]] = [
    {},
    {"average": "queries", "notions": ALL[:3], "no_group": "none"},
    {"weight": "w", "score_ties": "half"},
    {"weight": "w", "average": "queries"},
]


@pytest.mark.parametrize("choices", QUERIES)
@pytest.mark.parametrize("n_levels", [2, 4])
def test_queries_are_counted_part_by_part(
    few: pytest.MonkeyPatch, n_levels: int, choices: dict[str, Any]
) -> None:
    few.setattr(query_items, "MOST_ROWS", 250)
    kept, known = both(draw(n_levels=n_levels), query="q", **choices)
    assert "counted in 4 parts of the queries" in " ".join(kept.audit.notes)
    assert_alike(_without_notes(kept.to_dict()), _without_notes(known.to_dict()))


def test_scores_of_all_sizes_are_exact_on_request(few: pytest.MonkeyPatch) -> None:
    data = draw()
    data["f"] = np.sign(data["f"]) * 10 ** np.random.default_rng(1).uniform(-300, 300, 900)
    kept, known = both(data, tolerance=0)
    assert kept.is_exact
    assert "0 counts exactly" not in " ".join(kept.audit.notes)
    assert kept.matrix == pytest.approx(known.matrix, abs=1e-12)


def test_equal_scores_leave_symmetric_accuracies_open(few: pytest.MonkeyPatch) -> None:
    data = draw(n=3000, n_levels=2)
    data["f"] = np.ones(3000)
    data["w"] = np.random.default_rng(0).choice([0.1, 0.7, 1.3], 3000)
    for ties in ("half", "disagree"):
        for found in both(data, weight="w", notions=("symmetric",), score_ties=ties):
            assert found.finding == "undecided"
            assert all("nothing varies" in test.reason for test in found.tests)


def test_a_bound_is_told_in_words_in_json_and_read_back(few: pytest.MonkeyPatch) -> None:
    kept, known = both(draw(), tolerance=0.02)
    written = json.loads(json.dumps(kept.to_dict()))
    assert (written["bound"], written["exact"]) == (kept.bound, False)
    assert known.to_dict()["exact"]
    assert read_result(written).to_dict() == kept.to_dict()
    told = " ".join(str(kept).split())
    assert "bins of scores. Every accuracy is within 0.0" in told
    assert "of the exact one, for certain" in told


def _without_notes(content: Any) -> Any:
    """Leave out what says how pairs were counted."""
    if isinstance(content, dict):
        return {
            name: _without_notes(one)
            for name, one in content.items()
            if name not in {"notes", "provenance"}
        }
    return [_without_notes(one) for one in content] if isinstance(content, list) else content


def assert_alike(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = [*found.values()], [*expected.values()]
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, two in zip(found, expected, strict=True):
            assert_alike(one, two)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)
    else:
        assert found == expected


@pytest.mark.parametrize(
    "choice",
    [{"continuous": True}, {"cluster": ("w",)}, {"pair_weight": "difference"}],
)
def test_single_items_are_counted_in_memory_or_refused(
    few: pytest.MonkeyPatch, choice: dict[str, Any]
) -> None:
    data = draw()
    if "continuous" in choice:
        data["g"] = np.arange(len(data["y"])) % 50.0
    kept, known = both(data, **choice)
    assert np.array_equal(kept.matrix, known.matrix, equal_nan=True)
    few.setattr(memory, "current_limits", lambda: MemoryLimits(memory=1))
    with pytest.raises(OptionError, match="900 rows do not fit into memory"):
        both(data, **choice)


def test_labels_of_many_values_beyond_memory_are_standardised_from_a_sample(
    few: pytest.MonkeyPatch,
) -> None:
    data = draw(n_levels=40)
    kept, known = both(data, tolerance=0)
    assert (kept.standardised.finding, kept.n_sampled) == (known.standardised.finding, 0)
    few.setattr(pairwise_audit, "current_limits", lambda: MemoryLimits(memory=400 * 450))
    kept, known = both(data, tolerance=0)
    assert kept.matrix == pytest.approx(known.matrix, abs=1e-12)
    assert kept.raw.finding == known.raw.finding
    assert (kept.n_sampled, kept.audit.n_items) == (450, 450)
    kept, known = both(data, tolerance=0, query="q")
    assert (kept.finding, kept.exit_status) == ("undecided", 3)
    assert "band the labels into at most 20 grades" in kept.tests[0].reason
    assert np.isnan(kept.tests[0].gap)


def test_labels_without_end_are_refused_where_no_range_of_them_fits(
    few: pytest.MonkeyPatch,
) -> None:
    data = draw()
    data["y"] = np.arange(900.0)
    kept, known = both(data)
    assert np.array_equal(kept.matrix, known.matrix)
    few.setattr(pairwise_audit, "current_limits", lambda: MemoryLimits(memory=1))
    with pytest.raises(OptionError, match="labels in grades"):
        both(data)


def draw_continuous(few: pytest.MonkeyPatch, seed: int = 3) -> dict[str, Any]:
    """Draw labels of more values than are tabulated, a third of them equal, in many ranges."""
    for name, value in (("MOST_ROWS", 60), ("MOST_PARTS", 100)):
        few.setattr(label_parts, name, value)
    few.setattr(pairwise_audit, "current_limits", lambda: MemoryLimits(memory=400 * 60))
    rng, data = np.random.default_rng(seed), draw(seed=seed)
    noise = rng.normal(size=900)
    data["y"] = np.where(rng.random(900) < 0.3, 1.5, (data["y"] + noise).round(3))
    return data


@pytest.mark.parametrize("choices", CASES)
@pytest.mark.parametrize(("tolerance", "most"), [(0.02, 1.5), (0.002, 1.3)])
def test_bounds_of_continuous_labels_cover_what_is_known_in_memory(
    few: pytest.MonkeyPatch, tolerance: float, most: float, choices: dict[str, Any]
) -> None:
    kept, known = both(draw_continuous(few), tolerance=tolerance, **choices)
    assert "Labels were divided into" in " ".join(kept.raw.notes)
    assert kept.bound <= tolerance
    assert np.all(np.abs(kept.matrix - known.matrix) <= kept.bound + 1e-12)
    assert_wider(kept.raw, known.raw, most)
    # So few items fit into memory that some group keeps fewer than 30 effective ones.
    assert (kept.finding, kept.labels, kept.n_sampled) == ("undecided", "continuous", 60)
    assert "30 are needed" in kept.tests[0].reason


@pytest.mark.parametrize("choices", CASES)
def test_continuous_labels_are_counted_exactly_on_request(
    few: pytest.MonkeyPatch, choices: dict[str, Any]
) -> None:
    kept, known = both(draw_continuous(few), tolerance=0, **choices)
    assert kept.is_exact
    assert "accuracies are exact" in " ".join(kept.raw.notes)
    for name in ("matrix", "n_pairs", "score_ties", "row_marginals", "column_marginals"):
        assert getattr(kept, name) == pytest.approx(getattr(known, name), abs=1e-12)
    assert kept.overall == pytest.approx(known.overall, abs=1e-12)
    assert_wider(kept.raw, known.raw)


def assert_wider(audit: Audit, exact: Audit, most: float = 1.3) -> None:
    """Nothing is found that exact counts would leave open, and errors are not much larger."""
    assert (audit.n, audit.n_items) == (exact.n, exact.n_items)
    for test, same in zip(audit.tests, exact.tests, strict=True):
        assert (test.null, test.n) == (same.null, same.n)
        assert (test.smallest_group, test.smallest_role) == (
            same.smallest_group,
            same.smallest_role,
        )
        # Errors are summed in another order.
        assert test.standard_error >= same.standard_error * (1 - 1e-9)
        assert test.standard_error <= same.standard_error * most
        assert test.p_value >= same.p_value * (1 - 1e-6)
        wide, narrow = test.interval(0.9), same.interval(0.9)
        assert wide.low <= narrow.low + 1e-9
        assert wide.high >= narrow.high - 1e-9
    for rate, one in zip(audit.rates, exact.rates, strict=True):
        assert rate.trials == one.trials
        assert rate.interval.low <= one.interval.low + 1e-9
        assert rate.interval.high >= one.interval.high - 1e-9


def test_files_are_counted_alike(few: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = draw()
    known_rows = ENGINES["pyarrow"](data)
    for name in ("items.csv", "items.parquet"):
        duckdb.execute(f"copy (select * from known_rows) to '{tmp_path / name}'")
        kept = audit_file(tmp_path / name, **COLUMNS, tolerance=0)
        known = audit_frame(known_rows, **COLUMNS)
        assert kept.matrix == pytest.approx(known.matrix, abs=1e-12)
        assert [test.p_value for test in kept.tests] == pytest.approx(
            [test.p_value for test in known.tests]
        )
