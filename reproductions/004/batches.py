"""The correlation penalty in Law School as the paper trains it: by batches of 100 rows.

The squared error plus the absolute correlation, both of 100 rows drawn anew in each of 2,500 steps
of Adam; the step size is that of 0.001, 0.01, ..., 10 with the least penalised error on the rows
held out. The correlation of 100 rows is never near 0, so that pulling at it is mostly noise:
:class:`~comparity.training.correlation.CorrelationRegressor` takes all pairs instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from methods import HELD_OUT
from tasks import Floats, Mixture, Task

from comparity.training.correlation import PairMoments, pair_moments

__all__ = ["penalised_by_batches"]

STEP_SIZES = (0.001, 0.01, 0.1, 1.0, 10.0)
STEPS, BATCH = 2500, 100
DECAY = (0.9, 0.999)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Standardised features with a last column of ones, labels, and who is of the first group."""

    features: Floats
    label: Floats
    group: Floats

    def moments(self) -> PairMoments:
        return pair_moments(self.features[:, :-1], self.label, self.group[:, None])

    def objective(self, slope: Floats) -> tuple[float, Floats]:
        """Return the penalised error and its gradient."""
        miss = self.features @ slope - self.label
        penalty, pull = self.moments().penalty(slope[:-1])
        gradient = 2 * self.features.T @ miss / len(miss)
        gradient[:-1] += pull
        return float((miss**2).mean()) + penalty, gradient

    def taken(self, kept: np.ndarray) -> _Rows:
        return _Rows(self.features[kept], self.label[kept], self.group[kept])


def penalised_by_batches(rest: Task, test: Task, seed: int) -> Mixture:
    """Train on two thirds of the rows, choose the step size by the others, predict test rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rest.label))
    held = round(HELD_OUT["validation_fraction"] * len(order))
    mean, spread = (of(rest.features[order[held:]], axis=0) for of in (np.mean, np.std))
    spread[spread == 0] = 1
    rows = _rows(rest, mean, spread)
    train, validation = rows.taken(order[held:]), rows.taken(order[:held])
    slopes = [_adam(train, size, np.random.default_rng(seed)) for size in STEP_SIZES]
    best = min(slopes, key=lambda slope: validation.objective(slope)[0])
    return Mixture([_rows(test, mean, spread).features @ best], np.ones(1))


def _rows(task: Task, mean: Floats, spread: Floats) -> _Rows:
    features = np.column_stack([(task.features - mean) / spread, np.ones(len(task.label))])
    first = np.unique(task.sensitive)[0]
    return _Rows(features, task.label, (task.sensitive == first).astype(float))


def _adam(rows: _Rows, size: float, rng: np.random.Generator) -> Floats:
    slope = np.zeros(rows.features.shape[1])
    first, second = np.zeros_like(slope), np.zeros_like(slope)
    for step in range(1, STEPS + 1):
        drawn = rows.taken(rng.integers(0, len(rows.label), BATCH))
        gradient = drawn.objective(slope)[1]
        first += (1 - DECAY[0]) * (gradient - first)
        second += (1 - DECAY[1]) * (gradient**2 - second)
        down = np.sqrt(second / (1 - DECAY[1] ** step)) + 1e-8
        slope = slope - size * first / (1 - DECAY[0] ** step) / down
    return slope
