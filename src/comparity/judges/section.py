"""How an audit of judges is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from comparity.judges.grids import LEAN_WORDS, grids_of
from comparity.judges.judge_contrasts import Drift
from comparity.judges.leans import PEOPLE, TRUTH
from comparity.judges.rates import PromptRate
from comparity.judges.reading import Reading
from comparity.judges.result import JudgesAudit, JudgeSummary
from comparity.judges.wins import EVEN, Lean
from comparity.reports.charts import KINDS, Axis, Chart, Mark, Row, RowChart, Tick, shorten_label
from comparity.reports.sections import (
    Section,
    clip,
    count,
    percent,
    several,
)
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

ALPHA = 0.05
# A judge that fails more often than this biases rates enough to be told first.
MANY_MISSING = 0.02
MOST_SENTENCES = 12
"""Judges with a sentence of their own; of more, those with most judgments."""
MOST_UNDECIDED = 3
MOST_NAMED = 6
# Of two orders fewer than half with one verdict: a coin would be as good.
FEWEST_CONSISTENT = 0.5
LEAN_TITLES = {
    "seat": "Seat: how often a judge picks the first of two equally good answers",
    "length": "Length: how often it picks the one that is twice as long",
    "style": "Style: how often it picks the one with twice as many headers, list items, ...",
    "refusal": "Refusals: how often it picks the one that refuses",
    "self": "Own family: how often it picks the one of its own maker",
    "family": "Other families: how often it picks the one of a maker",
}
"""Pictures of leans, by their kind."""


def section_of(audit: JudgesAudit) -> Section:
    """Return what is told of an audit of judges."""
    lists: dict[str, list[str]] = {}
    if audit.notes:
        lists["What was left out, and what to check"] = list(map(clip, audit.notes))
    advice = list(_advice(audit))
    if advice:
        lists["What to do"] = advice
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
    judgments = several(sum(one.judgments for one in audit.judges), "judgment")
    people = sum(one.persons for one in audit.judges)
    others = sum(not one.persons for one in audit.judges)
    parts = [several(others, "judge")] if others or not people else []
    parts += [f"{count(people)} {'person' if people == 1 else 'people'}"] if people else []
    return f"Audit of {' and '.join(parts)}: {judgments}"


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
    else:
        parts.append(several(one.records, "record"))
    lost = f"; {missing_words(one.missing)}" if one.missing else ""
    schema = " (format known from documentation only)" if one.is_documented_only else ""
    return f"{one.about}: {', '.join(parts)}{lost}{schema}"


def missing_words(missing: Mapping[str, int]) -> str:
    """Return how many judgments are missing, by reason."""
    words = {"error": "failed"}
    return ", ".join(f"{count(n)} {words.get(why, why)}" for why, n in missing.items())


def in_hundred(share: PromptRate) -> str:
    """Return a share in numbers of 100, with its interval.

    Examples
    --------
    >>> from comparity.inference.gap_tests import Interval
    >>> in_hundred(PromptRate(hits=58, trials=100, prompts=9, interval=Interval(0.54, 0.61, 0.95)))
    '58 of 100 [54, 61]'
    """
    low, high = share.interval[:2]
    if math.isnan(low):
        return f"{100 * share.rate:.0f} of 100"
    return f"{100 * share.rate:.0f} of 100 [{100 * low:.0f}, {100 * high:.0f}]"


def judge_sentence(one: JudgeSummary, seat: Lean | None = None) -> str:
    """Return what is told of a judge first; `seat` is its lean to one."""
    name = clip(one.name) if one.persons < 2 else f"People ({count(one.persons)})"
    verb = "pick" if one.persons > 1 else "picks"
    parts = [_seat_words(seat)] if seat is not None else []
    if one.first is not None:
        parts.append(f"{verb} the first answer in {in_hundred(one.first)} decided judgments")
    else:
        parts.append(f"its preference for a seat is not known, because {one.first_unknown}")
    twins = one.twins
    if twins is not None and twins.consistent.prompts > 1:
        told = f"both orders have the same verdict in {in_hundred(twins.consistent)} pairs"
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


def _sentences(audit: JudgesAudit) -> Iterator[str]:
    for reading in audit.readings:
        yield f"Read {reading_line(reading)}."
    seats = {one.judge: one for one in audit.leans if one.kind == "seat"}
    for judge in audit.busiest[:MOST_SENTENCES]:
        yield judge_sentence(judge, seats.get(judge.name))
    if len(audit.judges) > MOST_SENTENCES:
        yield f"{several(len(audit.judges) - MOST_SENTENCES, 'more judge')}: see the table."
    yield from _lean_sentences(audit)
    if audit.drift is not None:
        yield _drift_sentence(audit.drift)
    yield f"Intervals ({percent(audit.level)}) treat prompts as clusters."
    if any(one.longer for one in audit.judges) and not audit.leans:
        yield (
            "Preference for the longer answer is not adjusted for quality: longer answers may be "
            "better."
        )


def _many(audit: JudgesAudit) -> Iterator[str]:
    """Yield that people are told of together, where judges are as many as people are."""
    if not any(one.persons for one in audit.judges) and len(audit.judges) > MOST_SENTENCES:
        yield (
            f"{several(len(audit.judges), 'judge')}: if these are people, name them with --people "
            "(such as --people 'worker*'); they are then summarised together, and others are "
            "compared with them."
        )


def _lean_sentences(audit: JudgesAudit) -> Iterator[str]:
    """Yield what judges were found to lean to, beside the quality of the answers."""
    told = [one for one in audit.leans if one.kind != "seat"]
    if not told:
        return
    against = told[0].against
    known = {PEOPLE: "people find", TRUTH: "the log calls"}
    quality = known.get(against, f"{clip(against)} finds")
    found = [one for one in told if one.finding == VIOLATED]
    if not found:
        yield (
            f"Between answers that {quality} equally good, no judge is found to lean (corrected "
            "for all leans)."
        )
    for judge in dict.fromkeys(one.judge for one in found):
        picks = "; ".join(
            f"the one {one.step} {_times(one)}" for one in found if one.judge == judge
        )
        yield (
            f"{clip(judge)} leans: of 100 pairs of answers that {quality} equally good, it picks "
            f"{picks}."
        )


def _times(one: Lean) -> str:
    low, high = (100 * end for end in one.interval[:2])
    return f"{100 * one.wins:.0f} times [{low:.0f}, {high:.0f}]"


def _seat_words(one: Lean) -> str:
    """Return what a seat is worth with a judge, between equally good answers."""
    seat = "first" if one.wins > EVEN else "second"
    words = {
        VIOLATED: f"prefers the {seat} answer",
        WITHIN: f"prefers no seat ({WITHIN})",
        UNDECIDED: f"whether it prefers a seat is {UNDECIDED}",
    }
    beyond = f", beyond {clip(one.against)}" if one.against else ""
    picks = f"of 100 pairs of equally good answers it picks the first {_times(one)}{beyond}"
    return f"{words[one.finding]} ({picks})"


def _drift_sentence(drift: Drift) -> str:
    """Return what two judges or files do otherwise, in one sentence."""
    names = f"{clip(drift.before)} and {clip(drift.after)}"
    found = [one for one in drift.changes if one.p_adjusted < ALPHA]
    told = ", ".join(
        f"{clip(one.what)} in {100 * one.after:.0f} of 100, before in {100 * one.before:.0f}"
        for one in found
    )
    agree = f"{names} have the same verdict in {in_hundred(drift.same)} presentations"
    return f"{agree}; {f'what changed: {told}' if found else 'no change beyond chance is found'}."


def _list_names(names: list[str]) -> str:
    """Return the first names of a list, and how many there are besides."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {count(more)} more" if more > 0 else "")


def _advice(audit: JudgesAudit) -> Iterator[str]:
    leaning = [clip(one.name) for one in audit.judges if one.seat_p_adjusted < ALPHA]
    if leaning:
        yield (
            f"{_list_names(leaning)}: the seat decides some pairs (exact test over prompts, "
            "corrected for the number of judges). Ask in both orders and count a changed winner "
            "as a tie."
        )
    once = [
        clip(one.name)
        for one in audit.judges
        if one.first is not None and one.twins is None and not one.persons
    ]
    if once:
        yield (
            f"{_list_names(once)}: every pair was judged in one order only, so its "
            "consistency is not known. Ask some pairs in both orders."
        )
    coins = [
        clip(one.name)
        for one in audit.judges
        if one.consistent is not None and one.consistent.interval.high < FEWEST_CONSISTENT
    ]
    if coins:
        yield (
            f"{_list_names(coins)}: fewer than half of the verdicts stay when the answers change "
            "seats. Leave this judge out, or change its prompt."
        )
    for toward in dict.fromkeys(one.toward for one in audit.leans if one.kind != "seat"):
        names = [
            clip(one.judge)
            for one in audit.leans
            if one.toward == toward and one.finding == VIOLATED and one.wins > EVEN
        ]
        if names:
            yield (
                f"{_list_names(names)}: a lean to {toward}. Use the ranks without leans, or "
                "correct by votes of people."
            )
    yield from _uneven_agreement(audit)
    yield from _undecided(audit)
    yield from _many(audit)
    failing = [
        clip(one.name)
        for one in audit.judges
        if one.missing_rate.trials and one.missing_rate.rate > MANY_MISSING
    ]
    if failing:
        yield f"{_list_names(failing)}: many judgments are missing; a table shows for which groups."
    beside = any(one.second.startswith(("people", "the truth")) for one in audit.agreements)
    if not beside and not any(one.persons for one in audit.judges):
        yield (
            "No judgment by people, and no truth, is in these logs: agreement shows only how "
            "similar judges are. Let people judge some of the pairs."
        )


def _uneven_agreement(audit: JudgesAudit) -> Iterator[str]:
    """Yield where agreement depends on which answer is better, and what that may come from."""
    told = [one for one in audit.by_group if one.finding == VIOLATED]
    if not told:
        return
    gaps = (
        ", ".join(
            f"{one.toward} {100 * one.with_more.rate:.0f} and {100 * one.with_less.rate:.0f}"
            for one in told
            if one.judge == judge
        )
        for judge in dict.fromkeys(one.judge for one in told)
    )
    names = dict.fromkeys(clip(one.judge) for one in told)
    yield (
        f"Agreement with {told[0].reference} depends on which answer is better. Agreement of 100 "
        "pairs, if such an answer is better and if the other is: "
        f"{'; '.join(f'{name}: {gap}' for name, gap in zip(names, gaps, strict=True))}. Either the "
        "judge leans, or these pairs are harder to judge. Look at the leans, which hold quality "
        "fixed, before you call the judge biased."
    )


def _undecided(audit: JudgesAudit) -> Iterator[str]:
    """Yield how many prompts would decide what is open, those that need fewest first."""
    told = [(max(one.needed), one) for one in audit.leans if one.needed]
    for most, one in sorted(told, key=lambda pair: pair[0])[:MOST_UNDECIDED]:
        assert one.needed is not None
        sizes = " to ".join(dict.fromkeys(map(count, (min(one.needed), most))))
        yield (
            f"{UNDECIDED.capitalize()}: {clip(one.judge)} and the answer {one.step}, "
            f"{_times(one)} of 100. With {sizes} prompts (now {count(one.prompts)}) it would be "
            f"found either to lean or to be within {audit.margin:g} of 50, with 80% power."
        )
    if len(told) > MOST_UNDECIDED:
        yield f"{count(len(told) - MOST_UNDECIDED)} more leans are {UNDECIDED}: see the table."


def seat_chart(audit: JudgesAudit) -> RowChart:
    """Return a picture of how often each judge picks the first answer."""
    shares = {one.name: one.first for one in audit.judges}
    return _share_chart(audit, "How often each judge picks the first answer", shares, "judgment")


def _charts(audit: JudgesAudit) -> Iterator[Chart]:
    """Yield pictures of what is known of any judge."""
    if any(one.first for one in audit.judges):
        yield seat_chart(audit)
    if any(one.twins for one in audit.judges):
        shares = {one.name: one.consistent for one in audit.judges}
        yield replace(
            _share_chart(audit, "How often both orders have the same verdict", shares, "pair"),
            line=None,
        )
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
    unit = "changed winner" if kind == "seat" else "judgment"
    return RowChart(
        title=f"{LEAN_TITLES[kind]}, with {percent(audit.level)} intervals over prompts",
        about="the table of leans has all numbers",
        axis=_axis_of_hundred(),
        rows=tuple(
            Row(
                label=shorten_label(clip(one.judge)),
                note=f"{one.step}, {several(one.judgments, unit)}",
                marks=(_mark(one),),
            )
            for one in leans
        ),
        band=(EVEN - audit.margin / 100, EVEN + audit.margin / 100),
        line=EVEN,
        legend={KINDS[finding]: words for finding, words in LEAN_WORDS.items()},
    )


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
        title=f"{title}, with {percent(audit.level)} intervals over prompts",
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
