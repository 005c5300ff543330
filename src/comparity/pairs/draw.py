"""Drawing pairs for each goal, from what is known of a study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from comparity.pairs.informative import (
    DrawnPairs,
    informative_pairs,
    joining_pairs,
    random_cycles,
)
from comparity.pairs.options import PairsOptions
from comparity.pairs.strata import (
    Floats,
    Ints,
    PairKind,
    allocate,
    draw_even_pairs,
    neyman_shares,
)
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
        allocation = "Kinds are allocated as if agreement varied equally in all of them"
    elif study.scores is None:
        allocation = "Without the score that is tested, earlier answers do not say where agreement "
        allocation += "varies most; kinds are allocated as if it varied equally"
    else:
        allocation = "Kinds are allocated by how much agreement varied in earlier answers (Neyman)"
    notes = [
        f"{allocation}. Within a kind pairs are random, whatever the answers, so that tests of "
        "gaps hold, also those that may be read at any time."
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
