r"""A smooth last stretch: what is asked, without a referee, by L-BFGS.

A game on hinges stops where their bounds are loose: a hinge pays for scores that are far on the
right side, too. Close to the goal accuracies themselves, smoothed over a width h of scores
(:meth:`comparity.training.losses.PairFamily.smoothed_accuracy`), have a useful gradient, and what
is asked is a smooth program,

.. math:: \min_f L(f) \quad \text{s.t.} \quad g(f) = G \, a_h(f) + H t - s \le 0,

with L the squared error or the smoothed share of wrong orders, and in the robust form levels t that
are raised below all rates. It is solved by an augmented Lagrangian (Hestenes 1969, Powell 1969):
L-BFGS minimises

.. math::

    L(f) + \frac{1}{2 \mu} \sum_k \left( \max(0, \lambda_k + \mu g_k(f))^2 - \lambda_k^2 \right)

and multipliers then rise by what is missed, of the *true* accuracies: how far these are from the
smoothed ones is taken off the limits, so that smoothing has no part in what is kept in the end.

What a round of this ends at is one more candidate, and chosen as all others are. Of boosted trees
the values of leaves are polished; their splits stay as they were grown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.training.goals import Choices, Terms, differences, overall
from comparity.training.mixtures import minima
from comparity.training.models import Tree, sum_trees
from comparity.training.rows import Rows

Floats = NDArray[np.float64]

WIDTH = 0.3
"""Accuracies are smoothed over so many standard deviations of the scores begun with."""
ROUNDS = 3
"""So often multipliers are raised."""
ITERATIONS = 60
"""Of L-BFGS in each round."""
SEEN = (2, 5, 10, 20, 40)
"""After so many of them the model is a candidate; what has many parameters memorises rows."""
PENALTY = 20.0
"""Weight of squared violations: one of 0.01 costs 0.001, in errors or variances of labels."""


class Differentiable(Protocol):
    """A model as a function of its parameters, on given rows.

    Attributes
    ----------
    start : ndarray, (q,)
        The parameters of the model.
    """

    start: Floats

    def scores(self, parameters: Floats) -> Floats:
        """Return the scores of all rows."""

    def pull_back(self, parameters: Floats, slope: Floats) -> Floats:
        """Return the gradient in the parameters, from that in the scores."""

    def penalty(self, parameters: Floats) -> tuple[float, Floats]:
        """Return what parameters cost, with its gradient."""

    def model(self, parameters: Floats) -> Any:
        """Return the model that has these parameters, of the kind that it was made from."""


class AskedRates(NamedTuple):
    """Constraints on accuracies a and levels t: ``rates @ a + levels @ t <= limit``.

    Attributes
    ----------
    rates : ndarray, (m, C)
    levels : ndarray, (m, B)
        Without columns where differences are limited.
    limit : ndarray, (m,)
    """

    rates: Floats
    levels: Floats
    limit: Floats


def asked_of(
    rows: Rows, terms: Sequence[Terms], choices: Choices, shift: Floats | float = 0.0
) -> AskedRates:
    """Return what goals ask of accuracies.

    Parameters
    ----------
    rows, terms, choices
        Rows to train on, what is compared there, and how.
    shift : float or ndarray, (m,)
        By how much differences are larger on other rows than on these.
    """
    if choices.robust:
        blocks = minima(rows, terms, choices)
        below = np.repeat(np.eye(len(blocks)), [len(block) for block in blocks], axis=0)
        return AskedRates(-np.vstack(blocks), below, np.zeros(len(below)))
    rates = differences(terms)[0]
    return AskedRates(rates, np.zeros((len(rates), 0)), np.full(len(rates), choices.slack) - shift)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothProblem:
    """What L-BFGS minimises.

    Attributes
    ----------
    model : Differentiable
    rows : Rows
        Those that the model is of.
    asked : AskedRates
    width : float
        That accuracies are smoothed over.
    multipliers : ndarray, (m,)
    weight : float
        Of squared violations.
    """

    model: Differentiable
    rows: Rows
    asked: AskedRates
    width: float
    multipliers: Floats
    weight: float

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return the value at parameters and levels, with its gradient."""
        many = len(self.model.start)
        parameters, levels = point[:many], point[many:]
        scores = self.model.scores(parameters)
        # With a squared error beside two accuracies that are compared, one pass is enough.
        first = self.asked.rates[0] if self._along_a_line else None
        accuracy, line = self.rows.smoothed_accuracy(scores, self.width, first)
        missed = self.asked.rates @ accuracy + self.asked.levels @ levels - self.asked.limit
        pushed = np.maximum(self.multipliers + self.weight * missed, 0.0)
        value = float(pushed @ pushed - self.multipliers @ self.multipliers) / (2 * self.weight)
        weights, slope, cost = self._objective(scores, accuracy, levels)
        weights = weights + pushed @ self.asked.rates
        if first is None:
            line = self.rows.smoothed_accuracy(scores, self.width, weights)[1]
        else:
            line = line * float(weights @ first / (first @ first))
        slope = slope + line
        paid, dearer = self.model.penalty(parameters)
        down = self.model.pull_back(parameters, slope) + dearer
        up = pushed @ self.asked.levels - (1 / len(levels) if len(levels) else 0.0)
        return value + cost + paid, np.append(down, up)

    @property
    def _along_a_line(self) -> bool:
        """Whether all that weighs accuracies is a multiple of the first constraint."""
        rates = self.asked.rates
        alone = not self.rows.counts_orders and not self.asked.levels.size
        return alone and len(rates) == 2 and np.array_equal(rates[0], -rates[1])

    def _objective(
        self, scores: Floats, accuracy: Floats, levels: Floats
    ) -> tuple[Floats, Floats, float]:
        """Return what accuracies weigh in the objective, its slope in scores, and its value."""
        rows, nothing = self.rows, np.zeros(len(scores))
        if len(levels):
            return np.zeros(len(accuracy)), nothing, -float(levels.mean())
        if rows.judged is not None:
            return np.zeros(len(accuracy)), rows.judged.gradient(scores), rows.judged.bits(scores)
        if rows.target is None:
            share = overall(rows.pairs, rows.n_cells)
            return -share, nothing, float(1 - share @ accuracy)
        away = scores - rows.target
        return np.zeros(len(accuracy)), 2 * rows.share * away, float(rows.share @ away**2)


class Polished(NamedTuple):
    """What polishing came by.

    Attributes
    ----------
    models : list
        The model that each round ended at.
    multipliers : ndarray, (m,)
        What each constraint weighs in the end.
    """

    models: list[Any]
    multipliers: Floats


def polish(
    model: Differentiable, rows: Rows, asked: AskedRates, multipliers: Floats | None = None
) -> Polished:
    """Minimise round by round.

    Parameters
    ----------
    model : Differentiable
        What to begin with.
    rows : Rows
        Rows to train on, those of the model.
    asked : AskedRates
        What is to be kept there.
    multipliers : ndarray, (m,), optional
        Those that the model was polished with before, of which one round more is enough.

    Returns
    -------
    Polished
        Without models where all scores are equal: there is no width to smooth over.
    """
    scores, many = model.scores(model.start), len(model.start)
    spread = float(np.sqrt(rows.share @ (scores - rows.share @ scores) ** 2))
    rounds = ROUNDS if multipliers is None else 1
    pushed = np.zeros(len(asked.limit)) if multipliers is None else multipliers
    found = Polished([], pushed)
    if not 0 < spread < np.inf:
        return found
    rates = np.nan_to_num(rows.accuracy(scores))
    levels = np.array([(-asked.rates @ rates)[of > 0].min() for of in asked.levels.T])
    now, width = np.append(model.start, levels), WIDTH * spread
    for _ in range(rounds):
        problem = SmoothProblem(
            model=model,
            rows=rows,
            asked=asked._replace(limit=asked.limit - _bias(rows, asked, scores, width)),
            width=width,
            multipliers=found.multipliers,
            weight=PENALTY,
        )
        passed = _descend(problem, now)
        now = passed[-1]
        scores = model.scores(now[:many])
        if not np.isfinite(scores).all():
            break
        true = np.nan_to_num(rows.accuracy(scores))
        missed = asked.rates @ true + asked.levels @ now[many:] - asked.limit
        pushed = np.maximum(found.multipliers + PENALTY * missed, 0.0)
        found = Polished([*found.models, *(model.model(one[:many]) for one in passed)], pushed)
    return found


def _descend(problem: SmoothProblem, start: Floats) -> list[Floats]:
    """Return some of the points that L-BFGS comes by, the last one included."""
    from scipy.optimize import minimize

    passed: list[Floats] = []
    how = {"maxiter": ITERATIONS}
    last = minimize(
        problem,
        start,
        jac=True,
        method="L-BFGS-B",
        options=how,
        callback=lambda point: passed.append(point.copy()),
    ).x
    return [*(passed[at - 1] for at in SEEN if at < len(passed)), last]


def _bias(rows: Rows, asked: AskedRates, scores: Floats, width: float) -> Floats:
    """Return by how much more of each constraint is missed than smoothed accuracies say."""
    apart = np.nan_to_num(rows.accuracy(scores)) - rows.smoothed_accuracy(scores, width)[0]
    return np.asarray(asked.rates @ apart)


class Refitted(NamedTuple):
    """Trees whose leaves have other values than LightGBM gave them."""

    trees: tuple[Tree, ...]


class LeafParameters:
    """A sum of trees as a linear function of its leaves; see :mod:`comparity.training.polish`.

    Parameters
    ----------
    trees : tuple of Tree
        Splits, and the values to begin with.
    rows : Rows
    l2 : float
        Weight of the squares of values.

    Examples
    --------
    >>> from comparity.training.rows import Scale
    >>> up = Tree(
    ...     feature=np.array([0]), threshold=np.array([1.0]), missing=np.array([0]),
    ...     left=np.array([-1]), right=np.array([-2]), leaves=np.array([-0.5, 2.0]),
    ... )
    >>> X, scale = np.array([[1.0], [3.0]]), Scale(centre=np.zeros(1), unit=np.ones(1))
    >>> rows = Rows(
    ...     features=X, scale=scale, pairs=None, parity=None, target=None, weight=np.ones(2)
    ... )
    >>> leaves = LeafParameters((up, up), rows, l2=0.0)
    >>> leaves.scores(leaves.start).tolist(), leaves.scores(np.arange(4.0)).tolist()
    ([-1.0, 4.0], [2.0, 4.0])
    """

    def __init__(self, trees: tuple[Tree, ...], rows: Rows, l2: float) -> None:
        from scipy.sparse import csr_array

        self._trees, self._l2 = trees, l2
        self.start = np.concatenate([tree.leaves for tree in trees])
        sizes = np.array([len(tree.leaves) for tree in trees])
        self._ends = np.cumsum(sizes)
        n, many = len(rows.weight), len(trees)
        column = np.empty((n, many), dtype=np.int64)
        for place, tree in enumerate(trees):
            # With its own number as value of each leaf a tree says where a row ends.
            numbered = tree._replace(leaves=np.arange(sizes[place], dtype=np.float64))
            column[:, place] = sum_trees([numbered], rows.features)
        column += self._ends - sizes
        ones, ends = np.ones(n * many), many * np.arange(n + 1)
        self._falls = csr_array((ones, column.ravel(), ends), shape=(n, len(self.start)))
        self._turned = self._falls.T.tocsr()

    def scores(self, parameters: Floats) -> Floats:
        """Return the scores of all rows."""
        return np.asarray(self._falls @ parameters)

    def pull_back(self, parameters: Floats, slope: Floats) -> Floats:
        """Return the gradient in the values of leaves."""
        return np.asarray(self._turned @ slope)

    def penalty(self, parameters: Floats) -> tuple[float, Floats]:
        """Return what squares cost."""
        return self._l2 * float(parameters @ parameters), 2 * self._l2 * parameters

    def model(self, parameters: Floats) -> Refitted:
        """Return the trees with these values."""
        values = np.split(parameters, self._ends[:-1])
        pairs = zip(self._trees, values, strict=True)
        return Refitted(tuple(tree._replace(leaves=leaves) for tree, leaves in pairs))
