"""The test of a gap that a few evaluators judged, by definition: loops over judgments and signs."""

from collections.abc import Sequence
from itertools import product
from math import sqrt

from scipy import stats


def p_value(
    gap: float,
    hypothesised: float,
    residuals: Sequence[float],
    observed: Sequence[float],
    items: Sequence[tuple[int, int]],
    evaluators: Sequence[int],
) -> float:
    """Return the two-sided p value from residuals at the hypothesised and at the observed gap."""
    distance = abs(gap - hypothesised)
    names = sorted(set(evaluators))
    number = len(names)

    def sums(of: Sequence[float]) -> list[float]:
        return [sum(u for u, who in zip(of, evaluators, strict=True) if who == k) for k in names]

    shared = max(_between(residuals, items, evaluators), 0.0)
    at_null, at_gap = sums(residuals), sums(observed)
    part = shared / (shared + sum(u * u for u in at_null))
    own = [u - part * (u - v) for u, v in zip(at_null, at_gap, strict=True)]
    mean = sum(own) / number
    variance = number * sum((u - mean) ** 2 for u in own) / (number - 1)
    by_t = _level(distance, shared, variance, number - 1)
    if not 6 <= number <= 12:
        return by_t
    tails = []
    for signs in product((-1, 1), repeat=number):
        beyond = sum(sign * u for sign, u in zip(signs, own, strict=True)) - distance
        if shared:
            tails.append(stats.norm.cdf(beyond / sqrt(shared)))
        else:
            tails.append(0.5 if abs(beyond) < 1e-9 * distance else float(beyond > 0))
    return max(by_t, 2 * sum(tails) / 2**number)


def _between(
    residuals: Sequence[float], items: Sequence[tuple[int, int]], evaluators: Sequence[int]
) -> float:
    """Sum products over judgments of different evaluators that share an item."""
    total = 0.0
    for p, one in enumerate(residuals):
        for q, two in enumerate(residuals):
            if evaluators[p] != evaluators[q] and set(items[p]) & set(items[q]):
                total += one * two
    return total


def _level(distance: float, known: float, estimated: float, dof: int) -> float:
    """Find the level at which both quantiles allow just this distance, by halving."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        z, t = stats.norm.isf(middle / 2), stats.t.isf(middle / 2, dof)
        if z * z * known + t * t * estimated > distance**2:
            low = middle
        else:
            high = middle
    return (low + high) / 2
