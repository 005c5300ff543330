r"""Errors of scores and biases as nearly as a few passes over comparisons tell them.

Fits of many parameters cannot invert their Hessian. Scores are taken to the second order in the
share of their opponents; where comparisons fall into parts that never met, that is their error
within a part. An evaluator's biases have the covariance

.. math:: V_k = \Big(H_k - \frac{r_k^T A_k^{-1} r_k}{1 - \pi_k}\Big)^{-1}, \qquad
          r_k = b_k - \sum_l b_l \Big(\sum_l D_l\Big)^{-1} D_k

with :math:`D_k` the curvature of the likelihood in these biases and :math:`H_k` the same with the
prior, :math:`b_k` the part of the Hessian between them and the scores, and :math:`A_k` that of the
scores, of which only the diagonal and the evaluator's own comparisons are kept. What evaluators
have in common, in proportion to what each of them judged, is left out of r: it moves the level of
all biases against the means of groups, and does not tell evaluators apart. What is one evaluator's
own is missing in the others, so that it counts more the larger its share :math:`\pi_k` of all
curvature: twice where there are two evaluators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from comparity.ranking._objective import Penalised

__all__ = [
    "evaluator_variances",
    "score_variances",
    "variances_given_biases",
    "variances_of",
]

Floats = NDArray[np.float64]

LEAST_LEFT = 1e-3
"""Part of an evaluator's curvature that is left at least once scores follow."""
CLOSE, MOST_SOLVES = 0.01, 30
"""Relative change at which scores are taken to have followed, and the most steps they get."""
NEGLIGIBLE = 0.005
"""Part of an item's curvature, at most, that biases may explain without being taken from it."""
LITTLE = 0.05
"""An evaluator with no more than this share in what holds any of its items ties none together."""


def score_variances(objective: Penalised) -> Floats:
    """Approximate the variances of scores, which biases of evaluators make larger."""
    own, diagonal = _inverted_blocks(objective), _curvature_of_items(objective)
    weights = objective.data.weights()
    if np.einsum("kii->k", own).max(initial=0.0) * weights.max(initial=0.0) > NEGLIGIBLE:
        _subtract_biases(*(*_columns(objective), own, diagonal))
    return _second_order(objective, own, diagonal)


def variances_given_biases(objective: Penalised) -> Floats:
    """Approximate the variances of scores if all biases were known."""
    none = np.zeros_like(objective.last.bias_blocks)
    return _second_order(objective, none, _curvature_of_items(objective))


def _second_order(objective: Penalised, own: Floats, diagonal: Floats) -> Floats:
    """Approximate the diagonal of an inverse to the second order in the opponents' share."""
    share = np.zeros(objective.n_items)
    _add_opponents(*(*_columns(objective), own, diagonal, share))
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(diagonal), (1 + share / diagonal) / diagonal, np.inf)


def evaluator_variances(objective: Penalised) -> Floats:
    """Approximate the covariance of each evaluator's biases, their common level known."""
    contrast = objective.data.rows.contrast
    return variances_of(objective, contrast, objective.last.bias_blocks, objective.penalty.bias)


def variances_of(
    objective: Penalised, contrast: NDArray[np.int8], blocks: Floats, precision: Floats
) -> Floats:
    """Approximate that covariance for biases toward any contrasts.

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
    if not blocks.shape[1]:
        return blocks
    better, worse, evaluator, _, weights = _columns(objective)
    diagonal = _curvature_of_items(objective)
    common = np.zeros((objective.n_items, contrast.shape[1]))
    _add_common(better, worse, contrast, weights, common)
    part = _inverted(blocks.sum(axis=0)) @ blocks
    lost = part.transpose(0, 2, 1) @ ((common / diagonal[:, None]).T @ common) @ part
    columns = (better, worse, evaluator, contrast, weights)
    longest = int(np.bincount(evaluator).max())
    _add_own(*columns, np.column_stack([diagonal, common]), part, longest, lost)
    return _schur_inverse(blocks + precision, lost / _left_to_others(blocks)[:, None, None])


def _columns(objective: Penalised) -> tuple[Any, ...]:
    rows = objective.data.rows
    return rows.better, rows.worse, rows.evaluator, rows.contrast, objective.data.weights()


def _inverted_blocks(objective: Penalised) -> Floats:
    """Return the covariance of each evaluator's biases if all scores were known."""
    return _inverted(objective.last.bias_blocks + objective.penalty.bias)


def _curvature_of_items(objective: Penalised) -> Floats:
    """Return what holds each item, infinite where nothing does."""
    diagonal = objective.last.scores[:, 1] + objective.penalty.scores
    return np.where(diagonal > 0, diagonal, np.inf)


def _left_to_others(blocks: Floats) -> Floats:
    """Return the share of the curvature that is other evaluators'; 1 where there are none."""
    sizes = np.einsum("kii->k", blocks)
    left = 1 - sizes / (sizes.sum() or 1.0)
    return np.where(left > LEAST_LEFT, left, 1.0)


def _schur_inverse(blocks: Floats, lost: Floats) -> Floats:
    """Invert symmetric blocks less what is lost, or less nearly all of them where that is more."""
    if blocks.shape[1] == 1:
        return _inverted(blocks - np.minimum(lost, (1 - LEAST_LEFT) * blocks))
    values, vectors = np.linalg.eigh(blocks)
    known = values > 1e-12 * values.max(axis=1, keepdims=True)
    roots = np.where(known, np.abs(values), np.inf) ** -0.5
    root = vectors * roots[:, None, :]
    shares, along = np.linalg.eigh(root.transpose(0, 2, 1) @ lost @ root)
    root = root @ along
    kept = 1 - np.minimum(shares, 1 - LEAST_LEFT)
    return np.asarray(root / kept[:, None, :] @ root.transpose(0, 2, 1), dtype=np.float64)


def _inverted(blocks: Floats) -> Floats:
    """Invert symmetric blocks; where they say nothing the inverse is zero."""
    if blocks.shape[-1] == 1:
        return np.divide(1.0, blocks, out=np.zeros_like(blocks), where=blocks > 0)
    return np.asarray(np.linalg.pinv(blocks, hermitian=True), dtype=np.float64)


@njit(cache=True, nogil=True)
def _subtract_biases(better, worse, evaluator, contrast, weight, own, diagonal):  # type: ignore[no-untyped-def]
    """Take from each item what the biases explain of it, evaluator by evaluator."""
    count, n_contrasts = contrast.shape
    held = np.zeros((len(diagonal), n_contrasts))
    start = 0
    while start < count:
        k, end = evaluator[start], start
        while end < count and evaluator[end] == k:
            for c in range(n_contrasts):
                amount = weight[end] * contrast[end, c]
                held[better[end], c] += amount
                held[worse[end], c] -= amount
            end += 1
        for p in range(start, end):
            for item in (better[p], worse[p]):
                for c in range(n_contrasts):
                    for d in range(n_contrasts):
                        diagonal[item] -= held[item, c] * own[k, c, d] * held[item, d]
                held[item] = 0.0
        start = end


@njit(cache=True, nogil=True)
def _add_opponents(better, worse, evaluator, contrast, weight, own, diagonal, share):  # type: ignore[no-untyped-def]
    n_contrasts = contrast.shape[1]
    for p in range(len(better)):
        one, two, k, left = better[p], worse[p], evaluator[p], 1.0
        for c in range(n_contrasts):
            for d in range(n_contrasts):
                left -= weight[p] * contrast[p, c] * own[k, c, d] * contrast[p, d]
        squared = (weight[p] * left) ** 2
        share[one] += squared / diagonal[two]
        share[two] += squared / diagonal[one]


@njit(cache=True, nogil=True)
def _add_common(better, worse, contrast, weight, common):  # type: ignore[no-untyped-def]
    """Add what each item has in common with the biases of all evaluators."""
    for p in range(len(better)):
        for c in range(contrast.shape[1]):
            amount = weight[p] * contrast[p, c]
            common[better[p], c] += amount
            common[worse[p], c] -= amount


@njit(cache=True, nogil=True)
def _add_own(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, weight, items, part, longest, lost
):
    """Replace in `lost` the items that an evaluator touched by what is its own of them.

    Comparisons of an evaluator come in one run, of at most `longest`. `items` has what holds each,
    and then what it has in common with all biases. `lost` starts with all items as if untouched.
    """
    count, n_contrasts = contrast.shape
    # Of each item the evaluator that touched it last, and where it stands among what that touched.
    seen = np.full((len(items), 2), -1, np.int32)
    most = min(2 * longest, len(items))
    first, second = np.empty((2, longest), np.int32)
    own, shared, solved = np.empty((3, n_contrasts, most))
    whole, mine, work = np.empty(most), np.empty(most), np.empty((3, most))
    start = 0
    while start < count:
        k, end = evaluator[start], start
        while end < count and evaluator[end] == k:
            end += 1
        run = better[start:end], worse[start:end], contrast[start:end], weight[start:end]
        n = _gather(*run, k, items, part[k], seen, first, second, whole, mine, own, shared)
        alone = (mine[:n] / whole[:n]).max()
        for c in range(n_contrasts):
            solved[c, :n] = own[c, :n] / whole[:n]
            if alone > LITTLE:
                places = first[: end - start], second[: end - start]
                _follow(*places, weight[start:end], whole[:n], own[c], solved[c], work)
        for c in range(n_contrasts):
            for d in range(n_contrasts):
                for i in range(n):
                    lost[k, c, d] += (own[c, i] * solved[d, i] + own[d, i] * solved[c, i]) / 2
                    lost[k, c, d] -= shared[c, i] * shared[d, i] / whole[i]
        start = end


@njit(cache=True, nogil=True)
def _gather(  # type: ignore[no-untyped-def]
    better, worse, contrast, weight, k, items, part, seen, first, second, whole, mine, own, shared
):
    """Fill in the items that evaluator k touched, in the order of their first comparison.

    Where the items of each comparison stand, what holds each item, how much of it is the
    evaluator's, what the item has in common with all biases, and what with those of this evaluator
    alone. Returns how many items there are.
    """
    n_contrasts, n = contrast.shape[1], 0
    for p in range(len(weight)):
        for side, item in enumerate((better[p], worse[p])):
            if seen[item, 0] != k:
                seen[item, 0], seen[item, 1] = k, n
                whole[n], mine[n] = items[item, 0], 0.0
                for c in range(n_contrasts):
                    shared[c, n] = 0.0
                    for d in range(n_contrasts):
                        shared[c, n] += items[item, 1 + d] * part[d, c]
                    own[c, n] = -shared[c, n]
                n += 1
            at, places = seen[item, 1], second if side else first
            places[p] = at
            mine[at] += weight[p]
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
