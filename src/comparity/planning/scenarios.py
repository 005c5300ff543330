"""Scenarios: what is believed before any data are there, and what the data would then look like.

A scenario turns rates, group shares and base rates into the gaps to be tested, the trials expected
behind each, and the covariance of the estimated gaps for a planned size. A power question
(:mod:`comparity.planning.power_question`) adds how the tests will be judged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.pairs import Cell
from comparity.inference.agreement_tests import (
    FEWEST_EVALUATORS,
    Family,
    contrasts_of_groups,
    family_of_cells,
)
from comparity.inference.power import exact_power
from comparity.inference.rejection import (
    Clusters,
    critical_distances,
    half_width,
    scarce_counts,
)

Vector = NDArray[np.float64]
Rates = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedGaps:
    """The gaps of a scenario and the covariance of their estimates at one size.

    Attributes
    ----------
    first_rates, second_rates : ndarray of shape (m,)
        The two true rates of each test.
    first_trials, second_trials : ndarray of shape (m,)
        Trials expected behind them.
    covariance : ndarray of shape (m, m)
        Covariance of the estimated gaps.
    size : float
        Trials expected in all cells together. Into which of them one falls is left to chance.
    clusters : Clusters or None
        Evaluators from whom the tests estimate that covariance, where they have to.
    """

    first_rates: Vector
    second_rates: Vector
    first_trials: Vector
    second_trials: Vector
    covariance: Vector
    size: float
    clusters: Clusters | None = None

    @property
    def gaps(self) -> Vector:
        """First rate minus second."""
        gaps: Vector = self.first_rates - self.second_rates
        # Rates such as 220 / 275 and 180 / 225 are equal; their floats need not be.
        gaps[np.abs(gaps) < 1e-12] = 0.0
        return gaps

    @property
    def standard_errors(self) -> Vector:
        """Standard error of each gap."""
        errors: Vector = np.sqrt(np.diag(self.covariance))
        return errors

    @property
    def _counts(self) -> tuple[tuple[Vector, Vector], tuple[Vector, Vector], Vector]:
        rates, trials = (
            (self.first_rates, self.second_rates),
            (self.first_trials, self.second_trials),
        )
        return rates, trials, np.diag(self.covariance)

    def detection_distances(self, alpha: float) -> Vector:
        """Return how far from zero estimates must be for two-sided tests to reject.

        Where tables have to be enumerated, it is the distance of the z-test with that power.
        """
        distances = critical_distances(*self._counts, hypothesised=0.0, alpha=alpha / 2)
        scarce = self.scarce
        missed = 1 - self.of(scarce).exact_powers(alpha)
        distances[scarce] = self._widths(scarce, missed)
        return distances

    def margin_distances(self, margin: float, alpha: float) -> tuple[Vector, Vector]:
        """Return how far inside of both ends of the margin estimates must be to lie within it.

        Where tables have to be enumerated, both are those of the z-test with that power.
        """
        above, below = (
            critical_distances(*self._counts, hypothesised=end, alpha=alpha)
            for end in (-margin, margin)
        )
        scarce = self.scarce
        within = self._widths(scarce, self.of(scarce).exact_powers(alpha, margin))
        above[scarce] = below[scarce] = margin - within
        return above, below

    def _widths(self, tests: NDArray[np.bool_], probabilities: Vector) -> Vector:
        """Return about which distance from zero normal estimates keep with given probabilities."""
        errors = self.standard_errors[tests]
        return errors * half_width(probabilities, self.gaps[tests] / errors)

    @property
    def scarce(self) -> NDArray[np.bool_]:
        """Which tests are made exactly, of estimates that are far from normal."""
        if self.clusters is not None:
            return np.zeros(len(self.gaps), dtype=np.bool_)
        return scarce_counts(*self._counts)

    def exact_powers(self, alpha: float, margin: float | None = None) -> Vector:
        """Return the power of each test alone, from the tables that it may meet."""
        columns = (self.first_rates, self.second_rates, self.first_trials, self.second_trials)
        powers = [
            exact_power((p, q), (n, m), alpha=alpha, margin=margin, size=self.size)
            for p, q, n, m in zip(*(column.tolist() for column in columns), strict=True)
        ]
        return np.array(powers, dtype=np.float64)

    def of(self, tests: NDArray[np.bool_] | list[int]) -> ExpectedGaps:
        """Return some of the tests."""
        names = ("first_rates", "second_rates", "first_trials", "second_trials")
        return ExpectedGaps(
            **{name: getattr(self, name)[tests] for name in names},
            covariance=self.covariance[tests][:, tests],
            size=self.size,
            clusters=None if self.clusters is None else self.clusters.of(tests),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationScenario:
    r"""Decisions about `n` independent items, tested for separation.

    Group `a` gets :math:`n s_a \pi_a` positive and :math:`n s_a (1 - \pi_a)` negative items, with
    :math:`s` the shares and :math:`\pi` the base rates. For every two groups the true positive
    rates are compared, then the false positive rates; variances are not pooled, as in equation
    (33) of Xi et al.

    Examples
    --------
    >>> scenario = SeparationScenario(
    ...     tpr=(0.8, 0.8), fpr=(0.36, 0.44), shares=(0.5, 0.5), base_rates=(0.55, 0.45)
    ... )
    >>> scenario.expect(1000).gaps.round(2)
    array([ 0.  , -0.08])
    >>> scenario.expect(1000).first_trials
    array([275., 225.])
    """

    tpr: Rates
    fpr: Rates
    shares: Rates
    base_rates: Rates

    @property
    def cell_rates(self) -> Vector:
        """The true positive rates of all groups, then the false positive rates."""
        return np.concatenate([self.tpr, self.fpr])

    @property
    def cell_shares(self) -> Vector:
        """The share of each group and label."""
        shares, base = np.array(self.shares), np.array(self.base_rates)
        return np.concatenate([shares * base, shares * (1 - base)])

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every two groups, by both rates."""
        n = len(self.tpr)
        return [(s + a, s + b) for s in (0, n) for a, b in combinations(range(n), 2)]

    def expect(self, size: float, *, margin: bool = False) -> ExpectedGaps:
        """Return the gaps of both rates for every two groups among `size` decisions.

        The same ones are tested and have to be within a margin.
        """
        rates, trials = self.cell_rates, size * self.cell_shares
        covariance = np.diag(rates * (1 - rates) / trials)
        return _contrast_rates(rates, trials, covariance, contrast_rows(self.pairs, len(rates)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScenario(ABC):
    r"""Judged pairs of items, tested for comparative separation.

    What is assumed of quality and model, in a class below, gives how often the model agrees in
    each cell, how often a random pair falls into it, and what shared items add to the covariance
    of the rates. Evaluators are the same for all.

    Evaluator `k` adds :math:`L_k` to the agreement in (a, b) and takes it off in (b, a), so that
    an evaluator moves the gap by :math:`2 L_k`; `evaluator_lean` is the standard deviation of
    that over evaluators. Each judges an equal share of the pairs, at random, which adds
    :math:`\text{lean}^2 / n_\text{evaluators}` to the variance of the across gap. Leans towards
    different groups are independent. All tests then estimate their variance from evaluators
    (:mod:`comparity.inference.rejection`). One or two evaluators cannot stand for others: an audit
    takes them as given, so their leans are part of the assumed rates and add nothing.
    """

    shares: Rates
    n_items: int | None = None
    n_evaluators: int | None = None
    evaluator_lean: float = 0.1
    tie_share: float = 0.0
    graded: bool = False

    @property
    @abstractmethod
    def cell_rates(self) -> Vector:
        """How often the model agrees with judges, by the groups of the better and the worse."""

    @property
    @abstractmethod
    def cell_shares(self) -> Vector:
        """The probability that a pair is judged with an order in each cell."""

    @abstractmethod
    def covariance_of_items(self, n_items: int) -> Vector:
        """Return what sharing so many items adds to the covariance of the cells' rates."""

    @property
    def family(self) -> Family:
        """The hypotheses an audit tests together, of groups called by their positions."""
        return family_of_cells(list(map(str, range(self.n_groups))), graded=self.graded)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.shares)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every two groups across, then within."""
        both = contrasts_of_groups(list(map(str, range(self.n_groups))))
        return [(self._place(one.first), self._place(one.second)) for one in both]

    def expect(self, size: float, *, margin: bool = False) -> ExpectedGaps:
        """Return the gaps that are tested among `size` judged pairs.

        With a `margin` those that have to be within it: all pairs of cells where quality is graded.
        """
        rates, trials = self.cell_rates, size * self.cell_shares
        contrasts = self._contrasts(margin=margin)
        items, evaluators = self._from_items(), self._from_evaluators()
        # One judgment varies by at least what it shares: with less than one good or bad item in a
        # group the formula for items exceeds that, and variances of gaps would be negative.
        single = np.maximum(rates * (1 - rates), np.diag(items + evaluators))
        judgments = np.diag(single / trials)
        for again in (items, evaluators):
            # A judgment shares nothing with itself; the variance of one is counted already.
            again[np.diag_indices_from(again)] *= np.maximum(1 - 1 / trials, 0)
        expected = _contrast_rates(rates, trials, judgments + items + evaluators, contrasts)
        if not self._has_clusters():
            return expected
        assert self.n_evaluators is not None
        parts = (contrasts @ part @ contrasts.T for part in (judgments, items, evaluators))
        # With less than one judgment in a cell, what others share can outweigh its own variance.
        alone, shared, leaning = (np.maximum(np.diag(part), 0.0) for part in parts)
        clusters = Clusters(
            number=self.n_evaluators, judgments=alone, items=shared, evaluators=leaning
        )
        return replace(expected, clusters=clusters)

    def _contrasts(self, *, margin: bool) -> Vector:
        """Return what each cell counts for in each gap."""
        family = self.family
        rows = np.zeros((len(family.judged_contrasts(margin=margin)), self.n_groups**2))
        for row, contrast in zip(rows, family.judged_contrasts(margin=margin), strict=True):
            half = len(contrast.cells) // 2
            places = [self._place(cell) for cell in contrast.cells]
            row[places[:half]], row[places[half:]] = 1 / half, -1 / half
        return rows

    def _place(self, cell: Cell) -> int:
        return int(cell.better) * self.n_groups + int(cell.worse)

    def _has_clusters(self) -> bool:
        return self.n_evaluators is not None and self.n_evaluators >= FEWEST_EVALUATORS

    def _from_items(self) -> Vector:
        if self.n_items is None:
            return np.zeros((self.n_groups**2, self.n_groups**2))
        return self.covariance_of_items(self.n_items)

    def _from_evaluators(self) -> Vector:
        """Return what evaluators who lean add: alike within a cell, opposite in its mirror."""
        groups = self.n_groups
        added = np.zeros((groups**2, groups**2))
        if self.n_evaluators is None or not self._has_clusters():
            return added
        lean = self.evaluator_lean**2 / 4 / self.n_evaluators
        for a, b in combinations(range(groups), 2):
            cell, mirror = a * groups + b, b * groups + a
            added[cell, cell] = added[mirror, mirror] = lean
            added[cell, mirror] = added[mirror, cell] = -lean
        return added


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparativeScenario(PairScenario):
    r"""Judged pairs of items of binary quality, tested for comparative separation.

    A model puts the better item of cell (a, b) first with probability
    :math:`r = t_a s_b`, the true positive rate of the better item's group times the true negative
    rate of the worse one's (equation (9) of Xi et al.). A random pair falls in the cell with
    probability :math:`2 P(Y=1, A=a) P(Y=0, A=b)`; pairs of equal quality, and a share `tie_share`
    of the others, are judged ties and lost.

    With fresh items the variance of a cell's rate is :math:`r (1 - r) / n`. With pairs drawn at
    random from `n_items` items, of which :math:`N_{a+}` positive and :math:`N_{b-}` negative ones
    can meet in the cell, two judgments may share an item, and

    .. math:: V = \frac{r (1 - r)}{n} + \Bigl(1 - \frac{1}{n}\Bigr) \Bigl[
        \frac{t_a (1 - t_a) s_b^2}{N_{a+}} + \frac{s_b (1 - s_b) t_a^2}{N_{b-}}
        + \frac{t_a (1 - t_a) s_b (1 - s_b)}{N_{a+} N_{b-}} \Bigr].

    The bracket stays however many judgments are made. Rates of cells (a, b) and (a, c) covary by
    :math:`t_a (1 - t_a) s_b s_c / N_{a+}`, those of (a, b) and (c, b) by
    :math:`s_b (1 - s_b) t_a t_c / N_{b-}`: the same items are better, or worse, in both.

    Examples
    --------
    >>> scenario = ComparativeScenario(
    ...     tpr=(0.8, 0.8), tnr=(0.64, 0.56), shares=(0.5, 0.5), base_rates=(0.55, 0.45)
    ... )
    >>> expected = scenario.expect(2000)
    >>> expected.gaps.round(3), expected.first_trials.round(1)
    (array([-0.064,  0.064]), array([302.5, 247.5]))
    """

    tpr: Rates
    tnr: Rates
    base_rates: Rates

    @property
    def cell_rates(self) -> Vector:
        """How often the model agrees with judges, by the groups of the better and the worse."""
        return np.outer(self.tpr, self.tnr).ravel()

    @property
    def cell_shares(self) -> Vector:
        """The probability that a pair is judged with an order in each cell."""
        shares, base = np.array(self.shares), np.array(self.base_rates)
        meet: Vector = 2 * np.outer(shares * base, shares * (1 - base)) * (1 - self.tie_share)
        return meet.ravel()

    def covariance_of_items(self, n_items: int) -> Vector:
        """Return what sharing so many items adds to the covariance of the cells' rates."""
        t, s = np.array(self.tpr), np.array(self.tnr)
        shares, base = np.array(self.shares), np.array(self.base_rates)
        of_better: Vector = np.diag(t * (1 - t) / (n_items * shares * base))
        of_worse: Vector = np.diag(s * (1 - s) / (n_items * shares * (1 - base)))
        same_better = np.kron(of_better, np.outer(s, s))
        same_worse = np.kron(np.outer(t, t), of_worse)
        added: Vector = same_better + same_worse + np.kron(of_better, of_worse)
        return added


Scenario = SeparationScenario | PairScenario
"""What is believed beforehand."""


def _contrast_rates(
    rates: Vector, trials: Vector, covariance: Vector, contrasts: Vector
) -> ExpectedGaps:
    """Return gaps, sums of rates with the given weights, from the covariance of the rates.

    The mean of two rates has the trials that one rate of the same variance would have.
    """
    first, second = np.maximum(contrasts, 0), np.maximum(-contrasts, 0)
    between: Vector = contrasts @ covariance @ contrasts.T
    # Where evaluators' leans cancel, rounding can leave less than nothing.
    np.fill_diagonal(between, np.maximum(np.diag(between), 0.0))
    return ExpectedGaps(
        first_rates=first @ rates,
        second_rates=second @ rates,
        first_trials=1 / (first**2 @ (1 / trials)),
        second_trials=1 / (second**2 @ (1 / trials)),
        covariance=between,
        size=float(trials.sum()),
    )


def contrast_rows(pairs: Sequence[tuple[int, int]], cells: int) -> Vector:
    """Return differences between two of so many cells as weights on all of them."""
    first, second = np.array(pairs).T
    rows: Vector = np.eye(cells)[first] - np.eye(cells)[second]
    return rows
