r"""The likelihood of comparisons as passes over them: one fused, one for everything else.

A pass knows the data and nothing of priors. It evaluates the negative log-likelihood with its
gradient and curvature, and multiplies the Hessian at the point it evaluated last with a vector.

The lead of comparison p, judged by evaluator k, is
:math:`z_p = s_{better} - s_{worse} + b_k \cdot d_p` with :math:`d_p` the difference of the two
items' contrasts, and its margin :math:`m_p = g_k z_p`, plus the seat effect, with :math:`g_k` the
evaluator's sharpness, 1 unless it was given. The plain definitions are in
``tests/plain/ranking.py``. `add_fused` and `fused_product` do the same for the logistic model with
one contrast in one pass each; they are what makes millions of comparisons quick
(``benchmarks/bench_ranking.py``).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from comparity.ranking.likelihood.comparison_rows import ALL, ComparisonRows
from comparity.ranking.likelihood.kernels import (
    add_fused,
    add_gradient,
    add_product,
    fused_product,
    logistic_slopes,
    margins,
    mean_pulls,
    mean_slopes,
    times_of_evaluator,
    weighted_product,
)

Floats = NDArray[np.float64]

THREADED = 2_000_000
"""Comparisons above which two threads pay for themselves."""

SINGLE = 50_000
"""Items above which products are taken in single precision, which halves what must be fetched."""


def _normal_rule(points: int) -> tuple[Floats, Floats]:
    """Return Gauss and Hermite's rule for means over a standard normal variable, with shares."""
    nodes, shares = np.polynomial.hermite_e.hermegauss(points)
    return nodes, shares / shares.sum()


NODES = _normal_rule(5)
"""Within 0.0015 of mean slopes over a variance of 2.5, where three points are off by 0.008."""
MORE_NODES, MANY_NODES, WIDE = _normal_rule(9), _normal_rule(15), 1.0
"""For pulls of sharpness: within 4e-5 up to a variance of 1 with nine points, and beyond it, where
margins of sharp evaluators vary as much as leads times their sharpness do, with fifteen."""
NOBODY = np.empty(0, np.bool_)
"""Ties, where none was recorded."""


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
    """Return loss, slope and curvature of the logistic model, comparison by comparison.

    Slopes take the place of margins: of ten million comparisons fresh memory would take longer.
    """
    curvature = np.empty_like(margin)
    return logistic_slopes(margin, margin, curvature), margin, curvature


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
    """Any number of contrasts, with seat effect and ties where recorded.

    Attributes
    ----------
    rows : ComparisonRows
    sharpness : ndarray or None
        Of each evaluator; none where all have sharpness 1.
    """

    def __init__(self, rows: ComparisonRows) -> None:
        self.rows = rows
        self.sharpness: Floats | None = None
        self._curvature: NDArray[np.floating] = np.empty(0)
        self._weights: NDArray[np.floating] = np.empty(0)
        self._last: tuple[tuple[Floats, ...], Evaluation] | None = None
        self._cross = np.empty(0)
        self._tie_curvature = 0.0

    def at(self, scores: Floats, bias: Floats, extra: Floats) -> Evaluation:
        """Return what `evaluate` does, without a pass where the last one was at this point."""
        sharpness = np.empty(0) if self.sharpness is None else self.sharpness
        point = (scores, bias, extra, sharpness)
        if self._last is not None and all(map(np.array_equal, self._last[0], point)):
            return self._last[1]
        found = self.evaluate(scores, bias, extra)
        self._last = tuple(part.copy() for part in point), found
        return found

    def evaluate(self, scores: Floats, bias: Floats, extra: Floats) -> Evaluation:
        """Return loss, gradient and curvature; remember the curvature of every comparison."""
        rows, slopes, diagonal = self.rows, [], []
        margin = self._margin(scores, bias, extra)
        found = self.curves(margin, extra)
        loss, slope, curvature = found.loss, found.slope, found.curvature
        if self.has_last:
            self._cross, self._tie_curvature = found.cross, found.tie_curvature
            slopes, diagonal = [found.tie_slope], [found.tie_curvature]
        if rows.seat is not None:
            slopes.insert(0, float(slope @ rows.seat))
            diagonal.insert(0, float(curvature @ rows.seat**2))
        m, c = rows.n_evaluators, rows.contrast.shape[1]
        sums, gradient, blocks = np.zeros((rows.n_items, 2)), np.zeros((m, c)), np.zeros((m, c, c))
        self._curvature, self._weights = curvature, self.sharpen(self.sharpen(curvature))
        add_gradient(*rows.columns(), self.sharpen(slope), self._weights, sums, gradient, blocks)
        return Evaluation(loss, sums, gradient, blocks, np.array(slopes), np.array(diagonal))

    @property
    def has_last(self) -> bool:
        """Whether the last extra parameter is that of ties or lapses."""
        return self.rows.tied is not None or self.rows.lapses is None

    def curves(self, margin: Floats, extra: Floats) -> Davidson:
        """Return the loss with its derivatives in the margin and the last extra parameter."""
        if self.rows.tied is None:
            return Davidson(*logistic(margin), 0.0, np.empty(0), 0.0)
        return davidson(margin, self.rows.tied, float(extra[-1]))

    def product(self, scores: Floats, bias: Floats, extra: Floats) -> tuple[Floats, Floats, Floats]:
        """Multiply the Hessian at the point evaluated last."""
        rows, out, bias_out = self.rows, np.zeros_like(scores), np.zeros_like(bias)
        if not rows.n_extra:
            weighted_product(*rows.columns(), self.weights(), scores, bias, out, bias_out)
            return out, bias_out, extra
        step = self._margin(scores, bias, extra)
        change = self._curvature * step
        tail: list[float] = []
        if self.has_last:
            change += self._cross * extra[-1]
            tail = [float(self._cross @ step + self._tie_curvature * extra[-1])]
        add_product(*rows.columns(), self.sharpen(change), out, bias_out)
        head = [] if rows.seat is None else [float(change @ rows.seat)]
        return out, bias_out, np.array(head + tail)

    def weights(self) -> NDArray[np.floating]:
        """Return the curvature of every comparison in its lead."""
        return self._weights

    def slopes(self, scores: Floats, bias: Floats, extra: Floats) -> Floats:
        """Return the slope of the loss in the lead of every comparison."""
        return self.contributions(scores, bias, extra)[0]

    def contributions(self, scores: Floats, bias: Floats, extra: Floats) -> tuple[Floats, Floats]:
        """Return the slope in the lead of every comparison, and those in extra parameters."""
        margin, rows = self._margin(scores, bias, extra), self.rows
        further = np.zeros((len(margin), rows.n_extra))
        if rows.tied is None:
            slope = logistic(margin)[1]
        else:
            slope = davidson(margin, rows.tied, float(extra[-1])).slope
            even = extra[-1] - np.logaddexp(np.abs(margin) / 2, -np.abs(margin) / 2)
            further[:, -1] = expit(even) - rows.tied
        if rows.seat is not None:
            further[:, 0] = slope * rows.seat
        return self.sharpen(slope), further

    def bend(
        self, part: slice, spread: Floats, scores: Floats, bias: Floats, extra: Floats
    ) -> Floats:
        """Return by how much mean slopes over margins with this variance differ from slopes.

        By the rule of `NODES`. Where the spread is negative, the difference of as much variance
        with the other sign.
        """
        margin = self._margin(scores, bias, extra, part)
        found: Floats = mean_slopes(margin, spread, self._tie(extra), *NODES)
        return found

    def pull_of_sharpness(
        self, part: slice, spread: Floats, scores: Floats, bias: Floats, extra: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return mean slope and curvature of the loss in log sharpness, and the leads.

        Comparison by comparison, over margins with this variance.
        """
        lead = self.leads(scores, bias, part)
        own = margin = self.sharpen(lead, part)
        if self.rows.seat is not None or self.rows.own_seats:
            margin = self._margin(scores, bias, extra, part)
        tied = NOBODY if self.rows.tied is None else self.rows.tied[part]
        rules = MORE_NODES, MANY_NODES, WIDE
        pull, weight = mean_pulls(margin, own, spread, tied, self._tie(extra), *rules)
        return pull, weight, lead

    def leads(self, scores: Floats, bias: Floats, part: slice = ALL) -> Floats:
        """Return the lead of every comparison, without what the seat adds."""
        *items, contrast = self.rows.columns(part)
        groups = contrast.shape[1] - int(self.rows.own_seats)
        found: Floats = margins(*items, contrast[:, :groups], scores, bias)
        return found

    def effect_changes(self, leads: Floats) -> list[Floats]:
        """Return the curvature between each extra parameter and log sharpness, row by row."""
        own, found = self.sharpen(leads), []
        if self.rows.seat is not None:
            found.append(np.asarray(self._curvature * own * self.rows.seat, dtype=np.float64))
        if self.has_last:
            found.append(self._cross * own)
        return found

    def sharpen(self, values: Floats, part: slice = ALL) -> Floats:
        """Multiply one number of each comparison with the sharpness of who judged it."""
        if self.sharpness is None:
            return values
        found: Floats = times_of_evaluator(values, self.sharpness, self.rows.evaluator[part])
        return found

    def _margin(self, scores: Floats, bias: Floats, extra: Floats, part: slice = ALL) -> Floats:
        margin = self.sharpen(margins(*self.rows.columns(part), scores, bias), part)
        if self.rows.seat is not None:
            margin += extra[0] * self.rows.seat[part]
        return margin

    def _tie(self, extra: Floats) -> float:
        """Return Davidson's parameter."""
        return 0.0 if self.rows.tied is None else math.exp(min(float(extra[-1]), 700.0))


class FusedPass(Pass):
    """The logistic model with at most one contrast and no seat effect: one kernel for each pass."""

    def __init__(self, rows: ComparisonRows) -> None:
        super().__init__(rows)
        n = len(rows.better)
        flat = rows.contrast[:, 0] if rows.contrast.shape[1] else np.zeros(n, np.int8)
        self._contrast = np.ascontiguousarray(flat)
        # Of the lead, not of the margin.
        self._curvature = np.empty(n, np.float32)
        parts = min(2, os.cpu_count() or 1) if n >= THREADED else 1
        ends = np.linspace(0, n, parts + 1).astype(np.int64).tolist()
        self._parts = [slice(*pair) for pair in pairwise(ends)]
        self._precision = np.float32 if rows.n_items > SINGLE else np.float64

    def evaluate(self, scores: Floats, bias: Floats, extra: Floats) -> Evaluation:
        """Return loss, gradient and curvature."""
        rows, lean = self.rows, self._pad_bias(bias, np.float64)
        sharpness = np.ones(rows.n_evaluators) if self.sharpness is None else self.sharpness

        def run(part: slice) -> tuple[float, Floats, Floats]:
            sums, bias_sums = np.zeros((2, rows.n_items)), np.zeros((rows.n_evaluators, 2))
            data = (*self._columns(part), scores, lean, sharpness)
            return add_fused(*data, sums, bias_sums, self._curvature[part]), sums, bias_sums

        loss, sums, bias_sums = _total(self._each(run))
        n_contrasts = rows.contrast.shape[1]
        return Evaluation(
            loss,
            sums.T,
            bias_sums[:, :1][:, :n_contrasts],
            bias_sums[:, 1:].reshape(-1, 1, 1)[:, :n_contrasts, :n_contrasts],
            np.empty(0),
            np.empty(0),
        )

    def weights(self) -> NDArray[np.floating]:
        """Return the curvature of every comparison in its lead."""
        return self._curvature

    def product(self, scores: Floats, bias: Floats, extra: Floats) -> tuple[Floats, Floats, Floats]:
        """Multiply the Hessian at the point evaluated last."""
        kind = self._precision
        vector, lean = scores.astype(kind, copy=False), self._pad_bias(bias, kind)

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

    def _pad_bias(self, bias: Floats, kind: Any) -> Any:
        flat = bias[:, 0] if bias.shape[1] else np.zeros(self.rows.n_evaluators)
        return np.ascontiguousarray(flat, dtype=kind)

    def _each(self, run: Callable[[slice], tuple[float, Any, Any]]) -> list[tuple[float, Any, Any]]:
        if len(self._parts) == 1:
            return [run(self._parts[0])]
        with ThreadPoolExecutor(len(self._parts)) as pool:
            return list(pool.map(run, self._parts))


def _total(parts: list[tuple[float, Any, Any]]) -> tuple[float, Any, Any]:
    loss, first, second = parts[0]
    for other, more, last in parts[1:]:
        loss += other
        first += more
        second += last
    return loss, first, second
