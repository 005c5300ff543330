"""Numbers and strings from data as text that is safe to show."""

from __future__ import annotations

import math
import re

from comparity.errors.spelling import visible

__all__ = [
    "MISSING",
    "clipped",
    "count",
    "expected",
    "interval",
    "p_value",
    "percent",
    "rate",
    "rounded_up",
    "several",
    "short",
    "shortened",
    "signed",
    "sizes",
    "visible",
]

MISSING = "n/a"
LONGEST = 200
# No word, and no number, has so many letters.
ENDLESS = re.compile(r"\S{121,}")
# Neither is a character, and XML refuses both.
NO_CHARACTERS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}


def clipped(text: str) -> str:
    r"""Return a text from data safe to show anywhere, cut where it is endless.

    Examples
    --------
    >>> clipped("a\x1b[2J"), len(clipped("a" * 10_000))
    ('a\\x1b[2J', 228)
    """
    safe = visible(text).translate(NO_CHARACTERS)
    if len(safe) <= LONGEST:
        return safe
    return f"{safe[:LONGEST]}… ({len(text):,} characters in all)"


def shortened(text: str) -> str:
    """Return a text with the middle of endless words left out, where they would fill a screen.

    Examples
    --------
    >>> shortened("a name"), len(shortened("a" * 10_000))
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
    return MISSING if _missing(value) else f"{value:.3f}"


def signed(value: float | None) -> str:
    """Return a gap with its sign and three decimals.

    Examples
    --------
    >>> signed(0.05), signed(-0.0001)
    ('+0.050', '-0.000')
    """
    return MISSING if _missing(value) else f"{value:+.3f}"


def interval(low: float | None, high: float | None, *, sign: bool = True) -> str:
    """Return an interval in brackets.

    Examples
    --------
    >>> interval(-0.01, 0.2), interval(0.7, 0.8, sign=False), interval(None, None)
    ('[-0.010, +0.200]', '[0.700, 0.800]', 'n/a')
    """
    form = signed if sign else rate
    return MISSING if _missing(low) or _missing(high) else f"[{form(low)}, {form(high)}]"


def p_value(value: float | None) -> str:
    """Return a p value with two significant digits, and a bound below 0.0001.

    Examples
    --------
    >>> p_value(0.01234), p_value(1.0), p_value(3e-12)
    ('0.012', '1.00', '< 0.0001')
    """
    if value is None or _missing(value):
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


def expected(value: float) -> str:
    """Return an expected count, rounded; one without end says so.

    Examples
    --------
    >>> expected(151.25), expected(float("inf"))
    ('151', 'no end')
    """
    return count(round(value)) if math.isfinite(value) else "no end"


def _missing(value: float | None) -> bool:
    return value is None or not math.isfinite(value)
