r"""The likelihood of comparisons some of which are decided at random.

With a share :math:`\lambda` of lapses, the same for all evaluators, a comparison with margin m is
won with

.. math:: p = (1 - \lambda) \operatorname{logistic}(m) + \lambda / 2 .

Its slope is bounded: one judgment against all others moves a score by no more than a lapse
explains. The likelihood is not concave in the margin, and the Hessian here is its expectation,
Fisher's information :math:`p'^2 / (p (1 - p))`, which is positive and serves for steps and errors
alike.

The rate is given, or estimated as one more parameter u with
:math:`\lambda = \operatorname{logistic}(c + r u)`, whose prior is centred at one judgment in
twenty: lapses show where a clear lead is lost, and a panel without clear leads says nothing of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.passes import MANY_NODES, NODES, Davidson, FusedPass, Pass

Floats = NDArray[np.float64]

CENTRE, SCALE = -3.0, 0.15
"""Log odds of a lapse where the parameter is zero, one judgment in twenty, and how much it adds. It
has the prior of the other effects, SD 10, so that log odds have SD 1.5: in 95 of 100 panels lapses
are between one in four hundred and one in two."""


def lapse_rate(effect: float) -> float:
    """Return the share of lapses that belongs to the parameter."""
    return float(expit(CENTRE + SCALE * effect))


class Lapse(NamedTuple):
    """One comparison after the other: chance of what was found, and its slopes."""

    chance: Floats
    in_margin: Floats
    in_effect: Floats


def lapses(margin: Floats, rate: float) -> Lapse:
    """Return the chance of each outcome, with its derivatives in margin and parameter."""
    won = expit(margin)
    steep = SCALE * rate * (1 - rate)
    return Lapse(
        chance=(1 - rate) * won + rate / 2,
        in_margin=(1 - rate) * won * (1 - won),
        in_effect=steep * (0.5 - won),
    )


class LapsePass(Pass):
    """Comparisons without ties of which some are random."""

    def rate(self, extra: Floats) -> float:
        """Return the share of lapses."""
        return self.rows.lapses if self.rows.lapses is not None else lapse_rate(float(extra[-1]))

    def curves(self, margin: Floats, extra: Floats) -> Davidson:
        """Return the loss with its derivatives in margin and parameter, expected ones of second."""
        found = lapses(margin, self.rate(extra))
        variance = found.chance * (1 - found.chance)
        cross = found.in_margin * found.in_effect / variance
        return Davidson(
            loss=-float(np.log(found.chance).sum()),
            slope=-found.in_margin / found.chance,
            curvature=found.in_margin**2 / variance,
            tie_slope=-float((found.in_effect / found.chance).sum()),
            cross=cross,
            tie_curvature=float((found.in_effect**2 / variance).sum()),
        )

    def contributions(self, scores: Floats, bias: Floats, extra: Floats) -> tuple[Floats, Floats]:
        """Return the slope in the lead of every comparison, and those in extra parameters."""
        found = lapses(self._margin(scores, bias, extra), self.rate(extra))
        slope = -found.in_margin / found.chance
        further = np.zeros((len(slope), self.rows.n_extra))
        if self.rows.seat is not None:
            further[:, 0] = slope * self.rows.seat
        if self.has_last:
            further[:, -1] = -found.in_effect / found.chance
        return self.sharpen(slope), further

    def bend(
        self, part: slice, spread: Floats, scores: Floats, bias: Floats, extra: Floats
    ) -> Floats:
        """Return by how much mean slopes over margins with this variance differ from slopes."""
        margin, rate = self._margin(scores, bias, extra, part), self.rate(extra)
        return _bend(margin, spread, lambda at: _slope(lapses(at, rate), "in_margin"))

    def bend_last(
        self, part: slice, spread: Floats, scores: Floats, bias: Floats, extra: Floats
    ) -> Floats:
        """Return the same of slopes in the parameter."""
        margin, rate = self._margin(scores, bias, extra, part), self.rate(extra)
        return _bend(margin, spread, lambda at: _slope(lapses(at, rate), "in_effect"))

    def pull_of_sharpness(
        self, part: slice, spread: Floats, scores: Floats, bias: Floats, extra: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return mean slope and curvature of the loss in log sharpness, and the leads."""
        lead, rate = self.leads(scores, bias, part), self.rate(extra)
        own, margin = self.sharpen(lead, part), self._margin(scores, bias, extra, part)
        pull, weight, deviation = np.zeros_like(own), np.zeros_like(own), np.sqrt(spread)
        for node, share in zip(*MANY_NODES, strict=True):
            found, led = lapses(margin + node * deviation, rate), own + node * deviation
            pull -= share * led * found.in_margin / found.chance
            weight += share * led**2 * found.in_margin**2 / (found.chance * (1 - found.chance))
        return pull, weight, lead


def _slope(found: Lapse, of: str) -> Floats:
    """Return the slope of the loss."""
    slope: Floats = -getattr(found, of) / found.chance
    return slope


def _bend(margin: Floats, spread: Floats, slope: Callable[[Floats], Floats]) -> Floats:
    """Return mean slopes over margins with this variance minus slopes; see :meth:`Pass.bend`."""
    deviation, bent = np.sqrt(np.abs(spread)), -slope(margin)
    for node, share in zip(*NODES, strict=True):
        bent += share * slope(margin + node * deviation)
    return np.where(spread < 0, -bent, bent)


def general_pass(rows: ComparisonRows) -> Pass:
    """Return a pass that allows for anything these comparisons have."""
    return Pass(rows) if rows.lapses == 0.0 else LapsePass(rows)


def pass_over(rows: ComparisonRows) -> Pass:
    """Return the quickest pass that these comparisons allow."""
    plain = rows.n_extra == 0 and rows.contrast.shape[1] <= 1 and rows.lapses == 0.0
    return FusedPass(rows) if plain else general_pass(rows)
