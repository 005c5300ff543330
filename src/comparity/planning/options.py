"""The choices of a plan, and which of them go together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypedDict

from comparity import __version__
from comparity.errors import Option, PlanError
from comparity.results.options import REQUIRED, Options, choice


class ChoiceBounds(TypedDict, total=False):
    """Between what the numbers of a choice lie, and what an error calls them."""

    least: float
    most: float
    above: float
    below: float
    allowed: str


INCLUDED: ChoiceBounds = {"least": 0, "most": 1, "allowed": "proportions, not percentages"}
# A group without items, or without positive or negative ones, leaves nothing to test.
EXCLUDED: ChoiceBounds = {
    "above": 0,
    "below": 1,
    "allowed": "proportions between 0 and 1, both excluded, without groups that cannot be tested",
}
TIES: ChoiceBounds = {"least": 0, "below": 1, "allowed": "a share from 0 on, below 1"}
# Beyond these one group is always ahead, or the model never right.
POSITIVE: ChoiceBounds = {"least": 0.01, "most": 100}
REACHABLE: ChoiceBounds = {"least": -100, "most": 100}
SHARE_OF_TIES = "Share of judgments that put neither item first."
LOG_ODDS = "log odds from -20 to 20, not a percentage: 0.4 where 60 % of equals are decided for it"


class PlanRecord(TypedDict):
    """What a plan rests on, as JSON keeps it."""

    assumptions: Mapping[str, Any]
    provenance: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions(Options):
    """What every plan asks; exactly one of the size, which `SIZE` names, and the power."""

    power: float | None = choice(None, "Power wanted: find the size.", above=0, below=1)
    seed: int | None = choice(None, "Kept in the result; a plan draws nothing at random.")

    SIZE: ClassVar[str]

    @property
    def size(self) -> int | None:
        """The size that was asked for."""
        size: int | None = getattr(self, self.SIZE)
        return size

    def record(self, **more: Any) -> PlanRecord:
        """Return what a plan rests on, as its result keeps it."""
        given = asdict(self) | more
        seed = given.pop("seed")
        told = {name: list(one) if isinstance(one, tuple) else one for name, one in given.items()}
        provenance = {"version": __version__, "options": told, "seed": seed}
        return {"assumptions": told, "provenance": provenance}

    def _check_together(self) -> None:
        if (self.size is None) == (self.power is None):
            both = f"{self.SIZE}={self.size} and power={self.power}"
            raise PlanError(
                f"exactly one of {self.SIZE} and power is needed",
                "neither" if self.size is None else both,
                "give {} to learn the power, or {} to learn the size",
                Option(self.SIZE),
                Option("power"),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlanOptions(PlanOptions):
    """What plans of tests between groups ask: the groups, and a margin."""

    shares: tuple[float, ...] = choice(REQUIRED, "Share of each group among the items.", **EXCLUDED)
    groups: tuple[str, ...] | None = choice(None, "Names of the groups, as the rates are ordered.")
    margin: float | None = choice(
        None, "Plan to show that every gap is smaller than this.", above=0, below=1
    )
    alpha: float = choice(0.05, "Overall false-alarm rate.", above=0, below=1)
    rule: Literal["holm", "paper"] = choice(
        "holm", "Correction for several tests; 'paper' makes none."
    )

    anytime: bool = choice(False, "Say when a study would stop that is looked at at any moment.")

    RATES: ClassVar[tuple[str, ...]]

    @property
    def rates(self) -> dict[str, tuple[float, ...]]:
        """All that is assumed of each group, by name."""
        return {name: getattr(self, name) for name in self.RATES}

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the groups, their positions where none are given."""
        positions = range(len(next(iter(self.rates.values()))))
        return tuple(map(str, positions if self.groups is None else self.groups))

    def _check_together(self) -> None:
        PlanOptions._check_together(self)
        if self.anytime and self.rule == "paper":
            what = "a study that is looked at at any moment keeps the overall false-alarm rate"
            hint = ("give {} or no {}", Option("rule", "holm"), Option("anytime"))
            raise PlanError(what, "rule='paper'", *hint)
        names = self.group_names
        if len(names) < 2 or len(set(names)) < len(names):
            raise PlanError(
                "a plan needs at least two groups with different names",
                ", ".join(map(repr, names)) or "none",
                "give one rate per group, such as {}",
                Option("tpr", [0.8, 0.84]),
            )
        for name, values in self.rates.items():
            if len(values) != len(names):
                raise PlanError(
                    f"{name} needs one value per group",
                    f"{len(values)} values ({_list_numbers(values)}) for {len(names)} groups",
                    "list the groups in the same order everywhere",
                )
        if abs(sum(self.shares) - 1) > 1e-6:
            raise PlanError(
                "shares must sum to 1",
                f"{_list_numbers(self.shares)}, which sum to {sum(self.shares):g}",
                "divide each by their sum",
            )


def _list_numbers(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationPlanOptions(GroupPlanOptions):
    """A plan of a test of separation."""

    tpr: tuple[float, ...] = choice(REQUIRED, "True positive rate of each group.", **INCLUDED)
    fpr: tuple[float, ...] = choice(REQUIRED, "False positive rate of each group.", **INCLUDED)
    base_rates: tuple[float, ...] = choice(
        REQUIRED, "Share of good items in each group.", **EXCLUDED
    )
    n: int | None = choice(None, "Number of decisions: find the power.", least=1)

    SIZE: ClassVar[str] = "n"
    RATES: ClassVar[tuple[str, ...]] = ("tpr", "fpr", "shares", "base_rates")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparativePlanOptions(GroupPlanOptions):
    """A plan of a test of comparative separation."""

    tpr: tuple[float, ...] | None = choice(None, "True positive rate of each group.", **INCLUDED)
    tnr: tuple[float, ...] | None = choice(None, "True negative rate of each group.", **INCLUDED)
    base_rates: tuple[float, ...] | None = choice(
        None, "Share of good items in each group.", **EXCLUDED
    )
    quality_spread: tuple[float, ...] | None = choice(
        None, "Standard deviation of graded quality in each group, instead of rates.", **POSITIVE
    )
    quality_mean: tuple[float, ...] | None = choice(
        None, "Mean of graded quality in each group; 0 by default.", **REACHABLE
    )
    model_error: tuple[float, ...] | None = choice(
        None, "Standard deviation of the model's error in each group, as quality.", **POSITIVE
    )
    model_shift: tuple[float, ...] | None = choice(
        None, "What the model adds to each group's scores; 0 by default.", **REACHABLE
    )
    judge_error: float = choice(
        0.0, "Standard deviation of a judge's error about one item, as quality.", least=0, most=100
    )
    n_pairs: int | None = choice(None, "Judged pairs: find the power.", least=1)
    n_items: int | None = choice(None, "Number of items; by default none occurs twice.", least=2)
    n_evaluators: int | None = choice(None, "Evaluators who share the pairs.", least=1)
    evaluator_lean: float = choice(0.1, "How strongly evaluators differ.", least=0, most=1)
    tie_share: float = choice(0.0, SHARE_OF_TIES, **TIES)
    quality: Literal["graded", "binary"] = choice(
        "graded", "Which audit to plan: of all kinds of pairs, or of binary quality."
    )

    SIZE: ClassVar[str] = "n_pairs"
    RATES: ClassVar[tuple[str, ...]] = ("tpr", "tnr", "shares", "base_rates")
    GRADED: ClassVar[tuple[str, ...]] = ("quality_spread", "model_error")
    FROM_ZERO: ClassVar[tuple[str, ...]] = ("quality_mean", "model_shift")

    @property
    def has_graded_quality(self) -> bool:
        """Whether quality has a distribution, and not only two values."""
        return any(getattr(self, name) is not None for name in self.GRADED + self.FROM_ZERO)

    @property
    def rates(self) -> dict[str, tuple[float, ...]]:
        """All that is assumed of each group, by name."""
        if not self.has_graded_quality:
            return {name: getattr(self, name) for name in self.RATES}
        told = {name: getattr(self, name) for name in (*self.GRADED, "shares", *self.FROM_ZERO)}
        zeros = (0.0,) * len(self.shares)
        return {name: zeros if values is None else values for name, values in told.items()}

    def _check_together(self) -> None:
        of_rates = tuple(name for name in self.RATES if name != "shares")
        given = [name for name in of_rates + self.GRADED if getattr(self, name) is not None]
        needed = self.GRADED if self.has_graded_quality else of_rates
        missing = [name for name in needed if name not in given]
        if self.has_graded_quality and set(given) & set(of_rates):
            raise PlanError(
                "rates of good and bad items do not go with graded quality",
                f"{', '.join(name for name in given if name in of_rates)} beside a distribution",
                "give {} and {} alone, or rates of good and bad items alone",
                *map(Option, self.GRADED),
            )
        if missing:
            raise PlanError(
                f"a plan needs {' and '.join(missing)}",
                ", ".join(given) or "nothing that is assumed of the model",
                "give {}, {} and {}, or for graded quality {} and {}",
                *map(Option, (*of_rates, *self.GRADED)),
            )
        if self.has_graded_quality and self.quality == "binary":
            raise PlanError(
                "quality that is spread is not binary",
                f"quality={self.quality!r} beside quality_spread",
                "leave out {}",
                Option("quality"),
            )
        GroupPlanOptions._check_together(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlanOptions(PlanOptions):
    """A plan to find which evaluators lean."""

    # Beyond 20 an evaluator never decides for the other group, however often asked.
    lean: float = choice(
        REQUIRED,
        "Lean to be found, in log odds; 0.4 is 60% to 40%.",
        least=-20,
        most=20,
        allowed=LOG_ODDS,
    )
    n_items: int = choice(REQUIRED, "Items to compare.", least=2)
    n_evaluators: int = choice(REQUIRED, "Who compare them.", least=1)
    n_per_evaluator: int | None = choice(None, "Comparisons by each: find the power.", least=1)
    share: float = choice(0.5, "Share of the group.", above=0, below=1)
    # Beyond 100 the grid of the formulas is too coarse for the few close pairs.
    score_spread: float = choice(
        1.0, "Standard deviation of the items' scores, in log odds.", least=0, most=100
    )
    others_leaning: float = choice(
        0.0, "Share of the other evaluators who lean as much.", least=0, most=1
    )
    tie_share: float = choice(0.0, SHARE_OF_TIES, **TIES)
    alpha: float = choice(
        0.05, "False discovery rate; the level of the test for --rule single.", above=0, below=1
    )
    rule: Literal["fdr", "single"] = choice(
        "fdr", "Whether all evaluators are looked at, or one named in advance."
    )
    cautious: bool = choice(False, "Allow for groups that differ by chance.")

    SIZE: ClassVar[str] = "n_per_evaluator"

    def _check_together(self) -> None:
        PlanOptions._check_together(self)
        if self.lean == 0:
            raise PlanError("lean must be a number that there is to find", "0", f"give {LOG_ODDS}")
        if not 1 <= self.share * self.n_items <= self.n_items - 1:
            raise PlanError(
                "share must leave items in the group and out of it",
                f"{self.share!r}",
                f"give a share, such as 0.3, that has one of {self.n_items} items in the group and "
                "out",
            )
