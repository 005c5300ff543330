"""Colours of heat maps: told apart by readers of every kind of colour vision, and in grey."""

from __future__ import annotations

__all__ = ["BLUE", "CIVIDIS", "ORANGE", "colours", "leaning"]

CIVIDIS = (
    "#00224e",
    "#083370",
    "#35456c",
    "#4f576c",
    "#666970",
    "#7d7c78",
    "#948e77",
    "#aea371",
    "#c8b866",
    "#e5cf52",
    "#fee838",
)
"""Ten steps of the map of Nunez, Anderton and Renslow (2018), from dark blue to light yellow.

Its lightness grows evenly, so that it can be read without seeing any colour.
"""


BLUE, ORANGE = "#005aa0", "#c85500"
"""Ends of the map for numbers of either sign, white at zero; blind to no kind of colour vision."""


def colours(light: float) -> tuple[str, str]:
    """Return the colour of a cell and of the letters on it.

    Parameters
    ----------
    light : float
        From 0, the darkest, to 1; what lies beyond is taken as the nearest of them.

    Returns
    -------
    tuple of str
        The letters are black or white, whichever stands out more: the ratio of contrast of WCAG 2
        is 4.5 or more everywhere.

    Examples
    --------
    >>> colours(0.0), colours(1.0)
    (('#00224e', '#ffffff'), ('#fee838', '#000000'))
    """
    return _between(CIVIDIS, light)


def leaning(light: float) -> tuple[str, str]:
    """Return the colour of a cell for a number of either sign, and of the letters on it.

    Parameters
    ----------
    light : float
        0 for the farthest below zero, 1/2 for zero, 1 for the farthest above.

    Examples
    --------
    >>> leaning(0.0), leaning(0.5), leaning(1.0)
    (('#005aa0', '#ffffff'), ('#ffffff', '#000000'), ('#c85500', '#000000'))
    """
    return _between((BLUE, "#ffffff", ORANGE), light)


def _between(steps: tuple[str, ...], light: float) -> tuple[str, str]:
    """Return the colour between two steps of a map, and the letters that stand out on it."""
    place = min(max(light, 0.0), 1.0) * (len(steps) - 1)
    step = min(int(place), len(steps) - 2)
    low, high = (_channels(steps[code]) for code in (step, step + 1))
    mixed = [round(a + (b - a) * (place - step)) for a, b in zip(low, high, strict=True)]
    # The luminance at which black and white letters have the same contrast.
    ink = "#000000" if _luminance(mixed) > 1.05**0.5 * 0.05**0.5 - 0.05 else "#ffffff"
    return "#" + "".join(f"{channel:02x}" for channel in mixed), ink


def _channels(colour: str) -> list[int]:
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


def _luminance(channels: list[int]) -> float:
    """Return the relative luminance of WCAG 2."""
    shares = [channel / 255 for channel in channels]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
