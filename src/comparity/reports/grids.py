"""Tables as cells of text, the same for a terminal and a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from comparity.reports.formats import MISSING

__all__ = [
    "Grid",
]


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
