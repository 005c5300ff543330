"""Weights that make one set of subjects look like another, and what they do to a gap."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from comparity.relative.bridge_checks import measure_overlap
from comparity.relative.gaps import DOUBLY_ROBUST, biased_estimate, biased_gap
from comparity.relative.prediction import BridgeErrors, Predictions, bridge_errors
from comparity.relative.subjects import DecidedSubjects, decided_subjects

Floats = NDArray[np.float64]
Drawn = tuple[DecidedSubjects, Predictions, tuple[Floats, Floats]]


def curved(shift: float, n: int = 4000, seed: int = 5) -> Drawn:
    """Decisions are the square of a feature, predicted as zero; group 1 of the second is moved."""
    rng = np.random.default_rng(seed)
    groups = [rng.integers(0, 2, n) for _ in range(2)]
    features = [rng.normal(size=n) for _ in range(2)]
    features[1] = np.where(groups[1] == 1, features[1] + shift, features[1])
    decisions = [x**2 + rng.normal(0, 0.5, n) for x in features]
    made = Predictions(first=np.zeros(n), second=np.zeros(n), judged=np.ones(n, dtype=bool))
    known = features[0][:, None], features[1][:, None]
    return decided_subjects(tuple(decisions), tuple(groups)), made, known


def errors_of(drawn: Drawn) -> BridgeErrors:
    subjects, made, features = drawn
    return bridge_errors(subjects, made, measure_overlap(subjects, made, features, 0).reweighed)


@pytest.mark.parametrize("shift", [0.0, -0.3, 0.5])
def test_weights_are_the_ratio_of_two_normal_densities(shift: float) -> None:
    subjects, made, features = curved(shift, n=20_000)
    found = measure_overlap(subjects, made, features, 0).reweighed
    assert found is not None
    x = features[0][subjects.group[0] == 1, 0]
    true = np.exp(x**2 / 2 - (x - shift) ** 2 / 2)
    near = np.abs(x) < 2
    assert found[1].weights[near] == pytest.approx(true[near], abs=0.25)
    still = np.abs(features[0][subjects.group[0] == 0, 0]) < 2
    assert found[0].weights[still] == pytest.approx(np.ones(still.sum()), abs=0.25)


def test_the_gap_is_that_of_normalised_weighted_means() -> None:
    errors = errors_of(curved(0.5))
    assert errors.reweighed is not None
    means = [
        errors.second[a].mean() - np.average(errors.first[a], weights=errors.reweighed[a].weights)
        for a in (0, 1)
    ]
    assert biased_estimate(errors).gap == pytest.approx(means[1] - means[0])
    assert biased_gap(errors, null="").method == DOUBLY_ROBUST


def test_weights_take_away_what_a_wrong_model_and_a_shift_make_up() -> None:
    """Group 1 is shifted by 0.5: the mean of its squares is larger by 0.25, and nobody leans."""
    subjects, made, _ = drawn = curved(0.5)
    plain, weighed = bridge_errors(subjects, made), errors_of(drawn)
    assert biased_estimate(plain).gap == pytest.approx(-0.25, abs=0.15)
    assert abs(biased_estimate(plain).statistic) > 3
    assert abs(biased_estimate(weighed).statistic) < 2


def test_the_error_is_that_of_repeated_draws() -> None:
    found = [biased_estimate(errors_of(curved(0.4, n=800, seed=seed))) for seed in range(60)]
    claimed = np.sqrt(np.mean([one.variance for one in found]))
    # The standard error of a standard deviation of 60 is 9 %.
    assert np.std([one.gap for one in found]) == pytest.approx(claimed, rel=0.28)


def test_too_few_subjects_are_not_weighed() -> None:
    assert measure_overlap(*curved(0.0, n=30), 0).reweighed is not None
    assert measure_overlap(*curved(0.0, n=12), 0).reweighed is None
