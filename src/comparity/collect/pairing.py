"""Which pairs a judge sees: booklets drawn by :mod:`comparity.pairs`, and attention pairs.

A *booklet* is the ordered list of what one judge is asked. Everything here is a function of its
arguments: nothing is read from a database or a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from comparity.collect.study import StudyDescription
from comparity.pairs.choose import choose_pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPair:
    """A pair in a booklet.

    Attributes
    ----------
    left, right : int
        Positions of the items; of an attention pair, both are the position of the known pair.
    kind : {"pair", "attention"}
    how, stratum : str
        How the pair came to be asked for, and the groups it is of.
    probability : float or None
        Chance of asking for this pair rather than another one at this place.
    repeats : int or None
        Place, in the booklet, of the same pair the other way round.
    expected : {"left", "right"} or None
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
    return [add_attention(booklet, study, rng) for booklet in by_judge.values()]


def _first_place(booklet: Sequence[PlannedPair], row: Mapping[str, Any]) -> int:
    wanted = {int(row["left"]), int(row["right"])}
    return next(place for place, one in enumerate(booklet) if {one.left, one.right} == wanted)


def add_attention(
    booklet: Sequence[PlannedPair], study: StudyDescription, rng: np.random.Generator
) -> list[PlannedPair]:
    """Mix attention pairs into a booklet, at random places and on random sides."""
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
            side = "left" if rng.random() < 0.5 else "right"
            mixed.append(PlannedPair(left=known, right=known, kind="attention", expected=side))
        else:
            one = next(rest)
            again = None if one.repeats is None else free[one.repeats]
            mixed.append(_moved(one, again))
    return mixed


def _moved(one: PlannedPair, repeats: int | None) -> PlannedPair:
    return PlannedPair(
        left=one.left,
        right=one.right,
        how=one.how,
        stratum=one.stratum,
        probability=one.probability,
        repeats=repeats,
    )


def wave_sizes(judges: int, waves: int) -> list[int]:
    """Return how many booklets each portion has, as even as can be.

    Examples
    --------
    >>> wave_sizes(10, 4)
    [3, 3, 2, 2]
    """
    waves = min(waves, judges)
    return [judges // waves + (place < judges % waves) for place in range(waves)]
