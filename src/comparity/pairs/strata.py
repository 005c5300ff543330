r"""Kinds of pairs: how many of each to ask for, and pairs of a kind that use all items evenly.

A test of comparative separation compares agreement between *cells*, and a judge's answer decides
which of the two cells of a mixed pair it falls into. What can be chosen is the *kind* of a pair:
the two groups it is made of. The sum of the variances of the compared rates is smallest if the
number of pairs of a kind is in proportion to

.. math:: \sqrt{\sum_{c} \sigma_c^2 / q_c}

with :math:`\sigma_c` the standard deviation of agreement in cell :math:`c` and :math:`q_c` the
share of the kind's judgments that fall into it (Neyman's allocation).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LEAST_SHARE = 0.1
"""Smallest share of a mixed kind's judgments that is assumed for either of its cells."""
TRIES = 50
"""How many exchanges are tried to avoid asking for the same pair twice."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairKind:
    """All pairs of items of two groups, or of one.

    Attributes
    ----------
    name : str
        The groups, as in ``"f and m"``.
    first, second : ndarray of int
        Positions of the items of either group; the same for pairs within a group.
    """

    name: str
    first: Ints
    second: Ints

    @property
    def within(self) -> bool:
        """Whether both items are of one group."""
        return self.first is self.second

    @property
    def n_pairs(self) -> int:
        """How many pairs of this kind there are."""
        n, m = len(self.first), len(self.second)
        return n * (n - 1) // 2 if self.within else n * m

    def pair_at(self, places: Ints) -> tuple[Ints, Ints]:
        """Return the pairs at some places of a list of all pairs."""
        if not self.within:
            return self.first[places // len(self.second)], self.second[places % len(self.second)]
        # Pair (i, j) with i < j stands at j (j - 1) / 2 + i; the root may round to a neighbour.
        j = ((1 + np.sqrt(1 + 8 * places.astype(np.float64))) / 2).astype(np.int64)
        j -= j * (j - 1) // 2 > places
        j += j * (j + 1) // 2 <= places
        return self.first[places - j * (j - 1) // 2], self.first[j]


def kinds_of(group: Ints, names: Sequence[str], hypotheses: str) -> list[PairKind]:
    """Return the kinds of pairs that hypotheses are about, without those that have no pair.

    Parameters
    ----------
    group : ndarray of int
        Group of each item, by position in `names`.
    names : sequence of str
    hypotheses : {"all", "across", "within"}

    Examples
    --------
    >>> [kind.name for kind in kinds_of(np.array([0, 0, 1]), ["f", "m"], "all")]
    ['f and f', 'f and m']
    """
    items = [np.flatnonzero(group == code) for code in range(len(names))]
    found = [
        PairKind(name=f"{names[a]} and {names[b]}", first=items[a], second=items[b])
        for a, b in combinations_with_replacement(range(len(names)), 2)
        if hypotheses == "all" or (a == b) == (hypotheses == "within")
    ]
    return [kind for kind in found if kind.n_pairs]


def neyman_shares(agreed: Sequence[Floats], judged: Sequence[Floats]) -> Floats:
    """Return the share of each kind in all pairs, from the agreement seen so far.

    Parameters
    ----------
    agreed, judged : sequence of ndarray
        For each kind, how often the score agreed with the judge and how often there was a
        judgment, by cell: two cells where groups differ, one otherwise. Rates are shrunk to a half
        by one judgment either way, so that a cell without judgments has the largest variance.

    Examples
    --------
    >>> nothing = [np.zeros(1), np.zeros(2), np.zeros(1)]
    >>> neyman_shares(nothing, nothing).tolist()
    [0.25, 0.5, 0.25]
    """
    weights = []
    for hits, trials in zip(agreed, judged, strict=True):
        rate = (hits + 1) / (trials + 2)
        inside = np.clip((trials + 1) / (trials + 1).sum(), LEAST_SHARE, 1 - LEAST_SHARE)
        part = inside if len(trials) > 1 else np.ones(1)
        weights.append(np.sqrt((rate * (1 - rate) / part).sum()))
    shares: Floats = np.array(weights) / np.sum(weights)
    return shares


def allocate(shares: Floats, given: Ints, budget: int) -> Ints:
    """Return how many pairs of each kind bring all judgments, old and new, nearest to the shares.

    Parameters
    ----------
    shares : ndarray of float
        Wanted of each kind; their sum is 1.
    given : ndarray of int
        Judgments of each kind that are there.
    budget : int
        Judgments to come.

    Examples
    --------
    >>> allocate(np.array([0.5, 0.5]), np.array([30, 0]), 50).tolist()
    [10, 40]
    """
    missing = np.maximum(shares * (given.sum() + budget) - given, 0)
    wanted = budget * missing / missing.sum()
    asked = np.floor(wanted).astype(np.int64)
    largest = np.argsort(asked - wanted, kind="stable")[: budget - asked.sum()]
    asked[largest] += 1
    return np.asarray(asked, dtype=np.int64)


def even_items(uses: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Draw items so that, with their earlier uses, all are used as evenly as can be.

    Parameters
    ----------
    uses : ndarray of int
        Earlier uses of each item.
    n : int
        How many to draw; in random order.

    Examples
    --------
    >>> sorted(even_items(np.array([3, 0, 1]), 3, np.random.default_rng(0)).tolist())
    [1, 1, 2]
    """
    low, high = int(uses.min()), int(uses.max()) + n
    while low < high:
        level = (low + high) // 2
        enough = np.maximum(level - uses, 0).sum() >= n
        low, high = (low, level) if enough else (level + 1, high)
    drawn = np.maximum(low - uses, 0)
    spare = rng.permutation(np.flatnonzero(drawn))[: int(drawn.sum()) - n]
    drawn[spare] -= 1
    return rng.permutation(np.repeat(np.arange(len(uses)), drawn))


def draw_even_pairs(
    kind: PairKind, n: int, uses: Ints, seen: Ints, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Draw pairs of one kind at random, such that items are used evenly and few pairs repeat.

    Parameters
    ----------
    kind : PairKind
    n : int
    uses : ndarray of int
        Earlier uses of each item of the study.
    seen : ndarray of int
        Pairs asked for before, as :func:`pair_keys` numbers them.
    rng : numpy.random.Generator
    """
    if kind.within:
        drawn = kind.first[even_items(uses[kind.first], 2 * n, rng)]
        first, second = drawn[:n], drawn[n:]
    else:
        first = kind.first[even_items(uses[kind.first], n, rng)]
        second = kind.second[even_items(uses[kind.second], n, rng)]
    _exchange_repeated(first, second, seen, len(uses), rng)
    for place in np.flatnonzero(first == second):
        others = kind.second[kind.second != first[place]]
        second[place] = rng.choice(others)
    return first, second


def _exchange_repeated(
    first: Ints, second: Ints, seen: Ints, n_items: int, rng: np.random.Generator
) -> None:
    """Exchange second items until no pair repeats or was seen, as far as some tries will do.

    How often each item is used stays as it is.
    """
    keys = pair_keys(first, second, n_items)
    taken = Counter(keys.tolist())
    repeated = np.ones(len(keys), dtype=bool)
    repeated[np.unique(keys, return_index=True)[1]] = False
    unwanted = np.flatnonzero(repeated | (first == second) | np.isin(keys, seen))
    known = set(seen.tolist()) if len(unwanted) else set()
    for place in unwanted.tolist():
        for other in rng.integers(len(keys), size=TRIES).tolist():
            one, two = (
                (int(first[place]), int(second[other])),
                (int(first[other]), int(second[place])),
            )
            fresh = [min(pair) * n_items + max(pair) for pair in (one, two)]
            free = not any(key in known or taken[key] for key in fresh)
            if free and fresh[0] != fresh[1] and one[0] != one[1] and two[0] != two[1]:
                taken.subtract((int(keys[place]), int(keys[other])))
                taken.update(fresh)
                keys[place], keys[other] = fresh
                second[[place, other]] = second[[other, place]]
                break


def pair_keys(first: Ints, second: Ints, n_items: int) -> Ints:
    """Return one number for each pair, whichever of its items comes first."""
    return np.minimum(first, second) * n_items + np.maximum(first, second)
