"""Items drawn of each group, by sorting all rows: the definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Row = tuple[float, float, float, str]
"""Label, score, weight, group."""


def draw(
    rows: Sequence[Row],
    groups: Sequence[str],
    drawn: Sequence[int],
    places: Callable[[int, int], Sequence[int]],
) -> list[Row]:
    """Return rows at the places that are drawn for each group, with what they stand for."""
    found: list[Row] = []
    for group, few in zip(groups, drawn, strict=True):
        of_group = sorted(row for row in rows if row[3] == group)
        for place in places(len(of_group), few):
            label, score, weight, _ = of_group[place]
            found.append((label, score, weight * len(of_group) / few, group))
    return sorted(found)
