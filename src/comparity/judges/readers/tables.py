"""Plain tables: the layouts of comparisons that every command reads, and columns by name.

Where columns say who won (better, worse), nobody knows who was shown first. Where a column says
which side won, the left one was first. A column that seems to say who won and is not read is an
error, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from comparity.judges.readers import (
    FIRST,
    SECOND,
    TIE,
    Entry,
    Judgment,
    Omission,
    Reader,
    Record,
    RowFault,
    Source,
    has,
    optional_text,
    spell,
    text_of,
    verdict_of,
)

# First item, second item, result; without a result the first item won.
LAYOUTS = (
    ("model_a", "model_b", "winner"),
    ("left", "right", "winner"),
    ("left", "right", "label"),
    ("better", "worse", ""),
    ("winner", "loser", ""),
)
JUDGES = (
    *("evaluator", "judge", "worker", "annotator", "rater"),
    *("performer", "completed_by", "user"),
)
PROMPTS = ("prompt", "prompt_id", "question_id", "query", "id")
WORDS = {
    **{"left": FIRST, "model_a": FIRST, "first": FIRST, "a": FIRST, "A": FIRST},
    **{"right": SECOND, "model_b": SECOND, "second": SECOND, "b": SECOND, "B": SECOND},
    **{"tie": TIE, "tie (bothbad)": TIE, "draw": TIE, "equal": TIE, "both": TIE},
}


@cache
def find_columns(
    columns: tuple[str, ...], named: tuple[tuple[str, str], ...]
) -> tuple[str, str, str]:
    """Return the columns of both items and of the result; no result where the first item won."""
    roles = dict(named)
    for role, column in named:
        if column not in columns:
            raise RowFault(f"no column {column!r}, which was named as {role}")
    if "left" in roles:
        return roles["left"], roles["right"], roles["result"]
    for first, second, result in LAYOUTS:
        if {first, second} <= {*columns} and (not result or result in columns):
            if not result:
                _check_outcome_read(columns, (first, second))
            return first, second, result
    raise RowFault(f"columns {', '.join(map(repr, columns))}, which are no layout that is known")


def _check_outcome_read(columns: tuple[str, ...], items: tuple[str, str]) -> None:
    """Refuse a table with a column that seems to say who won, and would not be read."""
    # Imported here so that --help loads no engine.
    from comparity.tables.layouts import is_called_outcome

    unread = [one for one in columns if one not in items and is_called_outcome(one)]
    if unread:
        raise RowFault(
            f"column {unread[0]!r} seems to say who won, and would not be read; name it by --left, "
            "--right and --result, or drop it"
        )


def read(record: Record, source: Source) -> Iterator[Entry]:
    """Yield one row."""
    named = source.columns or {}
    left, right, result = find_columns(tuple(record), tuple(named.items()))
    first, second = text_of(record, left), text_of(record, right)
    cell = record.get(result) if result else None
    empty = bool(result) and (cell is None or not str(cell).strip())
    if empty and not source.drop_missing:
        raise RowFault(f"{result!r} is empty; --drop-missing leaves such rows out")
    prompts = (named["prompt"],) if "prompt" in named else PROMPTS
    judges = (named["judge"],) if "judge" in named else JUDGES
    if empty:
        yield Omission("no result")
        return
    yield Judgment(
        judge=optional_text(record, *judges) or source.judge,
        # Both orders of a pair are one prompt where the table knows of none.
        prompt=optional_text(record, *prompts) or " | ".join(sorted((first, second))),
        first=first,
        second=second,
        verdict=_verdict(cell, result, (first, second), source.coding) if result else FIRST,
        is_seated=bool(result),
        category=optional_text(record, named.get("category", "category")),
    )


def _verdict(
    cell: object, result: str, items: tuple[str, str], coding: Mapping[str, int] | None
) -> int:
    """Return the verdict of a cell: a code that was explained, a word, or the name of an item."""
    if coding is not None:
        return verdict_of(cell, coding, result)
    for item, verdict in zip(items, (FIRST, SECOND), strict=True):
        if spell(cell) == item:
            return verdict
    return verdict_of(cell, WORDS, result)


def matches(record: Record) -> bool:
    """Say whether a record has the columns of a layout."""
    return any(has(record, a, b) and (not r or r in record) for a, b, r in LAYOUTS)


READERS = (Reader(name="table", about="rows of comparisons", matches=matches, read=read),)
