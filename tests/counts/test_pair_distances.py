"""Rates evened out by distances, against a least-squares fit to all pairs written out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from comparity.counts import pair_distances as module
from comparity.counts.all_pairs import all_pairs
from comparity.counts.pair_distances import expect_from_items
from comparity.counts.pairs import Cell
from comparity.inference.dyadic import rate_covariance

Floats = NDArray[np.float64]
Items = tuple[Floats, Floats, NDArray[np.int64], Floats]


def items(n: int = 120, seed: int = 1) -> Items:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    label = rng.normal(size=n)
    label = np.where(group == 1, np.round(2 * label) / 2, label)
    return label, label + 0.2 * rng.normal(size=n), group, rng.uniform(0.2, 1, n)


def written_out(data: Items, knots: Floats) -> list[float]:
    """Fit hat functions of the distance times powers of the place with numpy's lstsq."""
    label, score, group, weights = data
    rank = np.array([(label < y).mean() + (label <= y).mean() - 1 for y in label])
    rows, hits, mass, cells = [], [], [], []
    for i in range(len(label)):
        for j in range(len(label)):
            if label[i] > label[j]:
                hat = [np.interp(label[i] - label[j], knots, one) for one in np.eye(len(knots))]
                place = (rank[i] + rank[j]) / 2
                rows.append(np.outer([1, place, place**2], hat).ravel())
                hits.append(score[i] > score[j])
                mass.append(weights[i] * weights[j])
                cells.append(2 * group[i] + group[j])
    design, weight, cell = np.array(rows), np.array(mass), np.array(cells)
    root = np.sqrt(weight)
    heights = np.linalg.lstsq(design * root[:, None], np.array(hits) * root, rcond=None)[0]
    fitted = design @ heights
    return [float(np.average(fitted[cell == c], weights=weight[cell == c])) for c in range(4)]


def test_expected_rates_are_those_of_a_fit_to_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    knots = np.array([0.0, 0.1, 0.3, 0.7, 1.5, 6.0])
    monkeypatch.setattr(module, "_knots", lambda pairs, n_steps: knots)
    data = items()
    label, score, group, weights = data
    found = expect_from_items(label, score, group, 2, weights=weights)
    np.testing.assert_allclose(found.fine, written_out(data, knots), atol=2e-4)
    assert not found.sampling.any()


def test_the_order_of_rows_does_not_matter() -> None:
    label, score, group, weights = items(900)
    order = np.random.default_rng(2).permutation(900)
    one = expect_from_items(label, score, group, 2, weights=weights)
    two = expect_from_items(label[order], score[order], group[order], 2, weights=weights[order])
    np.testing.assert_allclose(one.fine, two.fine, rtol=1e-9)


def test_fitting_some_pairs_is_as_wrong_as_it_says() -> None:
    label, score, group, weights = items(900)
    some = expect_from_items(label, score, group, 2, weights=weights)
    assert some.sampling.any()
    every = expect_from_items(label, score, group, 2, weights=weights, tolerance=0.0)
    assert not every.sampling.any()
    assert np.ptp(some.fine - every.fine) < 3 * some.doubt()


def test_doubt_about_two_cells_is_at_most_that_about_all() -> None:
    label, score, group, weights = items(900)
    found = expect_from_items(label, score, group, 2, weights=weights)
    of_two = [found.doubt([one, two]) for one in range(4) for two in range(one)]
    assert max(of_two) <= found.doubt() <= np.hypot(*sorted(of_two)[-2:]) + max(of_two)
    assert found.reason_against(4 * found.doubt()) == ""
    assert "could move the gap by" in found.reason_against(2 * found.doubt())


def test_evening_out_moves_rates_and_leaves_errors() -> None:
    label, score, group, weights = items(300)
    sharing = all_pairs(label, score, group, ("a", "b"), weights=weights).sharing
    expected = expect_from_items(label, score, group, 2, weights=weights)
    evened = expected.even_out(sharing)
    moved = (sharing.hits - evened.hits) / sharing.trials
    np.testing.assert_allclose(moved - moved[0], expected.fine - expected.fine[0], atol=1e-12)
    assert evened.hits.sum() == pytest.approx(sharing.hits.sum())
    np.testing.assert_allclose(rate_covariance(evened), rate_covariance(sharing), atol=1e-12)
    assert evened.cells == tuple(Cell(a, b) for a in "ab" for b in "ab")


@pytest.mark.parametrize("apart", [3, 40, 499])
def test_pairs_that_are_drawn_stand_for_all_pairs(apart: int) -> None:
    """Weighed by how unlikely they were, there are as many close pairs as can be counted."""
    n, most = 500, 20_000
    first, second, chance = module._spread_pairs(n, most)
    assert ((first >= 0) & (first < second) & (second < n)).all()
    close = second - first <= apart
    counted = sum(n - distance for distance in range(1, apart + 1))
    assert (close / chance).sum() * np.log(n) / most == pytest.approx(counted, rel=0.02)
    assert len(module._spread_pairs(200, 19_900)[0]) == 19_900
    assert (module._spread_pairs(200, 19_900)[2] == 1).all()


def test_the_place_of_a_label_is_its_mean_rank() -> None:
    label = np.array([1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 7.0])
    levels = module._Levels(label, np.zeros(7, dtype=np.int64), np.ones(7), 1)
    expected = [(label < y).mean() + (label <= y).mean() - 1 for y in (1.0, 2.0, 3.0, 7.0)]
    assert levels.rank == pytest.approx(expected)
