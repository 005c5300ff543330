"""Pairwise losses, and networks as functions of their weights, for torch to differentiate.

``pairwise_bounds`` gives the mean losses of wrong and of right orders of every cell as tensors
that torch can differentiate, and the accuracies themselves as tensors that it cannot. Forward and
backward pass each cost about a sort of the scores; no pair is ever listed. ``ModuleParameters``
is a network for optimisers that take one long vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd.function import once_differentiable

from comparity.errors import NonFiniteScoreError, OptionError
from comparity.tables.values import rows_of
from comparity.training.losses import PairFamily
from comparity.training.models import ROWS_AT_A_TIME, State, inputs_of

Floats = NDArray[np.float64]


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


FEW_PRODUCTS = 10**8
"""So many products in a step are done before a second thread has begun."""


@contextmanager
def limit_threads(products: int) -> Iterator[None]:
    """Let torch work in one thread where there is little to do; others only wait for each other."""
    before = torch.get_num_threads()
    if products < FEW_PRODUCTS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class ModuleParameters:
    """A module as a function of its weights; see :mod:`comparity.training.polish`.

    It scores as it will when it is used: nothing is dropped out, and running means stay.

    Parameters
    ----------
    build : callable
        From the number of features, or the shape of a row's array, to a module in double precision.
    state : mapping of str to ndarray
        The weights to begin with.
    features : ndarray, (n, ...)
        What the module takes. So many rows at a time are scored as :func:`call_module` does.
    l2 : float
        Weight of the squares of weights of layers; biases cost nothing.

    Examples
    --------
    >>> state = {"weight": np.array([[2.0]]), "bias": np.array([1.0])}
    >>> build = lambda features: torch.nn.Linear(features, 1).double()
    >>> line = ModuleParameters(build, state, np.array([[1.0], [3.0]]), l2=0.5)
    >>> line.start.tolist(), line.scores(line.start).tolist(), line.penalty(line.start)[0]
    ([2.0, 1.0], [3.0, 7.0], 2.0)
    >>> line.pull_back(line.start, np.array([1.0, 1.0])).tolist()
    [4.0, 2.0]
    """

    def __init__(
        self, build: Callable[[Any], torch.nn.Module], state: State, features: Floats, l2: float
    ) -> None:
        with torch.random.fork_rng(devices=[]):
            self._module = build(inputs_of(features)).eval()
        self._module.load_state_dict({name: torch.as_tensor(one) for name, one in state.items()})
        self._free = [one for one in self._module.parameters() if one.requires_grad]
        self._parts = torch.split(torch.as_tensor(features), ROWS_AT_A_TIME)
        self._l2 = l2
        self.start = self._flat([one.detach() for one in self._free])
        self._products = len(self.start) * min(len(features), ROWS_AT_A_TIME)
        self._last: tuple[Floats, torch.Tensor] | None = None

    @staticmethod
    def _flat(tensors: list[torch.Tensor]) -> Floats:
        return np.concatenate([one.numpy().ravel() for one in tensors]).astype(np.float64)

    def _load(self, parameters: Floats) -> None:
        start = 0
        with torch.no_grad():
            for one in self._free:
                part = parameters[start : start + one.numel()]
                one.copy_(torch.as_tensor(part).reshape(one.shape))
                start += one.numel()

    def _forward(self, parameters: Floats) -> torch.Tensor:
        """Return the scores with their way back; the last ones are kept."""
        if self._last is None or not np.array_equal(self._last[0], parameters):
            self._load(parameters)
            self._last = parameters.copy(), self._module(self._parts[0]).reshape(-1)
        return self._last[1]

    def scores(self, parameters: Floats) -> Floats:
        """Return the scores of all rows."""
        with limit_threads(self._products):
            if len(self._parts) == 1:
                return np.asarray(self._forward(parameters).detach().numpy())
            self._load(parameters)
            with torch.no_grad():
                return torch.cat([self._module(part).reshape(-1) for part in self._parts]).numpy()

    def pull_back(self, parameters: Floats, slope: Floats) -> Floats:
        """Return the gradient in the weights."""
        with limit_threads(self._products):
            if len(self._parts) == 1:
                scores, self._last = self._forward(parameters), None
                return self._back(scores, torch.as_tensor(slope))
            self._load(parameters)
            slopes = torch.split(torch.as_tensor(slope), ROWS_AT_A_TIME)
            # The way back of one part at a time is kept, and scores are found again for it.
            parts = zip(self._parts, slopes, strict=True)
            found = [self._back(self._module(part).reshape(-1), steep) for part, steep in parts]
            return np.asarray(np.sum(found, axis=0))

    def _back(self, scores: torch.Tensor, slope: torch.Tensor) -> Floats:
        how = {"allow_unused": True, "materialize_grads": True}
        return self._flat(list(torch.autograd.grad(scores, self._free, slope, **how)))

    def penalty(self, parameters: Floats) -> tuple[float, Floats]:
        """Return what weights of layers cost."""
        shapes = [np.full(one.numel(), one.ndim > 1) for one in self._free]
        costly = parameters * np.concatenate(shapes)
        return self._l2 * float(costly @ costly), 2 * self._l2 * costly

    def model(self, parameters: Floats) -> State:
        """Return the state of the module with these weights."""
        self._load(parameters)
        self._last = None
        state = self._module.state_dict().items()
        return {name: one.detach().numpy().copy() for name, one in state}
