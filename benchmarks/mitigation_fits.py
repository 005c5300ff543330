"""What a method of the comparison is, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mitigation_data import Floats, Part

SLACKS = (0.005, 0.03, 0.1)
PARITY, ODDS, NUMBER = "parity", "odds", "number"
"""What is asked for: groups alike, groups alike given the label, accuracies alike in regression."""

Output = Callable[[Part], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted model.

    Attributes
    ----------
    strength : float
        Slack, ratio or weight that was asked for; ``nan`` where there is none.
    decide, score, predict : callable or None
        From rows to decisions, scores or predicted numbers.
    slack : float or None
        The largest violation asked for, in the notion that was trained.
    """

    strength: float = float("nan")
    decide: Output | None = None
    score: Output | None = None
    predict: Output | None = None
    slack: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to train.

    Attributes
    ----------
    name, package : str
        What it is called, and whose it is.
    families : tuple of str
        What it is measured for.
    fit : callable
        From training rows to models.
    """

    name: str
    package: str
    families: tuple[str, ...]
    fit: Callable[[Part], Iterator[Fit]]
