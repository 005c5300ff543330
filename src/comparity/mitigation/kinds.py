"""Kinds of scores by name."""

from __future__ import annotations

from typing import Any

from comparity.errors import OptionError
from comparity.mitigation.boosted import BoostedTrees
from comparity.mitigation.linear import Linear
from comparity.mitigation.networks import NeuralNetwork
from comparity.mitigation.training import Kind

__all__ = ["KINDS", "kind_of"]

KINDS: dict[str, type[Kind]] = {
    "linear": Linear,
    "neural": NeuralNetwork,
    "boosted": BoostedTrees,
}
"""What ``scorer=`` may be as a word; each with its defaults."""


def kind_of(scorer: Any) -> Kind:
    """Return the kind of score asked for, by name or as it is."""
    if isinstance(scorer, str) and scorer in KINDS:
        return KINDS[scorer]()
    if isinstance(scorer, tuple(KINDS.values())):
        return scorer  # type: ignore[return-value]
    raise OptionError("scorer", scorer, [repr(word) for word in KINDS])
