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
    first: Sequence[Cell],
    second: Sequence[Cell],
) -> float:
    """Return the gap of the mean rates of two sides over its standard error without a gap."""
    sides = {cell: 1 / len(first) for cell in first} | {cell: -1 / len(second) for cell in second}
    rows = [
        (i, j, hit, Cell(group[i], group[j]), weight[i] * weight[j])
        for i, j, hit in judgments
        if Cell(group[i], group[j]) in sides
    ]
    n = {cell: sum(w for *_, c, w in rows if c == cell) for cell in sides}
    if not all(n.values()):
        return float("inf")
    rate = {cell: sum(w * hit for _, _, hit, c, w in rows if c == cell) / n[cell] for cell in sides}
    gap = sum(k * rate[cell] for cell, k in sides.items())
    scale = sum(k**2 / n[cell] for cell, k in sides.items())
    null = {c: min(max(rate[c] - gap * k / n[c] / scale, 0.0), 1.0) for c, k in sides.items()}
    by_item = dict.fromkeys(range(len(group)), 0.0)
    own = 0.0
    for i, j, hit, cell, w in rows:
        residual = w * sides[cell] / n[cell] * (hit - null[cell])
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
