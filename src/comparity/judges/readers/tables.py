"""Plain tables, and exports of tools with which people compare texts: Label Studio, Argilla.

Tables have the layouts of comparisons that every command reads, or columns by name.

Where columns say who won (better, worse), ``tied`` marks ties, and ``seat`` (1 or -1) or ``side``
says where the better one stood; otherwise nobody knows who was shown first. Where a column says
which side won, the left one was first. A column that seems to say who won and is not read is an
error, never a guess.

Label Studio keeps two texts under ``data`` and ``result[].value.selected`` (left or right) for each
annotator. Argilla's comparisons (from its documentation) keep fields such as ``response1`` and
``response2``, and under ``responses`` the answers of each annotator (version 1) or to each question
(version 2). The first question is read: a label, a ranking, or ratings of both texts.
"""

from __future__ import annotations

import re
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
    exchange_seats,
    has,
    list_of,
    name_of_pair,
    name_of_text,
    number_of,
    optional_text,
    spell,
    spell_code,
    text_of,
    verdict_of,
)

# First item, second item, result; without a result the first item won.
LAYOUTS = (
    ("model_a", "model_b", "winner"),
    ("left", "right", "winner"),
    ("left", "right", "label"),
    ("text1", "text2", "pw"),
    ("text1", "text2", "pairwise"),
    ("better", "worse", ""),
    ("winner", "loser", ""),
    # As the web app exports them; without ``tied`` these are preference data.
    ("chosen", "rejected", ""),
)
# Characters of a name; what is longer is an answer, or a question, itself.
LONGEST_NAME = 100
SPELLING = "names of columns are compared exactly; check case."
NAME_COLUMN = "name columns that the table has by {}, {} and {}."
CODES = "name the columns by {}, {} and {}, and what the values mean by {}."
# Whether a row is a tie, where columns say who won, and names that look like it.
TIED, TIES = "tied", {"tie", "ties", "is_tie", "draw"}
TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
# Where the better one stood.
STANDS = {"1": 1, "-1": -1, "left": 1, "right": -1, "0": 0, "": 0}
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
            listed = ", ".join(map(repr, columns))
            raise RowFault(f"no column {column!r}, named for the {role}, but {listed}", SPELLING)
    if "left" in roles:
        return roles["left"], roles["right"], roles["result"]
    for first, second, result in LAYOUTS:
        if {first, second} <= {*columns} and (not result or result in columns):
            if not result:
                _check_outcome_read(columns, (first, second))
            return first, second, result
    listed = ", ".join(map(repr, columns))
    raise RowFault(f"columns {listed}, which are no layout that is known", NAME_COLUMN)


def _check_outcome_read(columns: tuple[str, ...], items: tuple[str, str]) -> None:
    """Refuse a table with a column that seems to say who won, and would not be read."""
    # Imported here so that --help loads no engine.
    from comparity.tables.layouts import is_called_outcome

    unread = [
        one for one in columns if one not in items and (is_called_outcome(one) or one in TIES)
    ]
    if unread:
        raise RowFault(
            f"column {unread[0]!r} seems to say who won, and would not be read",
            f"name it by {{}}, {{}} and {{}}, or drop it; if it marks ties, call it {TIED!r}.",
        )


def read_row(record: Record, source: Source) -> Iterator[Entry]:
    """Yield one row."""
    named = source.columns or {}
    left, right, result = find_columns(tuple(record), tuple(named.items()))
    first, second = text_of(record, left), text_of(record, right)
    if result and not str("" if record.get(result) is None else record[result]).strip():
        if not source.drop_missing:
            raise RowFault(f"{result!r} is empty", "fill it, or leave such rows out by {4}.")
        yield Omission("no result")
        return
    way = 1 if result else _look_up(record, ("seat", "side"), STANDS)
    if result:
        verdict = _verdict(record[result], result, (first, second), source.coding)
    else:
        verdict = TIE if _look_up(record, (TIED,), TRUTHS) else FIRST
    prompts = (named["prompt"],) if "prompt" in named else PROMPTS
    judges = (named["judge"],) if "judge" in named else JUDGES
    texts = _texts_of((left, right), (first, second))
    if texts is not None:
        first, second = name_of_text("text", first), name_of_text("text", second)
    prompt = optional_text(record, *prompts)
    one = Judgment(
        judge=optional_text(record, *judges) or source.judge,
        # Both orders of a pair are one prompt where the table knows of none.
        prompt=prompt or name_of_pair(first, second),
        first=first,
        second=second,
        verdict=verdict,
        is_seated=way != 0,
        category=optional_text(record, named.get("category", "category")),
        texts=texts or (None, None),
        question=prompt if _is_text(prompt) else None,
    )
    yield exchange_seats(one) if way < 0 else one


def _texts_of(columns: tuple[str, str], cells: tuple[str, str]) -> tuple[str, str] | None:
    """Return the cells of both items if they are answers themselves, not names of answerers."""
    is_text = columns == ("text1", "text2") or any(map(_is_text, cells))
    return cells if is_text else None


def _is_text(cell: str) -> bool:
    """Say whether a cell is too long for a name, or has several lines."""
    return len(cell) > LONGEST_NAME or "\n" in cell.strip()


def _look_up(record: Record, names: tuple[str, ...], known: Mapping[str, int]) -> int:
    """Return what a cell of the first of these columns stands for; 0 where there is none."""
    name = next((one for one in names if one in record), None)
    cell = "" if name is None else record[name]
    code = "" if cell is None else spell_code(cell).lower()
    if code not in known:
        raise RowFault(f"{name!r} is {str(cell)[:40]!r}, none of {', '.join(map(repr, known))}")
    return known[code]


def _verdict(
    cell: object, result: str, items: tuple[str, str], coding: Mapping[str, int] | None
) -> int:
    """Return the verdict of a cell: a code that was explained, a word, or the name of an item."""
    for item, verdict in zip(items, (FIRST, SECOND), strict=True):
        if coding is None and spell(cell) == item:
            return verdict
    try:
        return verdict_of(spell_code(cell), WORDS if coding is None else coding, result)
    except RowFault as fault:
        raise RowFault(str(fault), CODES) from fault


def is_layout(record: Record) -> bool:
    """Say whether a record has the columns of a layout."""
    if has(record, "chosen", "rejected") and TIED not in record:
        return False
    return any(has(record, a, b) and (not r or r in record) for a, b, r in LAYOUTS)


SIDES = {"left": FIRST, "right": SECOND, "tie": TIE, "both": TIE, "none": TIE}
# What a label or a rank says of: response-1, Response 2, text_1, A.
CHOICE = re.compile(r"(?:(?:response|text|answer|option|output)[\s_-]*)?([12ab])", re.IGNORECASE)
CHOICES = {**SIDES, "1": FIRST, "2": SECOND, "a": FIRST, "b": SECOND, "0": TIE, "equal": TIE}
TWO_TEXTS = (
    ("text1", "text2"),
    ("answer1", "answer2"),
    ("response1", "response2"),
    ("left", "right"),
)
TWO_FIELDS = (
    *(("response1", "response2"), ("response-1", "response-2"), ("response_1", "response_2")),
    *(("text1", "text2"), ("text-1", "text-2"), ("option1", "option2"), ("answer1", "answer2")),
)


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
    first = optional_text(data, "model1", "model_a") or name_of_text("text", texts[0])
    second = optional_text(data, "model2", "model_b") or name_of_text("text", texts[1])
    place = optional_text(data, "prompt_id") or optional_text(record, "id")
    for annotation in list_of(record, "annotations"):
        chosen = _find_choice(annotation)
        yield Judgment(
            judge=f"annotator {_who(annotation)}",
            prompt=place or _name_prompt(question, texts),
            first=first,
            second=second,
            verdict=NO_VERDICT if chosen is None else _side_of(chosen),
            reason=EMPTY if chosen is None else "",
            texts=texts,
            question=question or None,
            is_person=True,
        )


def _name_prompt(question: str, texts: tuple[str, str]) -> str:
    """Return a name for a prompt without an id: of its question, or else of both answers."""
    return digest(question or name_of_pair(*texts))


def _find_choice(annotation: Any) -> Any:
    """Return what an annotator chose; nothing where the task was skipped."""
    if not isinstance(annotation, Mapping) or annotation.get("was_cancelled"):
        return None
    values = [
        result["value"]
        for result in annotation.get("result") or ()
        if isinstance(result, Mapping) and isinstance(result.get("value"), Mapping)
    ]
    sides = [one["selected"] for one in values if one.get("selected") is not None]
    chosen = [one["choices"][0] for one in values if one.get("choices")]
    return next(iter([*sides, *chosen]), None)


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
    for place, response in enumerate(_responses(record)):
        values = response.get("values") if response.get("status") == "submitted" else None
        verdict = _verdict_of_values(values) if isinstance(values, Mapping) else NO_VERDICT
        yield Judgment(
            judge=f"annotator {optional_text(response, 'user_id') or place + 1}",
            prompt=optional_text(record, "external_id", "id") or _name_prompt(question, texts),
            first=name_of_text("text", texts[0]),
            second=name_of_text("text", texts[1]),
            verdict=verdict,
            reason=EMPTY if verdict == NO_VERDICT else "",
            texts=texts,
            question=question or None,
            is_person=True,
        )


def _responses(record: Record) -> list[Mapping[str, Any]]:
    """Return what each annotator answered; version 2 has the answers to every question instead."""
    told = record.get("responses")
    if not isinstance(told, Mapping):
        return [one for one in list_of(record, "responses") if isinstance(one, Mapping)]
    by_user: dict[Any, dict[str, Any]] = {}
    for question in told:
        for answer in list_of(told, question):
            who = answer.get("user_id")
            whole = {"user_id": who, "status": "submitted", "values": {}}
            of_user = by_user.setdefault(who, whole)
            of_user["values"][question] = answer
            of_user["status"] = answer.get("status") or of_user["status"]
    return [*by_user.values()]


def _verdict_of_values(values: Mapping[str, Any]) -> int:
    """Return the verdict of the first question: a label, a ranking, or a rating of each text."""
    told = {
        name: answer.get("value") if isinstance(answer, Mapping) else answer
        for name, answer in values.items()
    }
    if not told:
        return NO_VERDICT
    name, value = next(iter(told.items()))
    if value is None:
        return NO_VERDICT
    if isinstance(value, list):
        return _verdict_of_ranking(value)
    if isinstance(value, int | float):
        other = told.get(name.replace("1", "2"))
        if "1" not in name or not isinstance(other, int | float):
            raise RowFault(f"{name!r} is a rating, {value}, beside none of the other text")
        return (value > other) - (value < other)
    return _side_of(value)


def _verdict_of_ranking(ranked: list[Any]) -> int:
    """Return which text stands higher: by their ranks, which may be equal, or by their order."""
    ranks: dict[int, float] = {}
    for place, one in enumerate(ranked, start=1):
        value, rank = (one.get("value"), one.get("rank")) if isinstance(one, Mapping) else (one, 0)
        ranks[_side_of(value)] = number_of(rank or place)
    if not {FIRST, SECOND} <= ranks.keys():
        raise RowFault(f"'responses' ranks {len(ranked)} texts, not both")
    return (ranks[FIRST] < ranks[SECOND]) - (ranks[FIRST] > ranks[SECOND])


def _side_of(word: Any) -> int:
    """Return the verdict for a text, by what it is called."""
    found = CHOICE.fullmatch(str(word).strip())
    return verdict_of(found[1] if found else word, CHOICES, "the answer")


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
