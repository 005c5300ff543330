"""Exports of tools with which people compare texts: Label Studio and Argilla.

Label Studio keeps two texts under ``data`` and ``result[].value.selected`` (left or right) for each
annotator. Argilla's comparisons (version 1 exports, from its documentation) keep fields
``response-1`` and ``response-2`` and the answers to a rating or label question under ``responses``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from comparity.judges.readers import (
    EMPTY,
    FIRST,
    NO_VERDICT,
    SECOND,
    TIE,
    Judgment,
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
    verdict_of,
)

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
