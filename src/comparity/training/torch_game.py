r"""The game of a network with what is asked of it.

What is asked is a problem of cooper's: the network descends on bounds of the constraints, the
multipliers ascend on the constraints themselves (cooper's ``strict_violation``), which have no
gradient. The least of several rates is raised as a level below all of them,

.. math:: \max_{f, t} t \quad \text{s.t.} \quad A_k(f) \ge t,

and of several minima the sum of their levels. Multipliers that only add up what is missed make a
network circle around the goal: cooper's controller also follows what is missed now (Sohrabi et al.,
"On PI controllers for updating Lagrange multipliers in constrained optimization", ICML 2024), after
a third of the steps: some goals are kept by mixtures alone, which need models from both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, repeat
from typing import Any, NamedTuple

import cooper
import numpy as np
import torch
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.training.bradley_terry_loss import tensor_bits
from comparity.training.game import (
    Constraints,
    Minima,
    Pace,
    Play,
    Referee,
    later_mean,
    snapshot_steps,
)
from comparity.training.goals import Choices, overall
from comparity.training.models import inputs_of
from comparity.training.rows import Rows, batches
from comparity.training.torch_losses import CellBounds, limit_threads, pairwise_bounds

Floats = NDArray[np.float64]

ASCENT = 0.1
"""Multipliers have no bound, unlike shares that sum to 1: they move by this part of the rate."""
LEAST_ASCENT = 0.3
"""Those of a least rate do sum to 1 in the end, and may move faster."""
LEVEL_RATE = 0.03
"""How far a level moves by what its multipliers are short of 1."""
WANDERING = 1 / 3
"""Share of the steps before multipliers follow what is missed now."""
DAMPING = 5.0
"""How much what is missed now counts then, in steps of adding it up."""


class Network(NamedTuple):
    """What a network is made for.

    Attributes
    ----------
    build : callable
        From the number of features, or the shape of a row's array, to a module in double precision.
    features : ndarray, (n, ...)
        What it takes of the rows to train on.
    batch_size : int or None
        About so many rows are looked at in a step; None for all.
    """

    build: Callable[[Any], torch.nn.Module]
    features: Floats
    batch_size: int | None = None


class _Player:
    """A network on rows: its scores, its losses; of all rows, or of a part at a time.

    `seen` says which cells have pairs among the rows of the last look.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        network: Network,
        rows: Rows,
        choices: Choices,
        rng: np.random.Generator,
    ) -> None:
        self.module, self.choices = module, choices
        self._features = torch.as_tensor(network.features)
        self._overall = torch.as_tensor(overall(rows.pairs, rows.n_cells))
        size = network.batch_size
        self._parts: Iterator[tuple[Any, Rows]] = repeat((slice(None), rows))
        if size is not None:
            self._parts = batches(rows, choices, size, rng)
        self.seen = torch.ones(rows.n_cells, dtype=torch.float64)

    def look(self) -> tuple[CellBounds, torch.Tensor]:
        """Return the losses of all cells, and the objective."""
        kept, rows = next(self._parts)
        trials = np.concatenate([family.trials for family in rows.families])
        self.seen = torch.as_tensor((trials > 0).astype(np.float64))
        scores = self.module(self._features[kept]).reshape(-1)
        how: dict[str, Any] = {"margin": self.choices.margin, "squared": self.choices.squared}
        bounds = pairwise_bounds(scores, *rows.families, **how)
        if rows.judged is not None:
            return bounds, tensor_bits(rows.judged, scores)
        if rows.target is None:
            return bounds, self._overall @ bounds.wrong
        target = torch.as_tensor(rows.target)
        return bounds, torch.as_tensor(rows.share) @ (scores - target) ** 2

    def mark_known(self, coefficients: torch.Tensor) -> torch.Tensor:
        """Return 1 for combinations of accuracies whose pairs were all looked at, else 0."""
        return (coefficients.abs() @ (1 - self.seen) == 0).to(torch.float64)

    def penalty(self) -> torch.Tensor:
        """Return what the weights of layers cost; biases cost nothing."""
        squares = [one.square().sum() for one in self.module.parameters() if one.ndim > 1]
        return self.choices.l2 * torch.stack(squares).sum() if squares else torch.zeros(())


class _Problem(cooper.ConstrainedMinimizationProblem):
    """What both forms share: constraints with multipliers, and a network that sees their bounds.

    Parameters
    ----------
    player : _Player
        The network and its rows.
    multipliers : ndarray
        To start from, one for each constraint.

    Attributes
    ----------
    optimizers : list
        What moves parameters that are not the network's.
    """

    ascent: float

    def __init__(self, player: _Player, multipliers: Floats) -> None:
        super().__init__()
        self.player = player
        self.optimizers: list[torch.optim.Optimizer] = []
        self.multiplier = cooper.multipliers.DenseMultiplier(
            init=torch.as_tensor(multipliers), dtype=torch.float64
        )
        self.asked = cooper.Constraint(
            constraint_type=cooper.ConstraintType.INEQUALITY,
            formulation_type=cooper.formulations.Lagrangian,
            multiplier=self.multiplier,
        )

    def _observe(
        self, loss: torch.Tensor, bound: torch.Tensor, true: torch.Tensor
    ) -> cooper.CMPState:
        state = cooper.ConstraintState(violation=bound, strict_violation=true)
        whole = loss + self.player.penalty()
        return cooper.CMPState(loss=whole, observed_constraints={self.asked: state})


class PairwiseProblem(_Problem):
    """Minimise the objective where differences of accuracies keep within the slack.

    Parameters
    ----------
    player : _Player
        The network and its rows.
    asked : Constraints
        Coefficients of the differences, and the slack.
    """

    ascent = ASCENT

    def __init__(self, player: _Player, asked: Constraints) -> None:
        super().__init__(player, np.zeros(len(asked.differences)))
        self._parts = [torch.as_tensor(one) for one in (asked.rise, asked.fall)]
        self._slack = torch.as_tensor(asked.slack)

    def compute_cmp_state(self) -> cooper.CMPState:
        """Return the objective, bounds of the constraints and the constraints themselves."""
        bounds, objective = self.player.look()
        rise, fall = self._parts
        # An accuracy is at most the loss of right orders, and at least 1 minus that of wrong ones.
        bound = rise @ bounds.right + fall @ (bounds.wrong - 1) - self._slack
        true = (rise - fall) @ bounds.accuracy - self._slack
        known = self.player.mark_known(rise + fall)
        return self._observe(objective, known * bound, known * true)

    def multipliers_now(self) -> Floats:
        """Return the weights of the objective and of each difference; they sum to 1."""
        found = np.append(1.0, self.multiplier().detach().numpy())
        return np.asarray(found / found.sum())


class LeastProblem(_Problem):
    """Raise a level below all rates of a minimum, or the mean of several such levels.

    Parameters
    ----------
    player : _Player
        The network and its rows.
    asked : Minima
        The rates of each minimum, as coefficients of accuracies; none is negative.
    """

    ascent = LEAST_ASCENT

    def __init__(self, player: _Player, asked: Minima) -> None:
        many = [len(block) for block in asked.blocks]
        super().__init__(player, np.concatenate([np.full(n, 1 / n / len(many)) for n in many]))
        self._of = torch.as_tensor(np.repeat(np.arange(len(many)), many))
        self._rates = torch.as_tensor(np.vstack(asked.blocks))
        # Where scores are drawn at random, every accuracy is one half.
        tossed = [block.sum(axis=1).min() / 2 for block in asked.blocks]
        self.level = torch.nn.Parameter(torch.tensor(tossed, dtype=torch.float64))
        self.optimizers = [torch.optim.SGD([self.level], lr=LEVEL_RATE)]

    def compute_cmp_state(self) -> cooper.CMPState:
        """Return the levels to raise, and by how much each is above its rates."""
        bounds, _ = self.player.look()
        level = self.level[self._of]
        bound = level - self._rates @ (1 - bounds.wrong)
        true = level.detach() - self._rates @ bounds.accuracy
        known = self.player.mark_known(self._rates)
        return self._observe(-self.level.mean(), known * bound, known * true)

    def multipliers_now(self) -> Floats:
        """Return the weights of all rates; those of each minimum sum to 1."""
        now, of = self.multiplier().detach().numpy(), self._of.numpy()
        # Where all are 0, the level has yet to pass a rate.
        now = np.maximum(now, np.finfo(np.float64).tiny)
        return np.asarray(now / np.bincount(of, now)[of])


def play_network(
    network: Network,
    rows: Rows,
    referee: Referee,
    choices: Choices,
    pace: Pace,
) -> Play:
    """Let a network and a referee move in turns.

    Parameters
    ----------
    network : Network
        What is trained.
    rows, referee, choices
        Rows to train on; what is asked; how to train.
    pace : Pace
        The step size divided by the square root of the number of parameters is the rate of Adam, so
        that scores move by about its size. The seed is that of the first weights, and of whatever a
        module draws; torch's own state is left alone.
    """
    marks, seen, kept = snapshot_steps(choices.steps, choices.snapshots), [], []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(pace.seed)
        module = network.build(inputs_of(network.features)).train()
        _check_output(module, network.features[:2])
        many = sum(one.numel() for one in module.parameters())
        adam = torch.optim.Adam(module.parameters(), lr=pace.step_size / np.sqrt(many))
        at_once = min(len(rows.weight), network.batch_size or len(rows.weight))
        with limit_threads(many * at_once):
            drawing = np.random.default_rng(pace.seed)
            steps = _moves(_Player(module, network, rows, choices, drawing), referee, adam)
            for step in range(choices.steps):
                if step in marks:
                    state = module.state_dict().items()
                    kept.append({name: one.detach().numpy().copy() for name, one in state})
                seen.append(next(steps))
                pace.tick()
    return Play(models=kept, multipliers=later_mean(seen))


def _moves(player: _Player, referee: Referee, adam: torch.optim.Optimizer) -> Iterator[Floats]:
    """Move both players step by step; yield the weights of the referee."""
    if isinstance(referee, Constraints):
        return _with_cooper(PairwiseProblem(player, referee), adam)
    if isinstance(referee, Minima):
        return _with_cooper(LeastProblem(player, referee), adam)
    return _alone(player, referee, adam)


def _with_cooper(
    problem: PairwiseProblem | LeastProblem, adam: torch.optim.Optimizer
) -> Iterator[Floats]:
    choices = problem.player.choices
    ascent = cooper.optim.nuPI(
        problem.dual_parameters(),
        lr=problem.ascent * choices.referee_rate,
        Kp=torch.zeros(()),
        init_type=cooper.optim.nuPIInitType.ZEROS,
        maximize=True,
    )
    both = cooper.optim.AlternatingDualPrimalOptimizer(problem, [adam, *problem.optimizers], ascent)
    for step in count():
        if step == int(WANDERING * choices.steps):
            ascent.param_groups[0]["Kp"] = torch.tensor(DAMPING)
        both.roll()
        yield problem.multipliers_now()


def _alone(player: _Player, referee: Referee, adam: torch.optim.Optimizer) -> Iterator[Floats]:
    while True:
        adam.zero_grad()
        (player.look()[1] + player.penalty()).backward()  # type: ignore[no-untyped-call]
        adam.step()
        yield referee.multipliers()


def _check_output(module: torch.nn.Module, some: Floats) -> None:
    """Refuse a module that does not give one score for each row."""
    features = torch.as_tensor(some)
    with torch.no_grad():
        shape = tuple(module.eval()(features).shape)
    module.train()
    if shape not in ((len(features),), (len(features), 1)):
        why = f"it makes {shape} of features of shape {tuple(features.shape)}"
        wanted = "a function that returns a module with one score for each row"
        raise OptionError("module", type(module).__name__, [wanted], why)
