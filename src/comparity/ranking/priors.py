"""Gaussian priors: given, or chosen by marginal likelihood or cross-validation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError
from comparity.rankings import Prior

__all__ = [
    "CROSS_VALIDATION",
    "MARGINAL_LIKELIHOOD",
    "Wish",
    "by_cross_validation",
    "folds",
    "wish_of",
]

MARGINAL_LIKELIHOOD = "marginal likelihood"
CROSS_VALIDATION = "cross-validation"

GRID = tuple(float(2.0**power) for power in range(-2, 5))
"""Standard deviations that cross-validation tries."""

START_SD = 2.0
SMALLEST_SD, LARGEST_SD = 0.02, 50.0
ROUNDED = 1 + 1e-9
# Callers may ask for less, as long as its precision leaves digits for the data.
LEAST_SD = 1e-6
# And for more, as long as the search can see what little of a prior holds items that never lost.
MOST_SD = 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the caller wants of a prior.

    Attributes
    ----------
    of : str
        ``"scores"`` or ``"biases"``.
    sd : float
        Standard deviation to use, or to start from where it is to be chosen.
    chosen_by : str
        ``"the caller"``, ``"default"``, or how to choose.
    """

    of: str
    sd: float
    chosen_by: str

    @property
    def by_likelihood(self) -> bool:
        """Whether to maximise the marginal likelihood."""
        return self.chosen_by == MARGINAL_LIKELIHOOD

    @property
    def by_folds(self) -> bool:
        """Whether to cross-validate."""
        return self.chosen_by == CROSS_VALIDATION

    def granted(self, sd: float, *, least: float = SMALLEST_SD) -> Prior:
        """Return the prior that came of it; `least` is the least that likelihoods may choose."""
        low, high = (GRID[0], GRID[-1]) if self.by_folds else (least, LARGEST_SD)
        chosen = self.chosen_by
        if self.by_likelihood or self.by_folds:
            chosen += ", at its lower bound" * (sd <= low * ROUNDED)
            chosen += ", at its upper bound" * (sd >= high / ROUNDED)
        return Prior(of=self.of, sd=sd, chosen_by=chosen)


def wish_of(prior: Any, of: str, default: Any) -> Wish:
    """Read a prior as callers give it.

    Parameters
    ----------
    prior : float, str or None
        A standard deviation in logits, ``"marginal likelihood"``, ``"cross-validation"``, or
        ``None`` for no prior.
    of : str
        What it is a prior of.
    default : float or str
        What the caller gets without asking; then the result says so.

    Examples
    --------
    >>> wish_of(3, "scores", "marginal likelihood")
    Wish(of='scores', sd=3.0, chosen_by='the caller')
    """
    if prior is None:
        return Wish(of=of, sd=math.inf, chosen_by="the caller")
    if isinstance(prior, str):
        if prior not in (MARGINAL_LIKELIHOOD, CROSS_VALIDATION):
            raise OptionError(f"the prior of {of}", prior, _choices())
        return Wish(of=of, sd=START_SD, chosen_by=prior)
    number = isinstance(prior, int | float | np.number) and not isinstance(prior, bool)
    if not number or not LEAST_SD <= prior <= MOST_SD:
        raise OptionError(f"the prior of {of}", prior, _choices())
    same = not isinstance(default, str) and default is not None and float(prior) == default
    return Wish(of=of, sd=float(prior), chosen_by="default" if same else "the caller")


def _choices() -> list[str]:
    return [
        f"a standard deviation in logits from {LEAST_SD:g} to {MOST_SD:g}",
        repr(MARGINAL_LIKELIHOOD),
        repr(CROSS_VALIDATION),
        "None for no prior",
    ]


def bounded(sd: float) -> float:
    """Keep a standard deviation where it still is a prior."""
    return min(max(sd, SMALLEST_SD), LARGEST_SD)


def folds(n: int, n_folds: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return a random fold for each of n comparisons, all of nearly one size."""
    return rng.permutation(np.arange(n) % n_folds).astype(np.int8)


def by_cross_validation(loss: Callable[[float], float]) -> float:
    """Return the standard deviation of the grid with the least loss on comparisons left out."""
    losses = [loss(sd) for sd in GRID]
    return GRID[int(np.argmin(losses))]
