"""What a row adds to a clustered gap of means: the module's formula, written out row by row."""

from __future__ import annotations

import numpy as np
import pytest

from comparity.counts.clusters import Clustering
from comparity.counts.differences import ClusteredRows, Moments
from comparity.inference.clustered_means import CheckedGap, compare_clustered
from comparity.inference.evaluators import ClusterGap
from comparity.inference.means import WELCH, compare_means

RNG = np.random.default_rng(8)
N = 60
SECOND = np.arange(N) % 3 == 0
CODES = RNG.integers(0, 12, N)
VALUES = RNG.normal(size=12)[CODES] + RNG.normal(1, 1, N) + 0.5 * SECOND


def compared(values: np.ndarray = VALUES) -> tuple[ClusterGap, str]:
    first, second = Moments.of(values[~SECOND]), Moments.of(values[SECOND])
    clusters = {"room": Clustering(CODES, tuple(map(str, range(12))))}
    weights = np.ones(N, dtype=np.int64)
    rows = ClusteredRows(values=values, second=SECOND, weights=weights, clusters=clusters)
    alone = compare_means(first, second, null="")
    test = compare_clustered(alone, first, second, rows)
    assert isinstance(test.pivot, ClusterGap)
    return test.pivot, alone.method


@pytest.mark.parametrize("hypothesised", [0.0, 0.4, -0.2])
def test_rows_add_to_the_distance_what_the_formula_says(hypothesised: float) -> None:
    pivot, _ = compared()
    means = np.array([VALUES[~SECOND].mean(), VALUES[SECOND].mean()])
    left = VALUES - means[SECOND.astype(int)]
    scale = np.sqrt((left**2).sum() / (N - 2))
    # Means that differ by the hypothesis, of which all rows together have the same mean.
    sizes = np.array([(~SECOND).sum(), SECOND.sum()])
    away = means[0] - means[1] - hypothesised * scale
    restricted = means - away * np.array([sizes[1], -sizes[0]]) / N
    assert restricted[0] - restricted[1] == pytest.approx(hypothesised * scale)
    moved = (left**2 - (left**2).mean()) / (2 * scale * (N - 2))
    sign, size = np.where(SECOND, -1, 1), sizes[SECOND.astype(int)]
    added = sign * (VALUES - restricted[SECOND.astype(int)]) / size - hypothesised * moved
    by_room = np.bincount(CODES, added / scale, 12)
    found = pivot.sums @ pivot.between.weights(hypothesised)
    assert found == pytest.approx(by_room[np.unique(CODES)])
    assert found.sum() == pytest.approx(away / scale)


def test_only_where_rows_need_more_than_welch_do_they_have_to_reject_too() -> None:
    pivot, method = compared()
    assert method == WELCH
    assert not isinstance(pivot, CheckedGap)
    rare = np.where(np.arange(N) % 20 == 0, 1.0, 0.0)
    checked, method = compared(rare)
    assert method != WELCH
    assert isinstance(checked, CheckedGap)
    for hypothesised in (-0.5, 0.0, 0.5):
        alone = ClusterGap.p_value(checked, hypothesised), checked.other.p_value(hypothesised)
        assert checked.p_value(hypothesised) == max(alone)
