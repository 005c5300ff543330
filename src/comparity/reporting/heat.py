"""Colours of heat maps: told apart by readers of every kind of colour vision, and in grey."""

from __future__ import annotations

__all__ = ["CIVIDIS", "colours"]

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
    place = min(max(light, 0.0), 1.0) * (len(CIVIDIS) - 1)
    step = min(int(place), len(CIVIDIS) - 2)
    low, high = (_channels(CIVIDIS[code]) for code in (step, step + 1))
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
