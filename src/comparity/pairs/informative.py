r"""Pairs for rankings: connected and balanced ones first, then those that tell most.

What a comparison of items :math:`i` and :math:`j` tells of the difference of their scores is
:math:`p (1 - p)`, with :math:`p` the chance that one is put first. It shrinks the uncertainty of
that difference, of variance :math:`v_{ij}`, by about :math:`\log(1 + p (1 - p) v_{ij})`, which is
the *gain* of a pair. A pair is drawn with a chance in proportion to a power of its gain, mixed with
a share of pairs drawn evenly, so that the chance of every pair is known and positive: judgments
weighted by its inverse are as good as judgments of pairs drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.pairs.strata import Floats, Ints, PairKind

POOL = 20_000
"""Pairs, drawn evenly, among which a block of pairs is chosen."""
POWER = 8
"""How strongly larger gains are preferred."""
BLOCK = 4
"""A block of pairs has as many pairs as a fourth of the items; then gains are updated."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnPairs:
    """Pairs with how they were drawn.

    Attributes
    ----------
    first, second : ndarray of int
        Positions of the items.
    is_random : ndarray of bool
        Whether a pair was drawn without regard to earlier answers.
    probability : ndarray of float
        Chance of asking for the pair rather than another one.
    """

    first: Ints
    second: Ints
    is_random: NDArray[np.bool_]
    probability: Floats

    @classmethod
    def evenly(cls, first: Ints, second: Ints, probability: float) -> DrawnPairs:
        """Return pairs drawn without regard to answers, each with the same chance."""
        n = len(first)
        even = np.full(n, probability)
        return cls(first=first, second=second, is_random=np.ones(n, dtype=bool), probability=even)

    @classmethod
    def join(cls, parts: Sequence[DrawnPairs]) -> DrawnPairs:
        """Return all pairs of several draws."""
        names = ("first", "second", "is_random", "probability")
        return cls(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})


def random_cycles(n_items: int, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the pairs of neighbours in random circles of all items.

    A circle connects all items, and each is in two of its pairs. Of the last circle every other
    pair comes first, so that items are used evenly wherever it is cut.

    Examples
    --------
    >>> first, second = random_cycles(6, 6, np.random.default_rng(0))
    >>> np.bincount(np.concatenate([first, second])).tolist()
    [2, 2, 2, 2, 2, 2]
    """
    places = np.concatenate([np.arange(0, n_items, 2), np.arange(1, n_items, 2)])
    circles = -(-n // n_items)
    orders = rng.permuted(np.tile(np.arange(n_items), (circles, 1)), axis=1)
    first = orders[:, places].reshape(-1)[:n]
    second = orders[:, (places + 1) % n_items].reshape(-1)[:n]
    return first, second


def joining_pairs(components: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return a pair between each two neighbours of a random row of components.

    Parameters
    ----------
    components : ndarray of int
        Component of each item in the graph of comparisons, from 0 on.
    """
    order = rng.permutation(int(components.max()) + 1)
    ends = np.array([rng.choice(np.flatnonzero(components == one)) for one in order])
    return ends[:-1], ends[1:]


def informative_pairs(
    kinds: Sequence[PairKind],
    n: int,
    *,
    scores: Floats,
    errors: Floats,
    random_share: float,
    rng: np.random.Generator,
) -> DrawnPairs:
    """Draw pairs that tell most of scores, each with a chance that is known.

    Parameters
    ----------
    kinds : sequence of PairKind
        The pairs to choose from.
    n : int
    scores, errors : ndarray of float
        Of each item, in log odds.
    random_share : float
        Share of pairs that are drawn evenly.
    rng : numpy.random.Generator
    """
    precision = 1 / np.maximum(errors, 1e-9) ** 2
    block = max(len(scores) // BLOCK, 1)
    parts = []
    while n > 0:
        part, information = _draw_block(kinds, min(block, n), scores, precision, random_share, rng)
        for items in (part.first, part.second):
            np.add.at(precision, items, information)
        parts.append(part)
        n -= len(part.first)
    return DrawnPairs.join(parts)


def _draw_block(
    kinds: Sequence[PairKind],
    n: int,
    scores: Floats,
    precision: Floats,
    random_share: float,
    rng: np.random.Generator,
) -> tuple[DrawnPairs, Floats]:
    """Draw pairs from a fresh pool, and say what each of them tells."""
    first, second, whole = _draw_pool(kinds, rng)
    pool = len(first)
    chance = 1 / (1 + np.exp(-np.abs(scores[first] - scores[second])))
    told = chance * (1 - chance)
    gain = np.log1p(told * (1 / precision[first] + 1 / precision[second])) ** POWER
    chosen = (1 - random_share) * gain / gain.sum()
    total = random_share / pool + chosen
    places = rng.choice(pool, size=n, p=total / total.sum())
    # A pair is in the pool with a chance of `pool` to `whole`, whatever is known of it.
    drawn = DrawnPairs(
        first=first[places],
        second=second[places],
        is_random=rng.random(n) < (random_share / pool / total)[places],
        probability=total[places] * pool / whole,
    )
    return drawn, told[places]


def _draw_pool(kinds: Sequence[PairKind], rng: np.random.Generator) -> tuple[Ints, Ints, int]:
    """Return different pairs drawn evenly from all kinds, and how many pairs there are."""
    ends = np.cumsum([kind.n_pairs for kind in kinds])
    whole = int(ends[-1])
    places = rng.choice(whole, size=min(whole, POOL), replace=False, shuffle=False)
    kind = np.searchsorted(ends, places, side="right")
    first, second = np.empty_like(places), np.empty_like(places)
    for code, one in enumerate(kinds):
        inside = kind == code
        first[inside], second[inside] = one.pair_at(places[inside] - (ends[code] - one.n_pairs))
    return first, second, whole
