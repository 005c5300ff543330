"""Worlds in which ways of choosing pairs are compared: ``python -m tests.calibration.pair_choice``.

Gaps: judgments until a verdict has a power of 0.8, by uniform random pairs, by kinds, and by kinds
with Neyman's allocation after a pilot. Rankings: Kendall's tau with the true order after each
round, beside random pairs, a Swiss tournament, the most uncertain outcomes (entropy), and the
greedy gain of information that ASAP takes. Chosen pairs: errors of gaps if they count like random
ones, if they are left out, and if they are weighted by inverse probabilities.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from comparity import bradley_terry, choose_pairs, comparative_separation
from comparity.ranking.result import Ranking

Floats = NDArray[np.float64]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class World:
    """Items of two groups, their quality, and the score of a model that is tested."""

    name: str
    share: float
    shift: float
    noise: tuple[float, float]
    hypotheses: str
    n_items: int = 400

    def draw(self, rng: np.random.Generator) -> tuple[NDArray[np.str_], Floats, Floats]:
        """Return groups, quality and scores."""
        group = np.where(np.arange(self.n_items) < self.share * self.n_items, "f", "m")
        quality = rng.normal(size=self.n_items)
        noise = np.where(group == "f", *self.noise) * rng.normal(size=self.n_items)
        return group, quality, quality + noise - self.shift * (group == "f")


WORLDS = (
    World("across, shares 1/2", 0.5, 0.35, (0.7, 0.7), "across"),
    World("across, shares 1/5", 0.2, 0.35, (0.7, 0.7), "across"),
    World("within, a noisier group of 1/5", 0.2, 0.0, (0.9, 0.3), "within"),
)


def judge(pairs: Pairs, quality: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Let judges of sharpness 2 answer; the better item first."""
    left, right = pairs
    chance = 1 / (1 + np.exp(2 * (quality[right] - quality[left])))
    wins = (rng.random(len(left)) < chance)[:, None]
    return np.where(wins, np.column_stack([left, right]), np.column_stack([right, left]))


def uniform(n_items: int, n: int, rng: np.random.Generator) -> Pairs:
    """Draw pairs of all items evenly."""
    first = rng.integers(n_items, size=n)
    second = (first + rng.integers(1, n_items, size=n)) % n_items
    return first, second


def listed(n_items: int, rng: np.random.Generator, **choices: object) -> Pairs:
    """Draw pairs as ``choose_pairs`` does."""
    seed = int(rng.integers(2**31))
    found = choose_pairs(n_items, swapped_share=0, seed=seed, **choices)
    return found.left.astype(np.int64), found.right.astype(np.int64)


def answers(way: str, world: World, n: int, rng: np.random.Generator) -> tuple[bool, float]:
    """Return whether an audit of so many judgments finds the gap, and the gap."""
    group, quality, scores = world.draw(rng)
    about = {"sensitive_features": group, "hypotheses": world.hypotheses}
    if way == "uniform":
        found = judge(uniform(world.n_items, n, rng), quality, rng)
    else:
        first = n if way == "kinds" else n // 4
        found = judge(listed(world.n_items, rng, budget=first, **about), quality, rng)
        if way == "neyman":
            more = listed(world.n_items, rng, budget=n - first, given=found, scores=scores, **about)
            found = np.vstack([found, judge(more, quality, rng)])
    audit = comparative_separation(found, scores=scores, **about)
    return audit.finding == "violated", audit.tests[0].gap


def needed(way: str, world: World, runs: int) -> tuple[int, float]:
    """Return the judgments for a power of 0.8, by a search over sizes 10 % apart, and the power."""
    n = 200.0
    while True:
        rng = np.random.default_rng(20260131)
        power = np.mean([answers(way, world, int(n), rng)[0] for _ in range(runs)])
        if power >= 0.8 or n > 20_000:
            return int(n), float(power)
        n *= 1.1 if power > 0.5 else 1.3


def swiss(fit: Ranking, n: int, rng: np.random.Generator) -> Pairs:
    """Pair neighbours of the present order, round by round."""
    rounds = []
    while sum(map(len, rounds)) < n:
        order = np.argsort(fit.scores + 0.05 * rng.normal(size=len(fit.scores)))
        rounds.append(order[: len(order) // 2 * 2].reshape(-1, 2))
    pairs = np.vstack(rounds)[:n]
    return pairs[:, 0], pairs[:, 1]


def entropy(fit: Ranking, n: int, rng: np.random.Generator) -> Pairs:
    """Take the pairs whose outcome is least certain."""
    first, second = np.triu_indices(len(fit.scores), 1)
    apart = np.abs(fit.scores[first] - fit.scores[second]) + 1e-9 * rng.random(len(first))
    best = np.argsort(apart)[:n]
    return first[best], second[best]


def greedy(fit: Ranking, n: int, rng: np.random.Generator) -> Pairs:
    """Take the pair of the largest gain in information, one after the other."""
    first, second = np.triu_indices(len(fit.scores), 1)
    precision = 1 / fit.standard_errors**2
    chance = 1 / (1 + np.exp(fit.scores[second] - fit.scores[first]))
    told = chance * (1 - chance)
    best = []
    for _ in range(n):
        gain = told * (1 / precision[first] + 1 / precision[second])
        best.append(int(np.argmax(gain * (1 + 1e-9 * rng.random(len(gain))))))
        precision[first[best[-1]]] += told[best[-1]]
        precision[second[best[-1]]] += told[best[-1]]
    return first[best], second[best]


WAYS: dict[str, Callable[[Ranking, int, np.random.Generator], Pairs]] = {
    "Swiss": swiss,
    "entropy": entropy,
    "greedy gain (ASAP-like)": greedy,
}


def taus(way: str, spread: float, seed: int, n_items: int = 60, rounds: int = 6) -> list[float]:
    """Return Kendall's tau after each round of as many pairs as items."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, spread, n_items)
    found, fit, reached = np.zeros((0, 2), np.int64), None, []
    for _ in range(rounds):
        if fit is None or way in ("random", "choose_pairs"):
            given = found if len(found) and way == "choose_pairs" else None
            pairs = listed(n_items, rng, budget=n_items, goal="rank", given=given)
        else:
            pairs = WAYS[way](fit, n_items, rng)
        found = np.vstack([found, judge(pairs, truth / 2, rng)])
        fit = bradley_terry(found, n_items=n_items)
        reached.append(float(kendalltau(fit.scores, truth).statistic))
    return reached


@dataclass(frozen=True)
class Spread:
    """Two groups of 40 items whose qualities are spread differently, and what is chosen of them."""

    name: str
    spread: tuple[float, float]
    cells: tuple[tuple[str, str], tuple[str, str]]
    random_share: float = 0.2


SPREADS = (
    Spread("within, unequal spread", (2.0, 0.7), (("f", "f"), ("m", "m"))),
    Spread("within, unequal spread, half random", (2.0, 0.7), (("f", "f"), ("m", "m")), 0.5),
    Spread("within, equal spread", (1.0, 1.0), (("f", "f"), ("m", "m"))),
    Spread("across, equal spread", (1.0, 1.0), (("f", "m"), ("m", "f"))),
)
ESTIMATES = ("all pairs alike", "random pairs only", "all pairs, inverse probabilities")


def chosen_gap(world: Spread, seed: int) -> list[float]:
    """Return errors of a gap from an adaptive study, by each of the estimates.

    400 judgments of random pairs, then 1,600 by `choose_pairs` in four rounds. The truth is what
    all pairs of these items would give, judged for ever.
    """
    rng = np.random.default_rng(seed)
    group = np.array(["f", "m"] * 40)
    quality = rng.normal(size=80) * np.where(group == "f", *world.spread)
    scores = quality + 0.7 * rng.normal(size=80)
    found, weight, drawn = np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0, bool)
    for _ in range(5):
        more = choose_pairs(
            80,
            budget=400,
            goal="rank",
            given=found if len(found) else None,
            random_share=world.random_share,
            swapped_share=0,
            seed=int(rng.integers(2**31)),
        )
        pairs = more.left.astype(np.int64), more.right.astype(np.int64)
        found = np.vstack([found, judge(pairs, quality, rng)])
        weight = np.append(weight, 1 / more.probability.astype(float))
        drawn = np.append(drawn, more.how == "random")
    agree = scores[found[:, 0]] > scores[found[:, 1]]
    truth = _gap(*_every_pair(quality, scores), group, world)
    weights = (np.ones(len(found)), drawn.astype(float), weight)
    return [_gap(found, agree, one, group, world) - truth for one in weights]


def _every_pair(
    quality: Floats, scores: Floats
) -> tuple[NDArray[np.int64], NDArray[np.bool_], Floats]:
    """Return all ordered pairs, whether the model agrees, and how often judges put them so."""
    pairs = np.argwhere(~np.eye(len(quality), dtype=bool))
    chance = 1 / (1 + np.exp(2 * (quality[pairs[:, 1]] - quality[pairs[:, 0]])))
    return pairs, scores[pairs[:, 0]] > scores[pairs[:, 1]], chance


def _gap(
    pairs: NDArray[np.int64],
    agree: NDArray[np.bool_],
    weight: Floats,
    group: NDArray[np.str_],
    world: Spread,
) -> float:
    """Return the weighted agreement in one cell minus that in another."""
    rates = []
    for better, worse in world.cells:
        held = (group[pairs[:, 0]] == better) & (group[pairs[:, 1]] == worse)
        rates.append(float(np.average(agree[held], weights=weight[held])))
    return rates[0] - rates[1]


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--panels", type=int, default=200)
    asked = parser.parse_args()
    for world in WORLDS:
        for way in ("uniform", "kinds", "neyman"):
            print(world.name, way, *needed(way, world, asked.runs), flush=True)
    for sd in (1.0, 2.5):
        for way in ("random", "choose_pairs", *WAYS):
            found = np.array([taus(way, sd, seed) for seed in range(asked.panels)])
            error = found[:, -1].std() / np.sqrt(asked.panels)
            print(sd, way, found.mean(axis=0).round(3), f"error {error:.3f}", flush=True)
    for spread in SPREADS:
        errors = np.array([chosen_gap(spread, seed) for seed in range(asked.panels)])
        for name, one in zip(ESTIMATES, errors.T, strict=True):
            print(spread.name, name, f"bias {one.mean():.4f}, SD {one.std():.4f}", flush=True)


if __name__ == "__main__":
    main()
