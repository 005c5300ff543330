"""Kinds of scores by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from comparity.errors import OptionError
from comparity.mitigation.training import Kind

__all__ = ["KINDS", "kind_of"]

KINDS = {
    "linear": ("linear", "Linear"),
    "neural": ("networks", "NeuralNetwork"),
    "boosted": ("boosted", "BoostedTrees"),
}
"""What ``scorer=`` may be as a word: module and class, each with its defaults."""


def kind_of(scorer: Any, **choices: Any) -> Kind:
    """Return the kind of score asked for, by name (with its own choices) or as it is."""
    if isinstance(scorer, str) and scorer in KINDS:
        found: Kind = _class(scorer)(**choices)
        return found
    if isinstance(scorer, tuple(_class(name) for name in KINDS)):
        return scorer  # type: ignore[return-value]
    raise OptionError("scorer", scorer, [repr(word) for word in KINDS])


def _class(name: str) -> Any:
    """Import a kind of score; networks and trees load scikit-learn, a linear score does not."""
    module, found = KINDS[name]
    return getattr(import_module(f"comparity.mitigation.{module}"), found)
