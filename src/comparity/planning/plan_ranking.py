r"""Plans of panels: how many comparisons show that an evaluator leans.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, ndtri

from comparity.inference.power import LARGEST_SIZE, smallest_size
from comparity.planning.options import RankPlanOptions
from comparity.planning.result import PlannedLean, RankingPlan
from comparity.results.options import shows

GRID_POINTS = 2001
MOST_ROUNDS = 1000
OTHER_LEANS = (0.5, 0.75, 1.0, 1.5, 2.0)
"""Leans that a plan tells about, as multiples of the planned one."""
# The estimated lean is about normal from here on.
FEW_ACROSS = 30
# Below this many comparisons of an item, its score costs much of what evaluators tell.
FEW_EACH = 10


@shows(RankPlanOptions)
def plan_ranking(**choices: Any) -> RankingPlan:
    """Plan to find who leans: the power of so many comparisons each, or those a power takes.

    Exactly one of `n_per_evaluator` and `power` is given; the other is found. Every evaluator
    judges as many pairs, drawn at random from the same items, and :func:`comparity.barp` ranks.

    Parameters
    ----------
    lean : float
        The lean to be found: what an evaluator adds to the log odds that an item of the group is
        preferred. With 0.4 it wins 60 % against an equal one of another group, with 1.1 it is 75 %.
    n_items, n_evaluators : int
        Items that pairs are drawn from, and evaluators.
    share : float, default 0.5
        Share of the group among the items.
    score_spread : float, default 1
        Standard deviation of the items' scores in log odds, at most 100; a pilot's ranking tells
        it (the prior of its scores). With 1 the better of two random items wins 73 % of the time,
        with 2 it is 83 %, with 5 it is 92 %.
    n_per_evaluator : int, optional
        Comparisons by each evaluator, ties included.
    power : float, optional
        Power wanted.
    others_leaning : float, default 0
        Share of the other evaluators who lean as much: the more do, the easier each is found.
    tie_share : float, default 0
        Share of the judgments that will be ties, taken to tell nothing.
    alpha : float, default 0.05
        False discovery rate among the evaluators; by the rule ``"single"`` the level of the test of
        one evaluator who was named in advance.
    rule : {"fdr", "single"}, default "fdr"
        Whether all evaluators are looked at, or one.
    cautious : bool, default False
        Allow for groups that differ by chance (the cautious q of a ranking), instead of taking
        their true means to be equal.

    Returns
    -------
    RankingPlan
        With ``n_per_evaluator``, ``power``, ``leans``, ``ceiling`` and ``curve()``.
        ``n_per_evaluator`` is ``None`` where no number of comparisons has the power wanted, and a
        note says why.

    Raises
    ------
    OptionError, PlanError
        If a number is impossible, or does not go with the others.

    See Also
    --------
    LeanQuestion : The formulas.

    References
    ----------
    .. [1] Ferrara, Bonchi, Fabbri, Karimi and Wagner, "Bias-aware ranking from pairwise
       comparisons", 2024: the model.

    Examples
    --------
    >>> plan = plan_ranking(lean=1.0, n_items=100, n_evaluators=20, power=0.8)
    >>> plan.n_comparisons == 20 * plan.n_per_evaluator
    True
    >>> plan_ranking(lean=1.0, n_items=100, n_evaluators=20, power=0.8, cautious=True).power >= 0.8
    True
    """
    options = RankPlanOptions(**choices)
    question = LeanQuestion(
        **{one.name: getattr(options, one.name) for one in fields(LeanQuestion)}
    )
    leans = tuple(
        _plan_lean(replace(question, lean=times * options.lean), options) for times in OTHER_LEANS
    )
    own = leans[OTHER_LEANS.index(1.0)]
    return RankingPlan(
        n_per_evaluator=own.n_per_evaluator,
        power=own.power,
        target=options.power,
        tests=(),
        groups=(),
        alpha=options.alpha,
        margin=None,
        rule=options.rule,
        design="a panel of evaluators",
        n_items=options.n_items,
        n_evaluators=options.n_evaluators,
        leans=leans,
        lean=options.lean,
        ceiling=question.limit(),
        notes=(*_notes(question, own, options.power), *_foregone(question, leans)),
        question=question,
        **options.record(),
    )


def _plan_lean(question: LeanQuestion, options: RankPlanOptions) -> PlannedLean:
    """Return the size that finds a lean, or its power; infinite where no size is enough."""
    target = options.power
    taken = options.size if target is None else question.smallest_size(target)
    at = float(LARGEST_SIZE) if taken is None else taken
    return PlannedLean(
        lean=question.lean,
        n_per_evaluator=taken,
        standard_error=question.standard_error(at),
        power=question.power(at),
    )


def _notes(question: LeanQuestion, own: PlannedLean, target: float | None) -> Iterator[str]:
    """Say what the reader of a plan must know."""
    chance = question.chance_between_groups
    if own.n_per_evaluator is None and not question.cautious:
        yield (
            f"a power of {target:g} takes more than {LARGEST_SIZE:,} comparisons by each evaluator"
        )
    elif own.n_per_evaluator is None:
        yield (
            f"a power of {target:g} is not reachable with these items: however many comparisons "
            f"are made, the power stays below {own.power:.4g}, since groups of so few items differ "
            f"by {chance:.2g} by chance; plan for more items, or judge with evaluators known not "
            "to lean (--trusted of comparity rank)"
        )
    elif question.across(own.n_per_evaluator) < FEW_ACROSS:
        yield (
            f"fewer than {FEW_ACROSS} comparisons of each evaluator are across groups: the normal "
            "approximation is rough there"
        )
    if own.n_per_evaluator is not None:
        each = 2 * own.n_per_evaluator * question.n_evaluators / question.n_items
        if each < FEW_EACH:
            yield (
                f"an item is in {each:.1f} comparisons on average: much of what evaluators tell "
                "goes into its score, and the power is a rough guess"
            )
    if not question.cautious and chance:
        yield (
            "groups are taken to have equal true means; if they are samples, their means differ by "
            f"{chance:.2g} by chance (standard deviation), which a ranking takes for a lean that "
            "all evaluators share; plan with cautious=True (--cautious) to allow for it"
        )


def _foregone(question: LeanQuestion, leans: Sequence[PlannedLean]) -> Iterator[str]:
    """Say which leans are so large that the normal approximation asks for too much."""
    foregone = [
        one.lean
        for one in leans
        if one.n_per_evaluator is not None
        and replace(question, lean=one.lean).against(one.n_per_evaluator) < 1
    ]
    if foregone:
        yield (
            f"hardly a comparison is expected to go against a lean of {foregone[0]:+.3g} or "
            "further from zero: such a lean is found more often, and with fewer comparisons, than "
            "the normal approximation says"
        )


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
        return 0.0 if math.isinf(error) else _detection_rate(self.lean / error, self._level(error))

    def _level(self, error: float) -> float:
        if self.rule == "single" or math.isinf(error):
            return self.alpha
        level, others = self.alpha, self.n_evaluators - 1
        for _ in range(MOST_ROUNDS):
            found = _detection_rate(self.lean / error, level)
            expected = self.others_leaning * found + (1 - self.others_leaning) * level
            lower = self.alpha * (1 + others * expected) / self.n_evaluators
            if lower >= level * (1 - 1e-9):
                break
            level = lower
        return level


def _detection_rate(distance: float, level: float) -> float:
    """Return how likely a two-sided z-test rejects when the truth is so many errors away."""
    far = ndtri(level / 2)
    return float(ndtr(distance + far) + ndtr(far - distance))


@lru_cache(maxsize=256)
def _information(lean: float, spread: float) -> tuple[float, float, float]:
    """Return what a comparison across groups tells of a lean, and what one is worth to scores.

    The third number is how often one across groups goes against the lean.
    """
    # A fine grid: where scores are far apart, few of a quadrature's points have a say.
    points = np.linspace(-8, 8, GRID_POINTS)
    weights = np.exp(-(points**2) / 2)
    weights /= weights.sum()
    difference = math.sqrt(2) * spread * points
    across, among = (expit(x) * expit(-x) for x in (lean + difference, difference))
    mean = float(weights @ among)
    against = float(weights @ expit(difference - abs(lean)))
    return float(weights @ across), mean**2 / float(weights @ among**2), against
