"""A network as a function of its weights, for optimisers that take one long vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from comparity.training.models import ROWS_AT_A_TIME, State, inputs_of

Floats = NDArray[np.float64]

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
