"""Answers compared: what must be the same where only the order of the rows is another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

__all__ = ["OF_ORDER", "SAME", "differences", "leaves"]

# Where an item stands in the file, whose file it is, and notes that name items in its order.
OF_ORDER = frozenset(
    {"provenance", "position", "undefeated", "winless", "items", "scores", "groups"}
    | {"standard_errors", "component", "strong_component", "before", "uncompared", "notes"}
    | {"stationary"}
)
NAMES = frozenset({"item", "evaluator", "group"})
ROUNDING = 1e-4
# Of sums of the same numbers in the same order: processors add by fours, from where memory begins.
SAME = 1e-9
# Numbers of judgments that would decide are rounded up, so that rounding may make them one more.
ROUNDED_UP = "/needed/"
# Equal sharpness is tested on the way to the fit, where the search has not come to rest.
ON_THE_WAY, ABOUT = "/equal_sharpness/", 1e-3


def leaves(
    value: Any, path: str = "", *, without: frozenset[str] = OF_ORDER
) -> Iterator[tuple[str, Any]]:
    """Return every number and word of a result by where it stands."""
    parts = value if isinstance(value, dict) else dict(zip(_places(value), value, strict=True))
    for name, part in parts.items():
        if name in without:
            continue
        if isinstance(part, dict | list):
            yield from leaves(part, f"{path}/{name}", without=without)
        else:
            yield f"{path}/{name}", part


def _places(values: list[Any]) -> list[Any]:
    """Return what tells parts of a list apart: names, where of two that are equal either is first.

    Items are listed by their score, and evaluators by their bias.
    """
    named = [one for one in values if isinstance(one, dict) and NAMES & one.keys()]
    keys = [" ".join(str(one[key]) for key in sorted(NAMES & one.keys())) for one in named]
    return keys if len(set(keys)) == len(values) else list(range(len(values)))


def differences(
    one: Any, two: Any, *, without: frozenset[str] = OF_ORDER, rounding: float = ROUNDING
) -> list[str]:
    """Return where two answers differ by more than rounding."""
    first, second = (dict(leaves(answer, without=without)) for answer in (one, two))
    found = [
        f"{path}: {first[path]!r} and {second[path]!r}"
        for path in first.keys() & second.keys()
        if not _are_close(first[path], second[path], path, rounding)
    ]
    return sorted([*found, *(first.keys() ^ second.keys())])


def _are_close(one: Any, two: Any, path: str, rounding: float) -> bool:
    numbers = [type(value) in (int, float) for value in (one, two)]
    if one == two or not all(numbers):
        return bool(one == two)
    if ROUNDED_UP in path:
        return math.isclose(one, two, rel_tol=rounding, abs_tol=1)
    if type(one) is int and type(two) is int:
        return False
    if ON_THE_WAY in path:
        rounding = max(rounding, ABOUT)
    return math.isclose(one, two, rel_tol=rounding, abs_tol=rounding / 10)
