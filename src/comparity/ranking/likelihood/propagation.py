r"""The likelihood of lots of items with the scores integrated out, lot by lot.

Items come in lots, such as the answers to one prompt, and only items of one lot are compared. In a
lot scores s are independent and normal with mean zero, and their SD is :math:`\sigma_m` with
probability :math:`w_m`. An evaluator k with opinions of its own sees

.. math:: q_k = s + \tau_k e_k, \quad e_k \sim N(0, \sigma_m^2 I)

instead of s; its *taste* is :math:`\tau_k`. All judgments of one pair i, j by an evaluator with a
taste, or by all those without one together, are one function :math:`t(u)` of
:math:`u = q_{ki} - q_{kj}`, a product of logistic curves (Davidson's, with ties), and

.. math:: L = \sum_m w_m \int N(s; 0, \sigma_m^2 I) \prod_k \int N(q_k; s, \nu_k I)
          \prod_{ij} t_{kij}(q_{ki} - q_{kj}) \, dq_k \, ds , \quad \nu_k = \tau_k^2 \sigma_m^2 .

Where one :math:`t` is all there is in a lot, the integral is over one number, and points about the
mode give it. Otherwise every :math:`t` is replaced by a Gaussian *site* that leaves mean and
variance of u as they are with :math:`t` itself in its place (expectation propagation; Minka, 2001).
The sites of an evaluator, with precision S and shift r, tell of the scores

.. math:: \exp(-s^T \Lambda s / 2 + \eta^T s), \quad \Lambda = S (I + \nu S)^{-1},
          \quad \eta = (I + \nu S)^{-1} r ,

its *message*, so that all matrices are as small as a lot. At the fixed point the slope of L in any
parameter is the mean of that of :math:`\log t` over u, as if the sites did not move. The one in
:math:`\nu` follows from the heat equation: it is
:math:`(E |\eta - \Lambda s|^2 - \mathrm{tr} \Lambda) / 2`.

The plain definition is in ``tests/plain/lots.py``.
"""

from __future__ import annotations

import math

import numpy as np

from comparity.counts.kernels.compilation import njit
from comparity.ranking.likelihood.pair_integrals import MOST_POINTS, OF_EACH, sum_curves, tilt

MOST_SWEEPS = 50
STILL = 1e-4
"""Change of means, in SDs, and of variances, in parts of themselves, in a sweep that is the last.
"""


@njit(cache=True, nogil=True, error_model="numpy")
def _add_site(covariance, mean, i, j, precision, shift):  # type: ignore[no-untyped-def]
    """Multiply a Gaussian with that of a difference."""
    n = len(mean)
    along = covariance[i] - covariance[j]
    grown = 1 + precision * (along[i] - along[j])
    moved = (shift - precision * (mean[i] - mean[j])) / grown
    for a in range(n):
        mean[a] += moved * along[a]
        for b in range(n):
            covariance[a, b] -= precision / grown * along[a] * along[b]


@njit(cache=True, nogil=True, error_model="numpy")
def _cavity(covariance, mean, i, j, precision, shift):  # type: ignore[no-untyped-def]
    """Return mean and variance of a difference, and both without its own site."""
    variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    middle, left = mean[i] - mean[j], 1 - variance * precision
    return middle, variance, (middle - variance * shift) / left, variance / left


@njit(cache=True, nogil=True, error_model="numpy")
def _invert(matrix):  # type: ignore[no-untyped-def]
    """Replace a positive definite matrix by its inverse; return the log of its determinant.

    Gauss and Jordan's steps in place: for matrices of a few rows a call of LAPACK takes longer.
    """
    n, log_det = len(matrix), 0.0
    for k in range(n):
        pivot = matrix[k, k]
        log_det += math.log(pivot)
        matrix[k, k] = 1.0
        for b in range(n):
            matrix[k, b] /= pivot
        for a in range(n):
            factor = matrix[a, k]
            if a != k and factor != 0:
                matrix[a, k] = 0.0
                for b in range(n):
                    matrix[a, b] -= factor * matrix[k, b]
    return log_det


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_message(pairs, sites, own, message, shift):  # type: ignore[no-untyped-def]
    """Fill in what an evaluator's sites tell of scores; return what its log determinant loses."""
    n = len(shift)
    message[:], shift[:] = 0.0, 0.0
    for p in range(len(pairs)):
        i, j = pairs[p]
        message[i, i] += sites[p, 0]
        message[j, j] += sites[p, 0]
        message[i, j] -= sites[p, 0]
        message[j, i] -= sites[p, 0]
        shift[i] += sites[p, 1]
        shift[j] -= sites[p, 1]
    if own == 0:
        return 0.0
    narrowed = own * message
    for a in range(n):
        narrowed[a, a] += 1
    lost = _invert(narrowed)
    shift[:] = narrowed @ shift
    message[:] = narrowed @ message
    return lost


@njit(cache=True, nogil=True, error_model="numpy")
def _seen_quality(precision, shift, own, pairs, sites):  # type: ignore[no-untyped-def]
    """Return covariance and mean of what an evaluator sees, from others' messages and its sites."""
    covariance = precision.copy()
    _invert(covariance)
    mean = covariance @ shift
    for a in range(len(mean)):
        covariance[a, a] += own
    for p in range(len(pairs)):
        _add_site(covariance, mean, pairs[p, 0], pairs[p, 1], sites[p, 0], sites[p, 1])
    return covariance, mean


@njit(cache=True, nogil=True, error_model="numpy")
def _settle_evaluator(covariance, mean, pairs, bounds, sites, judged, places, shares):  # type: ignore[no-untyped-def]
    """Renew the sites of an evaluator once, one after the other; return how far u moved at most."""
    load, offset, tied, log_tie = judged
    moved = 0.0
    for p in range(len(pairs)):
        i, j = pairs[p]
        middle, variance, out, wide = _cavity(covariance, mean, i, j, sites[p, 0], sites[p, 1])
        _, new, square, _ = tilt(
            middle, out, wide, bounds[p], bounds[p + 1],
            load, offset, tied, log_tie, places, shares,
        )  # fmt: skip
        precision = max(1 / square - 1 / wide, 0.0)
        shift = new / square - out / wide
        _add_site(covariance, mean, i, j, precision - sites[p, 0], shift - sites[p, 1])
        sites[p] = precision, shift
        step = max(abs(new - middle) / math.sqrt(variance), abs(square / variance - 1))
        moved = max(moved, step)
    return moved


@njit(cache=True, nogil=True, error_model="numpy")
def _propagate(blocks, pairs, bounds, own, sites, judged, state, places, shares):  # type: ignore[no-untyped-def]
    """Settle the sites of a lot, evaluator by evaluator; `state` is what is known of scores."""
    precision, shift, messages, shifts = state
    for b in range(len(own)):
        part = slice(blocks[b], blocks[b + 1])
        _fill_message(pairs[part], sites[part], own[b], messages[b], shifts[b])
        precision += messages[b]
        shift += shifts[b]
    for _ in range(MOST_SWEEPS if len(pairs) > 1 else 0):
        moved = 0.0
        for b in range(len(own)):
            part = slice(blocks[b], blocks[b + 1])
            precision -= messages[b]
            shift -= shifts[b]
            covariance, mean = _seen_quality(precision, shift, own[b], pairs[part], sites[part])
            step = _settle_evaluator(
                covariance, mean, pairs[part], bounds[blocks[b] :], sites[part],
                judged, places, shares,
            )  # fmt: skip
            moved = max(moved, step)
            _fill_message(pairs[part], sites[part], own[b], messages[b], shifts[b])
            precision += messages[b]
            shift += shifts[b]
        if moved < STILL:
            break


@njit(cache=True, nogil=True, error_model="numpy")
def _integrate_evaluator(covariance, mean, pairs, bounds, sites, judged, slopes, rule, is_all):  # type: ignore[no-untyped-def]
    """Return what the sites of an evaluator lack to its judgments, in logs; fill in its slopes.

    Where a site is all there is in a lot, it is settled here, and the integral is exact.
    """
    load, offset, tied, log_tie = judged
    places, shares = rule
    value = 0.0
    for p in range(len(pairs)):
        i, j = pairs[p]
        middle, variance, out, wide = _cavity(covariance, mean, i, j, sites[p, 0], sites[p, 1])
        log_z, new, square, count = tilt(
            middle, out, wide, bounds[p], bounds[p + 1],
            load, offset, tied, log_tie, places, shares,
        )  # fmt: skip
        if is_all:
            sites[p] = 1 / square - 1 / wide, new / square - out / wide
            value = log_z
        else:
            # What the site lacks to the judgments, and its part of the Gaussian integral.
            value += log_z - math.log(variance / wide) / 2
            value -= (middle**2 / variance - out**2 / wide) / 2 - sites[p, 1] * middle / 2
        sum_curves(
            bounds[p],
            bounds[p + 1],
            load,
            offset,
            tied,
            log_tie,
            places[:count],
            shares[:count],
            slopes,
        )
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _integrate_lot(sd, n, blocks, pairs, bounds, tastes, sites, judged, slopes, by_taste, means):  # type: ignore[no-untyped-def]
    """Return the log-integral of one lot at one SD and its slope in the logarithm of that SD."""
    own, is_all = (tastes * sd) ** 2, len(pairs) == 1
    if is_all:
        sites[:] = 0.0
    places, shares = np.empty(MOST_POINTS), np.empty(MOST_POINTS)
    precision, shift = np.eye(n) / sd**2, np.zeros(n)
    messages, shifts = np.empty((len(own), n, n)), np.empty((len(own), n))
    state = (precision, shift, messages, shifts)
    _propagate(blocks, pairs, bounds, own, sites, judged, state, places, shares)
    value, lost = 0.0, 2 * n * math.log(sd)
    for b in range(len(own)):
        part = slice(blocks[b], blocks[b + 1])
        covariance, mean = _seen_quality(
            precision - messages[b], shift - shifts[b], own[b], pairs[part], sites[part]
        )
        value += _integrate_evaluator(
            covariance, mean, pairs[part], bounds[blocks[b] :], sites[part],
            judged, slopes, (places, shares), is_all,
        )  # fmt: skip
        if is_all:
            _fill_message(pairs[part], sites[part], own[b], messages[b], shifts[b])
            precision += messages[b]
            shift += shifts[b]
        else:
            lost += _fill_message(pairs[part], sites[part], own[b], messages[b], shifts[b])
    lost += _invert(precision)
    means[:] = precision @ shift
    if not is_all:
        value -= lost / 2
    in_log_sd = (np.trace(precision) + means @ means) / sd**2 - n
    for b in range(len(own)):
        left = shifts[b] - messages[b] @ means
        heat = left @ left + np.sum(messages[b] * (precision @ messages[b]))
        heat -= np.trace(messages[b])
        by_taste[b] = tastes[b] * sd**2 * heat
        in_log_sd += own[b] * heat
    return value, in_log_sd


@njit(cache=True, nogil=True, error_model="numpy")
def integrate(part, items, lots, blocks, pairs, bounds, tastes, judged, scales, sites, out):  # type: ignore[no-untyped-def]
    r"""Integrate the scores of some lots out.

    Parameters
    ----------
    part : tuple of int
        The first of these lots, and the one after the last.
    items, lots : ndarray of int
        Where the items, and the blocks, of each lot begin; one more at the end. A block is what
        one evaluator with a taste judged, or all those without one.
    blocks : ndarray of int
        Where the pairs of each block begin; one more at the end.
    pairs, bounds : ndarray of int
        The items of each pair, counted from the first of their lot, and where its judgments begin.
    tastes : ndarray
        Taste of the evaluator of each block, 0 without one.
    judged : tuple of ndarray
        Of each judgment: what it multiplies u with, what it adds, whether it is a tie, and log
        ties (minus infinity where its evaluator has none).
    scales : ndarray, (3, number of SDs)
        SDs, logarithms of their probabilities, and slopes of the logarithms of SDs.
    sites : ndarray, (number of SDs, pairs, 2)
        Precision and shift of each site: where to begin, and where they came to rest.
    out : tuple of ndarray
        Log-likelihood and slope in the spread of each lot; slope in the taste of each block; means
        of slopes and curvatures of each judgment (six of them); mean score of each item. The last
        three have to be zero before.
    """
    value, spread, in_taste, slopes, scores = out
    many = scales.shape[1]
    starts = bounds[blocks[lots]]
    own_slopes = np.empty((many, np.max(starts[1:] - starts[:-1]), OF_EACH))
    for lot in range(part[0], part[1]):
        of_blocks = slice(lots[lot], lots[lot + 1])
        first, last = blocks[lots[lot]], blocks[lots[lot + 1]]
        begin, end, n = bounds[first], bounds[last], items[lot + 1] - items[lot]
        logs, tilts, means = np.empty(many), np.empty(many), np.empty((many, n))
        by_taste = np.empty((many, lots[lot + 1] - lots[lot]))
        own = (
            judged[0][begin:end],
            judged[1][begin:end],
            judged[2][begin:end],
            judged[3][begin:end],
        )
        near = bounds[first : last + 1] - begin
        inside = blocks[lots[lot] : lots[lot + 1] + 1] - first
        for m in range(many):
            logs[m], tilts[m] = _integrate_lot(
                scales[0, m], n, inside, pairs[first:last], near, tastes[of_blocks],
                sites[m, first:last], own, own_slopes[m], by_taste[m], means[m],
            )  # fmt: skip
            logs[m] += scales[1, m]
        top = logs.max()
        shares = np.exp(logs - top)
        value[lot] = top + math.log(shares.sum())
        shares /= shares.sum()
        spread[lot] = (shares * tilts * scales[2]).sum()
        for m in range(many):
            slopes[begin:end] += shares[m] * own_slopes[m, : end - begin]
            scores[items[lot] : items[lot + 1]] += shares[m] * means[m]
            in_taste[of_blocks] += shares[m] * by_taste[m]
