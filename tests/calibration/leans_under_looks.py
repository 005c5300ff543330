"""Leans that are looked at while comparisons come in: shares of false accusations.

Run as ``python -m tests.calibration.leans_under_looks --studies 200``. Twenty evaluators compare 60
items; both groups have the same mean score, as the anchor says. After every 200 comparisons, from
400 to 4,000, all leans are judged at a false-discovery rate of 0.05: by e-BH
(`ranking.bias_tests.read_anytime`), and by Benjamini and Hochberg's procedure, each time anew. A
study stops as soon as anybody is accused.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.ranking.barp import barp
from comparity.ranking.bias_tests import read_anytime

ITEMS, EVALUATORS = 60, 20
FIRST, EVERY, LAST = 400, 200, 4000
LEVEL = 0.05

WORLDS = {"nobody leans": 0.0, "eight of twenty lean by 0.7": 0.7}


@dataclass(frozen=True)
class Accused:
    """Shares of false accusations among all: when the first one is made, and at the last look.

    Nobody accused is a share of zero; `found` is how many of those who lean are accused at last.
    """

    first: float
    last: float
    found: float


def study(lean: float, rng: np.random.Generator, last: int = LAST) -> dict[str, Accused]:
    """Follow one study, by both procedures."""
    group = np.arange(ITEMS) % 2
    scores = rng.normal(size=ITEMS)
    for one in (0, 1):
        scores[group == one] -= scores[group == one].mean()
    leans = np.zeros(EVALUATORS)
    leans[:8] = lean * np.array([1, -1] * 4)
    judge, first = rng.integers(0, EVALUATORS, last), rng.integers(0, ITEMS, last)
    second = (first + rng.integers(1, ITEMS, last)) % ITEMS
    seen = scores + leans[:, None] * group
    wins = rng.random(last) < 1 / (1 + np.exp(seen[judge, second] - seen[judge, first]))
    both = np.column_stack([first, second])
    pairs = np.where(wins[:, None], both, both[:, ::-1])
    q: dict[str, list[NDArray[np.float64]]] = {"any moment": [], "repeated": []}
    for n in range(FIRST, last + 1, EVERY):
        fit = barp(
            pairs[:n], evaluators=judge[:n], sensitive_features=group.astype(str), sharpness="equal"
        )
        q["any moment"].append(read_anytime(fit).q.ravel())
        q["repeated"].append(fit.q.ravel())
    return {name: _accused(looks, leans != 0) for name, looks in q.items()}


def _accused(looks: list[NDArray[np.float64]], leans: NDArray[np.bool_]) -> Accused:
    accused = [one <= LEVEL for one in looks]
    stop = next((one for one in accused if one.any()), accused[-1])
    shares = [float((one & ~leans).sum() / max(one.sum(), 1)) for one in (stop, accused[-1])]
    return Accused(*shares, float((accused[-1] & leans).sum()))


def studies(lean: float, number: int, seed: int, last: int = LAST) -> Iterator[dict[str, Accused]]:
    """Follow several studies."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        yield study(lean, rng, last)


def main() -> None:
    """Print rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    number = parser.parse_args().studies
    for world, lean in WORLDS.items():
        found = list(studies(lean, number, 20261118))
        for name in found[0]:
            mean = np.mean([[one[name].first, one[name].last, one[name].found] for one in found], 0)
            print(world, name, *mean.round(4), f"{number} studies", flush=True)


if __name__ == "__main__":
    main()
