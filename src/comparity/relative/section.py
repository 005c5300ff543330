"""Two decision makers, or many, for terminal, page and picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import singledispatch

import numpy as np

from comparity.errors.spelling import visible
from comparity.relative.result import (
    BridgeDiagnosis,
    BridgedParity,
    DifferentialParity,
    RaterContrast,
    RaterParity,
    RatersResult,
)
from comparity.reports.audit_tables import audit_grids
from comparity.reports.audits import audit_lists, basis, explanation, gap_charts, headline
from comparity.reports.charts import KINDS
from comparity.reports.heat import HeatMap
from comparity.reports.sections import (
    Grid,
    Section,
    count,
    interval,
    p_value,
    percent,
    rate,
    several,
    signed,
)
from comparity.reports.statements import DEVIATIONS, gap_in_words
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

# With more raters than this the entries of a matrix are signs, not numbers.
NUMBERED = 10
# With more than this a row of signs is wider than a terminal.
SIGNED = 70
# So many raters at either end, and so many contrasts, are listed.
LISTED = 8
# So many tests that share a remark are named.
REMARKED = 3
# DPD that gets the full colour.
DEEPEST = 1.0
SIGNS = {WITHIN: "=", UNDECIDED: "?", "": "."}
LEGEND = "+ leans up, - down, = inside the margin, ? open"


@singledispatch
def section(result: RatersResult) -> Section:
    """Return what is shown of a comparison of decision makers."""
    raise TypeError(f"{type(result).__name__} compares no decision makers")


@section.register
def _parity_section(result: DifferentialParity) -> Section:
    audit = result.audit
    return Section(
        headline=headline(audit),
        sentences=tuple(_parity_sentences(result)),
        kind=KINDS[audit.finding],
        charts=gap_charts(audit),
        grids=(*audit_grids(audit), *_parity_grids(result)),
        lists=audit_lists(audit),
    )


def _parity_sentences(result: DifferentialParity) -> Iterator[str]:
    yield _largest_gap(result.contrasts, result.audit.margin)
    if len(result.audit.tests) != 1:
        yield explanation(result.audit)
    yield basis(result.audit)


@section.register
def _(result: BridgedParity) -> Section:
    shown = _parity_section(result)
    sentences = shown.sentences
    if not result.diagnosis.carries:
        refused = "The bridge does not carry a finding; the notes say why."
        sentences = (refused, *sentences)
    return replace(
        shown, sentences=sentences, grids=(*shown.grids, _diagnosis_grid(result.diagnosis))
    )


@section.register
def _(result: RaterParity) -> Section:
    audit = result.audit
    # One line for each of hundreds of pairs tells less than the matrix.
    assumed = [visible(note) for note in audit.notes]
    n_raters = len(result.raters)
    return Section(
        headline=headline(audit),
        sentences=(
            _count_findings(result),
            _largest_gap(result.contrasts, audit.margin),
            basis(audit),
        ),
        kind=KINDS[audit.finding],
        # Few raters have a table of numbers, which is then the heat map.
        charts=[rater_chart(result, one) for one in result.matrices if n_raters > NUMBERED],
        signs=tuple(
            _signs(result, one) for one in result.matrices if NUMBERED < n_raters <= SIGNED
        ),
        grids=tuple(_rater_grids(result)),
        lists={"What was assumed": assumed, "Remarks on tests": list(_remarks(audit))},
    )


def _remarks(audit: Audit) -> Iterator[str]:
    """Yield what there is to know of single tests, once for all that share it."""
    by_reason: dict[str, list[str]] = {}
    for test in audit.tests:
        if test.reason:
            by_reason.setdefault(test.reason, []).append(test.null)
    for reason, nulls in by_reason.items():
        more = f" and {count(len(nulls) - REMARKED)} more" if len(nulls) > REMARKED else ""
        yield visible(f"{'; '.join(nulls[:REMARKED])}{more}: {reason}")


def _largest_gap(contrasts: Sequence[RaterContrast], margin: float) -> str:
    """Say in words and numbers what the largest gap is."""
    known = [one for one in contrasts if not math.isnan(one.dpd)]
    if not known:
        return "No two groups could be compared."
    largest = max(known, key=lambda one: abs(one.dpd))
    start = "" if len(known) == 1 else "Largest gap: "
    # What chance explains is told of these data alone.
    start += "" if largest.test.differs_from_zero or not largest.dpd else "In these data: "
    told = f"{start}{largest.direction}{largest.of_label}{_mean_differences(largest)}."
    return visible(f"{told} {_size_in_words(largest, margin)}")


def _mean_differences(one: RaterContrast) -> str:
    """Say what the first gives more than the second on average, in the favoured group first."""
    if not all(map(math.isfinite, one.means)) or not one.dpd:
        return ""
    both = list(zip((one.group, one.reference), one.means, strict=True))
    told = [f"{mean:+.2f} for {name}" for name, mean in both[:: 1 if one.dpd > 0 else -1]]
    return f" (mean of {one.first} minus {one.second}: {', '.join(told)})"


def _size_in_words(one: RaterContrast, margin: float) -> str:
    """Say how large DPD is, how sure that is, and what follows."""
    if math.isinf(one.dpd):
        return "DPD has no bound, since no difference varies within a group."
    if one.test.pivot is None:
        return f"The gap (DPD) is {abs(one.dpd):.2f} SD ({one.magnitude})."
    told = gap_in_words(one.test, margin, DEVIATIONS)
    return f"The gap (DPD, {one.magnitude}) is {told}."


def _count_findings(result: RaterParity) -> str:
    found = [one.finding for one in result.contrasts]
    parts = [f"{count(found.count(word))} {word}" for word in (VIOLATED, WITHIN, UNDECIDED)]
    return f"{count(len(result.raters))} raters, {count(len(found))} tests: {', '.join(parts)}."


def _parity_grids(result: DifferentialParity) -> Iterator[Grid]:
    if result.contrasts:
        yield _measures(result.contrasts)
        no_groups = math.isnan(result.contrasts[0].means[0])
        yield _changes(result.contrasts) if no_groups else _means(result.contrasts)
    if result.distribution:
        yield Grid(
            title="The whole distribution of differences, by permutation (reported, never judged)",
            header=("hypothesis", "statistic", "value", "p"),
            rows=tuple(
                (visible(one.null), one.name, rate(one.statistic), p_value(one.p_value))
                for one in result.distribution
            ),
        )
    if result.anova:
        yield Grid(
            title="All groups at once: Welch's analysis of variance (reported, never judged)",
            header=("hypothesis", "F", "df", "p"),
            rows=tuple(
                (
                    visible(one.null),
                    rate(one.statistic),
                    f"{one.dof[0]:.0f}, {one.dof[1]:.1f}",
                    p_value(one.p_value),
                )
                for one in result.anova
            ),
        )


def _measures(contrasts: Sequence[RaterContrast]) -> Grid:
    several = any(not math.isnan(one.games_howell_p) for one in contrasts)
    return Grid(
        title="DPT, DPD and the size in words",
        header=(
            "contrast",
            "DPT",
            "df",
            "p one-sided",
            *(("Games-Howell p",) if several else ()),
            "DPD pooled",
            "DPD total",
            "size",
        ),
        rows=tuple(
            (
                visible(f"{one.group} over {one.reference}{one.of_label}"),
                signed(one.dpt),
                "n/a" if math.isnan(one.dof) else f"{one.dof:,.1f}",
                p_value(one.p_one_sided),
                *((p_value(one.games_howell_p),) if several else ()),
                signed(one.dpd),
                signed(one.dpd_total),
                one.magnitude,
            )
            for one in contrasts
        ),
    )


def _means(contrasts: Sequence[RaterContrast]) -> Grid:
    found = {}
    for one in contrasts:
        groups = zip((one.reference, one.group), one.n[::-1], one.means[::-1], strict=True)
        for group, n, mean in groups:
            name = f"{one.attribute}: {group}{one.of_label}"
            found[name] = (visible(name), count(n), signed(mean))
    one = contrasts[0]
    return Grid(
        title=visible(f"Mean of {one.first} minus {one.second}"),
        header=("group", "rows", "mean difference"),
        rows=tuple(found.values()),
    )


def _changes(contrasts: Sequence[RaterContrast]) -> Grid:
    """List how differences change with numbers, on the scale of the decisions."""
    one = contrasts[0]
    return Grid(
        title=visible(f"Change of {one.first} minus {one.second}, on the scale of the decisions"),
        header=("with", "rows", "over two standard deviations of it"),
        rows=tuple(
            (visible(f"{one.attribute}{one.of_label}"), count(one.n[0]), signed(one.gap))
            for one in contrasts
        ),
    )


def _diagnosis_grid(found: BridgeDiagnosis) -> Grid:
    rows = [
        ("variance of the first's decisions explained", percent(found.explained)),
        ("error against the first, the second", ", ".join(map(rate, found.errors))),
    ]
    rows += [
        (f"mean error against the first, {visible(group)}", signed(mean))
        for group, mean in found.calibration.items()
    ]
    rows.append(("p of equal mean errors", p_value(found.calibration_p)))
    rows += [
        (f"both sides told apart, {visible(group)} (area; 0.5 is not at all)", rate(area))
        for group, area in found.separability.items()
    ]
    rows += [
        (f"effective share if made alike, {visible(group)}", rate(share))
        for group, share in found.effective_share.items()
    ]
    rows.append(("DPD then moves by", signed(found.shift)))
    rows.append(("and would move on by, for squares and cubes", signed(found.left)))
    if not math.isnan(found.optimism):
        rows.append(("error in sample, as a share of that on others", rate(found.optimism)))
    if not math.isnan(found.ignored):
        rows.append(("false alarms for ignoring the fit's error", rate(found.ignored)))
    if found.n_shared:
        rows.append(("subjects decided about by both", count(found.n_shared)))
    return Grid(title="How good the bridge is", header=("", "value"), rows=tuple(rows))


def _rater_grids(result: RaterParity) -> Iterator[Grid]:
    for name in result.matrices:
        leaning = result.mean_dpd(name)
        if len(result.raters) <= NUMBERED:
            yield rater_chart(result, name).grid
        yield _grid_of_leans(result, name, leaning)
    largest = sorted(result.contrasts, key=lambda one: -abs(one.dpd))[:LISTED]
    yield Grid(
        title="Largest gaps",
        header=("direction", "DPD", "interval judged", "p (adj.)", "finding"),
        rows=tuple(map(_gap_row, largest)),
        findings=tuple(one.finding for one in largest),
    )


def _gap_row(one: RaterContrast) -> tuple[str, ...]:
    """Return a contrast with the interval and the p value that it was judged by."""
    low, high, level = one.test.deciding_interval
    at = "" if one.test.pivot is None else f"\nat {percent(level)}"
    judged_by = f"{interval(low, high)}{at}", p_value(one.test.p_adjusted)
    return visible(one.direction), signed(one.dpd), *judged_by, one.finding


def _signs(result: RaterParity, name: str) -> Grid:
    order = list(result.mean_dpd(name))
    places = [result.raters.index(rater) for rater in order]
    matrix, found = result.matrices[name], result.findings[name]

    def sign(row: int, column: int) -> str:
        word = found[row][column]
        return SIGNS.get(word) or ("+" if matrix[row, column] > 0 else "-")

    return Grid(
        title=visible(f"Rows over columns, in the same order, {name}"),
        header=("rater", LEGEND),
        rows=tuple(
            (visible(rater), "".join(sign(place, other) for other in places))
            for rater, place in zip(order, places, strict=True)
        ),
    )


def _grid_of_leans(result: RaterParity, name: str, leaning: dict[str, float]) -> Grid:
    found = {rater: result.findings[name][k] for k, rater in enumerate(result.raters)}
    listed = list(leaning)
    if len(listed) > 2 * LISTED:
        listed = [*listed[:LISTED], *listed[-LISTED:]]
    left_out = len(leaning) - len(listed)
    more = f" ({count(left_out)} in the middle left out)" if left_out else ""
    return Grid(
        title=visible(f"Who leans: mean DPD over all others, {name}{more}"),
        header=("rater", "mean DPD", "pairs found to differ"),
        rows=tuple(
            (visible(rater), signed(leaning[rater]), count(found[rater].count(VIOLATED)))
            for rater in listed
        ),
    )


def rater_chart(result: RaterParity, name: str) -> HeatMap:
    """Describe the matrix of DPD as a heat map, raters in the order of their leaning.

    Parameters
    ----------
    result : RaterParity
        The raters.
    name : str
        One of the keys of ``result.matrices``.
    """
    order = list(result.mean_dpd(name))
    places = [result.raters.index(rater) for rater in order]
    matrix = result.matrices[name][np.ix_(places, places)].tolist()
    title = visible(f"DPD of the row over the column, {name}")
    return HeatMap(
        title=title,
        about="; ".join(f"{visible(rater)}: {signed(mean)}" for rater, mean in _ends(result, name)),
        heading=f"{title}, {several(result.audit.n, 'decision')}",
        under="in the order of the rows, by mean DPD",
        names=tuple(map(visible, order)),
        values=tuple(map(tuple, matrix)),
        cells=tuple(tuple(map(signed, row)) for row in matrix),
        low=-DEEPEST,
        high=DEEPEST,
        both_ways=True,
        unit="DPD, in standard deviations",
        corner="rater",
        order="columns in the order of the rows, by mean DPD over all others",
    )


def _ends(result: RaterParity, name: str) -> list[tuple[str, float]]:
    leaning = list(result.mean_dpd(name).items())
    return leaning if len(leaning) <= 6 else [*leaning[:3], *leaning[-3:]]
