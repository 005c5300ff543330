"""Symmetric accuracies are means of two marginals, and so are their gaps."""

from __future__ import annotations

import numpy as np
import pytest

from comparity.counts.all_pairs import all_pairs
from comparity.counts.query_pairs import query_pairs
from comparity.pairwise.accuracies import compare_symmetric


def items(n: int, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    label, group = rng.integers(0, 4, n).astype(float), rng.integers(0, 3, n)
    return label, label + rng.normal(size=n) + 0.4 * group, group


def test_the_gap_is_the_difference_of_mean_marginals() -> None:
    label, score, group = items(90, 1)
    better, worse = label[:, None] > label[None, :], score[:, None] > score[None, :]
    means = []
    for one in range(2):
        as_better = worse[(group == one)][better[group == one]].mean()
        as_worse = worse[:, group == one][better[:, group == one]].mean()
        means.append((as_better + as_worse) / 2)
    sharing = all_pairs(label, score, group, ("a", "b", "c")).sharing
    first = compare_symmetric(sharing, ("a", "b", "c"))[0]
    assert first.null == "symmetric(a) = symmetric(b)"
    assert first.gap == pytest.approx(means[0] - means[1])
    low, high, _ = first.interval(0.95)
    assert low < first.gap < high
    assert first.equivalence_p_value(0.5) < 0.05


@pytest.mark.long
def test_the_standard_error_is_that_of_repeated_samples() -> None:
    gaps, errors = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        label, group = rng.integers(0, 2, 200).astype(float), rng.integers(0, 2, 200)
        score = label + rng.normal(size=200)
        sharing = all_pairs(label, score, group, ("a", "b")).sharing
        (test,) = compare_symmetric(sharing, ("a", "b"))
        gaps.append(test.gap)
        errors.append(test.standard_error)
    # The relative standard error of a standard deviation over r samples is sqrt(1 / 2r).
    assert np.mean(errors) == pytest.approx(np.std(gaps), rel=4 * np.sqrt(1 / 800))


def test_two_queries_are_too_few() -> None:
    label, score, group = items(60, 2)
    sharing = query_pairs(label, score, group, ("a", "b", "c"), np.arange(60) % 2).sharing
    assert all("too few" in test.reason for test in compare_symmetric(sharing, ("a", "b", "c")))
