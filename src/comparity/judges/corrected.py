"""Win rates as people see them, from many judgments of a judge and few of people.

A unit is a pair of answers. What people said of it is their mean vote for an answerer (a tie counts
half), what the judge said its own, over both orders. People's pairs correct what the judge gets
wrong in all of them (:mod:`comparity.inference.prediction_powered`), prompts being clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.inference.prediction_powered import PoweredMean, powered_mean
from comparity.judges.agreement import Verdicts
from comparity.judges.log import JudgeLog

Floats = NDArray[np.float64]

MOST_ANSWERERS = 50
"""With more answerers than this, win rates are not corrected one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """How often people would prefer an answerer, of all pairs that a judge saw.

    Attributes
    ----------
    judge : str
    answerer : str
        Whose wins.
    wins : PoweredMean
    """

    judge: str
    answerer: str
    wins: PoweredMean


def correct_by_people(log: JudgeLog, level: float = 0.95) -> tuple[CorrectedRate, ...]:
    """Return the win rates of each judge's pairs, corrected by people's verdicts on some of them.

    Nothing where no people judged, or they judged every pair, or pairs of fewer than ten prompts.
    """
    if not log.people or len(log.answerers) > MOST_ANSWERERS:
        return ()
    return tuple(_correct_each(log, level))


def _correct_each(log: JudgeLog, level: float) -> Iterator[CorrectedRate]:
    verdicts = Verdicts(log)
    is_person = np.isin(log.judges, log.people)[log.judge]
    votes = _mean_votes(verdicts, is_person)
    low, high = _answerers_of_pairs(log, verdicts.n_pairs)
    for code, name in enumerate(log.judges):
        if name in log.people:
            continue
        said = _mean_votes(verdicts, log.judge == code)
        for answerer, answerer_name in enumerate(log.answerers):
            met = ~np.isnan(said) & ((low == answerer) | (high == answerer))
            turned = high[met] == answerer
            labels, predictions = (
                np.where(turned, 1 - one[met], one[met]) for one in (votes, said)
            )
            wins = powered_mean(labels, predictions, verdicts.prompt_of_pair[met], level=level)
            if wins is not None:
                yield CorrectedRate(judge=name, answerer=answerer_name, wins=wins)


def _mean_votes(verdicts: Verdicts, rows: NDArray[np.bool_]) -> Floats:
    """Return the mean vote for the first answerer of each pair; ``nan`` where nobody voted."""
    counts = verdicts.count(rows, seats=False)
    n = counts.sum(1)
    votes: Floats = np.full(len(counts), np.nan)
    votes[n > 0] = (counts[n > 0, 0] + counts[n > 0, 2] / 2) / n[n > 0]
    return votes


def _answerers_of_pairs(log: JudgeLog, n_pairs: int) -> tuple[NDArray[np.int64], ...]:
    """Return the two answerers of each pair, the one with the smaller code first."""
    both = np.zeros((2, n_pairs), dtype=np.int64)
    both[0, log.pair] = np.minimum(log.first, log.second)
    both[1, log.pair] = np.maximum(log.first, log.second)
    return both[0], both[1]
