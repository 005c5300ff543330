"""The studentised permutation test by its definition: every dealing, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tests.plain.relative import dpt


def dealt_statistics(
    group: Sequence[float], reference: Sequence[float], shift: float
) -> list[float]:
    """Welch's t of all ways to deal out both groups, once `shift` is taken off the first."""
    values = [one - shift for one in group] + list(reference)
    every = range(len(values))
    return [
        dpt([values[k] for k in chosen], [values[k] for k in every if k not in chosen])[0]
        for chosen in combinations(every, len(group))
    ]
