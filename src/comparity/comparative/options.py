"""The choices of an audit of comparative separation."""

from __future__ import annotations

from dataclasses import dataclass

from comparity.errors import OptionError
from comparity.results.options import SeparationOptions, _check_word

__all__ = [
    "ComparativeOptions",
]


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
