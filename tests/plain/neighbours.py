"""Nearest neighbours by the definition: all distances, sorted."""

from __future__ import annotations

from collections.abc import Sequence


def consistency(features: Sequence[Sequence[float]], labels: Sequence[int], k: int) -> float:
    total = 0.0
    for row, label in zip(features, labels, strict=True):
        distances = [
            (sum((a - b) ** 2 for a, b in zip(row, other, strict=True)), place)
            for place, other in enumerate(features)
        ]
        nearest = [place for _, place in sorted(distances)[:k]]
        total += abs(label - sum(labels[place] for place in nearest) / k)
    return 1 - total / len(labels)
