r"""How much more data would decide an open question.

The variance of a gap splits into a part :math:`B` that falls with the number of judgments and a
part :math:`A` that falls only with the number of items (and evaluators): with :math:`m` times the
judgments on the same items it is :math:`A + B / m`, with :math:`r` times everything
:math:`(A + B) / r`. A gap estimate :math:`D` with standard error :math:`\sigma` is decided when

.. math::

    |D| \ge z_{1 - \alpha'/2} \sigma \;\text{(it differs from zero)} \quad\text{or}\quad
    |D| \le m - z_{1 - \alpha} \sigma \;\text{(it is inside the margin } m),

and the largest :math:`\sigma` at which that has the wanted probability says how far the variance
must fall. If the gap is zero, only the second counts.

With few evaluators (or a line that few subjects draw) the error itself is estimated, on :math:`\nu`
degrees of freedom: quantiles are those of t, and the probability of a decision is the mean over
:math:`\hat\sigma / \sigma = \sqrt{\chi^2_\nu / \nu}`. More judgments by the same evaluators leave
:math:`\nu` as it is; with more of everything it grows.

Independent proportions with few hits or misses are tested with the errors that hypotheses imply,
and so are more of them: there the size is found by trying
(:func:`comparity.inference.rejection.critical_distances`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtr, ndtri, stdtrit

from comparity.counts.pairs import Tally
from comparity.inference.evaluators import ClusterGap
from comparity.inference.gap_tests import GapTest, Needed, Pivot, Statistic, find_root
from comparity.inference.means import RatioPivot
from comparity.inference.proportions import ExactPivot
from comparity.inference.rejection import critical_distances

# More data than this many times what there is are no advice.
LARGEST_FACTOR = 2.0**40
# A level at which nothing is found, and a variance of next to nothing.
LEVEL_OF_NOTHING, LEAST_VARIANCE_OF_GAP = 1e-300, 1e-24
DOF_TO_BE_NORMAL = 100.0
"""Degrees of freedom from which on t is taken for normal."""
POWERS_AT_ONCE, REFINEMENTS = 10, 2
"""Powers of two that are tried at once, and how often the way between two factors is divided."""
FACTOR_GRIDS = [
    2.0 ** np.arange(low, low + POWERS_AT_ONCE + 1)
    for low in np.arange(0.0, math.log2(LARGEST_FACTOR) + 1, POWERS_AT_ONCE)
]
PARTS_OF_THE_WAY = np.arange(2 * POWERS_AT_ONCE) / (2 * POWERS_AT_ONCE)
"""Parts of that way."""
AT_ONCE = 1000
"""Tests that are worked out together: room for a few hundred numbers each."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
"""Sizes of an estimated error that a probability is the mean over: off by less than 0.002."""

Vector = NDArray[np.float64]


def needed_data(
    test: GapTest,
    *,
    margin: float,
    alpha: float,
    local_alpha: float,
    n: int,
    n_items: int,
    power: float = 0.8,
) -> Needed | None:
    """Return how many judgments, or items and judgments, would decide a test.

    Parameters
    ----------
    test : GapTest
        The open test.
    margin : float
        Largest harmless gap.
    alpha, local_alpha : float
        Level of the two one-sided tests, and level at which equality was tested.
    n, n_items : int
        Judgments and items there are now.
    power : float
        Wanted probability of a decision.

    Returns
    -------
    Needed or None
        ``None`` where the test has no variance to go by.
    """
    found = needed_by_tests(
        [test],
        margin=margin,
        alpha=alpha,
        local_alphas=[local_alpha],
        n=n,
        n_items=n_items,
        power=power,
    )
    return found[0]


def needed_by_tests(
    tests: Sequence[GapTest],
    *,
    margin: float,
    alpha: float,
    local_alphas: Sequence[float],
    n: int,
    n_items: int,
    power: float = 0.8,
) -> list[Needed | None]:
    """Return what :func:`needed_data` returns, for several tests.

    Many groups make hundreds of tests of few trials; all of these are worked out at once.
    """
    levels = {"margin": margin, "alpha": alpha, "power": power}
    few = [
        (place, test.pivot.first, test.pivot.second)
        for place, test in enumerate(tests)
        if isinstance(test.pivot, ExactPivot)
    ]
    factors: dict[int, tuple[float, float]] = {}
    for start in range(0, len(few), AT_ONCE):
        places, first, second = zip(*few[start : start + AT_ONCE], strict=True)
        own = np.array([local_alphas[place] for place in places])
        found = _factors_of_few(first, second, local_alphas=own, **levels)
        factors |= dict(zip(places, found, strict=True))
    return [
        _as_many_times(factors[place], n, n_items)
        if place in factors
        else _needed_at_large(test, local_alpha=local_alpha, n=n, n_items=n_items, **levels)
        for place, (test, local_alpha) in enumerate(zip(tests, local_alphas, strict=True))
    ]


def _needed_at_large(
    test: GapTest,
    *,
    margin: float,
    alpha: float,
    local_alpha: float,
    n: int,
    n_items: int,
    power: float,
) -> Needed | None:
    """Return what would decide a test whose variance is known."""
    levels = {"margin": margin, "alpha": alpha, "local_alpha": local_alpha, "power": power}
    variance = test.standard_error**2
    if test.pivot is None or not variance > 0:
        return None
    if _degrees_of_freedom(test.pivot) < DOF_TO_BE_NORMAL:
        everything, more = _factors_by_t(test, test.pivot, **levels)
    else:
        wanted = [_widest_error(gap, **levels) ** 2 for gap in (test.gap, 0.0)]
        everything = [max(variance / target, 1.0) for target in wanted]
        more = [_judgment_factor(variance, test.shared_variance, target) for target in wanted]
    if not all(map(math.isfinite, everything)):
        return None
    return Needed(
        judgments=(_scale_count(more[0], n), _scale_count(more[1], n)),
        items=(math.ceil(everything[0] * n_items), math.ceil(everything[1] * n_items)),
        judgments_with_items=(math.ceil(everything[0] * n), math.ceil(everything[1] * n)),
    )


def _as_many_times(factors: Sequence[float], n: int, n_items: int) -> Needed | None:
    """Return so many times everything; nothing where no number of times would do."""
    if not all(map(math.isfinite, factors)):
        return None
    judgments, items = (
        (math.ceil(factors[0] * size), math.ceil(factors[1] * size)) for size in (n, n_items)
    )
    return Needed(judgments=judgments, items=items, judgments_with_items=judgments)


def _factors_of_few(
    firsts: Sequence[Tally],
    seconds: Sequence[Tally],
    *,
    margin: float,
    alpha: float,
    local_alphas: Vector,
    power: float,
) -> list[tuple[float, float]]:
    """Return how many times the trials would decide, for the rates as observed and for one rate."""
    both = list(zip(firsts, seconds, strict=True))
    pooled = np.array([(first + second).rate for first, second in both])
    observed = np.array([(first.rate, second.rate) for first, second in both]).T
    trials = np.array([(first.trials, second.trials) for first, second in both]).T
    # Equal rates are found to differ by chance alone, which decides nothing.
    away_alphas = np.where(observed[0] == observed[1], LEVEL_OF_NOTHING, local_alphas / 2)

    def smallest(rates: Vector, away_alphas: Vector) -> Vector:
        def share_undecided(factors: Vector, which: NDArray[np.int64]) -> Vector:
            (p, q), (n, m) = rates[:, which, None], trials[:, which, None] * factors
            away = away_alphas[which, None]
            return _undecided_of_few((p, q), (n, m), margin=margin, alpha=alpha, away_alpha=away)

        return _smallest_factors(share_undecided, len(both), power)

    as_observed = smallest(observed, away_alphas)
    as_one = smallest(np.array([pooled, pooled]), np.full(len(both), LEVEL_OF_NOTHING))
    as_one = np.where(observed[0] == observed[1], as_observed, as_one)
    return list(zip(as_observed.tolist(), as_one.tolist(), strict=True))


def _undecided_of_few(
    rates: tuple[Vector, Vector],
    trials: tuple[Vector, Vector],
    *,
    margin: float,
    alpha: float,
    away_alpha: Vector,
) -> Vector:
    """Return the probability of an estimate neither away from zero nor within the margin."""
    (p, q), (n, m) = rates, trials
    variance = p * (1 - p) / n + q * (1 - q) / m
    above, away, below = (
        critical_distances(rates, trials, variance, hypothesised=gap, alpha=level)
        for gap, level in ((-margin, alpha), (0.0, away_alpha), (margin, alpha))
    )
    error = np.sqrt(np.maximum(variance, LEAST_VARIANCE_OF_GAP))
    # What is not within the margin: all between -away and away where there is no room in it.
    low = np.minimum(above - margin, away)
    high = np.maximum(np.maximum(margin - below, low), -away)
    lowest, low_end, high_end, highest = (
        ndtr((end - p + q) / error) for end in (-away, low, high, away)
    )
    inside: Vector = np.maximum(low_end - lowest, 0) + np.maximum(highest - high_end, 0)
    return inside


def _degrees_of_freedom(pivot: Pivot) -> float:
    """Return those of the error, infinite where it is as good as known."""
    if isinstance(pivot, RatioPivot | ClusterGap):
        return pivot.dof
    n_clusters = pivot.reference.n_clusters if isinstance(pivot, Statistic) else 0
    return n_clusters - 1 if n_clusters else math.inf


def _factors_by_t(
    test: GapTest, pivot: Pivot, *, margin: float, alpha: float, local_alpha: float, power: float
) -> tuple[list[float], list[float]]:
    """Return how many times everything, or the judgments, would decide, for both truths."""
    dof, variance, shared = _degrees_of_freedom(pivot), test.standard_error**2, test.shared_variance
    in_clusters = isinstance(pivot, Statistic | ClusterGap)
    # Squares of parts about their sum are one short of their number.
    scale = (dof + 1) / dof if isinstance(pivot, Statistic) else 1.0

    def factor(gap: float, away_alpha: float, *, same_clusters: bool) -> float:
        fixed = shared if same_clusters else 0.0

        def share_undecided(factors: Vector) -> Vector:
            error = np.sqrt(scale * (fixed + (variance - fixed) / factors))
            grown = (dof + in_clusters) * factors - in_clusters
            # One number for all factors, whose quantiles are worked out once.
            own = np.array([dof]) if same_clusters and in_clusters else grown
            levels = {"margin": margin, "alpha": alpha, "away_alpha": away_alpha}
            return _undecided_by_t(gap, error, np.minimum(own, 1e6), **levels)

        found = _smallest_factors(lambda factors, _: share_undecided(factors[0])[None], 1, power)
        return float(found[0])

    truths = [(test.gap, local_alpha if test.gap else LEVEL_OF_NOTHING), (0.0, LEVEL_OF_NOTHING)]
    everything = [factor(gap, level, same_clusters=False) for gap, level in truths]
    if not in_clusters and not shared:
        return everything, everything
    return everything, [factor(gap, level, same_clusters=True) for gap, level in truths]


def _undecided_by_t(
    gap: float, error: Vector, dof: Vector, *, margin: float, alpha: float, away_alpha: float
) -> Vector:
    """Return the probability of no decision, with the error estimated on so many degrees."""
    sigma = error[:, None]
    estimated = sigma * _error_ratios(tuple(dof.tolist()))
    within = np.maximum(margin + stdtrit(dof, alpha)[:, None] * estimated, 0.0)
    away = np.full_like(within, np.inf)
    if away_alpha > LEVEL_OF_NOTHING:
        away = np.maximum(within, -stdtrit(dof, away_alpha / 2)[:, None] * estimated)
    above = ndtr((away - gap) / sigma) - ndtr((within - gap) / sigma)
    below = ndtr((-within - gap) / sigma) - ndtr((-away - gap) / sigma)
    missed: Vector = (above + below) @ (WEIGHTS / 2)
    return missed


@lru_cache(maxsize=1024)
def _error_ratios(dof: tuple[float, ...]) -> Vector:
    """Return quantiles of an estimated over the true error, a row for each number of degrees.

    Tests of one audit have as many evaluators and try the same factors: kept, since inverting the
    distribution of chi-square is nearly all the work.
    """
    degrees = np.array(dof)[:, None]
    ratios: Vector = np.sqrt(chdtri(degrees, (NODES + 1) / 2) / degrees)
    return ratios


def _smallest_factors(
    share_undecided: Callable[[Vector, NDArray[np.int64]], Vector], number: int, power: float
) -> Vector:
    """Return the first factors, from one on, at which few enough studies stay open, or infinity.

    Up a ladder of powers of two, a few at a time since most answers are near, and then between the
    last factor that is too small and the first that is not.

    Parameters
    ----------
    share_undecided : callable
        Returns probabilities of no decision, one for each factor, from a row of factors for each
        of some tests and the positions of these tests.
    number : int
        How many tests there are.
    power : float
        Wanted probability of a decision.
    """
    found, still_open = np.full(number, np.inf), np.arange(number)
    for ladder in FACTOR_GRIDS:
        factors = np.tile(ladder, (len(still_open), 1))
        enough = share_undecided(factors, still_open) <= 1 - power
        reached = enough.any(axis=1)
        if not reached.any():
            continue
        which, factors, enough = still_open[reached], factors[reached], enough[reached]
        for _ in range(REFINEMENTS):
            low, high = _around_first(factors, enough)
            factors = np.concatenate([low * (high / low) ** PARTS_OF_THE_WAY, high], axis=1)
            enough = share_undecided(factors, which) <= 1 - power
        found[which] = _around_first(factors, enough)[1][:, 0]
        still_open = still_open[~reached]
        if not len(still_open):
            break
    return found


def _around_first(factors: Vector, enough: NDArray[np.bool_]) -> tuple[Vector, Vector]:
    """Return the factor before the first that is enough, and that one, in each row."""
    first = np.argmax(enough, axis=1)[:, None]
    before = np.take_along_axis(factors, np.maximum(first - 1, 0), axis=1)
    return before, np.take_along_axis(factors, first, axis=1)


def _widest_error(
    gap: float, *, margin: float, alpha: float, local_alpha: float, power: float
) -> float:
    """Return the largest standard error at which a gap of this size gets decided."""
    differs, inside = -ndtri(local_alpha / 2), -ndtri(alpha)
    if gap == 0:
        return float(margin / (inside - ndtri((1 - power) / 2)))

    def shortfall(error: float) -> float:
        limit = margin - inside * error
        decided = ndtr(gap / error - differs) + ndtr(-differs - gap / error)
        if limit > 0:
            decided += ndtr((limit - gap) / error) - ndtr((-limit - gap) / error)
        return float(decided - power)

    # Below the first bound every estimate is decided; the second is too wide even for its power.
    always = margin / (differs + inside)
    wide = always + abs(gap)
    while shortfall(wide) > 0:
        wide *= 2
    return find_root(shortfall, always, wide)


def _judgment_factor(variance: float, shared: float, target: float) -> float:
    if target >= variance:
        return 1.0
    return (variance - shared) / (target - shared) if target > shared else math.inf


def _scale_count(factor: float, n: int) -> int | None:
    return math.ceil(factor * n) if math.isfinite(factor) else None
