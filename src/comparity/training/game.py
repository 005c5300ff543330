r"""The game between a model and the constraints of its goal.

The model player takes gradient steps on convex bounds (hinges); the other player sees the true
rates and moves weight to what is missed. For constraints :math:`g_i \le 0` the weights are the
stationary distribution of a column-stochastic matrix with a row for the objective and one for each
constraint, updated multiplicatively: a strategy without *swap* regret, which the bounds of the
model player need (Cotter, Jiang and Sridharan, "Two-player games for efficient non-convex
constrained optimization", 2019). For the least of several rates the weights are those of
exponentiated gradients (Chen, Lucier, Singer and Syrgkanis, "Robust optimization for non-convex
objectives", 2017), one distribution for each minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.training.goals import Choices, overall
from comparity.training.models import LinearModel
from comparity.training.rows import CellWeights, Rows, Scale

Floats = NDArray[np.float64]

LEAST_CHANCE = 1e-3
"""No constraint is ever given less of a chance than this share of an even one."""
ROWS_AT_A_TIME = 2**14
"""So many rows are standardised at a time."""


class Referee(Protocol):
    """The other player: weights now, and what it learns from true rates."""

    def weights(self) -> CellWeights:
        """Return what the model player is to minimise."""

    def see(self, accuracy: Floats, rate: float) -> None:
        """Move weight to what is missed."""

    def multipliers(self) -> Floats:
        """Return the weights as numbers between 0 and 1."""


class Nothing:
    """No goal but the objective.

    Parameters
    ----------
    n_cells : int
    """

    def __init__(self, n_cells: int) -> None:
        self._none = np.zeros(n_cells)

    def weights(self) -> CellWeights:
        """Return weight for the objective alone."""
        return CellWeights(1.0, self._none, self._none)

    def see(self, accuracy: Floats, rate: float) -> None:
        """Learn nothing."""

    def multipliers(self) -> Floats:
        """Return the weight of the objective."""
        return np.ones(1)


class Constraints:
    r"""Weights without swap regret for :math:`C a \le s` with accuracies :math:`a`.

    Parameters
    ----------
    differences : ndarray, (m, C)
        The coefficients C.
    slack : float or ndarray, (m,)
        The slack s.

    Attributes
    ----------
    differences, slack
        As given.
    rise, fall : ndarray, (m, C)
        Positive and negative part of the coefficients.

    Examples
    --------
    >>> referee = Constraints(np.array([[1.0, -1.0], [-1.0, 1.0]]), 0.01)
    >>> for _ in range(200):
    ...     referee.see(np.array([0.9, 0.7]), 1.0)
    >>> int(referee.multipliers().argmax())
    1
    """

    def __init__(self, differences: Floats, slack: float | Floats) -> None:
        m = len(differences)
        self.differences, self.slack = differences, slack
        even = np.full(m + 1, 0.1 / (m + 1))
        even[0] += 0.9
        self._matrix = np.repeat(even[:, None], m + 1, axis=1)
        self._now = even
        self.rise, self.fall = np.maximum(differences, 0), np.maximum(-differences, 0)

    def multipliers(self) -> Floats:
        """Return the weight of the objective, then those of the constraints; they sum to 1."""
        return self._now

    def weights(self) -> CellWeights:
        """Return the weights of the bounds: an accuracy too high is a right order too many."""
        now = self._now
        return CellWeights(float(now[0]), now[1:] @ self.fall, now[1:] @ self.rise)

    def see(self, accuracy: Floats, rate: float) -> None:
        """Move weight to constraints that are broken."""
        m = len(self.differences)
        missed = np.append(0.0, self.differences @ accuracy - self.slack)
        # The largest exponent of a column is taken out, so that none overflows.
        exponent = rate * np.outer(missed, self._now)
        matrix = self._matrix * np.exp(exponent - exponent.max(axis=0))
        matrix /= matrix.sum(axis=0)
        self._matrix = (1 - LEAST_CHANCE) * matrix + LEAST_CHANCE / (m + 1)
        # The stationary vector sums to 1, so that a matrix of ones maps it to a vector of ones.
        ones = np.ones((m + 1, m + 1))
        now = np.linalg.solve(np.eye(m + 1) - self._matrix + ones, ones[0])
        self._now = np.maximum(now, 0) / np.maximum(now, 0).sum()


class Minima:
    """Weights for a sum of minima, one distribution over the terms of each.

    Parameters
    ----------
    blocks : sequence of ndarray, (T, C)
        Terms of each minimum, as coefficients of accuracies.

    Attributes
    ----------
    blocks : tuple of ndarray
        As given.
    """

    def __init__(self, blocks: Sequence[Floats]) -> None:
        self.blocks = tuple(blocks)
        self._logs = [np.zeros(len(block)) for block in blocks]

    def _shares(self) -> list[Floats]:
        raised = [np.exp(logs - logs.max()) for logs in self._logs]
        return [part / part.sum() for part in raised]

    def multipliers(self) -> Floats:
        """Return the weights of all terms; those of each minimum sum to 1."""
        return np.concatenate(self._shares())

    def weights(self) -> CellWeights:
        """Return weights for the errors of the worst terms; right orders cost nothing."""
        parts = [share @ block for share, block in zip(self._shares(), self.blocks, strict=True)]
        wrong = np.sum(parts, axis=0) / len(parts)
        return CellWeights(0.0, wrong, np.zeros_like(wrong))

    def see(self, accuracy: Floats, rate: float) -> None:
        """Move weight to the terms with the least accuracy."""
        for logs, block in zip(self._logs, self.blocks, strict=True):
            logs -= rate * (block @ accuracy)
            logs -= logs.max()
            # Weights that have all but vanished come back in time.
            np.maximum(logs, np.log(LEAST_CHANCE), out=logs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Play:
    """What a game went through.

    Attributes
    ----------
    models : sequence
        Snapshots of the model at regular intervals, the last step included.
    multipliers : ndarray
        Mean of the referee's weights over the second half of the steps.
    """

    models: Sequence[Any]
    multipliers: Floats


def snapshot_steps(steps: int, snapshots: int) -> set[int]:
    """Return the steps at which models are kept: evenly spread, the last one included."""
    return set(np.linspace(steps - 1, 0, min(snapshots, steps)).round().astype(int).tolist())


def later_mean(multipliers: Sequence[Floats]) -> Floats:
    """Return the mean of the referee's weights over the second half of a game."""
    return np.asarray(np.mean(multipliers[-max(len(multipliers) // 2, 1) :], axis=0))


class Pace(NamedTuple):
    """How one game goes.

    Attributes
    ----------
    step_size : float
        How far the model moves.
    seed : int
        Of whatever is drawn.
    ticks : iterator or None
        Advanced at every step, for a progress bar.
    """

    step_size: float
    seed: int
    ticks: Iterator[int] | None = None

    def tick(self) -> None:
        """Report that a step was made."""
        if self.ticks is not None:
            next(self.ticks, None)


Gradient = Callable[[Floats, CellWeights], tuple[Floats, Floats]]
"""From parameters and weights to the accuracies of all cells and the gradient."""


def play(
    gradient: Gradient,
    start: Floats,
    referee: Referee,
    *,
    pace: Pace,
    steps: int,
    referee_rate: float,
    snapshots: int,
) -> Play:
    """Let a model and a referee move in turns.

    Parameters
    ----------
    gradient : callable
        Of the weighted bounds, with the true accuracies, at given parameters.
    start : ndarray, (p,)
        First parameters.
    referee : Referee
        Who weighs; it is changed by the game.
    pace : Pace
        How far the model moves, by Adam.
    steps : int
        Number of moves of each player.
    referee_rate : float
        How far the referee moves.
    snapshots : int
        At most so many parameters are kept.
    """
    now, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    kept, seen, marks = [], [], snapshot_steps(steps, snapshots)
    for step in range(steps):
        accuracy, slope = gradient(now, referee.weights())
        if step in marks:
            kept.append(now.copy())
        referee.see(accuracy, referee_rate)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        ahead = mean / (1 - 0.9 ** (step + 1))
        spread = np.sqrt(square / (1 - 0.999 ** (step + 1)))
        now = now - pace.step_size * ahead / (spread + 1e-8)
        seen.append(referee.multipliers())
        pace.tick()
    return Play(models=kept, multipliers=later_mean(seen))


class Linear:
    """Linear scores as a kind of model: parameters are coefficients of standardised features."""

    name = "linear"
    from_nothing = False

    def check(self) -> None:
        """Need nothing that might not be installed."""

    def play(self, rows: Rows, referee: Referee, choices: Choices, pace: Pace) -> Play:
        """Play a game from the first guess on; see :class:`comparity.training.candidates.Kind`."""
        start = first_guess(rows, choices)
        if rows.judged is not None and not choices.goals:
            # The least loss of judgments was found, and there is nothing else to look for.
            return Play(models=[start], multipliers=referee.multipliers())
        return play(
            lambda parameters, weights: rows.gradient(parameters, weights, choices),
            start,
            referee,
            # A step changes scores by its size, however many features there are.
            pace=pace._replace(step_size=pace.step_size / np.sqrt(len(start))),
            steps=choices.steps,
            referee_rate=choices.referee_rate,
            snapshots=choices.snapshots,
        )

    def parameters(self, model: Floats, rows: Rows, choices: Choices) -> LinearParameters:
        """Return a model as a function of its coefficients."""
        return LinearParameters(model, rows, choices.l2)

    def scores(self, models: Sequence[Floats], rows: Rows) -> Iterator[Floats]:
        """Yield the scores of each model."""
        return (rows.scores(parameters) for parameters in models)

    def model_of(self, model: Floats, scale: Scale) -> LinearModel:
        """Return a model in the units of the features and labels given."""
        slope = model * scale.label_unit / scale.unit
        # An order has no level: only where labels are predicted is there an intercept.
        base = scale.label_centre - slope @ scale.centre if scale.predicted else 0.0
        return LinearModel(slope, float(base))


class LinearParameters:
    """A linear score as a function of its coefficients; see :mod:`comparity.training.polish`.

    Parameters
    ----------
    start : ndarray, (p,)
        Coefficients of standardised features.
    rows : Rows
    l2 : float
        Weight of their squares.
    """

    def __init__(self, start: Floats, rows: Rows, l2: float) -> None:
        self.start, self._rows, self._l2 = start, rows, l2

    def scores(self, parameters: Floats) -> Floats:
        """Return the scores of all rows."""
        return self._rows.scores(parameters)

    def pull_back(self, parameters: Floats, slope: Floats) -> Floats:
        """Return the gradient in the coefficients."""
        return self._rows.pull_back(slope)

    def penalty(self, parameters: Floats) -> tuple[float, Floats]:
        """Return what squares cost."""
        return self._l2 * float(parameters @ parameters), 2 * self._l2 * parameters

    def model(self, parameters: Floats) -> Floats:
        """Return the coefficients."""
        return parameters


def first_guess(rows: Rows, choices: Choices) -> Floats:
    """Return least squares, of a label or of the direction of a ranking; of judgments the best."""
    if rows.judged is not None:
        return rows.judged.minimum(rows.scale.standardise(rows.features), l2=choices.l2)
    n, p = rows.features.shape
    share = rows.share
    label = _spread(rows) if rows.target is None else rows.target
    products, moments = np.zeros((p, p)), np.zeros(p)
    # Standardised part by part: products of features far from 0 would lose their digits, and all
    # of them at once would take as much memory as the features.
    for start in range(0, n, ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        features = rows.scale.standardise(rows.features[part])
        products += (features * share[part, None]).T @ features
        moments += features.T @ (share[part] * label[part])
    ridge = (choices.l2 + 1e-8 + (1e-3 if p >= n else 0.0)) * np.eye(p)
    guess = np.asarray(np.linalg.solve(products + ridge, moments), dtype=np.float64)
    if rows.target is not None:
        return guess
    width = float(np.sqrt(share @ rows.scores(guess) ** 2))
    # Without any direction to start from, all features point upwards.
    return guess / width if width > 1e-12 else np.full(p, 1.0 / np.sqrt(p))


def _spread(rows: Rows) -> Floats:
    """Return how many pairs each row should win rather than lose: the gradient at equal scores."""
    share = overall(rows.pairs, len(rows.pairs.cells))
    slope = rows.pairs.sums(np.zeros(len(rows.weight)), wrong=share).gradient
    return np.asarray(-slope * len(slope) / rows.weight)
