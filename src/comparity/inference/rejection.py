r"""How far a gap must be from what is hypothesised before an audit rejects, and how likely that is.

With few evaluators an audit estimates the variance of a gap from the sums of its :math:`G`
evaluators (:mod:`comparity.inference.evaluators`). With :math:`\sigma_J^2` from single judgments,
:math:`\sigma_I^2` from shared items (estimated well) and :math:`\sigma_E^2` from evaluators, it
rejects gaps that are further from the hypothesis than

.. math:: \max\Bigl(q \sigma_J,\;
    \sqrt{z^2 \sigma_I^2 + c^2 (\sigma_J^2 + \sigma_E^2) \frac{\chi^2_{G-1}}{G-1}} \Bigr)

with :math:`z` the normal quantile and :math:`c = t`, Student's on :math:`G - 1` degrees of freedom.
Where signs of evaluators are turned, too, :math:`c` is the larger of :math:`t` and what the signs
ask for, which depends on how the sums lie about their mean and on nothing else
(:func:`comparity.inference.cluster_spread.flip_multiples`). The first bound, with
:math:`q = t \sqrt{G / (G - 1 + t^2)}`, stands for the binomial variance that few hits or misses ask
for. Without items, and where it does not bind, this is the t-test.

Without evaluators the distance is a quantile times a standard error, of which there are two kinds:
:func:`critical_distances`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv, ndtr, ndtri, stdtrit

from comparity.counts.kernels.compilation import njit
from comparity.inference.cluster_spread import flip_multiples
from comparity.inference.dyadic import AMPLE
from comparity.inference.extreme_tables import restricted_rate
from comparity.inference.proportions import HITS_TO_BE_NORMAL, TRIALS_TO_BE_NORMAL

Vector = NDArray[np.float64]


# With fewer hits or misses expected in the smaller group, plans enumerate the tables of the exact
# test. What more data are needed is still asked of distances, with about half a continuity
# correction more than the score test. Read off enumerated powers to show margins of 0.05 and 0.1 at
# rates of 0.01: those of the score test exceed them by up to 0.11 without it, by 0.02 with it.
EXPECTED = 5
# How often the distance is worked out at the rates that the last one leads to, and a variance of
# next to nothing.
ROUNDS, LEAST_VARIANCE = 8, 1e-24


_NODES = 128


_HALVINGS = 80


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clusters:
    """Evaluators from whose sums the variances of several gaps are estimated.

    Attributes
    ----------
    number : int
        Evaluators; at least 2.
    judgments, items, evaluators : ndarray of shape (m,)
        What single judgments, shared items and leaning evaluators add to the variance of each gap.
    """

    number: int
    judgments: Vector
    items: Vector
    evaluators: Vector

    def of(self, tests: NDArray[np.bool_] | list[int]) -> Clusters:
        """Return the same evaluators for some of the tests."""
        return Clusters(
            number=self.number,
            judgments=self.judgments[tests],
            items=self.items[tests],
            evaluators=self.evaluators[tests],
        )

    def thresholds(self, alpha: float) -> tuple[Vector, Vector]:
        """Return distances beyond which a two-sided test rejects, and how likely each is.

        Parameters
        ----------
        alpha : float
            Level of the two-sided test; twice the level of a one-sided one.

        Returns
        -------
        distances : ndarray of shape (m, nodes)
        weights : ndarray of shape (nodes,)
            Their probabilities, the same for all tests.
        """
        freedom = self.number - 1
        t = -float(stdtrit(freedom, alpha / 2))
        quantile = t * np.sqrt(self.number / (freedom + t**2))
        multiples = np.maximum(t, flip_multiples(self.number, alpha))
        nodes, weights = _uniform_nodes()
        chi_square = 2 * gammaincinv(freedom / 2, nodes)
        scaled = np.outer(multiples**2, chi_square / freedom).ravel()
        from_sums = np.outer(self.judgments + self.evaluators, scaled)
        from_items = float(ndtri(alpha / 2)) ** 2 * self.items[:, None]
        least = quantile * np.sqrt(self.judgments)
        distances = np.maximum(least[:, None], np.sqrt(from_items + from_sums))
        return distances, np.tile(weights / len(multiples), len(multiples))


def critical_distances(
    rates: tuple[Vector, Vector],
    trials: tuple[Vector, Vector],
    variances: Vector,
    *,
    hypothesised: float,
    alpha: float | Vector,
) -> Vector:
    r"""Return how far from a hypothesised gap estimates must be for one-sided tests to reject.

    With ample counts an audit takes standard errors at the observed rates. With fewer it makes an
    exact test, or takes the errors that the hypothesis implies. These depend on what is observed,
    so the distance is that of the score test where it is about to reject: at the likeliest rates
    with that distance, which lie from the true ones by the share of each in the variance. Where
    next to no hits or misses are expected an exact test asks for half a continuity correction more
    (:func:`comparity.inference.proportions.compare_rates`).

    Planned at the true rates alone, 338 decisions at rates of 0.99 and 0.01 would show gaps below
    0.05 with a power of 0.8; audits of so few never do.

    Parameters
    ----------
    rates, trials : tuple of ndarray
        True rates of the two groups of each test, and trials expected behind them.
    variances : ndarray
        Of the estimated gaps, at the true rates, with what shared items add.
    hypothesised : float
        The gap under the hypothesis.
    alpha : float or ndarray
        Level of the one-sided test. All arrays are broadcast.
    """
    (p, q), (n, m) = rates, trials
    single, quantile = p * (1 - p) / n + q * (1 - q) / m, -ndtri(alpha)
    alone = _share_nothing(rates, trials, variances)
    step = np.where(scarce_counts(rates, trials, variances), (1 / n + 1 / m) / 4, 0.0)
    rarest = np.minimum(n * np.minimum(p, 1 - p), m * np.minimum(q, 1 - q))
    few = np.where(
        alone,
        (np.minimum(n, m) < TRIALS_TO_BE_NORMAL) | (rarest < HITS_TO_BE_NORMAL),
        rarest < AMPLE,
    )
    shared = np.where(alone, 0.0, variances - single)
    score = _score_distances(p, n, q, m, hypothesised, shared, quantile, step)
    observed = quantile * np.sqrt(variances)
    distances: Vector = np.where(few, np.where(alone, score, np.maximum(observed, score)), observed)
    return distances


def scarce_counts(
    rates: tuple[Vector, Vector], trials: tuple[Vector, Vector], variances: Vector
) -> NDArray[np.bool_]:
    """Return which tests of separate trials expect next to no hits, or next to no misses.

    Arguments are those of :func:`critical_distances`.
    """
    (p, q), (n, m) = rates, trials
    pooled = (n * p + m * q) / (n + m)
    scarce = np.minimum(n, m) * np.minimum(pooled, 1 - pooled) < EXPECTED
    found: NDArray[np.bool_] = scarce & _share_nothing(rates, trials, variances)
    return found


def _share_nothing(
    rates: tuple[Vector, Vector], trials: tuple[Vector, Vector], variances: Vector
) -> NDArray[np.bool_]:
    """Return which tests are of separate trials, and not of pairs that share items.

    The latter are tested by their own variance, at the observed rates.
    """
    (p, q), (n, m) = rates, trials
    single = p * (1 - p) / n + q * (1 - q) / m
    alone: NDArray[np.bool_] = np.isclose(variances, single, rtol=1e-9, atol=0)
    return alone


def _score_distances(*values: ArrayLike) -> Vector:
    """Return :func:`_score_distance` of each of several tests, all values broadcast."""
    arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values))
    table = np.stack([array.ravel() for array in arrays], axis=1)
    distances: Vector = _score_distance_of_rows(table).reshape(arrays[0].shape)
    return distances


@njit(cache=True)
def _score_distance_of_rows(table: Vector) -> Vector:
    distances = np.empty(len(table))
    for row in range(len(table)):
        p, n, q, m, hypothesised, shared, quantile, step = table[row]
        distances[row] = _score_distance(p, n, q, m, hypothesised, shared, quantile, step)
    return distances


@njit(cache=True)
def _score_distance(
    p: float,
    n: float,
    q: float,
    m: float,
    hypothesised: float,
    shared: float,
    quantile: float,
    step: float,
) -> float:
    """Return how far from a hypothesised gap the score test is about to reject.

    At the true rates where items are shared, which adds to the variance; else at the likeliest
    rates with that distance.
    """
    own, other = p * (1 - p) / n, q * (1 - q) / m
    side = 1.0 if p - q >= hypothesised else -1.0
    distance = quantile * math.sqrt(own + other + shared)
    for _ in range(1 if shared else ROUNDS):
        gap = p - q if shared else hypothesised + side * distance
        moved = (gap - p + q) / max(own + other, LEAST_VARIANCE)
        near, far = min(max(p + moved * own, 0.0), 1.0), min(max(q - moved * other, 0.0), 1.0)
        first = restricted_rate(near, far, m / n, hypothesised)
        second = min(max(first - hypothesised, 0.0), 1.0)
        implied = shared + first * (1 - first) / n + second * (1 - second) / m
        distance = quantile * math.sqrt(implied) + step
    return distance


@lru_cache(maxsize=1)
def _uniform_nodes() -> tuple[Vector, Vector]:
    """Return Gauss-Legendre nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def normal_within(width: Vector, centre: Vector) -> Vector:
    """Return the probability that a normal variable of variance 1 is at most `width` in size."""
    away = np.abs(centre)
    within: Vector = ndtr(width - away) - ndtr(-width - away)
    return within


def half_width(probability: Vector, centre: Vector) -> Vector:
    """Return the width at which :func:`normal_within` has a given value, by bisection.

    Examples
    --------
    >>> half_width(np.array([0.95]), np.array([0.0])).round(4)
    array([1.96])
    """
    low, high = np.zeros_like(centre), np.abs(centre) + 40.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = normal_within(middle, centre) < probability
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


# A prime number of lattice points: an error of about 1e-5 up to five groups, 1e-4 beyond.
_POINTS = 8191


_NEGLIGIBLE = 1e-10


def rectangle_probability(lower: Vector, upper: Vector, correlation: Vector) -> float:
    """Return the probability that ``lower <= z <= upper`` in every coordinate.

    `z` is normal with mean 0, variances 1 and the given correlation, which may be singular: the
    gaps between three groups, for example, add up to zero. Unrelated coordinates are separated, so
    that independent tests give an exact product. Within a block the method is Genz's separation of
    variables [1]_ on a fixed lattice; a coordinate that others determine narrows the bounds of the
    last of them. No random numbers: the same question always gets the same answer.

    Parameters
    ----------
    lower, upper : ndarray of shape (m,)
        Bounds; infinite ones are allowed.
    correlation : ndarray of shape (m, m)

    Returns
    -------
    float
        Between 0 and 1; 0 where any lower bound exceeds its upper bound, 1 without coordinates.

    References
    ----------
    .. [1] Genz, "Numerical computation of multivariate normal probabilities", J. Comput. Graph.
       Stat. 1 (1992).

    Examples
    --------
    >>> bounds = np.array([1.0, 1.0])
    >>> round(rectangle_probability(-bounds, bounds, np.eye(2)), 4)
    0.4661
    >>> round(rectangle_probability(-bounds, bounds, np.ones((2, 2))), 4)
    0.6827
    """
    if np.any(lower > upper):
        return 0.0
    probability = 1.0
    for block in _blocks(correlation):
        inner = correlation[np.ix_(block, block)]
        probability *= _block_probability(lower[block], upper[block], inner)
    return float(probability)


def _blocks(correlation: Vector) -> list[NDArray[np.int64]]:
    """Split the coordinates into sets that are unrelated to each other."""
    if not len(correlation):
        return []
    reach = np.abs(correlation) > _NEGLIGIBLE
    for _ in range(len(reach).bit_length()):
        reach = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
    first = np.argmax(reach, axis=1)
    return [np.flatnonzero(first == label) for label in np.unique(first)]


def _block_probability(lower: Vector, upper: Vector, correlation: Vector) -> float:
    alone = ndtr(upper) - ndtr(lower)
    if len(alone) == 1:
        return float(alone[0])
    # The tightest bounds first: what is left to integrate varies less.
    order = np.argsort(alone, kind="stable")
    lower, upper = lower[order], upper[order]
    root, rank = _echelon_root(correlation[np.ix_(order, order)])
    last = _last_column(root)
    uniform = _lattice(rank)
    normal = np.zeros((rank, _POINTS))
    weight = np.ones(_POINTS)
    for column in range(rank):
        rows = np.flatnonzero(last == column)
        low, high = _bounds(lower[rows], upper[rows], root[rows], normal, column)
        below, above = ndtr(low), ndtr(high)
        inside = np.maximum(above - below, 0.0)
        weight *= inside
        position = np.clip(below + uniform[column] * inside, 1e-300, 1 - 1e-16)
        normal[column] = ndtri(position)
    return float(weight.mean())


def _echelon_root(correlation: Vector) -> tuple[Vector, int]:
    """Return ``L`` with ``L @ L.T == correlation`` and as many columns as the rank."""
    size = len(correlation)
    root = np.zeros((size, size))
    pivots: list[int] = []
    for row in range(size):
        for column, pivot in enumerate(pivots):
            known = root[row, :column] @ root[pivot, :column]
            root[row, column] = (correlation[row, pivot] - known) / root[pivot, column]
        left = correlation[row, row] - root[row] @ root[row]
        if left > _NEGLIGIBLE:
            root[row, len(pivots)] = np.sqrt(left)
            pivots.append(row)
    return root[:, : len(pivots)], len(pivots)


def _last_column(root: Vector) -> NDArray[np.int64]:
    """Return, for each row, the last column that it depends on."""
    used = np.abs(root) > np.sqrt(_NEGLIGIBLE)
    last: NDArray[np.int64] = root.shape[1] - 1 - np.argmax(used[:, ::-1], axis=1)
    return last


def _bounds(
    lower: Vector, upper: Vector, root: Vector, normal: Vector, column: int
) -> tuple[Vector, Vector]:
    """Return the bounds that `rows` put on one variable, given those before it."""
    known = root[:, :column] @ normal[:column]
    scale = root[:, column, None]
    one, other = (lower[:, None] - known) / scale, (upper[:, None] - known) / scale
    return np.minimum(one, other).max(axis=0), np.maximum(one, other).min(axis=0)


def _lattice(dimensions: int) -> Vector:
    """Return Richtmyer's lattice: multiples of the square roots of primes, folded."""
    roots = np.sqrt(_primes(dimensions))[:, None]
    position = (np.arange(1, _POINTS + 1) * roots + 0.5) % 1
    # Folding makes the integrand periodic, which the lattice rewards.
    folded: Vector = np.abs(2 * position - 1)
    return folded


def _primes(count: int) -> Vector:
    primes: list[int] = []
    candidate = 2
    while len(primes) < count:
        if all(candidate % prime for prime in primes):
            primes.append(candidate)
        candidate += 1
    return np.array(primes, dtype=np.float64)
