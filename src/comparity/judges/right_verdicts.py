r"""What each judge leans to where the log knows which answer is right.

The right verdict stands for quality, in a logistic regression for each judge: it picks i, shown
first, over j with

.. math:: P = \operatorname{logistic}(d_k t_{ij} + b_k \cdot (x_i - x_j) + c_k)

with t = 1 where i is right and -1 where j is. Errors take prompts as clusters, leaving out one at a
time (:mod:`comparity.inference.logistic`).

If answerers never change seats against each other, :math:`c_k` holds what the judge thinks of them
beside the verdict, and nothing is told of seats. If two columns always go together, such as the
right answer and the first one, nothing is told of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.inference.gap_tests import Interval
from comparity.inference.logistic import logistic_with_clusters
from comparity.judges.answerers import Answers, LeanNumber, Makers, numbers_of
from comparity.judges.log import JudgeLog
from comparity.judges.rates import is_order_fixed
from comparity.judges.wins import (
    EVEN,
    FIRST_SEAT,
    TRUTH,
    JudgeSharpness,
    LeanEstimate,
    LeanFindings,
    estimate_lean,
    is_enough,
    is_seated,
)
from comparity.ranking.connectivity import explains_seats
from comparity.ranking.items import list_first
from comparity.reports.sections import clip

Floats = NDArray[np.float64]

RIGHT = LeanNumber("right", "the right answer", "that is right", np.empty(0))
SEATS_FIXED = (
    "What the first seat is worth with {} is not known: no answerer changed seats against "
    "another, so a seat cannot be told from what the judge thinks of the answerers."
)
GO_TOGETHER = "Nothing is known of what {} makes of {}: they always go together."


class TruthTerm(NamedTuple):
    """A column of the regression, what it is called, and whether the others do not explain it."""

    number: LeanNumber
    column: Floats
    is_told: bool = True


def has_truth(log: JudgeLog) -> bool:
    """Say whether the right verdict is known of most judgments."""
    return bool((np.abs(log.gold) == 1).mean() > 0.5) if len(log) else False


def against_truth(log: JudgeLog, makers: Makers, level: float) -> LeanFindings:
    """Return the leans of judges where the log knows which answer is right."""
    known = (np.abs(log.gold) == 1) & (np.abs(log.verdict) == 1)
    found: list[LeanEstimate] = []
    sharpness: list[JudgeSharpness] = []
    fixed: list[str] = []
    together: list[str] = []
    for code, name in enumerate(log.judges):
        rows = known & (log.judge == code)
        if not is_enough(log, rows):
            continue
        own = log.take(rows)
        terms = _terms_of(own, makers, name)
        told = [*_fit_terms(own, terms, name, makers)]
        sharpness += [_sharpness(one, level) for one in told if one.kind == RIGHT.kind]
        found += [one for one in told if one.kind != RIGHT.kind]
        if untold := [one.number.toward for one in terms if not one.is_told]:
            together.append(GO_TOGETHER.format(clip(name), " and ".join(untold)))
        if _is_seat_fixed(own):
            found = [one for one in found if (one.judge, one.kind) != (name, FIRST_SEAT.kind)]
            fixed.append(clip(name))
    notes = [SEATS_FIXED.format(list_first(fixed))] if fixed else []
    return LeanFindings(tuple(found), (*notes, *together), tuple(sharpness))


def _is_seat_fixed(log: JudgeLog) -> bool:
    """Say whether the answerers alone may explain who was shown first."""
    seats, everything = np.ones(len(log), dtype=np.int64), np.ones(len(log), dtype=bool)
    is_fixed = explains_seats(log.first, log.second, seats, len(log.answerers))
    is_fixed = is_fixed or is_order_fixed(log, everything)
    return is_fixed and bool(is_seated(log).all())


def _terms_of(log: JudgeLog, makers: Makers, judge: str) -> list[TruthTerm]:
    """Return the columns of the regression of one judge."""
    answers = Answers.of(log)
    numbers = numbers_of(log, answers, makers.of(log.answerers), makers.of([judge])).values()
    terms = [
        TruthTerm(RIGHT, log.gold.astype(np.float64)),
        *(TruthTerm(one, answers.difference(one.values)) for one in numbers),
    ]
    if is_seated(log).all():
        terms.append(TruthTerm(FIRST_SEAT, np.ones(len(log))))
    design = np.column_stack([one.column for one in terms])
    rank = np.linalg.matrix_rank(design)
    others = (np.delete(design, place, axis=1) for place in range(len(terms)))
    return [
        one._replace(is_told=bool(np.linalg.matrix_rank(rest) < rank))
        for one, rest in zip(terms, others, strict=True)
    ]


def _fit_terms(
    log: JudgeLog, terms: list[TruthTerm], judge: str, makers: Makers
) -> Iterator[LeanEstimate]:
    """Yield what each column that tells something is worth with a judge."""
    design = np.column_stack([one.column for one in terms])
    fits = zip(*logistic_with_clusters(design, log.verdict == 1, log.prompt), strict=True)
    (maker,) = makers.of([judge])
    for (number, column, is_told), fit in zip(terms, fits, strict=True):
        if is_told:
            against = TRUTH if number.kind not in (RIGHT.kind, FIRST_SEAT.kind) else ""
            prompts = log.prompt[column != 0]
            yield estimate_lean(judge, number.words(maker), against, fit, prompts)._replace(
                told_by=TRUTH
            )


def _sharpness(right: LeanEstimate, level: float) -> JudgeSharpness:
    low, high, _ = right.pivot.interval(level)
    return JudgeSharpness(
        judge=right.judge,
        picks=right.wins,
        interval=Interval(low + EVEN, high + EVEN, level),
        told_by=TRUTH,
    )
