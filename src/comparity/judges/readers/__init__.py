"""What a reader of logs is, and what it makes of a record.

A module of this folder has a tuple ``READERS``; nothing else names it. A reader recognises a log by
its first record and turns each record into judgments (or scores of single answers, texts of
answers, categories of prompts), with verdicts in the seats *as they were shown*.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

Record = Mapping[str, Any]

FIRST, TIE, SECOND, NO_VERDICT = 1, 0, -1, 2
"""What a verdict is: the first answer as shown, neither, the second, or nothing that was read."""

UNPARSED, REFUSED, ERROR, EMPTY = "unparsed", "refused", "error", "empty"
REASONS = (UNPARSED, REFUSED, ERROR, EMPTY)
"""Why there is no verdict."""

CROWD = "people"
"""The judge of votes whose voters a log does not tell apart: an unknown number of people."""

ONE_ORDER, SAME_IN_BOTH, OTHER_IN_BOTH = 0, 1, 2
"""Whether a row is one presentation, or both orders in one, with the same verdict or another."""


class Judgment(NamedTuple):
    """One verdict on two answers to one prompt.

    Attributes
    ----------
    judge, prompt : str
    first, second : str
        Who answered, in the order in which the judge saw the answers.
    verdict : int
        One of ``FIRST``, ``TIE``, ``SECOND`` and ``NO_VERDICT``.
    reason : str
        Why there is none; one of :data:`REASONS`.
    strength : float
        How decided, where verdicts are graded.
    turn, run : str
        Which turn of a conversation, and which repetition.
    is_seated : bool
        Whether the log says which answer was shown first.
    orders : int
        One of ``ONE_ORDER``, ``SAME_IN_BOTH`` and ``OTHER_IN_BOTH``.
    gold : int
        What people, or the truth, say of the same two answers.
    category : str
    texts : tuple of str or None
        The answers.
    measured : tuple of tuple of float
        Their ``FEATURES``, where the log has these and no text: a length in tokens stands for
        characters.
    question : str or None
        The prompt's text.
    is_person : bool
        Whether the judge is a person.
    """

    judge: str
    prompt: str
    first: str
    second: str
    verdict: int
    reason: str = ""
    strength: float = math.nan
    turn: str = ""
    run: str = ""
    is_seated: bool = True
    orders: int = ONE_ORDER
    gold: int = NO_VERDICT
    category: str = ""
    texts: tuple[str | None, str | None] = (None, None)
    measured: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    question: str | None = None
    is_person: bool = False


class Score(NamedTuple):
    """One answer that was judged alone; `is_grade`: from 0, wrong, to 1, right, by its format."""

    judge: str
    prompt: str
    answerer: str
    score: float
    reason: str = ""
    turn: str = ""
    run: str = ""
    category: str = ""
    text: str | None = None
    question: str | None = None
    is_grade: bool = False


class AnswerText(NamedTuple):
    """The text of an answer, from a file beside the log."""

    prompt: str
    answerer: str
    text: str
    turn: str = ""


class PromptFact(NamedTuple):
    """What a file beside the log says of a prompt."""

    prompt: str
    category: str = ""
    question: str | None = None


class Omission(NamedTuple):
    """A row that is left out, and why."""

    why: str


Entry = Judgment | Score | AnswerText | PromptFact | Omission


class RowFault(Exception):  # noqa: N818
    """What is wrong with a record, and what to do about it; whoever reads knows which one it is."""

    def __init__(self, found: str, todo: str = "") -> None:
        super().__init__(found)
        self.todo = todo


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a record comes from, and what the user said of it.

    Attributes
    ----------
    path : str
    judge : str
        Who judged, where the records do not say.
    is_judge_given : bool
        Whether the user said so; otherwise it is the part of the path in which files differ.
    model : str
        Who answered, where the records do not say.
    baseline : str
        The answerer to whom the log compares others without naming it.
    columns : mapping of str to str
        Columns of a table, by what they hold.
    coding : mapping of str to int
        Verdicts by what the table writes for them.
    drop_missing : bool
        Whether rows of a table without a verdict are left out.
    """

    path: str
    judge: str = ""
    is_judge_given: bool = False
    model: str = ""
    baseline: str = "baseline"
    columns: Mapping[str, str] | None = None
    coding: Mapping[str, int] | None = None
    drop_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One format of logs.

    Attributes
    ----------
    name : str
        What ``--format`` calls it.
    about : str
        What it is, as the reading says it.
    matches : callable
        Whether the first record of a file looks like this format.
    read : callable
        Turns a record into entries.
    is_documented_only : bool
        Whether it was written from the tool's documentation, without a real file at hand.
    """

    name: str
    about: str
    matches: Callable[[Record], bool]
    read: Callable[[Record, Source], Iterable[Entry]]
    is_documented_only: bool = False


@cache
def known_readers() -> Mapping[str, Reader]:
    """Return all readers by name; the one of plain tables is the last, since it takes most."""
    found = [
        reader
        for module in iter_modules(__path__, f"{__name__}.")
        for reader in import_module(module.name).READERS
    ]
    return {one.name: one for one in sorted(found, key=lambda one: one.name == "table")}


def compare_scores(first: Score, second: Score) -> Judgment:
    """Return which of two answers has the larger score."""
    missing = math.isnan(first.score) or math.isnan(second.score)
    lead = first.score - second.score
    return Judgment(
        judge=first.judge,
        prompt=first.prompt,
        first=first.answerer,
        second=second.answerer,
        verdict=NO_VERDICT if missing else (lead > 0) - (lead < 0),
        reason=first.reason or second.reason,
        strength=abs(lead),
        turn=first.turn,
        run=first.run,
        is_seated=False,
        category=first.category,
        texts=(first.text, second.text),
        question=first.question,
    )


def text_of(record: Record, *names: str) -> str:
    """Return a field that must be there, as text; the first of several names that is."""
    found = _find_text(record, names)
    if found is None:
        raise RowFault(f"no {' or '.join(map(repr, names))}")
    return found


def optional_text(record: Record, *names: str) -> str:
    """Return a field as text; nothing where it is not there."""
    return _find_text(record, names) or ""


def _find_text(record: Record, names: Sequence[str]) -> str | None:
    for name in names:
        value = record.get(name)
        if type(value) is str:
            return value
        if value is not None and not isinstance(value, dict | list):
            return spell(value)
    return None


def spell(value: Any) -> str:
    """Return an id as text: 81 and 81.0 are one."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def spell_code(value: Any) -> str:
    """Return a code as text: 1, 1.0 and +1 are one, whoever wrote them."""
    text = spell(value).strip()
    try:
        return spell(float(text))
    except ValueError:
        return text


def list_of(record: Record, name: str) -> Sequence[Any]:
    """Return a field that must hold a list."""
    found = record.get(name)
    if not isinstance(found, list | tuple):
        raise RowFault(f"{name!r} holds no list")
    return found


def number_of(value: Any) -> float:
    """Return a number, whatever it is written as; ``nan`` where it is none, or has no end."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def verdict_of(word: Any, coding: Mapping[str, int], field: str) -> int:
    """Return the verdict that a word stands for."""
    key = spell(word).strip()
    for form in (key, key.lower()):
        if form in coding:
            return coding[form]
    known = ", ".join(map(repr, coding))
    raise RowFault(f"{field!r} is {key[:40]!r}, none of {known}")


def verdict_in(record: Record, name: str, coding: Mapping[str, int]) -> int:
    """Return the verdict in a field that must be there; null is none."""
    if name not in record:
        raise RowFault(f"no {name!r}")
    return NO_VERDICT if record[name] is None else verdict_of(record[name], coding, name)


def flip(verdict: int) -> int:
    """Return a verdict with the two answers exchanged."""
    return -verdict if verdict != NO_VERDICT else verdict


def in_order(two: tuple[Any, Any], way: int) -> tuple[Any, Any]:
    """Return two things as they are, or with -1 exchanged."""
    return two if way > 0 else (two[1], two[0])


def exchange_seats(one: Judgment) -> Judgment:
    """Return a judgment of the same answers, shown in the other order."""
    return one._replace(
        first=one.second,
        second=one.first,
        verdict=flip(one.verdict),
        gold=flip(one.gold),
        texts=(one.texts[1], one.texts[0]),
        measured=(one.measured[1], one.measured[0]),
    )


def digest(text: str) -> str:
    """Return a short name of a text, the same in every file."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def name_of_text(place: str, text: str) -> str:
    """Return a name for an answer whose author the log does not tell."""
    return f"{place} {digest(text)}"


def name_of_pair(first: str, second: str) -> str:
    """Return a name for the prompt of two answers, in whatever order, if a log knows of none."""
    return " | ".join(sorted((first, second)))


def has(record: Record, *names: str) -> bool:
    """Say whether a record has all of these fields."""
    return all(name in record for name in names)


FEATURES = ("characters", "words", "headers", "list items", "bold", "code blocks", "refusal")
# Beginnings of lines, in a text behind a newline: a literal is found sooner than `^`.
HEADER = re.compile(r"\n#{1,6} ")
LISTED = re.compile(r"\n[ \t]*(?:[-*+]|\d+[.)]) ")
BOLD = re.compile(r"\*\*[^*\n]+\*\*")
REFUSAL = re.compile(
    r"(?:i.?m |i am )?(?:very )?sorry|i (?:cannot|can.t|am unable|will not)|as an ai\b", re.I
)
# How far into an answer a refusal is looked for.
OPENING = 80


def is_refusal(text: str) -> bool:
    """Say whether a text begins as a refusal."""
    return bool(REFUSAL.match(text[:OPENING].strip()))


def why_missing(said: Any) -> str:
    """Return why a judge's words hold no verdict: one of :data:`REASONS`.

    Examples
    --------
    >>> why_missing("I'm sorry, but I cannot judge this."), why_missing("Both."), why_missing("")
    ('refused', 'unparsed', 'empty')
    """
    if not isinstance(said, str):
        return UNPARSED
    if not said.strip():
        return EMPTY
    return REFUSED if is_refusal(said) else UNPARSED


def measure(text: str) -> tuple[float, ...]:
    r"""Return the features of a text.

    Examples
    --------
    >>> dict(zip(FEATURES, measure("# Why\n\n- **one**\n- two"), strict=True))["list items"]
    2.0
    """
    lines = f"\n{text}"
    return (
        float(len(text)),
        float(len(text.split())),
        float(len(HEADER.findall(lines))),
        float(len(LISTED.findall(lines))),
        float(len(BOLD.findall(text))),
        float(text.count("```") // 2),
        float(is_refusal(text)),
    )
