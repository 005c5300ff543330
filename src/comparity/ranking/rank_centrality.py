r"""Rank Centrality: where a random walk that moves to winners spends its time.

The walk goes from item i to item j at a rate equal to the share :math:`a_{ij}` of their comparisons
that j won, and stays otherwise:

.. math:: P_{ij} = a_{ij} / c \ (i \ne j), \qquad P_{ii} = 1 - \sum_{j \ne i} a_{ij} / c

with c at least the largest sum of rates, so that all entries are probabilities. The stationary
distribution :math:`\pi` does not depend on c; under a Bradley-Terry model it tends to
:math:`\pi_i \propto e^{s_i}`, so its logarithm is a score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, splu

from comparity.errors import NoPriorError
from comparity.ranking.connectivity import Diagnosis, diagnose
from comparity.ranking.fits import check_amount
from comparity.ranking.judgments import Judgments, judgments_of
from comparity.ranking.options import RankingModel
from comparity.ranking.result import Ranking, ranking_of
from comparity.ranking.simple_models import log_likelihood_at
from comparity.tables.columns import check_option
from comparity.tables.typing import Column, Comparisons

Floats = NDArray[np.float64]


# Up to so many items a dense solve takes no longer than the search for the vector.
DENSE = 400


# Walks that mix are found after a few; for the others a direct solve is quicker than more.
RESTARTS = 100


def stationary(rates: csr_array, everywhere: float) -> tuple[Floats, float]:
    """Return the stationary distribution of a walk that can get from every item to every other one.

    The rate from i to j is ``rates[i, j] + everywhere``. In balance what leaves an item comes in:
    ``leaving * weights = rates.T @ weights + everywhere * sum(weights)``, where an item's rate to
    itself is counted on both sides.

    Parameters
    ----------
    rates : csr_array, (n, n)
        Without a diagonal; entries may be negative as long as the sum is not.
    everywhere : float
        Added to every entry.

    Returns
    -------
    weights : ndarray
        Positive, with mean 1.
    error : float
        Largest relative imbalance of an item.
    """
    n = rates.shape[0]
    if n == 1:
        return np.ones(1), 0.0
    leaving = np.asarray(rates.sum(axis=1)).ravel() + everywhere * n
    incoming = rates.T.tocsr()
    if n <= DENSE:
        weights = _solve_balance(incoming.toarray() + everywhere, leaving)
    else:
        weights = _search_vector(incoming, everywhere, leaving)
    weights = weights / weights.mean()
    imbalance = (incoming @ weights + everywhere * weights.sum()) / (leaving * weights) - 1
    return weights, float(np.abs(imbalance).max())


def _solve_balance(incoming: Floats, leaving: Floats) -> Floats:
    """Solve the balance of all items but the last, whose share is set to 1."""
    balance = np.diag(leaving) - incoming
    return np.append(np.linalg.solve(balance[:-1, :-1], incoming[:-1, -1]), 1.0)


def _search_vector(incoming: csr_array, everywhere: float, leaving: Floats) -> Floats:
    """Search the leading vector of the walk that never stays, which needs the fewest steps."""

    def step(flow: Floats) -> Floats:
        weights = flow.ravel() / leaving
        return np.asarray(incoming @ weights + everywhere * weights.sum())

    n = len(leaving)
    try:
        walk = LinearOperator((n, n), matvec=step, dtype=np.float64)
        _, vectors = eigs(walk, k=1, which="LR", v0=np.ones(n), tol=0, maxiter=RESTARTS)
    except ArpackNoConvergence:
        # Long chains of items mix slowly, and their balance is quick to solve.
        if everywhere > 0:
            return _solve_balance(incoming.toarray() + everywhere, leaving)
        balance = (-incoming).tolil()
        balance.setdiag(leaving)
        last = incoming[:-1, [-1]].toarray().ravel()
        return np.append(splu(balance.tocsc()[:-1, :-1]).solve(last), 1.0)
    weights: Floats = np.abs(vectors[:, 0].real) / leaving
    return weights


SMOOTHED = ("compared", "all")


def rank_centrality(
    comparisons: Comparisons | Judgments,
    *,
    n_items: int | None = None,
    ties: Column | None = None,
    smoothing: float = 0.5,
    smoothed: str = "compared",
    teleport: float = 0.0,
) -> Ranking:
    r"""Rank items by the stationary distribution of a walk along comparisons.

    Negahban, Oh and Shah [1]_. Nothing is known of evaluators, so their biases stay in the scores.

    Parameters
    ----------
    comparisons : array_like of int, shape (n, 2), or frame with columns ``better`` and ``worse``
        Positions of the items, the better one first.
    n_items : int, optional
        How many items there are; one more than the largest position by default.
    ties : array_like of bool, or name of a column, optional
        Which comparisons are ties. A tie is half a win for each item.
    smoothing : float
        Wins added to each side of a pair: its rate is
        :math:`(w_{ij} + \epsilon) / (n_{ij} + 2 \epsilon)`. With 0, the original walk, every item
        must have won and lost along chains that join all items.
    smoothed : {"compared", "all"}
        Whether only pairs that were compared are smoothed, or all; then a pair that never met has
        the rate 1/2 (the regularisation of the library choix).
    teleport : float
        Rate added between every two items. The published code for [2]_ adds 1 and takes no
        smoothing; it divides by too small a c, so that its matrix has negative entries, but its
        leading vector is the stationary distribution of the proper walk with these rates.

    Returns
    -------
    Ranking
        Scores :math:`\log \pi_i` with mean zero, without standard errors, and
        ``parameters["stationary"]``. The log-likelihood is that of a Bradley-Terry model with these
        scores. Parts that were never compared with each other have mean score zero each.

    Raises
    ------
    NoPriorError
        If there is neither smoothing nor teleport and some item would hold all of the walk.

    References
    ----------
    .. [1] Negahban, Oh and Shah, "Rank Centrality: ranking from pairwise comparisons", Operations
       Research 2017.
    .. [2] Ferrara, Bonchi, Fabbri, Karimi and Wagner, "Bias-aware ranking from pairwise
       comparisons", 2024.

    Examples
    --------
    >>> fit = rank_centrality([[0, 1], [0, 1], [0, 1], [1, 0]], smoothing=0)
    >>> fit.parameters["stationary"].round(2).tolist(), fit.scores.round(3).tolist()
    ([0.75, 0.25], [0.549, -0.549])
    """
    judgments = judgments_of(comparisons, n_items=n_items, ties=ties)
    _check(smoothing, smoothed, teleport)
    diagnosis = diagnose(judgments)
    everywhere = teleport + (0.5 if smoothed == "all" and smoothing > 0 else 0.0)
    if smoothing == 0 and everywhere == 0 and diagnosis.is_separated:
        found = f"{diagnosis.n_strong_components:,} parts that lose in one direction only"
        raise NoPriorError("scores of a walk without smoothing", found)
    rates = _rates(judgments, smoothing)
    if smoothed == "all" and smoothing > 0:
        # 1/2 is everywhere already; compared pairs differ from it by so much.
        rates.data -= 0.5
    weights, error = _stationary_by_part(rates, everywhere, diagnosis)
    scores = np.log(weights)
    scores -= scores.mean()
    return ranking_of(
        RANK_CENTRALITY.name,
        judgments,
        diagnosis,
        scores,
        log_likelihood=log_likelihood_at(judgments, scores),
        converged=error <= 1e-8,
        parameters={"stationary": weights / weights.sum()},
        gradient_norm=error,
        notes=_notes(judgments, smoothing, smoothed, teleport),
        provenance={"smoothing": smoothing, "smoothed": smoothed, "teleport": teleport},
    )


RANK_CENTRALITY = RankingModel(
    name="Rank Centrality",
    fit=rank_centrality,
    about="where a random walk that moves to winners spends its time",
    source="Negahban, Oh and Shah (2017)",
    accepts=("ties",),
)


def _rates(judgments: Judgments, smoothing: float) -> csr_array:
    """Return the share of wins of the column's item over the row's, for pairs that met."""
    won = np.ones(len(judgments))
    lost = np.zeros(len(judgments))
    if judgments.tied is not None:
        won, lost = np.where(judgments.tied, 0.5, won), np.where(judgments.tied, 0.5, lost)
    n = judgments.n_items
    # Rows are the item the walk leaves. Both directions are stored, even without a win, so that
    # the transposed matrix has the same entries in the same places.
    rows = np.concatenate([judgments.worse, judgments.better])
    columns = np.concatenate([judgments.better, judgments.worse])
    wins = coo_array((np.concatenate([won, lost]), (rows, columns)), shape=(n, n)).tocsr()
    wins.sum_duplicates()
    met = wins.T.tocsr()
    met.sum_duplicates()
    met.data += wins.data
    wins.data = (wins.data + smoothing) / (met.data + 2 * smoothing)
    return wins


def _stationary_by_part(
    rates: csr_array, everywhere: float, diagnosis: Diagnosis
) -> tuple[Floats, float]:
    """Return the distribution within each part of the items; the mean of its logarithm is 0."""
    n = rates.shape[0]
    parts = diagnosis.component if everywhere == 0 else np.zeros(n, dtype=np.int64)
    weights, worst = np.ones(n), 0.0
    for part in range(int(parts.max()) + 1):
        inside = np.flatnonzero(parts == part)
        found, error = stationary(rates[inside][:, inside], everywhere)
        weights[inside] = found / np.exp(np.log(found).mean())
        worst = max(worst, error)
    return weights, worst


def _notes(judgments: Judgments, smoothing: float, smoothed: str, teleport: float) -> list[str]:
    notes = [f"{smoothing:g} wins added to each side of {smoothed} pairs."] if smoothing else []
    if teleport:
        notes.append(f"A rate of {teleport:g} added between every two items.")
    return [*notes, *judgments.notes_on_ties]


def _check(smoothing: float, smoothed: str, teleport: float) -> None:
    check_option("smoothed", smoothed, SMOOTHED)
    check_amount("smoothing", smoothing)
    check_amount("teleport", teleport)
