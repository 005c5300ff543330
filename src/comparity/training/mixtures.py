"""Trained models and mixtures of them; from many candidates to few.

A game has no last model that is best. A mixture of its iterates is, and a linear program finds one
with at most one member more than there are constraints (Cotter et al., "Optimization with
non-differentiable constraints with applications to fairness, recall, churn, and other goals",
JMLR 2019), because a vertex of its polytope has no more positive entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.tables.values import as_array, check_lengths, group_codes
from comparity.training.rows import check_features, unmasked

__all__ = [
    "Mixture",
    "Model",
    "StochasticScorer",
    "best_iterate",
    "best_of_minima",
    "mix",
    "mix_minima",
]


Floats = NDArray[np.float64]


class Model(Protocol):
    """A trained score of features in the units they were given in."""

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""


class StochasticScorer:
    """A mixture of scores: whoever scores draws one of them first.

    Parameters
    ----------
    members : sequence of Model
    probabilities : ndarray, (M,)
        How often each member is drawn.
    feature_names : ndarray of str, (p,), optional
        Names of the features in the order members take them, where they had names.

    Attributes
    ----------
    members, probabilities
        As given.
    feature_names_in_ : ndarray of str, (p,)
        Names of the features; only where they had names.
    coefficients : ndarray, (M, p)
        Of linear members; others have none.
    intercepts : ndarray, (M,)
        The same.
    """

    def __init__(
        self,
        members: Sequence[Model],
        probabilities: Floats,
        feature_names: NDArray[Any] | None = None,
    ) -> None:
        self.members = tuple(members)
        self.probabilities = probabilities
        if feature_names is not None:
            self.feature_names_in_ = feature_names

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def coefficients(self) -> Floats:
        """Coefficients of linear members."""
        return np.array([one.coefficients for one in self.members])  # type: ignore[attr-defined]

    @property
    def intercepts(self) -> Floats:
        """Intercepts of linear members."""
        return np.array([one.intercept for one in self.members])  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        shares = ", ".join(f"{share:.3g}" for share in self.probabilities)
        return f"<{type(self).__name__} of {len(self)}, drawn with probabilities {shares}>"

    def draw(self, rng: np.random.Generator | int | None = None) -> int:
        """Draw a member; all items that are to be compared are scored by the same."""
        return int(np.random.default_rng(rng).choice(len(self), p=self.probabilities))

    def predict(
        self,
        X: ArrayLike,
        member: int | None = None,
        *,
        queries: ArrayLike | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> Floats:
        """Return the scores of one member, a given one or one that is drawn.

        Scores of different members are not comparable, so that one member scores all rows, or with
        `queries` all rows of a query. What training says of the mixture holds on average over
        draws.

        Parameters
        ----------
        X : array-like, (n, p)
            Features, finite. Columns of a frame are those trained on, in their order.
        member : int, optional
            Which member; drawn by default.
        queries : array-like, (n,), optional
            Draw a member for each query.
        rng : Generator, int or None
            For the draws.

        Examples
        --------
        >>> from comparity.training.scorers import LinearModel
        >>> up, down = LinearModel(np.ones(1), 0.0), LinearModel(-np.ones(1), 0.0)
        >>> mixture = StochasticScorer([up, down], np.array([0.75, 0.25]))
        >>> mixture.predict([[1.0], [2.0]], 1).tolist()
        [-1.0, -2.0]
        """
        self._check_names(X)
        features = np.asarray(unmasked(X), dtype=np.float64)
        check_features(features, getattr(self, "feature_names_in_", None))
        if member is not None or queries is None:
            return self.members[self.draw(rng) if member is None else member].scores(features)
        column = as_array(queries, "queries")
        check_lengths({"X": features, "queries": column})
        query = group_codes(column, "queries", "item", several=False)[0]
        generator, many = np.random.default_rng(rng), int(query.max(initial=-1)) + 1
        drawn = generator.choice(len(self), size=many, p=self.probabilities)[query]
        scores = np.empty(len(features))
        for place in np.unique(drawn):
            scores[drawn == place] = self.members[place].scores(features[drawn == place])
        return scores

    def _check_names(self, X: ArrayLike) -> None:
        """Refuse a frame whose columns are others, or in another order, as ``fit`` would."""
        if hasattr(self, "feature_names_in_"):
            # Imported here: models that are read from a file score without scikit-learn.
            from sklearn.utils.validation import _check_feature_names

            _check_feature_names(self, X, reset=False)


ASTRAY = 1e6
"""Objectives are shares of pairs, or squared errors in variances of labels: 1 knows nothing."""


HAIRS = (0.0, 1e-9, 1e-7, 1e-5)
"""Limits are loosened by so much, one after the other, while rounding leaves nothing within."""


UNSOLVED = 4
"""What scipy answers where a solver came to no end."""


NEGLIGIBLE = 1e-6
"""Probabilities below it are rounding of the linear program: nobody would ever draw the member."""


class Mixture(NamedTuple):
    """Candidates drawn at random.

    Attributes
    ----------
    members : ndarray of int
        Positions of the candidates used.
    probabilities : ndarray
        How often each is drawn.
    excess : float
        How far the worst constraint is missed on average; 0 where all are kept.
    """

    members: NDArray[np.int64]
    probabilities: Floats
    excess: float


def mix(
    objective: Floats, excess: Floats, *, spans: Sequence[Floats] = (), slack: float = 0.0
) -> Mixture:
    """Return the mixture with the least mean objective that keeps all constraints on average.

    Parameters
    ----------
    objective : ndarray, (S,)
        What to minimise, by candidate.
    excess : ndarray, (S, m)
        Constraints by candidate, kept where at most 0.
    spans : sequence of ndarray, (S, T)
        Rates by candidate, of which no two may be farther apart than the slack.
    slack : float
        Of the spans.

    Returns
    -------
    Mixture
        Of at most one member more than there are constraints, two for each rate of a span. Where no
        mixture keeps all constraints, the best of those that miss the worst one by least.

    Examples
    --------
    >>> objective, excess = np.array([0.1, 0.3]), np.array([[0.1, -0.1], [-0.1, 0.1]])
    >>> mixture = mix(objective, excess)
    >>> mixture.members.tolist(), mixture.probabilities.round(2).tolist(), mixture.excess
    ([0, 1], [0.5, 0.5], 0.0)
    """
    n, free = len(objective), 2 * len(spans)
    widths, within = _spanned(n, spans)
    kept = np.vstack([np.column_stack([excess.T, np.zeros((excess.shape[1], free))]), widths])
    limit = np.append(np.zeros(excess.shape[1]), np.full(len(spans), slack))
    limits, total = np.vstack([kept, within]), np.append(np.ones(n), np.zeros(free))
    least = 0.0
    if len(kept):
        # Last variable: the amount by which every constraint may be missed.
        missed = np.append(-np.ones(len(kept)), np.zeros(len(within)))[:, None]
        target, bounds = np.append(np.zeros(n + free), 1.0), _bounds(limit, within)
        least = _solved(target, np.hstack([limits, missed]), bounds, np.append(total, 0.0))[-1]
    allowed = _bounds(limit + max(0.0, least), within)
    loose = np.append(np.ones(len(kept)), np.zeros(len(within)))
    return _mixture(_best(objective, limits, allowed, total, loose), max(0.0, float(least)))


def _spanned(n: int, spans: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the widths of spans, and what is at most 0 where their rates are within.

    Variables are the shares of candidates, then the least and the largest rate of each span.
    """
    widths, rows = np.zeros((len(spans), n + 2 * len(spans))), []
    for place, rates in enumerate(spans):
        ends = np.zeros((2, rates.shape[1], 2 * len(spans)))
        ends[0, :, 2 * place], ends[1, :, 2 * place + 1] = 1.0, -1.0
        rows += [np.hstack([-rates.T, ends[0]]), np.hstack([rates.T, ends[1]])]
        widths[place, n + 2 * place : n + 2 * place + 2] = -1.0, 1.0
    return widths, np.vstack(rows) if rows else np.zeros((0, n))


def _bounds(limit: Floats, within: Floats) -> Floats:
    return np.append(limit, np.zeros(len(within)))


def mix_minima(blocks: Sequence[Floats], objective: Floats) -> Mixture:
    """Return the mixture with the largest sum of minima of mean rates.

    Parameters
    ----------
    blocks : sequence of ndarray, (S, T)
        The rates of each minimum, by candidate.
    objective : ndarray, (S,)
        What to minimise among mixtures with the same sum: where two rates add up to 1, as those of
        statistical parity do, none raises the least one above a half, and many reach it.
    """
    n, b = len(blocks[0]), len(blocks)
    rows = []
    for place, block in enumerate(blocks):
        bound = np.zeros((block.shape[1], b))
        bound[:, place] = 1.0
        rows.append(np.column_stack([-block.T, bound]))
    limits = np.vstack(rows)
    target = np.append(np.zeros(n), -np.ones(b))
    total = np.append(np.ones(n), np.zeros(b))
    bounds = np.zeros(len(limits))
    largest = target @ _solved(target, limits, bounds, total)
    limits, loose = np.vstack([limits, target]), np.append(bounds, 1.0)
    bounds = np.append(bounds, largest)
    return _mixture(_best(objective, limits, bounds, total, loose), 0.0)


def best_iterate(objective: Floats, excess: Floats, *, useless: float = np.inf) -> int:
    """Return the candidate that is nowhere far behind in keeping constraints.

    Each constraint ranks candidates by how far they miss it; the candidate whose worst rank is
    best is chosen, of several the one with the least objective. Where some candidates keep all
    constraints, that is the best of them.

    Parameters
    ----------
    objective : ndarray, (S,)
        What to minimise, by candidate.
    excess : ndarray, (S, m)
        Constraints by candidate, kept where at most 0.
    useless : float
        Candidates whose objective is no less are passed over while there are others: what knows
        nothing, or turns an order round, keeps many a constraint.

    Examples
    --------
    >>> objective, excess = np.array([0.1, 0.3, 0.9]), np.array([[0.2], [0.1], [0.0]])
    >>> best_iterate(objective, excess), best_iterate(objective, excess, useless=0.5)
    (2, 1)
    """
    missed = np.maximum(excess, 0.0)
    if (objective < useless).any():
        missed = np.where((objective < useless)[:, None], missed, np.inf)
    ranks = [np.unique(column, return_inverse=True)[1] for column in missed.T]
    worst = np.max(ranks, axis=0) if ranks else np.zeros(len(objective))
    tied = np.flatnonzero(worst == worst.min())
    return int(tied[np.argmin(objective[tied])])


def best_of_minima(blocks: Sequence[Floats]) -> int:
    """Return the candidate with the largest sum of minima."""
    return int(np.argmax(np.sum([block.min(axis=1) for block in blocks], axis=0)))


def _best(
    objective: Floats, limits: Floats, bounds: Floats, total: Floats, loose: Floats
) -> Floats:
    """Return the shares of least objective within bounds, of which some are loose by a hair."""
    n = len(objective)
    # What went astray is as bad as can be, and no worse than the solver can tell.
    tamed = np.minimum(np.nan_to_num(objective, nan=ASTRAY, posinf=ASTRAY), ASTRAY)
    target = np.append(tamed, np.zeros(len(total) - n))
    answers = (_answer(target, limits, bounds + hair * loose, total) for hair in HAIRS)
    found = next((answer.x for answer in answers if answer.success), None)
    assert found is not None, "the mixture that misses least is within its bounds"
    shares: Floats = found[:n]
    return shares


def _solved(target: Floats, limits: Floats, bounds: Floats, total: Floats) -> Floats:
    """Minimise a linear form over mixtures (and free variables, where `total` is 0)."""
    answer = _answer(target, limits, bounds, total)
    # A mixture always exists, and the target is bounded on mixtures.
    assert answer.success, answer.message
    found: Floats = answer.x
    return found


def _answer(target: Floats, limits: Floats, bounds: Floats, total: Floats) -> Any:
    from scipy.optimize import linprog

    # The simplex method has few members; among candidates that hardly differ it may not end.
    for method in ("highs-ds", "highs-ipm"):
        answer = linprog(
            target,
            A_ub=limits if len(limits) else None,
            b_ub=bounds if len(limits) else None,
            A_eq=total[None, :],
            b_eq=[1.0],
            bounds=[(0, None) if one else (None, None) for one in total],
            method=method,
        )
        if answer.status != UNSOLVED:
            break
    return answer


def _mixture(shares: Floats, excess: float) -> Mixture:
    members = np.flatnonzero(shares > NEGLIGIBLE)
    chosen = shares[members]
    return Mixture(members, chosen / chosen.sum(), excess)
