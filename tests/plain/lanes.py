"""What the vector instructions of the counting kernels mean, a record at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def where(values: Sequence[int], holds: Callable[[int], bool]) -> int:
    """Return a word with a bit for each value of which something holds."""
    return sum(1 << bit for bit, value in enumerate(values) if holds(value))


def added(sums: Sequence[int], base: Sequence[int], groups: Sequence[int], word: int) -> list[int]:
    """Return sums with a base and the size of what each group has in common with a set added."""
    return [
        total + more + (group & word).bit_count()
        for total, more, group in zip(sums, base, groups, strict=True)
    ]
