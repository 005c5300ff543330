"""The tables of a result as cells of text, the same for a terminal and a page.

A cell may have a second line, which a medium shows smaller or dimmer. Strings that come from data
are made safe here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from comparity.auditing.verdicts import WITHIN
from comparity.counts import Cell
from comparity.matrices import PairwiseAccuracy, PanelAudit
from comparity.plans import ComparativePlan, Plan
from comparity.reporting.deferred import Deferred
from comparity.reporting.formats import (
    MISSING,
    count,
    expected,
    interval,
    p_value,
    percent,
    rate,
    short,
    signed,
    sizes,
    visible,
)
from comparity.results import Audit, JudgedGap, RateEstimate

__all__ = ["Grid", "audit_grids", "matrix_grids", "pairwise_grids", "panel_grids", "plan_grids"]

# A matrix of more groups than this is wider than a terminal; it is listed instead.
MATRIX_GROUPS = 4
# With many groups there are hundreds of pairs of them; a terminal shows so many rows.
ROWS = 40
# A cell of more letters than this is broken into lines.
SENTENCE = 32
# What may stand between and after numbers: "2,501 vs 2,499", "1 to 9", "n 12M", "1e300".
BETWEEN = re.compile(r"\b(?:vs|to|x|n)\b|(?<=\d)[kMGe]")
LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """One table.

    Attributes
    ----------
    title : str
        What it shows.
    header : tuple of str
        Names of the columns; the first column names the rows.
    rows : sequence of tuple of str
        The cells.
    findings : tuple of str
        The finding of each row, where the last column shows it; otherwise empty.
    shades : tuple of tuple of float
        For a heat map, how light each cell after the first column is, from 0 to 1; ``nan`` for
        a cell without shade.
    scale : tuple of str
        For a heat map, what the first and the last shade mean; may be empty.
    both_ways : bool
        Whether a shade of 1/2 is zero, and what is below and above differ in colour.
    most : int or None
        How many rows are shown where there is little room; all by default.
    """

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    findings: tuple[str, ...] = ()
    shades: tuple[tuple[float, ...], ...] = ()
    scale: tuple[str, ...] = ()
    both_ways: bool = False
    most: int | None = None

    @property
    def wordy(self) -> tuple[bool, ...]:
        """Which columns hold sentences, which need more than one line."""
        longest = [
            max((len(line) for row in self.rows for line in row[place].split("\n")), default=0)
            for place in range(len(self.header))
        ]
        return tuple(length > SENTENCE for length in longest)

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers, here and there replaced by words; the first names rows."""
        columns = zip(*(row[1:] for row in self.rows), strict=True)
        found = [_holds_numbers(column) for column in columns] or [False] * len(self.header[1:])
        return (False, *found)


def _holds_numbers(cells: Sequence[str]) -> bool:
    told = [cell.partition("\n")[0] for cell in cells if cell not in ("", MISSING)]
    numbers = sum(not LETTER.search(BETWEEN.sub("", line)) for line in told)
    return 4 * numbers >= len(told)


def audit_grids(audit: Audit) -> Iterator[Grid]:
    """Yield the tables of an audit: tests, rates, and what is reported without being judged."""
    if audit.tests:
        yield _tests(audit)
    if audit.rates:
        yield _rates(audit)
    if audit.raw is not None:
        yield _raw_and_standardised(audit.raw, audit, audit.imbalance, audit.effective_sizes)
    if audit.summary:
        rows = tuple((visible(name), signed(value)) for name, value in audit.summary.items())
        yield Grid(title="Well-known numbers", header=("number", "value"), rows=rows)
    if audit.joint_tests:
        yield _joint(audit)


def matrix_grids(result: PairwiseAccuracy) -> Iterator[Grid]:
    """Yield the matrices as heat maps: the darker, the less scores agree with labels."""
    matrices = {"Raw": result.matrix.tolist()}
    if result.raw is not result.standardised:
        found = {one.of: one.rate for one in result.standardised.rates}
        matrices["Standardised"] = [
            [found.get(str(Cell(better, worse)), math.nan) for worse in result.groups]
            for better in result.groups
        ]
    known = [value for rows in matrices.values() for row in rows for value in row if value == value]
    # Half of the scale is left out where no entry is worse than a coin.
    low = 0.5 if min(known, default=0.0) >= 0.5 else 0.0
    for name, rows in matrices.items():
        yield _heat_map(f"{name} accuracy", rows, result, low)


def _heat_map(name: str, rows: list[list[float]], result: PairwiseAccuracy, low: float) -> Grid:
    pairs = result.n_pairs.tolist()
    return Grid(
        title=f"{name}, group of the better item (row) and of the worse (column)",
        header=("", *map(visible, result.groups)),
        rows=tuple(
            (
                visible(group),
                *(f"{rate(value)}\nn {short(n)}" for value, n in zip(row, numbers, strict=True)),
            )
            for group, row, numbers in zip(result.groups, rows, pairs, strict=True)
        ),
        shades=tuple(tuple((value - low) / (1 - low) for value in row) for row in rows),
        scale=(f"{low:g}", "1"),
    )


def pairwise_grids(result: PairwiseAccuracy) -> Iterator[Grid]:
    """Yield the tables of all pairs: the deciding audit's, both matrices, marginals, notions."""
    yield from audit_grids(result.audit)
    if result.labels != "binary" and result.raw is not result.standardised:
        apart, sizes = result.imbalance, result.effective_sizes
        yield _raw_and_standardised(result.raw, result.standardised, apart, sizes)
    yield Grid(
        title=f"Overall accuracy {rate(result.overall)}, and by the group of one item",
        header=("group", "better item", "worse item"),
        rows=tuple(
            (visible(group), rate(row), rate(column))
            for group, row, column in zip(
                result.groups, result.row_marginals, result.column_marginals, strict=True
            )
        ),
    )
    rows = tuple((name, rate(value)) for name, value in result.notions.items())
    yield Grid(title="Notions of the raw matrix", header=("notion", "value"), rows=rows)


def panel_grids(result: PanelAudit) -> Iterator[Grid]:
    """Yield what the error of a panel does: pairs in the wrong order, and gaps without it."""
    groups = result.at_face_value.groups
    yield Grid(
        title="Expected share of pairs the panel has in the wrong order",
        header=("put higher", *(f"over {visible(worse)}" for worse in groups)),
        rows=tuple(
            (visible(better), *map(rate, row))
            for better, row in zip(groups, result.reversals.tolist(), strict=True)
        ),
    )
    yield Grid(
        title="The same tests if the panel's scores were the truth",
        header=("hypothesis", "gap", "std. error", "with the panel's error", "bias allowed for"),
        rows=tuple(
            (
                visible(given.null),
                signed(given.gap),
                rate(given.standard_error),
                rate(carried.standard_error),
                rate(allowance),
            )
            for given, carried, allowance in zip(
                result.at_face_value.tests, result.tests, result.allowances, strict=True
            )
        ),
    )


def _raw_and_standardised(
    before: Audit, after: Audit, apart: float, sizes: Mapping[str, float]
) -> Grid:
    raw = {one.of: one.rate for one in before.rates}
    even = {one.of: one.rate for one in after.rates}
    judged = before.unit == "judgments"
    weighting = [(f"{'reference' if judged else 'label'} laws still apart by", "", rate(apart))]
    weighting += [
        (f"effective items of {visible(group)}", "", f"{size:,.0f}")
        for group, size in sizes.items()
    ]
    return Grid(
        title="Raw agreement, and standardised to one law of the reference"
        if judged
        else "Raw accuracy, and standardised to one law of labels",
        header=("pairs", "raw", "standardised"),
        rows=(
            *((visible(of), rate(raw[of]), rate(even[of]) if of in even else "none") for of in raw),
            ("finding", before.finding, after.finding),
            *weighting,
        ),
        most=ROWS,
    )


def plan_grids(plan: Plan) -> Iterator[Grid]:
    """Yield the tables of a plan: each test on its own, and how often items may be reused."""
    yield _planned(plan)
    if isinstance(plan, ComparativePlan):
        yield _reuse(plan)


def _tests(audit: Audit) -> Grid:
    return Grid(
        title="Tests",
        header=("hypothesis", "gap", "interval judged", "p (adj.)", audit.unit, "finding"),
        rows=Deferred(len(audit.tests), lambda place: _test_row(audit.tests[place], audit)),
        findings=tuple(test.finding for test in audit.tests),
        most=ROWS,
    )


def _test_row(test: JudgedGap, audit: Audit) -> tuple[str, ...]:
    low, high, level = test.interval(test.level)
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


def _rates(audit: Audit) -> Grid:
    names = list(dict.fromkeys(estimate.name for estimate in audit.rates))
    if len(names) > 1:
        return _by_group(audit.rates, names)
    if names == ["win share"]:
        # Without labels no item is the better one, and a share says what its mirror is.
        return _listed("Share of pairs in which the first has the higher score", audit.rates)
    by_cell = {estimate.of: estimate for estimate in audit.rates}
    cells = {str(Cell(better, worse)) for better in audit.groups for worse in audit.groups}
    if by_cell.keys() <= cells and len(audit.groups) <= MATRIX_GROUPS:
        return _matrix(audit, by_cell)
    return _listed(f"{names[0].capitalize()} by kind of pair (better > worse)", audit.rates)


def _listed(title: str, rates: Sequence[RateEstimate]) -> Grid:
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


def _joint(audit: Audit) -> Grid:
    return Grid(
        title="Tests of several equalities at once (reported, never judged)",
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


def _planned(plan: Plan) -> Grid:
    return Grid(
        title="Tests",
        header=("hypothesis", "rates", "gap", "std. error", "expected n", "power alone"),
        rows=tuple(
            (
                visible(test.null),
                f"{rate(test.first_rate)} vs {rate(test.second_rate)}",
                signed(test.gap),
                f"{test.standard_error:.4f}",
                " vs ".join(map(expected, test.n)),
                rate(test.power),
            )
            for test in plan.tests
        ),
    )


def _reuse(plan: ComparativePlan) -> Grid:
    return Grid(
        title="How often may an item be reused?",
        header=("items", "judged pairs", "judgments per item", "power"),
        rows=tuple(
            (
                "fresh" if row.n_items is None else count(row.n_items),
                "never enough" if row.n_pairs is None else count(row.n_pairs),
                "" if row.n_pairs is None else f"{row.reuse:.1f}",
                f"at most {rate(row.ceiling)}" if row.n_pairs is None else rate(row.power),
            )
            for row in plan.reuse_curve()
        ),
    )
