r"""Choosing by rows held out and rows trained on; single models between those of a mixture.

Rows held out are honest and few: on 1,250 queries of 11 candidates, a tenth of them of one group,
a difference of accuracies is uncertain by 0.02, and a mixture that is to keep a slack of 0.01 there
misses it elsewhere by as much. Training rows are more, and flatter what learned them by heart. A
rate :math:`a` is estimated by

.. math:: (1 - w) \, a_{held} + w \, a_{trained}, \qquad
    w = \frac{n_{trained}}{n} \min\left(1, \frac{V}{\max(0, D)^2}\right)

with :math:`D` how much kinder training rows are and :math:`V` its variance if nothing were learned
by heart; of two such D, in what training pushed and in the accuracy over all pairs, the one that
leaves less. So every row counts alike while D is no larger than chance makes it. Beyond that,
:math:`D^2 - V` estimates the square of what was learned by heart, and w makes the expected square
of the error least. That training rows are harsher is chance.

A mixture keeps a goal on average by members that miss it on either side. Linear scores in between,
on the straight lines that join the coefficients of two members, often keep it by themselves, at
about the cost of the mixture; the game need not have come by there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import all_pairs
from comparity.counts.ordered_pairs import ordered_pairs
from comparity.counts.query_pairs import query_pairs
from comparity.inference.dyadic import rate_covariance
from comparity.tables.items import LabelledItems
from comparity.training.goals import Choices, differences, overall
from comparity.training.rows import Rows, group_names, taken
from comparity.training.solve import Candidates, Chosen, choice, minima, single

__all__ = [
    "Part",
    "between",
    "pooled",
    "training_share",
]


Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


class Part(NamedTuple):
    """Rows trained on or held out.

    Attributes
    ----------
    rows : Rows
        With their pairs.
    items : LabelledItems
        Labels, groups, queries and weights of all rows of both parts.
    kept : ndarray of int
        Which of the items are in this part.
    """

    rows: Rows
    items: LabelledItems
    kept: Codes


def pooled(
    found: Candidates, picked: Chosen, trained: Part, held: Part, choices: Choices
) -> Chosen:
    """Choose again by accuracies on both parts; objectives stay those of the rows held out.

    Parameters
    ----------
    found : Candidates
    picked : Chosen
        What rows held out alone would choose.
    trained, held : Part
        Rows trained on and held out.
    choices : Choices

    Returns
    -------
    Chosen
        `picked` itself where there is nothing to pool: no goal, no rows held out, a network or
        trees, which learn rows by heart in the course of a game, or statistical parity, of which
        no variance is known here.
    """
    rows, by = trained.rows, held.rows
    alike = rows is not by and rows.pairs.cells == by.pairs.cells and rows.parity is None
    if not picked.terms or found.kind.from_nothing or not alike:
        return picked
    here = np.array([rows.accuracy(scores) for scores in found.scores(rows)])
    share = training_share(found, picked, here, trained, held, choices)
    judged = picked.accuracy + share * np.nan_to_num(here - picked.accuracy)
    return choice(
        picked.accuracy,
        picked.objective,
        picked.terms,
        by,
        choices,
        judged=judged,
        training_share=share,
    )


def training_share(
    found: Candidates, picked: Chosen, here: Floats, trained: Part, held: Part, choices: Choices
) -> float:
    """Return how much the training rows weigh, from 0 to 1.

    How much kinder they are is seen in the mixture that they alone would choose, which rows held
    out had no part in. The variance is that on the rows held out, by the theory of all pairs, and
    on rows trained on as much less as there are more of them. Where it is unknown, as with a
    single query, training rows weigh nothing.

    Parameters
    ----------
    found : Candidates
    picked : Chosen
        What rows held out alone would choose.
    here : ndarray, (S, C)
        Accuracies on the rows trained on, by candidate.
    trained, held : Part
        Rows trained on and held out.
    choices : Choices
    """
    whole = overall(held.rows.pairs, held.rows.n_cells)
    kinder = np.array([_pushed(found, picked, held.rows, choices), -whole])
    alone = choice(here, picked.objective, picked.terms, held.rows, choices).mixture
    models, many = [found.models[one] for one in alone.members], alone.probabilities
    apart = kinder @ (many @ np.nan_to_num(picked.accuracy - here)[alone.members])
    items = taken(held.items, held.kept)
    # Members share rows; the mean of their variances is the most that of their mean can be.
    covariance = [_covariance(items, one) for one in found.kind.scores(models, held.rows)]
    share = len(trained.kept) / (len(trained.kept) + len(held.kept))
    variance = np.diag(kinder @ np.tensordot(many, covariance, axes=1) @ kinder.T) / share
    if variance.min() <= 0:
        return 0.0
    return float(share * (variance / np.maximum(variance, np.maximum(apart, 0.0) ** 2)).min())


def _pushed(found: Candidates, picked: Chosen, by: Rows, choices: Choices) -> Floats:
    """Return what training lowered, as coefficients of accuracies.

    Differences count by how far the first candidate, least squares, misses the slack; rates to be
    raised by what the referee gave them.
    """
    if choices.robust:
        raised: Floats = found.multipliers @ np.vstack(minima(by, picked.terms, choices))
        return -raised
    rises = differences(picked.terms)[0]
    missed = rises @ np.nan_to_num(picked.accuracy[0]) - choices.slack
    weights = np.maximum(missed, 0.0) if missed.max() > 0 else (missed == missed.max()) * 1.0
    lowered: Floats = weights @ rises
    return lowered


def _covariance(items: LabelledItems, scores: Floats) -> Floats:
    """Return the covariance of the accuracies of all cells; 0 in cells without pairs."""
    y, query, weights = items.label, items.query, items.weight
    if items.value is not None:
        sharing = ordered_pairs(y, scores, items.value, query=query, weights=weights).sharing
    else:
        columns = (y, scores, items.group, group_names(items.group, items.groups))
        if query is None:
            sharing = all_pairs(*columns, weights=weights).sharing
        else:
            sharing = query_pairs(*columns, query, weights=weights).sharing
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(rate_covariance(sharing))


STEPS = 20
"""So many models are tried between two members."""


MEMBERS = 3
"""Lines join the members that are drawn most often."""


def between(
    found: Candidates, picked: Chosen, rows: Rows, by: Rows, choices: Choices
) -> tuple[Candidates, Chosen]:
    """Choose the best single model again, among linear scores between members of the mixture, too.

    Parameters
    ----------
    found : Candidates
    picked : Chosen
        The mixture is kept as it is.
    rows, by : Rows
        Rows trained on and held out.
    choices : Choices

    Returns
    -------
    Candidates, Chosen
        As given for the robust form, whose mixtures raise little, for networks and trees, and
        where the mixture is one model.
    """
    alone = len(picked.mixture.members) < 2
    if not picked.terms or choices.robust or found.kind.from_nothing or alone:
        return found, picked
    drawn = picked.mixture
    often = drawn.members[np.argsort(-drawn.probabilities, kind="stable")[:MEMBERS]]
    found, picked = _joined(found, picked, often, rows, by)
    best = single(picked.judged, picked.objective, picked.terms, by, choices)
    return found, replace(picked, best=best)


def _joined(
    found: Candidates, picked: Chosen, ends: NDArray[np.int64], rows: Rows, by: Rows
) -> tuple[Candidates, Chosen]:
    """Add the models on the lines between some."""
    models = [found.models[one] for one in ends]
    shares = np.arange(1, STEPS + 1) / (STEPS + 1)
    new = [(1 - t) * one + t * other for one, other in combinations(models, 2) for t in shares]
    scores = list(found.kind.scores(new, by))
    accuracy = np.array([by.accuracy(one) for one in scores])
    objective = [by.objective(*pair) for pair in zip(scores, accuracy, strict=True)]
    judged = accuracy
    if picked.training_share:
        here = np.array([rows.accuracy(one) for one in found.kind.scores(new, rows)])
        judged = accuracy + picked.training_share * np.nan_to_num(here - accuracy)
    more = replace(
        picked,
        accuracy=np.vstack([picked.accuracy, accuracy]),
        objective=np.append(picked.objective, objective),
        judged=np.vstack([picked.judged, judged]),
    )
    return replace(found, models=(*found.models, *new)), more
