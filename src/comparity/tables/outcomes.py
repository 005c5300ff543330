"""Columns that say who won, in tables that are read as if their first item always had.

A table of ``item_1, item_2, preference`` that is read by ``better="item_1", worse="item_2"`` would
give a wrong order without a word. What counts as such a column depends on what the items' columns
are called.

- Names that say who won themselves (``better_id``, ``loser``, ``chosen``) are believed. Only a
  column that is *called* like an outcome and contradicts them is refused: each of its values names
  an item of its row, a side or a tie, and not always the first item.
- Any other names leave it open who won. Refused are columns that are called like an outcome
  (``preference``, ``human_label``, ``winner_model_a``), whatever they hold, and columns of any name
  in which each value names an item of its row, a side or a tie, or is a code for one (1, 2 and 0;
  1, -1 and 0; A, B and tie). Codes must name both sides: 0 and 1 may be any flag.

A column that names the first item in each row agrees with what is read, and is let pass.

Label Studio has no such column: it exports tasks with annotations, as nested JSON. A task holds its
two texts under ``data`` and one entry in ``annotations`` for each annotator (``completed_by``); the
choice is ``result[].value.selected``, ``"left"`` or ``"right"``.

``comparity pairs`` writes how each pair came to be asked for, and with which probability. Chosen
pairs are closer than others, so that they say nothing of all pairs unless they are weighted.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from comparity.errors import (
    AmbiguousWinnerError,
    EmptyTableError,
    MissingColumnError,
    UnknownWinnerError,
    UnreadableFileError,
    UnreadOutcomeError,
)
from comparity.tables.columns import BLANKS, SHOWN, Table, offenders, open_table
from comparity.tables.files import local_file
from comparity.tables.frames import collect_columns, in_memory, is_missing, open_frame, text_of
from comparity.tables.json_records import first_record, parse_records

LEFT = ("left", "model_a")
RIGHT = ("right", "model_b")
TIE = ("tie", "tie (bothbad)", "tie (both bad)", "bothbad", "both", "draw", "equal", "neither")

# Words that a winner is not read from, but that say what the column is about.
FIRST_WORDS = (*LEFT, "first", "win", "won")
SECOND_WORDS = (*RIGHT, "second", "loss", "lose", "lost")
TIE_WORDS = (*TIE, "tied", "same", "none")
FIRST_CODES = ("1", "1.0", "+1", "a")
SECOND_CODES = ("2", "2.0", "-1", "-1.0", "b")
TIE_CODES = ("0", "0.0")

KINDS = ("first", "second", "tie", "first_code", "second_code", "tie_code")
Row = tuple[str | None, str | None, str | None, str | None]

MOST_LOOKED_AT = 1000
"""Rows in which values to show in an error are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """How many rows of a column name the first item, the second or a tie.

    Attributes
    ----------
    rows : int
        All rows.
    first, second, tie : int
        Rows that do so by an id or a word.
    first_code, second_code, tie_code : int
        Further rows that do so by a code.
    """

    rows: int
    first: int
    second: int
    tie: int
    first_code: int
    second_code: int
    tie_code: int

    @property
    def in_words(self) -> bool:
        """Whether ids and words name a side in each row, and not always the first."""
        return self.first + self.second + self.tie == self.rows > self.first

    @property
    def in_codes(self) -> bool:
        """Whether words and codes name a side in each row, and both sides somewhere."""
        first, second = self.first + self.first_code, self.second + self.second_code
        return first > 0 < second and first + second + self.tie + self.tie_code == self.rows


def refuse_contradictions(
    native: Any,
    suspects: Sequence[str],
    *,
    first: str,
    second: str,
    called: Sequence[str],
    telling: bool,
) -> None:
    """Refuse a table if a column that nobody reads says who won, and not always the first item.

    Parameters
    ----------
    native : frame of any engine
        The comparisons.
    suspects, called : sequence of str
        Columns that nobody reads, and those of them that are called like an outcome.
    first, second : str
        Columns read as the better and the worse item.
    telling : bool
        Whether the names of these two say who won.
    """
    frame, _ = open_frame(native, "comparisons")
    ours = {f"unread{place}": name for place, name in enumerate(_comparable(frame, suspects))}
    table = open_table(native, "comparisons", {"first": first, "second": second, **ours})
    counts = {ours[key]: sides for key, sides in _count_sides(table, ours).items()}
    for name in suspects:
        if _contradicts(counts.get(name), named=name in called, telling=telling):
            raise UnreadOutcomeError(name, first, second, _first_values(frame, name))


def _comparable(frame: Any, names: Iterable[str]) -> list[str]:
    """Return the columns whose values can be compared with ids and words."""
    schema = frame.collect_schema()
    texts = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
    python = (nw.Object,) if isinstance(frame, nw.DataFrame) else ()
    return [
        name
        for name in names
        if isinstance(schema[name], (*texts, *python))
        or schema[name].is_integer()
        or schema[name].is_float()
    ]


def _count_sides(table: Table, columns: Iterable[str]) -> dict[str, Sides]:
    """Count in one pass how many rows of each column (our names) name which side."""
    said = {
        f"{column} {kind}": found
        for column in columns
        for kind, found in _sides_named(table, column).items()
    }
    sums = [found.cast(nw.Int64).sum().alias(key) for key, found in said.items()]
    found = collect_columns(table.frame.select(nw.len().alias("rows"), *sums))
    # A sum over nothing but missing values is missing.
    counts = {key: int(value[0] or 0) for key, value in found.items()}
    return {
        column: Sides(rows=counts["rows"], **{kind: counts[f"{column} {kind}"] for kind in KINDS})
        for column in columns
    }


def _sides_named(table: Table, column: str) -> dict[str, nw.Expr]:
    """Return where a column names the first item, the second or a tie, by a word or by a code."""
    text = table.text(column)
    word = text.str.strip_chars(BLANKS).str.to_lowercase()
    first, second = (
        (text == table.text(side)) | word.is_in([*words, str(table.columns[side]).lower()])
        for side, words in (("first", FIRST_WORDS), ("second", SECOND_WORDS))
    )
    # Old versions of pandas write a missing value of mixed columns as the word "None".
    there = ~nw.col(column).is_null()
    first, second = there & first, there & second
    neither = there & ~first & ~second
    return {
        "first": first,
        "second": ~first & second,
        "tie": neither & word.is_in(TIE_WORDS),
        "first_code": neither & word.is_in(FIRST_CODES),
        "second_code": neither & word.is_in(SECOND_CODES),
        "tie_code": neither & word.is_in(TIE_CODES),
    }


def _contradicts(said: Sides | None, *, named: bool, telling: bool) -> bool:
    """Return whether a column that is not read says who won, and not always the first item."""
    if said is None:
        return named and not telling
    if telling:
        return said.in_words
    if named:
        return said.first < said.rows
    return said.in_words or said.in_codes


def _first_values(frame: Any, column: str) -> list[str]:
    """Return a few distinct values of a column."""
    values = collect_columns(frame.lazy().select(column).head(MOST_LOOKED_AT))[column].tolist()
    return list(dict.fromkeys("nothing" if is_missing(v) else text_of(v) for v in values))[:SHOWN]


def explain_winners(table: Table, side: nw.Expr) -> None:
    """Raise the error that says why winners cannot be read."""
    column = table.columns["winner"]
    unknown = offenders(table, side == "unknown", "winner")
    if unknown.count:
        left, right = _side_words(table)
        raise UnknownWinnerError(column, unknown, [*left, *right, *TIE])
    raise AmbiguousWinnerError(column, offenders(table, side == "two ways", "winner"))


def winning_side(table: Table) -> nw.Expr:
    """Return which side won: an id of one of the two items, or a word, unless these contradict."""
    text = table.text("winner")
    word = text.str.strip_chars(BLANKS).str.to_lowercase()
    left, right = _side_words(table)
    first_or_not = (text == table.text("first")) & word.is_in([*right, *TIE])
    second_or_not = (text == table.text("second")) & word.is_in([*left, *TIE])
    return (
        nw.when(first_or_not | second_or_not)
        .then(nw.lit("two ways"))
        .when(text == table.text("first"))
        .then(nw.lit("left"))
        .when(text == table.text("second"))
        .then(nw.lit("right"))
        .when(word.is_in(left))
        .then(nw.lit("left"))
        .when(word.is_in(right))
        .then(nw.lit("right"))
        .when(word.is_in(TIE))
        .then(nw.lit("tie"))
        .otherwise(nw.lit("unknown"))
    )


def _side_words(table: Table) -> tuple[list[str], list[str]]:
    """Return the words for each side: the usual ones, and what its column is called."""
    first, second = (str(table.columns[side]).strip().lower() for side in ("first", "second"))
    # A column may be called anything, such as the word for the other side.
    left = [*LEFT, *({first} - {*LEFT, *RIGHT, *TIE, second})]
    right = [*RIGHT, *({second} - {*LEFT, *RIGHT, *TIE, first})]
    return left, right


def is_label_studio(path: str | os.PathLike[str]) -> bool:
    """Return whether a JSON file begins like an export of annotated tasks."""
    name = os.fspath(path)
    if not Path(name).is_file():
        return False
    local_file(name)
    task = first_record(name)
    return isinstance(task, dict) and "annotations" in task


def read_label_studio(
    path: str | os.PathLike[str], *, left: str | None = None, right: str | None = None
) -> tuple[nw.LazyFrame[Any], tuple[str, ...]]:
    """Read a nested export.

    Parameters
    ----------
    path : path
        A JSON list, or JSON lines, of tasks.
    left, right : str, optional
        Fields of ``data`` that hold the two items; by default those that the choice refers to
        (``to_name``), or ``text1`` and ``text2``.

    Returns
    -------
    frame : narwhals.LazyFrame
        Columns left, right, winner, worker.
    notes : tuple of str
        How many annotations were skipped by their annotators or hold no choice.
    """
    name = os.fspath(path)
    local_file(name)
    rows: list[Row] = []
    silent = 0
    for task, annotation in _annotations(parse_records(name), name):
        found = [r for r in annotation.get("result") or [] if _selected_side(r) is not None]
        if annotation.get("was_cancelled") or not found:
            silent += 1
            continue
        rows += [_row(task, annotation, result, left, right) for result in found]
    if not rows:
        raise EmptyTableError("comparisons")
    notes = (f"{silent:,} annotations were skipped or hold no choice",) if silent else ()
    return _as_frame(rows), notes


def _as_frame(rows: list[Row]) -> nw.LazyFrame[Any]:
    cells = np.array(rows, dtype=object)
    names = ("left", "right", "winner", "worker")
    return in_memory({name: cells[:, place] for place, name in enumerate(names)})


def _annotations(
    tasks: Iterable[Any], name: str
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for number, task in enumerate(tasks, start=1):
        parts = task.get("annotations") if isinstance(task, dict) else None
        if not isinstance(parts, list) or not isinstance(task.get("data"), dict):
            raise UnreadableFileError(repr(name), f"task {number} has no data or no annotations")
        for annotation in parts:
            if not isinstance(annotation, dict):
                raise UnreadableFileError(repr(name), f"task {number} has an odd annotation")
            yield task, annotation


def _selected_side(result: Any) -> str | None:
    value = result.get("value") if isinstance(result, dict) else None
    chosen = value.get("selected") if isinstance(value, dict) else None
    return chosen if isinstance(chosen, str) else None


def _row(
    task: dict[str, Any],
    annotation: dict[str, Any],
    result: dict[str, Any],
    left: str | None,
    right: str | None,
) -> Row:
    data = task["data"]
    pointed = [name.strip() for name in str(result.get("to_name", "")).split(",")]
    usual = pointed if len(pointed) == 2 and set(pointed) <= set(data) else ["text1", "text2"]
    sides = (left or usual[0], right or usual[1])
    for side in sides:
        if side not in data:
            raise MissingColumnError(side, "Label Studio data", list(data))
    judge = annotation.get("completed_by")
    if isinstance(judge, dict):
        judge = judge.get("email") or judge.get("id")
    named = (data[sides[0]], data[sides[1]], _selected_side(result), judge)
    first, second, chosen, worker = (None if v is None else text_of(v) for v in named)
    return first, second, chosen, worker


HOW, PROBABILITY, RANDOM, CHOSEN = "how", "probability", "random", "chosen"
"""Columns of a list of pairs, and what the first of them says."""


def says_how(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], columns: Collection[str]) -> bool:
    """Return whether column ``how`` tells of chosen pairs, and not of something else.

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
