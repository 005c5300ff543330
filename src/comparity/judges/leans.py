r"""What each judge leans to, given how good the answers are.

With quality :math:`s_i` of answer i, sharpness :math:`g_k` of judge k and what is known of answers
in :math:`x_i`, judge k picks i, shown first, over j with

.. math:: P = \operatorname{logistic}\big(g_k (q_{ki} - q_{kj})
          + \lambda_k \cdot (x_i - x_j) + c_k\big)

where :math:`q_{ki} = s_i + \tau_k e_{ki}` is the quality that the judge sees, with opinions e of
its own, and prompts differ in how far apart the qualities of their answers are
(:mod:`comparity.ranking.lots`). Quality is what people find, so that they, all together, have no
opinions beside it. Data tell how judges differ in :math:`\lambda_k`, given quality;
its zero is an assumption. Where people judged the same pairs it is that people do not lean;
otherwise that the sharpest judge does not. Then a preference that all of them share is not seen,
and whether a judge prefers its own family is not told. A judge who is trusted by name takes this
place, and is assumed not to prefer its own family, either.

Where a log knows the right verdict, quality is not estimated: the verdict stands for it
(:mod:`comparity.judges.right_verdicts`).

What the first seat is worth is told by pairs in both orders, where there are any
(:mod:`comparity.judges.wins`), and by these models otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.inference.gap_tests import Interval
from comparity.judges.answerers import (
    FEWEST_UNEVEN,
    Answers,
    LeanNumber,
    Makers,
    keep_known,
    note_families,
    numbers_of,
)
from comparity.judges.log import JudgeLog
from comparity.judges.quality_panel import QualityPanel
from comparity.judges.rates import is_order_fixed
from comparity.judges.readers import NO_VERDICT, SECOND, TIE
from comparity.judges.right_verdicts import against_truth, has_truth
from comparity.judges.wins import (
    EVEN,
    FEWEST_JUDGMENTS,
    FEWEST_PROMPTS,
    FIRST_SEAT,
    PEOPLE,
    JudgeSharpness,
    LeanEstimate,
    LeanFindings,
    estimate_lean,
    is_enough,
    is_seated,
    seat_leans,
)
from comparity.ranking.connectivity import explains_seats
from comparity.ranking.items import list_first
from comparity.ranking.likelihood.lot_likelihood import Lots
from comparity.ranking.lots import LotFit, fit_lots
from comparity.reports.sections import clip

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_JUDGMENTS = 20_000
"""Judgments up to which a fit is one of seconds; beyond, some are taken."""
FEWEST_TAKEN = 40
"""Prompts that are then all taken, where there are no more."""
GOLDEN_RATIO = (math.sqrt(5) - 1) / 2
"""Its multiples, without whole numbers, lie evenly between 0 and 1."""
NOT_CONVERGED = (
    "The fit of leans did not converge: leans, sharpness and quality without leans may be off. "
    "Judgments of more prompts help."
)
FEW_OF_TRUSTED = (
    "{} is trusted, but decided too little: leans against a judge need "
    f"{FEWEST_JUDGMENTS} decided judgments of it, of {FEWEST_PROMPTS} prompts."
)
OPPOSED = (
    "{}: of two answers the worse one is picked more often. Check whether these verdicts name the "
    "loser, or the winner's seat the other way round."
)
JUDGED_ONCE = (
    "One judgment of each prompt by {}: opinions of their own cannot be told from chance. A judge "
    "with strong opinions may then seem to lean by one or two wins of 100. Both orders of each "
    "pair tell the two apart."
)


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
        Who does not lean, by assumption; by default people, or else the sharpest judge.
    """
    makers = Makers(families or {})
    if trusted and trusted not in log.judges:
        raise OptionError("trusted", trusted, [", ".join(map(repr, log.judges[:10]))])
    # People judge together, so whoever trusts one of them trusts all.
    trusted = PEOPLE if trusted in log.people else trusted
    log = log.take((log.verdict != NO_VERDICT) & (log.first != log.second))
    seats = (*seat_leans(log),)
    log, unknown = keep_known(log)
    by_people = is_enough(log, np.isin(log.judges, log.people)[log.judge])
    by_truth = not by_people and not trusted and has_truth(log)
    found = (
        against_truth(log, makers, level)
        if by_truth
        else _given_quality(log, makers, trusted, level)
    )
    # Pairs in both orders tell more of a seat, and assume less.
    told = {one.judge for one in seats}
    others = [one for one in found.estimates if one.kind != "seat" or one.judge not in told]
    found = _name_person(found._replace(estimates=(*seats, *others)), log.people)
    return found._replace(notes=(*unknown, *found.notes, *_note_opposed(found)))


def _note_opposed(found: LeanFindings) -> Iterator[str]:
    """Yield who picks the worse answer more often than the better one."""
    if names := [clip(one.judge) for one in found.sharpness if one.interval.high < EVEN]:
        yield OPPOSED.format(list_first(names))


def _name_person(found: LeanFindings, people: tuple[str, ...]) -> LeanFindings:
    """Call people by the name of the only one, as everywhere else; several are people."""
    if len(people) != 1:
        return found
    names = {PEOPLE: people[0]}
    told, sharp = found.estimates, found.sharpness
    return found._replace(
        estimates=tuple(one._replace(judge=names.get(one.judge, one.judge)) for one in told),
        sharpness=tuple(replace(one, judge=names.get(one.judge, one.judge)) for one in sharp),
    )


def _given_quality(log: JudgeLog, makers: Makers, trusted: str, level: float) -> LeanFindings:
    """Return the leans of judges against people, a trusted judge or the sharpest one."""
    log, part = _within_work(log, MOST_JUDGMENTS)
    panel = QualityPanel.of(log)
    notes = () if panel.has_people or trusted else note_families(makers, log)
    panel, untold = panel.split_told()
    if untold:
        notes += (SHARPNESS_UNTOLD.format(list_first(map(clip, untold))),)
    if trusted and trusted not in (*panel.names, *untold):
        who = "A person" if trusted == PEOPLE else clip(trusted)
        return LeanFindings(notes=(*notes, FEW_OF_TRUSTED.format(who)))
    if len(panel.names) < 2 or trusted in untold:
        return LeanFindings(notes=notes)
    is_told = panel.has_people or trusted
    asked = makers.of(one for one in panel.names if one != PEOPLE) if is_told else []
    found = _fit_panel(panel, makers, asked, trusted, level)
    if panel.has_people and trusted in ("", PEOPLE) and len(panel.names) > 2 and found.estimates:
        found = _one_by_one(panel, found, makers, asked, level)
    return found._replace(notes=(*part, *notes, *found.notes))


def _one_by_one(
    panel: QualityPanel, whole: LeanFindings, makers: Makers, asked: list[str], level: float
) -> LeanFindings:
    """Return what people and each judge alone tell of it, where that is enough.

    Judges may have opinions in common, which people do not share. A fit of all would take these
    for quality, and people for duller than they are.
    """
    judges = [one for one in panel.names if one != PEOPLE]
    told = _fit_each(panel, judges, makers, asked, level)
    leaning = {one.judge for one in whole.estimates}
    notes = [*whole.notes]
    if NOT_CONVERGED not in notes and any(NOT_CONVERGED in one.notes for one in told.values()):
        notes.append(NOT_CONVERGED)
    if together := [clip(one) for one in judges if one in leaning and one not in told]:
        notes.append(TOGETHER.format(list_first(together)))
    # Each of these fits has its own idea of people, who are told of by the middle one.
    fits = sorted(told.values(), key=_sharpness_of_people) or [whole]
    sources = {one: told.get(one, whole) for one in judges}
    sources[PEOPLE] = fits[(len(fits) - 1) // 2]
    return whole._replace(
        estimates=tuple(
            one for name in judges for one in sources[name].estimates if one.judge == name
        ),
        sharpness=tuple(
            one for name in panel.names for one in sources[name].sharpness if one.judge == name
        ),
        notes=tuple(notes),
    )


def _fit_each(
    panel: QualityPanel, judges: list[str], makers: Makers, asked: list[str], level: float
) -> dict[str, LeanFindings]:
    """Return what people and each judge alone tell, of those of whom they tell something."""
    parts = {name: panel.beside_people(name) for name in judges}
    most = MOST_JUDGMENTS / max(sum(len(one.log) for one in parts.values()), MOST_JUDGMENTS)
    told: dict[str, LeanFindings] = {}
    for name, two in parts.items():
        part = QualityPanel.of(_within_work(two.log, most * len(two.log))[0])
        if len(part.names) == 2 and part.is_sharpness_told.all():
            told[name] = _fit_panel(part, makers, asked, "", level)
    return {name: one for name, one in told.items() if one.sharpness}


def _sharpness_of_people(found: LeanFindings) -> float:
    return next(one.picks for one in found.sharpness if one.judge == PEOPLE)


def _fit_panel(
    panel: QualityPanel, makers: Makers, asked: list[str], trusted: str, level: float
) -> LeanFindings:
    """Return what one fit tells; `asked` are makers whose answers somebody may lean to."""
    log, answers = panel.log, Answers.of(panel.log)
    numbers = numbers_of(log, answers, makers.of(log.answerers), asked)
    if not numbers:
        return LeanFindings(notes=(NOTHING_KNOWN,))
    fitted = _fit_quality(panel, answers, numbers)
    notes = [] if fitted.converged else [NOT_CONVERGED]
    if once := panel.judged_once:
        notes.append(JUDGED_ONCE.format(list_first(map(clip, once))))
    sharpest = panel.names[int(np.argmax(fitted.sharpness))]
    zero = trusted or (PEOPLE if panel.has_people else sharpest)
    estimates = (*_by_quality(panel, answers, fitted, zero, [*numbers.values()], makers),)
    quality, lifts = _tell_quality(panel, answers, fitted, zero, [*numbers.values()])
    sharpness = (*_sharpness_of(panel, fitted, level),)
    return LeanFindings(estimates, (*notes,), sharpness, quality, lifts)


NOTHING_KNOWN = (
    f"Leans given quality are not told: on {FEWEST_UNEVEN} prompts of each judge answers have to "
    "differ in something that is known of all of them, such as length, or the maker of a judge."
)
TOGETHER = (
    "{}: leans are told from the verdicts of all judges together, because people and one judge "
    "alone tell too little. Judges who share opinions that people do not have may seem to lean."
)
SHARPNESS_UNTOLD = (
    "What these lean to given quality, and how sharp they are, is not known: {}. How often two "
    "agree tells only the product of their sharpness, and leans rest on the ratio. A third judge "
    "of the same prompts, or several votes of people on each, would tell."
)


def _within_work(log: JudgeLog, most: float) -> tuple[JudgeLog, tuple[str, ...]]:
    """Return as many judgments as can be fitted in seconds, evenly chosen.

    Of many prompts some are taken. Few prompts are kept, because errors are those of prompts; then
    some pairs of each judge are taken, with both orders.
    """
    n, whole = len(log.prompts), len(log)
    if whole <= most:
        return log, ()
    share = max(most / whole, min(FEWEST_TAKEN / n, 1.0))
    chosen = np.floor(np.arange(n) * share) != np.floor((np.arange(n) + 1) * share)
    part = log.take(chosen[log.prompt])
    unit = np.unique(part.pair * len(log.judges) + part.judge, return_inverse=True)[1].reshape(-1)
    part = part.take(unit * GOLDEN_RATIO % 1 < most / len(part))
    taken = f"{int(chosen.sum()):,} of {n:,} prompts"
    if len(np.unique(unit)) > len(np.unique(part.pair * len(log.judges) + part.judge)):
        taken = f"{len(part):,} of {whole:,} judgments, of {taken}"
    return part, (f"Leans given quality are told from {taken}.",)


def _fit_quality(
    panel: QualityPanel, answers: Answers, numbers: Mapping[str, LeanNumber]
) -> LotFit:
    """Fit what length and the like are worth with each judge, seats last, and sharpness."""
    better, worse, seats = _in_order(panel.log, answers)
    columns = [one.values[better] - one.values[worse] for one in numbers.values()]
    data = Lots.of(
        better,
        worse,
        panel.judge,
        np.column_stack([*columns, seats]),
        tied=panel.log.verdict == TIE,
        cluster=panel.log.prompt.astype(np.int64),
        tastes=panel.tastes,
    )
    return fit_lots(data, len(panel.names), first_leads=panel.has_people)


def _in_order(log: JudgeLog, answers: Answers) -> tuple[Codes, Codes, Floats]:
    """Return the better answer, the worse one, and 1 where the better one was shown first."""
    second = log.verdict == SECOND
    better = np.where(second, answers.second, answers.first)
    worse = np.where(second, answers.first, answers.second)
    return better, worse, np.where(is_seated(log), np.where(second, -1.0, 1.0), 0.0)


def _tells_seats(panel: QualityPanel, answers: Answers, zero: str) -> bool:
    """Say whether quality alone explains no seats, neither of all judgments nor of one judge."""
    if is_order_fixed(panel.log, is_seated(panel.log)):
        return False
    better, worse, seats = _in_order(panel.log, answers)
    n, own = len(answers.answerer), panel.judge == panel.names.index(zero)
    return not any(
        explains_seats(better[rows], worse[rows], seats[rows], n) for rows in (slice(None), own)
    )


def _by_quality(
    panel: QualityPanel,
    answers: Answers,
    fitted: LotFit,
    zero: str,
    numbers: list[LeanNumber],
    makers: Makers,
) -> Iterator[LeanEstimate]:
    """Yield the leans of a fit, of everybody but `zero`."""
    leans, errors = fitted.leans(panel.names.index(zero), beside=1)
    told = [*numbers, FIRST_SEAT] if _tells_seats(panel, answers, zero) else numbers
    differ = [answers.difference(one.values) != 0 for one in numbers] + [is_seated(panel.log)]
    for k, name in enumerate(panel.names):
        for place, number in enumerate(told):
            prompts, of_zero = (
                panel.log.prompt[(panel.judge == one) & differ[place]]
                for one in (k, panel.names.index(zero))
            )
            fewest = 1 if number is FIRST_SEAT else FEWEST_UNEVEN
            if name == zero or min(len(np.unique(one)) for one in (prompts, of_zero)) < fewest:
                continue
            words = number.words(makers.of([name])[0])
            found = float(leans[k, place]), float(errors[k, place])
            yield estimate_lean(name, words, zero, found, prompts)


def _tell_quality(
    panel: QualityPanel, answers: Answers, fitted: LotFit, zero: str, numbers: list[LeanNumber]
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return quality by answerer, and what each lean adds to it with judges on average."""
    place = panel.names.index(zero)
    worth = fitted.worth[place, : len(numbers)] / fitted.sharpness[place]
    share = np.bincount(panel.judge) / len(panel.judge)
    leans = share @ fitted.leans(place, beside=1)[0] / (share @ fitted.sharpness)
    leads = [*map(answers.lead, (fitted.scores, *(one.values for one in numbers)))]
    quality = leads[0] + sum(value * lead for value, lead in zip(worth, leads[1:], strict=True))
    present = np.unique(answers.answerer).tolist()

    def by_name(values: Floats) -> dict[str, float]:
        return {panel.log.answerers[k]: float(values[k]) for k in present}

    lifts = {
        one.toward: by_name(lean * lead)
        for one, lean, lead in zip(numbers, leans, leads[1:], strict=False)
    }
    return by_name(quality), lifts


def _sharpness_of(panel: QualityPanel, fitted: LotFit, level: float) -> Iterator[JudgeSharpness]:
    """Yield how often each picks the better one of two answers one SD apart."""
    for k, name in enumerate(panel.names):
        value, error = float(fitted.sharpness[k]), float(fitted.sharpness_errors[k])
        one = estimate_lean(
            name, ("", "", ""), "", (value, error), panel.log.prompt[panel.judge == k]
        )
        low, high, _ = one.pivot.interval(level)
        interval = Interval(low + 0.5, high + 0.5, level)
        without = 0.0 if name == PEOPLE else math.nan
        taste = float(np.append(fitted.tastes, without)[panel.tastes[k]])
        yield JudgeSharpness(judge=name, picks=one.wins, interval=interval, taste=taste)
