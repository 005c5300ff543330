"""Clusters of subjects in audits of two decision makers: robust errors, and every door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
import statsmodels.api as sm
from scipy import stats

from comparity import differential_parity
from comparity.errors import MissingValueError, OneClusterError, OptionError
from comparity.relative.audit import audit_file, audit_frame
from comparity.relative.result import DifferentialParity

RNG = np.random.default_rng(6)
N = 900
PERSON, SESSION = RNG.integers(0, 30, N), RNG.integers(0, 20, N)
CODE = RNG.integers(0, 2, N)
SEX = np.array(["f", "m"])[CODE]
SECOND = RNG.normal(size=N)
LEAN = RNG.normal(size=(30, 2))[PERSON, CODE] + RNG.normal(size=(20, 2))[SESSION, CODE]
FIRST = SECOND + LEAN + RNG.normal(size=N)
MEANS = np.array([(FIRST - SECOND)[code == CODE].mean() for code in (0, 1)])
NEARLY_EQUAL = FIRST - MEANS[CODE] + 1e-6 * CODE
KINDS = {"person": PERSON, "session": SESSION}


def parity(**choices: Any) -> DifferentialParity:
    return differential_parity(
        FIRST, SECOND, sensitive_features={"sex": SEX}, permutations=0, **choices
    )


def robust_variance(codes: np.ndarray) -> tuple[float, int]:
    """Variance of the gap of means by statsmodels, clustered, without a correction."""
    model = sm.OLS(FIRST - SECOND, sm.add_constant(CODE.astype(float)))
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": codes, "use_correction": False})
    return float(fit.cov_params()[1, 1]), len(set(codes))


def error_without_scale(found: DifferentialParity) -> float:
    """Standard error of the raw gap: at the hypothesis of none the scale does not matter."""
    contrast = found.contrasts[0]
    return contrast.gap / contrast.dpt


def test_the_statistic_has_the_cluster_robust_error_of_statsmodels() -> None:
    """At a gap near zero residuals at the hypothesis are those at the observed means."""
    found = differential_parity(
        FIRST - MEANS[CODE] + 1e-6 * CODE,
        SECOND,
        sensitive_features=SEX,
        cluster=PERSON,
        permutations=0,
    )
    variance, number = robust_variance(PERSON)
    expected = np.sqrt(number / (number - 1) * variance)
    assert error_without_scale(found) == pytest.approx(expected, rel=1e-4)
    assert found.contrasts[0].dof == pytest.approx(number - 1)


def test_two_kinds_of_clusters_count_what_both_share_once() -> None:
    found = differential_parity(
        FIRST - MEANS[CODE] + 1e-6 * CODE,
        SECOND,
        sensitive_features=SEX,
        cluster=KINDS,
        permutations=0,
    )
    (by_session, sessions), (by_person, people), (by_both, _) = (
        robust_variance(codes) for codes in (SESSION, PERSON, 100 * PERSON + SESSION)
    )
    expected = sessions / (sessions - 1) * by_session
    expected += people / (people - 1) * (by_person - by_both)
    assert error_without_scale(found) == pytest.approx(np.sqrt(expected), rel=1e-4)


def test_clusters_of_equal_shares_are_compared_by_the_t_test() -> None:
    rng = np.random.default_rng(1)
    differences = rng.normal(size=(15, 2, 30)) + rng.normal(size=(15, 2, 1))
    person, group, _ = np.indices(differences.shape)
    found = differential_parity(
        differences.ravel(),
        np.zeros(differences.size),
        sensitive_features=group.ravel(),
        cluster=person.ravel(),
        permutations=0,
    )
    means = differences.mean(axis=2)
    expected = stats.ttest_1samp(means[:, 1] - means[:, 0], 0)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.contrasts[0].dpt == pytest.approx(expected.statistic)


def test_p_values_and_intervals_are_of_one_test() -> None:
    test = parity(cluster=KINDS).tests[0]
    assert test.pivot is not None
    low, high, _ = test.interval(0.9)
    assert test.pivot.p_value(low) == pytest.approx(0.1, abs=1e-6)
    assert test.pivot.p_value(high) == pytest.approx(0.1, abs=1e-6)
    assert low < test.gap < high


def test_rare_differences_have_to_pass_both_tests() -> None:
    rare = SECOND.round() + (np.arange(N) % 90 == 0)
    choices: dict[str, Any] = {"sensitive_features": SEX, "permutations": 0}
    found = differential_parity(rare, SECOND.round(), cluster=PERSON, **choices)
    alone = differential_parity(rare, SECOND.round(), **choices)
    assert "pseudo-differences" in found.tests[0].method
    assert found.p_value >= alone.p_value
    assert found.tests[0].interval(0.9).high >= alone.tests[0].interval(0.9).high


def test_every_engine_and_file_give_the_audit_of_the_arrays(
    frame: Callable[..., Any], tmp_path: Path
) -> None:
    columns = {"one": FIRST.round(2), "two": SECOND.round(2), "sex": SEX, **KINDS}
    named: dict[str, Any] = {"first": "one", "second": "two", "sensitive": "sex"}
    arrays = differential_parity(
        columns["one"], columns["two"], sensitive_features=SEX, cluster=KINDS, permutations=0
    )
    kinds = ("person", "session")
    framed = audit_frame(frame(columns), cluster=kinds, permutations=0, **named)
    assert framed.p_value == pytest.approx(arrays.p_value)
    polars.DataFrame(columns).write_csv(tmp_path / "rows.csv")
    filed = audit_file(tmp_path / "rows.csv", cluster=kinds, permutations=0, **named)
    assert filed.p_value == pytest.approx(arrays.p_value)
    assert filed.audit.n_clusters == {"person": 30, "session": 20}
    assert filed.audit.design == "the same subjects, clustered by person and session"


def test_labels_take_clusters_too() -> None:
    rows = {"one": np.where(FIRST > 0, "yes", "no"), "two": np.where(SECOND > 0, "yes", "no")}
    frame = polars.DataFrame({**rows, "sex": SEX, "person": PERSON})
    found = audit_frame(
        frame, first="one", second="two", sensitive="sex", labels=True, cluster="person"
    )
    assert found.audit.n_clusters == {"person": 30}


def test_rows_in_clusters_are_not_permuted() -> None:
    found = differential_parity(FIRST, SECOND, sensitive_features=SEX, cluster=PERSON)
    assert found.distribution == ()
    assert "30 clusters by cluster" in " ".join(found.notes)


def test_clusters_of_one_row_change_nothing_and_the_result_says_so() -> None:
    found = parity(cluster={"id": np.arange(N)})
    assert found.p_value == parity().p_value
    assert "No two rows have the same id, so that it has no effect." in found.notes


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [(np.arange(N) % 2, "3 are needed"), (np.where(CODE == 1, 0, 1 + PERSON), "in one cluster")],
)
def test_too_few_clusters_are_no_test(cluster: np.ndarray, reason: str) -> None:
    found = parity(cluster=cluster)
    assert reason in found.tests[0].reason
    assert np.isnan(found.p_value)


@pytest.mark.parametrize(
    ("cluster", "error"),
    [(np.zeros(N), OneClusterError), ([None, *PERSON[1:].tolist()], MissingValueError)],
)
def test_broken_clusters_are_refused(cluster: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        parity(cluster=cluster)


def test_what_takes_rows_to_be_independent_takes_no_clusters() -> None:
    with pytest.raises(OptionError, match="independent"):
        parity(cluster=PERSON, rule="paper")
    with pytest.raises(OptionError, match="independent"):
        differential_parity(
            FIRST, SECOND, sensitive_features=RNG.normal(size=N), cluster=PERSON, continuous=True
        )
