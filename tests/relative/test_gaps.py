from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind
from statsmodels.regression.linear_model import GLS

from comparity.inference.differential_parity import welch_statistic
from comparity.relative.gaps import biased_estimate, biased_gap
from comparity.relative.prediction import Predictions, bridge_errors, second_errors
from comparity.relative.subjects import DecidedSubjects, decided_subjects
from tests.plain.bridging import biased_bridge


def sides(seed: int, n: int = 60, m: int = 50, shared: int = 0) -> DecidedSubjects:
    """Two decision makers with merit in common; so many subjects in each group are shared."""
    rng = np.random.default_rng(seed)
    ids = np.arange(n), np.arange(n - shared, n - shared + m)
    merit = rng.normal(size=n + m)
    group = np.arange(n + m) % 2
    decisions = tuple(merit[one] + rng.normal(0, 0.5, len(one)) for one in ids)
    return decided_subjects(
        (decisions[0], decisions[1]), (group[ids[0]], group[ids[1]]), (ids[0], ids[1])
    )


def predicted(subjects: DecidedSubjects, seed: int) -> Predictions:
    """Predictions that are the same for a subject on both sides."""
    rng = np.random.default_rng(seed)
    first, second = (rng.normal(size=n) for n in subjects.sizes)
    second[subjects.twin >= 0] = first[subjects.twin[subjects.twin >= 0]]
    return Predictions(first=first, second=second, judged=np.ones(len(first), dtype=bool))


@given(st.integers(0, 10**6), st.integers(8, 60), st.integers(8, 60))
def test_without_shared_subjects_the_numbers_are_those_of_the_definition(
    seed: int, n: int, m: int
) -> None:
    subjects = sides(seed, n, m)
    found = predicted(subjects, seed)
    errors = bridge_errors(subjects, found)
    estimate, test = biased_estimate(errors), biased_gap(errors, null="")
    expected = biased_bridge(
        (found.first - subjects.decisions[0]).tolist(),
        subjects.group[0].tolist(),
        (found.second - subjects.decisions[1]).tolist(),
        subjects.group[1].tolist(),
    )
    # Errors are rounded to the digits that mean anything, twelve or thirteen of them.
    assert estimate.gap == pytest.approx(expected.gap, rel=1e-9, abs=1e-11)
    assert estimate.variance == pytest.approx(expected.variance)
    assert estimate.dof == pytest.approx(expected.dof)
    assert estimate.gap / estimate.scale == pytest.approx(expected.dpd, rel=1e-9, abs=1e-11)
    assert test.gap == pytest.approx(expected.dpd, rel=1e-9, abs=1e-11)


def test_with_all_subjects_shared_it_is_welch_of_the_differences() -> None:
    subjects = sides(3, 60, 60, shared=60)
    errors = bridge_errors(subjects, predicted(subjects, 4))
    test = biased_gap(errors, null="")
    difference = subjects.decisions[0][subjects.twin] - subjects.decisions[1]
    group = subjects.group[1] == 1
    expected = ttest_ind(difference[group], difference[~group], equal_var=False)
    assert biased_estimate(errors).statistic == pytest.approx(expected.statistic)
    assert test.p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(("shared", "known"), [(60, True), (10, True), (9, False)])
def test_shared_and_other_subjects_are_joined_by_generalised_least_squares(
    shared: int, *, known: bool
) -> None:
    """From ten shared subjects on, their errors say how they correlate; before, not at all."""
    subjects = sides(5, 200, 150, shared=shared)
    errors = bridge_errors(subjects, predicted(subjects, 6))
    residuals = [
        np.concatenate([own - own.mean() for own in (one.first, one.second)]).reshape(2, -1)
        for one in errors.shared
    ]
    correlation = np.corrcoef(np.hstack(residuals))[0, 1] if known else 0.0
    for place, found in (
        (1, biased_estimate(errors).means[0]),
        (0, biased_estimate(errors).means[1]),
    ):
        both = errors.shared[place]
        parts = [both.first, both.second, errors.first[place], errors.second[place]]
        v = [errors.all_of(side, place).var(ddof=1) for side in (0, 1)]
        covariance = np.diag(np.array([v[0], v[1], v[0], v[1]]) / [len(part) for part in parts])
        covariance[0, 1] = covariance[1, 0] = correlation * np.sqrt(v[0] * v[1]) / len(both)
        design = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
        fit = GLS([part.mean() for part in parts], design, sigma=covariance).fit()
        assert found == pytest.approx(fit.params[1] - fit.params[0], abs=1e-9)


@pytest.mark.long
def test_the_error_of_dpd_with_shared_subjects_is_that_of_resampled_subjects() -> None:
    found = []
    for seed in range(400):
        subjects = sides(seed, 120, 100, shared=40)
        # Predictions as good as merit: errors of the two sides correlate.
        test = biased_gap(bridge_errors(subjects, predicted(subjects, seed)), null="")
        found.append((test.gap, test.standard_error))
    gaps, errors = np.array(found).T
    # The standard deviation of 400 draws has a relative error of 0.035.
    assert gaps.std() == pytest.approx(errors.mean(), rel=0.11)
    assert abs(gaps.mean()) < 3 * gaps.std() / 20


@given(st.integers(0, 10**6), st.tuples(*[st.floats(-5, 5)] * 2))
def test_a_leaning_of_the_model_itself_cancels(seed: int, leaning: tuple[float, float]) -> None:
    subjects = sides(seed, shared=0)
    found = predicted(subjects, seed)
    lean = np.array(leaning)
    leaning_too = Predictions(
        first=found.first + lean[subjects.group[0]],
        second=found.second + lean[subjects.group[1]],
        judged=found.judged,
    )
    one, two = (biased_gap(bridge_errors(subjects, f), null="") for f in (found, leaning_too))
    assert one.gap == pytest.approx(two.gap, abs=1e-9)
    assert one.p_value == pytest.approx(two.p_value, abs=1e-7)


def test_the_unbiased_bridge_is_welch_of_predictions_against_the_second() -> None:
    subjects = sides(8)
    found = predicted(subjects, 9)
    reference, group = second_errors(bridge_errors(subjects, found)).moments.values()
    difference = found.second - subjects.decisions[1]
    ones = subjects.group[1] == 1
    expected = ttest_ind(difference[ones], difference[~ones], equal_var=False).statistic
    assert welch_statistic(group, reference) == pytest.approx(expected)


def test_a_single_shared_subject_counts_as_one_of_each_side() -> None:
    subjects = sides(1, shared=1)
    errors = bridge_errors(subjects, predicted(subjects, 2))
    assert errors.n_shared == 0
    assert errors.n_of(0) + errors.n_of(1) == sum(subjects.sizes)


def test_only_subjects_held_out_count_on_the_first_side() -> None:
    subjects = sides(1)
    found = predicted(subjects, 2)
    held = Predictions(
        first=found.first, second=found.second, judged=np.arange(len(found.first)) < 20
    )
    errors = bridge_errors(subjects, held)
    assert len(errors.all_of(0, 0)) + len(errors.all_of(0, 1)) == 20
