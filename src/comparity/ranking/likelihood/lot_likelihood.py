"""Comparisons in lots, and their likelihood with its slopes (:mod:`comparity.ranking.lots`)."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from comparity.ranking.likelihood.objective import EFFECT_SD
from comparity.ranking.likelihood.pair_integrals import LARGEST_HALF_MARGIN, OF_EACH
from comparity.ranking.likelihood.propagation import integrate

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SHARPNESS, SHARPNESS_SD = 1.0, 2.0
"""Centre and SD of the prior of sharpness: few judges of few prompts do not tell their own."""
SPREAD_SD, TASTE_SD = 1.0, 2.0
"""SDs of the priors of the spread of log SDs, and of tastes."""
SCALES, FURTHEST = 7, 2.25
"""SDs that a lot can have, and how far from the median the logarithms are, in their SDs."""
START = 0.5
"""Spread of log SDs, and tastes, to begin with: at zero the likelihood is level in them."""
NO_TASTE = -1
"""Stands for a taste where an evaluator sees what scores are."""
THREADED = 1000
"""Judgments from which on two threads are faster than one."""


def _even_nodes() -> tuple[Floats, Floats]:
    """Return points at even distances, of variance one, and logarithms of their shares."""
    nodes = np.linspace(-FURTHEST, FURTHEST, SCALES)
    shares = np.exp(-(nodes**2) / 2)
    shares /= shares.sum()
    return nodes / np.sqrt(shares @ nodes**2), np.log(shares)


NODES, LOG_SHARES = _even_nodes()


class Lots(NamedTuple):
    """Comparisons by lot, evaluator with a taste, and pair, the better item first.

    Attributes
    ----------
    items, lots, blocks, pairs, bounds : ndarray of int
        As :func:`comparity.ranking.likelihood.propagation.integrate` takes them.
    taste : ndarray of int
        Which taste the evaluator of each block has.
    block : ndarray of int
        Lot of each block.
    evaluator, lot, cluster : ndarray of int
        Of each comparison, in the order of pairs.
    sign : ndarray
        1 where the better item is the first of its pair, else -1.
    numbers : ndarray, (comparisons, numbers)
        What the better item has more of.
    tied : ndarray of bool
    order : ndarray of int
        Where each item's score is found.
    """

    items: Codes
    lots: Codes
    blocks: Codes
    pairs: Codes
    bounds: Codes
    taste: Codes
    block: Codes
    evaluator: Codes
    lot: Codes
    cluster: Codes
    sign: Floats
    numbers: Floats
    tied: NDArray[np.bool_]
    order: Codes

    @classmethod
    def of(
        cls,
        better: Codes,
        worse: Codes,
        evaluator: Codes,
        numbers: Floats,
        *,
        tied: NDArray[np.bool_],
        cluster: Codes,
        tastes: Codes | None = None,
    ) -> Lots:
        """Return comparisons in the order of lots and pairs; a lot is what comparisons connect.

        `tastes` says which taste each evaluator has, `NO_TASTE` for none; nobody has any by
        default. Evaluators of one taste differ from scores as much, and each in its own way.
        """
        n, many = int(max(better.max(), worse.max())) + 1, int(evaluator.max()) + 2
        tastes = np.full(many - 1, NO_TASTE) if tastes is None else tastes
        met = coo_array((np.ones(len(better), np.int8), (better, worse)), shape=(n, n))
        n_lots, lot_of = connected_components(met, directed=False)
        by_lot = np.argsort(lot_of, kind="stable")
        order = np.empty(n, np.int64)
        order[by_lot] = np.arange(n)
        items = np.searchsorted(lot_of[by_lot], np.arange(n_lots + 1))
        low, high = np.sort([order[better], order[worse]], axis=0)
        # Whose opinion a judgment tells: that of an evaluator with a taste, or, 0, the common one.
        whose = np.where(tastes[evaluator] == NO_TASTE, 0, evaluator + 1)
        in_lot = np.searchsorted(items, low, side="right") - 1
        keys, pair = np.unique(((in_lot * many + whose) * n + low) * n + high, return_inverse=True)
        rows = np.argsort(pair, kind="stable")
        both = np.column_stack([keys // n % n, keys % n])
        heads, blocks = np.unique(keys // n**2, return_index=True)
        lot = np.searchsorted(items, both[:, 0], side="right") - 1
        return cls(
            items=items,
            lots=np.searchsorted(heads // many, np.arange(n_lots + 1)),
            blocks=np.append(blocks, len(keys)),
            pairs=both - items[lot][:, None],
            bounds=np.searchsorted(pair[rows], np.arange(len(keys) + 1)),
            taste=np.append(NO_TASTE, tastes)[heads % many],
            block=heads // many,
            evaluator=evaluator[rows],
            lot=lot[pair[rows]],
            cluster=cluster[rows],
            sign=np.where(order[better] < order[worse], 1.0, -1.0)[rows],
            numbers=numbers[rows],
            tied=tied[rows],
            order=order,
        )


class LotLikelihood:
    """The likelihood of lots with its slopes, lot by lot; sites are kept between evaluations."""

    def __init__(self, data: Lots, n_evaluators: int) -> None:
        self.data, self.n_evaluators = data, n_evaluators
        self.n_numbers = data.numbers.shape[1]
        tied = np.bincount(data.evaluator[data.tied], minlength=n_evaluators)
        self.with_ties = np.flatnonzero(tied)
        self.n_own = n_evaluators * (self.n_numbers + 1)
        self.n_tastes = int(data.taste.max()) + 1
        # At the end are the numbers in which the likelihood is even: tastes, and the spread.
        self.n_even = self.n_tastes + 1
        self.size = self.n_own + len(self.with_ties) + self.n_even
        self._sites = np.zeros((SCALES, len(data.pairs), 2))
        self._of_evaluator = [np.flatnonzero(data.evaluator == k) for k in range(n_evaluators)]
        precision = np.full((n_evaluators, self.n_numbers + 1), EFFECT_SD**-2)
        precision[:, 0] = SHARPNESS_SD**-2
        ties = np.full(len(self.with_ties), EFFECT_SD**-2)
        even = np.append(np.full(self.n_tastes, TASTE_SD**-2), SPREAD_SD**-2)
        self.precision = np.concatenate([precision.ravel(), ties, even])
        self.centre = np.zeros(self.size)
        self.centre[: self.n_own : self.n_numbers + 1] = SHARPNESS
        self.start = np.append(self.centre[: -self.n_even], np.full(self.n_even, START))
        self.scores, self.even = np.zeros(data.items[-1]), self.start[-self.n_even :]
        self._means = np.zeros((len(data.sign), OF_EACH))
        # Threads gain nothing where there is little to do; ends are such that each does as much.
        threads = min(2, os.cpu_count() or 1) if len(data.sign) >= THREADED else 1
        done = data.bounds[data.blocks[data.lots]] / len(data.sign)
        ends = np.searchsorted(done, np.arange(threads + 1) / threads).tolist()
        self._parts = [*pairwise(ends)]

    def split(self, point: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Return sharpness and worth of each evaluator, log ties, tastes, and the spread."""
        own = point[: self.n_own].reshape(self.n_evaluators, -1)
        log_ties = np.full(self.n_evaluators, -np.inf)
        log_ties[self.with_ties] = point[self.n_own : -self.n_even]
        return own, log_ties, point[-self.n_even : -1], float(point[-1])

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and the slopes of each lot, (lots, parameters)."""
        data, (own, log_ties, tastes, spread) = self.data, self.split(point)
        who, many = data.evaluator, len(data.lots) - 1
        offset = (own[who, 1:] * data.numbers).sum(axis=1)
        odds = np.exp(np.clip(-offset / 2, -LARGEST_HALF_MARGIN, LARGEST_HALF_MARGIN))
        judged = np.column_stack([own[who, 0] * data.sign, odds, data.tied, np.exp(log_ties)[who]])
        value, in_spread, in_taste = np.zeros(many), np.zeros(many), np.zeros(len(data.taste))
        means, scores = np.zeros((len(who), OF_EACH)), np.zeros(data.items[-1])
        scales = np.stack([np.exp(spread * NODES), LOG_SHARES, NODES])
        taken = (
            (data.items, data.lots, data.blocks, data.pairs, data.bounds),
            *(np.append(tastes, 0.0)[data.taste], judged, scales, self._sites),
            (value, in_spread, in_taste, means, scores),
        )
        # Lots share nothing, and the kernel lets other threads run.
        with ThreadPoolExecutor(len(self._parts)) as pool:
            for done in [pool.submit(integrate, part, *taken) for part in self._parts]:
                done.result()
        self.scores, self.even, self._means = scores, point[-self.n_even :], means
        return float(value.sum()), self._by_lot(means, in_taste, in_spread)

    def _by_lot(self, slopes: Floats, in_taste: Floats, in_spread: Floats) -> Floats:
        """Sum slopes of judgments by lot and parameter."""
        data, found = self.data, np.zeros((len(in_spread), self.size))
        wide = self.n_numbers + 1
        for k, rows in enumerate(self._of_evaluator):
            lot = data.lot[rows]
            columns = [slopes[rows, 1] * data.sign[rows]]
            columns += [slopes[rows, 0] * data.numbers[rows, c] for c in range(wide - 1)]
            for place, column in enumerate(columns):
                found[:, k * wide + place] = np.bincount(lot, column, len(found))
        for place, k in enumerate(self.with_ties.tolist()):
            rows = self._of_evaluator[k]
            found[:, self.n_own + place] = np.bincount(data.lot[rows], slopes[rows, 2], len(found))
        for taste in range(self.n_tastes):
            rows = np.flatnonzero(data.taste == taste)
            summed = np.bincount(data.block[rows], in_taste[rows], len(found))
            found[:, self.size - self.n_even + taste] = summed
        found[:, -1] = in_spread
        return found

    def information(self, slopes: Floats) -> Floats:
        """Return the curvature at the point evaluated last, if scores and SDs were known.

        They are not, so it is more than there is, and steps by it are safe, as those of EM are.
        """
        data, found, wide = self.data, np.diag(self.precision), self.n_numbers + 1
        for k, rows in enumerate(self._of_evaluator):
            flat, tilted, square = self._means[rows, 3:].T
            x, own = data.numbers[rows], slice(k * wide, (k + 1) * wide)
            block = np.empty((wide, wide))
            block[0, 0], block[1:, 1:] = square.sum(), (flat[:, None] * x).T @ x
            block[0, 1:] = block[1:, 0] = (tilted * data.sign[rows]) @ x
            found[own, own] += block
        for place, k in enumerate(self.with_ties.tolist(), self.n_own):
            tied = data.tied[self._of_evaluator[k]]
            found[place, place] += len(tied) * tied.mean() * (1 - tied.mean())
        for place, value in enumerate(self.even.tolist(), self.size - self.n_even):
            # Level at zero: what it falls by on the way there tells of the curvature, half way.
            to_zero = -2 * slopes[:, place].sum() / value if value else 0.0
            found[place, place] += max(len(slopes) * slopes[:, place].var(), to_zero)
        return found

    def posterior(self, point: Floats) -> tuple[float, Floats, Floats]:
        """Return log-likelihood plus log-priors, its gradient, and the slopes of each lot."""
        value, slopes = self.evaluate(point)
        apart = point - self.centre
        pull = self.precision * apart
        return value - float(apart @ pull) / 2, slopes.sum(axis=0) - pull, slopes

    def curvature(self, point: Floats, gradient: Floats, steps: Floats) -> Floats:
        """Return the negative Hessian, by differences of gradients."""
        columns = np.empty((self.size, self.size))
        # In sharpness, tastes and spread the likelihood is skewed, so they are moved both ways.
        skewed = {
            *range(0, self.n_own, self.n_numbers + 1),
            *range(self.size - self.n_even, self.size),
        }
        for place, step in enumerate(steps.tolist()):
            moved = step * np.eye(1, self.size, place)[0]
            ahead = self.posterior(point + moved)[1]
            behind = self.posterior(point - moved)[1] if place in skewed else 2 * gradient - ahead
            columns[place] = (behind - ahead) / (2 * step)
        return (columns + columns.T) / 2
