"""Results for a terminal, by rich: the finding first, then what it rests on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from comparity.auditing.verdicts import UNDECIDED, VIOLATED, WITHIN
from comparity.counts import Cell
from comparity.plans import ComparativePlan, Plan
from comparity.reporting.formats import (
    count,
    expected,
    interval,
    p_value,
    percent,
    rate,
    signed,
    visible,
)
from comparity.reporting.sentences import (
    DECIDING_TITLE,
    basis,
    explanation,
    headline,
    open_tests,
    plan_basis,
    plan_headline,
    rates_title,
    reasons,
    tie_lines,
    unit,
    what_would_decide,
)
from comparity.results import Audit, JudgedGap, RateEstimate

__all__ = ["as_text", "audit_view", "plan_view", "show"]

COLOUR = {VIOLATED: "bold red", WITHIN: "bold green", UNDECIDED: "bold yellow"}
TEXT_WIDTH = 100
# A matrix of more groups than this is wider than a terminal; it is listed instead.
MATRIX_GROUPS = 5
# So many open tests are spelled out; the rest is in to_dict().
OPEN_TESTS = 8


def audit_view(audit: Audit) -> RenderableType:
    """Lay out an audit: finding, tests, rates, and what the reader must know."""
    parts: list[RenderableType] = [
        Text(headline(audit), style=COLOUR[audit.finding]),
        Text(explanation(audit)),
        Text(basis(audit), style="dim"),
    ]
    if audit.tests:
        parts += [Text("\nTests", style="bold"), gap_table(audit)]
    if audit.rates:
        parts += [Text(f"\n{rates_title(audit)}", style="bold"), rate_table(audit)]
    parts += _closing(audit)
    return Group(*parts)


def plan_view(plan: Plan) -> RenderableType:
    """Lay out a plan: what it takes, each test on its own, and what more items would save."""
    parts: list[RenderableType] = [
        Text(plan_headline(plan), style="bold"),
        Text(plan_basis(plan), style="dim"),
        Text("\nTests", style="bold"),
        planned_table(plan),
    ]
    if isinstance(plan, ComparativePlan):
        parts += [Text("\nHow often may an item be reused?", style="bold"), reuse_table(plan)]
    if plan.notes:
        parts += [Text("\nNotes", style="bold"), _bullets(map(visible, plan.notes))]
    return Group(*parts)


def as_text(result: Audit | Plan) -> str:
    """Return a result as plain text, 100 columns wide, without colour."""
    console = Console(width=TEXT_WIDTH, color_system=None, force_terminal=False, record=False)
    with console.capture() as captured:
        console.print(_view(result))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def show(result: Audit | Plan) -> None:
    """Print a result, in colour where the terminal has any."""
    # What is piped has no width of its own; rich would take 80.
    width = None if sys.stdout.isatty() else TEXT_WIDTH
    Console(width=width).print(_view(result))


def gap_table(audit: Audit) -> Table:
    """Lay out one row for each hypothesis; the interval shown is the one that was judged."""
    table = _plain_table()
    table.add_column("hypothesis", overflow="fold")
    for column in ("gap", "interval judged", "p (adj.)"):
        table.add_column(column, justify="right", no_wrap=column == "gap")
    table.add_column(unit(audit), justify="right")
    table.add_column("finding")
    for test in audit.tests:
        table.add_row(*_test_row(test))
    return table


def planned_table(plan: Plan) -> Table:
    """Lay out one row for each hypothesis of a plan."""
    table = _plain_table("hypothesis")
    for column in ("rates", "gap", "std. error", "expected n", "power alone"):
        table.add_column(column, justify="right")
    for test in plan.tests:
        table.add_row(
            Text(visible(test.null)),
            f"{rate(test.first_rate)} vs {rate(test.second_rate)}",
            signed(test.gap),
            f"{test.standard_error:.4f}",
            " vs ".join(expected(n) for n in test.n),
            rate(test.power),
        )
    return table


def reuse_table(plan: ComparativePlan) -> Table:
    """Lay out items against judgments: fewer items need more judgments, or never suffice."""
    table = _plain_table()
    for column in ("items", "judged pairs", "judgments per item", "power"):
        table.add_column(column, justify="right")
    for row in plan.reuse_curve():
        table.add_row(
            "fresh" if row.n_items is None else count(row.n_items),
            "never enough" if row.n_pairs is None else count(row.n_pairs),
            "" if row.n_pairs is None else f"{row.reuse:.1f}",
            rate(row.power) if row.n_pairs is not None else f"at most {rate(row.ceiling)}",
        )
    return table


def rate_table(audit: Audit) -> Table:
    """Lay out the rates: a matrix of cells, one row for each group, or a list."""
    by_cell = {estimate.of: estimate for estimate in audit.rates}
    cells = [Cell(better, worse) for better in audit.groups for worse in audit.groups]
    if len(by_cell) == len(audit.rates) and by_cell.keys() <= {str(cell) for cell in cells}:
        if len(audit.groups) <= MATRIX_GROUPS:
            return _cell_matrix(audit, by_cell)
    elif len({estimate.name for estimate in audit.rates}) > 1:
        return _group_table(audit.rates)
    return _rate_list(audit.rates)


def _view(result: Audit | Plan) -> RenderableType:
    return audit_view(result) if isinstance(result, Audit) else plan_view(result)


def _test_row(test: JudgedGap) -> Iterator[RenderableType]:
    low, high, level = test.interval(test.level)
    judged = Text(interval(low, high), no_wrap=True)
    finding = Text(test.finding, style=COLOUR[test.finding])
    if test.finding == WITHIN and test.differs_from_zero:
        finding.append(" (not zero)", style="dim")
    yield Text(visible(test.null))
    yield signed(test.gap)
    yield judged if test.pivot is None else judged.append(f"\nat {percent(level)}", style="dim")
    yield _p_values(test)
    yield " vs ".join(map(count, test.n))
    yield finding


def _p_values(test: JudgedGap) -> Text:
    text = Text(p_value(test.p_adjusted))
    if test.finding == WITHIN:
        # It is this one that put the gap within the margin.
        text.append(f"\nmargin {p_value(test.equivalence_p)}", style="dim")
    return text


def _cell_matrix(audit: Audit, by_cell: dict[str, RateEstimate]) -> Table:
    table = _plain_table("better item")
    for worse in audit.groups:
        table.add_column(Text(f"over {visible(worse)}"), justify="right")
    for better in audit.groups:
        estimates = [by_cell.get(str(Cell(better, worse))) for worse in audit.groups]
        table.add_row(Text(visible(better)), *map(_estimate, estimates))
    return table


def _group_table(rates: Iterable[RateEstimate]) -> Table:
    found = {(estimate.of, estimate.name): estimate for estimate in rates}
    names = list(dict.fromkeys(name for _, name in found))
    table = _plain_table("group")
    for name in names:
        table.add_column(Text(visible(name)), justify="right")
    for group in dict.fromkeys(of for of, _ in found):
        estimates = [found.get((group, name)) for name in names]
        table.add_row(Text(visible(group)), *map(_estimate, estimates))
    return table


def _rate_list(rates: Iterable[RateEstimate]) -> Table:
    table = _plain_table("rate", "of")
    for column in ("value", "interval", "n"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in rates:
        bounds = interval(one.interval.low, one.interval.high, sign=False)
        table.add_row(
            Text(visible(one.name)),
            Text(visible(one.of)),
            rate(one.rate),
            Text(bounds),
            count(one.trials),
        )
    return table


def _plain_table(*headers: str) -> Table:
    return Table(*headers, box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))


def _estimate(estimate: RateEstimate | None) -> Text:
    if estimate is None or not estimate.trials:
        return Text("none", style="dim")
    low, high, _ = estimate.interval
    text = Text(rate(estimate.rate))
    return text.append(
        f" {interval(low, high, sign=False)}\nn {count(estimate.trials)}", style="dim"
    )


def _closing(audit: Audit) -> Iterator[RenderableType]:
    also = [*_summary_lines(audit), *_joint_lines(audit), *tie_lines(audit)]
    if also:
        yield from (Text("\nAlso", style="bold"), _bullets(also))
    undecided = open_tests(audit)
    if undecided:
        lines = [
            f"{visible(test.null)}: {what_would_decide(audit, test)}"
            for test in undecided[:OPEN_TESTS]
        ]
        if len(undecided) > OPEN_TESTS:
            lines.append(f"and {len(undecided) - OPEN_TESTS} more tests, in --json and to_dict()")
        yield from (Text(f"\n{DECIDING_TITLE}", style="bold"), _bullets(lines))
    notes = [*reasons(audit), *map(visible, audit.notes)]
    if notes:
        yield from (Text("\nNotes", style="bold"), _bullets(notes))


def _bullets(lines: Iterable[str]) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row("-", Text(line))
    return grid


def _summary_lines(audit: Audit) -> Iterator[str]:
    for name, value in audit.summary.items():
        yield f"{visible(name)}: {signed(value)}"


def _joint_lines(audit: Audit) -> Iterator[str]:
    for joint in audit.joint_tests:
        yield (
            f"joint test, reported and not judged: {visible(joint.null)}: "
            f"chi-square {joint.statistic:.2f} on {joint.dof} df, p {p_value(joint.p_value)} "
            f"({visible(joint.method)})"
        )
