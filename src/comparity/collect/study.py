"""What a study is: its question, what judges see, and the pairs that everyone gets."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from comparity.collect.joined_judge import Task
from comparity.collect.options import CollectOptions
from comparity.collect.rendering import choose_words
from comparity.errors import FileAccessError, StudyError

Kind = Literal["text", "markdown", "image", "html"]
KINDS: tuple[str, ...] = get_args(Kind)
MOST_BYTES = 2**20
TASKS: tuple[Task, ...] = get_args(Task)
HIGH, LOW = "high", "low"
"""What is expected of a rating whose item is known to be good, or bad."""
TRIES = 2
"""How often a judge may try the comprehension check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownColumn:
    """A column of the items that judges see.

    Attributes
    ----------
    name : str
    kind : {"text", "markdown", "image", "html"}
    """

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A question that shows whether the instructions were understood.

    Attributes
    ----------
    question : str
    answers : tuple of str
    right : int
        Position of the right answer.
    """

    question: str
    answers: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPair:
    """A pair whose answer is known: for practice, or to see whether a judge pays attention.

    Attributes
    ----------
    better, worse : mapping of str to str
        What is shown of either item, by column.
    note : str
        Said after practice.
    """

    better: Mapping[str, str]
    worse: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyDescription:
    """What is asked, of whom, and how.

    Attributes
    ----------
    options : CollectOptions
    show : tuple of ShownColumn
        What judges see of an item.
    checks : tuple of Check
        Comprehension check; none where there is none.
    practice, attention : tuple of KnownPair
        What everyone sees first, and what is mixed in.
    identity : str
        Random, given when the study is made.
    words : mapping
        Words of the pages, where they are those of a file of one's own.
    """

    options: CollectOptions
    show: tuple[ShownColumn, ...]
    checks: tuple[Check, ...] = ()
    practice: tuple[KnownPair, ...] = ()
    attention: tuple[KnownPair, ...] = field(default=(), repr=False)
    identity: str = ""
    words: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __getattr__(self, name: str) -> Any:
        """Return a choice of the study, such as ``study.question``."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.options, name)

    @property
    def title(self) -> str:
        """What the pages are called."""
        return self.options.heading

    @property
    def ties(self) -> bool:
        """Whether a tie can be answered."""
        return not self.options.no_ties

    @property
    def skips(self) -> bool:
        """Whether a pair can be skipped."""
        return not self.options.no_skips

    @property
    def lease(self) -> float:
        """After how many idle seconds a booklet may go to another judge."""
        return self.options.lease_minutes * 60

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What there is to do in this study."""
        return TASKS if self.options.task == "both" else (self.options.task,)

    def outcomes_of(self, task: Task) -> tuple[str, ...]:
        """Return what can be answered; a rating is a number from 1, as text."""
        ratings = tuple(str(point) for point in range(1, self.options.scale + 1))
        decided = ratings if task == "rate" else ("left", "right", *(["tie"] * self.ties))
        return (*decided, *(["skip"] * self.skips))

    def question_of(self, task: Task) -> str:
        """Return what a judge with this task is asked."""
        return self.options.rating_question if task == "rate" else self.options.question

    def instructions_of(self, task: Task) -> str:
        """Return what a judge with this task reads first."""
        own = self.options.rating_instructions if task == "rate" else ""
        return own or self.options.instructions

    def each_of(self, task: Task) -> int:
        """Return how much is asked of a judge with this task."""
        own = self.options.each_rated if task == "rate" else 0
        return own or self.options.each

    def is_expected(self, outcome: str, expected: str) -> bool:
        """Return whether an answer is the known one: a side, or a rating in the right half."""
        if expected not in (HIGH, LOW):
            return outcome == expected
        middle = (self.options.scale + 1) / 2
        if not outcome.isdecimal():
            return False
        return int(outcome) > middle if expected == HIGH else int(outcome) < middle

    def without_attention(self) -> StudyDescription:
        """Return the study as judges' pages know it."""
        return replace(self, attention=())

    def to_json(self) -> str:
        """Return the description as it is kept."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> StudyDescription:
        """Read a description that was kept."""
        found = json.loads(text)
        known = {one.name for one in fields(CollectOptions)}
        options = {k: v for k, v in _tuples_in(found["options"]).items() if k in known}
        return cls(
            options=CollectOptions(**options),
            show=tuple(ShownColumn(**one) for one in found["show"]),
            checks=tuple(Check(**_tuples_in(one)) for one in found["checks"]),
            practice=tuple(KnownPair(**one) for one in found["practice"]),
            attention=tuple(KnownPair(**one) for one in found["attention"]),
            identity=found["identity"],
            words=found.get("words", {}),
        )


def _tuples_in(table: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(one) if isinstance(one, list) else one for k, one in table.items()}


def study_of(
    options: CollectOptions,
    *,
    checks: Sequence[Mapping[str, Any]] = (),
    practice: Sequence[Mapping[str, Any]] = (),
    attention: Sequence[Mapping[str, Any]] = (),
    where: str = "study",
    home: Path = Path(),
) -> StudyDescription:
    """Check the parts of a description and put them together; names of files start from `home`.

    Examples
    --------
    >>> options = CollectOptions(question="Which text is clearer?", show="text", goal="rank")
    >>> study_of(options).show
    (ShownColumn(name='text', kind='text'),)
    """
    show = tuple(_column(one, where) for one in options.show)
    names = [one.name for one in show]
    return StudyDescription(
        options=options,
        show=show,
        checks=tuple(_check(one, where) for one in checks),
        practice=tuple(_known_pair(one, names, f"{where}: [[practice]]") for one in practice),
        attention=tuple(_known_pair(one, names, f"{where}: [[attention]]") for one in attention),
        words=choose_words(options.language, home),
    )


def plan_choices(plan: str | Path | None, choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many judgments are asked of each judge, from the JSON of a plan.

    Parameters
    ----------
    plan : path or None
        What ``comparity plan comparative --json`` printed; None for no plan.
    choices : mapping
        Where ``judges`` says how many share the judgments.
    """
    if plan is None:
        return {}
    where, hint = f"plan {Path(plan).name!r}", "write one with comparity plan comparative --json."
    try:
        n_pairs = json.loads(Path(plan).read_text(encoding="utf-8")).get("n_pairs")
    except OSError as error:
        raise FileAccessError(str(plan), error.strerror or str(error)) from error
    except (ValueError, AttributeError) as error:
        raise StudyError(where, "this is no plan.", str(error), hint) from error
    if not isinstance(n_pairs, int) or n_pairs < 1:
        asked = "a plan must say how many judgments are needed."
        raise StudyError(where, asked, f"n_pairs = {n_pairs}", hint)
    return {"each": math.ceil(n_pairs / choices.get("judges", 1))}


def read_study(
    path: str | Path, *, plan: str | Path | None = None, **flags: Any
) -> tuple[StudyDescription, Path | None]:
    """Read a study and the name of its file of items from TOML; flags win over what it says.

    Parameters
    ----------
    path : path
        Keys are those of :class:`CollectOptions` and ``items``; tables are ``[[check]]``,
        ``[[practice]]`` and ``[[attention]]``.
    plan : path, optional
        See :func:`plan_choices`.
    **flags
        Choices of :class:`CollectOptions`.
    """
    file = Path(path)
    where = f"study {file.name!r}"
    try:
        if file.stat().st_size > MOST_BYTES:
            found = f"{file.stat().st_size:,} bytes"
            raise StudyError(where, "this is too large for a study.", found, "name the TOML file.")
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileAccessError(str(file), error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = "correct the file; its format is TOML."
        raise StudyError(where, "this cannot be read.", str(error), hint) from error
    items = content.pop("items", None)
    tables = {name: content.pop(name, ()) for name in ("check", "practice", "attention")}
    known = [one.name for one in fields(CollectOptions)]
    for key in content:
        if key not in known:
            hint = f"choose from {', '.join([*known, 'items', *tables])}."
            raise StudyError(where, f"there is no key {key!r}.", key, hint)
    chosen = {**_tuples_in(content), **flags}
    options = CollectOptions(**{**chosen, **plan_choices(plan, chosen)})
    study = study_of(
        options,
        checks=tables["check"],
        practice=tables["practice"],
        attention=tables["attention"],
        where=where,
        home=file.parent,
    )
    return study, None if items is None else file.parent / str(items)


def _column(text: str, where: str) -> ShownColumn:
    name, colon, kind = text.rpartition(":")
    if not colon:
        name, kind = kind, "text"
    if kind not in KINDS or not name:
        hint = f"write the column, a colon, and {' or '.join(KINDS)}."
        raise StudyError(where, f"{text!r} is no column with its kind.", text, hint)
    return ShownColumn(name=name, kind=kind)  # type: ignore[arg-type]


def _check(table: Mapping[str, Any], where: str) -> Check:
    example = 'write question = "...", answers = ["...", "..."] and right = 1.'
    try:
        question, answers, right = table["question"], table["answers"], table["right"]
    except (KeyError, TypeError) as error:
        raise StudyError(where, "a check is incomplete.", str(error), example) from error
    found = isinstance(answers, list | tuple) and len(answers) > 1 and isinstance(right, int)
    if not (found and isinstance(question, str) and 1 <= right <= len(answers)):
        raise StudyError(where, "a check needs answers, one of them right.", str(table), example)
    return Check(question=question, answers=tuple(map(str, answers)), right=right - 1)


def _known_pair(table: Mapping[str, Any], names: Sequence[str], where: str) -> KnownPair:
    wanted = " and ".join(f"{name} = ..." for name in names)
    hint = f"write better = {{ {wanted} }}, worse = {{ {wanted} }}."
    sides = []
    for side in ("better", "worse"):
        shown = table.get(side) if isinstance(table, Mapping) else None
        if not isinstance(shown, Mapping) or {*shown} != {*names}:
            raise StudyError(where, f"{side} must give {', '.join(names)}.", str(shown), hint)
        sides.append({name: str(shown[name]) for name in names})
    return KnownPair(better=sides[0], worse=sides[1], note=str(table.get("note", "")))
