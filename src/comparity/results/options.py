"""The choices every audit has, checked once at the door."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Any

from comparity import __version__
from comparity.errors import OptionError
from comparity.inference.looks import check_looks
from comparity.results.findings import RULES

__all__ = [
    "SeparationOptions",
    "provenance",
]


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
