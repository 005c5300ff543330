"""Sums of differences that engines take are those of the rows themselves.

Moments in memory are tested against scipy in `test_difference_counts.py`; here they have to come
out of one group-by, and so do the answers that rest on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from comparity.counts import difference_sums
from comparity.counts.decision_sets import decision_table
from comparity.counts.difference_sums import DecisionSums, sum_decisions
from comparity.errors import MissingValueError, OutOfRangeError, WordDecisionError
from comparity.relative.audit import audit_frame
from comparity.tables.files import read_table
from comparity.tables.memory import limit_memory
from tests.conftest import ENGINES

DUCKDB = ENGINES["duckdb"]
COLUMNS: dict[str, Any] = {"raters": ["hr", "boss"], "sensitive": ["sex", "race"]}


@pytest.fixture(autouse=True)
def _everything_is_large() -> Iterator[None]:
    usual, difference_sums.MOST_DISTINCT = difference_sums.MOST_DISTINCT, 50
    yield
    difference_sums.MOST_DISTINCT = usual


def decisions(n: int = 400, *, shift: float = 0.0, heavy: bool = False) -> dict[str, list[Any]]:
    rng = np.random.default_rng(7)
    noise = rng.standard_t(1.5, n) if heavy else rng.normal(size=n)
    boss = rng.normal(size=n)
    sex = rng.choice(["f", "m"], n)
    hr = boss + noise + shift + 0.4 * (sex == "f")
    race = rng.choice(["x", "y", "z"], n, p=[0.85, 0.1, 0.05])
    return {"hr": hr.tolist(), "boss": boss.tolist(), "sex": sex.tolist(), "race": race.tolist()}


def both(rows: dict[str, list[Any]], **choices: Any) -> tuple[Any, Any]:
    summed = sum_decisions(DUCKDB(rows), **COLUMNS, **choices)
    assert isinstance(summed, DecisionSums)
    return summed, decision_table(ENGINES["polars"](rows), **COLUMNS, **choices)


# Differences near 10^6 are known to 10 decimals; their mean, and what is left of it, no better.
@pytest.mark.parametrize(("shift", "rtol"), [(0.0, 1e-9), (1e6, 1e-7)])
@pytest.mark.parametrize("heavy", [False, True])
def test_moments_ranges_and_sizes_are_those_of_rows(shift: float, rtol: float, heavy: bool) -> None:
    found, expected = both(decisions(shift=shift, heavy=heavy), intersection=True, reference="m")
    assert found.n == expected.n
    assert [*found.groups] == ["sex", "race", "sex & race"]
    for rater in (0, 1):
        one, other = found.range_of(rater), expected.range_of(rater)
        assert (one.low, one.high) == (other.low, other.high)
        assert_allclose([one.mean, one.deviation], [other.mean, other.deviation], rtol=1e-12)
    for attribute in found.groups:
        ours = found.differences(0, 1, attribute).moments
        theirs = expected.differences(0, 1, attribute).moments
        assert [*ours] == [*theirs]
        for group, one in ours.items():
            other = theirs[group]
            assert one.n == other.n
            for name in ("mean", "m2", "m3", "m4", "low", "high"):
                assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol)


def test_bins_hold_every_row_and_keep_the_order_of_differences() -> None:
    found, expected = both(decisions(heavy=True))
    ours, theirs = (one.differences(0, 1, "sex") for one in (found, expected))
    assert ours.counts.sum(axis=0).tolist() == theirs.counts.sum(axis=0).tolist()
    assert (np.diff(ours.values) > 0).all()
    pooled, single = (np.repeat(one.values, one.counts.sum(axis=1)) for one in (ours, theirs))
    deviation = single.std()
    # A bin is at most 1/128 as wide as it is far from the centre, which lies near the mean.
    assert (np.abs(pooled - single) <= (np.abs(single) + deviation / 16) / 100).all()


def test_small_groups_are_collected_and_large_ones_stand_for_themselves() -> None:
    difference_sums.MOST_DISTINCT = 100
    found, expected = both(decisions(1000))
    ours, theirs = (one.differences(0, 1, "race") for one in (found, expected))
    assert theirs.moments["z"].n < 100 < theirs.moments["x"].n
    assert_allclose(ours.rows_of("z"), theirs.rows_of("z"), rtol=1e-12)
    large = ours.rows_of("x")
    assert len(large) == 100
    # A hundred of 850 rows, evenly spread: means differ by far less than a standard error, 0.035.
    assert_allclose(large.mean(), theirs.moments["x"].mean, atol=0.02)


@pytest.mark.parametrize("away", [0, 3, 160])
def test_the_value_that_most_rows_have_is_found(away: int) -> None:
    rows = decisions()
    rng = np.random.default_rng(1)
    boss = rng.normal(size=400)
    hr = boss + np.where(np.arange(400) < away, rng.normal(size=400), 0.0)
    rows |= {"hr": hr.tolist(), "boss": boss.tolist()}
    found, expected = both(rows)
    for group, one in found.differences(0, 1, "sex").moments.items():
        other = expected.differences(0, 1, "sex").moments[group]
        assert (one.mode, one.at_mode) == pytest.approx((other.mode, other.at_mode), abs=1e-14)


def test_decimals_in_single_precision_and_thirds_are_rounded_as_in_memory() -> None:
    rows = decisions()
    tenths = np.round(np.array([rows["hr"], rows["boss"]]), 1)
    for dtype in (np.float32, np.float64):
        values = tenths.astype(dtype).astype(float).tolist()
        found, expected = both({**rows, "hr": values[0], "boss": values[1]})
        ours, theirs = (one.differences(0, 1, "sex").moments["f"] for one in (found, expected))
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_audits_of_sums_and_of_rows_find_the_same() -> None:
    rows = decisions(3000)
    asked = {"first": "hr", "second": "boss", "sensitive": ["sex", "race"], "intersection": True}
    ours = audit_frame(DUCKDB(rows), **asked, permutations=0)
    theirs = audit_frame(ENGINES["pandas"](rows), **asked, permutations=0)
    assert [one.finding for one in ours.audit.tests] == [one.finding for one in theirs.audit.tests]
    assert ours.audit.notes == theirs.audit.notes
    for one, other in zip(ours.contrasts, theirs.contrasts, strict=True):
        assert one.n == other.n
        names = ("dpt", "dof", "dpd", "dpd_total", "p_value", "gap")
        assert_allclose(*([getattr(c, name) for name in names] for c in (one, other)), rtol=1e-6)


def test_whole_distributions_are_told_apart_in_bins() -> None:
    rows = decisions(3000)
    asked = {"first": "hr", "second": "boss", "sensitive": ["sex"], "permutations": 199}
    ours, theirs = (
        audit_frame(ENGINES[e](rows), **asked).distribution for e in ("duckdb", "polars")
    )
    # Both join values into 1,024 steps: of single rows in memory, of bins here.
    assert [one.statistic for one in ours] == pytest.approx(
        [one.statistic for one in theirs], rel=1e-3
    )
    assert [one.p_value for one in ours] == [one.p_value for one in theirs] == [0.005, 0.005]


def test_bad_decisions_are_refused_as_in_memory() -> None:
    rows = decisions()
    for column, value, error in (
        ("hr", 1e31, OutOfRangeError),
        ("sex", None, MissingValueError),
        ("boss", None, MissingValueError),
    ):
        broken = {**rows, column: [*rows[column][:-1], value]}
        with pytest.raises(error, match=f"{column}.*|rows? 400"):
            sum_decisions(DUCKDB(broken), **COLUMNS)
    words = {**rows, "hr": [*map(str, rows["hr"][:-1]), "good"]}
    with pytest.raises(WordDecisionError, match="good"):
        sum_decisions(DUCKDB(words), **COLUMNS)


def read_as_text(rows: dict[str, list[Any]], tmp_path: Path) -> Any:
    """Return the same rows as they are read from CSV: all of them text."""
    path = tmp_path / "rows.csv"
    lines = [",".join(map(str, row)) for row in zip(*rows.values(), strict=True)]
    path.write_text("\n".join([",".join(rows), *lines]))
    return read_table(path)


def test_text_that_is_parsed_once_is_summed_like_numbers(tmp_path: Path) -> None:
    difference_sums.MOST_DISTINCT = 100
    rows = decisions(1000)
    with limit_memory("1GB"):
        found = sum_decisions(read_as_text(rows, tmp_path), **COLUMNS)
        assert found is not None
        assert found.bins.stored is not None
        ours = found.differences(0, 1, "race")
        # The rows of a small group are asked for later.
        small = ours.rows_of("z")
    theirs = decision_table(ENGINES["polars"](rows), **COLUMNS).differences(0, 1, "race")
    assert_allclose(small, theirs.rows_of("z"), rtol=1e-12)
    for group, one in ours.moments.items():
        other = theirs.moments[group]
        assert_allclose([one.n, one.mean, one.m2], [other.n, other.mean, other.m2], rtol=1e-9)


def test_a_word_in_text_that_is_parsed_once_is_told_with_its_row(tmp_path: Path) -> None:
    rows = decisions()
    words = {**rows, "hr": [*rows["hr"][:-1], "good"]}
    with limit_memory("1GB"), pytest.raises(WordDecisionError, match=r"row 400[\s\S]*good"):
        sum_decisions(read_as_text(words, tmp_path), **COLUMNS)


def test_tables_in_memory_and_with_few_distinct_rows_are_counted() -> None:
    rows = decisions()
    assert sum_decisions(ENGINES["polars"](rows), **COLUMNS) is None
    coarse = {**rows, "hr": [round(x) for x in rows["hr"]], "boss": [0] * 400, "race": ["x"] * 400}
    assert sum_decisions(DUCKDB(coarse), **COLUMNS) is None
