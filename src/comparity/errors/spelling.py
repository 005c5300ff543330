"""Characters nobody sees: spelled out where names are shown, and not enough for a name.

Names of groups, items and columns come from data. A name must neither steer a terminal nor reorder
the line it stands in, and two names that differ must look different.
"""

from __future__ import annotations

import unicodedata

__all__ = ["BLANKS", "is_blank", "visible"]

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
    r"""Say whether nothing of a name can be seen.

    Examples
    --------
    >>> is_blank(" \u200b"), is_blank("a\u200b")
    (True, False)
    """
    return not name.strip(BLANKS)


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
    """Say whether a joiner or selector changes how its neighbours are drawn.

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
