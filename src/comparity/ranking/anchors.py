"""What fixes the level of the biases, which comparisons cannot; Gaussian priors.

Adding a constant to every evaluator's bias for a group and taking it from the scores of that
group's items leaves every margin as it was. So data tell evaluators apart, and an assumption, the
*anchor*, says where zero is:

- ``"equal group means"``: items of all groups have the same mean score,
- ``"zero mean bias"``: biases of all evaluators sum to zero,
- trusted evaluators, named: they have no bias.

Choosing an anchor moves the fit along the directions in which the likelihood is flat. The move is
linear in the parameters, so the same few vectors give estimates and their errors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import AnchorError, NoPriorError, OptionError
from comparity.ranking.contrasts import Signs
from comparity.ranking.fits import Diagnosis, Prior
from comparity.tables.frames import text_of

__all__ = [
    "ANCHORS",
    "CROSS_VALIDATION",
    "DEFAULT_BETA",
    "DEFAULT_SD",
    "MARGINAL_LIKELIHOOD",
    "Anchor",
    "Move",
    "Wish",
    "anchor_of",
    "by_cross_validation",
    "check_amount",
    "check_beta",
    "check_joined",
    "check_search",
    "folds",
    "gaussian",
    "move_of",
    "wish_of",
    "words_on_one",
]


Floats = NDArray[np.float64]


EQUAL_MEANS = "equal group means"


ZERO_MEAN = "zero mean bias"


ANCHORS = (EQUAL_MEANS, ZERO_MEAN)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """A named assumption about the level of the biases.

    Attributes
    ----------
    kind : str
        ``"equal group means"``, ``"zero mean bias"`` or ``"trusted evaluators"``.
    trusted : ndarray of int
        Positions of the trusted evaluators.
    words : str
        The assumption as a reader should see it.
    """

    kind: str
    trusted: NDArray[np.int64]
    words: str


def anchor_of(anchor: Any, evaluators: NDArray[Any]) -> Anchor:
    """Return the anchor asked for.

    Parameters
    ----------
    anchor : str or sequence
        One of :data:`ANCHORS`, or the trusted evaluators' names. A name that nobody has is a
        pattern where it has a star: ``"human-*"`` are all whose names begin so.
    evaluators : ndarray
        Names of all evaluators.

    Raises
    ------
    AnchorError
        No evaluator has such a name, or all are trusted.
    """
    none = np.empty(0, dtype=np.int64)
    known = isinstance(anchor, str) and anchor in ANCHORS
    if not known and (isinstance(anchor, str) or not isinstance(anchor, Iterable)):
        allowed = [*map(repr, ANCHORS), "a list of trusted evaluators"]
        raise OptionError("anchor", anchor, allowed)
    if known:
        words = {
            EQUAL_MEANS: "equal group means: items of all groups have the same mean score",
            ZERO_MEAN: "zero mean bias: the evaluators' biases sum to zero",
        }
        return Anchor(kind=anchor, trusted=none, words=words[anchor])
    place = {text_of(name): k for k, name in enumerate(evaluators.tolist())}
    names = [one for name in anchor for one in _matching_names(text_of(name), place)]
    unknown = [name for name in names if name not in place]
    if not names or unknown:
        reason = f"{', '.join(unknown)} judged nothing" if unknown else "nobody is named"
        raise AnchorError(names, reason, evaluators.tolist())
    trusted = np.unique([place[name] for name in names])
    if len(trusted) == len(evaluators):
        raise AnchorError(names, "that is everybody", evaluators.tolist())
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    said = f"trusted evaluators: {shown} ha{'s' if len(names) == 1 else 've'} no bias"
    return Anchor(kind="trusted evaluators", trusted=trusted, words=said)


def _matching_names(name: str, known: Iterable[str]) -> list[str]:
    """Return who is meant by a name or a pattern; the pattern itself where it fits nobody."""
    if "*" not in name or name in known:
        return [name]
    pattern = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
    return [one for one in known if pattern.fullmatch(one)] or [name]


def words_on_one(anchor: Anchor) -> str:
    """Say what the bias of the only evaluator is: what the anchor makes it, and nothing else."""
    if anchor.kind == ZERO_MEAN:
        return "There is one evaluator: zero mean bias puts its bias at zero, whatever it is."
    return (
        "There is one evaluator: its bias is how far it puts one group above the other, which "
        "only the assumption of equal group means calls a lean and not a difference in worth."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Move:
    r"""The step from a fit to its anchored form, :math:`v + V K^T v`.

    Attributes
    ----------
    basis : ndarray, (items, 1 + contrasts)
        A column of ones, then the contrasts: the score part of the flat directions V. Their bias
        part is -1 for every evaluator, in the direction's own contrast.
    score_weights : ndarray, (items, 1 + contrasts)
        Score part of K: how far to go along each direction, as weights of the scores.
    bias_weight : float
        Bias part of K: weight of each evaluator's bias in its own contrast's direction.
    """

    basis: Floats
    score_weights: Floats
    bias_weight: float

    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Say which scores the anchor alone fixes: of items whose groups are only theirs."""
        leverage = -(self.score_weights * self.basis).sum(axis=1)
        return np.asarray(leverage > 1 - 1e-9)

    def apply(self, scores: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Return anchored scores, with mean zero, and anchored biases."""
        steps = self.steps(scores, bias)
        n = self.basis.shape[1] - 1
        moved = bias.copy()
        moved[:, :n] -= steps[1:]
        return scores + self.basis @ steps, moved

    def steps(self, scores: Floats, bias: Floats) -> Floats:
        """Return how far to go along each flat direction."""
        steps: Floats = self.score_weights.T @ scores
        n = self.basis.shape[1] - 1
        along = self.bias_weight * bias[:, :n].sum(axis=0)
        steps[1:] += along
        # Scores keep the mean zero whatever is moved between them and the biases.
        steps[0] -= self.basis[:, 1:].mean(axis=0) @ along
        return steps


def move_of(anchor: Anchor, columns: Signs, n_evaluators: int) -> Move:
    """Return the move to an anchor.

    Parameters
    ----------
    anchor : Anchor
    columns : ndarray, (items, contrasts)
        Contrasts that biases act on.
    n_evaluators : int
    """
    n_items = len(columns)
    basis = np.column_stack([np.ones(n_items), columns.astype(np.float64)])
    weights = np.zeros_like(basis)
    if anchor.kind == EQUAL_MEANS:
        # Residuals of a regression on the contrasts have equal means in all groups. A contrast
        # that is a sum of others (an intersection that is a whole group) moves nothing.
        weights = -basis @ np.linalg.pinv(basis.T @ basis)
    else:
        weights[:, 0] = -1 / n_items
    share = 1 / n_evaluators if anchor.kind == ZERO_MEAN else 0.0
    return Move(basis=basis, score_weights=weights, bias_weight=share)


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


def check_joined(diagnosis: Diagnosis, *, regular: bool) -> None:
    """Raise an error where items would run away and nothing holds them."""
    if not regular and diagnosis.separated:
        found = f"{diagnosis.n_strong_components:,} parts of the items that never lost to the next"
        raise NoPriorError("scores", found)


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
