r"""The leaderboard: answerers ranked by all judgments, by Bradley and Terry.

Errors take prompts as clusters, and judges, too, where these are many: then they are a sample of
others, but for those with more than a tenth of all judgments. A prompt that holds much of
what is known of an answerer fits its own judgments, so that their residuals say little. With
:math:`w_{ca}` the share of prompt c in the judgments of answerer a, and :math:`s_a^{(-c)}` its
score without that prompt, the variance of the score :math:`s_a` is that of the fit plus

.. math:: \sum_c \big(1 - (1 - w_{ca})^2\big) \big(s_a^{(-c)} - s_a\big)^2

over the prompts with more than a tenth of the judgments of some answerer: of a mean this is what
leaving out prompts gives. Quantiles are Student's with the degrees of freedom of each answerer's
prompts (:mod:`comparity.inference.clustered_rates`); who was judged on one prompt has no interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from comparity.inference.gap_tests import Interval
from comparity.judges.log import JudgeLog
from comparity.judges.rates import PromptRate, Rows, count_by_prompt, rate_of
from comparity.judges.readers import FIRST, NO_VERDICT, ONE_ORDER, SECOND, TIE
from comparity.ranking.connectivity import explains_seats
from comparity.ranking.items import list_first
from comparity.ranking.result import Ranking
from comparity.ranking.simple_models import bradley_terry
from comparity.reports.sections import clip

Floats = NDArray[np.float64]

MOST_STANDINGS = 200
FEWEST_JUDGES = 30
"""Judges from which on they are a sample of judges, and clusters beside prompts."""
# With more answerers than this, no matrix of wins is made.
MOST_OPPONENTS = 20
EVEN, LOGIT = 1000.0, 400 / math.log(10)
"""Elo's scale: where the mean is put, and what a logit is worth."""
LARGE_SHARE, FEWEST_IN_LARGE, MOST_LARGE = 0.1, 5, 50
"""Share of an answerer's judgments, and number, from which a prompt is left out; how many are."""
ONE_SIDED = (
    "Of some answerers others never won, or they never won of others ({}): a prior keeps their "
    "scores finite, and their intervals do not say how much further out they may be."
)
APART = (
    "Answerers are in {} parts that were never compared with each other: scores and ranks of "
    "different parts cannot be compared."
)


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
        Of the score; prompts are clusters. ``nan`` where all judgments are of one prompt.
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


class Leaderboard(NamedTuple):
    """Answerers, the best first, and what the reader must know."""

    standings: tuple[Standing, ...] = ()
    notes: tuple[str, ...] = ()


def rank_answerers(
    log: JudgeLog,
    level: float,
    quality: Mapping[str, float],
    lifts: Mapping[str, Mapping[str, float]],
) -> Leaderboard:
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
    decided = np.isin(log.verdict, (FIRST, SECOND)).any()
    if not 2 <= len(log.answerers) <= MOST_STANDINGS or not decided or _are_nameless(log):
        return Leaderboard()
    log = log.take(log.verdict != NO_VERDICT)
    ranking, freedom = _rank(log)
    ends, ranks = _intervals(ranking, freedom, level)
    plain = _ranks(quality)
    lifted = {
        kind: _ranks({name: quality[name] + more[name] for name in quality})
        for kind, more in lifts.items()
    }
    standings = tuple(
        replace(
            _wins(log, code, level),
            score=float(ranking.scores[code]),
            interval=Interval(float(ends[code, 0]), float(ends[code, 1]), level),
            ranks=(int(ranks[code, 0]), int(ranks[code, 1])),
            without_leans=plain.get(name),
            with_lean={kind: ranks[name] for kind, ranks in lifted.items() if name in ranks},
        )
        for code in ranking.ranking.tolist()
        for name in log.answerers[code : code + 1]
    )
    return Leaderboard(standings, tuple(_notes(ranking, log)))


def _wins(log: JudgeLog, code: int, level: float) -> Standing:
    """Return what an answerer won, without a score."""
    met = (log.first == code) | (log.second == code)
    decided = met & (log.verdict != TIE)
    won = log.verdict == np.where(log.first == code, FIRST, SECOND)
    other = np.where(log.first == code, log.second, log.first)
    few = len(log.answerers) <= MOST_OPPONENTS
    return Standing(
        answerer=log.answerers[code],
        judgments=int(met.sum()),
        wins=_share(log, decided, won, level),
        score=math.nan,
        interval=Interval(math.nan, math.nan, level),
        ranks=(0, 0),
        against={
            log.answerers[rival]: _share(log, decided & (other == rival), won, level)
            for rival in (np.unique(other[decided]).tolist() if few else [])
        },
    )


def _intervals(ranking: Ranking, freedom: Floats, level: float) -> tuple[Floats, NDArray[Any]]:
    """Return intervals of scores, and the ranks each may have, with Student's quantiles."""
    n, errors = len(ranking.scores), ranking.standard_errors
    # Those of ranks have normal quantiles, with the level shared over all others.
    shared = (1 + level ** (1 / (n - 1))) / 2
    wider, widest = (
        replace(ranking, standard_errors=stdtrit(freedom, at) / stdtrit(np.inf, at) * errors)
        for at in ((1 + level) / 2, shared)
    )
    return wider.score_intervals(level), widest.rank_intervals(level)


def _notes(ranking: Ranking, log: JudgeLog) -> Iterator[str]:
    """Yield what the graph of comparisons does not tell."""
    found = ranking.diagnosis
    if found.n_components > 1:
        yield APART.format(found.n_components)
    elif found.is_separated:
        ends = np.union1d(found.undefeated, found.winless).tolist()
        names = [clip(log.answerers[code]) for code in ends]
        yield ONE_SIDED.format(list_first(names) if names else "none alone")


def _are_nameless(log: JudgeLog) -> bool:
    """Say whether answers go by their texts: of several prompts most answerers met only one."""
    both = np.r_[log.first, log.second].astype(np.int64) * len(log.prompts)
    answered = np.unique(both + np.r_[log.prompt, log.prompt]) // len(log.prompts)
    met = np.unique(answered, return_counts=True)[1]
    return len(log.prompts) > 1 and float(np.median(met)) == 1


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Return places from the largest value down."""
    return {name: k for k, name in enumerate(sorted(values, key=lambda one: -values[one]), 1)}


def _rank(log: JudgeLog) -> tuple[Ranking, Floats]:
    """Return the ranking with errors by prompt (and judge), and degrees of freedom."""
    by_prompt, freedom = _fit_by(log, log.prompt)
    n = len(log.judges)
    is_large = np.bincount(log.judge, minlength=n) > LARGE_SHARE * len(log)
    if len(np.unique(log.judge[~is_large[log.judge]])) < FEWEST_JUDGES:
        return by_prompt, freedom
    # Prompts and judges at once (Cameron, Gelbach and Miller, 2011). Who made a large part of all
    # judgments is no sample of others: what it says on a prompt is a cluster of its own.
    both = (log.prompt.astype(np.int64) + 1) * n + log.judge
    by_judge, other_freedom = _fit_by(log, np.where(is_large[log.judge], both, log.judge))
    one, two, shared = (one.standard_errors for one in (by_prompt, by_judge, _fit(log, both)))
    errors = np.sqrt(np.maximum(one**2 + two**2 - shared**2, np.maximum(one, two) ** 2))
    return replace(by_prompt, standard_errors=errors), np.minimum(freedom, other_freedom)


def _fit_by(log: JudgeLog, cluster: NDArray[np.integer]) -> tuple[Ranking, Floats]:
    """Return the ranking with errors by cluster, and degrees of freedom of each answerer."""
    n = len(log.answerers)
    names, code = np.unique(cluster, return_inverse=True)
    both = np.r_[log.first, log.second] * np.int64(len(names)) + np.r_[code, code]
    keys, counts = np.unique(both, return_counts=True)
    who, where = np.divmod(keys, len(names))
    total = np.maximum(np.bincount(who, counts, n), 1.0)
    freedom = np.maximum(total**2 / np.maximum(np.bincount(who, counts**2.0, n), 1.0) - 1, 1.0)
    # Who was judged in one cluster only may have any score for all that others would say.
    in_one = np.bincount(who, minlength=n) < 2
    fitted = _fit(log, cluster if len(names) > 1 else None)
    variance = fitted.standard_errors**2
    share = np.where(in_one[who] | (counts < FEWEST_IN_LARGE), 0.0, counts / total[who])
    order = np.argsort(-share, kind="stable")
    large = dict.fromkeys(where[order[share[order] > LARGE_SHARE]].tolist())
    for place in [*large][:MOST_LARGE]:
        moved = _fit(log.take(code != place), None).scores - fitted.scores
        held = np.bincount(who, (where == place) * counts, n) / total
        variance = variance + (1 - (1 - held) ** 2) * moved**2
    return replace(fitted, standard_errors=np.where(in_one, np.nan, np.sqrt(variance))), freedom


def _fit(log: JudgeLog, cluster: NDArray[Any] | None) -> Ranking:
    """Return the ranking by Bradley and Terry, with seats where these can be told."""
    second, n = log.verdict == SECOND, len(log.answerers)
    better = np.where(second, log.second, log.first).astype(np.int64)
    worse = np.where(second, log.first, log.second).astype(np.int64)
    shown = log.seated & (log.orders == ONE_ORDER)
    seats = np.where(shown, np.where(second, -1, 1), 0)
    told = None if explains_seats(better, worse, seats, n) else seats
    pairs, tied = np.stack([better, worse], axis=1), log.verdict == TIE
    return bradley_terry(pairs, n_items=n, ties=tied, seats=told, cluster=cluster)


def _share(log: JudgeLog, decided: Rows, won: Rows, level: float) -> PromptRate:
    trials = count_by_prompt(log.prompt, decided, len(log.prompts))
    hits = count_by_prompt(log.prompt, decided & won, len(log.prompts))
    return rate_of(hits, trials, level)
