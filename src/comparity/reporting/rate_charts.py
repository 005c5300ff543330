"""Pictures of rates before and after training, and of ranks with what is sure about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from comparity.reporting.canvas import (
    finished,
    fitted,
    label_rows,
    own_axes,
    row_height,
)
from comparity.reporting.charts import (
    LABELS,
    ROW,
    WIDTH,
    Chart,
    Mark,
    Tick,
    numbers_between,
    shortened,
)
from comparity.reporting.formats import count, rate, several, visible
from comparity.trainings import Training

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_training", "rank_chart", "rows_behind", "training_chart"]

LEFT, RIGHT = LABELS + 10.0, WIDTH - 20.0
# So many items and rates are drawn; all of them are in to_dict() and --json.
DRAWN = 15
# From the palette of Okabe and Ito.
BEFORE, AFTER = "#E69F00", "#0072B2"


def rows_behind(training: Training) -> str:
    """Say on which rows the rates were found that the model was chosen by."""
    rows = several(training.judged_rows, "row")
    if not training.training_share:
        return f"on the {rows} to choose by"
    return f"on all {rows} (those trained on weigh {rate(training.training_share)})"


def training_chart(training: Training) -> Chart:
    """Place every rate that the goals compare, without a goal and after training."""
    terms = list(training.best.terms)[:DRAWN]
    pairs = [(training.start.terms[name], training.best.terms[name]) for name in terms]
    ends = [end for pair in pairs for end in pair]
    low, high = min(ends), max(ends)
    room = 0.1 * (high - low) or 0.05
    low, high = low - room, high + room

    def place(value: float) -> float:
        return round(LEFT + (value - low) / (high - low) * (RIGHT - LEFT), 1)

    marks = []
    for row, (name, (before, after)) in enumerate(zip(map(visible, terms), pairs, strict=True)):
        y, (start, end) = ROW * (row + 0.5), map(place, (before, after))
        told = f"{rate(before)} to {rate(after)}"
        marks += [
            Mark(
                label=visible(name), note=told, finding="plain", y=y, x=start, low=start, high=end
            ),
            Mark(label="", note="", finding="inside", y=y, x=end, low=end, high=end),
        ]
    return Chart(
        title=f"Rates {rows_behind(training)}: without a goal (diamond), after training (circle)",
        about="; ".join(f"{mark.label}: {mark.note}" for mark in marks[::2]),
        height=ROW * len(terms) + 48.0,
        left=LEFT,
        right=RIGHT,
        ticks=tuple(Tick(place(at), f"{at:g}") for at in numbers_between(low, high)),
        axis="rate",
        marks=tuple(marks),
        band=(LEFT, LEFT, LEFT),
    )


def plot_training(training: Training, ax: Axes | None = None) -> Axes:
    """Draw every rate that the goals compare, without a goal and after training.

    Parameters
    ----------
    training : Training
        The account of training.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    own, terms = ax is None, list(training.best.terms)
    labels = [fitted(name) for name in terms]
    if ax is None:
        ax = own_axes(width=7.0, height=1.8 + row_height(labels) * len(terms))
    for row, name in enumerate(terms):
        before, after = training.start.terms[name], training.best.terms[name]
        ax.plot([before, after], [row, row], color="#666666", lw=1.5)
        ax.plot(before, row, "D", color=BEFORE, ls="", label="without a goal")
        ax.plot(after, row, "o", color=AFTER, ls="", label="after training")
    label_rows(ax, labels)
    goals = " and ".join(training.goals) or "no goal"
    across = f"rate {rows_behind(training)}"
    return finished(
        ax, title=f"Trained for {goals}, slack {training.slack:g}", across=across, own=own
    )


def rank_chart(ranking: Sequence[Mapping[str, Any]]) -> Chart:
    """Place the first items by rank, with the range that 95 in 100 such ranges hold it in.

    Parameters
    ----------
    ranking : sequence of mapping
        Rows as they are in JSON, the best first.
    """
    n, shown = len(ranking), ranking[:DRAWN]

    def place(position: float) -> float:
        return round(LEFT + (position - 1) / max(n - 1, 1) * (RIGHT - LEFT), 1)

    marks = tuple(
        Mark(
            label=shortened(visible(str(row["item"]))),
            note=f"{count(row['rank_low'])} to {count(row['rank_high'])}",
            finding="open",
            y=ROW * (position + 0.5),
            x=place(row["rank"]),
            low=place(row["rank_low"]),
            high=place(row["rank_high"]),
        )
        for position, row in enumerate(shown)
    )
    steps = sorted({1, *(round(n * share / 4) for share in range(1, 5))} - {0})
    return Chart(
        title=f"Rank of the first {count(len(shown))} of {count(n)} items with its 95% range",
        about="; ".join(f"{mark.label}: {mark.note}" for mark in marks),
        height=ROW * len(marks) + 48.0,
        left=LEFT,
        right=RIGHT,
        ticks=tuple(Tick(place(step), count(step)) for step in steps),
        axis="rank; 1 is the best",
        marks=marks,
        band=(LEFT, LEFT, LEFT),
    )
