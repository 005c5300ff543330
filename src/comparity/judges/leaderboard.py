"""Answerers ranked by all judgments, with errors that take prompts as clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.inference.gap_tests import Interval
from comparity.judges.log import JudgeLog
from comparity.judges.rates import PromptRate, count_by_prompt, rate_of
from comparity.judges.readers import FIRST, NO_VERDICT, ONE_ORDER, SECOND, TIE
from comparity.ranking.connectivity import explains_seats
from comparity.ranking.result import Ranking
from comparity.ranking.simple_models import bradley_terry

Rows = NDArray[np.bool_]

MOST_STANDINGS = 200
FEWEST_JUDGES = 30
"""Judges from which on they are a sample of judges, and clusters beside prompts."""
# With more answerers than this, nobody looks up who beat whom.
MOST_OPPONENTS = 20
EVEN, LOGIT = 1000.0, 400 / math.log(10)
"""Elo's scale: where the mean is put, and what a logit is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An answerer on the leaderboard.

    Attributes
    ----------
    answerer : str
    judgments : int
    wins : PromptRate
        Share of decided judgments that it won.
    score : float
        Bradley-Terry, in logits, with the seats taken into account where they are known.
    interval : Interval
        Of the score; prompts are clusters.
    ranks : tuple of int
        The best and the worst rank it can have; all these intervals hold together.
    against : mapping of str to PromptRate
        Share of decided judgments won, by opponent.
    without_leans : int or None
        Rank by the quality that is left when the judges' leans are taken out, where these are told.
    with_lean : mapping of str to int
        Rank by that quality and one kind of lean, on average over all judgments.
    """

    answerer: str
    judgments: int
    wins: PromptRate
    score: float
    interval: Interval
    ranks: tuple[int, int]
    against: Mapping[str, PromptRate]
    without_leans: int | None = None
    with_lean: Mapping[str, int] = field(default_factory=dict)

    DERIVED: ClassVar[Mapping[str, str]] = {"elo": "elo"}

    @property
    def elo(self) -> float:
        """The score on Elo's scale: 1000 is the mean, 400 more win ten times as often."""
        return EVEN + LOGIT * self.score


def rank_answerers(
    log: JudgeLog,
    level: float,
    quality: Mapping[str, float],
    lifts: Mapping[str, Mapping[str, float]],
) -> tuple[Standing, ...]:
    """Rank the answerers by all judgments, the best first, where the log says who answered.

    Parameters
    ----------
    log : JudgeLog
    level : float
        Of all intervals.
    quality : mapping of str to float
        Of answerers, with the judges' leans taken out, where they are told.
    lifts : mapping of str to mapping
        What each kind of lean adds to it.
    """
    n = len(log.answerers)
    valid = log.verdict != NO_VERDICT
    # Where answers go by their texts, each answerer has one: nobody to rank.
    few = not 2 <= n <= MOST_STANDINGS or len(log.prompts) * 2 < n
    if few or not np.isin(log.verdict, (FIRST, SECOND)).any():
        return ()
    log = log.take(valid)
    second = log.verdict == SECOND
    better = np.where(second, log.second, log.first)
    worse = np.where(second, log.first, log.second)
    ranking = _fit(log, better, worse)
    ends, ranks = ranking.score_intervals(level), ranking.rank_intervals(level)
    plain = _ranks(quality)
    lifted = {
        kind: _ranks({name: quality[name] + more[name] for name in quality})
        for kind, more in lifts.items()
    }
    found = []
    for code in ranking.ranking.tolist():
        met = (log.first == code) | (log.second == code)
        decided, won = met & (log.verdict != TIE), better == code
        other = np.where(log.first == code, log.second, log.first)
        rivals = np.unique(other[decided]).tolist() if n <= MOST_OPPONENTS else []
        name = log.answerers[code]
        standing = Standing(
            answerer=name,
            judgments=int(met.sum()),
            wins=_share(log, decided, won, level),
            score=float(ranking.scores[code]),
            interval=Interval(float(ends[code, 0]), float(ends[code, 1]), level),
            ranks=(int(ranks[code, 0]), int(ranks[code, 1])),
            against={
                log.answerers[rival]: _share(log, decided & (other == rival), won, level)
                for rival in rivals
            },
            without_leans=plain.get(name),
            with_lean={kind: ranks[name] for kind, ranks in lifted.items() if name in ranks},
        )
        found.append(standing)
    return tuple(found)


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Return places from the largest value down."""
    return {name: k for k, name in enumerate(sorted(values, key=lambda one: -values[one]), 1)}


def _fit(log: JudgeLog, better: NDArray[np.int32], worse: NDArray[np.int32]) -> Ranking:
    """Return the ranking by Bradley and Terry, with seats where these can be told."""
    n = len(log.answerers)
    shown = log.seated & (log.orders == ONE_ORDER)
    seats = np.where(shown, np.where(better == log.first, 1, -1), 0)
    items = better.astype(np.int64), worse.astype(np.int64)
    told = None if explains_seats(*items, seats, n) else seats

    def fit(cluster: NDArray[Any] | None) -> Ranking:
        pairs, tied = np.stack(items, axis=1), log.verdict == TIE
        return bradley_terry(pairs, n_items=n, ties=tied, seats=told, cluster=cluster)

    by_prompt = fit(log.prompt if len(np.unique(log.prompt)) > 1 else None)
    if len(np.unique(log.judge)) < FEWEST_JUDGES:
        return by_prompt
    # Prompts and judges at once (Cameron, Gelbach and Miller, 2011).
    both = log.prompt.astype(np.int64) * len(log.judges) + log.judge
    one, two, shared = (found.standard_errors for found in (by_prompt, fit(log.judge), fit(both)))
    errors = np.sqrt(np.maximum(one**2 + two**2 - shared**2, np.maximum(one, two) ** 2))
    return replace(by_prompt, standard_errors=errors)


def _share(log: JudgeLog, decided: Rows, won: Rows, level: float) -> PromptRate:
    trials = count_by_prompt(log.prompt, decided, len(log.prompts))
    hits = count_by_prompt(log.prompt, decided & won, len(log.prompts))
    return rate_of(hits, trials, level)
