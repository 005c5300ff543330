"""How an audit of judges is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from comparity.judges.agreement import Agreement, Coefficient
from comparity.judges.rates import PromptRate, SwappedTwins
from comparity.judges.reading import Reading
from comparity.judges.result import JudgesAudit, JudgeSummary
from comparity.reports.charts import Axis, Chart, Mark, Row, RowChart, Tick, shorten_label
from comparity.reports.heat import HeatMap
from comparity.reports.sections import (
    MISSING,
    Grid,
    Section,
    clip,
    count,
    interval,
    p_value,
    percent,
    rate,
    several,
    signed,
)

ALPHA = 0.05
# A judge that fails more often than this biases rates enough to be told first.
MANY_MISSING = 0.02
# Fewest judges of which a matrix shows more than a table.
FEWEST_FOR_MATRIX = 3
MOST_TESTS = 15
MOST_SENTENCES = 12


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
        grids=tuple(_grids(audit)),
        lists=lists,
    )


def _headline(audit: JudgesAudit) -> str:
    judgments = several(sum(one.judgments for one in audit.judges), "judgment")
    people = sum(one.persons for one in audit.judges)
    others = sum(not one.persons for one in audit.judges)
    parts = [several(others, "judge")] if others or not people else []
    parts += [f"{count(people)} {'person' if people == 1 else 'people'}"] if people else []
    return ", ".join([*parts, judgments])


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
    schema = " (a reader written from documentation alone)" if one.is_documented_only else ""
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


def judge_sentence(one: JudgeSummary) -> str:
    """Return what is told of a judge first."""
    name = clip(one.name) if one.persons < 2 else f"People ({count(one.persons)})"
    verb = "pick" if one.persons > 1 else "picks"
    parts = []
    if one.first is not None:
        parts.append(f"{verb} the first answer in {in_hundred(one.first)} decided judgments")
    else:
        parts.append(f"seats say nothing, because {one.first_unknown}")
    twins = one.twins
    if twins is not None and twins.consistent.prompts > 1:
        told = f"both orders have one verdict in {in_hundred(twins.consistent)} pairs"
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
    yield from map(judge_sentence, audit.judges[:MOST_SENTENCES])
    if len(audit.judges) > MOST_SENTENCES:
        yield f"{several(len(audit.judges) - MOST_SENTENCES, 'more judge')}: see the table."
    yield f"Intervals ({percent(audit.level)}) take prompts as clusters."
    if any(one.longer for one in audit.judges):
        yield (
            "Preference for the longer answer is not adjusted for quality: longer answers may be "
            "better."
        )


def _advice(audit: JudgesAudit) -> Iterator[str]:
    leaning = [clip(one.name) for one in audit.judges if one.seat_p_adjusted < ALPHA]
    if leaning:
        yield (
            f"{', '.join(leaning)}: the seat decides some pairs (exact test over prompts, "
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
            f"{', '.join(once)}: every pair was judged in one order only, so inconsistency cannot "
            "be told. Ask some pairs in both orders."
        )
    failing = [
        clip(one.name)
        for one in audit.judges
        if one.missing_rate.trials and one.missing_rate.rate > MANY_MISSING
    ]
    if failing:
        yield f"{', '.join(failing)}: many judgments are missing; see by group where it fails."
    if not any(one.second.startswith(("people", "the truth")) for one in audit.agreements):
        yield (
            "No judgment by people, and no truth, is in these logs: agreement says only how "
            "alike judges are. Let people judge some of the pairs."
        )


def seat_chart(audit: JudgesAudit) -> RowChart:
    """Return a picture of how often each judge picks the first answer."""
    shares = {one.name: one.first for one in audit.judges}
    return _share_chart(audit, "How often each judge picks the first answer", shares, "judgments")


def _charts(audit: JudgesAudit) -> Iterator[Chart]:
    """Yield pictures of what is known of any judge."""
    if any(one.first for one in audit.judges):
        yield seat_chart(audit)
    if any(one.twins for one in audit.judges):
        shares = {one.name: one.consistent for one in audit.judges}
        yield replace(
            _share_chart(audit, "How often both orders have one verdict", shares, "pairs"),
            line=None,
        )
    if any(one.longer for one in audit.judges):
        shares = {one.name: one.longer for one in audit.judges}
        title = "How often the longer answer wins, whatever its quality"
        yield _share_chart(audit, title, shares, "judgments")


def _share_chart(
    audit: JudgesAudit, title: str, shares: dict[str, PromptRate | None], unit: str
) -> RowChart:
    rows = []
    for name, share in shares.items():
        low, high = share.interval[:2] if share else (math.nan, math.nan)
        x = share.rate if share else math.nan
        mark = Mark(kind="plain", x=x, low=low, high=high)
        note = f"{count(share.trials)} {unit}" if share else "not known"
        rows.append(Row(label=shorten_label(clip(name)), note=note, marks=(mark,)))
    ticks = tuple(Tick(at / 100, str(at)) for at in (0, 25, 50, 75, 100))
    return RowChart(
        title=f"{title}, with {percent(audit.level)} intervals over prompts",
        about="the table of judges has all numbers",
        axis=Axis(label="of 100", low=0.0, high=1.0, ticks=ticks),
        rows=tuple(rows),
        line=0.5,
    )


def _grids(audit: JudgesAudit) -> Iterator[Grid]:
    yield _judge_grid(audit)
    if any(one.twins for one in audit.judges):
        yield _order_grid(audit)
    yield from _agreement_grids(audit)
    if audit.by_length:
        yield Grid(
            title="Agreement where the better answer is the longer one, and where the shorter",
            header=("judge", "longer is better", "shorter is better", "gap", "interval"),
            rows=tuple(
                (
                    clip(one.judge),
                    f"{rate(one.longer_better.rate)}\nn {count(one.longer_better.trials)}",
                    f"{rate(one.shorter_better.rate)}\nn {count(one.shorter_better.trials)}",
                    signed(one.gap),
                    interval(*one.interval[:2]),
                )
                for one in audit.by_length
            ),
        )
    if audit.missing_tests:
        yield _missing_grid(audit)
    if audit.leaderboard:
        yield Grid(
            title="Answerers by all judgments (Bradley-Terry; ties count, seats where known)",
            header=("answerer", "score", "wins", "interval", "judgments"),
            rows=tuple(
                (
                    clip(one.answerer),
                    signed(one.score),
                    rate(one.wins.rate),
                    interval(*one.wins.interval[:2], sign=False),
                    count(one.judgments),
                )
                for one in audit.leaderboard
            ),
            most=20,
        )


def _judge_grid(audit: JudgesAudit) -> Grid:
    return Grid(
        title="Verdicts of each judge",
        header=("judge", "judgments", "missing", "ties", "first wins", "longer wins"),
        rows=tuple(
            (
                clip(one.name),
                count(one.judgments),
                count(sum(one.missing.values())),
                _share_cell(one.ties),
                _share_cell(one.first),
                _share_cell(one.longer),
            )
            for one in audit.judges
        ),
    )


def _order_grid(audit: JudgesAudit) -> Grid:
    return Grid(
        title="Pairs in both orders (p: exact, over prompts, corrected for the number of judges)",
        header=("judge", "pairs", "one verdict", "first both", "second both", "p", "same again"),
        rows=tuple(
            (
                clip(one.name),
                count(one.twins.consistent.trials),
                _share_cell(one.twins.consistent),
                *_both_counts(one.twins),
                p_value(one.seat_p_adjusted),
                _share_cell(one.repeats),
            )
            for one in audit.judges
            if one.twins is not None
        ),
    )


def _both_counts(twins: SwappedTwins) -> tuple[str, str]:
    """Return how often each seat won twice; nobody knows where logs keep both orders in one row."""
    if twins.collapsed == twins.consistent.trials:
        return MISSING, MISSING
    return count(twins.first_both), count(twins.second_both)


def _share_cell(share: PromptRate | None) -> str:
    if share is None or not share.trials:
        return MISSING
    return f"{rate(share.rate)}\n{interval(*share.interval[:2], sign=False)}"


def _agreement_grids(audit: JudgesAudit) -> Iterator[Grid]:
    matrix = _matrix(audit)
    if matrix is not None:
        yield matrix.grid
    with_ties = [one for one in audit.agreements if one.ties]
    decided = [one for one in audit.agreements if not one.ties]
    yield from _agreement_grid(audit, with_ties, "ties count as a verdict", audit.panel)
    # Where nobody ever said tie both tables are the same.
    if [one.raw for one in with_ties] != [one.raw for one in decided]:
        yield from _agreement_grid(audit, decided, "pairs that both decided", audit.panel_decided)


def _agreement_grid(
    audit: JudgesAudit, rows: list[Agreement], words: str, panel: Coefficient | None
) -> Iterator[Grid]:
    title = f"Agreement, {words}"
    if panel is not None and len(audit.judges) > 1:
        told = f"{rate(panel.value)} {interval(*panel.interval[:2])}"
        title += f" (Krippendorff's alpha of all judges {told})"
    if rows:
        yield Grid(
            title=title,
            header=("judges", "matched by", "agree", "kappa", "AC1", "alpha", "n"),
            rows=tuple(map(_agreement_row, rows)),
            most=30,
        )


def _agreement_row(one: Agreement) -> tuple[str, ...]:
    return (
        f"{clip(one.first)}\n{clip(one.second)}",
        one.matched,
        _share_cell(one.raw),
        _cell(one.kappa),
        _cell(one.ac1),
        _cell(one.alpha),
        count(one.raw.trials),
    )


def _cell(one: Coefficient) -> str:
    if math.isnan(one.value):
        return MISSING
    return f"{one.value:.3f}\n{interval(*one.interval[:2])}"


def _matrix(audit: JudgesAudit) -> HeatMap | None:
    """Return how often every two judges agree, ties included, where there are several."""
    names = [one.name for one in audit.judges if not one.persons]
    known = {
        frozenset((one.first, one.second)): one.raw
        for one in audit.agreements
        if one.ties and {one.first, one.second} <= {*names}
    }
    if len(names) < FEWEST_FOR_MATRIX or not known:
        return None
    pairs = [[known.get(frozenset((a, b))) if a != b else None for b in names] for a in names]
    return HeatMap(
        title="How often two judges agree, ties included",
        names=tuple(map(clip, names)),
        values=tuple(tuple(one.rate if one else math.nan for one in row) for row in pairs),
        cells=tuple(
            tuple(f"{rate(one.rate)}\nn {count(one.trials)}" if one else "" for one in row)
            for row in pairs
        ),
        low=0.0,
        high=1.0,
        unit="agreement",
        corner="judge",
    )


def _missing_grid(audit: JudgesAudit) -> Grid:
    tests = sorted(audit.missing_tests, key=lambda one: one.p_value)
    return Grid(
        title="Where judges fail (exact, by prompt; p corrected over all groups of a judge)",
        header=("judge", "group", "failed here", "failed elsewhere", "p"),
        rows=tuple(
            (
                clip(one.judge),
                f"{one.kind}: {clip(one.group)}",
                f"{count(one.failed)} of {count(one.trials)}",
                f"{count(one.others_failed)} of {count(one.others)}",
                p_value(one.p_adjusted),
            )
            for one in tests
        ),
        most=MOST_TESTS,
    )
