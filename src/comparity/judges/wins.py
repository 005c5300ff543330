r"""Leans told in wins: how often a judge picks one of two equally good answers.

A lean of :math:`\beta` logits wins :math:`\operatorname{logistic}(\beta)` of pairs whose answers
are equally good, one half if there is none. A margin is a number of such wins, of 100.

**Seats.** A judge who is shown both orders of a pair picks the first answer with
:math:`\operatorname{logistic}(\pm d + c)`, whatever the lead :math:`d` of the better one. The first
seat wins both times, or the second one does, with odds

.. math:: \frac{P(\text{first both})}{P(\text{second both})} = e^{2c}

so that twins whose winner changed tell :math:`c` without a word about quality or sharpness (ties,
as Davidson has them, change nothing). The share of those won by the first seat has the interval of
all rates here (:mod:`comparity.judges.rates`), and :math:`c` is half its logit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtr, stdtrit

from comparity.inference.clustered_rates import degrees_of_freedom, effective_trials, wilson
from comparity.inference.gap_tests import GapTest, Interval
from comparity.inference.multiplicity import benjamini_hochberg
from comparity.inference.requirement import needed_data
from comparity.judges.answerers import LeanNumber
from comparity.judges.log import JudgeLog
from comparity.judges.rates import find_flips
from comparity.judges.readers import ONE_ORDER, TIE
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

Rows = NDArray[np.bool_]

SEAT = "the first seat"
FIRST_SEAT = LeanNumber("seat", SEAT, "shown first", np.empty(0))
PEOPLE, TRUTH = "people", "the right verdict"
QUALITY, BOTH_ORDERS = "quality", "both orders"
"""What leans are told by, beside the right verdict."""
EVEN = 0.5
NEAR_NONE = 0.1
"""Standard errors from no lean within which the error of wins is that of their interval."""
FEWEST_FLIPS = 5
"""Changed winners below which nothing is told of a seat."""
# Fewest decided judgments and prompts of a judge, for each kind of lean.
FEWEST_JUDGMENTS, FEWEST_PROMPTS = 30, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Lean:
    """How far a judge leans to something, between answers of equal quality.

    Attributes
    ----------
    judge : str
    kind : str
        ``"seat"``, ``"length"``, ``"style"``, ``"refusal"``, ``"self"`` (the judge's own maker) or
        ``"family"`` (another one's).
    toward : str
        What it leans to.
    step : str
        Which of two answers `wins` is about, such as "that is twice as long".
    wins : float
        How often the judge would pick that one of two equally good answers.
    interval : Interval
    p_value : float
    q_value : float
        Corrected over all leans told (Benjamini and Hochberg).
    against : str
        Who has no lean by assumption: people, the right verdict or a judge. Nobody for a seat,
        unless it is told by quality.
    told_by : str
        ``"both orders"`` of pairs (seats alone), ``"the right verdict"`` in the log, or
        ``"quality"`` as the model of all judgments has it.
    judgments, prompts : int
        Those in which the answers differ in it; of a seat the pairs whose winner changed with the
        order, and all prompts with pairs in both.
    finding : str
        Within the margin, by itself; violated where the q value is small; otherwise undecided.
    needed : tuple of int, or None
        Prompts in all that would decide with a power of 80 %, if the lean is what was found and if
        it is zero; none where it is decided.
    """

    judge: str
    kind: str
    toward: str
    step: str
    wins: float
    interval: Interval
    p_value: float
    q_value: float
    against: str
    told_by: str
    judgments: int
    prompts: int
    finding: str = UNDECIDED
    needed: tuple[int, int] | None = None


class WinsPivot(ABC):
    """A test of how often one of two equally good answers wins, by Student's distribution."""

    freedom: float

    @abstractmethod
    def statistic(self, hypothesised: float) -> float:
        """Return the distance from a hypothesised gap to one half, in standard errors."""

    @abstractmethod
    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        return float(2 * stdtr(self.freedom, -abs(self.statistic(hypothesised))))

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        return float(stdtr(self.freedom, self.statistic(hypothesised)))

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        return float(stdtr(self.freedom, -self.statistic(hypothesised)))


@dataclass(frozen=True, slots=True)
class LogitPivot(WinsPivot):
    """A lean in logits with its error."""

    logit: float
    error: float
    freedom: float

    def statistic(self, hypothesised: float) -> float:
        """Return the distance from a hypothesised gap to one half, in standard errors."""
        return (self.logit - float(logit(EVEN + hypothesised))) / self.error

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        half = float(stdtrit(self.freedom, (1 + level) / 2)) * self.error
        low, high = expit([self.logit - half, self.logit + half]).tolist()
        return Interval(low - EVEN, high - EVEN, level)


@dataclass(frozen=True, slots=True)
class FlipsPivot(WinsPivot):
    """The share of changed winners that the first seat won, and how many trials it is worth."""

    share: float
    trials: float
    freedom: float

    def statistic(self, hypothesised: float) -> float:
        """Return the distance from a hypothesised gap to one half, in standard errors."""
        odds = 2 * float(logit(EVEN + hypothesised))
        share = float(expit(odds))
        # Where the hypothesis is all or nothing, only a share that is too counts for it.
        error = math.sqrt(max(share * (1 - share), 1e-300) / self.trials)
        return (self.share - share) / error

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        ends = wilson(self.share, self.trials, self.freedom, level)
        low, high = expit(logit(ends[:2]) / 2).tolist()
        return Interval(low - EVEN, high - EVEN, level)


class LeanEstimate(NamedTuple):
    """A lean with its test, and how much tells of it."""

    judge: str
    kind: str
    toward: str
    step: str
    against: str
    wins: float
    pivot: WinsPivot
    p_value: float
    judgments: int
    prompts: int
    told_by: str = QUALITY

    @property
    def _error_of_wins(self) -> float:
        """The error of the wins themselves, for plans: with it the lean is as far from none."""
        distance = self.pivot.statistic(0.0)
        if abs(distance) > NEAR_NONE:
            return (self.wins - EVEN) / distance
        ends = self.pivot.interval(0.95)
        return (ends.high - ends.low) / (2 * float(stdtrit(self.pivot.freedom, 0.975)))

    @property
    def test(self) -> GapTest:
        """The hypothesis that equally good answers win equally often."""
        error = self._error_of_wins
        return GapTest(
            null=f"wins with {self.judge} of the answer {self.step} = 50 of 100",
            gap=self.wins - EVEN,
            standard_error=error,
            p_value=self.p_value,
            n=(self.judgments, self.judgments),
            method="t, prompts as clusters",
            pivot=self.pivot,
            shared_variance=error**2,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSharpness:
    """How often a judge picks the better one of two answers, whatever else they are.

    Attributes
    ----------
    judge : str
        Or people, all together.
    picks : float
        Of answers one SD of quality apart, on a prompt of median spread; where the log knows the
        right verdict, how often it picks the right one.
    interval : Interval
    taste : float
        SD of the judge's own opinions of answers, in SDs of quality: what it is consistent in that
        others do not share. 0 for people, who define quality; ``nan`` with a right verdict, and
        for a judge with one judgment of each prompt.
    told_by : str
        ``"the right verdict"`` or ``"quality"``: by which of them an answer is better.
    """

    judge: str
    picks: float
    interval: Interval
    taste: float = math.nan
    told_by: str = QUALITY


class LeanFindings(NamedTuple):
    """What judges lean to, and what else the model of quality tells.

    `estimates` are the leans with their tests, `quality` is how much better each answerer's answers
    are than those they met, and `lifts` is what each kind of lean adds to it, over all judgments.
    """

    estimates: tuple[LeanEstimate, ...] = ()
    notes: tuple[str, ...] = ()
    sharpness: tuple[JudgeSharpness, ...] = ()
    quality: Mapping[str, float] = MappingProxyType({})
    lifts: Mapping[str, Mapping[str, float]] = MappingProxyType({})

    def leans(self, level: float = 0.95, margin: float = 0.05) -> tuple[Lean, ...]:
        """Return the leans with intervals, q values, findings and what would decide."""
        return tell_leans([*self.estimates], level, margin)


def estimate_lean(
    judge: str,
    words: tuple[str, str, str],
    against: str,
    logit_and_error: tuple[float, float],
    prompts: NDArray[np.int32],
) -> LeanEstimate:
    """Return a lean in logits; `words` are its kind, what it is to and the answer with more of it.

    By Student's distribution, for `prompts`, those of the judgments that tell of it, are few.
    """
    value, error = logit_and_error
    by_prompt = np.bincount(prompts)
    freedom = degrees_of_freedom(by_prompt)
    pivot = LogitPivot(value, error, freedom)
    return LeanEstimate(
        judge,
        *words,
        against,
        wins=float(expit(value)),
        pivot=pivot,
        p_value=pivot.p_value(0.0) if error else math.nan,
        judgments=len(prompts),
        prompts=int(np.sum(by_prompt > 0)),
    )


def seat_leans(log: JudgeLog) -> Iterator[LeanEstimate]:
    """Yield what the first seat is worth with each judge who was shown both orders."""
    is_person = np.isin(log.judges, log.people)
    for code in np.flatnonzero(~is_person).tolist():
        twins, first, second = find_flips(log, log.judge == code)
        flips = first + second
        kept = flips > 0
        if flips.sum() < FEWEST_FLIPS or kept.sum() < 2:
            continue
        share = float(first.sum() / flips.sum())
        worth, freedom = effective_trials(first[kept], flips[kept]), degrees_of_freedom(flips[kept])
        pivot = FlipsPivot(share, worth, freedom)
        yield LeanEstimate(
            log.judges[code],
            *("seat", SEAT, "shown first", ""),
            wins=float(expit(logit(share) / 2)),
            pivot=pivot,
            p_value=pivot.p_value(0.0),
            judgments=int(flips.sum()),
            prompts=int(np.sum(twins > 0)),
            told_by=BOTH_ORDERS,
        )


def tell_leans(found: list[LeanEstimate], level: float, margin: float) -> tuple[Lean, ...]:
    """Return leans with intervals, q values, findings and what would decide.

    Parameters
    ----------
    found : list of LeanEstimate
    level : float
        Of the intervals; what is missing to one is the error rate.
    margin : float
        Largest harmless lean, as a share of even pairs.
    """
    alpha = 1 - level
    adjusted = benjamini_hochberg(np.array([one.p_value for one in found]))
    # The p value with which one lean more would be found, beside those that are.
    tested, leaning = int(np.sum(~np.isnan(adjusted))), int(np.sum(adjusted < alpha))
    local_alpha = alpha * min(leaning + 1, tested) / max(tested, 1)
    return tuple(
        _tell(one, float(q), (alpha, local_alpha), margin)
        for one, q in zip(found, adjusted.tolist(), strict=True)
    )


def _tell(one: LeanEstimate, q_value: float, alphas: tuple[float, float], margin: float) -> Lean:
    alpha, local_alpha = alphas
    ends = one.pivot.interval(1 - alpha)
    facts = {name: getattr(one, name) for name in one._fields if name != "pivot"}
    lean = Lean(
        **facts,
        interval=Interval(ends.low + EVEN, ends.high + EVEN, 1 - alpha),
        q_value=q_value,
    )
    if one.test.equivalence_p_value(margin) <= alpha:
        return replace(lean, finding=WITHIN)
    if q_value < alpha:
        return replace(lean, finding=VIOLATED)
    needed = needed_data(
        one.test,
        margin=margin,
        alpha=alpha,
        local_alpha=local_alpha,
        n=one.judgments,
        n_items=one.prompts,
    )
    return replace(lean, needed=None if needed is None else needed.items)


def is_enough(log: JudgeLog, rows: Rows) -> bool:
    """Say whether there are enough decided judgments of enough prompts."""
    decided = rows & (log.verdict != TIE)
    prompts = len(np.unique(log.prompt[decided]))
    return int(decided.sum()) >= FEWEST_JUDGMENTS and prompts >= FEWEST_PROMPTS


def is_seated(log: JudgeLog) -> Rows:
    """Say which judgments tell who was shown first."""
    seated: Rows = log.seated & (log.orders == ONE_ORDER)
    return seated
