r"""Power: of rankings to find an evaluator who leans, and of simulated tests.

A simulated test sees counts only, so counts are drawn, not rows: decisions by group, label and
prediction, or fresh pairs by cell and agreement, are multinomial. The distribution is that of
drawing row by row; the cost does not depend on the number of rows (``benchmarks/bench_power.py``).

In a ranking, evaluator k judges :math:`m` random pairs of :math:`n` items, of which a share
:math:`q` belongs to the group in question; items' scores spread with standard deviation :math:`s`,
and the log odds that an item of the group is preferred to another are the difference of their
scores plus the lean :math:`b`. A comparison across groups tells :math:`p (1 - p)` about the lean,
on average

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
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

from comparity.inference.power import LARGEST_SIZE, first_step_alpha, smallest_size
from comparity.planning.scenarios import ComparativeScenario, SeparationScenario

__all__ = [
    "LeanQuestion",
    "simulate_comparative",
    "simulate_separation",
]

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


Vector = NDArray[np.float64]
Counts = NDArray[np.int64]


def simulate_separation(
    scenario: SeparationScenario,
    *,
    n: int,
    alpha: float = 0.05,
    rule: str = "holm",
    repetitions: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> float:
    """Return how often at least one Wald test of separation rejects among `n` random decisions.

    Parameters
    ----------
    scenario : SeparationScenario
        The true rates, group shares and base rates.
    n : int
        Decisions in each repetition; how many fall to a group and label is left to chance.
    alpha : float, default 0.05
        Overall false-alarm rate, or that of each test with rule ``"paper"``.
    rule : {"holm", "paper"}, default "holm"
        Whether the smallest p value is judged at `alpha` over the number of tests, or at `alpha`.
    repetitions : int, default 10,000
        Number of simulated studies.
    rng : numpy.random.Generator, int or None
        Source of randomness, or its seed.

    Returns
    -------
    float
        Share of repetitions with a rejection. A test without trials, or without a gap and without
        variation, does not reject.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Section 4.1.

    Examples
    --------
    >>> f1 = SeparationScenario(
    ...     tpr=(0.8, 0.8), fpr=(0.36, 0.44), shares=(0.5, 0.5), base_rates=(0.55, 0.45)
    ... )
    >>> abs(simulate_separation(f1, n=1000, rule="paper", rng=1) - 0.4743) < 0.02
    True
    """
    shares, base = np.array(scenario.shares), np.array(scenario.base_rates)
    drawn = np.concatenate([shares * base, shares * (1 - base)])
    rates = np.concatenate([scenario.tpr, scenario.fpr])
    hits, trials = _drawn_tallies(drawn, rates, n, repetitions, rng)
    groups = len(scenario.tpr)
    pairs = [(s + a, s + b) for s in (0, groups) for a, b in combinations(range(groups), 2)]
    return _share_rejected(hits, trials, pairs, first_step_alpha(alpha, rule, len(pairs)))


def simulate_comparative(
    scenario: ComparativeScenario,
    *,
    n_pairs: int,
    alpha: float = 0.05,
    rule: str = "holm",
    repetitions: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> float:
    """Return how often at least one Wald test of comparative separation rejects on fresh pairs.

    Both items of every pair are new; pairs of equal quality and tied judgments are lost to chance.

    Parameters
    ----------
    scenario : ComparativeScenario
        The true rates; items and evaluators must be fresh.
    n_pairs : int
        Pairs in each repetition, before any is lost.
    alpha, rule, repetitions, rng
        As in :func:`simulate_separation`.

    Returns
    -------
    float
        Share of repetitions with a rejection.

    Examples
    --------
    >>> f1 = ComparativeScenario(
    ...     tpr=(0.8, 0.8), tnr=(0.64, 0.56), shares=(0.5, 0.5), base_rates=(0.55, 0.45)
    ... )
    >>> abs(simulate_comparative(f1, n_pairs=2000, rule="paper", rng=1) - 0.5032) < 0.02
    True
    """
    assert scenario.n_items is None, "pairs that share items are not multinomial"
    assert scenario.n_evaluators is None, "judgments that share evaluators are not multinomial"
    rates = np.outer(scenario.tpr, scenario.tnr).ravel()
    drawn = scenario.cell_shares().ravel()
    hits, trials = _drawn_tallies(drawn, rates, n_pairs, repetitions, rng)
    k = len(scenario.tpr)
    across = [(a * k + b, b * k + a) for a, b in combinations(range(k), 2)]
    within = [(a * k + a, b * k + b) for a, b in combinations(range(k), 2)]
    pairs = across + within
    return _share_rejected(hits, trials, pairs, first_step_alpha(alpha, rule, len(pairs)))


def _drawn_tallies(
    shares: Vector,
    rates: Vector,
    size: int,
    repetitions: int,
    rng: np.random.Generator | int | None,
) -> tuple[Counts, Counts]:
    """Draw hits and trials of every cell; what falls in no cell is lost."""
    lost = max(0.0, 1 - shares.sum())
    chances = np.concatenate([shares * rates, shares * (1 - rates), [lost]])
    # numpy wants the probabilities to sum to 1 within rounding.
    counts = np.random.default_rng(rng).multinomial(size, chances / chances.sum(), repetitions)
    cells = len(shares)
    hits, misses = counts[:, :cells], counts[:, cells : 2 * cells]
    return hits, hits + misses


def _share_rejected(
    hits: Counts, trials: Counts, pairs: list[tuple[int, int]], alpha: float
) -> float:
    """Return the share of rows in which any unpooled z-test exceeds its critical value."""
    first, second = np.array(pairs).T
    critical = ndtri(alpha / 2) ** 2
    # Without trials the rate is nan, and no comparison with nan holds: the test does not reject.
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = hits / trials
        variances = rates * (1 - rates) / trials
        gaps = rates[:, first] - rates[:, second]
        rejected = gaps**2 > critical * (variances[:, first] + variances[:, second])
    return float(rejected.any(axis=1).mean())
