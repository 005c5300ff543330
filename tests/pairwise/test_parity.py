"""Statistical parity by the order of a number: Somers' D of SciPy, a double loop, its level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import somersd

from comparity import pairwise_parity
from comparity.counts import engine_pairs
from comparity.errors import MissingValueError, OneGroupError
from comparity.pairwise import parity
from comparity.pairwise.parity import audit_parity_frame
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from tests.conftest import ENGINES


def people(n: int, lean: float, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n).astype(float)
    score = np.round(rng.normal(size=n) + lean * age / 40, 1)
    return {"age": age, "score": score, "query": rng.integers(0, 20, n)}


def test_the_gap_is_somers_d_of_the_score_given_the_attribute() -> None:
    one = people(200, lean=1.0)
    audit = pairwise_parity(one["score"], sensitive_features=one["age"], continuous=True)
    (test,) = audit.tests
    assert test.gap == pytest.approx(somersd(one["age"], one["score"]).statistic)
    assert audit.finding == VIOLATED
    assert test.n[0] == sum(
        first != second for place, first in enumerate(one["age"]) for second in one["age"][:place]
    )


def test_within_queries_only_items_of_one_query_are_paired() -> None:
    one = people(120, lean=1.0)
    found = audit_parity_frame(
        pd.DataFrame(one), score="score", sensitive="age", query="query", continuous=True
    )
    wins = pairs = 0.0
    for i in range(120):
        for j in range(120):
            if one["query"][i] == one["query"][j] and one["age"][i] > one["age"][j]:
                pairs += 1
                wins += np.sign(one["score"][i] - one["score"][j])
    assert found.tests[0].gap == pytest.approx(wins / pairs)
    assert found.design == "all pairs within queries"


def test_a_score_that_does_not_know_the_attribute_is_within_a_margin_or_left_open() -> None:
    for n, finding in ((6000, WITHIN), (60, UNDECIDED)):
        one = people(n, lean=0.0)
        audit = pairwise_parity(one["score"], sensitive_features=one["age"], continuous=True)
        assert audit.finding == finding


@pytest.mark.long
def test_the_order_of_a_number_keeps_its_level_with_yes_no_scores() -> None:
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(400):
        age, yes = rng.normal(size=80), rng.random(80) < 0.3
        audit = pairwise_parity(yes * 1.0, sensitive_features=age, continuous=True)
        alarms += audit.finding == VIOLATED
    assert 0.01 < alarms / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let nothing be collected that an engine can count, by few bins."""
    monkeypatch.setattr(parity, "MOST_COLLECTED", 0)
    for name, value in (("MOST_BINS", 64), ("FEWEST_BINS", 64), ("MOST_SCORES", 100)):
        monkeypatch.setattr(engine_pairs, name, value)
    return monkeypatch


def applicants(n: int = 900, decimals: int = 6) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    race = rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1])
    score = np.round(rng.normal(size=n) - 0.4 * (race == "y"), decimals)
    return {"score": score, "race": race.astype(object)}


def both(data: dict[str, Any], **choices: Any) -> tuple[Audit, Audit]:
    """Return the audit by the engine, and that in memory."""
    columns = {"score": "score", "sensitive": "race", **choices}
    kept = audit_parity_frame(ENGINES["duckdb"](data), **columns)
    return kept, audit_parity_frame(ENGINES["pyarrow"](data), **columns)


@pytest.mark.parametrize("decimals", [0, 6])
def test_exact_counts_of_the_engine_are_those_in_memory(
    few: pytest.MonkeyPatch, decimals: int
) -> None:
    kept, known = both(applicants(decimals=decimals), tolerance=0)
    assert "exact" in kept.notes[-1]
    assert (kept.finding, kept.n, kept.n_items) == (known.finding, known.n, known.n_items)
    for one, other in zip(kept.tests, known.tests, strict=True):
        assert (one.null, one.n, one.finding) == (other.null, other.n, other.finding)
        for name in ("gap", "standard_error", "p_value", "p_adjusted"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)
        assert one.interval()[:2] == pytest.approx(other.interval()[:2], rel=1e-9)
    for one, other in zip(kept.rates, known.rates, strict=True):
        assert one.rate == pytest.approx(other.rate, rel=1e-12)
        assert one.interval[:2] == pytest.approx(other.interval[:2], rel=1e-9)


@pytest.mark.parametrize("tolerance", [0.02, 0.002])
def test_bins_say_no_more_than_exact_counts(few: pytest.MonkeyPatch, tolerance: float) -> None:
    kept, known = both(applicants(), tolerance=tolerance)
    assert "bins of scores" in kept.notes[-1]
    for one, other in zip(kept.tests, known.tests, strict=True):
        assert 0 < abs(one.gap - other.gap) <= 2 * tolerance
        assert one.p_value >= other.p_value
        (low, high, _), (least, most, _) = one.interval(), other.interval()
        assert low <= least < most <= high
        for margin in (0.05, 0.2, 0.5):
            # Above one half both say that nothing is found.
            exact = min(other.equivalence_p_value(margin), 0.5)
            assert one.equivalence_p_value(margin) >= exact * (1 - 1e-12)
    for one, other in zip(kept.rates, known.rates, strict=True):
        assert one.interval[0] <= other.interval[0] < other.interval[1] <= one.interval[1]


def test_equal_scores_on_the_engine_leave_parity_open(few: pytest.MonkeyPatch) -> None:
    kept, known = both({**applicants(), "score": np.ones(900)})
    assert kept.finding == known.finding == UNDECIDED
    assert [one.reason for one in kept.tests] == [one.reason for one in known.tests]


def test_one_group_and_gaps_are_refused_by_the_engine(few: pytest.MonkeyPatch) -> None:
    data = applicants()
    alone = np.array(["x"] * 900, dtype=object)
    gaps = np.array(["x", None] * 450, dtype=object)
    for race, error in ((alone, OneGroupError), (gaps, MissingValueError)):
        with pytest.raises(error):
            both({**data, "race": race})
