"""The stationary law of a walk whose rates are a sparse matrix plus one number everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, splu

__all__ = ["stationary"]

Floats = NDArray[np.float64]

# Up to so many items a dense solve takes no longer than the search for the vector.
DENSE = 400
# Walks that mix are found after a few; for the others a direct solve is quicker than more.
RESTARTS = 100


def stationary(rates: csr_array, everywhere: float) -> tuple[Floats, float]:
    """Return the stationary law of a walk that can get from every item to every other one.

    The rate from i to j is ``rates[i, j] + everywhere``. In balance what leaves an item comes in:
    ``leaving * law = rates.T @ law + everywhere * sum(law)``, where an item's rate to itself is
    counted on both sides.

    Parameters
    ----------
    rates : csr_array, (n, n)
        Without a diagonal; entries may be negative as long as the sum is not.
    everywhere : float
        Added to every entry.

    Returns
    -------
    law : ndarray
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
        law = _solved(incoming.toarray() + everywhere, leaving)
    else:
        law = _searched(incoming, everywhere, leaving)
    law = law / law.mean()
    imbalance = (incoming @ law + everywhere * law.sum()) / (leaving * law) - 1
    return law, float(np.abs(imbalance).max())


def _solved(incoming: Floats, leaving: Floats) -> Floats:
    """Solve the balance of all items but the last, whose law is set to 1."""
    balance = np.diag(leaving) - incoming
    return np.append(np.linalg.solve(balance[:-1, :-1], incoming[:-1, -1]), 1.0)


def _searched(incoming: csr_array, everywhere: float, leaving: Floats) -> Floats:
    """Search the leading vector of the walk that never stays, which needs the fewest steps."""

    def step(flow: Floats) -> Floats:
        law = flow.ravel() / leaving
        return np.asarray(incoming @ law + everywhere * law.sum())

    n = len(leaving)
    try:
        walk = LinearOperator((n, n), matvec=step, dtype=np.float64)
        _, vectors = eigs(walk, k=1, which="LR", v0=np.ones(n), tol=0, maxiter=RESTARTS)
    except ArpackNoConvergence:
        # Long chains of items mix slowly, and their balance is quick to solve.
        if everywhere > 0:
            return _solved(incoming.toarray() + everywhere, leaving)
        balance = (-incoming).tolil()
        balance.setdiag(leaving)
        last = incoming[:-1, [-1]].toarray().ravel()
        return np.append(splu(balance.tocsc()[:-1, :-1]).solve(last), 1.0)
    law: Floats = np.abs(vectors[:, 0].real) / leaving
    return law
