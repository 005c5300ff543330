"""What is shown of a result, the same in a terminal, a notebook and a page.

Every class of results says what is told of it (``section()``): a headline, sentences, charts,
tables, lists. Media only lay these out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, overload

from comparity.reports.charts import Chart
from comparity.reports.formats import MISSING

__all__ = ["Deferred", "Grid", "Section"]

# A cell of more letters than this is broken into lines.
SENTENCE = 32
# What may stand between and after numbers: "2,501 vs 2,499", "1 to 9", "n 12M", "1e300".
BETWEEN = re.compile(r"\b(?:vs|to|x|n)\b|(?<=\d)[kMGe]")
LETTER = re.compile(r"[^\W\d_]")

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One result as a reader sees it. All strings that come from data are safe to print.

    Attributes
    ----------
    headline : str
        The answer in a few words.
    sentences : tuple of str
        What it means, then what it rests on.
    kind : str
        One of the values of :data:`comparity.reports.charts.KINDS`, or ``"plain"``.
    charts : tuple of Chart
        Pictures, for media that draw.
    signs : tuple of Grid
        Pictures made of signs, for media that do not.
    grids : tuple of Grid
        Tables.
    lists : mapping of str to list of str
        What is told in lines, by title.
    """

    headline: str
    sentences: tuple[str, ...] = ()
    kind: str = "plain"
    charts: Sequence[Chart] = ()
    signs: tuple[Grid, ...] = ()
    grids: tuple[Grid, ...] = ()
    lists: Mapping[str, list[str]] = field(default_factory=dict)


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


class Deferred(Sequence[Part]):
    """A sequence whose parts are made when they are asked for, each of them once.

    An exact interval takes milliseconds. Of thousands of tests a terminal shows a few, and no
    picture.

    Parameters
    ----------
    length : int
        How many parts there are.
    make : callable
        Returns the part at a position.

    Examples
    --------
    >>> asked = []
    >>> squares = Deferred(1000, lambda place: asked.append(place) or place**2)
    >>> squares[-1], squares[2:4], squares[3], len(squares), asked
    (998001, (4, 9), 9, 1000, [999, 2, 3])
    """

    def __init__(self, length: int, make: Callable[[int], Part]) -> None:
        self._length, self._make = length, make
        self._made: dict[int, Part] = {}

    def __len__(self) -> int:
        """Return how many parts there are, made or not."""
        return self._length

    @overload
    def __getitem__(self, place: int) -> Part: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Part, ...]: ...

    def __getitem__(self, place: int | slice) -> Part | tuple[Part, ...]:
        """Return a part, or several, and make what was not asked for before."""
        places = range(self._length)[place]
        if isinstance(places, range):
            return tuple(self[one] for one in places)
        if places not in self._made:
            self._made[places] = self._make(places)
        return self._made[places]
