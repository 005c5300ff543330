r"""Errors of scores and biases as nearly as a few passes over comparisons tell them.

Fits of many parameters cannot invert their Hessian. Scores are taken to the second order in the
share of their opponents, which is right where items are a few comparisons apart; where scores alone
make a band (:mod:`comparity.ranking.likelihood.banded`), that order serves only for what biases add
to the exact variances. An evaluator's biases have the covariance

.. math:: V_k = \Big(H_k - \frac{r_k^T A_k^{-1} r_k}{1 - \pi_k}\Big)^{-1}, \qquad
          r_k = b_k - \sum_l b_l \Big(\sum_l D_l\Big)^{-1} D_k

with :math:`D_k` the curvature of the likelihood in these biases and :math:`H_k` the same with the
prior, :math:`b_k` the part of the Hessian between them and the scores, and :math:`A_k` that of the
scores, of which only the diagonal and the evaluator's own comparisons are kept. What evaluators
have in common, in proportion to what each of them judged, is left out of r: it moves the level of
all biases against the means of groups, and does not tell evaluators apart. What is one evaluator's
own is missing in the others, so that it counts more the larger its share :math:`\pi_k` of all
curvature: twice where there are two evaluators.

With the diagonal alone, :math:`r_k^T A_k^{-1} r_k` is a sum over the items an evaluator touched.
If no more than :math:`a` of the curvature of any of them is its own, the comparisons that tie them
together change that sum by at most :math:`a / (1 - a)` of itself (Gershgorin), and are followed
only where that matters.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.ranking.likelihood.banded import variances_given_biases
from comparity.ranking.likelihood.exact import invert_blocks, invert_schur, one_thread
from comparity.ranking.likelihood.objective import Penalised
from comparity.ranking.likelihood.passes import SINGLE

Floats = NDArray[np.float64]

LEAST_LEFT = 1e-3
"""Part of an evaluator's curvature that is left at least once scores follow."""
NOTHING_LEFT = 1e-6
"""Part of the curvature of a score that is left at least once biases follow."""
CLOSE, MOST_SOLVES = 0.01, 30
"""Relative change at which scores are taken to have followed, and the most steps they get."""
SLIGHT = 0.01
"""Relative change of a variance that is not worth a pass or a solution."""


class OnePass:
    """Errors at the point where an objective was evaluated last, each kept once it was asked for.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at its minimum, and nowhere else as long as this is asked.
    most_work : float
        Products that a factor of a band may take.
    beside_scores : bool
        Whether errors of biases, where much smaller than those of scores, need not be exact.
    without_biases : bool
        Whether to take biases for known, as where :attr:`biases_are_slight` was true before.
    """

    def __init__(
        self,
        objective: Penalised,
        most_work: float = math.inf,
        *,
        beside_scores: bool = False,
        without_biases: bool = False,
    ) -> None:
        self._objective, self._most_work = objective, most_work
        self._beside_scores, self.without_biases = beside_scores, without_biases

    @property
    def biases_are_slight(self) -> bool:
        """Whether errors of biases change no variance of a lead or a score by much."""
        if self.without_biases:
            return True
        own, explained = self._covariances
        whole = _curvature_of_items(self._objective)
        beside = SLIGHT * 2 * float(np.mean(1 / whole))
        largest = float(np.einsum("kii->ki", own).max(initial=0.0))
        return self._beside_scores and largest < beside and bool((explained < SLIGHT * whole).all())

    @property
    def evaluators(self) -> Floats:
        """Covariance of each evaluator's biases, their common level known."""
        return self._covariances[0]

    @cached_property
    def scores(self) -> Floats:
        """Variances of scores, which biases of evaluators make larger."""
        found = self.scores_given_biases
        if not self.without_biases:
            whole = _curvature_of_items(self._objective)
            # What is left of an item that its evaluators' biases explain is beyond single
            # precision.
            left = whole - np.minimum(self._covariances[1], (1 - NOTHING_LEFT) * whole)
            found = _second_order(self._objective, left, self._objective.n_contrasts)
        with one_thread():
            in_band = variances_given_biases(self._objective, self._most_work)
        return found if in_band is None else in_band * found / self.scores_given_biases

    @cached_property
    def scores_given_biases(self) -> Floats:
        """Variances that scores would have if all biases were known, to the second order."""
        return _second_order(self._objective, _curvature_of_items(self._objective), 0)

    @cached_property
    def items(self) -> Floats:
        """Of each score that variance, and one over its curvature."""
        return np.column_stack([self.scores_given_biases, 1 / _curvature_of_items(self._objective)])

    @cached_property
    def _covariances(self) -> tuple[Floats, Floats]:
        objective = self._objective
        if not objective.n_contrasts:
            return objective.last.bias_blocks, np.zeros(objective.n_items)
        contrast, bias_prior = objective.data.rows.contrast, objective.penalty.bias
        beside = 2 * float(np.mean(1 / _curvature_of_items(objective)))
        least = beside if self._beside_scores else 0.0
        return _covariances(objective, contrast, objective.last.bias_blocks, bias_prior, least)


def variances_of(
    objective: Penalised, contrast: NDArray[np.int8], blocks: Floats, precision: Floats
) -> Floats:
    """Approximate the covariance of each evaluator's biases toward any contrasts.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at its minimum.
    contrast : ndarray of int8, (comparisons, contrasts)
    blocks : ndarray, (evaluators, contrasts, contrasts)
        Curvature of the likelihood in each evaluator's biases toward them.
    precision : ndarray, (contrasts, contrasts)
        Of the biases' prior.
    """
    return _covariances(objective, contrast, blocks, precision)[0]


def _covariances(
    objective: Penalised,
    contrast: NDArray[np.int8],
    blocks: Floats,
    precision: Floats,
    beside: float = 0.0,
) -> tuple[Floats, Floats]:
    """Return that covariance, and the part of each score's curvature that biases explain.

    Of a variance, about a hundredth of it and of what it stands beside is not worth a solution.
    """
    rows, weights = objective.data.rows, objective.data.weights()
    columns = (rows.better, rows.worse, rows.evaluator, contrast, weights)
    whole, held = _curvature_of_items(objective), blocks + precision
    common, sizes = np.zeros((rows.n_items, contrast.shape[1])), np.einsum("kii->k", blocks)
    of_all = sizes / (sizes.sum() or 1.0)
    # Of an evaluator's curvature, six times its share of all at most is in common with others.
    if 6 * of_all.max() > SLIGHT:
        _add_common(rows.better, rows.worse, contrast, weights, common)
    known = invert_blocks(held)
    squares, mixed, alone, explained = _sums(columns, known, whole, common)
    part = invert_blocks(blocks.sum(axis=0)) @ blocks
    crossed = mixed @ part
    lost = squares - crossed - crossed.transpose(0, 2, 1)
    all_of_it = np.einsum("ic,id->cd", common / whole[:, None], common)
    lost += part.transpose(0, 2, 1) @ all_of_it @ part
    left = np.where(1 - of_all > LEAST_LEFT, 1 - of_all, 1.0)
    share = np.einsum("kcd,kdc->k", known, lost) / left
    # The largest variance that the diagonal alone gives one of the evaluator's biases.
    largest = np.einsum("kcc->kc", known).max(axis=1) / np.maximum(1 - share, LEAST_LEFT)
    tied = share * alone * largest > SLIGHT * (largest + beside) * (1 - share) * (1 - alone)
    if tied.any():
        longest = int(np.bincount(rows.evaluator, minlength=rows.n_evaluators)[tied].max())
        items = np.column_stack([whole, common])
        _add_ties(*columns, items, part, tied, longest, lost)
    return invert_schur(held, lost / left[:, None, None], LEAST_LEFT), explained


def _sums(
    columns: tuple[Any, ...], known: Floats, whole: Floats, common: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what :func:`_add_sums` finds, and what biases explain of each item."""
    n_items, n_contrasts = common.shape
    items = np.zeros((n_items, 3 + 2 * n_contrasts), np.float32 if n_items > SINGLE else np.float64)
    items[:, 0] = 1 / whole
    items[:, 3 + n_contrasts :] = common / whole[:, None]
    squares, mixed = np.zeros((2, *known.shape))
    alone = np.zeros(len(known))
    _add_sums(columns, known, items, squares, mixed, alone, (0,) * n_contrasts)
    return squares, mixed, alone, items[:, 2].astype(np.float64)


def _second_order(objective: Penalised, left: Floats, n_contrasts: int) -> Floats:
    """Approximate the diagonal of an inverse to the second order in the opponents' share.

    Parameters
    ----------
    objective : Penalised
    left : ndarray
        Curvature of each score.
    n_contrasts : int
        Contrasts for which biases are unknown: all or none.
    """
    rows = objective.data.rows
    known = invert_blocks(objective.last.bias_blocks + objective.penalty.bias)
    items = np.column_stack([1 / left, np.zeros_like(left)])
    weights = objective.data.weights()
    _add_opponents(*rows.columns(), weights, known, items, (0,) * n_contrasts)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(left), (1 + items[:, 1] / left) / left, np.inf)


def _curvature_of_items(objective: Penalised) -> Floats:
    """Return the curvature of each score, infinite where nothing is known of it."""
    diagonal = objective.last.scores[:, 1] + objective.penalty.scores
    return np.where(diagonal > 0, diagonal, np.inf)


# In the next two, the length of `each` is the number of contrasts: that of a tuple is known when
# they are compiled, so that loops over contrasts cost nothing.
@njit(cache=True, nogil=True)
def _add_sums(columns, known, items, squares, mixed, alone, each):  # type: ignore[no-untyped-def]
    """Add up over the items that each evaluator touched, whose comparisons come in one run.

    Into `squares` what it tells about them squared, over their curvature; into `mixed` that times
    what they have in common with all biases; into `alone` the largest share of one that is its
    own. `items` has one over the curvature of each, two columns for what an evaluator holds of it
    and what biases explain of it, and by contrast what an evaluator tells and the share in common.
    """
    better, worse, evaluator, contrast, weight = columns
    count, n = len(better), len(each)
    sums = np.zeros((2, n, n))
    start = 0
    while start < count:
        k, end = evaluator[start], start
        while end < count and evaluator[end] == k:
            one, two = better[end], worse[end]
            items[one, 1] += weight[end]
            items[two, 1] += weight[end]
            for c in range(n):
                amount = weight[end] * contrast[end, c]
                items[one, 3 + c] += amount
                items[two, 3 + c] -= amount
            end += 1
        most = 0.0
        for p in range(start, end):
            for i in (better[p], worse[p]):
                most = max(most, items[i, 0] * items[i, 1])
                items[i, 1] = 0.0
                for c in range(n):
                    for d in range(n):
                        both = items[i, 3 + c] * items[i, 3 + d]
                        sums[0, c, d] += both * items[i, 0]
                        sums[1, c, d] += items[i, 3 + c] * items[i, 3 + n + d]
                        items[i, 2] += known[k, c, d] * both
                # An item that comes again adds nothing.
                for c in range(n):
                    items[i, 3 + c] = 0.0
        alone[k] = most
        # By slices this would take seconds longer to compile.
        for c in range(n):
            for d in range(n):
                squares[k, c, d], mixed[k, c, d] = sums[0, c, d], sums[1, c, d]
                sums[0, c, d] = sums[1, c, d] = 0.0
        start = end


@njit(cache=True, nogil=True)
def _add_common(better, worse, contrast, weight, common):  # type: ignore[no-untyped-def]
    """Add up what comparisons tell of each item and contrast at once."""
    for p in range(len(better)):
        for c in range(contrast.shape[1]):
            told = weight[p] * contrast[p, c]
            common[better[p], c] += told
            common[worse[p], c] -= told


@njit(cache=True, nogil=True)
def _add_opponents(better, worse, evaluator, contrast, weight, known, items, each):  # type: ignore[no-untyped-def]
    """Add to the second column of items what opponents take of them; the first is 1 / curvature."""
    for p in range(len(better)):
        one, two, k, left = better[p], worse[p], evaluator[p], 1.0
        for c in range(len(each)):
            for d in range(len(each)):
                left -= weight[p] * contrast[p, c] * known[k, c, d] * contrast[p, d]
        squared = (weight[p] * left) ** 2
        items[one, 1] += squared * items[two, 0]
        items[two, 1] += squared * items[one, 0]


@njit(cache=True, nogil=True)
def _add_ties(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, weight, items, part, tied, longest, lost
):
    """Add to `lost` what comparisons between the items of an evaluator change, where it is tied.

    `items` has the curvature of each, and then what it has in common with all biases; `longest` is
    the most comparisons of an evaluator who is tied.
    """
    count, n_contrasts = contrast.shape
    # Of each item the evaluator that touched it last, and where it stands among what that touched.
    seen = np.full((len(items), 2), -1, np.int32)
    most = min(2 * longest, len(items))
    places = np.empty((2, longest), np.int32)
    own, solved = np.empty((n_contrasts, most)), np.empty((n_contrasts, most))
    whole, work = np.empty(most), np.empty((3, most))
    start = 0
    while start < count:
        k, end = evaluator[start], start
        while end < count and evaluator[end] == k:
            end += 1
        if tied[k]:
            run = better[start:end], worse[start:end], contrast[start:end], weight[start:end]
            n = _gather(run, k, items, part[k], seen, places, whole, own)
            first, second = places[0, : end - start], places[1, : end - start]
            for c in range(n_contrasts):
                _follow(first, second, weight[start:end], whole[:n], own[c], solved[c], work)
                for i in range(n):
                    solved[c, i] -= own[c, i] / whole[i]
            for c in range(n_contrasts):
                for d in range(n_contrasts):
                    for i in range(n):
                        both = own[c, i] * solved[d, i] + own[d, i] * solved[c, i]
                        lost[k, c, d] += both / 2
        start = end


@njit(cache=True, nogil=True)
def _gather(run, k, items, part, seen, places, whole, own):  # type: ignore[no-untyped-def]
    """Fill in the items that evaluator k touched, in the order of their first comparison.

    Where the items of each comparison stand, the curvature of each, and what is the evaluator's own
    of what it tells about it. Returns how many items there are.
    """
    better, worse, contrast, weight = run
    n_contrasts, n = contrast.shape[1], 0
    for p in range(len(weight)):
        for side, item in enumerate((better[p], worse[p])):
            if seen[item, 0] != k:
                seen[item, 0], seen[item, 1] = k, n
                whole[n] = items[item, 0]
                for c in range(n_contrasts):
                    own[c, n] = 0.0
                    for d in range(n_contrasts):
                        own[c, n] -= items[item, 1 + d] * part[d, c]
                n += 1
            at = places[side, p] = seen[item, 1]
            for c in range(n_contrasts):
                own[c, at] += weight[p] * contrast[p, c] * (1 - 2 * side)
    return n


@njit(cache=True, nogil=True)
def _follow(first, second, weight, diagonal, right, solved, work):  # type: ignore[no-untyped-def]
    """Solve for scores with this diagonal and these comparisons, by conjugate gradients.

    `first` and `second` say where the items of a comparison stand among those compared.
    """
    n = len(diagonal)
    residual, direction, image = work[0], work[1], work[2]
    size, total = 0.0, 0.0
    for i in range(n):
        solved[i], residual[i] = 0.0, right[i]
        direction[i] = right[i] / diagonal[i]
        size += right[i] * direction[i]
    for _ in range(MOST_SOLVES):
        for i in range(n):
            image[i] = diagonal[i] * direction[i]
        for p in range(len(weight)):
            i, j = first[p], second[p]
            image[i] -= weight[p] * direction[j]
            image[j] -= weight[p] * direction[i]
        bend = 0.0
        for i in range(n):
            bend += direction[i] * image[i]
        if size <= 0.0 or bend <= 1e-9 * size:
            return
        step, previous, size = size / bend, size, 0.0
        for i in range(n):
            solved[i] += step * direction[i]
            residual[i] -= step * image[i]
            size += residual[i] * residual[i] / diagonal[i]
        total += step * previous
        # The next step would add about its size to the total.
        if size <= CLOSE * total:
            return
        for i in range(n):
            direction[i] = residual[i] / diagonal[i] + size / previous * direction[i]
