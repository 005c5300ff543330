"""What every picture by matplotlib shares: axes of its own, letters that fit, formats."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comparity.errors.spelling import visible
from comparity.results.findings import UNDECIDED, VIOLATED, WITHIN
from comparity.tables.outputs import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "FORMATS",
    "PALETTE",
    "finished",
    "fitted",
    "label_rows",
    "lettered",
    "own_axes",
    "row_height",
    "save",
]


PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""From Okabe and Ito: readers of every kind of colour vision can tell them apart."""


# Letters of 10 points that fit into an inch, on average and in the font of matplotlib.
LETTERS_AN_INCH = 13.0


def own_axes(*, width: float, height: float) -> Any:
    """Return axes of a new figure."""
    # A figure that pyplot does not know of needs no closing and no display.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def fitted(text: str, *, letters: int = 40, lines: int = 3) -> str:
    r"""Return a text from data in a few short lines, cut where it is endless.

    Examples
    --------
    >>> fitted("people who moved here from afar", letters=12, lines=2)
    'people who\nmoved here …'
    >>> fitted("a\x1b")
    'a\\x1b'
    """
    return textwrap.fill(
        visible(text), letters, max_lines=lines, placeholder=" …", break_on_hyphens=False
    )


def row_height(labels: Sequence[str], *, least: float = 0.42) -> float:
    """Return the height in inches of a row whose label may have several lines."""
    lines = max((label.count("\n") + 1 for label in labels), default=1)
    return max(least, 0.17 * lines + 0.1)


def label_rows(ax: Axes, labels: Sequence[str], **style: Any) -> None:
    """Name rows from the top down."""
    # Names come from data: a dollar sign in one is not mathematics.
    ax.set_yticks(range(len(labels)), labels, parse_math=False, **style)
    ax.set_ylim(len(labels) - 0.5, -0.5)


def finished(ax: Axes, *, title: str, across: str, own: bool) -> Axes:
    """Return a plot with title and horizontal axis, without idle lines, its legend out of the way.

    Call it last, when rows have their names and marks their labels.
    """
    lettered(ax, title=title, across=across, own=own)
    _frame(ax, own=own)
    return ax


def lettered(ax: Axes, *, title: str, across: str, own: bool, aside: float = 0.0) -> None:
    """Set title and horizontal axis in lines that fit over and under the plot.

    Call it when rows have their names: what these take is lost to the plot, and so are the inches
    `aside` that a scale of colours takes.
    """
    figure = _figure(ax)
    width = ax.get_window_extent().width / figure.dpi
    if own:
        names = [(one.get_text(), one.get_fontsize()) for one in ax.get_yticklabels()]
        taken = [len(line) * float(size) / 10 for name, size in names for line in name.split("\n")]
        width = (
            figure.get_size_inches()[0] - max(taken, default=0.0) / LETTERS_AN_INCH - 0.3 - aside
        )
    room = max(24, round(width * LETTERS_AN_INCH))
    wide = round(room * 10 / 12)
    ax.set_title(fitted(title, letters=wide), loc="left", fontsize=12, parse_math=False)
    ax.set_xlabel(fitted(across, letters=room), parse_math=False)


def _frame(ax: Axes, *, own: bool) -> None:
    """Leave out the lines that frame nothing, and put the legend where it hides nothing."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    handles, labels = ax.get_legend_handles_labels()
    # One entry for each label, however many marks have it.
    entries = dict(zip(reversed(labels), reversed(handles), strict=True))
    if not entries:
        return
    words, marks = list(entries)[::-1], list(entries.values())[::-1]
    if own:
        room = _figure(ax).get_size_inches()[0] * LETTERS_AN_INCH
        columns = len(words) if sum(len(word) + 6 for word in words) <= room else 2
        ax.figure.legend(marks, words, loc="outside lower center", ncols=columns, frameon=False)
    else:
        ax.legend(marks, words, loc="best", frameon=False)


def _figure(ax: Axes) -> Figure:
    from matplotlib.figure import Figure

    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure), ax
    return figure


FORMATS = (".png", ".svg", ".pdf")


# From the palette of Okabe and Ito, which readers of every kind of colour vision can tell apart;
# the marker, as on a page, says the same a second time.
COLOURS = {VIOLATED: "#D55E00", WITHIN: "#009E73", UNDECIDED: "#56B4E9"}


def save(ax: Axes, path: Path) -> None:
    """Write the figure of `ax`; names whose characters the font lacks are no reason to warn.

    The same result gives the same file: nothing in it is drawn at random or tells the time.

    Raises
    ------
    FileAccessError
        The file cannot be written, or the disk is full.
    """
    from matplotlib import rc_context

    figure = ax.get_figure(root=True)
    assert figure is not None, path
    # Each format has its own name for the time, and one without a time refuses the name.
    dated = {".svg": "Date", ".pdf": "CreationDate"}.get(path.suffix.lower())
    with (
        warnings.catch_warnings(),
        rc_context({"svg.hashsalt": "comparity"}),
        replace_file(path) as part,
    ):
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        figure.savefig(part, dpi=150, metadata={dated: None} if dated else None)
