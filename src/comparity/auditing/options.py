"""The choices of an audit, checked once at the door."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Any

from comparity import __version__
from comparity.auditing.verdicts import RULES
from comparity.errors import OptionError
from comparity.inference.looks import check_looks

__all__ = ["NOTIONS", "ComparativeOptions", "PairwiseOptions", "SeparationOptions", "provenance"]

NOTIONS = ("cross-group", "within-group", "marginal", "symmetric")
"""Equalities in the matrix of pairwise accuracies."""

PAIR_WEIGHTS = ("equal", "difference")
"""What a pair of items may count by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationOptions:
    """How to judge decisions about single items.

    Attributes
    ----------
    alpha : float
        Probability of finding any violation where there is none.
    margin : float
        Largest gap that does no harm.
    rule : {"holm", "paper"}
        Correction for several tests, or the uncorrected rule of 000.
    looks : (int, int), optional
        This look and how many are planned, where the audit is repeated as data come in.
    intersection : bool
        Whether to audit the groups formed by all sensitive attributes together, too.
    seed : int, optional
        Seed of whatever is drawn at random.
    """

    alpha: float = 0.05
    margin: float = 0.05
    rule: str = "holm"
    looks: tuple[int, int] | None = None
    intersection: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        _check_between("alpha", self.alpha, 0, 1)
        _check_between("margin", self.margin, 0, 1)
        _check_word("rule", self.rule, RULES)
        if self.looks is not None:
            _check_looks(self.looks)
        if self.seed is not None and not (_is_whole(self.seed) and self.seed >= 0):
            raise OptionError("seed", self.seed, ["a whole number from 0 on"])
        self._make_plain()

    def _make_plain(self) -> None:
        """Turn the numbers of numpy into plain ones, which can be written as JSON."""
        plain: dict[str, Any] = {"alpha": float(self.alpha), "margin": float(self.margin)}
        if self.looks is not None:
            plain["looks"] = (int(self.looks[0]), int(self.looks[1]))
        if self.seed is not None:
            plain["seed"] = int(self.seed)
        for name, number in plain.items():
            object.__setattr__(self, name, number)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparativeOptions(SeparationOptions):
    """How to judge comparisons.

    Attributes
    ----------
    design : {"auto", "fresh", "shared"}
        Whether items repeat; looked up in the data by default.
    method : {"auto", "disjoint", "dyadic"}
        ``"disjoint"`` uses only pairs that share no item and no evaluator; ``"dyadic"`` the
        variance of squared residuals and the normal law even where counts are small.
    score_ties : {"disagree", "half"}
        What a tie of the model's scores counts as.
    continuous : bool
        Whether the sensitive attribute is a number to be compared, not a group.
    reference : str, optional
        Name of what agreement is standardised by.
    """

    design: str = "auto"
    method: str = "auto"
    score_ties: str = "disagree"
    continuous: bool = False
    reference: str | None = None

    def __post_init__(self) -> None:
        # Zero-argument super() does not work in a dataclass with slots.
        SeparationOptions.__post_init__(self)
        _check_word("design", self.design, ("auto", "fresh", "shared"))
        _check_word("method", self.method, ("auto", "disjoint", "dyadic"))
        _check_word("score_ties", self.score_ties, ("disagree", "half"))
        if self.reference is not None:
            self._check_weighable()

    def _check_weighable(self) -> None:
        """Refuse what cannot be had with weights on judgments."""
        without = "no reference"
        if self.continuous:
            why = "agreement can be standardised only between groups"
            raise OptionError("continuous", True, ["continuous=False", without], why)
        if self.method == "disjoint":
            why = "an exact test takes no weights"
            raise OptionError("method", self.method, ["'auto'", without], why)
        if self.method == "dyadic":
            why = "weights make judgments few, which is what it does not look at"
            raise OptionError("method", self.method, ["'auto'", without], why)
        if self.rule == "paper":
            why = "the rule of the paper takes no weights"
            raise OptionError("rule", self.rule, ["'holm'", without], why)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseOptions(SeparationOptions):
    """How to judge all pairs that labels imply.

    Attributes
    ----------
    average : {"pairs", "queries"}
        Whether every pair counts alike, or every query.
    pair_weight : {"equal", "difference"}
        Whether all pairs count alike, or by the difference of their labels.
    score_ties : {"disagree", "half"}
        What a tie of the scores counts as.
    continuous : bool
        Whether the sensitive attribute is a number to be compared, not a group.
    notions : tuple of str
        Which equalities form the family of tests; some of :data:`NOTIONS`.
    """

    average: str = "pairs"
    pair_weight: str = "equal"
    score_ties: str = "disagree"
    continuous: bool = False
    notions: tuple[str, ...] = ("cross-group", "within-group")

    def __post_init__(self) -> None:
        # Zero-argument super() does not work in a dataclass with slots.
        SeparationOptions.__post_init__(self)
        _check_word("average", self.average, ("pairs", "queries"))
        _check_word("pair_weight", self.pair_weight, PAIR_WEIGHTS)
        _check_word("score_ties", self.score_ties, ("disagree", "half"))
        if not self.notions:
            raise OptionError("notions", self.notions, [repr(word) for word in NOTIONS])
        for notion in self.notions:
            _check_word("notions", notion, NOTIONS)
        if self.average == "queries":
            self._check_by_query()

    def _check_by_query(self) -> None:
        """Refuse what cannot be averaged over queries, rather than average something else."""
        if self.continuous:
            why = "pairs by the order of a number are pooled"
            raise OptionError("average", self.average, ["'pairs'"], why)
        if "symmetric" in self.notions:
            why = "better and worse items of a group are summed over pairs"
            raise OptionError("average", self.average, ["'pairs'", "other notions"], why)


def provenance(options: SeparationOptions, **data: Any) -> Mapping[str, Any]:
    """Return what is needed to repeat an audit: version, seed, options and facts about the data."""
    choices = asdict(options)
    return {
        "comparity": __version__,
        "seed": choices.pop("seed"),
        "options": choices,
        "data": data,
    }


def _check_looks(looks: Any) -> None:
    pair = isinstance(looks, tuple | list) and len(looks) == 2
    if not pair or not all(map(_is_whole, looks)):
        raise OptionError("looks", looks, ["two whole numbers, such as (2, 4)"])
    check_looks(*looks)


def _is_whole(found: object) -> bool:
    return isinstance(found, Integral) and not isinstance(found, bool)


def _check_between(option: str, found: Any, low: float, high: float) -> None:
    number = isinstance(found, Real) and math.isfinite(found)
    if not number or not low < found < high:
        raise OptionError(option, found, [f"a number between {low} and {high}, both excluded"])


def _check_word(option: str, found: str, allowed: tuple[str, ...]) -> None:
    if found not in allowed:
        raise OptionError(option, found, [repr(word) for word in allowed])
