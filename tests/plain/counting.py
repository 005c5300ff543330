"""Counting by plain loops over rows: the definition of what the package counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Judgment(NamedTuple):
    better: str
    worse: str
    evaluator: str
    tied: bool


class Item(NamedTuple):
    score: float
    groups: Mapping[str, str]
    age: float = 0.0


def cell_of(first: Item, second: Item, attribute: str) -> tuple[str, str]:
    if attribute != "age":
        return first.groups[attribute], second.groups[attribute]
    if first.age > second.age:
        return "larger", "smaller"
    return ("equal", "equal") if first.age == second.age else ("smaller", "larger")


def count_agreement(
    judgments: Iterable[Judgment], items: Mapping[str, Item], attribute: str
) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Hits, trials and score ties of each cell, over judgments that put one item first."""
    cells: dict[tuple[str, str], tuple[int, int, int]] = {}
    for judgment in judgments:
        if judgment.tied:
            continue
        better, worse = items[judgment.better], items[judgment.worse]
        cell = cell_of(better, worse, attribute)
        hits, trials, ties = cells.get(cell, (0, 0, 0))
        hits += better.score > worse.score
        ties += better.score == worse.score
        cells[cell] = (hits, trials + 1, ties)
    return cells


def count_ties(
    judgments: Iterable[Judgment], items: Mapping[str, Item], attribute: str
) -> dict[tuple[str, str], int]:
    tied = [j for j in judgments if j.tied]
    pairs = [sorted(cell_of(items[j.better], items[j.worse], attribute)) for j in tied]
    return dict(Counter((pair[0], pair[1]) for pair in pairs))


def count_distinct(judgments: Iterable[Judgment]) -> dict[tuple[str, str, str], int]:
    return dict(Counter((j.better, j.worse, j.evaluator) for j in judgments if not j.tied))


def is_shared(judgments: Iterable[Judgment], *, evaluators: bool) -> bool:
    ordered = [j for j in judgments if not j.tied]
    uses = Counter(item for j in ordered for item in (j.better, j.worse))
    judged = Counter(j.evaluator for j in ordered) if evaluators else Counter()
    return any(count > 1 for count in [*uses.values(), *judged.values()])


def count_confusion(
    labels: Sequence[bool], predictions: Sequence[bool], groups: Sequence[str]
) -> dict[str, tuple[int, int, int, int]]:
    """True positives, false negatives, false positives, true negatives of each group."""
    table = {group: [0, 0, 0, 0] for group in groups}
    for label, prediction, group in zip(labels, predictions, groups, strict=True):
        table[group][2 * (not label) + (label != prediction if label else not prediction)] += 1
    return {group: (row[0], row[1], row[2], row[3]) for group, row in table.items()}
