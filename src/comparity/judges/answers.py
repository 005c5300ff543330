"""The answers of a log, and what is known of them that a judge may lean to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.judges.log import JudgeLog
from comparity.judges.texts import FEATURES

Floats = NDArray[np.float64]

LONGER, FAMILY = "longer answers", "family"
FEWEST_UNEVEN = 20
"""Prompts of each judge whose answers differ in a feature, below which it is left out."""
FAMILIES = {
    "OpenAI": r"gpt|^o\d|davinci|openai",
    "Anthropic": r"claude",
    "Google": r"gemini|gemma|palm|bard",
    "Meta": r"llama-?\d|meta-llama",
    "Mistral": r"mistral|mixtral",
    "Alibaba": r"qwen",
    "DeepSeek": r"deepseek",
    "Cohere": r"command-r|cohere",
    "xAI": r"grok",
    "LG": r"exaone",
}
"""Makers of models by what their names hold; the first that fits."""


def evaluators_of(log: JudgeLog) -> NDArray[np.int64]:
    """Return who judged: 0 for all people, else one more than the judge's code."""
    is_person = np.isin(log.judges, log.people)
    return np.where(is_person[log.judge], 0, log.judge + 1).astype(np.int64)


class Answers(NamedTuple):
    """The answers of a log: a prompt, a turn and who answered.

    `first` and `second` are the answers of each judgment, `answerer` and `features` of each answer.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    answerer: NDArray[np.int64]
    features: Floats

    @classmethod
    def of(cls, log: JudgeLog) -> Answers:
        """Return the answers of a log, numbered."""
        where = (log.prompt.astype(np.int64) * len(log.turns) + log.turn) * len(log.answerers)
        both = np.concatenate([where + log.first, where + log.second])
        keys, place, code = np.unique(both, return_index=True, return_inverse=True)
        row = np.concatenate([log.first_item, log.second_item])[place]
        first, second = code.reshape(2, -1)
        return cls(first, second, keys % len(log.answerers), log.features[row])

    def difference(self, values: Floats) -> Floats:
        """Return what the first answer has more of a number than the second."""
        return values[self.first] - values[self.second]


class LeanNumber(NamedTuple):
    """A number of each answer: what more of it is called, and an answer with one unit more."""

    kind: str
    toward: str
    step: str
    values: Floats

    def words(self, maker: str) -> tuple[str, str, str]:
        """Return its kind for a judge of this maker, what more of it is, and such an answer."""
        own = self.kind == FAMILY and self.step == f"of {maker}"
        return "self" if own else self.kind, self.toward, self.step


def numbers_of(
    log: JudgeLog, answers: Answers, makers: list[str], asked: list[str]
) -> dict[str, LeanNumber]:
    """Return numbers of the answers in which those of enough prompts differ.

    `makers` are those of the answerers, `asked` those whose answers somebody may lean to.
    """
    known = dict(zip(FEATURES, answers.features.T, strict=True))
    length = np.log2(np.maximum(known["characters"], 1.0))
    numbers = {"length": LeanNumber("length", LONGER, "that is twice as long", length)}
    for name in ("headers", "list items", "bold", "code blocks"):
        words = "bold words" if name == "bold" else name
        numbers[name] = LeanNumber(
            "style", f"more {words}", f"with twice as many {words}", np.log2(1 + known[name])
        )
    numbers["refusal"] = LeanNumber("refusal", "refusals", "that refuses", known["refusal"])
    maker_of = np.array(makers, dtype=object)[answers.answerer]
    for name in dict.fromkeys(one for one in asked if one):
        own = (maker_of == name).astype(np.float64)
        numbers[name] = LeanNumber(FAMILY, f"answers of {name}", f"of {name}", own)
    return _independent(
        {
            name: one
            for name, one in numbers.items()
            if not np.isnan(one.values).any() and _differ_often(log, answers.difference(one.values))
        },
        answers,
    )


def _differ_often(log: JudgeLog, difference: Floats) -> bool:
    """Say whether answers of enough prompts differ in a number, for every judge."""
    judge = evaluators_of(log)
    told = difference != 0
    return all(
        len(np.unique(log.prompt[told & (judge == code)])) >= FEWEST_UNEVEN
        for code in np.unique(judge).tolist()
    )


def _independent(numbers: Mapping[str, LeanNumber], answers: Answers) -> dict[str, LeanNumber]:
    """Leave out numbers that those before them give, within every pair."""
    kept: dict[str, LeanNumber] = {}
    for name, number in numbers.items():
        columns = [answers.difference(one.values) for one in (*kept.values(), number)]
        if np.linalg.matrix_rank(np.column_stack(columns)) == len(columns):
            kept[name] = number
    return kept


class Makers:
    """Who made which model, by its name.

    Examples
    --------
    >>> Makers({"my-*": "Acme"}).of(["claude-3-opus", "my-model", "your-model"])
    ['Anthropic', 'Acme', '']
    """

    def __init__(self, families: Mapping[str, str]) -> None:
        self._families = families

    def of(self, names: Iterable[str]) -> list[str]:
        """Return the maker of each model, or nothing where it is not known."""
        return [self._maker(name) for name in names]

    def _maker(self, name: str) -> str:
        for pattern, own in self._families.items():
            if fnmatchcase(name, pattern):
                return own
        found = (one for one, words in FAMILIES.items() if re.search(words, name.lower()))
        return next(found, "")
