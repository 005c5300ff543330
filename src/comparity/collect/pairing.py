"""Which pairs a judge sees, or which items: booklets, attention pairs, and who does which task.

A *booklet* is the ordered list of what one judge is asked. Everything here is a function of its
arguments: nothing is read from a database or a clock.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from comparity.collect.joined_judge import Task
from comparity.collect.study import HIGH, LOW, StudyDescription
from comparity.pairs.choose import choose_pairs

BLOCK = 4
"""Judges among whom tasks are balanced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPair:
    """A pair in a booklet, or an item to be rated.

    Attributes
    ----------
    left, right : int
        Positions of the items; of an item to be rated, both are its own, and of an attention pair
        both are the position of the known pair.
    kind : {"pair", "rating", "attention"}
    how, stratum : str
        How the pair came to be asked for, and the groups it is of.
    probability : float or None
        Chance of asking for this pair rather than another one at this place.
    repeats : int or None
        Place, in the booklet, of the same pair the other way round, or of the same item.
    expected : {"left", "right", "high", "low"} or None
        Right answer of an attention pair.
    """

    left: int
    right: int
    kind: str = "pair"
    how: str = ""
    stratum: str = ""
    probability: float | None = None
    repeats: int | None = None
    expected: str | None = None


def draw_booklets(
    study: StudyDescription,
    n: int,
    *,
    n_items: int,
    sensitive: Mapping[str, Sequence[str]] | None,
    scores: Sequence[float] | None,
    given: Sequence[tuple[int, int]],
    rng: np.random.Generator,
) -> list[list[PlannedPair]]:
    """Draw what some judges are to be asked.

    Parameters
    ----------
    study : StudyDescription
    n : int
        How many booklets.
    n_items : int
    sensitive, scores
        Of the items, by position.
    given : sequence of (int, int)
        Answers so far, better item first.
    rng : numpy.random.Generator
    """
    options = study.options
    chosen = choose_pairs(
        n_items,
        sensitive_features=dict(sensitive) if sensitive else None,
        scores=scores,
        given=np.array(given, dtype=np.int64) if given else None,
        goal=options.goal,
        hypotheses=options.hypotheses,
        budget=n * options.each,
        judges=n,
        random_share=options.random_share,
        swapped_share=options.swapped_share,
        seed=int(rng.integers(2**32)),
    )
    by_judge: dict[Any, list[PlannedPair]] = {}
    for row in chosen.rows():
        booklet = by_judge.setdefault(row["judge"], [])
        booklet.append(
            PlannedPair(
                left=int(row["left"]),
                right=int(row["right"]),
                how=row["how"],
                stratum=row["stratum"],
                probability=row["probability"],
                repeats=_first_place(booklet, row) if row["swapped"] else None,
            )
        )
    sides = ("left", "right")
    booklets = share_pairs(list(by_judge.values()), options.shared_share, rng)
    return [add_attention(booklet, study, sides, rng) for booklet in booklets]


def share_pairs(
    booklets: Sequence[Sequence[PlannedPair]], share: float, rng: np.random.Generator
) -> list[list[PlannedPair]]:
    """Let every second booklet have a share of its pairs from the one before.

    Such a pair takes the place of another one of the same groups, where there is one, and is shown
    with either item on the left, by a coin. Pairs that come back to their judge are left alone.
    """
    found = [list(one) for one in booklets]
    for giving, taking in zip(found[::2], found[1::2], strict=False):
        waiting = _seen_once(giving)
        rng.shuffle(waiting)
        free, known = _seen_once(taking), {frozenset((one.left, one.right)) for one in taking}
        for place in rng.permutation(free)[: round(share * len(taking))].tolist():
            fresh = [one for one in waiting if {giving[one].left, giving[one].right} not in known]
            alike = [one for one in fresh if giving[one].stratum == taking[place].stratum]
            if not fresh:
                break
            chosen = (alike or fresh)[0]
            waiting.remove(chosen)
            one = giving[chosen]
            left, right = rng.permutation([one.left, one.right]).tolist()
            taking[place] = replace(one, left=left, right=right)
    return found


def _seen_once(booklet: Sequence[PlannedPair]) -> list[int]:
    """Return the places of pairs that do not come back."""
    again = {one.repeats for one in booklet}
    return [at for at, one in enumerate(booklet) if one.repeats is None and at not in again]


def _first_place(booklet: Sequence[PlannedPair], row: Mapping[str, Any]) -> int:
    wanted = {int(row["left"]), int(row["right"])}
    return next(place for place, one in enumerate(booklet) if {one.left, one.right} == wanted)


def add_attention(
    booklet: Sequence[PlannedPair],
    study: StudyDescription,
    expected: tuple[str, str],
    rng: np.random.Generator,
) -> list[PlannedPair]:
    """Mix attention pairs into a booklet, at random places, with either answer `expected`."""
    share = study.options.attention_share if study.attention else 0.0
    n = round(share * len(booklet))
    total = len(booklet) + n
    taken = set(rng.choice(total, size=n, replace=False).tolist())
    free = [place for place in range(total) if place not in taken]
    rest = iter(booklet)
    mixed = []
    for place in range(total):
        if place in taken:
            known = int(rng.integers(len(study.attention)))
            side = expected[int(rng.random() >= 0.5)]
            mixed.append(PlannedPair(left=known, right=known, kind="attention", expected=side))
        else:
            one = next(rest)
            again = None if one.repeats is None else free[one.repeats]
            mixed.append(replace(one, repeats=again))
    return mixed


def draw_ratings(
    study: StudyDescription,
    n: int,
    *,
    groups: Sequence[str],
    rated: Mapping[int, int],
    rng: np.random.Generator,
) -> list[list[PlannedPair]]:
    """Draw which items some judges are to rate.

    Items are drawn at random within each group, those that were drawn least often first, and each
    booklet has as many of each group as can be, so that the pairs of items in it are pairs at
    random, as those are that others compare.

    Parameters
    ----------
    study : StudyDescription
    n : int
        How many booklets.
    groups : sequence of str
        Of the items, by position.
    rated : mapping of int to int
        How often items were drawn before.
    rng : numpy.random.Generator
    """
    drawn = Counter(rated)
    booklets = []
    for _ in range(n):
        n_repeats = round(study.options.swapped_share * study.each_of("rate"))
        fresh = _draw_items(study.each_of("rate") - n_repeats, groups, drawn, rng)
        drawn.update(fresh)
        booklets.append(_rating_booklet(fresh, min(n_repeats, len(fresh) // 2), groups, rng))
    return [add_attention(one, study, (HIGH, LOW), rng) for one in booklets]


def _draw_items(
    n: int, groups: Sequence[str], drawn: Mapping[int, int], rng: np.random.Generator
) -> list[int]:
    """Return different items in a random order, the groups by turns."""
    chance = rng.random(len(groups))
    waiting: dict[str, list[int]] = {}
    for place in sorted(range(len(groups)), key=lambda one: (drawn.get(one, 0), chance[one])):
        waiting.setdefault(groups[place], []).append(place)
    turns = [
        (turn, chance[place], place)
        for queue in waiting.values()
        for turn, place in enumerate(queue)
    ]
    chosen = [place for _, _, place in sorted(turns)[:n]]
    return [int(one) for one in rng.permutation(chosen)]


def _rating_booklet(
    items: Sequence[int], n_repeats: int, groups: Sequence[str], rng: np.random.Generator
) -> list[PlannedPair]:
    """Return items to be rated; some of the first half come back in the second half."""
    half = len(items) // 2
    again = set(rng.choice(half, size=n_repeats, replace=False).tolist()) if n_repeats else set()
    later = rng.permutation([*range(half, len(items)), *again]).tolist()
    return [
        PlannedPair(
            left=items[place],
            right=items[place],
            kind="rating",
            how="random",
            stratum=groups[items[place]],
            repeats=place if position >= half and place < half else None,
        )
        for position, place in enumerate([*range(half), *later])
    ]


def task_of(study: StudyDescription, number: int) -> Task:
    """Return the task of the judge of this number, by random permuted blocks of four.

    In every four judges two compare and two rate, in an order that follows from the study alone
    and that nobody can tell in advance.

    Examples
    --------
    >>> from comparity.collect.options import CollectOptions
    >>> from comparity.collect.study import study_of
    >>> asked = {"question": "Which?", "rating_question": "How good?", "show": "text"}
    >>> study = study_of(CollectOptions(**asked, goal="rank", task="both", seed=1))
    >>> sorted(task_of(study, number) for number in range(1, 5))
    ['compare', 'compare', 'rate', 'rate']
    """
    tasks = study.tasks
    block, place = divmod(number - 1, BLOCK)
    order = list(tasks) * (BLOCK // len(tasks))
    secret = study.identity if study.options.seed is None else str(study.options.seed)
    random.Random(f"tasks {secret} {block}").shuffle(order)
    return order[place]


def judges_of(study: StudyDescription, task: Task) -> int:
    """Return how many of the planned judges do a task."""
    numbers = range(1, study.options.judges + 1)
    return sum(task_of(study, number) == task for number in numbers)


def wave_sizes(judges: int, waves: int) -> list[int]:
    """Return how many booklets each portion has, as even as can be.

    Examples
    --------
    >>> wave_sizes(10, 4)
    [3, 3, 2, 2]
    """
    waves = min(waves, judges)
    return [judges // waves + (place < judges % waves) for place in range(waves)]
