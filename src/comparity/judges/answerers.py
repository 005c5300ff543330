"""The answerers of a log: their answers, what judges may lean to in them, what people prefer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.linalg import lsqr

from comparity.inference.prediction_powered import PoweredMean, powered_excess, powered_rate
from comparity.judges.agreement import Verdicts
from comparity.judges.log import JudgeLog
from comparity.judges.readers import FEATURES
from comparity.reports.sections import clip

Floats = NDArray[np.float64]

LONGER, FAMILY = "longer answers", "family"
LONGER_ANSWER = "the longer answer"
"""Stands for an answerer where rates are corrected by people."""
FEWEST_UNEVEN = 20
"""Prompts of a judge whose answers differ in a feature, below which nothing is told of it."""
MOST_UNKNOWN = 0.5
"""Share of a judge's judgments that may be left out because an answer is not known."""
FAMILIES = {
    # Whose models are named after others', by architecture or descent.
    **{"Cerebras": r"cerebras", "EleutherAI": r"gpt-?j\b|gpt-?neo|pythia", "Nomic": r"gpt4all"},
    **{"Writer": r"palmyra", "NVIDIA": r"nemotron", "DeepSeek": r"deepseek"},
    "OpenAI": r"gpt|(?:^|/)o\d|davinci|openai",
    "Anthropic": r"claude",
    "Google": r"gemini|gemma|palm|bard",
    "Meta": r"(?<!tiny)(?<!open)(?<!open[-_])llama-?\d|meta-llama",
    "Mistral": r"mistral|mixtral|ministral",
    "Microsoft": r"(?:^|/)phi-?\d",
    "Alibaba": r"qwen|qwq",
    **{"Cohere": r"command-r|cohere", "xAI": r"grok", "LG": r"exaone", "Moonshot": r"kimi"},
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

    def lead(self, values: Floats) -> Floats:
        """Return how far each answerer is ahead of the others in a number of its answers.

        By least squares over all judgments, so that whom somebody met, and on which prompts, is
        taken into account; the mean is zero.
        """
        n = len(self.first)
        who = np.r_[self.answerer[self.first], self.answerer[self.second]]
        signs = np.r_[np.ones(n), -np.ones(n)]
        design = coo_array((signs, (np.r_[:n, :n], who)), (n, int(who.max()) + 1)).tocsr()
        found: Floats = lsqr(design, self.difference(values), atol=1e-9, btol=1e-9)[0]
        return found


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


def known_numbers(
    answers: Answers, makers: Sequence[str], asked: Iterable[str]
) -> dict[str, LeanNumber]:
    """Return numbers of the answers: length, style, refusals, and who made the answerer.

    `makers` are those of the answerers, `asked` those whose answers somebody may lean to. A number
    that is not known of an answer is ``nan``.
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
    return numbers


def numbers_of(
    log: JudgeLog, answers: Answers, makers: list[str], asked: list[str]
) -> dict[str, LeanNumber]:
    """Return numbers of the answers in which those of enough prompts differ.

    They do so for two judges at least, who are then compared, or for the only one.
    """
    return _drop_dependent(
        {
            name: one
            for name, one in known_numbers(answers, makers, asked).items()
            if not np.isnan(one.values).any() and _differ_often(log, answers.difference(one.values))
        },
        answers,
    )


def _differ_often(log: JudgeLog, difference: Floats) -> bool:
    judge = evaluators_of(log)
    codes, code = np.unique(judge, return_inverse=True)
    told = difference != 0
    cells = np.unique(code[told] * len(log.prompts) + log.prompt[told]) // len(log.prompts)
    prompts = np.bincount(cells, minlength=len(codes))
    return int(np.sum(prompts >= FEWEST_UNEVEN)) >= min(2, len(codes))


def keep_known(log: JudgeLog) -> tuple[JudgeLog, tuple[str, ...]]:
    """Leave out judgments of answers of which less is known than of most, and say how many.

    What is not known of half of a judge's answers is not asked for.
    """
    judge = np.unique(evaluators_of(log), return_inverse=True)[1]
    known = ~np.isnan(log.features)
    both = known[log.first_item] & known[log.second_item]
    n = np.bincount(judge)
    shares = np.stack([np.bincount(judge, column) / n for column in both.T])
    asked = (shares[:, n >= FEWEST_UNEVEN] > MOST_UNKNOWN).all(axis=1)
    kept = np.asarray(both[:, asked].all(axis=1))
    if kept.all():
        return log, ()
    note = f"{np.sum(~kept):,} judgments of answers without a known text tell nothing of leans."
    return log.take(kept), (note,)


def _drop_dependent(numbers: Mapping[str, LeanNumber], answers: Answers) -> dict[str, LeanNumber]:
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


def note_families(makers: Makers, log: JudgeLog) -> tuple[str, ...]:
    """Say that a preference for one's own family is not told, where somebody might have one."""
    shared = {*makers.of(log.judges)} & {*makers.of(log.answerers)} - {""}
    if not shared:
        return ()
    listed = ", ".join(map(clip, sorted(shared)))
    return (
        f"Judges and answerers of one maker ({listed}): whether a judge prefers its own family is "
        "not identified without people's verdicts or a truth, because better answers of that "
        "family would look the same.",
    )


MOST_CORRECTED = 50
"""With more answerers than this, win rates are not corrected one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """How often people would prefer an answerer, of all pairs that a judge saw.

    Attributes
    ----------
    judge : str
    answerer : str
        Whose wins; ``"the longer answer"`` stands for that of each pair, whoever gave it.
    wins : PoweredMean
    excess : PoweredMean
        How much more often the judge lets it win than people would: the gap of the two rates.
    """

    judge: str
    answerer: str
    wins: PoweredMean
    excess: PoweredMean


def correct_by_people(log: JudgeLog, level: float = 0.95) -> tuple[CorrectedRate, ...]:
    """Return the win rates of each judge's pairs, corrected by people's verdicts on some of them.

    Nothing where no people judged, or they judged every pair, or pairs of fewer than ten prompts.
    """
    if not log.people or len(log.answerers) > MOST_CORRECTED:
        return ()
    return tuple(_correct_each(log, level))


def _correct_each(log: JudgeLog, level: float) -> Iterator[CorrectedRate]:
    verdicts = Verdicts(log)
    is_person = np.isin(log.judges, log.people)[log.judge]
    votes = _mean_votes(verdicts, is_person)
    low, high = _answerers_of_pairs(log, verdicts.n_pairs)
    lead = _leads_in_length(log, verdicts)
    for code, name in log.beside_people():
        said = _mean_votes(verdicts, log.judge == code)
        sides = {LONGER_ANSWER: lead}
        sides |= {
            answerer: (low == place).astype(float) - (high == place)
            for place, answerer in enumerate(log.answerers)
        }
        for answerer, side in sides.items():
            met = ~np.isnan(said) & (side != 0)
            turned = side[met] < 0
            labels, predictions = (
                np.where(turned, 1 - one[met], one[met]) for one in (votes, said)
            )
            prompts = verdicts.prompt_of_pair[met]
            wins = powered_rate(labels, predictions, prompts, level=level)
            excess = powered_excess(labels, predictions, prompts, level=level)
            if wins is not None and excess is not None:
                rates = {"wins": wins, "excess": excess}
                yield CorrectedRate(judge=name, answerer=answerer, **rates)


def _leads_in_length(log: JudgeLog, verdicts: Verdicts) -> Floats:
    """Return by how much the answer of the first answerer of each pair is longer; 0 if unknown."""
    lead = np.zeros(verdicts.n_pairs)
    first, second = log.lengths
    lead[log.pair] = np.nan_to_num(np.where(verdicts.way, first - second, second - first))
    return lead


def _mean_votes(verdicts: Verdicts, rows: NDArray[np.bool_]) -> Floats:
    """Return the mean vote for the first answerer of each pair; ``nan`` where nobody voted."""
    counts = verdicts.count(rows, seats=False)
    n = counts.sum(1)
    votes: Floats = np.full(len(counts), np.nan)
    votes[n > 0] = (counts[n > 0, 0] + counts[n > 0, 2] / 2) / n[n > 0]
    return votes


def _answerers_of_pairs(log: JudgeLog, n_pairs: int) -> tuple[NDArray[np.int64], ...]:
    """Return the two answerers of each pair, the one with the smaller code first."""
    both = np.zeros((2, n_pairs), dtype=np.int64)
    both[0, log.pair] = np.minimum(log.first, log.second)
    both[1, log.pair] = np.maximum(log.first, log.second)
    return both[0], both[1]
