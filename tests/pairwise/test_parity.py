"""Statistical parity by the order of a number: Somers' D of SciPy, a double loop, its level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import somersd

from comparity import pairwise_parity
from comparity.pairwise.audit import audit_parity_frame
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN


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
