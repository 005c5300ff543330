"""The choices of a comparison of tasks, and of its plan."""

from __future__ import annotations

from dataclasses import dataclass

from comparity.results.options import REQUIRED, Options, choice


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions(Options):
    """How ratings are compared with comparisons."""

    gap: float = choice(
        0.05,
        "Gap between two kinds of compared pairs that a verdict has to find.",
        above=0,
        below=1,
    )
    power: float = choice(0.8, "Power with which it has to find it.", above=0, below=1)
    alpha: float = choice(
        0.05, "False alarms of that verdict, and of each test here.", above=0, below=1
    )
    longest: float = choice(
        120.0, "Seconds from which on a time counts as a pause; the answer is kept.", above=0
    )
    drop_flagged: bool = choice(
        False, "Leave out judges who failed as many attention pairs as they passed."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlanOptions(Options):
    """How many judges a comparison of tasks needs."""

    ratio: float = choice(
        REQUIRED, "Ratio of minutes, or of times, that is to be found, such as 0.7.", above=0
    )
    power: float = choice(0.8, "Power with which it is to be found.", above=0, below=1)
    alpha: float = choice(
        0.05, "Probability of finding a ratio where there is none.", above=0, below=1
    )
    time_spread: float = choice(
        0.4, "Standard deviation, between judges, of the logarithm of the time.", least=0, most=10
    )
    kinds: int = choice(
        4, "Kinds of pairs, by the groups of the better and the worse item.", least=2, most=10_000
    )
    agreement: float = choice(
        0.75, "How often the model agrees with a judge about a pair.", above=0.5, below=1
    )
    agreement_spread: float = choice(
        0.07, "Standard deviation of that, between judges.", least=0, most=0.5
    )
