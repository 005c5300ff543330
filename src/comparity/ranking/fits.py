"""Parts of a fitted ranking: priors and how they are chosen, effects, contrasts, suggestions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.counts.pairs import ROUNDING
from comparity.errors import OptionError
from comparity.inference.gap_tests import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A Gaussian prior, which is a ridge penalty seen from the other side.

    Attributes
    ----------
    of : str
        What it is a prior of: ``"scores"`` or ``"biases"``.
    sd : float
        Its standard deviation, in logits; infinite where there is no prior.
    chosen_by : str
        ``"the caller"``, ``"default"``, ``"marginal likelihood"`` or ``"cross-validation"``.
    """

    of: str
    sd: float
    chosen_by: str

    @property
    def precision(self) -> float:
        """Weight of half the sum of squares in the penalised likelihood."""
        return 0.0 if math.isinf(self.sd) else self.sd**-2

    def __str__(self) -> str:
        prior = "no prior" if math.isinf(self.sd) else f"Normal with SD {self.sd:.4g}"
        return f"{self.of}: {prior} ({self.chosen_by})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One number with its standard error, such as the effect of the first seat.

    Attributes
    ----------
    name : str
        What it is.
    value, standard_error : float
        In logits.
    """

    name: str
    value: float
    standard_error: float

    DERIVED: ClassVar[Mapping[str, str]] = {"interval": "interval", "p_value": "p_value"}

    @property
    def z(self) -> float:
        """Value over standard error."""
        return self.value / self.standard_error if self.standard_error > 0 else math.nan

    @property
    def p_value(self) -> float:
        """Two-sided p value of no effect."""
        return math.erfc(abs(self.z) / math.sqrt(2)) if math.isfinite(self.z) else math.nan

    def interval(self, level: float = 0.95) -> Interval:
        """Return the normal interval."""
        half = normal_quantile(level) * self.standard_error
        return Interval(self.value - half, self.value + half, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupContrast:
    """Which group a bias favours, and over which.

    Attributes
    ----------
    attribute : str
        The sensitive attribute, or several joined by ``" x "`` for an intersection.
    group, reference : str
        A positive bias puts `group` above `reference`; for an intersection `reference` is
        ``"the sum of its parts"``, for a number nothing: `group` is one unit more of it.
    """

    attribute: str
    group: str
    reference: str

    DERIVED: ClassVar[Mapping[str, str]] = {"name": "__str__"}

    def __str__(self) -> str:
        over = f" over {self.reference}" if self.reference else ""
        return f"{self.attribute}: {self.group}{over}"


SEAT = GroupContrast(attribute="seat", group="first", reference="second")
"""What each evaluator gives to the item shown first is a bias, but toward no group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDependence:
    """Does a bias grow with the score of the item? One slope for each contrast.

    Attributes
    ----------
    slopes : tuple of float
        An evaluator's bias for an item with score s is bias + slope * (bias - mean bias) * s.
    statistic, dof, p_value : float
        Score test of all slopes zero, at the fit without them.
    """

    slopes: tuple[float, ...]
    statistic: float
    dof: int
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sharpness:
    """How decided each evaluator is: the log odds they give an item that is one SD better.

    Attributes
    ----------
    values : ndarray, (evaluators,)
        In logits for an SD of the scores.
    log_standard_errors : ndarray, (evaluators,)
        Of their logarithms.
    covariances : ndarray, (evaluators, contrasts)
        Of each bias with the logarithm of its evaluator's sharpness.
    spread : float
        SD of the prior of the logarithms, estimated.
    inverted : ndarray of bool, (evaluators,)
        Who is better explained by a negative sharpness, and has one: they decide against the
        order of the others.
    """

    values: NDArray[np.float64]
    log_standard_errors: NDArray[np.float64]
    covariances: NDArray[np.float64]
    spread: float
    inverted: NDArray[np.bool_]

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """Return the interval of every sharpness, normal in its logarithm, as (evaluators, 2)."""
        factor = np.exp(normal_quantile(level) * self.log_standard_errors)
        return np.sort([self.values / factor, self.values * factor], axis=0).T

    def by_evaluator(self) -> dict[int, dict[str, float]]:
        """Return the sharpness of each evaluator with its interval."""
        rows = zip(self.values.tolist(), self.intervals().tolist(), strict=True)
        return {
            k: {"sharpness": value, "sharpness_low": low, "sharpness_high": high}
            for k, (value, (low, high)) in enumerate(rows)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualSharpness:
    """Test that all evaluators are equally sharp.

    Attributes
    ----------
    statistic, dof, p_value : float
        Score test, at the fit with equal sharpness.
    """

    statistic: float
    dof: int
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFit:
    """Test that comparisons are independent, given what the model has of items and evaluators.

    Attributes
    ----------
    of : str
        What comparisons of one cell share: ``"evaluator and item"``, or ``"pair of items"``.
    statistic, p_value : float
        Standard normal if the model fits, large where residuals of a cell go together.
    spread : float
        SD of what evaluators find in single items beyond scores and biases, or pairs beyond scores,
        in the unit of the scores.
    rejected : bool
        Whether it does not fit; errors then allow for that spread, or for clusters that are named.
    tastes : tuple of float
        SD of each evaluator's tastes, where the model has them.
    """

    of: str
    statistic: float
    p_value: float
    spread: float
    rejected: bool
    tastes: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """An intersection of groups and whether it deserves a bias of its own.

    Attributes
    ----------
    attributes, groups : tuple of str
        Which intersection.
    n_items, n_comparisons : int
        Items in it, and comparisons between it and the rest.
    score_gap, gap_p : float
        How far its items' mean score lies from the sum of its parts, in logits, and the p value
        of no such gap: a bias that all evaluators share shows up here.
    spread, spread_dof, spread_p : float
        Score test of no bias for it that differs between evaluators.
    p_value, q_value : float
        Both tests together (Bonferroni), and its Benjamini-Hochberg q over all intersections.
    deserves : bool
        Whether q is below the level.
    """

    attributes: tuple[str, ...]
    groups: tuple[str, ...]
    n_items: int
    n_comparisons: int
    score_gap: float
    gap_p: float
    spread: float
    spread_dof: int
    spread_p: float
    p_value: float
    q_value: float
    deserves: bool


def normal_quantile(level: float) -> float:
    """Return how many standard errors an interval of this level reaches to each side."""
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise OptionError("level", level, ["a level between 0 and 1"])
    return NormalDist().inv_cdf((1 + level) / 2)


EQUAL, OWN, AUTO = "equal", "own", "auto"
"""Whether evaluators are equally sharp, each has a sharpness, or data decide if it can be told."""

MARGINAL_LIKELIHOOD = "marginal likelihood"
CROSS_VALIDATION = "cross-validation"
GRID = tuple(float(2.0**power) for power in range(-2, 5))
"""Standard deviations that cross-validation tries."""
START_SD = 2.0
SMALLEST_SD, LARGEST_SD = 0.02, 50.0

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

    def grant(self, sd: float, *, least: float = SMALLEST_SD) -> Prior:
        """Return the prior that came of it; `least` is the least that likelihoods may choose."""
        low, high = (GRID[0], GRID[-1]) if self.by_folds else (least, LARGEST_SD)
        chosen = self.chosen_by
        if self.by_likelihood or self.by_folds:
            chosen += ", at its lower bound" * (sd <= low * (1 + ROUNDING))
            chosen += ", at its upper bound" * (sd >= high / (1 + ROUNDING))
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
    if not _is_number(prior) or not LEAST_SD <= prior <= MOST_SD:
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


def bound_sd(sd: float) -> float:
    """Keep a standard deviation where it still is a prior."""
    return min(max(sd, SMALLEST_SD), LARGEST_SD)


def folds(n: int, n_folds: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return a random fold for each of n comparisons, all of nearly one size."""
    return rng.permutation(np.arange(n) % n_folds).astype(np.int8)


def by_cross_validation(loss: Callable[[float], float]) -> float:
    """Return the standard deviation of the grid with the least loss on comparisons left out."""
    return min(GRID, key=loss)


DEFAULT_SD = 5.0
DEFAULT_BETA = (10.0, 1.0)

MOST_JUDGMENTS = 1e6
"""A prior worth more judgments than this leaves those made no say, and searches no digits."""


def gaussian(of: str, sd: Any) -> Prior:
    """Return the Gaussian prior with this standard deviation; ``None`` is no prior."""
    if sd is None:
        return Prior(of=of, sd=math.inf, chosen_by="the caller")
    if not _is_number(sd) or not LEAST_SD <= sd <= MOST_SD:
        allowed = [f"a standard deviation in logits from {LEAST_SD:g} to {MOST_SD:g}", "None"]
        raise OptionError(f"the prior of {of}", sd, allowed)
    return Prior(of=of, sd=float(sd), chosen_by="default" if sd == DEFAULT_SD else "the caller")


def check_beta(option: str, value: Any) -> None:
    """Raise an error unless these are two parameters of a Beta prior without a pole."""
    pair = isinstance(value, tuple | list) and len(value) == 2 and all(map(_is_number, value))
    if not pair or not all(1 <= one <= MOST_JUDGMENTS for one in value):
        allowed = f"two numbers from 1 to {MOST_JUDGMENTS:g}, such as (10, 1); (1, 1) is flat"
        raise OptionError(option, value, [allowed])


def check_search(max_iterations: Any, tolerance: Any) -> None:
    """Raise an error unless the search has at least one step and a goal."""
    if not isinstance(max_iterations, int | np.integer) or max_iterations < 1:
        raise OptionError("max_iterations", max_iterations, ["a whole number from 1"])
    if not _is_number(tolerance) or not 0 < tolerance < 1:
        raise OptionError("tolerance", tolerance, ["a number between 0 and 1, both excluded"])


def check_amount(option: str, value: Any) -> None:
    """Raise an error unless this is a number of judgments that leaves a say to those made."""
    if not _is_number(value) or not 0 <= value <= MOST_JUDGMENTS:
        raise OptionError(option, value, [f"a number from 0 to {MOST_JUDGMENTS:g}"])


def _is_number(value: Any) -> bool:
    real = isinstance(value, float | int | np.floating | np.integer)
    return real and not isinstance(value, bool) and not math.isnan(value)
