"""Single models between the members of a mixture.

A mixture keeps a goal on average by members that miss it on either side. Linear scores in between,
on the straight lines that join the coefficients of two members, often keep it by themselves, at
about the cost of the mixture; the game need not have come by there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from comparity.mitigation.choices import Choices
from comparity.mitigation.rows import Rows
from comparity.mitigation.training import Candidates, Chosen, single

__all__ = ["between"]

Floats = NDArray[np.float64]

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
