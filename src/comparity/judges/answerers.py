"""The answerers of a log: their answers and what a judge may lean to in them, and their ranks.

Ranks are by all judgments, with errors that take prompts as clusters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.inference.gap_tests import Interval
from comparity.inference.prediction_powered import PoweredMean, powered_mean
from comparity.judges.agreement import Verdicts
from comparity.judges.log import JudgeLog
from comparity.judges.rates import PromptRate, count_by_prompt, rate_of
from comparity.judges.readers import FEATURES, FIRST, NO_VERDICT, ONE_ORDER, SECOND, TIE
from comparity.ranking.connectivity import explains_seats
from comparity.ranking.result import Ranking
from comparity.ranking.simple_models import bradley_terry

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
    """Return numbers of the answers in which those of enough prompts differ, for every judge."""
    return _drop_dependent(
        {
            name: one
            for name, one in known_numbers(answers, makers, asked).items()
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


Rows = NDArray[np.bool_]

MOST_STANDINGS = 200
MOST_CORRECTED = 50
"""With more answerers than this, win rates are not corrected one by one."""
FEWEST_JUDGES = 30
"""Judges from which on they are a sample of judges, and clusters beside prompts."""
# With more answerers than this, no matrix of wins is made.
MOST_OPPONENTS = 20
EVEN, LOGIT = 1000.0, 400 / math.log(10)
"""Elo's scale: where the mean is put, and what a logit is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An answerer on the leaderboard.

    Attributes
    ----------
    answerer : str
    judgments : int
    wins : PromptRate
        Share of decided judgments that it won.
    score : float
        Bradley-Terry, in logits, with the seats taken into account where they are known.
    interval : Interval
        Of the score; prompts are clusters.
    ranks : tuple of int
        The best and the worst rank it can have; all these intervals hold together.
    against : mapping of str to PromptRate
        Share of decided judgments won, by opponent.
    without_leans : int or None
        Rank by the quality that is left when the judges' leans are taken out, where these are told.
    with_lean : mapping of str to int
        Rank by that quality and one kind of lean, on average over all judgments.
    """

    answerer: str
    judgments: int
    wins: PromptRate
    score: float
    interval: Interval
    ranks: tuple[int, int]
    against: Mapping[str, PromptRate]
    without_leans: int | None = None
    with_lean: Mapping[str, int] = field(default_factory=dict)

    DERIVED: ClassVar[Mapping[str, str]] = {"elo": "elo"}

    @property
    def elo(self) -> float:
        """The score on Elo's scale: 1000 is the mean, 400 more win ten times as often."""
        return EVEN + LOGIT * self.score


def rank_answerers(
    log: JudgeLog,
    level: float,
    quality: Mapping[str, float],
    lifts: Mapping[str, Mapping[str, float]],
) -> tuple[Standing, ...]:
    """Rank the answerers by all judgments, the best first, where the log says who answered.

    Parameters
    ----------
    log : JudgeLog
    level : float
        Of all intervals.
    quality : mapping of str to float
        Of answerers, with the judges' leans taken out, where they are told.
    lifts : mapping of str to mapping
        What each kind of lean adds to it.
    """
    n = len(log.answerers)
    valid = log.verdict != NO_VERDICT
    decided = np.isin(log.verdict, (FIRST, SECOND)).any()
    if not 2 <= n <= MOST_STANDINGS or not decided or _are_nameless(log):
        return ()
    log = log.take(valid)
    second = log.verdict == SECOND
    better = np.where(second, log.second, log.first)
    worse = np.where(second, log.first, log.second)
    ranking = _fit(log, better, worse)
    ends, ranks = ranking.score_intervals(level), ranking.rank_intervals(level)
    plain = _ranks(quality)
    lifted = {
        kind: _ranks({name: quality[name] + more[name] for name in quality})
        for kind, more in lifts.items()
    }
    found = []
    for code in ranking.ranking.tolist():
        met = (log.first == code) | (log.second == code)
        decided, won = met & (log.verdict != TIE), better == code
        other = np.where(log.first == code, log.second, log.first)
        rivals = np.unique(other[decided]).tolist() if n <= MOST_OPPONENTS else []
        name = log.answerers[code]
        standing = Standing(
            answerer=name,
            judgments=int(met.sum()),
            wins=_share(log, decided, won, level),
            score=float(ranking.scores[code]),
            interval=Interval(float(ends[code, 0]), float(ends[code, 1]), level),
            ranks=(int(ranks[code, 0]), int(ranks[code, 1])),
            against={
                log.answerers[rival]: _share(log, decided & (other == rival), won, level)
                for rival in rivals
            },
            without_leans=plain.get(name),
            with_lean={kind: ranks[name] for kind, ranks in lifted.items() if name in ranks},
        )
        found.append(standing)
    return tuple(found)


def _are_nameless(log: JudgeLog) -> bool:
    """Say whether answers go by their texts: of several prompts most answerers met only one."""
    both = np.r_[log.first, log.second].astype(np.int64) * len(log.prompts)
    answered = np.unique(both + np.r_[log.prompt, log.prompt]) // len(log.prompts)
    met = np.unique(answered, return_counts=True)[1]
    return len(log.prompts) > 1 and float(np.median(met)) == 1


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Return places from the largest value down."""
    return {name: k for k, name in enumerate(sorted(values, key=lambda one: -values[one]), 1)}


def _fit(log: JudgeLog, better: NDArray[np.int32], worse: NDArray[np.int32]) -> Ranking:
    """Return the ranking by Bradley and Terry, with seats where these can be told."""
    n = len(log.answerers)
    shown = log.seated & (log.orders == ONE_ORDER)
    seats = np.where(shown, np.where(better == log.first, 1, -1), 0)
    items = better.astype(np.int64), worse.astype(np.int64)
    told = None if explains_seats(*items, seats, n) else seats

    def fit(cluster: NDArray[Any] | None) -> Ranking:
        pairs, tied = np.stack(items, axis=1), log.verdict == TIE
        return bradley_terry(pairs, n_items=n, ties=tied, seats=told, cluster=cluster)

    by_prompt = fit(log.prompt if len(np.unique(log.prompt)) > 1 else None)
    if len(np.unique(log.judge)) < FEWEST_JUDGES:
        return by_prompt
    # Prompts and judges at once (Cameron, Gelbach and Miller, 2011).
    both = log.prompt.astype(np.int64) * len(log.judges) + log.judge
    one, two, shared = (found.standard_errors for found in (by_prompt, fit(log.judge), fit(both)))
    errors = np.sqrt(np.maximum(one**2 + two**2 - shared**2, np.maximum(one, two) ** 2))
    return replace(by_prompt, standard_errors=errors)


def _share(log: JudgeLog, decided: Rows, won: Rows, level: float) -> PromptRate:
    trials = count_by_prompt(log.prompt, decided, len(log.prompts))
    hits = count_by_prompt(log.prompt, decided & won, len(log.prompts))
    return rate_of(hits, trials, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """How often people would prefer an answerer, of all pairs that a judge saw.

    Attributes
    ----------
    judge : str
    answerer : str
        Whose wins.
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
    for code, name in enumerate(log.judges):
        if name in log.people:
            continue
        said = _mean_votes(verdicts, log.judge == code)
        for answerer, answerer_name in enumerate(log.answerers):
            met = ~np.isnan(said) & ((low == answerer) | (high == answerer))
            turned = high[met] == answerer
            labels, predictions = (
                np.where(turned, 1 - one[met], one[met]) for one in (votes, said)
            )
            prompts = verdicts.prompt_of_pair[met]
            wins = powered_mean(labels, predictions, prompts, level=level)
            excess = powered_mean(predictions - labels, predictions, prompts, level=level)
            if wins is not None and excess is not None:
                rates = {"wins": wins, "excess": excess}
                yield CorrectedRate(judge=name, answerer=answerer_name, **rates)


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
