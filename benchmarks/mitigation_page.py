"""The page of the comparison: tables between its markers, and the picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mitigation_frontier import BASELINE, OURS, Duel, Kept, Point, Row, Task, frontier

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "mitigation_benchmark.md", DOCS / "pictures" / "mitigation.png"
COLOURS = {
    OURS: "#08519c",
    "Fairlearn": "#e6550d",
    "AIF360": "#31a354",
    "smooth penalty": "#756bb1",
    BASELINE: "#636363",
}
NOTIONS = (
    *("demographic parity", "equalized odds", "pairwise parity", "cross-group"),
    "cross-group, squared error",
)
LOSSES = {"demographic parity": "error rate", "equalized odds": "error rate"}
LOSSES |= {"pairwise parity": "1 - AUC", "cross-group": "1 - AUC", NOTIONS[-1]: "squared error"}


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines) + "\n"


def splits_told(tasks: Mapping[Task, Sequence[Point]]) -> str:
    """Say on how many splits of each data set methods were run."""
    many: dict[str, int] = defaultdict(int)
    for (data, _), points in tasks.items():
        many[data] = max(many[data], *(len(one.loss) for one in points))
    return "Splits: " + ", ".join(f"{data} {n}" for data, n in many.items()) + ".\n"


def duel_table(found: Sequence[Duel]) -> str:
    """Return one row for each data set, notion and other package."""
    rows = [
        (
            one.data,
            one.notion,
            one.rival,
            f"{one.violation:.3f}",
            f"{one.ours:.4f}",
            f"{one.theirs:.4f}",
            f"{one.error:.4f}",
            "**behind**" if one.lost else "",
        )
        for one in found
    ]
    header = ("data", "notion", "other", "violation", "ours", "theirs", "standard error", "")
    return table(header, rows)


def behind_list(found: Sequence[Duel]) -> str:
    """Return a line for each place where another package is ahead."""
    lines = [
        f"- {one.data}, {one.notion}, violation {one.violation:.3f}: {one.by_theirs} "
        f"({one.rival}) {one.theirs:.4f}, {one.by_ours} (comparity) {one.ours:.4f}."
        for one in found
        if one.lost
    ]
    return "\n".join(lines) + "\n" if lines else "Nowhere.\n"


def kept_table(found: Sequence[Kept]) -> str:
    """Return differences on fresh rows by method and slack, one column for each data set."""
    by: dict[tuple[str, float], dict[str, Kept]] = defaultdict(dict)
    for one in found:
        by[one.method, one.slack][one.data] = one
    names = list(dict.fromkeys(one.data for one in found))
    rows = []
    for (method, slack), cells in by.items():
        told = [
            f"{cells[name].gap:+.3f} ± {cells[name].error:.3f}"
            + ("" if cells[name].is_kept else " (missed)")
            if name in cells
            else "-"
            for name in names
        ]
        rows.append((method, f"{slack:g}", *told))
    return table(("method", "slack", *names), rows)


def time_table(tasks: Mapping[Task, Sequence[Point]]) -> str:
    """Return core seconds of a fit by method and data set."""
    spent: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (data, _), points in tasks.items():
        for one in points:
            spent[one.package, one.method][data].append(one.seconds)
    names = list(dict.fromkeys(data for data, _ in tasks))
    rows = []
    for (package, method), by_data in sorted(spent.items()):
        told = [f"{np.mean(by_data[one]):.2f}" if one in by_data else "-" for one in names]
        rows.append((package, method, *told))
    return table(("package", "method", *names), rows)


def failures(rows: Sequence[Row]) -> str:
    """Say which methods gave no numbers."""
    lost = {
        (row["data"], row["package"], row["method"], row["failed"])
        for row in rows
        if "failed" in row
    }
    lines = [
        f"- {method} ({package}) on {data}: {why}" for data, package, method, why in sorted(lost)
    ]
    return "\n".join(lines) + "\n" if lines else "None.\n"


def draw(tasks: Mapping[Task, Sequence[Point]]) -> None:
    """Draw frontiers and points, one panel for each data set and notion."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(data for data, _ in tasks))
    size = (2.5 * len(names), 2.1 * len(NOTIONS))
    figure, grid = pyplot.subplots(len(NOTIONS), len(names), figsize=size, dpi=75, squeeze=False)
    for row, notion in enumerate(NOTIONS):
        for column, data in enumerate(names):
            axes, points = grid[row][column], tasks.get((data, notion))
            if points is None:
                axes.axis("off")
                continue
            _panel(axes, points)
            axes.set_title(f"{data}: {notion}", fontsize=7)
            axes.tick_params(labelsize=6)
            axes.set_ylabel(LOSSES[notion], fontsize=7)
    marks = [
        mpl.lines.Line2D([], [], color=one, marker="o", markersize=4) for one in COLOURS.values()
    ]
    figure.legend(marks, list(COLOURS), loc="lower center", ncols=len(COLOURS), frameon=False)
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(PICTURE, pil_kwargs={"optimize": True})


def _panel(axes: Any, points: Sequence[Point]) -> None:
    shared = [one for one in points if one.package == BASELINE]
    for package, colour in COLOURS.items():
        own = [one for one in points if one.package == package]
        if not own:
            continue
        axes.plot(*np.array([one.at for one in own]).T, "o", color=colour, markersize=2.5)
        if package != BASELINE:
            hull = np.array([one.at for one in frontier([*shared, *own])])
            axes.plot(*hull.T, color=colour, linewidth=1)
    losses = sorted(one.at[1] for one in points)
    # What is far off would hide where frontiers differ.
    low, high = losses[0], losses[int(0.85 * (len(losses) - 1))]
    axes.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))


def write(parts: Mapping[str, str], by: str = "bench_mitigation.py") -> None:
    """Put each part between its markers on the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, part in parts.items():
        start, end = f"<!-- {name}: benchmarks/{by} -->\n", f"<!-- end of {name} -->"
        before, rest = text.split(start)
        text = f"{before}{start}\n{part}\n{end}{rest.split(end, 1)[1]}"
    PAGE.write_text(text, encoding="utf-8")
