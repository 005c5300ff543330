"""The choices of an audit of all pairs."""

from __future__ import annotations

from dataclasses import dataclass

from comparity.errors import OptionError
from comparity.results.options import SeparationOptions, _check_word

__all__ = [
    "NOTIONS",
    "PairwiseOptions",
]


NOTIONS = ("cross-group", "within-group", "marginal", "symmetric")
"""Equalities in the matrix of pairwise accuracies."""


PAIR_WEIGHTS = ("equal", "difference")
"""What a pair of items may count by."""


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
