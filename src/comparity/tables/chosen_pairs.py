"""Judgments of pairs that were chosen by earlier answers, among those of pairs drawn at random.

``comparity pairs`` writes how each pair came to be asked for, and with which probability. Chosen
pairs are closer than others, so that they say nothing of all pairs unless they are weighted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import narwhals as nw

HOW, PROBABILITY, RANDOM, CHOSEN = "how", "probability", "random", "chosen"
"""Columns of a list of pairs, and what the first of them says."""


def says_how(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], columns: Collection[str]) -> bool:
    """Say whether column ``how`` tells of chosen pairs, and not of something else.

    It does beside probabilities, and where it holds no word but ``random`` and ``chosen``.
    """
    if PROBABILITY in columns:
        return True
    is_ours = nw.col(HOW).cast(nw.String).is_in([RANDOM, CHOSEN]).fill_null(value=False)
    return frame.lazy().filter(~is_ours).head(1).collect().is_empty()


def leave_out_chosen(rows: nw.LazyFrame[Any], column: str) -> tuple[nw.LazyFrame[Any], str]:
    """Leave out judgments of pairs that were not drawn at random, and say how many."""
    is_chosen = nw.col(column) == CHOSEN
    n = int(rows.filter(is_chosen).select(nw.len()).collect().item())
    told = f"{n:,} judgments are left out: their pairs were chosen by earlier answers, not drawn."
    return rows.filter(~is_chosen).drop(column), told if n else ""
