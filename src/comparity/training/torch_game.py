r"""Pairwise losses as a torch function, and the game of a network with what is asked of it.

``pairwise_bounds`` gives the mean losses of wrong and of right orders of every cell as tensors
that torch can differentiate, and the accuracies themselves as tensors that it cannot. Forward and
backward pass each cost about a sort of the scores; no pair is ever listed.

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

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

import cooper
import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd.function import once_differentiable

from comparity.errors import NonFiniteScoreError, OptionError
from comparity.tables.values import rows_of
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
from comparity.training.judged_loss import tensor_bits
from comparity.training.losses import PairFamily
from comparity.training.rows import Rows

Floats = NDArray[np.float64]

FEW_PRODUCTS = 10**8
"""So many products in a step are done before a second thread has begun."""
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


class CellBounds(NamedTuple):
    """What scores make of the pairs of each cell, as tensors.

    Attributes
    ----------
    wrong, right : Tensor, (C,)
        Mean loss of a wrong order and of a right one; 0 without pairs.
    accuracy : Tensor, (C,)
        Share of pairs in the right order, which has no gradient; 0 without pairs.
    """

    wrong: torch.Tensor
    right: torch.Tensor
    accuracy: torch.Tensor


class _PairwiseBounds(torch.autograd.Function):
    """Losses of all pairs of some families, and the way back to the scores."""

    @staticmethod
    def forward(
        ctx: Any, scores: torch.Tensor, families: Sequence[PairFamily], margin: float, squared: bool
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        ctx.save_for_backward(scores)
        ctx.families, ctx.how = families, {"margin": margin, "squared": squared}
        found = [family.sums(_numbers(scores), both=True, **ctx.how) for family in families]
        # Nothing rests on a cell without pairs.
        rates = np.nan_to_num(np.hstack([(one.wrong, one.right, one.accuracy) for one in found]))
        wrong, right, accuracy = (torch.as_tensor(row).to(scores) for row in rates)
        ctx.mark_non_differentiable(accuracy)
        return wrong, right, accuracy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        (scores,) = ctx.saved_tensors
        values, start = _numbers(scores), 0
        wrong, right = (_numbers(slope) for slope in slopes[:2])
        gradient = np.zeros(len(values))
        for family in ctx.families:
            cells = slice(start, start + len(family.cells))
            gradient += family.sums(
                values, wrong=wrong[cells], right=right[cells], **ctx.how
            ).gradient
            start = cells.stop
        return torch.as_tensor(gradient).to(scores), None, None, None


def _numbers(tensor: torch.Tensor) -> Floats:
    return tensor.detach().to("cpu", torch.float64).numpy()


def pairwise_bounds(
    scores: torch.Tensor, *families: PairFamily, margin: float = 1.0, squared: bool = False
) -> CellBounds:
    """Return the losses of all pairs, by cell, for torch to differentiate.

    Parameters
    ----------
    scores : Tensor, (n,)
        Finite scores of all rows, in any floating precision, on any device; they are summed up in
        double precision.
    *families : PairFamily
        The pairs, as :func:`comparity.training.losses.labelled_pairs` lays them out.
    margin, squared
        Of the hinge, see :meth:`comparity.training.losses.PairFamily.sums`.

    Raises
    ------
    OptionError, NonFiniteScoreError
        Scores are not one floating number for each row, or not finite.

    Examples
    --------
    >>> from comparity.training.losses import labelled_pairs
    >>> y, group = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 1, 0, 1])
    >>> scores = torch.tensor([0.0, 0.5, 0.25, 2.0], requires_grad=True)
    >>> bounds = pairwise_bounds(scores, labelled_pairs(y, group, ("a", "b")))
    >>> bounds.accuracy.tolist(), bounds.wrong.tolist()
    ([1.0, 0.0, 1.0, 1.0], [0.75, 1.25, 0.0, 0.0])
    >>> bounds.wrong[1].backward()
    >>> scores.grad.tolist()
    [0.0, 1.0, -1.0, 0.0]
    """
    _check_scores(scores, families)
    found = _PairwiseBounds.apply(scores, families, margin, squared)  # type: ignore[no-untyped-call]
    return CellBounds(*found)


def _check_scores(scores: torch.Tensor, families: Sequence[PairFamily]) -> None:
    """Refuse scores that are not one finite number for each row: sums would not show it."""
    rows = {family.n_rows for family in families} - {None}
    right = scores.ndim == 1 and scores.is_floating_point()
    if not right or not families or rows - {len(scores)}:
        shape = f"{scores.dtype} of shape {tuple(scores.shape)}"
        many = " or ".join(f"{n:,}" for n in sorted(filter(None, rows))) or "n"
        wanted = f"pairs, and a floating tensor of shape ({many},)"
        raise OptionError("scores", shape, [wanted])
    lost = ~np.isfinite(_numbers(scores))
    if lost.any():
        raise NonFiniteScoreError("scores", "tensor", rows_of(lost))


class _Player:
    """A network on rows: its scores, its losses."""

    def __init__(self, module: torch.nn.Module, rows: Rows, choices: Choices) -> None:
        self.module, self.rows, self.choices = module, rows, choices
        self._features = torch.as_tensor(rows.scale.standardise(rows.features))
        self._overall = torch.as_tensor(overall(rows.pairs, rows.n_cells))
        self._share = torch.as_tensor(rows.share)
        self._target = None if rows.target is None else torch.as_tensor(rows.target)

    def look(self) -> tuple[CellBounds, torch.Tensor]:
        """Return the losses of all cells, and the objective."""
        scores = self.module(self._features).reshape(-1)
        how: dict[str, Any] = {"margin": self.choices.margin, "squared": self.choices.squared}
        bounds = pairwise_bounds(scores, *self.rows.families, **how)
        if self.rows.judged is not None:
            return bounds, tensor_bits(self.rows.judged, scores)
        if self._target is None:
            return bounds, self._overall @ bounds.wrong
        return bounds, self._share @ (scores - self._target) ** 2

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
        return self._observe(objective, bound, true)

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
        return self._observe(-self.level.mean(), bound, true)

    def multipliers_now(self) -> Floats:
        """Return the weights of all rates; those of each minimum sum to 1."""
        now, of = self.multiplier().detach().numpy(), self._of.numpy()
        # Where all are 0, the level has yet to pass a rate.
        now = np.maximum(now, np.finfo(np.float64).tiny)
        return np.asarray(now / np.bincount(of, now)[of])


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
    marks, seen, kept = snapshot_steps(choices.steps, choices.snapshots), [], []
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
                    state = module.state_dict().items()
                    kept.append({name: one.detach().numpy().copy() for name, one in state})
                seen.append(next(steps))
                pace.tick()
    return Play(models=kept, multipliers=later_mean(seen))


@contextmanager
def _threads(products: int) -> Iterator[None]:
    """Let torch work in one thread where there is little to do; others only wait for each other."""
    before = torch.get_num_threads()
    if products < FEW_PRODUCTS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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


def _check_output(module: torch.nn.Module, rows: Rows) -> None:
    """Refuse a module that does not give one score for each row."""
    features = torch.as_tensor(rows.scale.standardise(rows.features[:2]))
    with torch.no_grad():
        shape = tuple(module.eval()(features).shape)
    module.train()
    if shape not in ((len(features),), (len(features), 1)):
        why = f"it makes {shape} of features of shape {tuple(features.shape)}"
        wanted = "a function that returns a module with one score for each row"
        raise OptionError("module", type(module).__name__, [wanted], why)
