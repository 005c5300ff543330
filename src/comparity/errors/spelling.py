"""What every error is made of, and how it is spelled.

An error says what was asked, what was found and what to do; each medium spells the choices its hint
names. Names of groups, items and columns come from data: a name must neither steer a terminal nor
reorder the line it stands in, and two names that differ must look different.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

UNSAFE = {"Cc", "Cs", "Zl", "Zp"}
# Letters, marks and signs that are drawn as nothing: fillers and selectors of variants.
UNDRAWN = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
SELECTORS = {*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
# As wide as a letter of the scripts that use it, so that nobody takes it for a space.
WIDE_SPACE = "\u3000"
NON_JOINER, JOINER = "\u200c", "\u200d"
VIRAMA = 9

# White space and formats of Unicode, but for the signs of numbers in Arabic, Syriac and Kaithi,
# which are formats and yet drawn.
SPACES = {*range(0x9, 0xE), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)}
SPACES |= {0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
FORMATS = {0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0xFEFF}
FORMATS |= {*range(0x2060, 0x2065), *range(0x2066, 0x2070), *range(0xFFF9, 0xFFFC)}
FORMATS |= {*range(0x13430, 0x13440), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)}
FORMATS |= {0xE0001, *range(0xE0020, 0xE0080)}

BLANKS = "".join(map(chr, sorted(SPACES | FORMATS | UNDRAWN | SELECTORS)))
"""Characters that leave no ink; of nothing else a name may not be made."""

_BLANKS = frozenset(BLANKS)


def visible(text: str, *, keep: str = "") -> str:
    r"""Return `text` with every character spelled out that nobody would see, or take for a space.

    These are control characters, lone surrogates, marks that reorder text, characters without
    width, and spaces other than the usual one. Joiners stay where a script or a picture needs them.

    Examples
    --------
    >>> visible("a\x1b[31mb\n"), visible("a\u200b"), visible("a\xa0b")
    ('a\\x1b[31mb\\n', 'a\\u200b', 'a\\xa0b')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        ascii(char)[1:-1] if char not in keep and _is_hidden(text, place) else char
        for place, char in enumerate(text)
    )


def is_blank(name: str) -> bool:
    r"""Return whether nothing of a name can be seen.

    Examples
    --------
    >>> is_blank(" \u200b"), is_blank("a\u200b")
    (True, False)
    """
    return _BLANKS.issuperset(name)


def _is_hidden(text: str, place: int) -> bool:
    char = text[place]
    kind = unicodedata.category(char)
    if kind in UNSAFE or ord(char) in UNDRAWN:
        return True
    if kind == "Zs":
        return char not in {" ", WIDE_SPACE}
    if ord(char) in SELECTORS or char in {JOINER, NON_JOINER}:
        return not _is_needed(text, place)
    return ord(char) in FORMATS


def _is_needed(text: str, place: int) -> bool:
    """Return whether a joiner or selector changes how its neighbours are drawn.

    Persian words and Indian conjuncts are written with joiners, and pictures of several with
    joiners and selectors.
    """
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if text[place] == NON_JOINER and before and after:
        letters = all(unicodedata.bidirectional(char) == "AL" for char in (before, after))
        return letters or unicodedata.combining(before) == VIRAMA
    if text[place] == JOINER and before and after:
        pictures = unicodedata.category(after) == "So" and not before.isalnum()
        return pictures or unicodedata.combining(before) == VIRAMA
    return bool(before) and unicodedata.category(before) in {"So", "Sk"}


UNKNOWN_FILE = "the table"
"""What is said of a file where none is known."""

UNSAID = object()
"""The value of an option that a hint names without one."""


@dataclass(frozen=True, slots=True)
class Option:
    """A choice that a hint names: a fact, which each medium spells its own way.

    Attributes
    ----------
    name : str
        As its options class declares it.
    value : object
        What to set it to; none where the hint leaves that open.

    Examples
    --------
    >>> f"{Option('design', 'fresh')}, {Option('positive')}"
    "design='fresh', positive="
    """

    name: str
    value: Any = UNSAID

    @property
    def has_value(self) -> bool:
        """Whether the hint says what to set it to."""
        return self.value is not UNSAID

    def __str__(self) -> str:
        return f"{self.name}={repr(self.value) if self.has_value else ''}"


# Warnings are messages, too.
class Message(Exception):  # noqa: N818
    """What was asked, what was found, what to do.

    Parameters
    ----------
    asked, found : str
        The first two sentences.
    hint : str
        The third; where something is named in it, with ``{}`` in its place.
    *named : Option or object
        What is named there.
    """

    def __init__(self, asked: str, found: object, hint: str, *named: object) -> None:
        self.parts = (asked, found, hint, named)
        super().__init__(self.tell())

    def tell(self, spell: Callable[[Option], str] = str) -> str:
        """Return the three sentences, with choices spelled as a medium does; Python by default."""
        asked, found, hint, named = self.parts
        # A hint that names nothing may quote braces of data.
        if named:
            hint = hint.format(*(spell(one) if isinstance(one, Option) else one for one in named))
        # Lists of names are written by repr, which leaves some characters that nobody sees.
        return visible(f"{asked}\n  found: {found}\n  hint:  {hint}", keep="\n")


class ComparityError(Message):
    """Base of every error this package raises about its input."""


class ComparityWarning(Message, UserWarning):
    """Base of every warning about what an answer is worth."""


@dataclass(frozen=True, slots=True)
class Offenders:
    """Rows that break a contract: how many, and the first few.

    Attributes
    ----------
    count : int
        Number of rows.
    rows : tuple of int
        The first of them, counted from 1 without the header; empty where the engine keeps no order.
    values : tuple of str
        What was found, the first few distinct values.
    """

    count: int
    rows: tuple[int, ...] = ()
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.count:,} row{'' if self.count == 1 else 's'}"
        if self.rows:
            more = ", ..." if self.count > len(self.rows) else ""
            plural = "" if self.count == 1 else "s"
            text += f" (data row{plural} {', '.join(map(str, self.rows))}{more})"
        if self.values:
            text += f", such as {', '.join(map(repr, self.values))}"
        return text


def list_names(names: Collection[object], limit: int = 12) -> str:
    """List names, and say how many there are where they are too many."""
    shown = ", ".join(repr(name) for name in list(names)[:limit])
    return f"{shown}, ... ({len(names):,} in all)" if len(names) > limit else shown or "nothing"
