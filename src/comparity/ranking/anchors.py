r"""What fixes the common level of the biases: an assumption, the anchor.

Adding a constant to every evaluator's bias for a group and taking it from the scores of that
group's items leaves every margin as it was. So data tell evaluators apart, and tell the sum
:math:`T = m + \Delta` of their mean bias m and of the difference :math:`\Delta` between the groups'
mean scores. How it is split is an assumption:

- ``"equal group means"``: items of all groups have the same mean score, :math:`\Delta = 0`,
- ``"zero mean bias"``: biases of all evaluators sum to zero, m = 0,
- trusted evaluators, named: they have no bias,
- either of the first two, or both, with an SD: m or :math:`\Delta` is normal about zero,
- ``"samples"``: both, with SDs that the data tell,
- ``"aligned distributions"``: scores of all groups have the same distribution.

Choosing an anchor moves the fit along the directions in which the likelihood is flat. The move is
linear in the parameters, so the same few vectors give estimates and their errors. The last three
are found after the fit (:mod:`comparity.ranking.levels`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import AnchorError, OptionError
from comparity.ranking.items import list_first
from comparity.tables.frames import text_of

Floats = NDArray[np.float64]

EQUAL_MEANS = "equal group means"
ZERO_MEAN = "zero mean bias"
SAMPLES = "samples"
ALIGNED = "aligned distributions"
TRUSTED = "trusted evaluators"
STATED = "stated SDs"
WORDS = {
    EQUAL_MEANS: "items of all groups have the same mean score",
    ZERO_MEAN: "the evaluators' biases sum to zero",
    SAMPLES: "evaluators are drawn from some whose biases have mean zero, and items from groups "
    "with equal mean scores",
    ALIGNED: "scores of all groups are drawn from one distribution, whatever its shape",
}
STATEMENTS = {
    ZERO_MEAN: "the mean bias of the evaluators is 0 with an SD of {sd:g}",
    EQUAL_MEANS: "mean scores of groups differ by 0 with an SD of {sd:g}",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """A named assumption about the level of the biases.

    Attributes
    ----------
    kind : str
        A key of :data:`WORDS`, ``"stated SDs"`` or ``"trusted evaluators"``.
    trusted : ndarray of int
        Positions of the trusted evaluators.
    words : str
        The assumption as a reader should see it.
    sds : mapping of str to float
        SDs of the mean bias and of the difference between groups about zero, where stated, in the
        unit of the scores.
    """

    kind: str
    trusted: NDArray[np.int64]
    words: str
    sds: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_between(self) -> bool:
        """Whether it lies between the exact ones, and is found after the fit."""
        return self.kind in (STATED, SAMPLES, ALIGNED)


def anchor_of(anchor: Any, evaluators: NDArray[Any]) -> Anchor:
    """Return the anchor asked for.

    Parameters
    ----------
    anchor : str, mapping or sequence
        A key of :data:`WORDS`; SDs of one or both of :data:`STATEMENTS`; or the trusted evaluators'
        names. A name that nobody has is a pattern where it has a star: ``"human-*"`` are all whose
        names begin so.
    evaluators : ndarray
        Names of all evaluators.

    Raises
    ------
    AnchorError
        No evaluator has such a name, or all are trusted.
    """
    none = np.empty(0, dtype=np.int64)
    if isinstance(anchor, Mapping):
        return Anchor(kind=STATED, trusted=none, words=_words_on(anchor), sds=_read_sds(anchor))
    if isinstance(anchor, str) and anchor in WORDS:
        return Anchor(kind=anchor, trusted=none, words=f"{anchor}: {WORDS[anchor]}")
    if isinstance(anchor, str) or not isinstance(anchor, Iterable):
        sd = f"SDs, as {{{ZERO_MEAN!r}: 0.5}}"
        raise OptionError("anchor", anchor, [*map(repr, WORDS), sd, "a list of trusted evaluators"])
    place = {text_of(name): k for k, name in enumerate(evaluators.tolist())}
    names = [one for name in anchor for one in _matching_names(text_of(name), place)]
    unknown = [name for name in names if name not in place]
    if not names or unknown:
        reason = f"{', '.join(unknown)} judged nothing" if unknown else "nobody is named"
        raise AnchorError(names, reason, evaluators.tolist())
    trusted = np.unique([place[name] for name in names])
    if len(trusted) == len(evaluators):
        raise AnchorError(names, "that is everybody", evaluators.tolist())
    said = f"{TRUSTED}: {list_first(names)} ha{'s' if len(names) == 1 else 've'} no bias"
    return Anchor(kind=TRUSTED, trusted=trusted, words=said)


def _read_sds(stated: Mapping[Any, Any]) -> dict[str, float]:
    """Return the SDs of statements, or say what may be stated."""
    allowed = [f"{one!r}: an SD above 0" for one in STATEMENTS]
    numbers = [
        sd for sd in stated.values() if isinstance(sd, int | float | np.number) and sd is not True
    ]
    known = {*stated} <= {*STATEMENTS} and len(numbers) == len(stated) > 0
    if not known or not all(0 < sd < math.inf for sd in numbers):
        raise OptionError("anchor", dict(stated), allowed)
    return {str(name): float(sd) for name, sd in stated.items()}


def _words_on(stated: Mapping[Any, Any]) -> str:
    sds = _read_sds(stated)
    named = " and ".join(f"{name} ± {sd:g}" for name, sd in sds.items())
    return f"{named}: {', '.join(STATEMENTS[name].format(sd=sd) for name, sd in sds.items())}"


def _matching_names(name: str, known: Iterable[str]) -> list[str]:
    """Return who is meant by a name or a pattern; the pattern itself where it fits nobody."""
    if "*" not in name or name in known:
        return [name]
    pattern = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
    return [one for one in known if pattern.fullmatch(one)] or [name]


def words_on_one(anchor: Anchor) -> str:
    """Note that the anchor alone decides the bias of a single evaluator."""
    if anchor.kind == ZERO_MEAN:
        return "There is one evaluator: zero mean bias puts its bias at zero, whatever it is."
    return (
        "There is one evaluator: its bias is how far it puts one group above the other, which "
        f"only the anchor ({anchor.kind}) calls a lean and not a difference in quality."
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
    bias_weights : ndarray, (contrasts,)
        Bias part of K: weight of each evaluator's bias in its own contrast's direction.
    shifts : ndarray, (contrasts,)
        What to add to the biases of each contrast beside that.
    """

    basis: Floats
    score_weights: Floats
    bias_weights: Floats
    shifts: Floats

    @property
    def is_fixed(self) -> NDArray[np.bool_]:
        """Return which scores the anchor alone fixes: of items whose groups are only theirs."""
        leverage = -(self.score_weights * self.basis).sum(axis=1)
        return np.asarray(leverage > 1 - 1e-9)

    @property
    def level_weights(self) -> Floats:
        """Weights of scores in the levels of groups, as a regression on the groups has them."""
        return np.asarray(self.basis @ np.linalg.pinv(self.basis.T @ self.basis))

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
        along = self.bias_weights * bias[:, :n].sum(axis=0) - self.shifts
        steps[1:] += along
        # Scores keep the mean zero whatever is moved between them and the biases.
        steps[0] -= self.basis[:, 1:].mean(axis=0) @ along
        return steps

    def between(self, shares: Floats, n_evaluators: int) -> Move:
        """Return the move to a level between this one, of equal group means, and zero mean bias.

        `shares` of the sum of mean bias and difference between groups are left to the biases.
        """
        weights = self.score_weights.copy()
        weights[:, 1:] *= shares
        # Scores have mean zero.
        weights[:, 0] = -1 / len(weights) - weights[:, 1:] @ self.basis[:, 1:].mean(axis=0)
        return replace(self, score_weights=weights, bias_weights=(1 - shares) / n_evaluators)


def move_of(anchor: Anchor, columns: NDArray[Any], n_evaluators: int) -> Move:
    """Return the move to an anchor, or to equal group means where it is found after the fit.

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
    if anchor.kind not in (ZERO_MEAN, TRUSTED):
        # Residuals of a regression on the contrasts have equal means in all groups. A contrast
        # that is a sum of others (an intersection that is a whole group) moves nothing.
        weights = -basis @ np.linalg.pinv(basis.T @ basis)
    else:
        weights[:, 0] = -1 / n_items
    share = 1 / n_evaluators if anchor.kind == ZERO_MEAN else 0.0
    n_contrasts = basis.shape[1] - 1
    return Move(
        basis=basis,
        score_weights=weights,
        bias_weights=np.full(n_contrasts, share),
        shifts=np.zeros(n_contrasts),
    )
