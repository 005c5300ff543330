"""Plain tables, and exports of tools with which people compare texts: Label Studio, Argilla.

Tables have the layouts of comparisons that every command reads, or columns by name.

Where columns say who won (better, worse), nobody knows who was shown first. Where a column says
which side won, the left one was first. A column that seems to say who won and is not read is an
error, never a guess.

Label Studio keeps two texts under ``data`` and ``result[].value.selected`` (left or right) for each
annotator. Argilla's comparisons (version 1 exports, from its documentation) keep fields
``response-1`` and ``response-2`` and the answers to a rating or label question under ``responses``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from comparity.judges.readers import (
    EMPTY,
    FIRST,
    NO_VERDICT,
    SECOND,
    TIE,
    Entry,
    Judgment,
    Omission,
    Reader,
    Record,
    RowFault,
    Source,
    digest,
    has,
    list_of,
    name_of_text,
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


def read_row(record: Record, source: Source) -> Iterator[Entry]:
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


def is_layout(record: Record) -> bool:
    """Say whether a record has the columns of a layout."""
    return any(has(record, a, b) and (not r or r in record) for a, b, r in LAYOUTS)


SIDES = {"left": FIRST, "right": SECOND, "tie": TIE, "both": TIE, "none": TIE}
CHOICES = {
    **SIDES,
    **{"1": FIRST, "2": SECOND, "response-1": FIRST, "response-2": SECOND, "a": FIRST, "b": SECOND},
    **{"response 1": FIRST, "response 2": SECOND, "0": TIE},
}
TWO_TEXTS = (
    ("text1", "text2"),
    ("answer1", "answer2"),
    ("response1", "response2"),
    ("left", "right"),
)
TWO_FIELDS = (("response-1", "response-2"), ("response_1", "response_2"), ("text-1", "text-2"))


def read_label_studio(record: Record, _: Source) -> Iterator[Judgment]:
    """Yield one judgment for each annotator of a task."""
    data = record.get("data")
    if not isinstance(data, Mapping):
        raise RowFault("no 'data'")
    names = next((pair for pair in TWO_TEXTS if has(data, *pair)), None)
    if names is None:
        raise RowFault(f"'data' has none of {', '.join(' and '.join(p) for p in TWO_TEXTS)}")
    texts = str(data[names[0]]), str(data[names[1]])
    question = optional_text(data, "prompt", "question", "instruction")
    for annotation in list_of(record, "annotations"):
        chosen = _find_choice(annotation)
        yield Judgment(
            judge=f"annotator {_who(annotation)}",
            prompt=optional_text(data, "prompt_id") or optional_text(record, "id"),
            first=optional_text(data, "model1", "model_a") or name_of_text(names[0], texts[0]),
            second=optional_text(data, "model2", "model_b") or name_of_text(names[1], texts[1]),
            verdict=NO_VERDICT if chosen is None else verdict_of(chosen, SIDES, "selected"),
            reason=EMPTY if chosen is None else "",
            texts=texts,
            question=question or None,
            is_person=True,
        )


def _find_choice(annotation: Any) -> Any:
    """Return what an annotator chose; nothing where the task was skipped."""
    if not isinstance(annotation, Mapping) or annotation.get("was_cancelled"):
        return None
    for result in annotation.get("result") or ():
        value = result.get("value") if isinstance(result, Mapping) else None
        if isinstance(value, Mapping) and value.get("selected") is not None:
            return value["selected"]
    return None


def _who(annotation: Any) -> str:
    who = annotation.get("completed_by") if isinstance(annotation, Mapping) else None
    if isinstance(who, Mapping):
        who = who.get("id") or who.get("email")
    return "1" if who is None else spell(who)


def read_argilla(record: Record, _: Source) -> Iterator[Judgment]:
    """Yield one judgment for each response to a record."""
    fields = record["fields"]
    names = next((pair for pair in TWO_FIELDS if has(fields, *pair)), None)
    if names is None:
        raise RowFault(f"'fields' has none of {', '.join(' and '.join(p) for p in TWO_FIELDS)}")
    texts = str(fields[names[0]]), str(fields[names[1]])
    question = optional_text(fields, "prompt", "instruction", "question")
    for place, response in enumerate(list_of(record, "responses")):
        chosen = _answer(response)
        yield Judgment(
            judge=f"annotator {spell(response.get('user_id', place + 1))}",
            prompt=optional_text(record, "external_id", "id") or digest(question),
            first=name_of_text(names[0], texts[0]),
            second=name_of_text(names[1], texts[1]),
            verdict=NO_VERDICT if chosen is None else verdict_of(chosen, CHOICES, "responses"),
            reason=EMPTY if chosen is None else "",
            texts=texts,
            question=question or None,
            is_person=True,
        )


def _answer(response: Any) -> Any:
    """Return the value of the first question; nothing where the response was not submitted."""
    if not isinstance(response, Mapping) or response.get("status") != "submitted":
        return None
    values = response.get("values")
    for answer in values.values() if isinstance(values, Mapping) else ():
        value = answer.get("value") if isinstance(answer, Mapping) else answer
        if isinstance(value, list):
            ranks = [one.get("value") for one in value if isinstance(one, Mapping)]
            value = ranks[0] if ranks else None
        return value
    return None


READERS = (
    Reader(name="table", about="rows of comparisons", matches=is_layout, read=read_row),
    Reader(
        name="label studio",
        about="Label Studio pairs",
        matches=lambda record: has(record, "annotations", "data"),
        read=read_label_studio,
    ),
    Reader(
        name="argilla",
        about="Argilla comparisons",
        matches=lambda record: (
            has(record, "fields", "responses") and isinstance(record["fields"], Mapping)
        ),
        read=read_argilla,
        is_documented_only=True,
    ),
)
