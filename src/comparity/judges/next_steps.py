"""What was left out of logs, what to do about what was found of judges, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from comparity.judges.agreement import MOST_JUDGES
from comparity.judges.lean_section import picks_of_hundred, step_words
from comparity.judges.log import SAME_RECORD, JudgeLog
from comparity.judges.readers import CROWD, NO_VERDICT, TIE, name_of_pair
from comparity.judges.result import JudgesAudit
from comparity.judges.wins import BOTH_ORDERS, EVEN, PEOPLE, TRUTH
from comparity.reports.sections import clip, count, several
from comparity.results.result import UNDECIDED, VIOLATED

# A judge that fails more often than this biases rates enough to be told first.
MANY_MISSING = 0.02
MOST_SENTENCES = 12
"""Judges with a sentence of their own; of more, those with most judgments."""
MOST_UNDECIDED = 3
MOST_NAMED = 6
# Of two orders fewer than half with one verdict: a coin would be as good.
FEWEST_CONSISTENT = 0.5
# A judge who is right in so many cases and never wrong may have made the right verdict.
MANY_RIGHT = 20


def omissions_of(log: JudgeLog) -> Iterator[str]:
    """Yield how many rows were left out, by reason."""
    for why, n in log.omitted.items():
        again = "; repeated judgments need a column that numbers them" if why == SAME_RECORD else ""
        yield f"{n:,} left out: {why}{again}."


def notes_on(log: JudgeLog, *, corrected: bool) -> Iterator[str]:
    """Yield what was left out of a log, and what to check in it."""
    yield from omissions_of(log)
    yield from _doubts_about(log)
    if len(log.judges) - len(log.people) > MOST_JUDGES:
        yield (
            f"More than {MOST_JUDGES} judges: they are compared with a truth in the log, and not "
            "with people and each other."
        )
    if corrected:
        yield (
            "People and judges together: the pairs that people judged are taken for a random "
            "sample of all pairs; pairs chosen because they are hard would correct too much."
        )
    for answerer in log.mismatched:
        yield (
            f"The answers of {clip(answerer)} share few words with their prompts, where those of "
            "others share many: check whether they were joined to the right prompts."
        )
    for answerer, n in log.several_texts.items():
        yield (
            f"{n:,} answers of {clip(answerer)} have a second text for the same prompt; if these "
            "are two answerers, read the logs apart or name them (--baseline)."
        )


def _doubts_about(log: JudgeLog) -> Iterator[str]:
    """Yield what a log does not say and its reading had to assume."""
    if CROWD in log.people:
        yield (
            "Votes without the name of a voter are taken for people's; if a model judged, name it "
            "(--judge)."
        )
    n = _count_without_prompt(log)
    if n:
        yield (
            f"{n:,} judgments are of a table without prompts: all that one judge says of two "
            "answerers is taken for repeated judgments of the same two answers. Name the column "
            "of prompts (--prompt)."
        )
    for kind, alike in _look_alikes(log):
        yield (
            f"{kind} that differ only in case, spaces or leading zeros are taken for different "
            f"ones: {list_names(alike)}."
        )
    for judge, right in _always_right(log):
        yield (
            f"{clip(judge)} agrees with the right verdict of the log in all of {right:,}: if that "
            "verdict was made from the same scores, this says nothing."
        )


def _look_alikes(log: JudgeLog) -> Iterator[tuple[str, list[str]]]:
    """Yield names that may be two spellings of one, with what they name."""
    # Other names of prompts may be their texts.
    prompts = [one for one in log.prompts if one.isdecimal()]
    kinds = {"Judges": log.judges, "Answerers": log.answerers, "Prompts": prompts}
    for kind, names in kinds.items():
        spelled: dict[str, list[str]] = {}
        for name in names:
            spelled.setdefault(" ".join(name.casefold().split()).lstrip("0"), []).append(name)
        alike = [repr(clip(name)) for group in spelled.values() if len(group) > 1 for name in group]
        if alike:
            yield kind, alike


def note_unused(log: JudgeLog, judge: str | None, baseline: str | None) -> Iterator[str]:
    """Yield names that were given for what the logs say themselves."""
    if judge is not None and judge not in {*log.judges, *(one.judge for one in log.scores)}:
        yield f"{clip(judge)} was named as the judge (--judge), but the logs say who judged."
    if baseline is not None and baseline not in log.answerers:
        yield (
            f"{clip(baseline)} was named as the baseline (--baseline), but no log of arena-hard "
            "leaves its baseline out."
        )


def _count_without_prompt(log: JudgeLog) -> int:
    """Count judgments whose prompt is their pair, where a judge has several of one order."""
    prompts, at = np.unique(log.prompt, return_index=True)
    made = [
        code
        for code, row in zip(prompts.tolist(), at.tolist(), strict=True)
        if log.prompts[code]
        == name_of_pair(log.answerers[log.first[row]], log.answerers[log.second[row]])
    ]
    rows = np.isin(log.prompt, made)
    ways = np.stack([log.judge[rows], log.pair[rows], log.first[rows]], axis=1)
    return len(ways) if len(np.unique(ways, axis=0)) < len(ways) else 0


def _always_right(log: JudgeLog) -> Iterator[tuple[str, int]]:
    """Yield judges whose scores never contradict the right verdict, and how many there are."""
    decided = ~np.isin(log.verdict, (TIE, NO_VERDICT)) & (log.gold != NO_VERDICT)
    scored = decided & np.isfinite(log.strength)
    n, right = (
        np.bincount(log.judge[rows], minlength=len(log.judges))
        for rows in (scored, scored & (log.verdict == log.gold))
    )
    for code in np.flatnonzero((n >= MANY_RIGHT) & (n == right)).tolist():
        yield log.judges[code], int(n[code])


def assumptions_of(audit: JudgesAudit) -> Iterator[str]:
    """Yield what intervals and leans rest on."""
    yield "Prompts are independent of each other. Judgments of the same prompt need not be."
    if any(one.first is not None and one.twins is None for one in audit.judges):
        yield (
            "Where a pair was judged in one order only, its seats were assigned at random. "
            "Otherwise the first answer may win because it is better."
        )
    seats = {one.told_by for one in audit.leans if one.kind == "seat"}
    if BOTH_ORDERS in seats:
        yield (
            "What a seat is worth between equally good answers is estimated from pairs in both "
            "orders. It is assumed to add the same amount, in logits, to every answer."
        )
    if TRUTH in seats:
        yield (
            "What a seat is worth is estimated from all pairs, given the right verdict in the log: "
            "beside that verdict, answers in the two seats are assumed to be equally good on "
            "average, as they are if seats are assigned at random."
        )
    others = "All leans but those told by both orders of pairs" if seats else "All leans"
    for one in dict.fromkeys(one.against for one in audit.leans if one.against):
        if one == TRUTH:
            yield (
                "The right verdict in the log says all of which answer is better: given it, longer "
                "answers (or those of one maker) are not better. All leans but those to a seat "
                "rest on this."
            )
            continue
        name = "People do" if one == PEOPLE else f"{clip(one)} does"
        yield (
            f"{name} not lean: what looks equally good there is taken to be equally good. "
            f"{others} rest on this."
        )


def advice_on(audit: JudgesAudit) -> Iterator[str]:
    """Yield what to do about what was found."""
    if not audit.judges:
        yield (
            "No judge scored two answers to one prompt, so scores say nothing of what a judge "
            "prefers. Give the logs of two or more answerers to the same prompts together: their "
            "scores are then compared."
        )
        return
    leaning = [clip(one.name) for one in audit.judges if one.seat_p_adjusted < 1 - audit.level]
    if leaning:
        yield (
            f"{list_names(leaning)}: the seat decides some pairs (exact test over prompts, "
            "corrected for the number of judges). Ask in both orders, and count a pair whose "
            "winner changes as a tie."
        )
    once = [
        clip(one.name)
        for one in audit.judges
        if one.first is not None and one.twins is None and not one.persons
    ]
    if once:
        yield (
            f"{list_names(once)}: every pair was judged in one order only, so its "
            "consistency is not known. Ask some pairs in both orders."
        )
    coins = [
        clip(one.name)
        for one in audit.judges
        if one.consistent is not None and one.consistent.interval.high < FEWEST_CONSISTENT
    ]
    if coins:
        change = "this judge out, or change its prompt"
        if len(coins) > 1:
            change = "these judges out, or change their prompts"
        yield (
            f"{list_names(coins)}: fewer than half of the verdicts stay when the answers change "
            f"seats. Leave {change}."
        )
    found = [one for one in audit.leans if one.kind != "seat" and one.finding == VIOLATED]
    for toward, is_more in dict.fromkeys((one.toward, one.wins > EVEN) for one in found):
        names = [
            clip(one.judge) for one in found if (one.toward, one.wins > EVEN) == (toward, is_more)
        ]
        where = "to" if is_more else "away from"
        yield f"{list_names(names)}: a lean {where} {toward}. {_instead(audit)}"
    yield from _uneven_agreement(audit)
    yield from _undecided(audit)
    yield from _many(audit)
    failing = [
        clip(one.name)
        for one in audit.judges
        if one.missing_rate.trials and one.missing_rate.rate > MANY_MISSING
    ]
    if failing:
        shown = "; a table shows for which groups" if audit.missing_tests else ""
        yield f"{list_names(failing)}: many judgments are missing{shown}."
    beside = any(one.second.startswith(("people", "the truth")) for one in audit.agreements)
    if not beside and not any(one.persons for one in audit.judges):
        yield (
            "No judgment by people, and no truth, is in these logs: agreement shows only how "
            "similar judges are. Let people judge some of the pairs."
        )


def _instead(audit: JudgesAudit) -> str:
    """Return what to use instead of the verdicts of a judge who leans."""
    told = []
    if any(one.without_leans for one in audit.leaderboard):
        told.append("the ranks without leans (in the table of answerers)")
    if audit.corrected:
        told.append("the win rates that votes of people correct")
    if told:
        return f"Use {', or '.join(told)}."
    return "Do not rank answerers that differ in this by these verdicts alone."


def _many(audit: JudgesAudit) -> Iterator[str]:
    """Yield that people are told of together, where judges are as many as people are."""
    if not any(one.persons for one in audit.judges) and len(audit.judges) > MOST_SENTENCES:
        yield (
            f"{several(len(audit.judges), 'judge')}: if these are people, name them with --people "
            "(such as --people 'worker*'); they are then summarised together, and others are "
            "compared with them."
        )


def _uneven_agreement(audit: JudgesAudit) -> Iterator[str]:
    """Yield where agreement depends on which answer is better, and what that may come from."""
    told = [one for one in audit.by_group if one.finding == VIOLATED]
    if not told:
        return
    gaps = (
        ", ".join(
            f"{100 * one.with_more.rate:.0f} if {one.toward} are preferred and in "
            f"{100 * one.with_less.rate:.0f} if others are"
            for one in told
            if one.judge == judge
        )
        for judge in dict.fromkeys(one.judge for one in told)
    )
    names = dict.fromkeys(clip(one.judge) for one in told)
    yield (
        f"Agreement with {told[0].reference} depends on which answer they prefer. Of 100 pairs, "
        f"{'; '.join(f'{name} agrees in {gap}' for name, gap in zip(names, gaps, strict=True))}. "
        f"Either the judge leans, or these pairs are harder to judge. {_what_tells(audit)}"
    )


def _what_tells(audit: JudgesAudit) -> str:
    """Return whether leans between answers of equal quality are known where agreement is uneven."""
    uneven = {(one.judge, one.toward) for one in audit.by_group if one.finding == VIOLATED}
    if uneven & {(one.judge, one.toward) for one in audit.leans}:
        return (
            "The table of leans, which compares answers of equal quality, tells which; this alone "
            "does not."
        )
    return "Agreement alone does not tell which."


def _undecided(audit: JudgesAudit) -> Iterator[str]:
    """Yield how many prompts would decide what is open, those that need fewest first."""
    told = [(max(one.needed), one) for one in audit.leans if one.needed]
    for most, one in sorted(told, key=lambda pair: pair[0])[:MOST_UNDECIDED]:
        assert one.needed is not None
        sizes = " to ".join(dict.fromkeys(map(count, (min(one.needed), most))))
        yield (
            f"{UNDECIDED.capitalize()}: {clip(one.judge)} and the answer {step_words(one)}, "
            f"{picks_of_hundred(one)} of 100. With {sizes} prompts (now {count(one.prompts)}) it "
            f"would be found either to lean or to be within {audit.margin:g} of 50, with 80% power."
        )
    more = len(told) - MOST_UNDECIDED
    if more > 0:
        verb = "is" if more == 1 else "are"
        yield f"{several(more, 'more lean')} {verb} {UNDECIDED}: see the table."


def list_names(names: list[str]) -> str:
    """Return the first names of a list, and how many there are besides."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {count(more)} more" if more > 0 else "")
