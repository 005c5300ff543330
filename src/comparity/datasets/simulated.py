r"""Simulated data whose truth is known in closed form: a year of hiring, and a task of ranking.

**Hiring.** Applicant :math:`i` is a woman (:math:`f_i = 1`) or a man, half and half, of quality
:math:`q_i \sim N(0, \tau^2)`, alike in both groups. A model sees features of the file, not quality:

.. math:: x_{ip} = a_p q_i + c_p f_i + \sigma_p u_{ip}, \qquad u_{ip} \sim N(0, 1).

Judge :math:`k` prefers :math:`i` to :math:`j` with log odds

.. math:: q_i - q_j - \theta_k (f_i - f_j),

where :math:`\theta_k`, what the judge adds to men, is zero or the lean of the world.

A model scores by weights of features. Given the sexes, the differences of quality and score of two
applicants are jointly normal, so every rate an audit estimates is a one-dimensional integral,
worked out here to ten digits.

**Ranking**, the simulated task of Narasimhan et al. [1]_. Every query has 11 candidates, one of
them positive, with two features that are normal in each group and label. A linear score w is then
normal, too, so that

.. math:: A(i > j) = \Phi \left( \frac{w \cdot (\mu_{+i} - \mu_{-j})}
    {\sqrt{w^T (S_{+i} + S_{-j}) w}} \right).

The mean of negative items of group 0 is (-1, -1), as in the authors' code; the text prints (-1, 1),
with which their figures do not come out. The text prints (-1, 1) for the third group, too, and
again only (-1, -1) gives the figures: best robust 0.915 with marginals 0.066 apart (published 0.91,
0.07), best mixture within 0.01 0.713 (0.72); with (-1, 1) these are 0.716, 0.118 and 0.565.

References
----------
.. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression", AAAI
   2020.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from comparity.counts.pairs import Cell

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GROUPS = ("f", "m")
# Beyond so many standard deviations of quality a normal density is nothing.
REACH = 12.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """Applicants of one round and what judges said of pairs of them.

    Attributes
    ----------
    items : ndarray of str
        Names of the applicants.
    sex : ndarray of str
        ``"f"`` or ``"m"``.
    quality : ndarray
        What nobody sees.
    features : ndarray, (n, p)
        What a model sees.
    pairs : ndarray of int, (m, 2)
        Positions of the two applicants of each judgment, the preferred one first.
    judges : ndarray of int
        Who judged.
    """

    items: NDArray[Any]
    sex: NDArray[Any]
    quality: Floats
    features: Floats
    pairs: Ints
    judges: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Hiring:
    """The assumptions of a simulated hiring year, and everything that is true of it.

    Attributes
    ----------
    features : tuple of str
        What a model sees of an applicant.
    slopes, shifts, noises : tuple of float
        What one unit of quality adds to each feature, what it has more for women, and the standard
        deviation of its error. By default a work sample shows quality alike in both groups,
        references understate women, and unbroken years of work say nothing of quality but are
        more for men.
    spread : float
        Standard deviation of quality, in logits of a judge.
    lean : float
        What a judge who leans adds to men, in logits.
    n_judges, n_leaning : int
        Judges in all, and those who lean.
    """

    features: tuple[str, ...] = ("work_sample", "references", "unbroken_years")
    slopes: tuple[float, ...] = (1.0, 1.0, 0.0)
    shifts: tuple[float, ...] = (0.0, -0.5, -1.0)
    noises: tuple[float, ...] = (1.5, 1.0, 1.0)
    spread: float = 2.0
    lean: float = 1.2
    n_judges: int = 90
    n_leaning: int = 60

    @property
    def judge_names(self) -> NDArray[Any]:
        """Names of the judges, in the order of `leans`."""
        return np.array([f"j{number:03d}" for number in range(1, self.n_judges + 1)])

    @property
    def leans(self) -> Floats:
        """What each judge adds to men; those who lean are spread evenly over the panel."""
        place = np.arange(self.n_judges)
        leaning = (place + 1) * self.n_leaning // self.n_judges > place * self.n_leaning // (
            self.n_judges
        )
        return np.where(leaning, self.lean, 0.0).astype(np.float64)

    def draw(
        self, *, n_items: int, n_judgments: int, rng: np.random.Generator, prefix: str = "a"
    ) -> Round:
        """Draw a round: applicants, and pairs of them dealt out to the judges evenly.

        Parameters
        ----------
        n_items, n_judgments : int
            How many.
        rng : numpy.random.Generator
            Source of randomness.
        prefix : str
            What the names of this round's applicants begin with.

        Examples
        --------
        >>> one = Hiring().draw(n_items=50, n_judgments=200, rng=np.random.default_rng(1))
        >>> one.features.shape, one.pairs.shape
        ((50, 3), (200, 2))
        """
        woman = rng.random(n_items) < 0.5
        quality = self.spread * rng.normal(size=n_items)
        errors = rng.normal(size=(n_items, len(self.features))) * self.noises
        left = rng.integers(n_items, size=n_judgments)
        # A shift of 1 to n - 1 places never leads back to the same applicant.
        right = (left + rng.integers(1, n_items, size=n_judgments)) % n_items
        judges = np.arange(n_judgments) % self.n_judges
        seen = quality[left] - quality[right]
        seen = seen - self.leans[judges] * (woman[left].astype(float) - woman[right])
        shown = np.column_stack([left, right])
        first = rng.logistic(size=n_judgments) < seen
        return Round(
            items=np.array([f"{prefix}{number:05d}" for number in range(1, n_items + 1)]),
            sex=np.where(woman, *GROUPS),
            quality=quality,
            features=np.outer(quality, self.slopes) + np.outer(woman, self.shifts) + errors,
            pairs=np.where(first[:, None], shown, shown[:, ::-1]),
            judges=judges,
        )

    def agreement_with_judges(self, weights: Sequence[float], cell: Cell) -> float:
        """Return how often weights of features order a pair as its judge did, in one cell.

        Examples
        --------
        The judges put a woman first only where she is much better, which no model can miss:

        >>> world, blind = Hiring(), [1.0, 0.0, 0.0]
        >>> women_first = world.agreement_with_judges(blind, Cell("f", "m"))
        >>> women_first > world.agreement_with_judges(blind, Cell("m", "f"))
        True
        """
        side = _side(cell)

        def share_of_judges(d: Floats) -> Floats:
            odds = d[:, None] - self.leans * side
            shares: Floats = (1 / (1 + np.exp(-odds))).mean(axis=1)
            return shares

        return self._agreement(weights, side, share_of_judges, -REACH)

    def agreement_with_quality(self, weights: Sequence[float], cell: Cell) -> float:
        """Return how often weights of features order a pair as quality does, in one cell."""
        return self._agreement(weights, _side(cell), np.ones_like, 0.0)

    def gaps_with_judges(self, weights: Sequence[float]) -> dict[str, float]:
        """Return the true gaps of an audit against the judges, by hypothesis."""
        return _gaps(lambda cell: self.agreement_with_judges(weights, cell))

    def gaps_with_quality(self, weights: Sequence[float]) -> dict[str, float]:
        """Return the true gaps of an audit against quality, by hypothesis.

        Examples
        --------
        >>> [round(gap, 9) for gap in Hiring().gaps_with_quality([1, 0, 0]).values()]
        [0.0, 0.0, 0.0]
        """
        return _gaps(lambda cell: self.agreement_with_quality(weights, cell))

    def _agreement(
        self,
        weights: Sequence[float],
        side: int,
        preferred: Callable[[Floats], Floats],
        start: float,
    ) -> float:
        """Integrate over the difference of quality, from `start` in its standard deviations."""
        slope, shift = np.dot(weights, self.slopes), np.dot(weights, self.shifts)
        error = np.sqrt(2) * np.linalg.norm(np.multiply(weights, self.noises))
        # The integrand is smooth between the ends: 400 nodes leave an error below 1e-12.
        nodes, node_weights = np.polynomial.legendre.leggauss(400)
        z = start + (nodes + 1) * (REACH - start) / 2
        d = np.sqrt(2) * self.spread * z
        mass = node_weights * np.exp(-(z**2) / 2) * preferred(d)
        return float(mass @ ndtr((slope * d + shift * side) / error) / mass.sum())


def _side(cell: Cell) -> int:
    """Return 1 where the better is a woman and the worse a man, -1 where it is the other way."""
    return (cell.better == "f") - (cell.worse == "f")


def _gaps(agreement: Callable[[Cell], float]) -> dict[str, float]:
    first, second = GROUPS
    across = Cell(first, second), Cell(second, first)
    within = Cell(first, first), Cell(second, second)
    gaps = {
        f"agree({one}) = agree({other})": agreement(one) - agreement(other)
        for one, other in (across, within)
    }
    kinds = (sum(map(agreement, across)) - sum(map(agreement, within))) / 2
    return {**gaps, "agree(across) = agree(within)": kinds}


MEANS = {
    (1, 0): (1.0, 0.0),
    (1, 1): (-1.5, 0.75),
    (0, 0): (-1.0, -1.0),
    (0, 1): (-2.0, -1.0),
    (1, 2): (1.5, 0.5),
    (0, 2): (-1.0, -1.0),
}
"""Mean of both features, by label and group."""
SPREADS = {(1, 0): 1.0, (1, 1): 0.5, (0, 0): 1.0, (0, 1): 1.0, (1, 2): 1.0, (0, 2): 1.0}
"""Variance of each feature, by label and group."""
TWO = (0.9, 0.1)
"""How often an item is of each of two groups."""
THREE = (0.45, 0.1, 0.45)
"""The same with three groups."""
CANDIDATES = 11


def ranking(
    queries: int, rng: np.random.Generator, shares: tuple[float, ...] = TWO
) -> tuple[Floats, Ints, Ints, Ints]:
    """Return features, labels, groups and queries of simulated candidates.

    Parameters
    ----------
    queries : int
        Number of queries, of 11 candidates each.
    rng : numpy.random.Generator
    shares : tuple of float
        How often an item is of each group.

    Examples
    --------
    >>> features, label, group, query = ranking(100, np.random.default_rng(0))
    >>> features.shape, int(label.sum()), int(query.max())
    ((1100, 2), 100, 99)
    """
    label = np.zeros((queries, CANDIDATES), dtype=np.int64)
    label[np.arange(queries), rng.integers(0, CANDIDATES, queries)] = 1
    group = rng.choice(len(shares), size=(queries, CANDIDATES), p=shares)
    features = np.empty((queries, CANDIDATES, 2))
    for y in (0, 1):
        for a in range(len(shares)):
            rows = (label == y) & (group == a)
            noise = np.sqrt(SPREADS[y, a]) * rng.normal(size=(rows.sum(), 2))
            features[rows] = np.array(MEANS[y, a]) + noise
    query = np.repeat(np.arange(queries), CANDIDATES)
    return features.reshape(-1, 2), label.ravel(), group.ravel(), query


def population(direction: Floats, shares: tuple[float, ...] = TWO) -> tuple[Floats, float]:
    """Return the matrix of accuracies, and the accuracy over all pairs, of a linear score.

    Parameters
    ----------
    direction : ndarray, (2,)
        Weights of the features.
    shares : tuple of float
        How often an item is of each group.

    Examples
    --------
    >>> matrix, overall = population(np.array([np.cos(0.707), np.sin(0.707)]))
    >>> matrix.round(2).tolist(), round(overall, 2)
    ([[0.94, 0.98], [0.73, 0.89]], 0.92)
    """
    k = len(shares)
    matrix = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            shift = direction @ (np.array(MEANS[1, i]) - np.array(MEANS[0, j]))
            spread = (SPREADS[1, i] + SPREADS[0, j]) * (direction @ direction)
            matrix[i, j] = ndtr(shift / np.sqrt(spread))
    return matrix, float(np.outer(shares, shares).ravel() @ matrix.ravel())


def mix_populations(
    scores: Floats, probabilities: Floats, shares: tuple[float, ...] = TWO
) -> tuple[Floats, float]:
    """Return the mean of both over a mixture of linear scores, one to a row."""
    found = [population(direction, shares) for direction in scores]
    matrix = np.sum([p * one[0] for p, one in zip(probabilities, found, strict=True)], axis=0)
    return matrix, float(probabilities @ np.array([one[1] for one in found]))


def directions(step: float = 0.1) -> Floats:
    """Return unit vectors all around: two features have no other linear orders.

    Parameters
    ----------
    step : float
        In degrees.
    """
    angles = np.radians(np.arange(0, 360, step))
    return np.column_stack([np.cos(angles), np.sin(angles)])
