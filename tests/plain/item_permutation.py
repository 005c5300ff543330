"""The statistic that is permuted, judgment by judgment.

Every judgment is ``(better, worse, outcome)``; items have a group and a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from comparity.counts.pairs import Cell


def size_of_gap(
    judgments: Sequence[tuple[int, int, float]],
    group: Sequence[str],
    weight: Sequence[float],
    parts: Sequence[tuple[float, Sequence[Cell]]],
) -> float:
    """Return a sum of rates times coefficients, over its standard error where it is zero.

    Each rate is that of all judgments in some cells together.
    """
    rows = [(i, j, hit, Cell(group[i], group[j]), weight[i] * weight[j]) for i, j, hit in judgments]
    n = [sum(w for *_, cell, w in rows if cell in cells) for _, cells in parts]
    if not all(n):
        return float("inf")
    hits = [sum(w * hit for _, _, hit, cell, w in rows if cell in cells) for _, cells in parts]
    places = range(len(parts))
    k = [coefficient for coefficient, _ in parts]
    gap = sum(k[p] * hits[p] / n[p] for p in places)
    scale = sum(k[p] ** 2 / n[p] for p in places)
    null = [min(max(hits[p] / n[p] - gap * k[p] / n[p] / scale, 0.0), 1.0) for p in places]
    by_item = dict.fromkeys(range(len(group)), 0.0)
    own = 0.0
    for i, j, hit, cell, w in rows:
        residual = w * sum(k[p] / n[p] * (hit - null[p]) for p in places if cell in parts[p][1])
        by_item[i] += residual
        by_item[j] += residual
        own += residual**2
    variance = max(sum(e**2 for e in by_item.values()) - own, own)
    return abs(gap) / sqrt(variance) if variance > 1e-15 else (0.0 if abs(gap) < 1e-9 else 1e99)


def size_of_means(
    judgments: Sequence[tuple[int, int, float]],
    group: Sequence[str],
    dealt: Sequence[str],
    weight: Sequence[float],
    dealt_weight: Sequence[float],
) -> float:
    """Return the size of a gap between the items of "a" and "b", as these were dealt out.

    Every judgment is within a group. Items of all groups are used alike on average.
    """
    items = range(len(group))
    of_item: dict[int, list[tuple[float, float]]] = {item: [] for item in items}
    for i, j, hit in judgments:
        of_item[i].append((weight[j], hit))
        of_item[j].append((weight[i], hit))
    held = [sum(w for w, _ in of_item[item]) for item in items]
    value = [sum(w * hit for w, hit in of_item[item]) / held[item] for item in items]
    use = []
    for item in items:
        own = [held[one] for one in items if group[one] == group[item]]
        use.append(held[item] * len(own) / sum(own))
    gap, variance = 0.0, 0.0
    for sign, name in ((1, "a"), (-1, "b")):
        own = [item for item in items if dealt[item] == name]
        total = sum(dealt_weight[item] * use[item] for item in own)
        share = [dealt_weight[item] * use[item] / total for item in own]
        centre = sum(s * value[item] for s, item in zip(share, own, strict=True))
        gap += sign * centre
        variance += sum(
            s**2 * (value[item] - centre) ** 2 for s, item in zip(share, own, strict=True)
        )
    return abs(gap) / sqrt(variance)
