"""How leans of judges are told: sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from comparity.inference.gap_tests import Interval
from comparity.judges.result import JudgesAudit
from comparity.judges.wins import BOTH_ORDERS, EVEN, PEOPLE, TRUTH, Lean
from comparity.reports.sections import MISSING, Grid, clip, count, p_value
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

LEAN_WORDS = {VIOLATED: "leans", WITHIN: WITHIN, UNDECIDED: UNDECIDED}
KIND_WORDS = {
    "length": "length",
    "style": "style",
    "refusal": "refusals",
    "self": "its own maker",
    "family": "other makers",
}
"""What judges may lean to beside a seat, by kind."""


def lean_sentences(audit: JudgesAudit) -> Iterator[str]:
    """Yield what judges were found to lean to, beside the quality of the answers."""
    told = [one for one in audit.leans if one.kind != "seat"]
    if not told:
        return
    against = told[0].against
    verb = "find" if against == PEOPLE else "finds"
    alike = f"answers that {clip(against)} {verb} equally good"
    found = [one for one in told if one.finding == VIOLATED]
    if not found:
        given = "Given the right verdict" if against == TRUTH else f"Between {alike}"
        kinds = [words for kind, words in KIND_WORDS.items() if kind in {one.kind for one in told}]
        listed = " or ".join([", ".join(kinds[:-1]), kinds[-1]] if kinds[1:] else kinds)
        yield f"{given}, no judge is found to lean to {listed} (corrected for all leans)."
    of_hundred = f"of 100 pairs of {alike}"
    if against == TRUTH:
        of_hundred = "given the right verdict, of 100 pairs in which nothing else decides"
    for judge in dict.fromkeys(one.judge for one in found):
        picks = "; ".join(
            f"the one {one.step} {picks_of_hundred(one)}" for one in found if one.judge == judge
        )
        verbs = ("lean", "they pick") if judge == PEOPLE else ("leans", "it picks")
        yield f"{clip(judge)} {verbs[0]}: {of_hundred}, {verbs[1]} {picks}."


def seat_words(one: Lean) -> str:
    """Return what a seat is worth with a judge, between equally good answers."""
    verb, it = ("prefer", "they") if one.judge == PEOPLE else ("prefers", "it")
    pick = "pick" if one.judge == PEOPLE else "picks"
    seat = "first" if one.wins > EVEN else "second"
    more = f" more than {clip(one.against)}" if one.against else ""
    words = {
        VIOLATED: f"{verb} the {seat} answer{more}",
        WITHIN: f"{verb} no seat{more} ({WITHIN})",
        UNDECIDED: f"whether {it} {verb} a seat{more} is {UNDECIDED}",
    }
    pairs = "of 100 pairs of equally good answers"
    if one.told_by == TRUTH:
        pairs = "given the right verdict, of 100 pairs"
    picks = f"{it} {pick} the first {picks_of_hundred(one)}"
    if one.against:
        picks = f"{it} would pick the first {picks_of_hundred(one)} if {clip(one.against)} did 50"
    return f"{words[one.finding]} ({pairs} {picks})"


def picks_of_hundred(one: Lean) -> str:
    """Return how often a judge picks an answer of 100 equally good pairs, with the interval."""
    picks, interval = _hundreds(one.wins, one.interval)
    return f"{picks} times {interval}"


def step_words(one: Lean) -> str:
    """Return which answer a lean is about; of a seat, beyond whom, where that is assumed."""
    is_relative = one.kind == "seat" and one.against
    return f"{one.step}, beyond {clip(one.against)}" if is_relative else one.step


def lean_grids(audit: JudgesAudit) -> Iterator[Grid]:
    """Yield the tables of leans and of sharpness."""
    if audit.leans:
        yield _lean_grid(audit)
    if audit.sharpness:
        yield _sharpness_grid(audit)


def _lean_title(audit: JudgesAudit) -> str:
    """Return the title of the table of leans, with what they rest on."""
    in_both = any(one.told_by == BOTH_ORDERS for one in audit.leans)
    if any(one.told_by == TRUTH for one in audit.leans):
        seats = " (seats: by pairs in both orders)" if in_both else ""
        return f"What judges lean to, given the right verdict{seats}"
    title = "What judges lean to between equally good answers"
    against = next((one.against for one in audit.leans if one.against), "")
    if not against:
        return title
    verb = "do" if against == PEOPLE else "does"
    but = "; for seats of pairs in both orders this is not needed" if in_both else ""
    return f"{title} (if {clip(against)} {verb} not lean{but})"


def _lean_grid(audit: JudgesAudit) -> Grid:
    return Grid(
        title=_lean_title(audit),
        header=(
            *("judge", "of 100 pairs it picks the answer", "times", "interval", "q", "finding"),
            "prompts to decide",
        ),
        rows=tuple(
            (
                clip(one.judge),
                step_words(one),
                *_hundreds(one.wins, one.interval),
                p_value(one.q_value),
                LEAN_WORDS[one.finding],
                _to_decide(one),
            )
            for one in sorted(audit.leans, key=lambda one: one.q_value)
        ),
        most=20,
    )


def _to_decide(one: Lean) -> str:
    """Return how many prompts would decide, and how many there are."""
    sizes = "-".join(dict.fromkeys(map(count, sorted(one.needed or ()))))
    if not sizes:
        return MISSING if one.finding == UNDECIDED else "decided"
    return f"{sizes}\nnow {count(one.prompts)}"


def _hundreds(share: float, ends: Interval) -> tuple[str, str]:
    """Return a share and its interval in numbers of 100."""
    if math.isnan(ends.low):
        return _of_hundred(share), MISSING
    return _of_hundred(share), f"[{_of_hundred(ends[0])}, {_of_hundred(ends[1])}]"


def _of_hundred(share: float) -> str:
    """Return a share of 100; what is nearly none, or nearly all, is not said to be that.

    Examples
    --------
    >>> [_of_hundred(share) for share in (0.0, 0.002, 0.834, 0.9998, 1.0)]
    ['0', '<1', '83', '>99', '100']
    """
    found = f"{100 * share:.0f}"
    return {("0", True): "<1", ("100", True): ">99"}.get((found, 0 < share < 1), found)


def _sharpness_grid(audit: JudgesAudit) -> Grid:
    truth = any(one.told_by == TRUTH for one in audit.sharpness)
    better = "the right one" if truth else "an answer that is better by one SD of quality"
    header = ("judge", "times", "interval", "own opinions, in SDs of quality")
    tastes = {one.judge: f"{one.taste:.1f}".replace("nan", MISSING) for one in audit.sharpness}
    rows = (
        (clip(one.judge), *_hundreds(one.picks, one.interval), tastes[one.judge])
        for one in sorted(audit.sharpness, key=lambda one: -one.picks)
    )
    return Grid(
        title=f"How sharp judges are: how often of 100 they pick {better}, if nothing else differs",
        header=header[: 3 if truth else 4],
        rows=tuple(row[: 3 if truth else 4] for row in rows),
        most=20,
    )


def lifted_grids(audit: JudgesAudit) -> Iterator[Grid]:
    """Yield how ranks change by each kind of lean alone, where one changes any."""
    board = [one for one in audit.leaderboard if one.without_leans]
    changes = (k for one in board for k, rank in one.with_lean.items() if rank != one.without_leans)
    kinds = dict.fromkeys(changes)
    if not kinds:
        return
    yield Grid(
        title="Ranks without leans, and as they would be if judges had one lean only",
        header=("answerer", "without leans", *(f"leaning to {kind}" for kind in kinds)),
        rows=tuple(
            (clip(one.answerer), str(one.without_leans), *(str(one.with_lean[k]) for k in kinds))
            for one in sorted(board, key=lambda one: one.without_leans or 0)
        ),
        most=20,
    )
