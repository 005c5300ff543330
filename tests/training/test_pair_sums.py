"""Smoothed accuracies: against the mean of steps over a triangle, pair by pair, and differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from comparity.training.losses import PairFamily, attribute_pairs, group_pairs, labelled_pairs
from tests.plain import pairwise_losses as plain

NAMES = ("a", "b", "c")
KINDS = pytest.mark.parametrize("kind", ["labelled", "attribute", "groups"])
# Segments of up to 128 items are compared one by one, longer ones merged.
SIZES = pytest.mark.parametrize("n", [40, 300])


def built(n: int, kind: str) -> tuple[np.ndarray, np.ndarray, PairFamily, plain.Kinds]:
    rng = np.random.default_rng(n)
    scores, weight = rng.normal(size=n).round(1), rng.uniform(0.5, 2.0, n)
    y, z = rng.integers(0, 9, n), rng.integers(0, 6, n)
    group, query = rng.integers(0, 3, n), np.sort(rng.uniform(size=n) < 0.3).astype(int)
    known = {"query": query, "weights": weight}
    if kind == "labelled":
        family = labelled_pairs(y.astype(float), group, NAMES, **known)
        return scores, weight, family, plain.by_groups(y, group, 3, query)
    if kind == "attribute":
        family = attribute_pairs(y.astype(float), z.astype(float), **known)
        return scores, weight, family, plain.by_attribute(y, z, query)
    cells = [i * 3 + j for i in range(3) for j in range(3) if i != j]
    plainly = plain.without_labels(group, 3, query)

    def cell_of(i: int, j: int) -> int | None:
        cell = plainly(i, j)
        return None if cell is None else cells.index(cell)

    return scores, weight, group_pairs(group, NAMES, **known), cell_of


@KINDS
@SIZES
@pytest.mark.parametrize("width", [0.05, 0.7])
def test_accuracies_are_means_of_steps_over_a_triangle(n: int, kind: str, width: float) -> None:
    scores, weight, family, cell_of = built(n, kind)
    trials, hits = np.zeros(len(family.cells)), np.zeros(len(family.cells))
    for i in range(n):
        for j in range(n):
            cell = cell_of(i, j)
            if cell is not None:
                trials[cell] += weight[i] * weight[j]
                hits[cell] += (
                    weight[i] * weight[j] * plain.smooth_step(scores[i] - scores[j], width)
                )
    np.testing.assert_allclose(
        family.smoothed_accuracy(scores, width=width)[0], hits / trials, atol=1e-12
    )


@KINDS
@SIZES
def test_gradients_are_finite_differences(n: int, kind: str) -> None:
    scores, _, family, _ = built(n, kind)
    weights = np.random.default_rng(1).normal(size=len(family.cells))
    slope = family.smoothed_accuracy(scores, width=0.7, weights=weights)[1]
    some = np.arange(0, n, n // 20)

    def weighed(moved: np.ndarray) -> float:
        at = scores.copy()
        at[some] = moved
        return float(weights @ family.smoothed_accuracy(at, width=0.7)[0])

    expected = approx_fprime(scores[some], weighed, 1e-7)
    np.testing.assert_allclose(slope[some], expected, atol=1e-6)


@KINDS
def test_a_narrow_width_leaves_the_accuracy(kind: str) -> None:
    """Scores that differ do so by 0.1 at least; equal ones are half in place."""
    _, _, family, _ = built(300, kind)
    scores = np.random.default_rng(2).permutation(300) / 10
    smoothed = family.smoothed_accuracy(scores, width=0.05)[0]
    np.testing.assert_allclose(smoothed, family.sums(scores).accuracy, atol=1e-12)


def test_far_scores_leave_no_rounding_behind() -> None:
    """A score of 1e9 among scores around 1: its square has no digits left for theirs."""
    y, group = np.arange(300.0), np.zeros(300, dtype=int)
    scores = np.random.default_rng(3).normal(size=300)
    family = labelled_pairs(y, group, ("all",))
    slope = family.smoothed_accuracy(scores, width=0.3, weights=np.ones(1))[1]
    scores[0] = -1e9
    far = family.smoothed_accuracy(scores, width=0.3, weights=np.ones(1))[1]
    # The others lose what the first item was to them, no more.
    assert np.abs(far - slope)[1:].max() < 1 / (0.3 * family.trials[0]) + 1e-6
