"""The methods of Table 1, each from training rows to scores of test rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tasks import Mixture, Task

from comparity import FairRanker
from comparity.training.correlation import CorrelationRanker
from comparity.training.exposure_program import rerank
from comparity.training.score_transforms import monotone_transform
from comparity.training.weigh import debiasing_weights

__all__ = ["METHODS", "POLISHED", "POSTPROCESSED", "UNPOLISHED", "free_ranker", "mixtures"]

# A third of three quarters is held out to choose by: halves and quarters as in the paper.
HELD_OUT = {"validation_fraction": 1 / 3, "progress": False}
POLISHED = ", polished"
"""Ends the name of a method that the package adds a smooth last stretch to; the paper has none."""
UNPOLISHED = (
    "Polished: the same training with the package's smooth last stretch, which the paper has not; "
    "all other numbers are without it."
)
SLOPES = np.arange(0, 5.05, 0.05).tolist()
SHIFTS = (-1.0, -2.0, -5.0, -10.0)
POSTPROCESSED = ("S & J", "S & J (DT)", "K & Z")


def free_ranker(rest: Task, seed: int, **choices: Any) -> Any:
    """Train for the accuracy over all pairs alone."""
    return rest.fitted(
        FairRanker(
            goal=None,
            steps=300,
            continuous=rest.continuous,
            random_state=seed,
            **{**HELD_OUT, **choices},
        )
    )


def _debiased(rest: Task, test: Task, free: Any, seed: int) -> Mixture:
    ranker = FairRanker(goal=None, steps=300, l2=free.l2, random_state=seed, **HELD_OUT)
    weights = debiasing_weights(rest.label.astype(int), sensitive_features=rest.sensitive)
    return test.scored(rest.fitted(ranker, weights))


def _penalised(rest: Task, test: Task, free: Any, seed: int) -> Mixture:
    ranker = CorrelationRanker(
        continuous=rest.continuous, l2=free.l2, random_state=seed, **HELD_OUT
    )
    return test.scored(rest.fitted(ranker))


def _trained(form: str, *, polish: bool) -> Callable[..., Mixture]:
    """Return the game of the paper, in one of its two forms, with what is polished or without."""

    def method(rest: Task, test: Task, free: Any, seed: int) -> Mixture:
        ranker = FairRanker(
            form=form,
            continuous=rest.continuous,
            l2=free.l2,
            polish=polish,
            random_state=seed,
            **HELD_OUT,
        )
        return test.scored(rest.fitted(ranker))

    return method


def _monotone(rest: Task, test: Task, free: Any, seed: int) -> Mixture:
    """Move one group's scores by the slope and shift of the published lists that even out best.

    As the paper puts it, a logistic function of the scores: the other group's stay as they are.
    """
    fit = monotone_transform(
        rest.label,
        free.predict(rest.features),
        sensitive_features=rest.sensitive,
        queries=rest.query,
        slopes=SLOPES,
        shifts=SHIFTS,
        others="unchanged",
    )
    moved = fit.transform(free.predict(test.features), sensitive_features=test.sensitive)
    return Mixture([moved], np.ones(1))


def _exposure_shared(criterion: str) -> Callable[..., Mixture]:
    """Return the method that re-ranks each query by a linear program with the least slack.

    In proportion to the raw scores, negative ones included: of what can be made of scores, that
    comes nearest to the published numbers.
    """

    def method(rest: Task, test: Task, free: Any, seed: int) -> Mixture:
        assert test.query is not None, "exposure is shared out within a query"
        # Equal scores keep their order, and experts stand first in their W3C topics.
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(test.label))
        drawn = np.empty(len(order))
        drawn[order] = rerank(
            free.predict(test.features)[order],
            sensitive_features=test.sensitive[order],
            queries=test.query[order],
            criterion=criterion,
            signed=True,
            rng=rng,
        )
        return Mixture([drawn], np.ones(1))

    return method


METHODS: dict[str, Callable[..., Mixture]] = {
    "Debiased": _debiased,
    "S & J": _exposure_shared("disparate impact"),
    "S & J (DT)": _exposure_shared("disparate treatment"),
    "K & Z": _monotone,
    "B et al.": _penalised,
    "Constr.": _trained("constrained", polish=False),
    "Robust": _trained("robust", polish=False),
    f"Constr.{POLISHED}": _trained("constrained", polish=True),
    f"Robust{POLISHED}": _trained("robust", polish=True),
}


def mixtures(
    rest: Task, test: Task, names: Sequence[str], seed: int, free: Any = None
) -> dict[str, Mixture]:
    """Return the scores of test rows by the unconstrained model and the methods named."""
    ranker = free_ranker(rest, seed) if free is None else free
    found = {"Uncons.": test.scored(ranker)}
    return found | {name: METHODS[name](rest, test, ranker, seed) for name in names}
