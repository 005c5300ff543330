"""How an audit of judges is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from comparity.errors.spelling import visible
from comparity.judges.agreement import PEOPLE as VOTES
from comparity.judges.grids import grids_of
from comparity.judges.judge_contrasts import Drift
from comparity.judges.lean_section import LEAN_WORDS, lean_sentences, seat_words, step_words
from comparity.judges.next_steps import (
    MOST_SENTENCES,
    advice_on,
    assumptions_of,
    list_names,
)
from comparity.judges.rates import PromptRate
from comparity.judges.result import JudgesAudit, JudgeSummary, Reading
from comparity.judges.single_scores import ScoreSummary
from comparity.judges.wins import BOTH_ORDERS, EVEN, PEOPLE, TRUTH, Lean
from comparity.reports.charts import (
    KINDS,
    Axis,
    Chart,
    Mark,
    Row,
    RowChart,
    Tick,
    axis_between,
    shorten_label,
)
from comparity.reports.sections import (
    Section,
    clip,
    count,
    percent,
    several,
)
from comparity.results.result import VIOLATED

LEAN_TITLES = {
    "seat": "Seat: how often a judge picks the first answer, all else equal",
    "length": "Length: how often it picks the one that is twice as long",
    "style": "Style: how often it picks the one with twice as many headers, list items, ...",
    "refusal": "Refusals: how often it picks the one that refuses",
    "self": "Own maker: how often it picks the answer of its own maker",
    "family": "Makers: how often it picks the answer of one maker",
}
"""Pictures of leans, by their kind."""
FEWEST_IN_HUNDRED = 10
"""Trials of which a share is told in numbers of 100; of fewer they are counted."""


def section_of(audit: JudgesAudit) -> Section:
    """Return what is told of an audit of judges."""
    lists: dict[str, list[str]] = {}
    if audit.notes:
        lists["What was left out, and what to check"] = list(map(visible, audit.notes))
    advice = list(advice_on(audit))
    if advice:
        lists["What to do"] = advice
    lists["What was assumed"] = list(assumptions_of(audit))
    if audit.examples:
        lists["Examples"] = [
            f"{clip(one.judge)}, {one.why}, prompt {clip(one.prompt)}: "
            f"{clip(one.question)} | first: {clip(one.first)} "
            f"| second: {clip(one.second)}"
            for one in audit.examples
        ]
    return Section(
        headline=_headline(audit),
        sentences=tuple(_sentences(audit)),
        charts=tuple(_charts(audit)),
        grids=tuple(grids_of(audit)),
        lists=lists,
    )


def _headline(audit: JudgesAudit) -> str:
    if not audit.judges:
        given = several(sum(one.scores for one in audit.scores), "score")
        judges = len({one.judge for one in audit.scores})
        return f"Audit of {several(judges, 'judge')}: {given} of single answers, no comparison"
    judgments = several(sum(one.judgments for one in audit.judges), "judgment")
    people = sum(one.persons for one in audit.judges)
    others = sum(not one.persons for one in audit.judges)
    parts = [several(others, "judge")] if others or not people else []
    crowd = any(one.is_crowd for one in audit.judges)
    counted = "people" if crowd else "1 person" if people == 1 else f"{count(people)} people"
    parts += [counted] if people else []
    if not audit.leans:
        return f"Audit of {' and '.join(parts)}: {judgments}"
    leaning = dict.fromkeys(clip(one.judge) for one in audit.leans if one.finding == VIOLATED)
    verb = "leans" if len(leaning) == 1 and PEOPLE not in leaning else "lean"
    answer = f"{list_names([*leaning])} {verb}" if leaning else "no lean is found"
    return f"Audit of {' and '.join(parts)}: {answer} ({judgments})"


def reading_line(one: Reading) -> str:
    """Return how files of a format were read, in one line."""
    parts = [several(len(one.files), "file")]
    if one.judgments:
        parts += [
            several(one.judgments, "judgment"),
            several(one.prompts, "prompt"),
            several(one.judges, "judge"),
            one.seats,
        ]
    elif one.scores:
        parts.append(f"{several(one.scores, 'answer')} judged alone")
    else:
        parts.append(several(one.records, "record"))
    lost = f"; {missing_words(one.missing)}" if one.missing else ""
    if one.in_several_files and not one.scores:
        again = several(one.in_several_files, "record")
        lost += f"; {again} of another file, too, counted as judged again"
    schema = " (format known from documentation only)" if one.is_documented_only else ""
    return f"{one.about}: {', '.join(parts)}{lost}{schema}"


def missing_words(missing: Mapping[str, int]) -> str:
    """Return how many judgments are missing, by reason."""
    words = {"error": "failed"}
    return ", ".join(f"{count(n)} {words.get(why, why)}" for why, n in missing.items())


def in_hundred(share: PromptRate) -> str:
    """Return a share in numbers of 100, with its interval; of few trials their number.

    Examples
    --------
    >>> from math import nan
    >>> from comparity.inference.gap_tests import Interval
    >>> in_hundred(PromptRate(hits=58, trials=100, prompts=9, interval=Interval(0.54, 0.61, 0.95)))
    '58 of 100 [54, 61]'
    >>> in_hundred(PromptRate(hits=0, trials=1, prompts=1, interval=Interval(nan, nan, 0.95)))
    '0 of 1'
    """
    low, high = share.interval[:2]
    is_few = share.trials < FEWEST_IN_HUNDRED
    told = f"{share.hits} of {share.trials}" if is_few else f"{100 * share.rate:.0f} of 100"
    if math.isnan(low):
        return told
    return f"{told} [{100 * low:.0f}, {100 * high:.0f}{' of 100' if is_few else ''}]"


def judge_sentence(one: JudgeSummary, seat: Lean | None = None) -> str:
    """Return what is told of a judge first; `seat` is its lean to one."""
    name = clip(one.name) if one.persons < 2 else f"People ({count(one.persons)})"
    name = "People" if one.is_crowd else name
    verb = "pick" if one.persons > 1 or one.is_crowd else "picks"
    parts = [seat_words(seat)] if seat is not None else []
    if one.first is not None:
        parts.append(f"{verb} the first answer in {in_hundred(one.first)} decided judgments")
    else:
        parts.append(
            f"whether the first answer is preferred is not known, because {one.first_unknown}"
        )
    twins = one.twins
    if twins is not None and twins.consistent.prompts > 1:
        told = (
            f"the verdict stays the same in {in_hundred(twins.consistent)} pairs if the answers "
            "change seats"
        )
        if twins.decided_flips:
            told += (
                f" (of the others {count(twins.first_both)} went to the first seat twice and "
                f"{count(twins.second_both)} to the second)"
            )
        parts.append(told)
    if one.longer is not None:
        parts.append(f"the longer answer wins in {in_hundred(one.longer)}")
    if one.missing:
        parts.append(f"{missing_words(one.missing)} of {several(one.judgments, 'judgment')}")
    return f"{name}: {'; '.join(parts)}."


def score_sentence(one: ScoreSummary) -> str:
    """Return what scores a judge gave to one answerer.

    Examples
    --------
    >>> from comparity.judges.readers import Score
    >>> from comparity.judges.single_scores import summarise_scores
    >>> grades = [Score("j", f"q{k}", "m", value) for k, value in enumerate([2, 4, 4, 6])]
    >>> score_sentence(*summarise_scores(grades))
    'j: 4 answers of m, mean score 4 [1.4, 6.6], from 2 to 6.'
    """
    name, answers = clip(one.judge), f"{several(one.scores, 'answer')} of {clip(one.answerer)}"
    lost = f"; {missing_words(one.missing)}" if one.missing else ""
    if not one.scores:
        return f"{name}: no score of {clip(one.answerer)}{lost}."
    mean = _mean_cell(one)
    return f"{name}: {answers}, mean score {mean}, from {one.lowest:g} to {one.highest:g}{lost}."


def _mean_cell(one: ScoreSummary) -> str:
    low, high = one.interval[:2]
    return f"{one.mean:.3g}" if math.isnan(low) else f"{one.mean:.3g} [{low:.2g}, {high:.2g}]"


def _sentences(audit: JudgesAudit) -> Iterator[str]:
    yield from lean_sentences(audit)
    seats = {one.judge: one for one in audit.leans if one.kind == "seat"}
    for judge in audit.busiest[:MOST_SENTENCES]:
        yield judge_sentence(judge, seats.get(judge.name))
    if not audit.judges:
        yield from map(score_sentence, audit.scores[:MOST_SENTENCES])
    if len(audit.judges) > MOST_SENTENCES:
        yield f"{several(len(audit.judges) - MOST_SENTENCES, 'more judge')}: see the table."
    yield from _agreement_sentences(audit)
    if audit.drift is not None:
        yield _drift_sentence(audit.drift, 1 - audit.level)
    for reading in audit.readings:
        yield f"Read {reading_line(reading)}."
    if audit.known:
        yield _known_sentence(audit.known)
    yield (
        f"Numbers in brackets are {percent(audit.level)} intervals. They allow for judgments of "
        "one prompt being alike."
    )
    if any(one.longer for one in audit.judges) and not audit.leans:
        yield (
            "Preference for the longer answer is not adjusted for quality: longer answers may be "
            "better."
        )


def _known_sentence(known: Mapping[str, int]) -> str:
    """Return what was derived of answers, and of how many."""
    answers = several(known["answers"], "answer")
    tokens, marks = known.get("tokens", 0), known.get("marks", known["styles"])
    counted = f"; told by the log: tokens of {count(tokens)}" if tokens else ""
    if marks > known["styles"]:
        counted += f", headers, list items and bold words of {count(marks - known['styles'])}"
    return (
        f"Derived of {answers}: characters and words of {count(known['lengths'] - tokens)}; "
        "headers, list items, bold words, blocks of code and refusals of "
        f"{count(known['styles'])}{counted}. Makers are known of {count(known['makers'])} of "
        f"{several(known['answerers'], 'answerer')}."
    )


def _agreement_sentences(audit: JudgesAudit) -> Iterator[str]:
    """Yield how often judges agree with people, and people with each other."""
    decided = [one for one in audit.agreements if not one.ties and one.raw.trials]
    beside = [one for one in decided if one.second == VOTES]
    if not beside:
        return
    told = [f"{clip(one.first)} agrees with people in {in_hundred(one.raw)}" for one in beside]
    more = len(told) - MOST_SENTENCES
    told = [*told[:MOST_SENTENCES], *([f"{count(more)} more: see the table"] if more > 0 else [])]
    people = [one for one in decided if one.first == VOTES]
    told += [f"two people agree in {in_hundred(one.raw)}" for one in people]
    yield f"Of pairs that both decided, {'; '.join(told)}."


def _drift_sentence(drift: Drift, alpha: float) -> str:
    """Return what two judges or files do otherwise, in one sentence."""
    names = f"{clip(drift.before)} and {clip(drift.after)}"
    found = [one for one in drift.changes if one.p_adjusted < alpha]
    told = ", ".join(
        f"{clip(one.what)} in {100 * one.after:.0f} of 100, before in {100 * one.before:.0f}"
        for one in found
    )
    agree = f"{names} have the same verdict in {in_hundred(drift.same)} presentations"
    return f"{agree}; {f'what changed: {told}' if found else 'no change beyond chance is found'}."


def seat_chart(audit: JudgesAudit) -> RowChart:
    """Return a picture of how often each judge picks the first answer."""
    shares = {one.name: one.first for one in audit.judges}
    return _share_chart(audit, "How often each judge picks the first answer", shares, "judgment")


def score_chart(audit: JudgesAudit) -> RowChart:
    """Return a picture of the mean score of each judge and answerer."""
    ends = [(one.lowest, one.highest) for one in audit.scores if one.scores]
    return RowChart(
        title=f"Mean score, with {percent(audit.level)} intervals",
        about="the table of scores has all numbers",
        axis=axis_between("score", [end for pair in ends for end in pair]),
        rows=tuple(
            Row(
                label=shorten_label(clip(one.judge)),
                note=f"{clip(one.answerer)}, {several(one.scores, 'answer')}",
                marks=(Mark(kind="plain", x=one.mean, low=low, high=high),),
            )
            for one in audit.scores
            for low, high in [one.interval[:2]]
        ),
    )


def _charts(audit: JudgesAudit) -> Iterator[Chart]:
    """Yield pictures of what is known of any judge."""
    if not audit.judges and any(one.scores for one in audit.scores):
        yield score_chart(audit)
    if any(one.first for one in audit.judges):
        yield seat_chart(audit)
    if any(one.twins for one in audit.judges):
        shares = {one.name: one.consistent for one in audit.judges}
        title = "How often the verdict stays if the answers change seats"
        yield replace(_share_chart(audit, title, shares, "pair"), line=None)
    for kind in LEAN_TITLES:
        if any(one.kind == kind for one in audit.leans):
            yield _lean_chart(audit, kind)
    if any(one.longer for one in audit.judges):
        shares = {one.name: one.longer for one in audit.judges}
        title = "How often the longer answer wins, whatever its quality"
        yield _share_chart(audit, title, shares, "judgment")


def _lean_chart(audit: JudgesAudit, kind: str) -> RowChart:
    """Return a picture of the leans of one kind, with the margin as a band."""
    leans = [one for one in audit.leans if one.kind == kind]
    given = "given the right verdict; " if any(one.told_by == TRUTH for one in leans) else ""
    return RowChart(
        title=f"{LEAN_TITLES[kind]} ({given}50 of 100 is no lean), with {percent(audit.level)} "
        "intervals",
        about="the table of leans has all numbers",
        axis=_axis_of_hundred(),
        rows=tuple(
            Row(
                label=shorten_label(clip(one.judge)),
                note=f"{step_words(one)}, {_told_by(one)}",
                marks=(_mark(one),),
            )
            for one in leans
        ),
        band=(EVEN - audit.margin / 100, EVEN + audit.margin / 100),
        line=EVEN,
        legend={KINDS[finding]: words for finding, words in LEAN_WORDS.items()},
    )


def _told_by(one: Lean) -> str:
    """Return how much tells of a lean."""
    unit = "changed winner" if one.told_by == BOTH_ORDERS else "judgment"
    return several(one.judgments, unit)


def _share_chart(
    audit: JudgesAudit, title: str, shares: dict[str, PromptRate | None], unit: str
) -> RowChart:
    rows = []
    for name, share in shares.items():
        low, high = share.interval[:2] if share else (math.nan, math.nan)
        x = share.rate if share else math.nan
        mark = Mark(kind="plain", x=x, low=low, high=high)
        note = several(share.trials, unit) if share else "not known"
        rows.append(Row(label=shorten_label(clip(name)), note=note, marks=(mark,)))
    return RowChart(
        title=f"{title}, with {percent(audit.level)} intervals",
        about="the table of judges has all numbers",
        axis=_axis_of_hundred(),
        rows=tuple(rows),
        line=0.5,
    )


def _axis_of_hundred() -> Axis:
    ticks = tuple(Tick(at / 100, str(at)) for at in (0, 25, 50, 75, 100))
    return Axis(label="of 100", low=0.0, high=1.0, ticks=ticks)


def _mark(one: Lean) -> Mark:
    low, high = one.interval[:2]
    return Mark(kind=KINDS[one.finding], x=one.wins, low=low, high=high)
