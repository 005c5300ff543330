"""The judgments of a panel as columns, whatever tools wrote them.

Items are (prompt, turn, answerer). What is known of an answer's text is kept as numbers, once for
each item: characters, words and marks of style. The texts themselves are not kept.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import combinations
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.judges.readers import (
    FEATURES,
    NO_VERDICT,
    REASONS,
    UNPARSED,
    AnswerText,
    Entry,
    Judgment,
    Omission,
    PromptFact,
    Score,
    compare_scores,
    measure,
)

Codes = NDArray[np.int32]
Marks = NDArray[np.int8]
Floats = NDArray[np.float64]

ITEMS = ("first_item", "second_item")
COLUMNS = (
    *("judge", "prompt", "first", "second", "turn", "run", "category", "source", "verdict"),
    *("gold", "reason", "strength", "seated", "orders", "pair", *ITEMS),
)
# Judgments that wait to become columns: many, so that it is quick, and few enough for memory.
MOST_WAITING = 20_000
SAME_ANSWERER = "both seats hold the answer of one answerer"
SAME_RECORD = "records that stand in their file a second time"
SCORED_AGAIN = "scores of an answer that the same judge had scored"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeLog:
    """Judgments of a panel, one entry of each column for each.

    Attributes
    ----------
    judges, prompts, answerers, turns, runs, categories, sources : tuple of str
        What the codes stand for.
    judge, prompt, first, second, turn, run, category, source : ndarray of int
        Codes. `first` and `second` are answerers, in the seats as they were shown.
    verdict, gold : ndarray of int
        1 the first, -1 the second, 0 a tie, 2 nothing.
    reason : ndarray of int
        Why there is no verdict: a position in ``REASONS``; -1 where there is one.
    strength : ndarray of float
    seated : ndarray of bool
        Whether the log says which answer was shown first.
    orders : ndarray of int
        0 one presentation, 1 and 2 both orders in one row, with the same verdict or another.
    first_item, second_item : ndarray of int
        Rows of `features`.
    pair : ndarray of int
        The same for judgments of the same two answers, in whatever order.
    features : ndarray, (items, len(FEATURES))
        What is known of the texts; ``nan`` where nothing is.
    people : tuple of str
        The judges who are people.
    omitted : mapping of str to int
        Rows that were left out, by reason.
    mismatched : tuple of str
        Answerers whose answers seem to belong to other prompts.
    several_texts : mapping of str to int
        Answerers under whose name a prompt has more than one answer, and how many more.
    scores : tuple of Score
        Scores of single answers, without texts; what they compare is among the judgments.
    scores_by_source : mapping of str to int
        How many of them each file holds.
    answer_texts, questions : mapping
        Texts of items and of prompts, where they were asked for.
    """

    judges: tuple[str, ...]
    prompts: tuple[str, ...]
    answerers: tuple[str, ...]
    turns: tuple[str, ...]
    runs: tuple[str, ...]
    categories: tuple[str, ...]
    sources: tuple[str, ...]
    judge: Codes
    prompt: Codes
    first: Codes
    second: Codes
    turn: Codes
    run: Codes
    category: Codes
    source: Codes
    verdict: Marks
    gold: Marks
    reason: Marks
    strength: Floats
    seated: NDArray[np.bool_]
    orders: Marks
    first_item: Codes
    second_item: Codes
    pair: NDArray[np.int64]
    features: Floats
    people: tuple[str, ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)
    mismatched: tuple[str, ...] = ()
    several_texts: Mapping[str, int] = field(default_factory=dict)
    scores: tuple[Score, ...] = ()
    scores_by_source: Mapping[str, int] = field(default_factory=dict)
    answer_texts: Mapping[int, str] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.judge)

    @property
    def lengths(self) -> tuple[Floats, Floats]:
        """Characters of the first and the second answer."""
        return self.features[self.first_item, 0], self.features[self.second_item, 0]

    def beside_people(self) -> list[tuple[int, str]]:
        """Return codes and names of judges who are no people, of whom there may be thousands."""
        people = {*self.people}
        return [(code, name) for code, name in enumerate(self.judges) if name not in people]

    def take(self, rows: NDArray[Any]) -> JudgeLog:
        """Return some of the judgments."""
        return replace(self, **{name: getattr(self, name)[rows] for name in COLUMNS})


def code_pairs(columns: Mapping[str, Any], n_turns: int, n_answerers: int) -> NDArray[np.int64]:
    """Return a code for the prompt, the turn and the two answerers, in whatever order."""
    first, second = columns["first"], columns["second"]
    code = columns["prompt"].astype(np.int64) * n_turns + columns["turn"]
    for part in (np.minimum(first, second), np.maximum(first, second)):
        code = code * n_answerers + part
    return np.unique(code, return_inverse=True)[1].reshape(-1)


class Names(defaultdict[Any, int]):
    """Codes for names, in the order in which they come: a new one gets the next code."""

    def __init__(self) -> None:
        super().__init__(self.__len__)


WORD = re.compile(r"[^\W\d_]{5,}")
# Fewer answers than this tell nothing; answers that belong to their prompts share words with them
# far more often than with the prompt before.
FEWEST_ANSWERS = 20


class Echoes:
    """Whether answers share more words with their own prompt than with the prompt before it."""

    def __init__(self) -> None:
        self.own: defaultdict[str, float] = defaultdict(float)
        self.other: defaultdict[str, float] = defaultdict(float)
        self.squares: defaultdict[str, float] = defaultdict(float)
        self.n: Counter[str] = Counter()
        self.seen: set[tuple[str, str]] = set()
        self.words: tuple[str, frozenset[str]] = ("", frozenset())
        self.before: frozenset[str] = frozenset()

    def add(self, prompt: str, answerer: str, question: str, answer: str) -> None:
        """Count the words of two prompts in an answer, once for each answer."""
        if prompt != self.words[0]:
            self.before = self.words[1]
            self.words = prompt, frozenset(WORD.findall(question.lower()))
        key = (prompt, answerer)
        if key in self.seen or not self.before or not self.words[1]:
            return
        self.seen.add(key)
        said = {*WORD.findall(answer.lower())}
        own, other = (len(words & said) / len(words) for words in (self.words[1], self.before))
        self.own[answerer] += own
        self.other[answerer] += other
        self.squares[answerer] += (own - other) ** 2
        self.n[answerer] += 1

    def mismatched(self) -> tuple[str, ...]:
        """Return answerers whose answers tell nothing of their prompts, where others' do."""
        leads = {}
        for answerer, n in self.n.items():
            if n >= FEWEST_ANSWERS:
                lead = (self.own[answerer] - self.other[answerer]) / n
                error = math.sqrt(max(self.squares[answerer] / n - lead**2, 0.0) / n)
                leads[answerer] = lead, error
        clear = [lead for lead, error in leads.values() if lead > 4 * error]
        best = max(clear, default=0.0)
        return tuple(
            one for one, (lead, error) in leads.items() if best and lead + 2 * error < best / 4
        )


class LogBuilder:
    """Entries of readers, collected into columns."""

    NAMES = ("judge", "prompt", "first", "second", "turn", "run", "category")
    # Of a judgment, and of the column.
    MARKS = (
        ("verdict", "verdict"),
        ("gold", "gold"),
        ("is_seated", "seated"),
        ("orders", "orders"),
    )

    def __init__(self, *, keep_texts: bool = False) -> None:
        self.keep_texts = keep_texts
        self.answer_texts: dict[int, str] = {}
        self.questions: dict[str, str] = {}
        self.columns = {name: array("i") for name in (*self.NAMES, "source", *ITEMS)}
        self.columns |= {name: array("b") for _, name in (*self.MARKS, ("", "reason"))}
        self.strength = array("d")
        answerers = Names()
        self.names = {name: Names() for name in (*self.NAMES, "source")}
        self.names |= {"first": answerers, "second": answerers}
        self.rows: list[Judgment] = []
        # The first answer is one of which nothing is known.
        self.features: list[tuple[float, ...]] = [(math.nan,) * len(FEATURES)]
        self.items: dict[tuple[Any, ...], int] = {}
        self.several_texts: Counter[str] = Counter()
        self.scores: dict[tuple[str, ...], dict[str, Score]] = defaultdict(dict)
        self.scores_by_source: Counter[str] = Counter()
        self.omitted: Counter[str] = Counter()
        self.people: dict[str, None] = {}
        self.prompt_categories: dict[str, str] = {}
        self.source = ""
        self.echoes = Echoes()

    def add(self, entry: Entry) -> None:
        """Put an entry where it belongs."""
        if isinstance(entry, Judgment):
            self._add_judgment(entry)
        elif isinstance(entry, Score):
            self._add_score(entry)
        elif isinstance(entry, AnswerText):
            self._item((entry.prompt, entry.turn, entry.answerer), entry.text)
        elif isinstance(entry, PromptFact):
            self.prompt_categories[entry.prompt] = entry.category
            self._keep_question(entry.prompt, entry.question)
        else:
            assert isinstance(entry, Omission)
            self.omitted[entry.why] += 1

    def _add_judgment(self, one: Judgment) -> None:
        if one.first == one.second:
            self.omitted[SAME_ANSWERER] += 1
            return
        self.rows.append(one)
        if len(self.rows) == MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Turn the judgments that wait into columns; texts are measured and let go."""
        rows, self.rows = self.rows, []
        put = self.columns
        for name in self.NAMES:
            put[name].extend(map(self.names[name].__getitem__, map(attrgetter(name), rows)))
        put["source"].extend([self.names["source"][self.source]] * len(rows))
        for field_name, column in self.MARKS:
            put[column].extend(map(int, map(attrgetter(field_name), rows)))
        put["reason"].extend(
            REASONS.index(one.reason or UNPARSED) if one.verdict == NO_VERDICT else -1
            for one in rows
        )
        self.strength.extend(one.strength for one in rows)
        self.people |= dict.fromkeys(one.judge for one in rows if one.is_person)
        for place, column in enumerate(ITEMS):
            put[column].extend(self._item_of(one, place) for one in rows)

    def _item_of(self, one: Judgment, place: int) -> int:
        """Return the code of one of the two answers; 0 where the log tells nothing of it."""
        text, told = one.texts[place], one.measured[place]
        if text is None and not told:
            return 0
        key = (one.prompt, one.turn, one.second if place else one.first)
        if text is None:
            if key not in self.items:
                self.items[key] = len(self.features)
                self.features.append(told)
            return self.items[key]
        if one.question:
            self._keep_question(one.prompt, one.question)
            self.echoes.add(one.prompt, key[2], one.question, text)
        return self._item(key, text)

    def _keep_question(self, prompt: str, question: str | None) -> None:
        if self.keep_texts and question:
            self.questions.setdefault(prompt, question)

    def _item(self, key: tuple[str, str, str], text: str) -> int:
        """Return the code of a text; two texts under one name are two answers."""
        own = (*key, hash(text))
        if own not in self.items:
            item = self.items[own] = len(self.features)
            self.features.append(measure(text))
            if self.keep_texts:
                self.answer_texts[item] = text
            if self.items.setdefault(key, item) != item:
                self.several_texts[key[2]] += 1
        return self.items[own]

    def _add_score(self, one: Score) -> None:
        known = self.scores[one.judge, one.prompt, one.turn, one.run]
        if one.answerer in known:
            self.omitted[SCORED_AGAIN] += 1
        else:
            known[one.answerer] = one
            self.scores_by_source[self.source] += 1

    def _pair_scores(self) -> None:
        """Compare every two answers to one prompt by the scores that one judge gave them."""
        for scores in self.scores.values():
            for first, second in combinations(sorted(scores), 2):
                self._add_judgment(compare_scores(scores[first], scores[second]))
        self.flush()

    def build(self, people: Iterable[str] = ()) -> JudgeLog:
        """Return the columns of all that was added."""
        self.flush()
        self._pair_scores()
        names = {name: tuple(codes) for name, codes in self.names.items()}
        columns: dict[str, Any] = {
            name: np.array(column, dtype=np.int32 if column.typecode == "i" else np.int8)
            for name, column in self.columns.items()
        }
        self._fill_categories(columns, names)
        self._fill_items(columns, names)
        patterns = tuple(people)
        return JudgeLog(
            judges=names["judge"],
            prompts=names["prompt"],
            turns=names["turn"],
            runs=names["run"],
            sources=names["source"],
            answerers=names["first"],
            categories=names["category"],
            **{name: column for name, column in columns.items() if name != "seated"},
            seated=columns["seated"].astype(bool),
            pair=code_pairs(columns, len(names["turn"]), len(names["first"])),
            strength=np.array(self.strength),
            features=np.array(self.features),
            people=tuple(
                one
                for one in names["judge"]
                if one in self.people or any(fnmatchcase(one, like) for like in patterns)
            ),
            omitted=dict(self.omitted),
            mismatched=self.echoes.mismatched(),
            several_texts=dict(self.several_texts),
            scores=tuple(
                one._replace(text=None, question=None)
                for scores in self.scores.values()
                for one in scores.values()
            ),
            scores_by_source=dict(self.scores_by_source),
            answer_texts=self.answer_texts,
            questions=self.questions,
        )

    def _fill_items(self, columns: dict[str, Any], names: dict[str, tuple[str, ...]]) -> None:
        """Take what another file knows of an answer, where the log itself tells nothing."""
        if not self.items:
            return
        for column, seat in zip(ITEMS, ("first", "second"), strict=True):
            for place in np.flatnonzero(columns[column] == 0).tolist():
                prompt, turn = (names[name][columns[name][place]] for name in ("prompt", "turn"))
                key = (prompt, turn, names[seat][columns[seat][place]])
                columns[column][place] = self.items.get(key, 0)

    def _fill_categories(self, columns: dict[str, Any], names: dict[str, tuple[str, ...]]) -> None:
        """Take the categories that a file of questions names, where the log has none."""
        told = self.prompt_categories
        if not told or {*names["category"]} - {""}:
            return
        new = Names()
        new[""]
        of_prompt = [new[told.get(one, "")] for one in names["prompt"]]
        columns["category"] = np.array(of_prompt, dtype=np.int32)[columns["prompt"]]
        names["category"] = tuple(new)
