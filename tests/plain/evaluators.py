"""The test of a gap in a few clusters, by definition: loops over judgments and signs."""

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
    others: Sequence[int] | None = None,
) -> float:
    """Return the two-sided p value from residuals at the hypothesised and at the observed gap.

    Judgments may also lie in `others`, few clusters of another kind.
    """
    distance = abs(gap - hypothesised)
    names = sorted(set(evaluators))
    number = len(names)

    def sums(of: Sequence[float]) -> list[float]:
        return [sum(u for u, who in zip(of, evaluators, strict=True) if who == k) for k in names]

    alone = [*others] if others is not None else [None] * len(residuals)
    shared = max(_between(residuals, items, evaluators, alone), 0.0)
    further, dof = 0.0, 1
    if others is not None:
        dof = len(set(others)) - 1
        further = max(_only_in(observed, others, evaluators), 0.0) * (dof + 1) / dof
    at_null, at_gap = sums(residuals), sums(observed)
    beside = shared + further
    part = beside / (beside + sum(u * u for u in at_null))
    own = [u - part * (u - v) for u, v in zip(at_null, at_gap, strict=True)]
    mean = sum(own) / number
    variance = number * sum((u - mean) ** 2 for u in own) / (number - 1)
    by_t = _level(distance, shared, [(variance, number - 1), (further, dof)])
    if not 6 <= number <= 12:
        return by_t
    tails = []
    for signs in product((-1, 1), repeat=number):
        beyond = sum(sign * u for sign, u in zip(signs, own, strict=True)) - distance
        if beside:
            tails.append(stats.norm.cdf(beyond / sqrt(beside)))
        else:
            tails.append(0.5 if abs(beyond) < 1e-9 * distance else float(beyond > 0))
    return max(by_t, 2 * sum(tails) / 2**number)


def _between(
    residuals: Sequence[float],
    items: Sequence[tuple[int, int]],
    evaluators: Sequence[int],
    others: Sequence[int | None],
) -> float:
    """Sum products over judgments that share an item and no cluster."""
    total = 0.0
    for p, one in enumerate(residuals):
        for q, two in enumerate(residuals):
            same = evaluators[p] == evaluators[q] or (
                others[p] is not None and others[p] == others[q]
            )
            if not same and set(items[p]) & set(items[q]):
                total += one * two
    return total


def _only_in(residuals: Sequence[float], others: Sequence[int], evaluators: Sequence[int]) -> float:
    """Sum products over judgments of different evaluators in one of the other clusters."""
    total = 0.0
    for p, one in enumerate(residuals):
        for q, two in enumerate(residuals):
            if others[p] == others[q] and evaluators[p] != evaluators[q]:
                total += one * two
    return total


def _level(distance: float, known: float, estimated: Sequence[tuple[float, int]]) -> float:
    """Find the level at which all quantiles allow just this distance, by halving."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        allowed = stats.norm.isf(middle / 2) ** 2 * known
        for variance, dof in estimated:
            allowed += stats.t.isf(middle / 2, dof) ** 2 * variance
        if allowed > distance**2:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def combined_tail(distance: float, known: float, estimated: Sequence[tuple[float, float]]) -> float:
    """Return half the level at which variances allow a distance, by halving quantiles."""
    low, high = 0.0, 40.0
    for _ in range(100):
        z = (low + high) / 2
        tail = stats.norm.sf(z)
        allowed = z * z * known
        allowed += sum(stats.t.isf(tail, dof) ** 2 * variance for variance, dof in estimated)
        low, high = (low, z) if allowed > distance * distance else (z, high)
    return float(stats.norm.sf(low))
