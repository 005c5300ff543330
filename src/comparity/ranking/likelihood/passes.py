r"""The likelihood of comparisons as passes over them: one fused, one for everything else.

A pass knows the data and nothing of priors. It evaluates the negative log-likelihood with its
gradient and curvature, and multiplies the Hessian at the point it evaluated last with a vector.

The margin of comparison p, judged by evaluator k, is
:math:`m_p = s_{better} - s_{worse} + b_k \cdot d_p` with :math:`d_p` the difference of the two
items' contrasts. The plain definitions are in ``tests/plain/ranking.py``. `fused` and
`fused_product` do the same for the logistic model with one contrast in one pass each; they are
what makes millions of comparisons quick (``benchmarks/bench_ranking.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from comparity.counts.kernels.compilation import njit
from comparity.ranking.likelihood.rows import ALL, ComparisonRows

Floats = NDArray[np.float64]

THREADED = 2_000_000
"""Comparisons above which two threads pay for themselves."""

SINGLE = 50_000
"""Items above which products are taken in single precision, which halves what must be fetched."""


BLOCK = 512
LOG2E = 1.4426950408889634
# The logarithm of two in two parts, so that the remainder of the argument is exact.
LN2_HIGH = 0.6931471803691238
LN2_LOW = 1.9082149292705877e-10

NODES = (
    (-2.856970013872806, 0.011257411327720691),
    (-1.355626179974266, 0.22207592200561266),
    (0.0, 0.5333333333333333),
    (1.355626179974266, 0.22207592200561266),
    (2.856970013872806, 0.011257411327720691),
)
"""Gauss and Hermite's rule of five points for means over a standard normal variable, with their
shares: within 0.0015 of mean slopes over a variance of 2.5, where three points are off by 0.008."""


class Evaluation(NamedTuple):
    """Loss with its derivatives in scores, biases and extra parameters."""

    loss: float
    scores: Floats
    """Gradient and diagonal side by side, (items, 2)."""
    bias: Floats
    bias_blocks: Floats
    """Curvature of each evaluator's biases, (evaluators, contrasts, contrasts)."""
    extra: Floats
    extra_diagonal: Floats


def logistic(margin: Floats) -> tuple[float, Floats, Floats]:
    """Return loss, slope and curvature of the logistic model, comparison by comparison."""
    tail = np.exp(-np.abs(margin))
    loss = float(np.log1p(tail).sum() - np.minimum(margin, 0).sum())
    other = np.where(margin >= 0, tail, 1.0) / (1.0 + tail)
    return loss, -other, other * (1 - other)


class Davidson(NamedTuple):
    """Loss of the model with ties, with derivatives in the margin and the tie parameter."""

    loss: float
    slope: Floats
    curvature: Floats
    tie_slope: float
    cross: Floats
    tie_curvature: float


def davidson(margin: Floats, tied: NDArray[np.bool_], log_tie: float) -> Davidson:
    r"""Evaluate Davidson's model of comparisons with ties.

    .. math:: P(\text{win}) = e^{m/2} / D,\quad P(\text{tie}) = \nu / D,\quad
              D = e^{m/2} + e^{-m/2} + \nu

    Without ties it is the Bradley-Terry model with margin m. The loss is convex in the margin and
    :math:`\log\nu` together.
    """
    half = margin / 2
    peak = np.maximum(np.abs(half), log_tie)
    win, lose, tie = np.exp(half - peak), np.exp(-half - peak), np.exp(log_tie - peak)
    total = win + lose + tie
    win, lose, tie = win / total, lose / total, tie / total
    lean = (win - lose) / 2
    reached = np.where(tied, log_tie, half)
    return Davidson(
        loss=float((peak + np.log(total) - reached).sum()),
        slope=lean - np.where(tied, 0.0, 0.5),
        curvature=(win + lose) / 4 - lean**2,
        tie_slope=float(tie.sum() - tied.sum()),
        cross=-tie * lean,
        tie_curvature=float((tie * (1 - tie)).sum()),
    )


class Pass:
    """Any number of contrasts, with seat effect and ties where recorded."""

    def __init__(self, rows: ComparisonRows) -> None:
        self.rows = rows
        self._curvature: NDArray[np.floating] = np.empty(0)
        self._cross = np.empty(0)
        self._tie_curvature = 0.0

    def evaluate(self, scores: Floats, bias: Floats, extra: Floats) -> Evaluation:
        """Return loss, gradient and curvature; remember the curvature of every comparison."""
        rows, slopes, diagonal = self.rows, [], []
        margin = self._margin(scores, bias, extra)
        if rows.tied is None:
            loss, slope, curvature = logistic(margin)
        else:
            found = davidson(margin, rows.tied, float(extra[-1]))
            loss, slope, curvature = found.loss, found.slope, found.curvature
            self._cross, self._tie_curvature = found.cross, found.tie_curvature
            slopes, diagonal = [found.tie_slope], [found.tie_curvature]
        if rows.seat is not None:
            slopes.insert(0, float(slope @ rows.seat))
            diagonal.insert(0, float(curvature @ rows.seat**2))
        m, c = rows.n_evaluators, rows.contrast.shape[1]
        sums, gradient, blocks = np.zeros((rows.n_items, 2)), np.zeros((m, c)), np.zeros((m, c, c))
        add_gradient(*rows.columns(), slope, curvature, sums, gradient, blocks)
        self._curvature = curvature
        return Evaluation(loss, sums, gradient, blocks, np.array(slopes), np.array(diagonal))

    def product(self, scores: Floats, bias: Floats, extra: Floats) -> tuple[Floats, Floats, Floats]:
        """Multiply the Hessian at the point evaluated last."""
        rows = self.rows
        step = self._margin(scores, bias, extra)
        change = self._curvature * step
        tail: list[float] = []
        if rows.tied is not None:
            change += self._cross * extra[-1]
            tail = [float(self._cross @ step + self._tie_curvature * extra[-1])]
        out, bias_out = np.zeros_like(scores), np.zeros_like(bias)
        add_product(*rows.columns(), change, out, bias_out)
        head = [] if rows.seat is None else [float(change @ rows.seat)]
        return out, bias_out, np.array(head + tail)

    def weights(self) -> NDArray[np.floating]:
        """Return the curvature of every comparison in its margin."""
        return self._curvature

    def slopes(self, scores: Floats, bias: Floats, extra: Floats) -> Floats:
        """Return the slope of the loss in the margin of every comparison."""
        return self._slopes_at(self._margin(scores, bias, extra), extra)

    def bend(
        self, part: slice, spread: Floats, scores: Floats, bias: Floats, extra: Floats
    ) -> Floats:
        """Return by how much mean slopes over margins with this variance differ from slopes.

        By the rule of `NODES`. Where the spread is negative, the difference of as much variance
        with the other sign.
        """
        margin, deviation = self._margin(scores, bias, extra, part), np.sqrt(np.abs(spread))
        bent = -self._slopes_at(margin, extra, part)
        for node, share in NODES:
            bent += share * self._slopes_at(margin + node * deviation, extra, part)
        return np.where(spread >= 0, bent, -bent)

    def _margin(self, scores: Floats, bias: Floats, extra: Floats, part: slice = ALL) -> Floats:
        margin: Floats = margins(*self.rows.columns(part), scores, bias)
        if self.rows.seat is not None:
            margin += extra[0] * self.rows.seat[part]
        return margin

    def _slopes_at(self, margin: Floats, extra: Floats, part: slice = ALL) -> Floats:
        if self.rows.tied is None:
            return np.asarray(-expit(-margin), dtype=np.float64)
        return davidson(margin, self.rows.tied[part], float(extra[-1])).slope


class FusedPass(Pass):
    """The logistic model with at most one contrast and no seat effect: one kernel for each pass."""

    def __init__(self, rows: ComparisonRows) -> None:
        super().__init__(rows)
        n = len(rows.better)
        flat = rows.contrast[:, 0] if rows.contrast.shape[1] else np.zeros(n, np.int8)
        self._contrast = np.ascontiguousarray(flat)
        self._curvature = np.empty(n, np.float32)
        parts = min(2, os.cpu_count() or 1) if n >= THREADED else 1
        ends = np.linspace(0, n, parts + 1).astype(np.int64).tolist()
        self._parts = [slice(*pair) for pair in pairwise(ends)]
        self._precision = np.float32 if rows.n_items > SINGLE else np.float64

    def evaluate(self, scores: Floats, bias: Floats, extra: Floats) -> Evaluation:
        """Return loss, gradient and curvature."""
        rows, lean = self.rows, self._padded(bias, np.float64)

        def run(part: slice) -> tuple[float, Floats, Floats]:
            sums, bias_sums = np.zeros((rows.n_items, 2)), np.zeros((rows.n_evaluators, 2))
            data = (*self._columns(part), scores, lean, sums, bias_sums, self._curvature[part])
            return fused(*data), sums, bias_sums

        loss, sums, bias_sums = _total(self._each(run))
        n_contrasts = rows.contrast.shape[1]
        return Evaluation(
            loss,
            sums,
            bias_sums[:, :1][:, :n_contrasts],
            bias_sums[:, 1:].reshape(-1, 1, 1)[:, :n_contrasts, :n_contrasts],
            np.empty(0),
            np.empty(0),
        )

    def product(self, scores: Floats, bias: Floats, extra: Floats) -> tuple[Floats, Floats, Floats]:
        """Multiply the Hessian at the point evaluated last."""
        kind = self._precision
        vector, lean = scores.astype(kind, copy=False), self._padded(bias, kind)

        def run(part: slice) -> tuple[float, Any, Any]:
            out, bias_out = np.zeros_like(vector), np.zeros_like(lean)
            data = (*self._columns(part), self._curvature[part], vector, lean, out, bias_out)
            fused_product(*data)
            return 0.0, out, bias_out

        _, out, bias_out = _total(self._each(run))
        shaped = bias_out.reshape(-1, 1)[:, : bias.shape[1]].astype(np.float64, copy=False)
        return out.astype(np.float64, copy=False), shaped, extra

    def _columns(self, part: slice) -> tuple[Any, ...]:
        rows = self.rows
        return rows.better[part], rows.worse[part], rows.evaluator[part], self._contrast[part]

    def _padded(self, bias: Floats, kind: Any) -> Any:
        flat = bias[:, 0] if bias.shape[1] else np.zeros(self.rows.n_evaluators)
        return np.ascontiguousarray(flat, dtype=kind)

    def _each(self, run: Callable[[slice], tuple[float, Any, Any]]) -> list[tuple[float, Any, Any]]:
        if len(self._parts) == 1:
            return [run(self._parts[0])]
        with ThreadPoolExecutor(len(self._parts)) as pool:
            return list(pool.map(run, self._parts))


def pass_over(rows: ComparisonRows) -> Pass:
    """Return the quickest pass that these comparisons allow."""
    plain = rows.n_extra == 0 and rows.contrast.shape[1] <= 1
    return FusedPass(rows) if plain else Pass(rows)


def _total(parts: list[tuple[float, Any, Any]]) -> tuple[float, Any, Any]:
    loss, first, second = parts[0]
    for other, more, last in parts[1:]:
        loss += other
        first += more
        second += last
    return loss, first, second


@njit(cache=True, nogil=True)
def margins(better, worse, evaluator, contrast, scores, bias):  # type: ignore[no-untyped-def]
    """Return the margin of every comparison."""
    out = np.empty(len(better))
    for p in range(len(better)):
        margin = scores[better[p]] - scores[worse[p]]
        for c in range(contrast.shape[1]):
            margin += bias[evaluator[p], c] * contrast[p, c]
        out[p] = margin
    return out


@njit(cache=True, nogil=True)
def add_gradient(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, slope, curvature, score_sums, bias_gradient, bias_blocks
):
    """Scatter slopes and curvatures in the margin to scores and biases.

    `score_sums` holds gradient and diagonal side by side, `bias_blocks` one matrix of contrasts
    by contrasts for each evaluator.
    """
    for p in range(len(better)):
        one, two, k = better[p], worse[p], evaluator[p]
        score_sums[one, 0] += slope[p]
        score_sums[one, 1] += curvature[p]
        score_sums[two, 0] -= slope[p]
        score_sums[two, 1] += curvature[p]
        for c in range(contrast.shape[1]):
            if contrast[p, c] != 0:
                bias_gradient[k, c] += slope[p] * contrast[p, c]
                for d in range(contrast.shape[1]):
                    bias_blocks[k, c, d] += curvature[p] * contrast[p, c] * contrast[p, d]


@njit(cache=True, nogil=True)
def add_product(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, change, score_out, bias_out
):
    """Scatter a change of every slope to scores and biases."""
    for p in range(len(better)):
        score_out[better[p]] += change[p]
        score_out[worse[p]] -= change[p]
        for c in range(contrast.shape[1]):
            bias_out[evaluator[p], c] += change[p] * contrast[p, c]


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy", inline="always")
def _exponential(margin: Floats, out: Floats, bits: NDArray[np.int64], n: int) -> None:
    """Fill `out` with exp(-|margin|), to 3.1e-13 of itself, in arithmetic that vectorises."""
    power = bits.view(np.float64)
    for t in range(n):
        x = max(-abs(margin[t]), -700.0)
        k = np.floor(x * LOG2E + 0.5)
        r = x - k * LN2_HIGH - k * LN2_LOW
        # Taylor's polynomial of degree ten; |r| is at most half the logarithm of two, so that
        # the rest is at most sqrt(2) * (log(2) / 2)**11 / 11! of the exponential.
        p = 1.0 + r / 10.0
        for degree in (9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0):
            p = 1.0 + p * r / degree
        out[t] = p
        bits[t] = (np.int64(k) + 1023) << 52
    for t in range(n):
        out[t] *= power[t]


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def fused(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, scores, bias, score_sums, bias_sums, weight
):
    """Return the loss of the logistic model and add gradient and diagonal, in blocks.

    Evaluators come in runs, so that their sums stay in registers; margins of a block stay in
    cache, and its logarithms are one logarithm of a product.
    """
    margin, tail, bits = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.int64)
    loss = 0.0
    for start in range(0, len(better), BLOCK):
        n = min(BLOCK, len(better) - start)
        for t in range(n):
            p = start + t
            margin[t] = scores[better[p]] - scores[worse[p]] + bias[evaluator[p]] * contrast[p]
        _exponential(margin, tail, bits, n)
        product, linear = 1.0, 0.0
        for t in range(n):
            product *= 1.0 + tail[t]
            linear += max(0.0, -margin[t])
        loss += np.log(product) + linear
        for t in range(n):
            # The probability that the comparison had gone the other way.
            ratio = 1.0 / (1.0 + tail[t])
            tail[t] = tail[t] * ratio if margin[t] >= 0.0 else ratio
            margin[t] = tail[t] * (1.0 - tail[t])
            weight[start + t] = margin[t]
        k, gradient, diagonal = evaluator[start], 0.0, 0.0
        for t in range(n):
            p = start + t
            one, two, d = better[p], worse[p], contrast[p]
            score_sums[one, 0] -= tail[t]
            score_sums[one, 1] += margin[t]
            score_sums[two, 0] += tail[t]
            score_sums[two, 1] += margin[t]
            if evaluator[p] != k:
                bias_sums[k, 0] += gradient
                bias_sums[k, 1] += diagonal
                k, gradient, diagonal = evaluator[p], 0.0, 0.0
            gradient -= tail[t] * d
            diagonal += margin[t] * d * d
        bias_sums[k, 0] += gradient
        bias_sums[k, 1] += diagonal
    return loss


@njit(cache=True, nogil=True, fastmath=True)
def fused_product(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, weight, scores, bias, score_out, bias_out
):
    """Multiply the Hessian of the logistic model with a vector, in the precision of the vector."""
    if not len(better):
        return
    k = evaluator[0]
    mine, total = bias[k], weight[0] * bias[k] * 0
    for p in range(len(better)):
        if evaluator[p] != k:
            bias_out[k] += total
            k = evaluator[p]
            mine, total = bias[k], total * 0
        one, two, d = better[p], worse[p], contrast[p]
        change = weight[p] * (scores[one] - scores[two] + mine * d)
        score_out[one] += change
        score_out[two] -= change
        total += change * d
    bias_out[k] += total
