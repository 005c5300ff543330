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

The plain definition is in ``tests/plain/lots.py``. Kernels take whole arrays and places in them:
counting references to slices and to members of tuples took half of the time.
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
def _invert(matrix, n):  # type: ignore[no-untyped-def]
    """Replace a positive definite matrix by its inverse; return the log of its determinant.

    Gauss and Jordan's steps in place: for matrices of a few rows a call of LAPACK takes longer.
    """
    log_det = 0.0
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
def _add_message(known, messages, block, sign):  # type: ignore[no-untyped-def]
    """Add an evaluator's message to what is known of scores, or take it out."""
    for a in range(known.shape[0]):
        for b in range(known.shape[1]):
            known[a, b] += sign * messages[block, a, b]


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_message(messages, block, first, last, pairs, sites, own, room):  # type: ignore[no-untyped-def]
    """Fill in what an evaluator's sites tell of scores; return what its log determinant loses."""
    n, spare = room.shape[1], messages.shape[0] - 1
    for a in range(n + 1):
        for b in range(n):
            messages[spare, a, b], messages[block, a, b] = 0.0, 0.0
    for p in range(first, last):
        i, j, precision, shift = pairs[p, 0], pairs[p, 1], sites[p, 0], sites[p, 1]
        messages[spare, i, i] += precision
        messages[spare, j, j] += precision
        messages[spare, i, j] -= precision
        messages[spare, j, i] -= precision
        messages[spare, n, i] += shift
        messages[spare, n, j] -= shift
    for a in range(n):
        for b in range(n):
            room[a, b] = own * messages[spare, a, b]
        room[a, a] += 1
    lost = _invert(room, n) if own != 0 else 0.0
    for a in range(n):
        for c in range(n):
            messages[block, n, a] += room[a, c] * messages[spare, n, c]
            for b in range(n):
                messages[block, a, b] += room[a, c] * messages[spare, c, b]
    return lost


@njit(cache=True, nogil=True, error_model="numpy")
def _add_site(seen, i, j, precision, shift):  # type: ignore[no-untyped-def]
    """Multiply a Gaussian with that of a difference."""
    n = seen.shape[1]
    for a in range(n):
        seen[n + 1, a] = seen[i, a] - seen[j, a]
    grown = 1 + precision * (seen[n + 1, i] - seen[n + 1, j])
    moved = (shift - precision * (seen[n, i] - seen[n, j])) / grown
    for a in range(n):
        along = seen[n + 1, a]
        seen[n, a] += moved * along
        for b in range(n):
            seen[a, b] -= precision / grown * along * seen[n + 1, b]


@njit(cache=True, nogil=True, error_model="numpy")
def _see_quality(known, own, first, last, pairs, sites, seen):  # type: ignore[no-untyped-def]
    """Fill in covariance and mean of what an evaluator sees, by others' messages and its sites."""
    n = seen.shape[1]
    for a in range(n):
        for b in range(n):
            seen[a, b] = known[a, b]
    _invert(seen, n)
    for a in range(n):
        seen[n, a] = 0.0
        for b in range(n):
            seen[n, a] += seen[a, b] * known[n, b]
    for a in range(n):
        seen[a, a] += own
    for p in range(first, last):
        _add_site(seen, pairs[p, 0], pairs[p, 1], sites[p, 0], sites[p, 1])


@njit(cache=True, nogil=True, error_model="numpy")
def _cavity(seen, i, j, precision, shift):  # type: ignore[no-untyped-def]
    """Return mean and variance of a difference, and both without its own site."""
    n = seen.shape[1]
    variance = seen[i, i] + seen[j, j] - 2 * seen[i, j]
    middle, left = seen[n, i] - seen[n, j], 1 - variance * precision
    return middle, variance, (middle - variance * shift) / left, variance / left


@njit(cache=True, nogil=True, error_model="numpy")
def _settle_evaluator(first, last, pairs, bounds, sites, judged, seen, rule):  # type: ignore[no-untyped-def]
    """Renew the sites of an evaluator once, one after the other; return how far u moved at most."""
    moved = 0.0
    for p in range(first, last):
        i, j = pairs[p, 0], pairs[p, 1]
        middle, variance, out, wide = _cavity(seen, i, j, sites[p, 0], sites[p, 1])
        _, new, square, _ = tilt(middle, out, wide, bounds[p], bounds[p + 1], judged, rule)
        precision = max(1 / square - 1 / wide, 0.0)
        shift = new / square - out / wide
        _add_site(seen, i, j, precision - sites[p, 0], shift - sites[p, 1])
        sites[p, 0], sites[p, 1] = precision, shift
        step = max(abs(new - middle) / math.sqrt(variance), abs(square / variance - 1))
        moved = max(moved, step)
    return moved


@njit(cache=True, nogil=True, error_model="numpy")
def _propagate(blocks, pairs, bounds, own, sites, judged, known, messages, seen, rule):  # type: ignore[no-untyped-def]
    """Settle the sites of a lot, evaluator by evaluator."""
    for b in range(len(own)):
        _fill_message(messages, b, blocks[b], blocks[b + 1], pairs, sites, own[b], seen)
        _add_message(known, messages, b, 1.0)
    for _ in range(MOST_SWEEPS if len(pairs) > 1 else 0):
        moved = 0.0
        for b in range(len(own)):
            first, last = blocks[b], blocks[b + 1]
            _add_message(known, messages, b, -1.0)
            _see_quality(known, own[b], first, last, pairs, sites, seen)
            step = _settle_evaluator(first, last, pairs, bounds, sites, judged, seen, rule)
            moved = max(moved, step)
            _fill_message(messages, b, first, last, pairs, sites, own[b], seen)
            _add_message(known, messages, b, 1.0)
        if moved < STILL:
            break


@njit(cache=True, nogil=True, error_model="numpy")
def _integrate_evaluator(first, last, pairs, bounds, sites, judged, slopes, seen, rule):  # type: ignore[no-untyped-def]
    """Return what the sites of an evaluator lack to its judgments, in logs; fill in its slopes.

    Where a site is all there is in a lot, it is settled here, and the integral is exact.
    """
    value = 0.0
    for p in range(first, last):
        middle, variance, out, wide = _cavity(
            seen, pairs[p, 0], pairs[p, 1], sites[p, 0], sites[p, 1]
        )
        log_z, new, square, count = tilt(middle, out, wide, bounds[p], bounds[p + 1], judged, rule)
        if len(pairs) == 1:
            sites[p, 0], sites[p, 1] = 1 / square - 1 / wide, new / square - out / wide
            value = log_z
        else:
            # What the site lacks to the judgments, and its part of the Gaussian integral.
            value += log_z - math.log(variance / wide) / 2
            value -= (middle**2 / variance - out**2 / wide) / 2 - sites[p, 1] * middle / 2
        sum_curves(bounds[p], bounds[p + 1], judged, rule, count, slopes)
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_heat(messages, block, covariance, mean):  # type: ignore[no-untyped-def]
    """Return twice the slope of a log-integral in the variance of an evaluator's opinions."""
    n, heat = len(mean), 0.0
    for a in range(n):
        left = messages[block, n, a]
        for b in range(n):
            left -= messages[block, a, b] * mean[b]
            for c in range(n):
                heat += messages[block, a, b] * covariance[a, c] * messages[block, c, b]
        heat += left * left - messages[block, a, a]
    return heat


@njit(cache=True, nogil=True, error_model="numpy")
def _integrate_lot(sd, lot, sites, judged, rooms, slopes, by_taste, means):  # type: ignore[no-untyped-def]
    """Return the log-integral of one lot at one SD and its slope in the logarithm of that SD."""
    blocks, pairs, bounds, tastes = lot
    known, messages, seen, rule = rooms
    n, is_all, own = len(means), len(pairs) == 1, (tastes * sd) ** 2
    if is_all:
        sites[:] = 0.0
    for a in range(n + 1):
        for b in range(n):
            known[a, b] = 1 / sd**2 if a == b else 0.0
    _propagate(blocks, pairs, bounds, own, sites, judged, known, messages, seen, rule)
    value, lost = 0.0, 2 * n * math.log(sd)
    for b in range(len(own)):
        first, last = blocks[b], blocks[b + 1]
        _add_message(known, messages, b, -1.0)
        _see_quality(known, own[b], first, last, pairs, sites, seen)
        value += _integrate_evaluator(first, last, pairs, bounds, sites, judged, slopes, seen, rule)
        lost += _fill_message(messages, b, first, last, pairs, sites, own[b], seen)
        _add_message(known, messages, b, 1.0)
    lost += _invert(known, n)
    in_log_sd = -float(n)
    for a in range(n):
        means[a] = 0.0
        for b in range(n):
            means[a] += known[a, b] * known[n, b]
        in_log_sd += (known[a, a] + means[a] * means[a]) / sd**2
    for b in range(len(own)):
        heat = _sum_heat(messages, b, known, means)
        by_taste[b] = tastes[b] * sd**2 * heat
        in_log_sd += own[b] * heat
    return value - (0.0 if is_all else lost / 2), in_log_sd


@njit(cache=True, nogil=True, error_model="numpy")
def integrate(part, layout, tastes, judged, scales, sites, out):  # type: ignore[no-untyped-def]
    r"""Integrate the scores of some lots out.

    Parameters
    ----------
    part : tuple of int
        The first of these lots, and the one after the last.
    layout : tuple of ndarray of int
        Where the items, and the blocks, of each lot begin; one more at the end. A block is what
        one evaluator with a taste judged, or all those without one. Where the pairs of each block
        begin; one more at the end. The items of each pair, counted from the first of their lot,
        and where its judgments begin.
    tastes : ndarray
        Taste of the evaluator of each block, 0 without one.
    judged : ndarray, (judgments, 4)
        Of each judgment: what it multiplies u with, the exponential of minus half of what it adds,
        whether it is a tie, and ties (zero where its evaluator has none).
    scales : ndarray, (3, number of SDs)
        SDs, logarithms of their probabilities, and slopes of the logarithms of SDs.
    sites : ndarray, (number of SDs, pairs, 2)
        Precision and shift of each site: where to begin, and where they came to rest.
    out : tuple of ndarray
        Log-likelihood and slope in the spread of each lot; slope in the taste of each block; means
        of slopes and curvatures of each judgment (six of them); mean score of each item. The last
        three have to be zero before.
    """
    items, lots, blocks, pairs, bounds = layout
    value, spread, in_taste, slopes, scores = out
    many = scales.shape[1]
    starts = bounds[blocks[lots]]
    own_slopes = np.empty((many, np.max(starts[1:] - starts[:-1]), OF_EACH))
    rule = np.empty((MOST_POINTS, 3))
    for lot in range(part[0], part[1]):
        of_blocks = slice(lots[lot], lots[lot + 1])
        first, last = blocks[lots[lot]], blocks[lots[lot + 1]]
        begin, end, n = bounds[first], bounds[last], items[lot + 1] - items[lot]
        n_blocks = lots[lot + 1] - lots[lot]
        logs, tilts, means = np.empty(many), np.empty(many), np.empty((many, n))
        by_taste = np.empty((many, n_blocks))
        # Gaussians, with means or shifts beneath their matrices, and a row or a block to work in.
        known, seen = np.empty((n + 1, n)), np.empty((n + 2, n))
        messages = np.empty((n_blocks + 1, n + 1, n))
        near = bounds[first : last + 1] - begin
        inside = blocks[lots[lot] : lots[lot + 1] + 1] - first
        for m in range(many):
            logs[m], tilts[m] = _integrate_lot(
                scales[0, m], (inside, pairs[first:last], near, tastes[of_blocks]),
                sites[m, first:last], judged[begin:end], (known, messages, seen, rule),
                own_slopes[m], by_taste[m], means[m],
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
