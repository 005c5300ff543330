"""Networks as scores: what they are, how they start, what they make of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from comparity.errors import MissingExtraError, OptionError
from comparity.errors.requirements import check_requirements
from comparity.training.game import Pace, Play, Referee
from comparity.training.goals import Choices
from comparity.training.rows import Rows, Scale

if TYPE_CHECKING:
    import torch

__all__ = ["LayeredModel", "ModuleModel", "NeuralNetwork"]

Floats = NDArray[np.float64]
State = Mapping[str, Floats]
"""Parameters and buffers by the names that torch gives them."""
Layer = tuple[Floats, Floats]
"""Weights, (outputs, inputs), and biases."""


@dataclass(frozen=True, slots=True, eq=False)
class LayeredModel:
    """A trained network of linear layers with rectifiers between them; needs no torch.

    Attributes
    ----------
    layers : tuple of (ndarray, ndarray)
        Weights and biases of each layer.
    scale : Scale
        The first layer takes standardised features, the last one gives standardised labels.
    """

    layers: tuple[Layer, ...]
    scale: Scale

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""
        return self.scale.labels(_forward(self.layers, self.scale.standardised(X)))


@dataclass(frozen=True, slots=True, eq=False)
class ModuleModel:
    """A trained module of somebody else's making.

    Attributes
    ----------
    module : callable
        Builds the module from the number of features.
    state : mapping of str to ndarray
        What it has learned.
    scale : Scale
        The module takes standardised features and gives standardised labels.
    """

    module: Callable[[int], torch.nn.Module]
    state: State
    scale: Scale

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""
        module = _skeleton(NeuralNetwork(module=self.module), len(self.scale.unit))
        return self.scale.labels(_called(module, self.state, self.scale.standardised(X)))


class NeuralNetwork(BaseEstimator):  # type: ignore[misc]
    r"""A network as scorer: ``FairRanker(scorer=NeuralNetwork(hidden=(32, 32)))``.

    It is trained in double precision on the processor, full batch, on **all** pairs: the loss over
    pairs is a torch function that costs about a sort of the scores
    (:func:`comparity.training.torch_pairs.pairwise_bounds`). Constraints are handed to cooper:
    multipliers rise by a tenth of `referee_rate` times the *true* violation, the network descends
    by Adam on hinges that bound it [1]_. In the robust form a level is raised, and held against
    every rate by a constraint. After a third of the steps multipliers also follow what is missed
    now [2]_, so that the network settles where it circled. Candidates, mixture and choice on rows
    held out are those of the linear score.

    Needs ``pip install 'comparity[torch]'``.

    Parameters
    ----------
    hidden : tuple of int
        Units of each hidden layer, with rectifiers between; none for a linear score.
    module : callable, optional
        From the number of features to a ``torch.nn.Module`` of your own that takes standardised
        features, ``(n, p)`` in double precision, and returns ``(n,)`` or ``(n, 1)``; `hidden` is
        not used then. A function of a module (not a lambda) can be pickled.

    References
    ----------
    .. [1] Gallego-Posada, Ramirez, Hashemizadeh and Lacoste-Julien, "Cooper: A Library for
       Constrained Optimization in Deep Learning", 2025.
    .. [2] Sohrabi, Ramirez, Zhang, Lacoste-Julien and Gallego-Posada, "On PI controllers for
       updating Lagrange multipliers in constrained optimization", ICML 2024.
    """

    name = "neural"
    from_nothing = True

    def __init__(self, *, hidden: tuple[int, ...] = (10,), module: Any = None) -> None:
        self.hidden = hidden
        self.module = module

    def check(self) -> None:
        """Raise where torch or cooper is not installed, or layers are not numbers of units."""
        for name, package in (("torch", "torch"), ("cooper", "cooper-optim")):
            try:
                import_module(name)
            except ModuleNotFoundError as error:
                raise MissingExtraError("scorer='neural'", package, "torch") from error
        check_requirements("torch")
        units = np.atleast_1d(np.asarray(self.hidden, dtype=object))
        if not all(isinstance(one, int | np.integer) and one > 0 for one in units):
            raise OptionError("hidden", self.hidden, ["whole numbers from 1 on, such as (32, 32)"])
        # A module that is built already is callable, too, and would be changed by training.
        built = isinstance(self.module, import_module("torch").nn.Module)
        if self.module is not None and (built or not callable(self.module)):
            wanted = "a function from the number of features to a torch.nn.Module"
            raise OptionError("module", self.module, [wanted])

    def build(self, features: int) -> torch.nn.Module:
        """Return an untrained module for so many features, in double precision."""
        import torch

        if self.module is not None:
            own: torch.nn.Module = self.module(features)
            return own.double()
        widths = [features, *map(int, np.atleast_1d(self.hidden)), 1]
        layers: list[torch.nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1]).double()

    def played(self, rows: Rows, referee: Referee, choices: Choices, pace: Pace) -> Play:
        """Play a game; see :class:`comparity.training.solve.Kind`."""
        from comparity.training.torch_game import play_network

        return play_network(self.build, rows, referee, choices, pace)

    def scores(self, models: Sequence[State], rows: Rows) -> Iterator[Floats]:
        """Yield the scores of each model, in standardised units."""
        features = rows.scale.standardised(rows.features)
        if self.module is None:
            yield from (_forward(_layers(state), features) for state in models)
            return
        module = _skeleton(self, features.shape[1])
        yield from (_called(module, state, features) for state in models)

    def kept(self, model: State, scale: Scale) -> LayeredModel | ModuleModel:
        """Return a model that takes features as they were given."""
        if self.module is None:
            return LayeredModel(_layers(model), scale)
        return ModuleModel(self.module, model, scale)


def _layers(state: State) -> tuple[Layer, ...]:
    """Return weights and biases in the order of the layers."""
    values = list(state.values())
    return tuple(zip(values[::2], values[1::2], strict=True))


def _forward(layers: Sequence[Layer], features: Floats) -> Floats:
    values = features
    for place, (weights, biases) in enumerate(layers):
        values = np.maximum(values, 0) if place else values
        values = values @ weights.T + biases
    return values[:, 0]


def _skeleton(network: NeuralNetwork, features: int) -> torch.nn.Module:
    """Return a module whose state is still to be set; torch's own state is left alone."""
    import torch

    with torch.random.fork_rng(devices=[]):
        return network.build(features).eval()


def _called(module: torch.nn.Module, state: State, features: Floats) -> Floats:
    """Return what a module with a given state makes of features."""
    import torch

    tensors = {name: torch.as_tensor(value) for name, value in state.items()}
    with torch.no_grad():
        found = torch.func.functional_call(module, tensors, (torch.as_tensor(features),))
    scores: Floats = found.reshape(-1).numpy()
    return scores
