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
PERSON, SESSION = RNG.integers(0, 40, N), RNG.integers(0, 25, N)
CODE = RNG.integers(0, 3, N)
GROUP = np.array(["a", "b", "c"])[CODE]
LABEL = RNG.integers(0, 2, N)
# Persons and sessions favour groups, each in its own way.
LOGIT = 2.0 * LABEL - 1 + RNG.normal(size=(40, 3))[PERSON, CODE]
LOGIT += RNG.normal(size=(25, 3))[SESSION, CODE]
DECISION = (RNG.random(N) < 1 / (1 + np.exp(-LOGIT))).astype(int)
KINDS = {"person": PERSON, "session": SESSION}


def audit(**choices: Any) -> Audit:
    return separation(LABEL, DECISION, sensitive_features={"group": GROUP}, **choices)


def numbers(found: Audit) -> list[list[float]]:
    return [[test.gap, test.standard_error, test.p_value] for test in found.tests]


def robust_variance(group: tuple[str, str], *kinds: str) -> tuple[float, int]:
    """Variance of a gap of true positive rates by statsmodels, and the number of clusters.

    Regression on groups, errors clustered by the combinations of columns, without a correction.
    """
    rows = (LABEL == 1) & np.isin(GROUP, group)
    codes = sum(1000**place * KINDS[kind][rows] for place, kind in enumerate(kinds))
    model = sm.OLS(DECISION[rows], sm.add_constant((GROUP[rows] == group[0]).astype(float)))
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": codes, "use_correction": False})
    return float(fit.cov_params()[1, 1]), len(set(codes))


def test_standard_errors_are_those_of_statsmodels() -> None:
    """Clusters that lie across groups are corrected by G / (G - 1)."""
    test = audit(cluster={"person": PERSON}).tests[0]
    variance, number = robust_variance(("a", "b"), "person")
    assert test.standard_error**2 == pytest.approx(number / (number - 1) * variance)
    assert test.method == "clustered score z, t of clusters"


def test_two_kinds_of_clusters_count_what_both_share_once() -> None:
    """Cameron, Gelbach and Miller; the kind with fewer clusters gets what is of both."""
    test = audit(cluster=KINDS).tests[0]
    (by_session, sessions), (by_person, people) = (
        robust_variance(("a", "b"), kind) for kind in ("session", "person")
    )
    by_both, _ = robust_variance(("a", "b"), "person", "session")
    expected = sessions / (sessions - 1) * by_session
    expected += people / (people - 1) * (by_person - by_both)
    assert by_person > by_both
    assert test.standard_error**2 == pytest.approx(expected)


@pytest.mark.parametrize("number", [3, 6])
def test_clusters_within_groups_of_one_size_are_compared_by_their_means(number: int) -> None:
    """Means of clusters in two groups: Welch's variance, and as many clusters less one in each."""
    rng = np.random.default_rng(number)
    decision = rng.random((number + 12, 40)) < rng.beta(8, 4, (number + 12, 1))
    cluster = np.repeat(np.arange(number + 12), 40)
    found = separation(
        np.ones(decision.size),
        decision.ravel(),
        sensitive_features=np.where(cluster < number, "a", "b"),
        cluster=cluster,
    ).tests[0]
    means = decision.mean(axis=1)
    first, second = stats.sem(means[:number]) ** 2, stats.sem(means[number:]) ** 2
    assert found.standard_error**2 == pytest.approx(first + second)
    low, high = found.interval(0.9)[:2]
    allowed = stats.t.ppf(0.95, number - 1) ** 2 * first + stats.t.ppf(0.95, 11) ** 2 * second
    assert (high - low) / 2 == pytest.approx(np.sqrt(allowed))


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
    assert filed.n_clusters == {"person": 40, "session": 25}
    assert filed.design == "decisions clustered by person and session"


def test_the_result_says_what_took_the_place_of_exact_tests() -> None:
    found = audit(cluster=KINDS)
    assert "40 clusters by person" in found.notes[0]
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
