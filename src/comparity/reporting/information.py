"""Information about an attribute, for terminal, page and picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from comparity.information import InformationSeparation
from comparity.reporting.canvas import PALETTE, finished, label_rows, own_axes
from comparity.reporting.formats import count, p_value, several, visible
from comparity.reporting.grids import Grid
from comparity.reporting.sections import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_information", "section"]


def section(result: InformationSeparation) -> Section:
    """Return what is shown of the information in scores."""
    found, chance = f"{result.information:.4f}", f"{result.by_chance:.4f}"
    measures = (
        ("mean information (nats)", found, "0"),
        ("by chance alone", chance, ""),
        ("share of what labels leave unknown", f"{result.relative_information:.4f}", "0"),
        ("mean odds ratio", f"{result.odds_ratio:.4f}", "1"),
    )
    test = result.test
    basis = f"{several(result.n, 'row')}, {several(test.permutations, 'permutation')}"
    return Section(
        headline=f"Scores tell {found} nats about the attribute beyond labels; {chance} by chance",
        sentences=(
            f"Independent given the label: p = {p_value(test.p_value)}.",
            f"{basis}, {result.curves} models.",
        ),
        grids=(
            Grid(
                title="Measures",
                header=("measure", "value", "under separation"),
                rows=tuple(row for row in measures if row[1] != "nan"),
            ),
        ),
        lists={"Notes": [visible(note) for note in result.notes]},
    )


def plot_information(result: InformationSeparation, ax: Axes | None = None) -> Axes:
    """Draw what scores tell beside what no relation at all would show.

    Parameters
    ----------
    result : InformationSeparation
        The information.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    own, test = ax is None, result.test
    ax = own_axes(width=7.5, height=2.4) if ax is None else ax
    ax.axvline(0, color="#666666", lw=0.8)
    labels = ["these scores", f"by chance, mean of\n{count(test.permutations)} permutations"]
    values, looks = (result.information, result.by_chance), ((PALETTE[5], "X"), (PALETTE[0], "D"))
    for row, (value, (colour, marker)) in enumerate(zip(values, looks, strict=True)):
        ax.plot([0, value], [row, row], color=colour, lw=2)
        ax.plot(value, row, marker, color=colour, ms=8)
    label_rows(ax, labels)
    title = (
        "What scores tell about the attribute beyond labels: "
        f"p = {p_value(test.p_value)}, {several(result.n, 'row')}"
    )
    return finished(ax, title=title, across="mean information in nats; 0 under separation", own=own)
