"""What all random worlds share: how one is drawn, and from which seed.

A world is a few numbers and words that say how data come about. Its promise is true or kept by
construction: no group is treated differently, or a gap is exactly the margin. Each question draws
its own kind of world, so that nobody chooses the worlds in which a test is tried.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

SEED = 20261117
GROUPS = np.array(list("abcde"))

Rng = np.random.Generator
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class World(Protocol):
    """One world of a question."""

    def errs(self, rng: Rng) -> bool:
        """Draw data, audit them, and return whether the audit broke its promise."""
        ...


def generator(question: str, world: int, *stream: int) -> Rng:
    """Return the generator of a world, or that of one of its runs."""
    return np.random.default_rng([SEED, zlib.crc32(question.encode()), world, *stream])


def between(low: float, high: float, rng: Rng) -> int:
    """Draw a whole number whose logarithm is uniform."""
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def shares(n_groups: int, rng: Rng) -> tuple[float, ...]:
    """Draw the shares of groups; small ones are small, but not empty."""
    drawn = 0.9 * rng.dirichlet(np.full(n_groups, 1.5)) + 0.1 / n_groups
    return tuple(round(float(one), 3) for one in drawn)


def pick(rng: Rng, options: Sequence[Any], chances: Sequence[float] | None = None) -> Any:
    """Choose one of several, keeping its type."""
    weights = None if chances is None else np.array(chances) / sum(chances)
    return options[rng.choice(len(options), p=weights)]


def members(sizes: Sequence[float], n: int, rng: Rng) -> Integers:
    """Draw the group of each item, two items of every group at least."""
    chances = np.array(sizes) / sum(sizes)
    code = rng.choice(len(sizes), n, p=chances)
    code[: 2 * len(sizes)] = np.repeat(np.arange(len(sizes)), 2)
    return rng.permutation(code)


def rounded(number: float) -> float:
    """Return a number with as many digits as a table shows."""
    return round(float(number), 3)
