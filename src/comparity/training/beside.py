"""Scores under a goal beside simpler ways to it, on rows that none of them has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError, TwoGroupsOnlyError
from comparity.tables.features import LabelledItems
from comparity.training.adjust import ADJUSTMENTS, adjust_model, check_adjustable
from comparity.training.candidates import PreparedRows, goal_terms
from comparity.training.costs import Method, changes
from comparity.training.fitting import TrainingFit
from comparity.training.goals import Choices, Terms, largest_difference, overall
from comparity.training.group_moves import GroupMoves
from comparity.training.models import StochasticScorer
from comparity.training.rows import Rows, Scale, training_rows

Floats = NDArray[np.float64]

TRAINED, MIXTURE = "trained", "trained, mixture"
MOVED = {"shift": "groups shifted", "monotone": "one group moved"}
"""What the methods are called."""


class FreshRows(NamedTuple):
    """Rows to test on, with their pairs.

    Attributes
    ----------
    features : ndarray, (n, p)
    items : LabelledItems
    rows : Rows
        Their pairs.
    terms : tuple of Terms
        What the goals compare.
    predicted : bool
        Whether labels are predicted.
    choices : Choices
        The goals, and how pairs count.
    """

    features: Floats
    items: LabelledItems
    rows: Rows
    terms: tuple[Terms, ...]
    predicted: bool
    choices: Choices

    def method(
        self, name: str, scores: Sequence[Floats], shares: Floats, *, needs_groups: bool = False
    ) -> Method:
        """Return what scores achieve, drawn with these probabilities."""
        rates = shares @ np.array([np.nan_to_num(self.rows.accuracy(one)) for one in scores])
        weight, label = self.items.weight, self.items.label
        errors = [np.average((one - label) ** 2, weights=weight) for one in scores]
        return Method(
            name=name,
            accuracy=float(overall(self.rows.pairs, self.rows.n_cells) @ rates),
            squared_error=float(shares @ errors) if self.predicted else None,
            largest_difference=largest_difference(self.terms, rates),
            needs_groups=needs_groups,
        )

    def mixture(self, name: str, members: StochasticScorer) -> Method:
        """Return what a mixture achieves on average."""
        scores = [one.scores(self.features) for one in members.members]
        return self.method(name, scores, members.probabilities)


def fresh_rows(
    features: Floats, items: LabelledItems, choices: Choices, *, predicted: bool
) -> FreshRows:
    """Lay out the pairs of rows to test on.

    Raises
    ------
    EmptyCellError
        A kind of pair that the goals compare does not occur.
    """
    n, none = len(features), np.zeros(0)
    scale = Scale(centre=none, unit=none)
    rows = training_rows(np.zeros((n, 0)), items, np.arange(n), scale, choices)
    terms = goal_terms(rows, items.groups, choices, name="audited")
    return FreshRows(features, items, rows, terms, predicted, choices)


def simple_moves(
    plain: TrainingFit, ready: PreparedRows, X: Floats, choices: Choices, *, predicted: bool
) -> dict[str, GroupMoves]:
    """Return how to move scores that were trained without a goal, in every way that there is.

    Parameters
    ----------
    plain : TrainingFit
        Trained without a goal.
    ready : PreparedRows
        What it was trained on and chosen by.
    X : ndarray, (n, p)
        Features of these rows.
    choices : Choices
        The goal and the slack.
    predicted : bool
        Whether scores are predictions.

    Returns
    -------
    dict
        By the name of the adjustment; empty where scores cannot be moved for the goal.
    """
    found = {}
    for adjust in ADJUSTMENTS:
        try:
            check_adjustable(adjust, choices, ready.items, predicted=predicted)
        except (OptionError, TwoGroupsOnlyError):
            # Another goal, more than two groups: there is nothing simple to compare with.
            continue
        found[adjust] = adjust_model(adjust, plain.model, plain.training, ready, choices, X)[0]
    return found


def put_beside(
    fresh: FreshRows,
    before: Floats,
    after: Floats,
    fit: TrainingFit,
    moved: Mapping[str, Floats],
    *,
    adjust: str | None,
    seed: int,
) -> dict[str, Any]:
    """Compare a score under a goal with one without and with simpler ways, on fresh rows.

    Parameters
    ----------
    fresh : FreshRows
    before, after : ndarray, (n,)
        Scores of these rows without and with the goal.
    fit : TrainingFit
        What was trained, with its frontier.
    moved : mapping of str to ndarray
        The scores without the goal, moved in simple ways.
    adjust : str or None
        Which of them is the score with the goal, if any.
    seed : int
        Deals rows into parts.

    Returns
    -------
    dict
        The fields of :class:`comparity.training.result.TrainedScorer` that compare.
    """
    how: dict[str, Any] = {"predicted": fresh.predicted, "seed": seed}
    how |= {"average": fresh.choices.average, "pair_weight": fresh.choices.pair_weight}
    one = np.ones(1)
    methods = [fresh.method("without a goal", [before], one)]
    if adjust is None:
        methods.append(fresh.method(TRAINED, [after], one))
        if len(fit.mixture) > 1:
            methods.append(fresh.mixture(MIXTURE, fit.mixture))
    for name, scores in moved.items():
        methods.append(fresh.method(MOVED[name], [scores], one, needs_groups=True))
    against = None
    if adjust is None and "shift" in moved:
        told = changes(fresh.items, moved["shift"], after, **how)
        against = told[-1 if fresh.predicted else 0]
    return {
        "changes": changes(fresh.items, before, after, **how),
        "methods": tuple(methods),
        "frontier": tuple(fresh.mixture(f"slack {at:.3g}", one) for at, one in fit.frontier),
        "against": against,
    }
