r"""The game of a network with what is asked of it, in torch.

Constraints are a problem of cooper's: the network descends on bounds of the constraints, the
multipliers ascend on the constraints themselves (cooper's ``strict_violation``), which have no
gradient. For the least of several rates, and without a goal, the referees of
:mod:`comparity.mitigation.game` weigh the losses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cooper
import numpy as np
import torch
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.mitigation.choices import Choices
from comparity.mitigation.game import Constraints, Mean, Pace, Play, Referee, snapshot_steps
from comparity.mitigation.goals import overall
from comparity.mitigation.rows import Rows
from comparity.mitigation.torch_pairs import CellBounds, pairwise_bounds

__all__ = ["PairwiseProblem", "play_network"]

Floats = NDArray[np.float64]

SMALL = 10**8
"""So many products in a step are done before a second thread has begun."""
ASCENT = 0.1
"""Multipliers have no bound, unlike shares that sum to 1: they move by this part of the rate."""


class _Player:
    """A network on rows: its scores, its losses."""

    def __init__(self, module: torch.nn.Module, rows: Rows, choices: Choices) -> None:
        self.module, self.rows, self.choices = module, rows, choices
        self._features = torch.as_tensor(rows.scale.standardised(rows.features))
        self._overall = torch.as_tensor(overall(rows.pairs, rows.n_cells))
        self._share = torch.as_tensor(rows.share)
        self._target = None if rows.target is None else torch.as_tensor(rows.target)

    def look(self) -> tuple[CellBounds, torch.Tensor]:
        """Return the losses of all cells, and the objective with the penalty of the weights."""
        scores = self.module(self._features).reshape(-1)
        how: dict[str, Any] = {"margin": self.choices.margin, "squared": self.choices.squared}
        bounds = pairwise_bounds(scores, *self.rows.families, **how)
        if self._target is None:
            return bounds, self._overall @ bounds.wrong
        return bounds, self._share @ (scores - self._target) ** 2

    def penalty(self) -> torch.Tensor:
        """Return what the weights of layers cost; biases cost nothing."""
        squares = [one.square().sum() for one in self.module.parameters() if one.ndim > 1]
        return self.choices.l2 * torch.stack(squares).sum() if squares else torch.zeros(())


class PairwiseProblem(cooper.ConstrainedMinimizationProblem):
    r"""Minimise the objective where differences of accuracies keep within the slack.

    Parameters
    ----------
    player : _Player
        The network and its rows.
    asked : Constraints
        Coefficients of the differences, and the slack.
    """

    def __init__(self, player: _Player, asked: Constraints) -> None:
        super().__init__()
        self.player = player
        self._parts = [torch.as_tensor(one) for one in (asked.rise, asked.fall)]
        self._slack = torch.as_tensor(asked.slack)
        self._multiplier = cooper.multipliers.DenseMultiplier(
            num_constraints=len(asked.differences), dtype=torch.float64
        )
        self.within_slack = cooper.Constraint(
            constraint_type=cooper.ConstraintType.INEQUALITY,
            formulation_type=cooper.formulations.Lagrangian,
            multiplier=self._multiplier,
        )

    def compute_cmp_state(self) -> cooper.CMPState:
        """Return the objective, bounds of the constraints and the constraints themselves."""
        bounds, objective = self.player.look()
        rise, fall = self._parts
        # An accuracy is at most the loss of right orders, and at least 1 less that of wrong ones.
        bound = rise @ bounds.right + fall @ (bounds.wrong - 1) - self._slack
        true = (rise - fall) @ bounds.accuracy - self._slack
        state = cooper.ConstraintState(violation=bound, strict_violation=true)
        loss = objective + self.player.penalty()
        return cooper.CMPState(loss=loss, observed_constraints={self.within_slack: state})

    def multipliers_now(self) -> Floats:
        """Return the weights of the objective and of each difference; they sum to 1."""
        found: Floats = np.append(1.0, self._multiplier().detach().numpy())
        found /= found.sum()
        return found


def play_network(
    build: Callable[[int], torch.nn.Module],
    rows: Rows,
    referee: Referee,
    choices: Choices,
    pace: Pace,
) -> Play:
    """Let a network and a referee move in turns.

    Parameters
    ----------
    build : callable
        From the number of features to a module in double precision.
    rows, referee, choices
        Rows to train on; what is asked; how to train.
    pace : Pace
        The step size divided by the square root of the number of parameters is the rate of Adam, so
        that scores move by about its size. The seed is that of the first weights, and of whatever a
        module draws; torch's own state is left alone.
    """
    marks, seen, kept = snapshot_steps(choices.steps, choices.snapshots), Mean(choices.steps), []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(pace.seed)
        module = build(rows.features.shape[1]).train()
        _check_output(module, rows)
        many = sum(one.numel() for one in module.parameters())
        adam = torch.optim.Adam(module.parameters(), lr=pace.step_size / np.sqrt(many))
        with _threads(many * len(rows.weight)):
            steps = _moves(_Player(module, rows, choices), referee, adam)
            for step in range(choices.steps):
                if step in marks:
                    kept.append(_state(module))
                seen.see(step, next(steps))
                pace.tick()
    return Play(models=kept, multipliers=seen.value)


@contextmanager
def _threads(products: int) -> Iterator[None]:
    """Let torch work in one thread where there is little to do; others only wait for each other."""
    before = torch.get_num_threads()
    if products < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _moves(player: _Player, referee: Referee, adam: torch.optim.Optimizer) -> Iterator[Floats]:
    """Move both players step by step; yield the weights of the referee."""
    if isinstance(referee, Constraints):
        yield from _with_cooper(player, referee, adam)
    while True:
        bounds, objective = player.look()
        weights = referee.weights()
        loss = weights.objective * objective + player.penalty()
        loss = loss + torch.as_tensor(weights.wrong) @ bounds.wrong
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        referee.see(bounds.accuracy.numpy(), player.choices.referee_rate)
        yield referee.multipliers()


def _with_cooper(
    player: _Player, asked: Constraints, adam: torch.optim.Optimizer
) -> Iterator[Floats]:
    problem = PairwiseProblem(player, asked)
    rate = ASCENT * player.choices.referee_rate
    ascent = torch.optim.SGD(problem.dual_parameters(), lr=rate, maximize=True)
    both = cooper.optim.SimultaneousOptimizer(problem, adam, ascent)
    while True:
        both.roll()
        yield problem.multipliers_now()


def _state(module: torch.nn.Module) -> dict[str, Floats]:
    return {name: value.detach().numpy().copy() for name, value in module.state_dict().items()}


def _check_output(module: torch.nn.Module, rows: Rows) -> None:
    """Refuse a module that does not give one score for each row."""
    features = torch.as_tensor(rows.scale.standardised(rows.features[:2]))
    with torch.no_grad():
        shape = tuple(module.eval()(features).shape)
    module.train()
    if shape not in ((len(features),), (len(features), 1)):
        why = f"it makes {shape} of features of shape {tuple(features.shape)}"
        wanted = "a function that returns a module with one score for each row"
        raise OptionError("module", type(module).__name__, [wanted], why)
