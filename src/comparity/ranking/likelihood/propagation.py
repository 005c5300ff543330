r"""The likelihood of lots of items with the scores integrated out, lot by lot.

Items come in lots, such as the answers to one prompt, and only items of one lot are compared. In a
lot scores are independent and normal with mean zero, and their SD is :math:`\sigma_m` with
probability :math:`w_m`. All judgments of one pair i, j are one function :math:`t_{ij}(u)` of
:math:`u = s_i - s_j`, a product of logistic curves (Davidson's, with ties), and

.. math:: L = \sum_m w_m \int N(s; 0, \sigma_m^2 I) \prod_{ij} t_{ij}(s_i - s_j) \, ds .

For a lot of one pair the integral is over one number, and points about the mode give it. Otherwise
every :math:`t_{ij}` is replaced by a Gaussian *site* that leaves mean and variance of u as they are
with :math:`t_{ij}` itself in its place (expectation propagation; Minka, 2001). At that fixed point
the slope of L in any parameter is the mean of that of :math:`\log t_{ij}` over u, as if the sites
did not move.

The plain definition is in ``tests/plain/lots.py``.
"""

from __future__ import annotations

import math

import numpy as np

from comparity.counts.kernels.compilation import njit

MOST_SWEEPS = 50
STILL = 1e-4
"""Change of means, in SDs, and of variances, in parts of themselves, in a sweep that is the last.
"""
MOST_STEPS = 30
NEAR = 0.3
"""Distance from the mode, in SDs, that is near enough for points about it."""
APART, NOTHING, MOST_POINTS = 0.35, 16.0, 128
"""Distance of points, the fall of a logarithm beyond which nothing is left, and points at most."""
OF_EACH = 6
"""Means of each judgment."""
LARGE = 1e200
"""Where a product is replaced by its logarithm."""


@njit(cache=True, nogil=True, error_model="numpy")
def curves(margin, tied, log_tie):  # type: ignore[no-untyped-def]
    """Return the log-probability of a judgment, its slopes in margin and log tie, its curvature."""
    if log_tie == -np.inf:
        small = math.exp(-abs(margin))
        lost = (small if margin > 0 else 1.0) / (1 + small)
        return min(margin, 0.0) - math.log1p(small), lost, 0.0, lost * (1 - lost)
    half = margin / 2
    peak = max(abs(half), log_tie)
    win, lose, tie = math.exp(half - peak), math.exp(-half - peak), math.exp(log_tie - peak)
    total = win + lose + tie
    lean = (win - lose) / (2 * total)
    reached = log_tie if tied else half
    bend = (win + lose) / (4 * total) - lean * lean
    value = reached - peak - math.log(total)
    return value, (0.0 if tied else 0.5) - lean, (1.0 if tied else 0.0) - tie / total, bend


@njit(cache=True, nogil=True, error_model="numpy")
def _find_mode(start, mean, variance, first, last, load, offset, tied, log_tie):  # type: ignore[no-untyped-def]
    """Return about where a pair's judgments times a normal density are largest, and the curvature.

    The slope falls everywhere: a step of Newton that leads beyond what is known of it is halved.
    """
    place, bend, low, high = start, 1 / variance, -np.inf, np.inf
    for _ in range(MOST_STEPS):
        slope, bend = (mean - place) / variance, 1 / variance
        for r in range(first, last):
            found = curves(load[r] * place + offset[r], tied[r], log_tie[r])
            slope += load[r] * found[1]
            bend += load[r] * load[r] * found[3]
        if slope > 0:
            low = place
        else:
            high = place
        step = slope / bend
        if abs(step) * math.sqrt(bend) < NEAR:
            break
        inside = low < place + step < high
        place = place + step if inside else (low + high) / 2
    return place, bend


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_logs(u, first, last, load, offset, tied, log_tie):  # type: ignore[no-untyped-def]
    """Return the log-probability of a pair's judgments at a lead, with few logarithms."""
    value, product = 0.0, 1.0
    for r in range(first, last):
        margin = load[r] * u + offset[r]
        if log_tie[r] == -np.inf:
            value += min(margin, 0.0)
            product *= 1 + math.exp(-abs(margin))
            if product > LARGE:
                value, product = value - math.log(product), 1.0
        else:
            value += curves(margin, tied[r], log_tie[r])[0]
    return value - math.log(product)


@njit(cache=True, nogil=True, error_model="numpy")
def _tilt(start, mean, variance, first, last, load, offset, tied, log_tie, places, shares):  # type: ignore[no-untyped-def]
    """Integrate a pair's judgments times a normal density: its logarithm, moments, and points.

    `places` and `shares` become a rule for means over the product: points at even distances of t
    with u = mode + width sinh t, from the mode to either side as far as there is anything.
    """
    centre, bend = _find_mode(start, mean, variance, first, last, load, offset, tied, log_tie)
    width, top, count = 1 / math.sqrt(bend), -np.inf, 0
    for side in (1, -1):
        for step in range(0 if side == 1 else 1, MOST_POINTS // 2):
            t = side * step * APART
            u = centre + width * math.sinh(t)
            value = _sum_logs(u, first, last, load, offset, tied, log_tie)
            value += math.log(math.cosh(t)) - (u - mean) ** 2 / (2 * variance)
            places[count], shares[count], top = u, value, max(top, value)
            count += 1
            if value < top - NOTHING:
                break
    total, moment = 0.0, 0.0
    for q in range(count):
        shares[q] = math.exp(shares[q] - top)
        total += shares[q]
        moment += shares[q] * places[q]
    moment, square = moment / total, 0.0
    for q in range(count):
        shares[q] /= total
        square += shares[q] * (places[q] - moment) ** 2
    whole = top + math.log(total * APART * width) - math.log(2 * math.pi * variance) / 2
    return whole, moment, square, count


@njit(cache=True, nogil=True, error_model="numpy")
def _add_site(covariance, mean, i, j, precision, shift):  # type: ignore[no-untyped-def]
    """Multiply a Gaussian with that of a difference; return what its log determinant loses."""
    n = len(mean)
    along = covariance[i] - covariance[j]
    grown = 1 + precision * (along[i] - along[j])
    moved = (shift - precision * (mean[i] - mean[j])) / grown
    for a in range(n):
        mean[a] += moved * along[a]
        for b in range(n):
            covariance[a, b] -= precision / grown * along[a] * along[b]
    return math.log(grown)


@njit(cache=True, nogil=True, error_model="numpy")
def _cavity(covariance, mean, i, j, precision, shift):  # type: ignore[no-untyped-def]
    """Return mean and variance of a difference, and both without its own site."""
    variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    middle, left = mean[i] - mean[j], 1 - variance * precision
    return middle, variance, (middle - variance * shift) / left, variance / left


@njit(cache=True, nogil=True, error_model="numpy")
def _propagate(sd, n, pairs, bounds, sites, judged, places, shares):  # type: ignore[no-untyped-def]
    """Settle the sites of a lot; return covariance, mean and what log determinants lost."""
    load, offset, tied, log_tie = judged
    covariance, mean, lost = np.eye(n) * sd**2, np.zeros(n), 0.0
    if len(pairs) == 1:
        # The only site of a lot is settled by the pass that follows.
        sites[:] = 0.0
        return covariance, mean, lost
    for p in range(len(pairs)):
        lost += _add_site(covariance, mean, pairs[p, 0], pairs[p, 1], sites[p, 0], sites[p, 1])
    for _ in range(MOST_SWEEPS):
        moved = 0.0
        for p in range(len(pairs)):
            i, j = pairs[p]
            middle, variance, out, wide = _cavity(covariance, mean, i, j, sites[p, 0], sites[p, 1])
            _, new, square, _ = _tilt(
                middle, out, wide, bounds[p], bounds[p + 1],
                load, offset, tied, log_tie, places, shares,
            )  # fmt: skip
            precision = max(1 / square - 1 / wide, 0.0)
            shift = new / square - out / wide
            lost += _add_site(covariance, mean, i, j, precision - sites[p, 0], shift - sites[p, 1])
            sites[p] = precision, shift
            step = max(abs(new - middle) / math.sqrt(variance), abs(square / variance - 1))
            moved = max(moved, step)
        if moved < STILL:
            break
    return covariance, mean, lost


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_curves(first, last, load, offset, tied, log_tie, places, shares, means):  # type: ignore[no-untyped-def]
    """Fill in means over a pair's lead u, for each of its judgments.

    Of slopes in what it adds, in its load and in the log tie; and of the curvature in what it adds,
    times 1, u and its square.
    """
    for r in range(first, last):
        means[r] = 0.0
        for q in range(len(places)):
            u, share = places[q], shares[q]
            _, slope, tie, bend = curves(load[r] * u + offset[r], tied[r], log_tie[r])
            means[r, 0] += share * slope
            means[r, 1] += share * slope * u
            means[r, 2] += share * tie
            means[r, 3] += share * bend
            means[r, 4] += share * bend * u
            means[r, 5] += share * bend * u * u


@njit(cache=True, nogil=True, error_model="numpy")
def _integrate_lot(sd, n, pairs, bounds, sites, judged, slopes, mean_out):  # type: ignore[no-untyped-def]
    """Return the log-integral of one lot at one SD and its slope in the logarithm of that SD."""
    load, offset, tied, log_tie = judged
    places, shares = np.empty(MOST_POINTS), np.empty(MOST_POINTS)
    covariance, mean, lost = _propagate(sd, n, pairs, bounds, sites, judged, places, shares)
    value = -lost / 2
    for p in range(len(pairs)):
        i, j = pairs[p]
        middle, variance, out, wide = _cavity(covariance, mean, i, j, sites[p, 0], sites[p, 1])
        log_z, new, square, count = _tilt(
            middle, out, wide, bounds[p], bounds[p + 1],
            load, offset, tied, log_tie, places, shares,
        )  # fmt: skip
        if len(pairs) == 1:
            sites[p] = 1 / square - 1 / wide, new / square - out / wide
            _add_site(covariance, mean, i, j, sites[p, 0], sites[p, 1])
            value = log_z
        else:
            # What the site lacks to the judgments, and its part of the Gaussian integral.
            value += log_z - math.log(variance / wide) / 2
            value -= (middle**2 / variance - out**2 / wide) / 2 - sites[p, 1] * middle / 2
        _sum_curves(
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
    square = 0.0
    for a in range(n):
        mean_out[a] = mean[a]
        square += covariance[a, a] + mean[a] ** 2
    return value, square / sd**2 - n


@njit(cache=True, nogil=True, error_model="numpy")
def integrate(items, lots, pairs, bounds, judged, scales, sites, out):  # type: ignore[no-untyped-def]
    r"""Integrate the scores of every lot out.

    Parameters
    ----------
    items, lots : ndarray of int
        Where the items, and the pairs, of each lot begin; one more at the end.
    pairs, bounds : ndarray of int
        The items of each pair, counted from the first of their lot, and where its judgments begin.
    judged : tuple of ndarray
        Of each judgment: what it multiplies u with, what it adds, whether it is a tie, and log
        ties (minus infinity where its evaluator has none).
    scales : ndarray, (3, number of SDs)
        SDs, logarithms of their probabilities, and slopes of the logarithms of SDs.
    sites : ndarray, (number of SDs, pairs, 2)
        Precision and shift of each site: where to begin, and where they came to rest.
    out : tuple of ndarray
        Log-likelihood and slope in the spread of each lot; means of slopes and curvatures of each
        judgment (six of them); mean score of each item. The last two have to be zero before.
    """
    value, spread, slopes, scores = out
    many = scales.shape[1]
    widest = np.max(bounds[lots[1:]] - bounds[lots[:-1]])
    own_slopes = np.empty((many, widest, OF_EACH))
    for lot in range(len(lots) - 1):
        first, last, begin = lots[lot], lots[lot + 1], bounds[lots[lot]]
        end, n = bounds[last], items[lot + 1] - items[lot]
        logs, tilts, means = np.empty(many), np.empty(many), np.empty((many, n))
        part = (
            judged[0][begin:end],
            judged[1][begin:end],
            judged[2][begin:end],
            judged[3][begin:end],
        )
        near = bounds[first : last + 1] - begin
        for m in range(many):
            logs[m], tilts[m] = _integrate_lot(
                scales[0, m], n, pairs[first:last], near, sites[m, first:last],
                part, own_slopes[m], means[m],
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
