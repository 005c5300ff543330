r"""Errors of a fit whose comparisons are not independent: those of one cluster go together.

With H the curvature of the likelihood, P that of the priors and :math:`\Sigma = (H + P)^{-1}`, an
estimate deviates from the truth by :math:`\Sigma (u - P s)`, where u is the slope of the likelihood
at the truth and s has the prior's distribution. If comparisons are independent, the variance of u
is H. Otherwise it is

.. math:: M = f \sum_c (u_c - \bar u)(u_c - \bar u)^T, \qquad
          f = \frac{C}{C - 1} \frac{N - 1}{N - p}

with :math:`u_c` the slope over the comparisons of cluster c, C clusters, N comparisons and p
parameters told by data (Liang and Zeger, 1986; Hansen, 2007), and the covariance is
:math:`\Sigma (M + P) \Sigma = \Sigma + \Sigma (M - H) \Sigma`. So of every weighted sum of
parameters :math:`t^T \hat\theta`, with :math:`y = \Sigma t`, the variance grows by
:math:`y^T M y - y^T H y`: one solution and two passes.

An evaluator's own slopes sum to zero, but for the prior. An evaluator who judged in few clusters
keeps the larger of both errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.errors import OptionError
from comparity.ranking.likelihood.exact import Solving
from comparity.ranking.likelihood.objective import Penalised

Floats = NDArray[np.float64]

AT_ONCE = 256
"""Targets solved for at a time, which bounds memory."""
MOST_WORK = 2e10
"""Comparisons times targets: about two minutes."""
FEW_OF_ONE = 10
"""Clusters of an evaluator below which sums over them vary by a third and more of themselves."""


class Gains(ABC):
    """What is added to variances of weighted sums of parameters by what comparisons share.

    Parameters
    ----------
    solved : Solving
    """

    few: NDArray[np.bool_] | None = None
    """Evaluators whose biases keep the larger of both errors."""

    def __init__(self, solved: Solving) -> None:
        self._solved = solved

    def gains_of(self, targets: Floats) -> Floats:
        """Return by how much variances of weighted sums of parameters grow, column by column."""
        found = np.empty(targets.shape[1])
        for start in range(0, len(found), AT_ONCE):
            solved = self._solved.solve(targets[:, start : start + AT_ONCE])
            for place, one in enumerate(solved.T):
                found[start + place] = self.gain_along(np.ascontiguousarray(one))
        return found

    @abstractmethod
    def gain_along(self, solved: Floats) -> float:
        """Return the gain of one weighted sum, of which the solution is given."""


class ClusterGains(Gains):
    """What clusters add, at the point where an objective was evaluated last.

    Parameters
    ----------
    objective : Penalised
        Of comparisons that have clusters.
    solved : Solving
    """

    def __init__(self, objective: Penalised, solved: Solving) -> None:
        super().__init__(solved)
        rows = objective.data.rows
        assert rows.cluster is not None
        self._objective, self._cluster = objective, rows.cluster
        self._n = int(rows.cluster.max()) + 1
        self._slopes = objective.data.contributions(*objective.split(objective.point))
        self._factor = self._n / (self._n - 1) * _lost_freedom(objective, solved)
        if len(rows.better) * float(objective.size) > MOST_WORK:
            raise too_many_for_clusters(objective)
        both = np.unique(rows.evaluator.astype(np.int64) * self._n + self._cluster)
        self.few = np.bincount(both // self._n, minlength=rows.n_evaluators) < FEW_OF_ONE

    def gain_along(self, solved: Floats) -> float:
        """Return the gain of one weighted sum, of which the solution is given."""
        parts, rows = self._objective.split(solved), self._objective.data.rows
        sums = np.zeros(self._n)
        _add_by_cluster(*rows.columns(), *self._slopes, self._cluster, parts, sums)
        about = sums - sums.mean()
        image = self._objective.data.product(*parts)
        told = sum(float((one * two).sum()) for one, two in zip(parts, image, strict=True))
        return self._factor * float(about @ about) - told


def too_many_for_clusters(objective: Penalised) -> OptionError:
    """Return the error for fits whose errors are approximated or take too long to cluster."""
    why = (
        f"{objective.size:,} scores and biases from {len(objective.data.rows.better):,} comparisons"
        " are too many for errors that allow for clusters"
    )
    return OptionError("cluster", "given", ["no clusters", "fewer items or evaluators"], why)


def blocks_of(n: int) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers below n, some at a time."""
    for start in range(0, n, AT_ONCE):
        yield np.arange(start, min(start + AT_ONCE, n))


def _lost_freedom(objective: Penalised, solved: Solving) -> float:
    """Return (N - 1) / (N - p): residuals are smaller than errors by what parameters took up."""
    held = np.zeros(objective.size)
    scores, bias, _ = objective.split(held)
    scores += objective.penalty.scores
    bias += np.diagonal(objective.penalty.bias)
    told = float(np.clip(1 - held * solved.variances, 0.0, 1.0).sum())
    if objective.penalty.scores == 0:
        # Nothing tells where the scores are together.
        told -= objective.flat_basis.shape[1]
    n = len(objective.data.rows.better)
    return (n - 1) / max(n - told, 1.0)


@njit(cache=True, nogil=True)
def _add_by_cluster(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, slope, further, cluster, direction, sums
):
    """Add up the slope of each comparison along a direction, cluster by cluster."""
    scores, bias, extra = direction
    for p in range(len(better)):
        along = scores[better[p]] - scores[worse[p]]
        for c in range(contrast.shape[1]):
            along += contrast[p, c] * bias[evaluator[p], c]
        total = slope[p] * along
        for e in range(len(extra)):
            total += further[p, e] * extra[e]
        sums[cluster[p]] += total
