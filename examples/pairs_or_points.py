"""Count how many judged pairs are as good as so many labelled points, in regression.

Xi, Capak, Stockwell and Yu ("Comparative Separation", section 3.4) suppose that with real-valued
quality, where hardly any pair ties, as many pairs as points suffice. Here a score adds noise of
standard deviation `noise` to a normal label, and a shift to the items of one group, so that
separation is violated. The pointwise test is that of the group's coefficient in a regression of
the score on a spline of the label; the pairwise test is the across hypothesis
agree(a > b) = agree(b > a). Each is made at level 0.05, without a correction for other hypotheses.

For pairs of fresh items the number of pairs per point at equal power is, as the shift tends to
zero,

    2 pi p (1 - p) (1 + noise^2) / noise^2,     p = 1/2 + arctan(1 / noise) / pi,

with p the agreement without a shift. It is never below pi / 2.

Run as ``python examples/pairs_or_points.py [REPETITIONS]``.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from sklearn.preprocessing import SplineTransformer

from comparity import comparative_separation

N = 200
LEVEL = 0.05
NOISES = (0.25, 0.5, 1.0, 2.0)

Floats = NDArray[np.float64]
World = tuple[Floats, Floats, NDArray[np.int64]]


def pairs_per_point(noise: float) -> float:
    """Return how many fresh pairs are worth one labelled point, for small shifts."""
    agreement = 0.5 + math.atan(1 / noise) / math.pi
    return 2 * math.pi * agreement * (1 - agreement) * (1 + noise**2) / noise**2


def world(n: int, noise: float, shift: float, rng: np.random.Generator) -> World:
    """Return label, score and group of n items; group 1 is shifted."""
    group = rng.permutation(np.arange(n) % 2)
    label = rng.normal(size=n)
    return label, label + noise * rng.normal(size=n) + shift * group, group


def pointwise_p_value(label: Floats, score: Floats, group: NDArray[np.int64]) -> float:
    """Test the coefficient of the group beside a cubic spline of the label."""
    spline = SplineTransformer(n_knots=5, degree=3, knots="quantile").fit_transform(label[:, None])
    design = np.column_stack([group, spline])
    coefficients, squares, rank, _ = np.linalg.lstsq(design, score, rcond=None)
    freedom = len(score) - rank
    variance = squares[0] / freedom * np.linalg.inv(design.T @ design)[0, 0]
    return float(2 * stdtr(freedom, -abs(coefficients[0]) / math.sqrt(variance)))


def pairwise_p_value(items: World, pairs: NDArray[np.int64]) -> float:
    """Test whether agreement is the same whichever group the better item is from."""
    label, score, group = items
    swap = label[pairs[:, 0]] < label[pairs[:, 1]]
    better_first = np.where(swap[:, None], pairs[:, ::-1], pairs)
    audit = comparative_separation(better_first, scores=score, sensitive_features=group)
    return audit.tests[0].p_value


def random_pairs(n_pairs: int, n_items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return pairs of two different items, each drawn at random."""
    first = rng.integers(0, n_items, n_pairs)
    return np.column_stack([first, (first + rng.integers(1, n_items, n_pairs)) % n_items])


def p_values(noise: float, shift: float, rng: np.random.Generator) -> dict[str, float]:
    """Return the p value of every design, once."""
    enough = math.ceil(pairs_per_point(noise) * N)
    points = world(N, noise, shift, rng)
    fresh = {
        pairs: pairwise_p_value(
            world(2 * pairs, noise, shift, rng), np.arange(2 * pairs).reshape(-1, 2)
        )
        for pairs in (N, enough)
    }
    return {
        "n points": pointwise_p_value(*points),
        "n fresh pairs": fresh[N],
        "ratio x n fresh pairs": fresh[enough],
        "n pairs of n items": pairwise_p_value(points, random_pairs(N, N, rng)),
        "4n pairs of n items": pairwise_p_value(points, random_pairs(4 * N, N, rng)),
        "all pairs of n items": pairwise_p_value(points, np.column_stack(np.triu_indices(N, 1))),
    }


def rejections(
    noise: float, shift: float, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return how often each design rejects."""
    found = [p_values(noise, shift, rng) for _ in range(repetitions)]
    return {name: float(np.mean([p[name] <= LEVEL for p in found])) for name in found[0]}


def main(repetitions: int = 200) -> None:
    """Print how often each design rejects without a shift, and with one."""
    rng = np.random.default_rng(20260131)
    print(f"n = {N} points, level {LEVEL}, {repetitions} repetitions")
    for noise in NOISES:
        print(f"\nnoise {noise}: {pairs_per_point(noise):.2f} fresh pairs per point")
        # The pointwise test has power 0.8 at a shift of 2.8 standard errors.
        shift = 2.8 * 2 * noise / math.sqrt(N)
        alarms = rejections(noise, 0.0, repetitions, rng)
        for name, power in rejections(noise, shift, repetitions, rng).items():
            print(f"  {name:22} false alarms {alarms[name]:.3f}  power {power:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
