r"""Tests of gaps that may be read at any moment, as often as one likes, and stopped on.

Question: judgments come in; may one look after each of them and stop as soon as they decide?

**Information time.** Let :math:`d_t` be the gap after some judgments, :math:`s_t` its standard
error and :math:`I_t = 1 / s_t^2` its information. Where pairs are chosen without regard to
outcomes, what comes later is on average what was there before, so that
:math:`\operatorname{cov}(d_s, d_t) = \operatorname{var}(d_t)` for :math:`s < t`, whatever items and
evaluators judgments share: for a mean of dependent outcomes and for an evaluator's constant lean
alike. :math:`S_t = I_t (d_t - \delta)` then has uncorrelated increments with variance
:math:`I_t - I_s`, and is asymptotically a Brownian motion in :math:`I` if the gap is
:math:`\delta`.

**Robbins' mixture.** For every number :math:`\theta` the process
:math:`\exp(\theta S - \theta^2 I / 2)` is a martingale that starts at one, and so is every average
over :math:`\theta`. Over a normal distribution with mean 0 and variance :math:`\rho` [1]_

.. math:: E = \int e^{\theta S - \theta^2 I / 2} \, dN(\theta; 0, \rho)
    = \frac{1}{\sqrt{1 + \rho I}} \exp\Big(\frac{\rho I}{1 + \rho I} \cdot \frac{z^2}{2}\Big),
    \qquad z = \frac{d - \delta}{s}.

It is an *e-value*: at whatever moment one stops, its mean is at most one if the gap is
:math:`\delta`. By Ville's inequality it ever reaches :math:`1 / \alpha` with probability
:math:`\alpha` at most, so that

.. math:: |d - \delta| \le s \sqrt{\Big(1 + \frac{1}{\rho I}\Big)
    \log \frac{1 + \rho I}{\alpha^2}}

at all moments together with probability :math:`1 - \alpha`: a confidence sequence, asymptotic as
the standard error is estimated [2]_ [3]_.

**Large gaps.** Tuned to a margin of 0.05 that boundary is 8 standard errors wide where the standard
error is 0.16: a gap of 0.5 would take as many judgments as one of 0.1. A fifth of the mixture is
therefore over gaps four times as large, with variance :math:`16 \rho`: still one average over
:math:`\theta`. Near the planned size the boundary becomes wider by up to 3 %
(:math:`\alpha` is :math:`0.8 \alpha` there), for gaps of ten margins it falls by half.

**One side.** Over the positive half of that distribution the average is
:math:`E^+ = 2 E \, \Phi(z \sqrt{\rho I / (1 + \rho I)})`, again a martingale, and falls on average
if the gap is below :math:`\delta`. With :math:`E^-` its mirror image,
:math:`E = (E^+ + E^-) / 2`. Tests here have one side each: ``1 / E+`` and ``1 / E-`` are p values,
twice the smaller one is the two-sided p value, and the interval at level :math:`1 - \alpha` holds
the gaps at which neither exceeds :math:`2 / \alpha`. That is longer than the two-sided formula by
less than 0.1 %, and a gap is inside a margin exactly where both one-sided tests say so.

**Few clusters.** :math:`z` is the normal quantile of the p value that the test of a single look
has at :math:`\delta` (its *score* error: at the tested gap, 0 or plus or minus the margin), and
:math:`s = |d - \delta| / z`. With the normal distribution this is the standard error; with
Student's t of ten evaluators it is as much larger as the tail is heavier there, so that at every
single moment the level is that of the t-test. With fewer than ten evaluators, or other clusters, t
is so wide this far out that nothing would ever be decided, and no test is made.

**Shared items.** Where what items add cancels out of a gap (those across two groups, say), the sum
over judgments that share an item is near zero, and its estimate as often negative as not. Looks
that are repeated would meet moments at which it takes off nearly all of the variance (false alarms
of 0.07 to 0.08 with 60 items), so that it counts only where it is positive: the error is never
smaller than that of judgments that share nothing.

**Several gaps.** At the moment one stops ``1 / E`` is a p value, so Holm's procedure applies. The
mean of e-values is an e-value however they depend on each other, and Simes' test of several
``1 / E`` rejects only if this mean reaches :math:`1 / \alpha` [4]_; so do Hochberg's procedure, and
that of Benjamini and Hochberg for false discoveries (*e-BH*), under any dependence.

No maximum over earlier moments is taken: information may fall (a new evaluator), and only what is
there now counts.

References
----------
.. [1] Robbins (1970), Annals of Mathematical Statistics 41, pages 1397-1409.
.. [2] Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), "Time-uniform central limit theory
   and asymptotic confidence sequences", Annals of Statistics 52.
.. [3] Howard, Ramdas, McAuliffe and Sekhon (2021), "Time-uniform, nonparametric, nonasymptotic
   confidence sequences", Annals of Statistics 49.
.. [4] Wang and Ramdas (2022), "False discovery rate control with e-values", JRSS B 84.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import lambertw, log_ndtr, ndtr, ndtri

from comparity.inference.clustered_means import REACH
from comparity.inference.dyadic import AMPLE
from comparity.inference.e_values import EValueGap
from comparity.inference.evaluators import ClusterGap
from comparity.inference.gap_tests import GapTest, Pivot, Statistic
from comparity.inference.means import ConstantPivot, RatioPivot
from comparity.inference.pivots import DyadicGap, SharedGap

Floats = NDArray[np.float64]

FEWEST_ANYTIME_CLUSTERS = 10
"""With fewer evaluators or other clusters, nothing can be decided at any moment."""

FEWEST_ROWS = 20
"""With fewer trials on either side of a gap there is no look yet."""

PLANNED_POWER = 0.8
"""Power of the fixed design at whose size the boundary is narrowest."""

NEAR_SHARE, WIDER_VARIANCE = 0.8, 16.0
"""Share of the mixture that is tuned to the margin; the rest has a variance so many times as large.
"""

# Beyond this many standard errors double precision cannot tell the normal tail from zero.
FARTHEST = 37.0


def tuned_information(alpha: float) -> float:
    r"""Return the value of rho times I at which the boundary is narrowest in standard errors.

    The root of :math:`x = \log((1 + x) / \alpha^2)`, where the boundary has
    :math:`\sqrt{x + 1}` standard errors.

    Examples
    --------
    >>> x = tuned_information(0.05)
    >>> round(x, 2), round(math.sqrt(1 + x), 2)
    (8.21, 3.04)
    """
    return float(-lambertw(-(alpha**2) / math.e, k=-1).real) - 1


def tuned_rho(margin: float, alpha: float) -> float:
    r"""Return the variance of gaps that the mixture is over.

    The boundary is narrowest at the size of a fixed design that shows a gap of zero to be within
    the margin with a power of 80 %,

    .. math:: I^* = \Big(\frac{z_{1 - \alpha} + z_{0.9}}{margin}\Big)^2, \qquad
        \rho = \frac{x(\alpha)}{I^*},

    with :math:`x` of :func:`tuned_information`. At an error rate of 0.05 this is close to the
    squared margin. Any other number is as valid; far from the planned size it is slower.

    Examples
    --------
    >>> round(math.sqrt(tuned_rho(0.05, 0.05)), 3)
    0.049
    """
    errors = ndtri(1 - min(alpha, 0.5)) + ndtri((1 + PLANNED_POWER) / 2)
    return float(tuned_information(alpha) * (margin / errors) ** 2)


def boundary(information: ArrayLike, rho: float, alpha: float) -> Floats:
    """Return how many standard errors a gap may be from the truth, at all moments together.

    Examples
    --------
    >>> boundary([400, 3400, 40000], 0.0024, 0.05).round(2).tolist()
    [3.69, 3.04, 3.27]
    """
    x = rho * np.asarray(information, dtype=np.float64)
    found: Floats = np.sqrt((1 + 1 / x) * (np.log1p(x) - 2 * math.log(alpha)))
    return found


def level_of_a_look(alpha: float) -> float:
    """Return the two-sided level of a single look where the boundary is narrowest.

    Examples
    --------
    >>> round(level_of_a_look(0.05), 4)
    0.0018
    """
    return float(2 * ndtr(-math.sqrt(1 + tuned_information(NEAR_SHARE * alpha))))


def log_e_value(z: ArrayLike, x: ArrayLike) -> Floats:
    """Return the logarithm of the one-sided e-value.

    Parameters
    ----------
    z : array_like
        Distance from the hypothesis in standard errors, positive where it speaks against it.
    x : array_like
        Information times `rho`.
    """
    z, x = np.asarray(z, dtype=np.float64), np.asarray(x, dtype=np.float64)
    share = x / (1 + x)
    found: Floats = math.log(2) - np.log1p(x) / 2 + share * z**2 / 2 + log_ndtr(z * np.sqrt(share))
    return found


def log_e_value_of_gaps(z: ArrayLike, x: ArrayLike) -> Floats:
    """Return the same for the mixture over gaps near the margin and over larger ones."""
    near = log_e_value(z, x) + math.log(NEAR_SHARE)
    far = log_e_value(z, WIDER_VARIANCE * np.asarray(x, dtype=np.float64)) + math.log(
        1 - NEAR_SHARE
    )
    return np.logaddexp(near, far)


def log_e_value_of_gap(z: float, x: float) -> float:
    """Return the same of one gap: an interval asks for dozens, and arrays of one number are slow.

    Examples
    --------
    >>> bool(np.isclose(log_e_value_of_gap(3.0, 8.0), log_e_value_of_gaps(3.0, 8.0)))
    True
    """
    near, far = (
        math.log(2 * share)
        - math.log1p(y) / 2
        + y / (1 + y) * z * z / 2
        + float(log_ndtr(z * math.sqrt(y / (1 + y))))
        for share, y in ((NEAR_SHARE, x), (1 - NEAR_SHARE, WIDER_VARIANCE * x))
    )
    return max(near, far) + math.log1p(math.exp(-abs(near - far)))


def anytime_p_values(z: ArrayLike, errors: ArrayLike, rho: float) -> Floats:
    """Return two-sided p values of normal estimates that hold at any moment.

    Parameters
    ----------
    z, errors : array_like
        Estimates in standard errors, and the standard errors; ``nan`` stays ``nan``.
    rho : float
        Variance of the distribution of estimates that the mixture is over.
    """
    with np.errstate(divide="ignore"):
        x = rho / np.square(np.asarray(errors, dtype=np.float64))
    found: Floats = np.minimum(1.0, 2 * np.exp(-log_e_value(np.abs(z), x)))
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnytimeGap(EValueGap):
    """A gap that may be read at any moment, by the mixture over normal gaps.

    Attributes
    ----------
    gap, standard_error : float
        Of the test of a single look.
    fixed : Pivot
        The test of a single look.
    rho : float
        Variance of the gaps that the mixture is over.
    reach : float
        The largest gap there may be.
    """

    gap: float
    standard_error: float
    fixed: Pivot
    rho: float
    reach: float = 1.0

    def log_e(self, hypothesised: float, side: int) -> float:
        """Return the logarithm of the e-value against gaps on one side of a hypothesis."""
        distance = self.gap - hypothesised
        z = self._quantile(hypothesised)
        if not z or not distance:
            return 0.0
        information = (z / distance) ** 2
        against = side * math.copysign(z, distance)
        return log_e_value_of_gap(against, self.rho * information)

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value: twice that of the side on which the gap is."""
        side = 1 if self.gap > hypothesised else -1
        return min(1.0, 2 * math.exp(-self.log_e(hypothesised, side)))

    def _quantile(self, hypothesised: float) -> float:
        """Return the distance in standard errors, or what it is worth by a p value."""
        if isinstance(self.fixed, DyadicGap) and not self.fixed.reference.n_clusters:
            single, shared = self.fixed.parts_at(hypothesised)
            error = math.sqrt(max(single, single + shared, 0.0))
            return min(abs(self.gap - hypothesised) / error, FARTHEST) if error else FARTHEST
        if isinstance(self.fixed, Statistic) and not self.fixed.reference.n_clusters:
            return min(abs(self.fixed.statistic(hypothesised)), FARTHEST)
        above = self.gap > hypothesised
        p = (self.fixed.p_above if above else self.fixed.p_below)(hypothesised)
        return min(max(float(-ndtri(p)), 0.0), FARTHEST)


class StudentGap(ClusterGap):
    """A gap in clusters without sign flips, which cannot tell p values this small."""

    __slots__ = ()

    @property
    def flips_signs(self) -> bool:
        """Whether signs of clusters are turned, too."""
        return False


def read_anytime(test: GapTest, *, margin: float, alpha: float) -> GapTest:
    """Return the test of a single look as one that may be read at any moment.

    Parameters
    ----------
    test : GapTest
    margin, alpha : float
        Largest harmless gap and error rate over all moments, for :func:`tuned_rho`.

    Returns
    -------
    GapTest
        Without a p value, and with the reason, where there is too little information to begin:
        fewer than 20 trials on a side, fewer than 15 hits or misses expected in a cell, fewer than
        ten evaluators or other clusters.
    """
    pivot = test.pivot
    if pivot is None:
        return test
    reason = _reason_to_wait(test, pivot, margin)
    if reason:
        return replace(test, p_value=math.nan, pivot=None, reason=reason)
    method = test.method
    if type(pivot) is ClusterGap:
        pivot = StudentGap(**{one.name: getattr(pivot, one.name) for one in fields(pivot)})
        method = method.replace("t and signs of", "t of")
    found = AnytimeGap(
        gap=test.gap,
        standard_error=test.standard_error,
        fixed=pivot,
        rho=tuned_rho(margin, alpha),
        reach=REACH if isinstance(pivot, RatioPivot) else getattr(pivot, "reach", 1.0),
    )
    return replace(test, pivot=found, p_value=found.p_value(0.0), method=f"{method}, anytime")


def _reason_to_wait(test: GapTest, pivot: Pivot, margin: float) -> str:
    """Say what is missing before the first look; nothing where all is there."""
    if isinstance(pivot, ConstantPivot):
        return "nothing varies so far"
    if isinstance(pivot, ClusterGap) and pivot.n_clusters < FEWEST_ANYTIME_CLUSTERS:
        return (
            f"{pivot.n_clusters} evaluators or other clusters are too few to stop at any moment, "
            f"{FEWEST_ANYTIME_CLUSTERS} are needed; plan looks instead"
        )
    if min(test.n) < FEWEST_ROWS:
        return f"{min(test.n)} on one side of the gap, {FEWEST_ROWS} are needed to begin"
    found = _scarcest(pivot, margin)
    if found < AMPLE:
        return f"{found:.1f} hits or misses are expected in a cell, {AMPLE} are needed to begin"
    return ""


def _scarcest(pivot: Pivot, margin: float) -> float:
    """Return the hits or misses expected in the scarcest cell, whichever are fewer.

    At the pooled rate or, where that is next to zero or one, as near to it as cells can be that
    differ by the margin.
    """
    gap = pivot.between if isinstance(pivot, ClusterGap) else pivot
    if not isinstance(gap, DyadicGap | SharedGap):
        return math.inf
    trials, rates = gap.trials, gap.rates
    rate = float(trials @ rates / trials.sum())
    return float(trials.min()) * (min(rate, 1 - rate) + margin / 2)
