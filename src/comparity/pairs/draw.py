r"""Drawing pairs for each goal; for rankings connected and balanced ones first, then telling ones.

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

from comparity.pairs.options import PairsOptions
from comparity.pairs.strata import Floats, Ints, PairKind, allocate, draw_even_pairs, neyman_shares
from comparity.pairs.study_so_far import Study
from comparity.ranking.connectivity import components
from comparity.ranking.simple_models import bradley_terry

ENOUGH_USES = 2
"""Judgments of each item, on average, before pairs are chosen by what they tell: a circle through
all items has two."""


def draw_for_gap(
    study: Study, kinds: list[PairKind], n: int, options: PairsOptions, rng: np.random.Generator
) -> tuple[DrawnPairs, list[str]]:
    """Draw pairs at random within each kind, as many as reduce the variance of gaps most."""
    agreed, judged = _agreement_by_cell(study, kinds)
    shares = neyman_shares(agreed, judged)
    before = np.bincount(study.kinds_seen(kinds), minlength=len(kinds) + 1)[: len(kinds)]
    drawn = _draw_kinds(study, kinds, allocate(shares, before, n), rng)
    if study.given is None:
        allocation = "Pairs are allocated to kinds as if agreement varied equally in all of them"
    elif study.scores is None:
        allocation = (
            "Without the score that is tested, earlier answers do not show where agreement "
        )
        allocation += "varies most; pairs are allocated to kinds as if it varied equally"
    else:
        allocation = (
            "Pairs are allocated to kinds by how much agreement varied in earlier answers (Neyman)"
        )
    notes = [
        f"{allocation}. Within a kind pairs are drawn at random, so tests of gaps stay valid, "
        "also those with any number of looks (--anytime)."
    ]
    return drawn, notes


def _agreement_by_cell(
    study: Study, kinds: Sequence[PairKind]
) -> tuple[list[Floats], list[Floats]]:
    """Return agreements and judgments by kind and cell; zeros where nothing is known."""
    n_cells = [1 if kind.within else 2 for kind in kinds]
    agreed, judged = [np.zeros(n) for n in n_cells], [np.zeros(n) for n in n_cells]
    if study.given is None or study.scores is None:
        return agreed, judged
    ties = study.given.tied
    decided = np.ones(len(study.given), bool) if ties is None else ~ties
    kind = study.kinds_seen(kinds)
    hit = study.scores[study.first] > study.scores[study.second]
    for place, one in enumerate(kinds):
        inside = decided & (kind == place)
        cell = np.zeros(len(kind), np.int64)
        if not one.within:
            cell = (study.codes[study.first] != study.codes[one.first[0]]).astype(np.int64)
        judged[place] = np.bincount(cell[inside], minlength=n_cells[place]).astype(float)
        agreed[place] = np.bincount(cell[inside & hit], minlength=n_cells[place]).astype(float)
    return agreed, judged


def draw_for_scores(
    study: Study, kinds: list[PairKind], n: int, options: PairsOptions, rng: np.random.Generator
) -> tuple[DrawnPairs, list[str]]:
    """Connect all items first; then draw pairs that tell most of scores, or of leans."""
    whole = sum(kind.n_pairs for kind in kinds)
    given = study.given
    if given is None or len(given) < ENOUGH_USES * study.n_items / 2:
        return _draw_first(study, kinds, n, rng), [
            "These pairs are random: no answer has a say in them. With answers to them (--given), "
            "further pairs are chosen by what they tell."
        ]
    parts = []
    apart = components(given)[0]
    if apart.max() and options.goal == "rank":
        joining = joining_pairs(apart, rng)
        parts.append(DrawnPairs.evenly(joining[0][:n], joining[1][:n], 1 / whole))
        n -= len(parts[0].first)
    ranking = bradley_terry(given)
    if n > 0:
        parts.append(
            informative_pairs(
                kinds,
                n,
                scores=ranking.scores,
                errors=ranking.standard_errors,
                random_share=options.random_share,
                rng=rng,
            )
        )
    return DrawnPairs.join(parts), [
        "Pairs marked chosen were drawn by what they tell, given earlier answers. They are for the "
        "ranking. Tests of gaps and reliability take those marked random, or weigh judgments by "
        "the inverse of the probability."
    ]


def _draw_first(
    study: Study, kinds: list[PairKind], n: int, rng: np.random.Generator
) -> DrawnPairs:
    """Draw pairs that connect the items, each item about as often as any other."""
    if len(kinds) == 1 and kinds[0].within:
        pairs = random_cycles(study.n_items, n, rng)
        return DrawnPairs.evenly(*pairs, 1 / kinds[0].n_pairs)
    shares = np.array([len(kind.first) + len(kind.second) for kind in kinds], dtype=float)
    asked = allocate(shares / shares.sum(), np.zeros(len(kinds), np.int64), n)
    return _draw_kinds(study, kinds, asked, rng)


def _draw_kinds(
    study: Study, kinds: Sequence[PairKind], asked: Ints, rng: np.random.Generator
) -> DrawnPairs:
    """Draw so many pairs of each kind at random, and use all items of a group evenly."""
    uses, parts = study.uses, []
    for kind, number in zip(kinds, asked.tolist(), strict=True):
        if number:
            pairs = draw_even_pairs(kind, number, uses, study.seen, rng)
            uses = uses + np.bincount(np.concatenate(pairs), minlength=len(uses))
            parts.append(DrawnPairs.evenly(*pairs, number / int(asked.sum()) / kind.n_pairs))
    return DrawnPairs.join(parts)


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
