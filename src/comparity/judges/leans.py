r"""What each judge leans to, given how good the answers are.

With quality :math:`s_i` of answer i, sharpness :math:`g_k` of judge k and what is known of answers
in :math:`x_i`, judge k picks i, shown first, over j with

.. math:: P = \operatorname{logistic}\big(g_k (s_i - s_j + b_k \cdot (x_i - x_j)) + c_k\big)

(:func:`comparity.barp` with numbers and a sharpness of each judge). Data tell how judges differ in
:math:`b_k`; its zero is an assumption. Where people judged the same pairs it is that people do not
lean; otherwise that the sharpest judge does not. Then a preference that all of them share is not
seen, and whether a judge prefers its own family is not told. (The mean of all judges would be a
worse zero: what a judge who hardly decides by quality gives to length is, in units of quality,
large and hardly known.)

Where a log knows the right verdict, quality is not estimated: the verdict stands for it,

.. math:: P = \operatorname{logistic}(d_k t_{ij} + b_k \cdot (x_i - x_j) + c_k)

with t = 1 where i is right and -1 where j is. Errors take prompts as clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import t

from comparity.inference.gap_tests import Interval
from comparity.inference.logistic import logistic_with_clusters
from comparity.inference.multiplicity import benjamini_hochberg
from comparity.judges.answers import Answers, LeanNumber, Makers, evaluators_of, numbers_of
from comparity.judges.log import JudgeLog
from comparity.judges.readers import NO_VERDICT, ONE_ORDER, SECOND, TIE
from comparity.ranking.anchors import ZERO_MEAN
from comparity.ranking.barp import barp
from comparity.ranking.connectivity import explains_seats
from comparity.ranking.result import BiasedRanking
from comparity.ranking.sharpness import errors_if_zero

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]

PEOPLE, TRUTH = "people", "the right verdict"
SEAT = "the first seat"
# Fewest decided judgments and prompts of a judge, for each kind of lean.
FEWEST_JUDGMENTS, FEWEST_PROMPTS = 30, 10
MOST_WORK = 3e8
"""Comparisons times answers up to which a fit is one of seconds; beyond, some prompts are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lean:
    """How far a judge leans to something, between answers of equal quality.

    Attributes
    ----------
    judge : str
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
        Who has no lean by assumption: people, the right verdict or a judge; nobody for a seat.
    judgments : int
        Those in which the answers differ in it.
    """

    judge: str
    toward: str
    step: str
    wins: float
    interval: Interval
    p_value: float
    q_value: float
    against: str
    judgments: int


class LeanFindings(NamedTuple):
    """What judges lean to, notes, and the mean quality of each answerer's answers without it."""

    leans: tuple[Lean, ...] = ()
    notes: tuple[str, ...] = ()
    quality: Mapping[str, float] = MappingProxyType({})


def find_leans(
    log: JudgeLog, level: float = 0.95, *, families: Mapping[str, str] | None = None
) -> LeanFindings:
    """Return what judges lean to, what could not be told, and quality without the leans.

    Parameters
    ----------
    log : JudgeLog
    level : float
        Of the intervals.
    families : mapping of str to str, optional
        Makers of models by patterns of their names, beside those that are known.
    """
    makers = Makers(families or {})
    kept = (log.verdict != NO_VERDICT) & (log.first != log.second)
    if not log.people and _has_truth(log):
        found = [*_against_truth(log.take(kept), makers, level)]
        return LeanFindings(_correct(found))
    log, notes = _within_work(log.take(kept))
    judge = evaluators_of(log)
    names = np.array([PEOPLE, *log.judges])
    enough = [code for code in np.unique(judge).tolist() if _is_enough(log, judge == code)]
    if len(enough) < 2:
        return LeanFindings()
    log, judge = log.take(np.isin(judge, enough)), judge[np.isin(judge, enough)]
    has_people = bool((judge == 0).any())
    answers = Answers.of(log)
    own = makers.of(names[[code for code in enough if code]].tolist()) if has_people else []
    numbers = numbers_of(log, answers, makers.of(log.answerers), own)
    if not has_people:
        notes += _words_on_families(makers, log)
    if not numbers:
        return LeanFindings(notes=notes)
    values = {name: one.values for name, one in numbers.items()}
    trusted, fitted = _fit_quality(log, answers, names[judge], values)

    def told(name: str, one: Floats) -> NDArray[np.int32]:
        prompts: NDArray[np.int32] = log.prompt[
            (names[judge] == name) & (answers.difference(one) != 0)
        ]
        return prompts

    found = [*_by_quality(fitted, trusted, numbers, told, level)]
    sums, uses = (np.bincount(answers.answerer, one) for one in (fitted.scores, None))
    quality = {log.answerers[k]: float(sums[k] / uses[k]) for k in np.flatnonzero(uses)}
    return LeanFindings(_correct(found), notes, quality)


def _is_enough(log: JudgeLog, rows: Rows) -> bool:
    decided = rows & (log.verdict != TIE)
    prompts = len(np.unique(log.prompt[decided]))
    return int(decided.sum()) >= FEWEST_JUDGMENTS and prompts >= FEWEST_PROMPTS


def _has_truth(log: JudgeLog) -> bool:
    return bool((np.abs(log.gold) == 1).mean() > 0.5) if len(log) else False


def _within_work(log: JudgeLog) -> tuple[JudgeLog, tuple[str, ...]]:
    """Return the judgments of as many prompts as can be fitted in seconds, evenly chosen."""
    share = (MOST_WORK / max(1, len(log) * len(Answers.of(log).answerer))) ** 0.5
    if share >= 1:
        return log, ()
    n = len(log.prompts)
    chosen = np.floor(np.arange(n) * share) != np.floor((np.arange(n) + 1) * share)
    note = f"Leans given quality are told from {int(chosen.sum()):,} of {n:,} prompts."
    return log.take(chosen[log.prompt]), (note,)


def _words_on_families(makers: Makers, log: JudgeLog) -> tuple[str, ...]:
    """Say that a preference for one's own family is not told, where somebody might have one."""
    shared = {*makers.of(log.judges)} & {*makers.of(log.answerers)} - {""}
    if not shared:
        return ()
    return (
        f"Judges and answerers of one maker ({', '.join(sorted(shared))}): whether a judge prefers "
        "its own family is not identified without people's verdicts or a truth, because better "
        "answers of that family would look the same.",
    )


def _fit_quality(
    log: JudgeLog, answers: Answers, judge: NDArray[np.str_], numbers: Mapping[str, Floats]
) -> tuple[str, BiasedRanking]:
    """Fit quality, leans and sharpness together; return who has no lean, and the fit."""
    second, n = log.verdict == SECOND, len(answers.answerer)
    better = np.where(second, answers.second, answers.first)
    worse = np.where(second, answers.first, answers.second)
    seats = np.where(log.seated & (log.orders == ONE_ORDER), np.where(second, -1, 1), 0)

    def fit(own: str) -> BiasedRanking:
        told = [
            not explains_seats(better[rows], worse[rows], seats[rows], n)
            for rows in (slice(None), judge == own)
        ]
        return barp(
            np.stack([better, worse], axis=1),
            evaluators=judge,
            numbers=numbers,
            anchor=[own] if own else ZERO_MEAN,
            ties=log.verdict == TIE,
            seats=seats if told[0] else None,
            seat_by_evaluator=told[0] and (told[1] or not own),
            cluster=log.prompt if own else None,
            sharpness="own",
        )

    trusted = PEOPLE if (judge == PEOPLE).any() else _sharpest(fit(""))
    return trusted, fit(trusted)


def _by_quality(
    fitted: BiasedRanking,
    trusted: str,
    numbers: Mapping[str, LeanNumber],
    told: Callable[[str, Floats], NDArray[np.int32]],
    level: float,
) -> Iterator[Lean]:
    """Yield the leans of a fit; `told` gives the prompts that tell of a judge and a number."""
    sharpness = fitted.sharpness
    assert sharpness is not None
    size = np.abs(sharpness.values)[:, None]
    logits = size * fitted.bias
    errors = size * errors_if_zero(fitted.bias, fitted.bias_standard_errors, sharpness)
    for k, name in enumerate(fitted.evaluators.tolist()):
        for place, number in enumerate(numbers.values()):
            prompts = told(name, number.values)
            if name != trusted and len(prompts):
                found = LeanEstimate(float(logits[k, place]), float(errors[k, place]), prompts)
                yield found.told(str(name), number, trusted, level)


def _sharpest(fitted: BiasedRanking) -> str:
    """Return the evaluator with the largest sharpness."""
    assert fitted.sharpness is not None
    return str(fitted.evaluators[int(np.argmax(fitted.sharpness.values))])


class LeanEstimate(NamedTuple):
    """A lean in logits, its error, and the prompts of the judgments that tell of it."""

    logit: float
    error: float
    prompts: NDArray[np.int32]

    def told(self, judge: str, number: LeanNumber, against: str, level: float) -> Lean:
        """Return the lean in wins, by Student's distribution: prompts are few, judgments many."""
        by_prompt = np.bincount(self.prompts)
        freedom = max(1.0, float(by_prompt.sum()) ** 2 / float(by_prompt @ by_prompt) - 1)
        half = float(t.ppf(0.5 + level / 2, freedom)) * self.error
        low, high = expit(self.logit - half), expit(self.logit + half)
        p_value = float(2 * t.sf(abs(self.logit) / self.error, freedom)) if self.error else math.nan
        return Lean(
            judge=judge,
            toward=number.toward,
            step=number.step,
            wins=float(expit(self.logit)),
            interval=Interval(float(low), float(high), level),
            p_value=p_value,
            q_value=math.nan,
            against=against,
            judgments=len(self.prompts),
        )


def _correct(found: list[Lean]) -> tuple[Lean, ...]:
    adjusted = benjamini_hochberg(np.array([one.p_value for one in found]))
    return tuple(
        replace(one, q_value=float(q)) for one, q in zip(found, adjusted.tolist(), strict=True)
    )


def _against_truth(log: JudgeLog, makers: Makers, level: float) -> Iterator[Lean]:
    """Yield the leans of judges where the log knows which answer is right."""
    known = (np.abs(log.gold) == 1) & (np.abs(log.verdict) == 1)
    for code, name in enumerate(log.judges):
        rows = known & (log.judge == code)
        if not _is_enough(log, rows):
            continue
        own = log.take(rows)
        answers = Answers.of(own)
        numbers = numbers_of(own, answers, makers.of(log.answerers), makers.of([name]))
        told = [*numbers.values()]
        columns = [answers.difference(one.values) for one in told]
        if (own.seated & (own.orders == ONE_ORDER)).all():
            told.append(LeanNumber(SEAT, "shown first", np.empty(0)))
            columns.append(np.ones(len(own)))
        design = np.column_stack([own.gold.astype(np.float64), *columns])
        logits, errors = logistic_with_clusters(design, own.verdict == 1, own.prompt)
        for one, column, logit, error in zip(told, columns, logits[1:], errors[1:], strict=True):
            found = LeanEstimate(logit, error, own.prompt[column != 0])
            yield found.told(name, one, "" if one.toward == SEAT else TRUTH, level)
