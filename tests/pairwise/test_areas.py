"""Witness: scikit-learn's ``roc_auc_score`` on the subset, resample or weights a paper defines."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from comparity.counts.all_pairs import all_pairs
from comparity.pairwise.measures import (
    bnsp_auc,
    bpsn_auc,
    pinned_auc,
    subgroup_auc,
    weighted_pinned_auc,
    xauc,
    xauc_gap,
)

N = 600
RNG = np.random.default_rng(20190513)
GROUP = RNG.choice(3, N, p=[0.6, 0.3, 0.1])
LABEL = (RNG.random(N) < np.array([0.2, 0.5, 0.6])[GROUP]).astype(float)
SCORE = np.round(LABEL + RNG.normal(size=N) + np.array([0.0, 0.4, -0.3])[GROUP], 1)
SHARING = all_pairs(LABEL, SCORE, GROUP, ("a", "b", "c"), score_ties="half").sharing
PAIRS = SHARING.trials.reshape(3, 3)
MATRIX = SHARING.hits.reshape(3, 3) / PAIRS
POSITIVES = np.array([np.sum(LABEL[g == GROUP] == 1) for g in range(3)])
NEGATIVES = np.array([np.sum(LABEL[g == GROUP] == 0) for g in range(3)])

each_group = pytest.mark.parametrize("group", range(3))


def area(positives: NDArray[np.bool_], negatives: NDArray[np.bool_]) -> float:
    rows = (positives & (LABEL == 1)) | (negatives & (LABEL == 0))
    return float(roc_auc_score(LABEL[rows], SCORE[rows]))


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0), (2, 0)])
def test_the_xauc_is_the_area_of_positives_of_one_group_and_negatives_of_another(
    first: int, second: int
) -> None:
    """Kallus and Zhou (2019), definition of xAUC and of its disparity."""
    assert xauc(MATRIX, first, second) == pytest.approx(area(first == GROUP, second == GROUP))
    turned = area(second == GROUP, first == GROUP)
    expected = area(first == GROUP, second == GROUP) - turned
    assert xauc_gap(MATRIX, first, second) == pytest.approx(expected)


@each_group
def test_subgroup_bnsp_and_bpsn_areas_are_those_of_the_subsets_of_borkan_et_al(group: int) -> None:
    """Borkan et al. (2019): AUC(Dg- + Dg+), AUC(D- + Dg+), AUC(D+ + Dg-), D the background."""
    inside, background = group == GROUP, group != GROUP
    assert subgroup_auc(MATRIX, group) == pytest.approx(area(inside, inside))
    assert bnsp_auc(MATRIX, PAIRS, group) == pytest.approx(area(inside, background))
    assert bpsn_auc(MATRIX, PAIRS, group) == pytest.approx(area(background, inside))


@each_group
def test_the_pinned_area_is_that_of_the_group_joined_to_the_whole_in_equal_numbers(
    group: int,
) -> None:
    """Dixon et al. (2018): s(Dt) + s(D) of equal size, here each row repeated exactly."""
    inside = np.flatnonzero(group == GROUP)
    joined = np.concatenate([np.repeat(inside, N), np.repeat(np.arange(N), len(inside))])
    expected = roc_auc_score(LABEL[joined], SCORE[joined])
    assert pinned_auc(MATRIX, POSITIVES, NEGATIVES, group) == pytest.approx(expected)


@each_group
def test_the_pinned_area_of_random_samples_tends_to_it(group: int) -> None:
    rng = np.random.default_rng(group)
    inside = np.flatnonzero(group == GROUP)
    samples = [np.concatenate([rng.choice(inside, 4000), rng.choice(N, 4000)]) for _ in range(30)]
    areas = [roc_auc_score(LABEL[rows], SCORE[rows]) for rows in samples]
    error = np.std(areas, ddof=1) / np.sqrt(30)
    found = pinned_auc(MATRIX, POSITIVES, NEGATIVES, group)
    assert found == pytest.approx(np.mean(areas), abs=4 * error)


@each_group
@pytest.mark.parametrize("totals", [(1.0, 1.0), (3.0, 0.5)])
def test_the_weighted_pinned_area_is_that_of_items_weighted_to_the_same_composition(
    group: int, totals: Sequence[float]
) -> None:
    """Subgroup and background get the same total of positives and the same of negatives."""
    weight = np.zeros(N)
    for inside in (group == GROUP, group != GROUP):
        for label, total in zip((1, 0), totals, strict=True):
            weight[inside & (label == LABEL)] = total / np.sum(inside & (label == LABEL))
    expected = roc_auc_score(LABEL, SCORE, sample_weight=weight)
    assert weighted_pinned_auc(MATRIX, PAIRS, group) == pytest.approx(expected)


def test_areas_without_pairs_are_not_a_number() -> None:
    matrix, none = [[np.nan, 0.5], [0.5, 0.5]], [[0, 0], [0, 1]]
    assert np.isnan(subgroup_auc(matrix, 0))
    assert np.isnan(bnsp_auc(matrix, none, 0))
    assert np.isnan(bpsn_auc(matrix, none, 0))
    assert np.isnan(weighted_pinned_auc(matrix, [[0, 1], [1, 1]], 0))
    assert np.isnan(pinned_auc(matrix, [0, 3], [0, 3], 0))
    assert np.isnan(pinned_auc(matrix, [0, 0], [2, 3], 0))


def test_a_cell_without_pairs_does_not_spoil_an_area_that_does_not_need_it() -> None:
    assert bnsp_auc([[np.nan, 0.75], [np.nan, 0.5]], [[0, 4], [0, 2]], 0) == 0.75
    assert pinned_auc([[0.5, np.nan], [0.5, np.nan]], [3, 2], [4, 0], 0) == 0.5
