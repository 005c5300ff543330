"""Tables of an audit of judges."""

from __future__ import annotations

import math
from collections.abc import Iterator

from comparity.inference.gap_tests import Interval
from comparity.judges.agreement import Agreement, Coefficient
from comparity.judges.judge_contrasts import Drift
from comparity.judges.leaderboard import MOST_OPPONENTS
from comparity.judges.lean_section import lean_grids, lifted_grids
from comparity.judges.rates import PromptRate, SwappedTwins
from comparity.judges.result import MOST_SHOWN, JudgesAudit
from comparity.judges.single_scores import score_grids
from comparity.reports.heat import HeatMap
from comparity.reports.sections import MISSING, Grid, clip, count, interval, p_value, rate, signed
from comparity.results.result import VIOLATED

# Fewest judges of which a matrix shows more than a table, and rows of tests.
FEWEST_FOR_MATRIX, MOST_TESTS = 3, 15


def grids_of(audit: JudgesAudit) -> Iterator[Grid]:
    """Yield the tables of an audit of judges."""
    if audit.judges:
        yield _judge_grid(audit)
    yield from score_grids(audit.scores)
    if any(one.twins for one in audit.judges):
        yield _order_grid(audit)
    yield from _agreement_grids(audit)
    if audit.by_group:
        yield _by_group_grid(audit)
    if audit.own_makers:
        yield _own_maker_grid(audit)
    yield from lean_grids(audit)
    if audit.drift is not None:
        yield _drift_grid(audit.drift)
    if audit.corrected:
        yield _corrected_grid(audit)
    if audit.judge_groups:
        yield _group_grid(audit)
    if audit.missing_tests:
        yield _missing_grid(audit)
    yield from _leaderboard_grids(audit)


def _by_group_grid(audit: JudgesAudit) -> Grid:
    reference = audit.by_group[0].reference
    return Grid(
        title=f"Does agreement with {reference} depend on what is preferred? (p corrected)",
        header=("judge", "answers", "if preferred", "if others are", "gap", "p", "agreement is"),
        rows=tuple(
            (
                clip(one.judge),
                one.toward,
                *(f"{rate(a.rate)}\nn {count(a.trials)}" for a in (one.with_more, one.with_less)),
                f"{signed(one.gap)}\n{interval(*one.interval[:2])}",
                p_value(one.p_adjusted),
                "uneven" if one.finding == VIOLATED else one.finding,
            )
            for one in sorted(audit.by_group, key=lambda one: (one.p_adjusted, one.p_value))
        ),
        most=20,
    )


def _own_maker_grid(audit: JudgesAudit) -> Grid:
    return Grid(
        title="How often answers of a judge's own maker win over others, whatever their quality",
        header=("judge", "maker", "by the judge", "by other judges", "by people"),
        rows=tuple(
            (
                *(clip(one.judge), clip(one.maker)),
                *map(_share_cell, (one.wins, one.by_others, one.by_people)),
            )
            for one in audit.own_makers
        ),
        most=20,
    )


def _leaderboard_grids(audit: JudgesAudit) -> Iterator[Grid]:
    """Yield the ranks of the answerers, and who beat whom."""
    board = audit.leaderboard
    if not board:
        return
    adjusted = any(one.without_leans for one in board)
    yield Grid(
        title="Answerers by all judgments (scores: Bradley-Terry, ties after Davidson)",
        header=(
            *("answerer", "ranks", "score", "interval", "Elo", "wins of decided"),
            *(("rank without leans",) if adjusted else ()),
            "judgments",
        ),
        rows=tuple(
            (
                clip(one.answerer),
                "-".join(dict.fromkeys(map(count, one.ranks))),
                signed(one.score),
                interval(*one.interval[:2]),
                count(round(one.elo)),
                _share_cell(one.wins),
                *((count(one.without_leans or 0),) if adjusted else ()),
                count(one.judgments),
            )
            for one in board
        ),
        most=20,
    )
    yield from lifted_grids(audit)
    if (matrix := win_matrix(audit)) is not None:
        yield matrix.grid


def win_matrix(audit: JudgesAudit) -> HeatMap | None:
    """Return how often each answerer won over each other, where there are several."""
    names = [one.answerer for one in audit.leaderboard]
    if not FEWEST_FOR_MATRIX <= len(names) <= MOST_OPPONENTS:
        return None
    rows = [[one.against.get(name) for name in names] for one in audit.leaderboard]
    title = "How often the answerer of a row wins over that of a column, ties left out"
    return _rate_matrix(title, names, rows, unit="wins", corner="answerer")


def _rate_matrix(
    title: str, names: list[str], rows: list[list[PromptRate | None]], *, unit: str, corner: str
) -> HeatMap:
    """Return a square of rates with their numbers of trials."""
    return HeatMap(
        title=title,
        names=tuple(map(clip, names)),
        values=tuple(tuple(one.rate if one else math.nan for one in row) for row in rows),
        cells=tuple(
            tuple(f"{rate(one.rate)}\nn {count(one.trials)}" if one else "" for one in row)
            for row in rows
        ),
        low=0.0,
        high=1.0,
        unit=unit,
        corner=corner,
    )


def _drift_grid(drift: Drift) -> Grid:
    return Grid(
        title=f"From {clip(drift.before)} to {clip(drift.after)}, on the same presentations "
        "(p: exact, over prompts, corrected over all rows)",
        header=("how often", "before", "after", "change", "interval", "p"),
        rows=tuple(
            (
                clip(one.what),
                *map(rate, (one.before, one.after)),
                signed(one.gap),
                interval(*one.interval[:2]),
                p_value(one.p_adjusted),
            )
            for one in drift.changes
        ),
    )


def _corrected_grid(audit: JudgesAudit) -> Grid:
    several = len({one.judge for one in audit.corrected}) > 1
    return Grid(
        title="Who wins how often: by people, by the judge, by people with its help",
        header=(
            *("answerer", "people", "judge", "people and judge", "judge minus people"),
            "with it a vote counts as",
        ),
        rows=tuple(
            (
                clip(one.answerer) + (f"\n{clip(one.judge)}" if several else ""),
                f"{rate(one.wins.labels_alone)}\n{_within(one.wins.labels_interval)}",
                rate(one.wins.predictions_alone),
                f"{rate(one.wins.value)}\n{_within(one.wins.interval)}",
                f"{signed(one.excess.value)}\n{interval(*one.excess.interval[:2])}",
                f"{one.wins.worth:.2f} votes\n{count(one.wins.n_labels)} of "
                f"{count(one.wins.n_units)} pairs",
            )
            for one in audit.corrected
        ),
        most=20,
    )


def _group_grid(audit: JudgesAudit) -> Grid:
    return Grid(
        title=f"Judges by {clip(audit.judge_groups[0].by)} (intervals know of judges and prompts; "
        "p corrected over all rows)",
        header=("how often", "group", "in it", "others", "gap", "interval", "p"),
        rows=tuple(
            (
                clip(one.what),
                f"{clip(one.group)}\n{count(one.judges)} and {count(one.other_judges)} judges",
                *map(rate, (one.rate, one.other_rate)),
                signed(one.gap),
                interval(*one.interval[:2]),
                p_value(one.p_adjusted),
            )
            for one in audit.judge_groups
        ),
        most=40,
    )


def _within(ends: Interval) -> str:
    """Return an interval of a rate, which lies between 0 and 1."""
    return interval(max(ends.low, 0.0), min(ends.high, 1.0), sign=False)


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
            for one in audit.busiest
        ),
        most=MOST_SHOWN,
    )


def _order_grid(audit: JudgesAudit) -> Grid:
    return Grid(
        title="Pairs judged in both orders (p: exact, over prompts, corrected for all judges)",
        header=("judge", "pairs", "one verdict", "first twice", "second twice", "p", "same again"),
        rows=tuple(
            (
                clip(one.name),
                count(one.twins.consistent.trials),
                _share_cell(one.twins.consistent),
                *_both_counts(one.twins),
                p_value(one.seat_p_adjusted),
                _share_cell(one.repeats),
            )
            for one in audit.busiest
            if one.twins is not None
        ),
        most=MOST_SHOWN,
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
    title = "How often two judges agree, ties included"
    return _rate_matrix(title, names, pairs, unit="agreement", corner="judge")


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
