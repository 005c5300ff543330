"""Intervals of every metric cover at least 93 %, where every expected cell holds at least 10.

The truth of a metric is its value at the probabilities of the cells, without smoothing. That of
consistency is its expectation at the size of the sample, here the mean over the repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from comparity.counts.decisions import GroupedDecisions
from comparity.counts.neighbours import count_neighbours
from comparity.inference.metric_intervals import SMOOTHING, resample_table
from comparity.metrics.cards import PROMISED, metric_rows, rate_rows
from comparity.metrics.catalogue import CATALOGUE, EVERY_METRIC

LEAST = 0.93
REPLICATES = 300


def world(
    shares: Sequence[float], base: Sequence[float], tpr: Sequence[float], fpr: Sequence[float]
) -> GroupedDecisions:
    """Cell probabilities; the last group is privileged."""
    cells = [
        [[s * (1 - b) * (1 - f), s * (1 - b) * f], [s * b * (1 - t), s * b * t]]
        for s, b, t, f in zip(shares, base, tpr, fpr, strict=True)
    ]
    return GroupedDecisions(np.array(cells), np.arange(len(shares)) == len(shares) - 1)


PARITY = world([0.5, 0.5], [0.4, 0.4], [0.7, 0.7], [0.2, 0.2])
SMALL = world([0.2, 0.8], [0.4, 0.5], [0.7, 0.75], [0.2, 0.15])
EDGE = world([0.16, 0.84], [0.5, 0.5], [0.74, 0.95], [0.26, 0.05])
NEAR = world([0.45, 0.55], [0.4, 0.45], [0.75, 0.78], [0.2, 0.22])
THREE = world([0.3, 0.3, 0.4], [0.4, 0.4, 0.4], [0.7, 0.7, 0.7], [0.25, 0.25, 0.25])
EVEN = world([0.3, 0.7], [0.3, 0.3], [0.8, 0.8], [0.1, 0.1])
RARE = world([0.1, 0.9], [0.05, 0.1], [0.5, 0.6], [0.05, 0.02])
APART = world([0.5, 0.5], [0.3, 0.4], [0.6, 0.7], [0.1, 0.2])

WORLDS = [
    pytest.param(PARITY, 500, id="parity-500"),
    pytest.param(EDGE, 500, id="smallest-cells-500"),
    *(
        pytest.param(truth, n, id=name, marks=pytest.mark.slow)
        for name, truth, n in (
            ("small-group-500", SMALL, 500),
            ("near-parity-500", NEAR, 500),
            ("three-groups-500", THREE, 500),
            ("parity-5000", EVEN, 5000),
            ("rare-5000", RARE, 5000),
            ("apart-5000", APART, 5000),
        )
    ),
]


@pytest.mark.parametrize(("truth", "n"), WORLDS)
def test_intervals_of_every_metric_cover(
    truth: GroupedDecisions, n: int, repetitions: int, rng: np.random.Generator
) -> None:
    assert n * truth.cells.min() >= PROMISED
    # Half a decision more in each of a billion does not matter.
    large = truth.with_cells(1e12 * truth.cells)
    expected = {k: float(one.measure(large)) for k, one in EVERY_METRIC.items() if one.measure}
    covered = dict.fromkeys(expected, 0)
    for cells in rng.multinomial(n, truth.cells.ravel(), size=repetitions):
        seen = truth.with_cells(cells.reshape(truth.cells.shape).astype(float))
        drawn = resample_table(seen, replicates=REPLICATES, rng=rng, smoothing=SMOOTHING)
        for row in metric_rows(EVERY_METRIC, seen, drawn, None, level=0.95):
            low, high, _ = row.interval
            covered[row.id] += low - 1e-9 <= expected[row.id] <= high + 1e-9
    error = np.sqrt(LEAST * (1 - LEAST) / repetitions)
    short = {k: v / repetitions for k, v in covered.items() if v / repetitions < LEAST - 3 * error}
    assert not short


@pytest.mark.parametrize(
    ("truth", "n"), [(THREE, 500), pytest.param(APART, 5000, marks=pytest.mark.slow)]
)
def test_intervals_of_the_widest_gap_and_ratio_cover(
    truth: GroupedDecisions, n: int, rng: np.random.Generator
) -> None:
    repetitions = 200
    names = [str(place) for place in range(len(truth.cells))]
    large = truth.with_cells(1e9 * truth.cells)
    expected = {
        row.name: (row.gap, row.ratio)
        for row in rate_rows(names, large, truth.with_cells(large.cells[None]), level=0.95)
    }
    covered = {name: np.zeros(2) for name in expected}
    for cells in rng.multinomial(n, truth.cells.ravel(), size=repetitions):
        seen = truth.with_cells(cells.reshape(truth.cells.shape).astype(float))
        drawn = resample_table(seen, replicates=REPLICATES, rng=rng, smoothing=SMOOTHING)
        for row in rate_rows(names, seen, drawn, level=0.95):
            for place, one in enumerate((row.gap_interval, row.ratio_interval)):
                covered[row.name][place] += one.low - 1e-9 <= expected[row.name][place] <= one.high
    error = np.sqrt(LEAST * (1 - LEAST) / repetitions)
    assert min(pair.min() for pair in covered.values()) / repetitions >= LEAST - 3 * error


@pytest.mark.parametrize("n", [500, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["continuous", "repeated rows"])
def test_intervals_of_consistency_cover(n: int, kind: str, rng: np.random.Generator) -> None:
    repetitions = 100
    rows = []
    for _ in range(repetitions):
        features = rng.normal(size=(n, 4))
        if kind == "repeated rows":
            features = rng.integers(0, 3, size=(n, 4)).astype(float)
        labels = rng.random(n) < 1 / (1 + np.exp(-features[:, 0]))
        counts = count_neighbours(features, labels, rng=rng)
        # Any table will do: only consistency is looked at.
        rows.append(metric_rows({"D0": CATALOGUE["D0"]}, PARITY, PARITY, counts, level=0.95)[0])
    expected = np.mean([row.value for row in rows])
    covered = np.mean([row.interval.low <= expected <= row.interval.high for row in rows])
    assert covered >= LEAST - 3 * np.sqrt(LEAST * (1 - LEAST) / repetitions)


def test_the_plain_bootstrap_fails_at_parity(rng: np.random.Generator) -> None:
    """What the folded bootstrap is for: C10 where both gaps are zero."""
    measure = CATALOGUE["C10"].measure
    assert measure is not None
    covered = 0
    for cells in rng.multinomial(500, PARITY.cells.ravel(), size=200):
        seen = PARITY.with_cells(cells.reshape(2, 2, 2).astype(float))
        drawn = measure(resample_table(seen, replicates=REPLICATES, rng=rng))
        covered += np.quantile(drawn, 0.025) <= 0 <= np.quantile(drawn, 0.975)
    assert covered / 200 < 0.5
