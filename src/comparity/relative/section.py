"""Two decision makers, or many, for terminal, page and picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors.spelling import visible
from comparity.relative.result import DifferentialParity, RaterContrast, RaterParity, RatersResult
from comparity.reports.audits import audit_grids, audit_lists, basis, explanation, headline
from comparity.reports.charts import Chart
from comparity.reports.formats import count, interval, p_value, percent, rate, several, signed
from comparity.reports.gap_charts import gap_charts
from comparity.reports.grids import Grid
from comparity.reports.heat import BLUE, ORANGE, tile_chart
from comparity.reports.plots import fitted, lettered, own_axes
from comparity.reports.sections import KINDS, Section
from comparity.results.findings import UNDECIDED, VIOLATED, WITHIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_raters", "section"]

# With more raters than this the entries of a matrix are signs, not numbers.
NUMBERED = 10
# With more than this a row of signs is wider than a terminal.
SIGNED = 70
# Names of at most so many letters stand beside each other under a picture.
SHORT = 8
# So many raters at either end, and so many contrasts, are listed.
LISTED = 8
# DPD that gets the full colour.
DEEPEST = 1.0
SIGNS = {WITHIN: "=", UNDECIDED: "?", "": "."}
LEGEND = "+ leans up, - down, = inside the margin, ? open"


@singledispatch
def section(result: RatersResult) -> Section:
    """Return what is shown of a comparison of decision makers."""
    raise TypeError(f"{type(result).__name__} compares no decision makers")


@section.register
def _(result: DifferentialParity) -> Section:
    audit = result.audit
    return Section(
        headline=headline(audit),
        sentences=(_foremost(result.contrasts), explanation(audit), basis(audit)),
        kind=KINDS[audit.finding],
        charts=gap_charts(audit),
        grids=(*audit_grids(audit), *_parity_grids(result)),
        lists=audit_lists(audit),
    )


@section.register
def _(result: RaterParity) -> Section:
    audit = result.audit
    # One line for each of hundreds of pairs tells less than the matrix.
    assumed = [visible(note) for note in audit.notes]
    rare = sum(bool(test.reason) for test in audit.tests)
    if rare:
        remarks = "test has a remark" if rare == 1 else "tests have remarks"
        assumed.append(f"{count(rare)} {remarks} that --json and to_dict() show.")
    return Section(
        headline=headline(audit),
        sentences=(_tallied(result), _foremost(result.contrasts), basis(audit)),
        kind=KINDS[audit.finding],
        charts=() if _numbers(result) else tuple(_heat_map(result, one) for one in result.matrices),
        signs=tuple(_signs(result, name) for name in result.matrices if _fits(result)),
        grids=tuple(_rater_grids(result)),
        lists={"What was assumed": assumed},
    )


def _foremost(contrasts: Sequence[RaterContrast]) -> str:
    """Say in words what the largest gap is."""
    known = [one for one in contrasts if not math.isnan(one.dpd)]
    if not known:
        return "No two groups could be compared."
    largest = max(known, key=lambda one: abs(one.dpd))
    start = "" if len(known) == 1 else "Largest: "
    label = f" [{largest.label}]" if largest.label else ""
    told = "" if largest.test.differs_from_zero else "; not told apart from chance"
    size = f"DPD {signed(largest.dpd)} ({largest.magnitude})"
    if math.isinf(largest.dpd):
        size = "DPD without bound, since no difference varies within a group"
    return visible(f"{start}{largest.direction}{label}: {size}{told if largest.dpd else ''}.")


def _tallied(result: RaterParity) -> str:
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
                visible(_named(one)),
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


def _named(one: RaterContrast) -> str:
    label = f" [{one.label}]" if one.label else ""
    return f"{one.group} over {one.reference}{label}"


def _means(contrasts: Sequence[RaterContrast]) -> Grid:
    found = {}
    for one in contrasts:
        groups = zip((one.reference, one.group), one.n[::-1], one.means[::-1], strict=True)
        for group, n, mean in groups:
            name = f"{one.attribute}: {group}" + (f" [{one.label}]" if one.label else "")
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
            (
                visible(one.attribute + (f" [{one.label}]" if one.label else "")),
                count(one.n[0]),
                signed(one.gap),
            )
            for one in contrasts
        ),
    )


def _rater_grids(result: RaterParity) -> Iterator[Grid]:
    for name in result.matrices:
        leaning = result.leaning(name)
        if _numbers(result):
            yield _numbered(result, name, list(leaning))
        yield _leaning(result, name, leaning)
    largest = sorted(result.contrasts, key=lambda one: -abs(one.dpd))[:LISTED]
    yield Grid(
        title="Largest gaps",
        header=("direction", "DPD", "interval judged", "p (adj.)", "finding"),
        rows=tuple(
            (visible(one.direction), signed(one.dpd), *_judged(one), one.finding) for one in largest
        ),
        findings=tuple(one.finding for one in largest),
    )


def _judged(one: RaterContrast) -> tuple[str, str]:
    """Return the interval and the p value that a contrast was judged by."""
    low, high, level = one.test.interval(one.test.level)
    at = "" if one.test.pivot is None else f"\nat {percent(level)}"
    return f"{interval(low, high)}{at}", p_value(one.test.p_adjusted)


def _numbered(result: RaterParity, name: str, order: Sequence[str]) -> Grid:
    matrix = _ordered(result, name, order)
    return Grid(
        title=visible(f"DPD of the row over the column, {name}"),
        header=("rater", *map(visible, order)),
        rows=tuple(
            (visible(rater), *(signed(value) for value in row))
            for rater, row in zip(order, matrix.tolist(), strict=True)
        ),
        shades=_shades(matrix.tolist()),
        scale=(f"{-DEEPEST:+g}", f"{DEEPEST:+g}"),
        both_ways=True,
    )


def _numbers(result: RaterParity) -> bool:
    """Say whether raters are few enough for a table of numbers, which is then the heat map."""
    return len(result.raters) <= NUMBERED


def _fits(result: RaterParity) -> bool:
    return NUMBERED < len(result.raters) <= SIGNED


def _signs(result: RaterParity, name: str) -> Grid:
    order = list(result.leaning(name))
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


def _leaning(result: RaterParity, name: str, leaning: dict[str, float]) -> Grid:
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


def _ordered(result: RaterParity, name: str, order: Sequence[str]) -> NDArray[np.float64]:
    places = [result.raters.index(rater) for rater in order]
    return result.matrices[name][np.ix_(places, places)]


def _heat_map(result: RaterParity, name: str) -> Chart:
    """Place one tile for each two raters, in the order of their leaning."""
    order = list(result.leaning(name))
    matrix = _ordered(result, name, order).tolist()
    return tile_chart(
        [visible(rater) for rater in order],
        [[signed(value) for value in row] for row in matrix],
        _shades(matrix),
        title=visible(
            f"DPD of the row over the column, {name}; orange is positive, blue negative, "
            f"{DEEPEST:g} and more in full colour"
        ),
        about="; ".join(f"{visible(rater)}: {signed(mean)}" for rater, mean in _ends(result, name)),
        axis="columns in the order of the rows, by mean DPD over all others",
        both_ways=True,
    )


def _shades(matrix: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """Return 1/2 for no gap, 0 and 1 for the deepest, whatever is beyond."""
    return tuple(
        tuple((1 + min(max(value / DEEPEST, -1.0), 1.0)) / 2 for value in row) for row in matrix
    )


def _ends(result: RaterParity, name: str) -> list[tuple[str, float]]:
    leaning = list(result.leaning(name).items())
    return leaning if len(leaning) <= 6 else [*leaning[:3], *leaning[-3:]]


def plot_raters(result: RaterParity, ax: Axes | None, *, contrast: str | None = None) -> Axes:
    """Draw the matrix of DPD as a heat map, raters in the order of their leaning.

    Parameters
    ----------
    result : RaterParity
        The raters.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    contrast : str, optional
        One of the keys of ``result.matrices``; the first by default.
    """
    from matplotlib.colors import LinearSegmentedColormap

    name, own = contrast or next(iter(result.matrices)), ax is None
    order = list(result.leaning(name))
    k = len(order)
    side = 3.2 + min(0.16 * k, 12.0) if k > NUMBERED else 2.6 + 0.7 * k
    ax = own_axes(width=side + 1.6, height=side) if ax is None else ax
    scale = LinearSegmentedColormap.from_list("leaning", [BLUE, "#ffffff", ORANGE])
    colours = scale.with_extremes(bad="#888888")
    matrix = _ordered(result, name, order)
    shown = ax.imshow(matrix, vmin=-DEEPEST, vmax=DEEPEST, cmap=colours)
    if k <= NUMBERED:
        for (row, column), value in np.ndenumerate(matrix):
            ax.text(column, row, signed(float(value)), ha="center", va="center")
    names = [fitted(rater, letters=24, lines=1) for rater in order]
    style: dict[str, Any] = {"parse_math": False, "fontsize": 6 if k > 25 else 9}
    short = max(map(len, names)) <= SHORT and k <= NUMBERED
    ax.set_xticks(range(k), names, rotation=0 if short else 90, **style)
    ax.set_yticks(range(k), names, **style)
    title = f"DPD of the row over the column, {name}, {several(result.audit.n, 'decision')}"
    lettered(ax, title=title, across="in the order of the rows, by mean DPD", own=own, aside=1.4)
    ax.figure.colorbar(shown, ax=ax, label="DPD, in standard deviations", shrink=0.8, extend="both")
    return ax
