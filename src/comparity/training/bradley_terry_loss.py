r"""The Bradley-Terry loss of judgments, what is known of judges, and which ones are held out.

With :math:`t` the score of the item that was judged better minus that of the other, a judgment
costs

.. math:: \log_2 (1 + e^{-(\gamma t + \delta)}),

one bit where scores say nothing. :math:`\gamma` is how sharp the judge is beside the others and
:math:`\delta` how far the judge leans toward the item that won; they are 1 and 0 where judges are
taken as they are. The mean over judgments is then that of a logistic regression on differences of
features, without intercept (Bradley and Terry, 1952).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OptionError, TiesOnlyError

if TYPE_CHECKING:
    import torch

    from comparity.ranking.judgments import Judgments

Floats = NDArray[np.float64]

MOST_STEPS = 100
"""Newton steps; ten are plenty unless judgments can be separated."""
SMALLEST_DECREASE = 1e-12
"""A step that promises less, in bits, is the last."""


def softplus(values: Floats) -> Floats:
    """Return log(1 + exp(x)) without overflow."""
    return np.logaddexp(0.0, values)


def logistic(values: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.asarray(np.exp(-softplus(-values)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedLoss:
    """Judgments as rows: the better item of judgment k is row 2 k, the worse one is row 2 k + 1.

    Attributes
    ----------
    sharpness, lean : ndarray, (m,)
        The factor and the offset of each judgment.

    Examples
    --------
    >>> loss = JudgedLoss(sharpness=np.ones(2), lean=np.zeros(2))
    >>> loss.bits(np.zeros(4))
    1.0
    >>> loss.gradient(np.zeros(4)).round(3).tolist()
    [-0.361, 0.361, -0.361, 0.361]
    """

    sharpness: Floats
    lean: Floats

    def bits(self, scores: Floats) -> float:
        """Return the mean loss of a judgment; 1 where scores say nothing."""
        return float(softplus(-self._odds(scores)).mean() / np.log(2))

    def gradient(self, scores: Floats) -> Floats:
        """Return the gradient of the mean loss in the scores of all rows."""
        pull = self.sharpness * logistic(-self._odds(scores)) / len(self.lean) / np.log(2)
        return np.column_stack([-pull, pull]).reshape(-1)

    def largest_curvature(self) -> Floats:
        """Return the largest second derivative that the score of each row may have."""
        return np.repeat(self._second(np.zeros(len(self.lean))), 2)

    def minimum(self, features: Floats, *, l2: float) -> Floats:
        """Return the coefficients with the least mean loss, by Newton's method.

        Parameters
        ----------
        features : ndarray, (2 m, p)
            One row for each row of this loss.
        l2 : float
            Weight of the squared coefficients.
        """
        difference = features[::2] - features[1::2]
        # Coefficients that nothing determines stay where they are, at 0.
        penalty = 2 * (l2 + 1e-10) * np.eye(difference.shape[1])
        now = np.zeros(difference.shape[1])
        for _ in range(MOST_STEPS):
            odds = self.sharpness * (difference @ now) + self.lean
            pull = self.sharpness * logistic(-odds) / len(odds) / np.log(2)
            slope = -difference.T @ pull + penalty @ now
            curved = difference.T @ (self._second(odds)[:, None] * difference) + penalty
            step = np.linalg.solve(curved, slope)
            now = now - self._length(difference, now, step, slope, penalty) * step
            if float(slope @ step) < SMALLEST_DECREASE:
                break
        return now

    def _odds(self, scores: Floats) -> Floats:
        return np.asarray(self.sharpness * (scores[::2] - scores[1::2]) + self.lean)

    def _second(self, odds: Floats) -> Floats:
        share = logistic(odds) * logistic(-odds)
        return np.asarray(self.sharpness**2 * share / len(odds) / np.log(2))

    def _length(
        self, difference: Floats, now: Floats, step: Floats, slope: Floats, penalty: Floats
    ) -> float:
        """Return how much of a Newton step to take, halved while it leads uphill."""

        def value(at: Floats) -> float:
            odds = self.sharpness * (difference @ at) + self.lean
            return float(softplus(-odds).mean() / np.log(2) + at @ penalty @ at / 2)

        start, length, gain = value(now), 1.0, float(slope @ step)
        while value(now - length * step) > start - 1e-4 * length * gain and length > 1e-6:
            length /= 2
        return length

    def take(self, kept: Any) -> JudgedLoss:
        """Return the loss of some of the judgments."""
        return JudgedLoss(sharpness=self.sharpness[kept], lean=self.lean[kept])


def tensor_bits(judged: JudgedLoss, scores: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of a judgment, for torch to differentiate."""
    import torch

    sharpness, lean = (torch.as_tensor(one) for one in (judged.sharpness, judged.lean))
    odds = sharpness * (scores[::2] - scores[1::2]) + lean
    bits: torch.Tensor = torch.nn.functional.softplus(-odds).mean() / np.log(2)
    return bits


def as_they_are(n: int) -> JudgedLoss:
    """Return the loss of so many judgments that are taken at face value."""
    return JudgedLoss(sharpness=np.ones(n), lean=np.zeros(n))


Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecidedJudgments:
    """Judgments that have an order.

    Attributes
    ----------
    pairs : ndarray of int, (m, 2)
        Positions of the two items, the better one first.
    loss : JudgedLoss
        What a judgment costs.
    weight : ndarray or None
        What a judgment weighs in rates of agreement; None where all weigh the same.
    n_ties : int
        Judgments without an order, which are left out.
    """

    pairs: Codes
    loss: JudgedLoss
    weight: Floats | None = None
    n_ties: int = 0

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def rows(self) -> Codes:
        """Positions of items, two for each judgment."""
        return self.pairs.reshape(-1)


def decided_judgments(judgments: Judgments) -> DecidedJudgments:
    """Return the judgments that have an order, at face value.

    Examples
    --------
    >>> from comparity.ranking.judgments import judgments_of
    >>> found = decided_judgments(judgments_of([[0, 1], [2, 1], [0, 2]], ties=[False, True, False]))
    >>> found.pairs.tolist(), found.n_ties
    ([[0, 1], [0, 2]], 1)
    """
    both = np.column_stack([judgments.better, judgments.worse]).astype(np.int64)
    if judgments.tied is not None:
        both = both[~judgments.tied]
    if not len(both):
        raise TiesOnlyError(len(judgments))
    return DecidedJudgments(pairs=both, loss=as_they_are(len(both)), n_ties=judgments.n_ties)


def adjust_for_judges(
    judgments: Judgments, features: Floats, sensitive: NDArray[Any], *, continuous: bool, l2: float
) -> DecidedJudgments:
    r"""Return the judgments with evaluators' leans and sharpness, as a fitted panel has them.

    :func:`comparity.barp` says that evaluator k puts i above j with log odds
    :math:`\gamma_k (s_i - s_j + \theta_k (g_i - g_j))`. The loss has
    :math:`\gamma_k \theta_k (g_i - g_j)` as offset and :math:`\gamma_k` over the geometric mean of
    all as factor, so that scores are those that an evaluator of average sharpness without a lean
    would go by. Rates of agreement cannot have an offset. They weigh a judgment by how likely such
    an evaluator is to make it, over how likely the one who did was; both by a linear score fitted
    to all judgments with that loss.

    Parameters
    ----------
    judgments : Judgments
        With evaluators.
    features : ndarray, (n, p)
        Standardised features of all items.
    sensitive : ndarray, (n,)
        Group of each item, or a number.
    continuous : bool
        Whether it is a number.
    l2 : float
        Weight of squared coefficients in that fit.
    """
    # Imported here: whoever trains on labels needs no ranking.
    from comparity.ranking.barp import barp
    from comparity.ranking.items import attributes_of, contrasts_of, numbers_of

    if judgments.evaluator is None:
        wanted = ["evaluators= beside it", "adjust_judges=False"]
        raise OptionError("adjust_judges", True, wanted, "leans are those of evaluators")
    known: dict[str, Any] = {"sensitive_features": sensitive}
    if continuous:
        known = {"numbers": {"attribute": sensitive}}
        columns = contrasts_of((), (), numbers_of(known["numbers"])).columns
    else:
        columns = contrasts_of(attributes_of(sensitive)).columns
    panel = barp(judgments, evaluators=None, **known)
    sharp = np.ones(judgments.n_evaluators)
    if panel.sharpness is not None:
        sharp = panel.sharpness.values
    plain = decided_judgments(judgments)
    who = judgments.evaluator
    who = who if judgments.tied is None else who[~judgments.tied]
    apart = columns[plain.pairs[:, 0]].astype(float) - columns[plain.pairs[:, 1]]
    lean = sharp[who] * (panel.bias[who] * apart).sum(axis=1)
    average = float(np.exp(np.log(np.abs(sharp)).mean()))
    loss = JudgedLoss(sharpness=sharp[who] / average, lean=lean)
    scores = features @ loss.minimum(features[plain.rows], l2=l2)
    return replace(plain, loss=loss, weight=_fairer_weights(loss, scores[plain.rows]))


def _fairer_weights(loss: JudgedLoss, scores: Floats) -> Floats:
    """Return how likely an average evaluator is to judge so, over how likely this one was."""
    apart = scores[::2] - scores[1::2]
    return np.exp(softplus(-(loss.sharpness * apart + loss.lean)) - softplus(-apart))


def split_judgments(pairs: Codes, fraction: float, rng: Any) -> tuple[Codes, Codes]:
    """Return judgments to train on and judgments to choose by.

    Judgments of the same two items stay together. Where items fall into parts between which nobody
    judged, such as answers to different prompts, whole parts are held out, so that no item is on
    both sides.

    Parameters
    ----------
    pairs : ndarray of int, (m, 2)
        Positions of the two items.
    fraction : float
        Share of the judgments to hold out, about.
    rng : RandomState or Generator
        What draws.
    """
    unit = _parts(pairs)
    if not _can_be_split(unit, fraction):
        unit = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    held = _draw_units(unit, fraction, rng)
    return np.flatnonzero(~held), np.flatnonzero(held)


def split_items(pairs: Codes, fraction: float, rng: Any) -> tuple[Codes, Codes]:
    """Return judgments to train on and judgments to audit, which share no item.

    Whole parts between which nobody judged are held out, as in :func:`split_judgments`, where they
    are small enough. Otherwise items are drawn, and a judgment of one item of either side is on
    neither: with a share f of the items about f² of the judgments are audited, (1 - f)² trained on.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [1, 2], [3, 4], [4, 3], [5, 6], [7, 8]])
    >>> train, audit = split_items(pairs, 0.25, np.random.default_rng(0))
    >>> set(pairs[train].ravel()) & set(pairs[audit].ravel())
    set()
    """
    unit = _parts(pairs)
    if _can_be_split(unit, fraction):
        held = _draw_units(unit, fraction, rng)
        return np.flatnonzero(~held), np.flatnonzero(held)
    items = np.unique(pairs)
    drawn = np.isin(pairs, items[_draw_units(np.arange(len(items)), fraction, rng)])
    return np.flatnonzero(~drawn.any(axis=1)), np.flatnonzero(drawn.all(axis=1))


def _parts(pairs: Codes) -> Codes:
    """Return the connected part of the graph of judgments that each judgment is in."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(pairs.max()) + 1
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    part: Codes = connected_components(graph, directed=False)[1].astype(np.int64)
    return part[pairs[:, 0]]


def _can_be_split(unit: Codes, fraction: float) -> bool:
    """Return whether whole parts make up about the share wanted."""
    sizes = np.bincount(unit)
    return bool(sizes.max() <= len(unit) * min(fraction, 1 - fraction) / 2)


def _draw_units(unit: Codes, fraction: float, rng: Any) -> NDArray[np.bool_]:
    """Hold out whole units, in random order, until the share is reached."""
    sizes = np.bincount(unit)
    order = rng.permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[before + sizes[order] / 2 < fraction * len(unit)]] = True
    return np.asarray(chosen[unit])
