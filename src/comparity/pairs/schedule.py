"""Who judges which pair, in which order, and which item stands on the left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.pairs.strata import TRIES, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schedule:
    """Rows in the order in which each judge sees them.

    Attributes
    ----------
    pair : ndarray of int
        Which of the pairs.
    judge : ndarray of int
    is_turned : ndarray of bool
        Whether the second item of the pair stands on the left.
    is_repeat : ndarray of bool
        Whether the judge has seen the pair before, the other way round.
    """

    pair: Ints
    judge: Ints
    is_turned: NDArray[np.bool_]
    is_repeat: NDArray[np.bool_]


def schedule_pairs(
    keys: Ints,
    kind: Ints,
    *,
    judges: int,
    swapped: int,
    known: set[tuple[int, int]],
    rng: np.random.Generator,
) -> Schedule:
    """Deal pairs to judges, choose sides, and let some pairs come back swapped.

    Every judge gets as many pairs as any other, and of every kind, to within one; of each kind
    either item stands on the left equally often. Pairs that come back are of the first half of what
    a judge sees, and come in the second half.

    Parameters
    ----------
    keys : ndarray of int
        One number for each pair, equal where the items are.
    kind : ndarray of int
        PairKind of each pair.
    judges : int
    swapped : int
        How many pairs come back, over all judges.
    known : set of (int, int)
        Judges and keys of pairs that they judged before.
    rng : numpy.random.Generator
    """
    judge = _deal(keys, kind, judges, known, rng)
    turned = _choose_sides(judge, kind, rng)
    repeats = np.bincount(rng.permutation(np.arange(swapped) % judges), minlength=judges)
    parts = [
        _order_of_one(np.flatnonzero(judge == one), int(repeats[one]), rng) for one in range(judges)
    ]
    pair = np.concatenate([places for places, _ in parts])
    again = np.concatenate([repeat for _, repeat in parts])
    sizes = [len(places) for places, _ in parts]
    return Schedule(
        pair=pair,
        judge=np.repeat(np.arange(judges), sizes),
        is_turned=turned[pair] ^ again,
        is_repeat=again,
    )


def _deal(
    keys: Ints, kind: Ints, judges: int, known: set[tuple[int, int]], rng: np.random.Generator
) -> Ints:
    """Deal pairs in turns, kind by kind, and exchange those that a judge would see twice."""
    n = len(keys)
    order = np.lexsort((rng.random(n), kind))
    judge = np.empty(n, dtype=np.int64)
    judge[order] = rng.permutation(judges)[np.arange(n) % judges]
    for _ in range(TRIES if judges > 1 else 0):
        seen = set(known)
        again = []
        for place, one in enumerate(zip(judge.tolist(), keys.tolist(), strict=True)):
            if one in seen:
                again.append(place)
            seen.add(one)
        if not again:
            break
        for place in again:
            other = rng.choice(np.flatnonzero(kind == kind[place]))
            judge[[place, other]] = judge[[other, place]]
    return judge


def _choose_sides(judge: Ints, kind: Ints, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Turn every other pair of a judge and a kind, in random order."""
    order = np.lexsort((rng.random(len(judge)), kind, judge))
    first = rng.integers(2, size=len(judge))
    turned = np.empty(len(judge), dtype=bool)
    start = np.r_[True, np.diff(judge[order]).astype(bool) | np.diff(kind[order]).astype(bool)]
    begins = np.maximum.accumulate(np.where(start, np.arange(len(order)), 0))
    turned[order] = (np.arange(len(order)) - begins + first[begins]) % 2 == 1
    return turned


def _order_of_one(
    places: Ints, repeats: int, rng: np.random.Generator
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return what one judge sees, and which of it for the second time."""
    shown = rng.permutation(places)
    half = -(-len(shown) // 2)
    again = shown[: min(repeats, half)]
    late = np.concatenate([shown[half:], again])
    is_repeat = np.arange(len(late)) >= len(shown) - half
    order = rng.permutation(len(late))
    return (
        np.concatenate([shown[:half], late[order]]),
        np.concatenate([np.zeros(half, dtype=bool), is_repeat[order]]),
    )
