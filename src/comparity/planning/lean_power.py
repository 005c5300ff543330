r"""Kernel: how likely a ranking finds an evaluator who leans.

Evaluator k judges :math:`m` random pairs of :math:`n` items, of which a share :math:`q` belongs to
the group in question; items' scores spread with standard deviation :math:`s`, and the log odds that
an item of the group is preferred to another are the difference of their scores plus the lean
:math:`b`. A comparison across groups tells :math:`p (1 - p)` about the lean, on average

.. math:: w_b = E\, \sigma'(b + d), \qquad d \sim N(0, 2 s^2),

with :math:`\sigma` the logistic function, and others tell nothing. Scores are estimated from the
:math:`M = m E` comparisons of all :math:`E` evaluators, which takes off what their :math:`n`
numbers cost, one comparison's worth each. Comparisons whose outcome is nearly certain tell next to
nothing, so that all :math:`M` are worth only :math:`\kappa M`, with
:math:`\kappa = (E\,\sigma'(d))^2 / E\,\sigma'(d)^2`. So

.. math:: \frac{1}{V} = 2 q (1 - q) \frac{n}{n - 1}\, m\, w_b
          \left(1 - \frac{n}{\kappa M}\right).

Leans are measured from where groups have equal means. Groups that are samples differ by chance, and
a cautious error has that variance, :math:`s^2 / (n q) + s^2 / (n (1 - q))`, on top: no number of
comparisons takes it away.

A z-test finds the lean at level :math:`t`. With false discoveries among all evaluators at
:math:`\alpha` (Benjamini and Hochberg), and a share :math:`\pi` of the others leaning as much,

.. math:: t = \frac{\alpha}{E} \bigl(1 + (E - 1) (\pi P(t) + (1 - \pi) t) \bigr),

where :math:`P(t)` is the power at level t: one who is found, and the others as many as expected.
The largest solution counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import expit, ndtr, ndtri

from comparity.inference.power import LARGEST_SIZE, smallest_size

__all__ = ["LeanQuestion"]

_NODES = 2001
_ROUNDS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LeanQuestion:
    """A panel of evaluators and the lean that one of them has.

    Attributes
    ----------
    lean : float
        What the evaluator adds to the log odds of items of the group.
    share : float
        Share of the group among the items.
    score_spread : float
        Standard deviation of the items' scores, in log odds.
    n_items, n_evaluators : int
        Items that pairs are drawn from, and evaluators.
    others_leaning : float
        Share of the other evaluators who lean as much.
    tie_share : float
        Share of the judgments that are ties, from which nothing is taken to be learnt.
    alpha : float
        False discovery rate; for ``"single"`` the level of the one test.
    rule : str
        ``"fdr"`` or ``"single"``.
    cautious : bool
        Whether groups are allowed to differ by chance.
    """

    lean: float
    share: float
    score_spread: float
    n_items: int
    n_evaluators: int
    others_leaning: float
    tie_share: float
    alpha: float
    rule: str
    cautious: bool

    @property
    def chance_between_groups(self) -> float:
        """Standard deviation of the difference between the groups' mean scores, if drawn alike."""
        of_one, n = self.share * (1 - self.share), self.n_items
        return self.score_spread / math.sqrt(n * of_one)

    def across(self, size: float) -> float:
        """Return how many of so many comparisons are across groups, and no ties."""
        n = self.n_items
        mixed = 2 * self.share * (1 - self.share) * n / (n - 1)
        return size * mixed * (1 - self.tie_share)

    def against(self, size: float) -> float:
        """Return how many of so many comparisons are expected to go against the lean."""
        return self.across(size) * _information(self.lean, self.score_spread)[2]

    def standard_error(self, size: float) -> float:
        """Return the error of a lean when each judges so many pairs; infinite for too few."""
        information, worth, _ = _information(self.lean, self.score_spread)
        comparisons = size * self.n_evaluators * (1 - self.tie_share)
        kept = 1 - self.n_items / (worth * comparisons)
        if kept <= 0:
            return math.inf
        variance = 1 / (self.across(size) * information * kept)
        if self.cautious:
            variance += self.chance_between_groups**2
        return math.sqrt(variance)

    def level(self, size: float) -> float:
        """Return the level at which the z-test of the evaluator is judged."""
        return self._level(self.standard_error(size))

    def power(self, size: float) -> float:
        """Return the probability that the lean is found when each judges so many pairs."""
        return self._power(self.standard_error(size))

    def smallest_size(self, target: float) -> int | None:
        """Return how many pairs each must judge for this power; ``None`` if no number does."""
        return smallest_size(self.power, target)

    def limit(self) -> float:
        """Return the power as comparisons grow without end."""
        return self.power(float(LARGEST_SIZE))

    def on_items(self, n_items: int | None) -> LeanQuestion:
        """Return the same question with pairs drawn from another number of items."""
        assert n_items is not None, "evaluators of a ranking share their items"
        return replace(self, n_items=n_items)

    def _power(self, error: float) -> float:
        return 0.0 if math.isinf(error) else _found(self.lean / error, self._level(error))

    def _level(self, error: float) -> float:
        if self.rule == "single" or math.isinf(error):
            return self.alpha
        level, others = self.alpha, self.n_evaluators - 1
        for _ in range(_ROUNDS):
            found = _found(self.lean / error, level)
            expected = self.others_leaning * found + (1 - self.others_leaning) * level
            lower = self.alpha * (1 + others * expected) / self.n_evaluators
            if lower >= level * (1 - 1e-9):
                break
            level = lower
        return level


def _found(distance: float, level: float) -> float:
    """Return how likely a two-sided z-test rejects when the truth is so many errors away."""
    far = ndtri(level / 2)
    return float(ndtr(distance + far) + ndtr(far - distance))


@lru_cache(maxsize=256)
def _information(lean: float, spread: float) -> tuple[float, float, float]:
    """Return what a comparison across groups tells of a lean, and what one is worth to scores.

    The third number is how often one across groups goes against the lean.
    """
    # A fine grid: where scores are far apart, few of a quadrature's points have a say.
    points = np.linspace(-8, 8, _NODES)
    weights = np.exp(-(points**2) / 2)
    weights /= weights.sum()
    difference = math.sqrt(2) * spread * points
    across, among = (expit(x) * expit(-x) for x in (lean + difference, difference))
    mean = float(weights @ among)
    against = float(weights @ expit(difference - abs(lean)))
    return float(weights @ across), mean**2 / float(weights @ among**2), against
