"""Clusters of decisions in audits of separation: robust errors, and every door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
import statsmodels.api as sm
from scipy import stats

from comparity import separation
from comparity.counts.decision_rows import count_decision_arrays
from comparity.errors import (
    BlankNameError,
    IncompatibleCountsError,
    MissingValueError,
    OneClusterError,
    OptionError,
)
from comparity.results.audit import Audit
from comparity.separation.audit import audit_file, audit_frame

RNG = np.random.default_rng(3)
N = 1200
PERSON, SESSION = RNG.integers(0, 150, N), RNG.integers(0, 90, N)
GROUP = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]
LABEL = RNG.integers(0, 2, N)
LOGIT = 2.0 * LABEL - 1 + RNG.normal(size=150)[PERSON] + RNG.normal(size=90)[SESSION]
DECISION = (RNG.random(N) < 1 / (1 + np.exp(-LOGIT))).astype(int)
KINDS = {"person": PERSON, "session": SESSION}


def audit(**choices: Any) -> Audit:
    return separation(LABEL, DECISION, sensitive_features={"group": GROUP}, **choices)


def numbers(found: Audit) -> list[list[float]]:
    return [[test.gap, test.standard_error, test.p_value] for test in found.tests]


@pytest.mark.parametrize("kinds", [["person"], ["person", "session"]])
def test_standard_errors_are_those_of_statsmodels(kinds: list[str]) -> None:
    """Regression on groups among the positives, cluster-robust; errors are at observed rates."""
    found = audit(cluster={kind: KINDS[kind] for kind in kinds})
    rows = LABEL == 1
    model = sm.OLS(DECISION[rows], (GROUP[rows, None] == ["a", "b", "c"]).astype(float))
    clusters = np.column_stack([KINDS[kind][rows] for kind in kinds])
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False})
    for test, contrast in zip(found.tests, ([1, -1, 0], [1, 0, -1], [0, 1, -1]), strict=False):
        expected = fit.t_test(contrast)
        assert test.gap == pytest.approx(float(expected.effect[0]))
        assert test.standard_error == pytest.approx(float(expected.sd.ravel()[0]))
        assert test.method == "clustered score z"


def test_few_clusters_of_equal_shares_are_compared_by_the_t_test() -> None:
    """Every session decides about as many of either group, so that their gaps are a sample."""
    rng = np.random.default_rng(4)
    decision = rng.random((15, 2, 60)) < rng.beta(8, 4, (15, 1, 1))
    session, group, _ = np.indices(decision.shape)
    found = separation(
        np.ones(decision.size),
        decision.ravel(),
        sensitive_features=group.ravel(),
        cluster={"session": session.ravel()},
    )
    gaps = decision.mean(axis=2)
    expected = stats.ttest_1samp(gaps[:, 0] - gaps[:, 1], 0)
    assert found.tests[0].p_value == pytest.approx(expected.pvalue)
    assert found.tests[0].method == "clustered score z, t of clusters"


def test_every_engine_and_file_give_the_audit_of_the_arrays(
    frame: Callable[..., Any], tmp_path: Path
) -> None:
    columns = {"y": LABEL, "model": DECISION, "group": GROUP, **KINDS}
    named: dict[str, Any] = {"label": "y", "prediction": "model", "sensitive": "group"}
    arrays = np.array(numbers(audit(cluster=KINDS)))
    framed = audit_frame(frame(columns), cluster=("person", "session"), **named)
    assert np.array(numbers(framed)) == pytest.approx(arrays)
    polars.DataFrame(columns).write_csv(tmp_path / "rows.csv")
    filed = audit_file(tmp_path / "rows.csv", cluster=["person", "session"], **named)
    assert np.array(numbers(filed)) == pytest.approx(arrays)
    assert filed.n_clusters == {"person": 150, "session": 90}
    assert filed.design == "decisions clustered by person and session"


def test_the_result_says_what_took_the_place_of_exact_tests() -> None:
    found = audit(cluster=KINDS)
    assert "150 clusters by person" in found.notes[0]
    assert "Exact tests are for independent rows" in " ".join(found.notes)
    assert {joint.method for joint in found.joint_tests} == {"clustered score chi-square"}
    assert Audit.from_dict(found.to_dict()).to_dict() == found.to_dict()


def test_clusters_of_one_row_change_nothing_and_the_result_says_so() -> None:
    found = audit(cluster={"id": np.arange(N)})
    assert numbers(found) == numbers(audit())
    assert found.notes[0] == "No two rows have the same id, so that it has no effect."


def test_too_few_decisions_behind_a_rate_are_no_test() -> None:
    rows = np.flatnonzero(GROUP == "a")[:4]
    kept = np.concatenate([rows, np.flatnonzero(GROUP == "b")])
    found = separation(
        LABEL[kept], DECISION[kept], sensitive_features=GROUP[kept], cluster=PERSON[kept]
    )
    assert all("10 are needed with clusters" in test.reason for test in found.tests)


@pytest.mark.parametrize(
    ("cluster", "error"),
    [
        (np.zeros(N, dtype=int), OneClusterError),
        ([None, *PERSON[1:].tolist()], MissingValueError),
        ([" ", *map(str, PERSON[1:])], BlankNameError),
    ],
)
def test_broken_clusters_are_refused(cluster: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        audit(cluster=cluster)
    rows = {"y": LABEL, "model": DECISION, "group": GROUP, "kind": cluster}
    with pytest.raises(error, match="kind"):
        audit_frame(
            polars.DataFrame(rows, strict=False),
            label="y",
            prediction="model",
            sensitive="group",
            cluster="kind",
        )


def test_the_rule_of_the_paper_takes_no_clusters() -> None:
    with pytest.raises(OptionError, match="independent"):
        audit(cluster=PERSON, rule="paper")


def test_counts_that_share_clusters_are_not_added() -> None:
    counts = count_decision_arrays(LABEL, DECISION, sensitive={"g": GROUP}, clusters=KINDS)["g"]
    with pytest.raises(IncompatibleCountsError, match="clusters"):
        counts + counts
