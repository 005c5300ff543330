"""Densities and neighbours by brute force; likelihoods of attributes by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from comparity.counts.densities import fit_numbers, kernel_densities, neighbour_counts

RNG = np.random.default_rng(7)
GROUP = np.array([0] * 11 + [1] * 4)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("width", [1.0, 30.0])
def test_densities_are_sums_of_normal_densities_over_the_group(columns: int, width: float) -> None:
    points = RNG.uniform(0, width, (15, columns))
    found = kernel_densities(points, GROUP, 0.8)
    for i in range(15):
        apart = np.linalg.norm(points[GROUP[i] == GROUP] - points[i], axis=1)
        normal = norm.pdf(apart / 0.8) * norm.pdf(0) ** (columns - 1) / 0.8**columns
        assert found[i] == pytest.approx(normal.sum(), rel=1e-6)


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_neighbours_are_nearer_than_the_radius(columns: int) -> None:
    points = RNG.integers(0, 4, (15, columns)).astype(float)
    found = neighbour_counts(points, GROUP, 2.0)
    for i in range(15):
        apart = np.linalg.norm(points[GROUP[i] == GROUP] - points[i], axis=1)
        assert found[i] == (apart < 2.0).sum()


def test_numbers_have_the_normal_likelihood_of_their_residuals() -> None:
    y, scores, values = RNG.normal(size=(3, 40))
    design = np.column_stack([np.ones(40), y])
    fitted = fit_numbers(y, scores, values)
    for said, columns in ((fitted.margin, design), (fitted.joint, np.c_[design, scores])):
        left = values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]
        expected = norm.logpdf(left, scale=np.sqrt((left**2).mean())).sum()
        assert said == pytest.approx(expected)
