"""What is shown of a result, the same in a terminal, a notebook and a page.

Every class of results describes itself (``section()``): a headline, sentences, charts, tables,
lists. Media only lay these out. Numbers, and strings from data, become text here, too, that is safe
to show.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, overload

from comparity.errors.spelling import visible
from comparity.reports.charts import Chart

MISSING = "n/a"
LONGEST = 200
WIDEST_NAME = 40
# No word, and no number, has so many letters.
ENDLESS = re.compile(r"\S{121,}")
# Neither is a character, and XML refuses both.
NO_CHARACTERS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}

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
    steps : tuple of str
        What to do about it, for pages, whose readers decide.
    """

    headline: str
    sentences: tuple[str, ...] = ()
    kind: str = "plain"
    charts: Sequence[Chart] = ()
    signs: tuple[Grid, ...] = ()
    grids: tuple[Grid, ...] = ()
    lists: Mapping[str, list[str]] = field(default_factory=dict)
    steps: tuple[str, ...] = ()


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


def clip(text: str) -> str:
    r"""Return a text from data safe to show anywhere, cut where it is endless.

    Examples
    --------
    >>> clip("a\x1b[2J"), len(clip("a" * 10_000))
    ('a\\x1b[2J', 228)
    """
    safe = visible(text).translate(NO_CHARACTERS)
    if len(safe) <= LONGEST:
        return safe
    return f"{safe[:LONGEST]}… ({len(text):,} characters in all)"


def short_id(name: object) -> str:
    """Return the name of an item or a person as a cell of a table has room for it.

    Examples
    --------
    >>> short_id(7), short_id("a3f9" * 16)
    ('7', 'a3f9a3f9a3f9a3f9a3f9a3f9…f9a3f9a3f9')
    """
    text = visible(str(name))
    return text if len(text) <= WIDEST_NAME else f"{text[:24]}…{text[-10:]}"


def shorten_words(text: str) -> str:
    """Return a text with the middle of endless words left out, where they would fill a screen.

    Examples
    --------
    >>> shorten_words("a name"), len(shorten_words("a" * 10_000))
    ('a name', 100)
    """
    return ENDLESS.sub(lambda word: f"{word[0][:79]}…{word[0][-20:]}", text)


def rate(value: float | None) -> str:
    """Return a proportion with three decimals.

    Examples
    --------
    >>> rate(0.81249), rate(None)
    ('0.812', 'n/a')
    """
    return MISSING if _is_missing(value) else f"{value:.3f}"


def signed(value: float | None) -> str:
    """Return a gap with its sign and three decimals.

    Examples
    --------
    >>> signed(0.05), signed(-0.0001)
    ('+0.050', '-0.000')
    """
    return MISSING if _is_missing(value) else f"{value:+.3f}"


def interval(low: float | None, high: float | None, *, sign: bool = True) -> str:
    """Return an interval in brackets.

    Examples
    --------
    >>> interval(-0.01, 0.2), interval(0.7, 0.8, sign=False), interval(None, None)
    ('[-0.010, +0.200]', '[0.700, 0.800]', 'n/a')
    >>> interval(-float("inf"), 0.2)
    '[-inf, +0.200]'
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return MISSING
    form = signed if sign else rate
    ends = (f"{end:+}" if math.isinf(end) else form(end) for end in (low, high))
    return f"[{', '.join(ends)}]"


def p_value(value: float | None) -> str:
    """Return a p value with two significant digits, and a bound below 0.0001.

    Examples
    --------
    >>> p_value(0.01234), p_value(1.0), p_value(3e-12)
    ('0.012', '1.00', '< 0.0001')
    """
    if value is None or _is_missing(value):
        return MISSING
    if value < 1e-4:
        return "< 0.0001"
    return f"{value:#.2g}" if value < 0.1 else f"{value:.2f}"


def percent(value: float) -> str:
    """Return a share as a percentage without needless digits; 100% is nothing less.

    Examples
    --------
    >>> percent(0.95), percent(0.975), percent(1 - 0.05 / 3), percent(1 - 0.05 / 1770)
    ('95%', '97.5%', '98.33%', '99.997%')
    """
    digits = max(2, math.ceil(-math.log10(1 - value)) - 2) if 0 < value < 1 else 2
    return f"{100 * value:.{digits}f}".rstrip("0").rstrip(".") + "%"


def count(value: int) -> str:
    """Return a whole number in groups of three digits.

    Examples
    --------
    >>> count(12345)
    '12,345'
    """
    return f"{value:,}"


def rounded_up(value: int) -> str:
    """Return a size that would do in three digits, the last rounded up so that it still does.

    Sizes rest on a gap that is itself uncertain; more digits would promise what nobody knows.

    Examples
    --------
    >>> rounded_up(946), rounded_up(5001), rounded_up(893_485)
    ('946', '5,010', '894,000')
    """
    unit = 10 ** max(0, len(str(value)) - 3)
    return count(-(-value // unit) * unit)


def several(number: int, noun: str) -> str:
    """Return a number with its noun, in the singular for one.

    Examples
    --------
    >>> several(1, "item"), several(1200, "item")
    ('1 item', '1,200 items')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def sizes(n: tuple[int, int], of: int) -> str:
    """Return how many are compared with how many; once where both are all `of` them.

    A slope over all subjects has one sample, not two.

    Examples
    --------
    >>> sizes((1200, 800), 2000), sizes((2000, 2000), 2000)
    ('1,200 vs 800', '2,000')
    """
    return count(of) if n == (of, of) else " vs ".join(map(count, n))


def short(value: float) -> str:
    """Return a number in at most five characters, where there is no room for all of its digits.

    Examples
    --------
    >>> short(0), short(9_999), short(523_776), short(99_950_000), short(5_033_606_280)
    ('0', '9,999', '524k', '100M', '5.0G')
    """
    if round(value) < 10**4:
        return count(round(value))
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        scaled = value / size
        if round(scaled) < 1000:
            return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:.0f}{unit}"
    return f"{value:.0e}".replace("+", "")


def expected_count(value: float) -> str:
    """Return an expected count, rounded; one without end says so.

    Examples
    --------
    >>> expected_count(151.25), expected_count(float("inf"))
    ('151', 'unlimited')
    """
    return count(round(value)) if math.isfinite(value) else "unlimited"


def _is_missing(value: float | None) -> bool:
    return value is None or not math.isfinite(value)
