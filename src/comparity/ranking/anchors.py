"""What an anchor needs of the data, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from comparity.errors import AnchorError
from comparity.ranking.connectivity import groups_apart, seats_untold
from comparity.ranking.contrasts import EQUAL_MEANS, Contrasts, words_on_one
from comparity.ranking.likelihood.search import Task
from comparity.tables.frames import text_of


def check_trusted(task: Task, contrasts: Contrasts) -> None:
    """Refuse trusted evaluators whose comparisons do not tell levels of groups, or of the seat."""
    judgments, trusted = task.judgments, task.anchor.trusted
    if not len(trusted):
        return
    reason = ""
    if apart := groups_apart(judgments, contrasts, trusted):
        attribute, group = apart[0]
        reason = f"no comparison of theirs tells how {attribute} {group!r} compares with others"
    elif task.seat_by_evaluator and seats_untold(judgments, trusted):
        reason = "no item changes its seat against others in theirs, to compare seat effects with"
    if reason:
        names = [text_of(name) for name in judgments.evaluators[trusted].tolist()]
        raise AnchorError(names, reason, judgments.evaluators.tolist())


def notes_on_lone(task: Task, contrasts: Contrasts) -> Iterator[str]:
    """Warn of one evaluator, and of groups of one item, whose numbers the anchor alone fixes."""
    if task.judgments.n_evaluators == 1:
        yield words_on_one(task.anchor)
    if task.anchor.kind != EQUAL_MEANS:
        return
    for one in contrasts.attributes:
        sizes = np.bincount(one.codes, minlength=len(one.groups))
        if lone := [name for name, size in zip(one.groups, sizes, strict=True) if size == 1]:
            more = f" and {len(lone) - 5:,} more" if len(lone) > 5 else ""
            yield (
                f"Groups of {one.name} with one item: {', '.join(lone[:5])}{more}; equal group "
                "means put it at the common mean, whatever it is worth."
            )
