"""A goal kept after training, by moving the scores of two groups, in place of training for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError, TwoGroupsOnlyError
from comparity.tables.columns import check_option
from comparity.tables.features import LabelledItems
from comparity.training.candidates import PreparedRows
from comparity.training.goals import Choices
from comparity.training.group_moves import GroupMoves
from comparity.training.group_shift import group_shift
from comparity.training.losses import labelled_pairs
from comparity.training.models import Model
from comparity.training.result import Outcome, Training
from comparity.training.rows import take_items
from comparity.training.score_transforms import monotone_transform

Floats = NDArray[np.float64]

ADJUSTMENTS = ("shift", "monotone")
"""How scores may be moved."""
KEPT = 1e-6
"""A slack missed by less is kept."""


def check_adjustable(
    adjust: Any, choices: Choices, items: LabelledItems, *, predicted: bool
) -> None:
    """Refuse what scores cannot be moved for.

    Raises
    ------
    OptionError, TwoGroupsOnlyError
        Another goal than cross-group, the robust form, a number in place of groups, items in no
        group, a monotone transform of predictions; more than two groups.
    """
    check_option("adjust", adjust, ADJUSTMENTS)
    facts = {
        "the goal is not cross-group alone": choices.goals != ("cross-group",),
        "in the robust form no difference is limited": choices.robust,
        "the attribute is a number, which has no groups": items.value is not None,
        "some items are in no group": bool((items.group >= len(items.groups)).any()),
        "items have weights": items.weight is not None,
        "pairs do not count alike": not choices.counts_alike,
    }
    if adjust == "monotone":
        facts["a monotone transform keeps an order and no predictions"] = predicted
    for why, holds in facts.items():
        if holds:
            raise OptionError("adjust", adjust, ["None, which trains for the goal"], why)
    if len(items.groups) != 2:
        raise TwoGroupsOnlyError("moving scores of groups", items.groups)


def fit_moves(adjust: str, items: LabelledItems, scores: Floats, slack: float) -> GroupMoves:
    """Find how to move scores so that accuracies across two groups are within a slack.

    Parameters
    ----------
    adjust : {"shift", "monotone"}
        See :func:`comparity.training.group_shift.group_shift` and
        :func:`comparity.training.score_transforms.monotone_transform`.
    items : LabelledItems
        Two groups.
    scores : ndarray
    slack : float
    """
    columns: dict[str, Any] = {
        "sensitive_features": np.array(items.groups)[items.group],
        "queries": items.query,
        "slack": slack,
    }
    ones = dict.fromkeys(items.groups, 1.0)
    if adjust == "shift":
        shift = group_shift(items.label, scores, **columns)
        return GroupMoves(slopes=ones, shifts=dict(shift.shifts))
    found = monotone_transform(items.label, scores, **columns)
    nothing = dict.fromkeys(items.groups, 0.0)
    return GroupMoves(
        slopes=ones | {found.adjusted: found.slope}, shifts=nothing | {found.adjusted: found.shift}
    )


def adjust_model(
    adjust: str, model: Model, training: Training, ready: PreparedRows, choices: Choices, X: Floats
) -> tuple[GroupMoves, Training]:
    """Move the scores of a model that was trained without a goal, and tell of it.

    Parameters
    ----------
    adjust : {"shift", "monotone"}
    model : Model
    training : Training
        Of the model.
    ready : PreparedRows
        What it was trained on and chosen by. A linear score is moved by all rows, a network or
        trees, which learn rows by heart, by those it was chosen by.
    choices : Choices
        The goal and the slack.
    X : ndarray, (n, p)
        Features of all rows.
    """
    scores, every = model.scores(X), np.arange(len(X))
    used = every if training.scorer == "linear" else ready.held
    by = take_items(ready.items, used)
    moves = fit_moves(adjust, by, scores[used], choices.slack)
    groups = np.array(ready.items.groups)[ready.items.group]
    moved = moves.transform(scores, sensitive_features=groups)
    start, best = (
        _outcome(one[used], take_items(ready.items, used), ready) for one in (scores, moved)
    )
    told = replace(
        training,
        goals=choices.goals,
        slack=choices.slack,
        feasible=best.largest_difference <= choices.slack + KEPT,
        best=best,
        mixture=best,
        start=start,
        rows={**training.rows, "chosen by": len(used)},
    )
    return moves, told


def _outcome(scores: Floats, items: LabelledItems, ready: PreparedRows) -> Outcome:
    """Return accuracy, error and rates of scores that are in the units of labels."""
    pairs = labelled_pairs(items.label, items.group, items.groups, query=items.query)
    rates = pairs.sums(scores).accuracy
    across = {str(pairs.cells[at]): float(rates[at]) for at in (1, 2)}
    error = float(np.mean((scores - items.label) ** 2)) if ready.rows.target is not None else None
    return Outcome(
        accuracy=float(np.nansum(pairs.trials * rates) / pairs.trials.sum()),
        squared_error=error,
        terms=across,
        largest_difference=float(abs(rates[1] - rates[2])),
    )
