"""Definitions for judges by loops: agreement, twins, exchanged signs, failures within strata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations, product


def cohen_kappa(pairs: Sequence[tuple[int, int]]) -> float:
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) / n
    chance = sum(first[k] * second[k] for k in first) / n**2
    return (observed - chance) / (1 - chance)


def gwet_ac1(pairs: Sequence[tuple[int, int]]) -> float:
    n = len(pairs)
    kinds = {value for pair in pairs for value in pair}
    observed = sum(a == b for a, b in pairs) / n
    share = {k: sum((a == k) + (b == k) for a, b in pairs) / (2 * n) for k in kinds}
    chance = sum(p * (1 - p) for p in share.values()) / (len(kinds) - 1)
    return (observed - chance) / (1 - chance)


def krippendorff_alpha(units: Sequence[Sequence[int]]) -> float:
    """Disagreement of all ordered pairs within units, over that of all values paired at random."""
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    n = len(values)
    observed = sum((a != b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2))
    expected = sum(a != b for a, b in permutations(values, 2)) / (n - 1)
    return 1 - observed / expected


def flip_signs(net: Sequence[int]) -> float:
    """All choices of signs, one after the other."""
    sizes = [abs(d) for d in net if d]
    sums = [
        sum(s * d for s, d in zip(signs, sizes, strict=True))
        for signs in product((1, -1), repeat=len(sizes))
    ]
    return sum(abs(one) >= abs(sum(net)) for one in sums) / len(sums)


def failures_p(strata: Sequence[tuple[int, int, int]], seen: int) -> float:
    """All ways to draw the failed trials of every stratum; the members of the group come first."""
    chances: dict[int, Fraction] = {0: Fraction(1)}
    for failures, members, trials in strata:
        ways = [sum(t < members for t in drawn) for drawn in combinations(range(trials), failures)]
        here = {k: Fraction(n, len(ways)) for k, n in Counter(ways).items()}
        new: dict[int, Fraction] = {}
        for a, p in chances.items():
            for b, q in here.items():
                new[a + b] = new.get(a + b, Fraction(0)) + p * q
        chances = new
    return float(sum(p for p in chances.values() if p <= chances[seen]))


def exchanged_p(counts: Sequence[Sequence[int]], seen: int) -> float:
    """All choices of one member of each stratum, one after the other."""
    sums = Counter(sum(chosen) for chosen in product(*counts))
    n = sum(sums.values())
    return sum(times for times in sums.values() if times <= sums[seen]) / n
