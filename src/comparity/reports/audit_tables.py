"""The tables of an audit: tests, rates, and what is reported without being judged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from comparity.counts.pairs import Cell
from comparity.errors.spelling import visible
from comparity.inference.gap_tests import RateEstimate
from comparity.reports.sections import (
    Deferred,
    Grid,
    count,
    interval,
    p_value,
    percent,
    rate,
    signed,
    sizes,
)
from comparity.results.audit import Audit, JudgedGap
from comparity.results.result import WITHIN

# A matrix of more groups than this is wider than a terminal; it is listed instead.
MATRIX_GROUPS = 4

# With many groups there are hundreds of pairs of them; a terminal shows so many rows.
ROWS = 40


def audit_grids(audit: Audit) -> Iterator[Grid]:
    """Yield the tables of an audit: tests, rates, and what is reported without being judged."""
    if audit.tests:
        yield _tests_grid(audit)
    if audit.further_gaps:
        yield _further_grid(audit)
    if audit.rates:
        yield _rates_grid(audit)
    if audit.raw is not None:
        yield raw_and_standardised_grid(audit.raw, audit, audit.imbalance, audit.effective_sizes)
    if audit.summary:
        rows = tuple((visible(name), signed(value)) for name, value in audit.summary.items())
        yield Grid(title="Well-known numbers", header=("number", "value"), rows=rows)
    if audit.joint_tests:
        yield _joint_grid(audit)


def raw_and_standardised_grid(
    before: Audit, after: Audit, apart: float, sizes: Mapping[str, float]
) -> Grid:
    """Set raw rates beside standardised ones, with what the weighting left and cost."""
    raw = {one.of: one.rate for one in before.rates}
    even = {one.of: one.rate for one in after.rates}
    judged = before.unit == "judgments"
    weighting = [
        (f"{'reference' if judged else 'label'} distributions still apart by", "", rate(apart))
    ]
    weighting += [
        (f"effective items of {visible(group)}", "", f"{size:,.0f}")
        for group, size in sizes.items()
    ]
    return Grid(
        title="Raw agreement, and standardised to one distribution of the reference"
        if judged
        else "Raw accuracy, and standardised to one distribution of labels",
        header=("pairs", "raw", "standardised"),
        rows=(
            *((visible(of), rate(raw[of]), rate(even[of]) if of in even else "none") for of in raw),
            ("finding", before.finding, after.finding),
            *weighting,
        ),
        most=ROWS,
    )


def _tests_grid(audit: Audit) -> Grid:
    return Grid(
        title="Tests",
        header=("hypothesis", "gap", "interval judged", "p (adj.)", audit.unit, "finding"),
        rows=Deferred(len(audit.tests), lambda place: _test_row(audit.tests[place], audit)),
        findings=tuple(test.finding for test in audit.tests),
        most=ROWS,
    )


def _further_grid(audit: Audit) -> Grid:
    """Set out gaps that have to be within the margin, too; the least certain ones first."""
    gaps = sorted(audit.further_gaps, key=lambda gap: -_sortable(gap.equivalence_p))
    return Grid(
        title=f"Other gaps: the audit is {WITHIN} only if these are, too",
        header=("gap between", "gap", "interval", f"p (≥ {audit.margin:g})", "finding"),
        rows=tuple(
            (
                visible(gap.null.replace(" = ", " and ")),
                signed(gap.gap),
                interval(*gap.equivalence_interval[:2])
                + (f"\nat {percent(gap.equivalence_level)}" if gap.pivot else ""),
                p_value(gap.equivalence_p),
                gap.finding,
            )
            for gap in gaps
        ),
        findings=tuple(gap.finding for gap in gaps),
        most=ROWS,
    )


def _sortable(p: float) -> float:
    return 2.0 if math.isnan(p) else p


def _test_row(test: JudgedGap, audit: Audit) -> tuple[str, ...]:
    low, high, level = test.deciding_interval
    judged = interval(low, high)
    p = p_value(test.p_adjusted)
    finding = test.finding
    if test.finding == WITHIN:
        # It is the p value of a gap as large as the margin that decided.
        p += f"\n≥ {audit.margin:g}: {p_value(test.equivalence_p)}"
        finding += "\nyet not zero" if test.differs_from_zero else ""
    return (
        visible(test.null),
        signed(test.gap),
        judged if test.pivot is None else f"{judged}\nat {percent(level)}",
        p,
        sizes(test.n, audit.n),
        finding,
    )


def _rates_grid(audit: Audit) -> Grid:
    names = list(dict.fromkeys(estimate.name for estimate in audit.rates))
    if len(names) > 1:
        return _by_group(audit.rates, names)
    if names == ["win share"]:
        # Without labels no item is the better one, and a share says what its mirror is.
        return _rate_list("Share of pairs in which the first has the higher score", audit.rates)
    by_cell = {estimate.of: estimate for estimate in audit.rates}
    cells = {str(Cell(better, worse)) for better in audit.groups for worse in audit.groups}
    if by_cell.keys() <= cells and len(audit.groups) <= MATRIX_GROUPS:
        return _matrix(audit, by_cell)
    return _rate_list(f"{names[0].capitalize()} by kind of pair (better > worse)", audit.rates)


def _rate_list(title: str, rates: Sequence[RateEstimate]) -> Grid:
    return Grid(
        title=visible(title),
        header=("pairs", "rate"),
        rows=tuple((visible(one.of), _estimate(one)) for one in rates),
        most=ROWS,
    )


def _by_group(rates: Sequence[RateEstimate], names: Sequence[str]) -> Grid:
    found = {(estimate.of, estimate.name): estimate for estimate in rates}
    return Grid(
        title="Rates by group",
        header=("group", *map(visible, names)),
        rows=tuple(
            (visible(group), *(_estimate(found.get((group, name))) for name in names))
            for group in dict.fromkeys(estimate.of for estimate in rates)
        ),
    )


def _matrix(audit: Audit, by_cell: dict[str, RateEstimate]) -> Grid:
    groups = audit.groups
    source = "judges" if audit.unit == "judgments" else "labels"
    source = "panel" if "panel" in audit.notion else source
    what = "Standardised agreement" if "(standardised)" in audit.notion else "Agreement"
    # The matrix beside it counts pairs.
    unit = " (n queries)" if audit.unit == "queries" else ""
    return Grid(
        title=f"{what} with the {source}, by the groups of the better and the worse item{unit}",
        header=("better item", *(f"over {visible(worse)}" for worse in groups)),
        rows=tuple(
            (
                visible(better),
                *(_estimate(by_cell.get(str(Cell(better, worse)))) for worse in groups),
            )
            for better in groups
        ),
    )


def _estimate(estimate: RateEstimate | None) -> str:
    if estimate is None or not estimate.trials:
        return "none"
    low, high, _ = estimate.interval
    bounds = interval(low, high, sign=False)
    return f"{rate(estimate.rate)}\n{bounds} n {count(estimate.trials)}"


def _joint_grid(audit: Audit) -> Grid:
    return Grid(
        title="Tests of several equalities at once (for statisticians; they decide nothing here)",
        header=("hypothesis", "chi-square", "df", "p", "method"),
        rows=tuple(
            (
                visible(joint.null),
                "n/a" if math.isnan(joint.statistic) else f"{joint.statistic:.2f}",
                count(joint.dof),
                p_value(joint.p_value),
                visible(joint.method),
            )
            for joint in audit.joint_tests
        ),
    )
