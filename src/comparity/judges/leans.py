r"""What each judge leans to, given how good the answers are.

With quality :math:`s_i` of answer i, sharpness :math:`g_k` of judge k and what is known of answers
in :math:`x_i`, judge k picks i, shown first, over j with

.. math:: P = \operatorname{logistic}\big(g_k (s_i - s_j + b_k \cdot (x_i - x_j)) + c_k\big)

(:func:`comparity.barp` with numbers and a sharpness of each judge). Data tell how judges differ in
:math:`b_k`; its zero is an assumption. Where people judged the same pairs it is that people do not
lean; otherwise that the sharpest judge does not. Then a preference that all of them share is not
seen, and whether a judge prefers its own family is not told. (The mean of all judges would be a
worse zero: what a judge who hardly decides by quality gives to length is, in units of quality,
large and hardly known.) A judge who is trusted by name takes the place of the sharpest.

Where a log knows the right verdict, quality is not estimated: the verdict stands for it,

.. math:: P = \operatorname{logistic}(d_k t_{ij} + b_k \cdot (x_i - x_j) + c_k)

with t = 1 where i is right and -1 where j is. Errors take prompts as clusters.

What the first seat is worth is told by pairs in both orders, where there are any
(:mod:`comparity.judges.wins`), and by these models otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from comparity.errors import OptionError
from comparity.inference.gap_tests import Interval
from comparity.inference.logistic import logistic_with_clusters
from comparity.judges.answerers import Answers, LeanNumber, Makers, evaluators_of, numbers_of
from comparity.judges.log import JudgeLog
from comparity.judges.rates import NOWHERE
from comparity.judges.readers import NO_VERDICT, ONE_ORDER, SECOND, TIE
from comparity.judges.wins import (
    SEAT,
    Lean,
    LeanEstimate,
    estimate_lean,
    seat_leans,
    tell_leans,
)
from comparity.ranking.anchors import ZERO_MEAN
from comparity.ranking.barp import barp
from comparity.ranking.connectivity import explains_seats
from comparity.ranking.fit_report import errors_if_zero
from comparity.ranking.result import BiasedRanking

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]

PEOPLE, TRUTH = "people", "the right verdict"
FIRST_SEAT = LeanNumber("seat", SEAT, "shown first", np.empty(0))
# Fewest decided judgments and prompts of a judge, for each kind of lean.
FEWEST_JUDGMENTS, FEWEST_PROMPTS = 30, 10
MOST_WORK = 3e8
"""Comparisons times answers up to which a fit is one of seconds; beyond, some prompts are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSharpness:
    """How often a judge picks the better one of two answers, whatever else they are.

    Attributes
    ----------
    judge : str
        Or people, all together.
    picks : float
        Of answers one SD of quality apart; where the log knows the right verdict, how often it
        picks the right one.
    interval : Interval
        Known where the log knows the right verdict.
    """

    judge: str
    picks: float
    interval: Interval


class LeanFindings(NamedTuple):
    """What judges lean to, and what else the model of quality tells.

    `estimates` are the leans with their tests, `quality` is the mean quality of each answerer's
    answers, and `lifts` is what each kind of lean adds to it, over all judgments.
    """

    estimates: tuple[LeanEstimate, ...] = ()
    notes: tuple[str, ...] = ()
    sharpness: tuple[JudgeSharpness, ...] = ()
    quality: Mapping[str, float] = MappingProxyType({})
    lifts: Mapping[str, Mapping[str, float]] = MappingProxyType({})

    def leans(self, level: float = 0.95, margin: float = 0.05) -> tuple[Lean, ...]:
        """Return the leans with intervals, q values, findings and what would decide."""
        return tell_leans([*self.estimates], level, margin)


def find_leans(
    log: JudgeLog,
    level: float = 0.95,
    *,
    families: Mapping[str, str] | None = None,
    trusted: str = "",
) -> LeanFindings:
    """Return what judges lean to, what could not be told, and quality without the leans.

    Parameters
    ----------
    log : JudgeLog
    level : float
        Of the intervals of sharpness.
    families : mapping of str to str, optional
        Makers of models by patterns of their names, beside those that are known.
    trusted : str
        The judge who does not lean, by assumption; by default people, and without people the
        sharpest judge.
    """
    makers = Makers(families or {})
    if trusted and trusted not in log.judges:
        raise OptionError("trusted", trusted, [", ".join(map(repr, log.judges[:10]))])
    log = log.take((log.verdict != NO_VERDICT) & (log.first != log.second))
    seats = (*seat_leans(log),)
    has_truth = not log.people and not trusted and _has_truth(log)
    found = (
        _against_truth(log, makers, level) if has_truth else _given_quality(log, makers, trusted)
    )
    # Pairs in both orders tell more of a seat, and assume less.
    told = {one.judge for one in seats}
    others = [one for one in found.estimates if one.kind != "seat" or one.judge not in told]
    return found._replace(estimates=(*seats, *others))


def _given_quality(log: JudgeLog, makers: Makers, trusted: str) -> LeanFindings:
    """Return the leans of judges against people, a trusted judge or the sharpest one."""
    log, notes = _within_work(log)
    panel = QualityPanel.of(log)
    if not panel.has_people:
        notes += _words_on_families(makers, log)
    if len(panel.names) < 2 or (trusted and trusted not in panel.names):
        return LeanFindings(notes=notes)
    log, answers = panel.log, Answers.of(panel.log)
    own = makers.of(one for one in panel.names if one != PEOPLE) if panel.has_people else []
    numbers = numbers_of(log, answers, makers.of(log.answerers), own)
    if not numbers:
        return LeanFindings(notes=notes)
    zero, fitted = _fit_quality(panel, answers, numbers, trusted)
    estimates = (*_by_quality(panel, answers, fitted, zero, numbers, makers),)
    sums, uses = (np.bincount(answers.answerer, one) for one in (fitted.scores, None))
    present = np.flatnonzero(uses)
    quality = {log.answerers[k]: float(sums[k] / uses[k]) for k in present}
    lifts: dict[str, dict[str, float]] = {}
    share = np.array([float(np.mean(panel.judge == name)) for name in fitted.evaluators])
    for place, number in enumerate(numbers.values()):
        mean = np.bincount(answers.answerer, number.values) / np.maximum(uses, 1)
        lift = float(share @ fitted.bias[:, place]) * (mean - mean[present].mean())
        lifts[number.toward] = {log.answerers[k]: float(lift[k]) for k in present}
    return LeanFindings(estimates, notes, (*_sharpness_of(fitted),), quality, lifts)


class QualityPanel(NamedTuple):
    """Judgments of those who made enough, with who judged: people all together."""

    log: JudgeLog
    judge: NDArray[np.str_]
    names: tuple[str, ...]

    @classmethod
    def of(cls, log: JudgeLog) -> QualityPanel:
        """Return the judgments of people, and of each judge with enough of them."""
        code, names = evaluators_of(log), np.array([PEOPLE, *log.judges])
        enough = [one for one in np.unique(code).tolist() if _is_enough(log, code == one)]
        kept = np.isin(code, enough)
        return cls(log.take(kept), names[code[kept]], tuple(names[enough].tolist()))

    @property
    def has_people(self) -> bool:
        """Whether people judged enough to tell quality by."""
        return PEOPLE in self.names


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
    panel: QualityPanel, answers: Answers, numbers: Mapping[str, LeanNumber], trusted: str
) -> tuple[str, BiasedRanking]:
    """Fit quality, leans and sharpness together; return who has no lean, and the fit."""
    log, judge, n = panel.log, panel.judge, len(answers.answerer)
    second = log.verdict == SECOND
    better = np.where(second, answers.second, answers.first)
    worse = np.where(second, answers.first, answers.second)
    seats = np.where(_is_seated(log), np.where(second, -1, 1), 0)

    def fit(own: str) -> BiasedRanking:
        told = [
            not explains_seats(better[rows], worse[rows], seats[rows], n)
            for rows in (slice(None), judge == own)
        ]
        return barp(
            np.stack([better, worse], axis=1),
            evaluators=judge,
            numbers={name: one.values for name, one in numbers.items()},
            anchor=[own] if own else ZERO_MEAN,
            ties=log.verdict == TIE,
            seats=seats if told[0] else None,
            seat_by_evaluator=told[0] and (told[1] or not own),
            cluster=log.prompt if own else None,
            sharpness="own",
        )

    zero = trusted or (PEOPLE if panel.has_people else _sharpest(fit("")))
    return zero, fit(zero)


def _is_seated(log: JudgeLog) -> Rows:
    """Say which judgments tell who was shown first."""
    seated: Rows = log.seated & (log.orders == ONE_ORDER)
    return seated


def _by_quality(
    panel: QualityPanel,
    answers: Answers,
    fitted: BiasedRanking,
    zero: str,
    numbers: Mapping[str, LeanNumber],
    makers: Makers,
) -> Iterator[LeanEstimate]:
    """Yield the leans of a fit, of everybody but `zero`."""
    sharpness = fitted.sharpness
    assert sharpness is not None
    size = np.abs(sharpness.values)[:, None]
    errors = errors_if_zero(fitted.bias, fitted.bias_standard_errors, sharpness)
    known = [*numbers.values()]
    # Seats come last, in logits, where everybody has an effect of their own.
    scale = np.repeat(size, fitted.bias.shape[1], axis=1)
    if has_seats := fitted.bias.shape[1] > len(known):
        scale[:, -1] = 1.0
    differ = [answers.difference(one.values) != 0 for one in known] + [_is_seated(panel.log)]
    for k, name in enumerate(map(str, fitted.evaluators)):
        for place, number in enumerate([*known, FIRST_SEAT] if has_seats else known):
            prompts = panel.log.prompt[(panel.judge == name) & differ[place]]
            if name == zero or not len(prompts):
                continue
            lean = float(scale[k, place] * fitted.bias[k, place])
            error = float(scale[k, place] * errors[k, place])
            yield estimate_lean(
                name, number.words(makers.of([name])[0]), zero, (lean, error), prompts
            )


def _sharpness_of(fitted: BiasedRanking) -> Iterator[JudgeSharpness]:
    assert fitted.sharpness is not None
    picks = expit(fitted.sharpness.values)
    for name, value in zip(map(str, fitted.evaluators), picks.tolist(), strict=True):
        # Its error in the fit is about the other judges' and takes prompts for independent.
        yield JudgeSharpness(judge=name, picks=value, interval=NOWHERE)


def _sharpest(fitted: BiasedRanking) -> str:
    """Return the evaluator with the largest sharpness."""
    assert fitted.sharpness is not None
    return str(fitted.evaluators[int(np.argmax(fitted.sharpness.values))])


def _against_truth(log: JudgeLog, makers: Makers, level: float) -> LeanFindings:
    """Return the leans of judges where the log knows which answer is right."""
    known = (np.abs(log.gold) == 1) & (np.abs(log.verdict) == 1)
    found: list[LeanEstimate] = []
    sharpness = []
    for code, name in enumerate(log.judges):
        rows = known & (log.judge == code)
        if not _is_enough(log, rows):
            continue
        own, maker = log.take(rows), makers.of([name])[0]
        answers = Answers.of(own)
        told = [*numbers_of(own, answers, makers.of(log.answerers), [maker]).values()]
        columns = [answers.difference(one.values) for one in told]
        if _is_seated(own).all():
            told.append(FIRST_SEAT)
            columns.append(np.ones(len(own)))
        design = np.column_stack([own.gold.astype(np.float64), *columns])
        fits = zip(*logistic_with_clusters(design, own.verdict == 1, own.prompt), strict=True)
        right = estimate_lean(name, ("", "", ""), "", next(fits), own.prompt)
        low, high, _ = right.pivot.interval(level)
        interval = Interval(low + 0.5, high + 0.5, level)
        sharpness.append(JudgeSharpness(judge=name, picks=right.wins, interval=interval))
        for one, column, fit in zip(told, columns, fits, strict=True):
            against = "" if one.kind == "seat" else TRUTH
            prompts = own.prompt[column != 0]
            found.append(estimate_lean(name, one.words(maker), against, fit, prompts))
    return LeanFindings(tuple(found), sharpness=tuple(sharpness))
