"""The pairs to judge, and how they are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors.spelling import visible
from comparity.reports.sections import Grid, Section, clip, count, percent, several, short_id
from comparity.results.result import Result, frame_of_rows

GOALS = {
    "gap": "to test gaps between kinds of pairs",
    "rank": "to rank the items",
    "lean": "to find which judges lean",
}
NEXT = {
    "gap": "comparity comparative",
    "rank": "comparity rank --model bt",
    "lean": "comparity rank",
}
PREVIEW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedKind:
    """How many pairs of one kind there are, were judged, and are asked for.

    Attributes
    ----------
    name : str
        The groups of the two items.
    possible : int
        Different pairs of this kind.
    given, asked : int
        Judgments that are there, and new pairs; pairs that come back swapped are not counted.
    """

    name: str
    possible: int
    given: int
    asked: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenPairs(Result):
    """Pairs to judge: who judges which, in which order, and which item is on the left.

    Attributes
    ----------
    goal : str
        What the judgments are for.
    judge, left, right : ndarray of str
        One entry for each judgment to ask for, those of a judge in the order to show them.
    how : ndarray of str
        ``"random"`` for a pair drawn without regard to answers, ``"chosen"`` for one drawn by what
        it tells.
    swapped : ndarray of bool
        Whether the same judge has seen the pair before, the other way round.
    stratum : ndarray of str
        Groups of the two items.
    probability : ndarray of float
        Chance of asking for this pair rather than another one at this place.
    kinds : tuple of AskedKind
    n_items, n_judges : int
    notes : tuple of str
        What to know of the choice.
    provenance : mapping
    """

    goal: str
    judge: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    how: NDArray[Any]
    swapped: NDArray[np.bool_]
    stratum: NDArray[Any]
    probability: NDArray[np.float64]
    kinds: tuple[AskedKind, ...]
    n_items: int
    n_judges: int
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.judge)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each judgment to ask for."""
        names = ("judge", "left", "right", "how", "swapped", "stratum", "probability")
        columns = [getattr(self, name).tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each judgment to ask for, as a frame of the named engine."""
        return frame_of_rows(self.rows(), backend)

    def section(self) -> Section:
        """Return the pairs as a section of a report."""
        return Section(
            headline=f"{several(len(self), 'pair')} to judge, {GOALS[self.goal]}",
            sentences=tuple(self._sentences()),
            grids=(self._kinds_grid(), self._preview()),
            lists={"What to know": list(self.notes)},
        )

    def _sentences(self) -> Iterator[str]:
        again = int(self.swapped.sum())
        each = -(-len(self) // self.n_judges)
        who = "one judge" if self.n_judges == 1 else f"each of {self.n_judges} judges"
        yield (
            f"{count(self.n_items)} items; up to {several(each, 'judgment')} by {who}. Sides are "
            f"random and balanced. "
            f"{several(again, 'pair')} ({percent(round(again / len(self), 3))}) "
            f"{'is' if again == 1 else 'are'} shown again to the same judge with sides swapped."
        )
        yield (
            "--csv FILE writes the list. Add a column winner (left, right or tie) and run "
            f"{NEXT[self.goal]}. To choose further pairs by the answers, give them with --given."
        )

    def _kinds_grid(self) -> Grid:
        return Grid(
            title="Kinds of pairs",
            header=("kind", "possible pairs", "judged so far", "asked now"),
            rows=tuple(
                (clip(one.name), count(one.possible), count(one.given), count(one.asked))
                for one in self.kinds
            ),
        )

    def _preview(self) -> Grid:
        shown = self.rows()[:PREVIEW]
        return Grid(
            title=f"The first {len(shown)} of {len(self):,}",
            header=("judge", "left", "right", "how", "probability"),
            rows=tuple(
                (
                    *(short_id(row[name]) for name in ("judge", "left", "right")),
                    visible(row["how"]),
                    f"{row['probability']:.2g}",
                )
                for row in shown
            ),
        )
