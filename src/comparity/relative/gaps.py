r"""From errors on both sides of a bridge to a gap between groups, with its error.

With errors :math:`E_0 = f - R_0` on the first's subjects and :math:`E_1 = f - R_1` on the second's
(equations (6) and (7) of [1]_, its Algorithm 2)

.. math::

    \hat g = \sum_{a} \pm \left( \bar E_1(a) - \bar E_0(a) \right), \qquad
    \hat V = \sum_{a} \frac{s^2(E_1(a))}{n_1(a)} + \frac{s^2(E_0(a))}{n_0(a)}, \qquad
    \mathrm{DPD} = \frac{\hat g}{\sqrt{s_p^2(E_0) + s_p^2(E_1)}}

with plus for the one group and minus for the other, pooled variances :math:`s_p^2` and
the degrees of freedom of Satterthwaite over four terms.

Where only one group's subjects differ between the two sides, a model that is wrong in form (a line
for a curve) errs differently on them, and its errors do not cancel. So where errors are
cross-fitted and nobody is shared, :math:`\bar E_0(a)` is a weighted mean, with weights that make
the first's subjects look like the second's (:mod:`comparity.relative.bridge_checks`). The gap is
then *doubly robust*: right if the model of decisions is right, or if the weights are. Its variance
is that of the influence of every row, by its error and by the weights it helped to estimate.

Subjects whom both decided about have both errors, and their difference is that of the two
decisions, whatever :math:`f`. They join as a term of their own: within a group the means over the
shared and the other subjects of a side are averaged with the weights that make the variance of the
whole least (generalised least squares), which turns into Welch's test of the differences where all
subjects are shared, and into the formulas above where none is. The scale then knows how the two
errors of a subject go together.

References
----------
.. [1] Yu and Xi, "Differential Parity: Relative Fairness Between Two Sets of Decisions",
   section 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from comparity.counts.differences import Moments
from comparity.counts.pairs import ROUNDING
from comparity.inference.differential_parity import one_sided_p_value
from comparity.inference.gap_tests import GapTest
from comparity.inference.means import RatioPivot, Term, contrast_of_means, satterthwaite
from comparity.inference.permuted_means import compare_samples
from comparity.relative.judge import Question, compare_groups, null_of
from comparity.relative.prediction import BridgeErrors, second_errors
from comparity.relative.slopes import gap_by_ratio
from comparity.relative.subjects import Reweighed

Floats = NDArray[np.float64]

ENOUGH_SHARED = 10
"""From so many shared subjects on, in both groups together, their errors say how they correlate."""

MOST_CORRELATED = 0.99
"""Where two decision makers agree about all shared subjects, others may still show a difference."""

LINEAR = "Satterthwaite t over shared and other subjects"
DOUBLY_ROBUST = "doubly robust t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A gap across a bridge.

    Attributes
    ----------
    gap : float
        Mean difference of decisions in the group minus that in the reference group.
    means : tuple of float
        These two means.
    variance, dof : float
        Variance of the gap and its degrees of freedom.
    scale : float
        Standard deviation that DPD divides by.
    """

    gap: float
    means: tuple[float, float]
    variance: float
    dof: float
    scale: float

    @property
    def statistic(self) -> float:
        """The gap in standard errors, DPT."""
        if self.variance > 0:
            return self.gap / math.sqrt(self.variance)
        return math.copysign(math.inf, self.gap) if self.gap else 0.0


def question_of_bridge(
    found: BridgeErrors, who: dict[str, str], *, unbiased: bool
) -> tuple[Question, float]:
    """Ask about the gap across a bridge; also return what DPD divides by.

    The unbiased bridge (Algorithm 1 of [1]_) is Welch's test of the prediction minus the second's
    decisions, as if predictions were decisions. It takes for granted that the prediction has every
    leaning of the first, and no error of its own.
    """
    word_null = partial(null_of, who, several=False)
    if unbiased:
        (question,) = compare_groups(second_errors(found), who, word_null)
        size = question.dpd
        return question, question.gap / size if size else 1.0
    reference, group = found.groups
    estimate = biased_estimate(found)
    test = biased_gap(found, null=word_null(f"{group} = {reference}"))
    question = Question(
        test=test,
        names={**who, "group": group, "reference": reference},
        n=test.n,
        means=estimate.means,
        gap=estimate.gap,
        dpt=estimate.statistic,
        dof=estimate.dof,
        p_one_sided=one_sided_p_value(estimate.statistic, estimate.dof),
        dpd=test.gap,
    )
    return question, estimate.scale


def biased_gap(errors: BridgeErrors, *, null: str) -> GapTest:
    """Test the gap between groups across a bridge, with the prediction's errors taken off.

    Parameters
    ----------
    errors : BridgeErrors
    null : str
        The hypothesis in words.

    Returns
    -------
    GapTest
        `gap` on the scale of DPD; its pivot knows the raw gap, the scale and the degrees of
        freedom.

    Examples
    --------
    >>> from comparity.relative.prediction import Shared
    >>> rng = np.random.default_rng(0)
    >>> none = Shared(first=np.empty(0), second=np.empty(0))
    >>> errors = BridgeErrors(
    ...     groups=("f", "m"),
    ...     first=(rng.normal(0, 1, 400), rng.normal(0.5, 1, 400)),
    ...     second=(rng.normal(0, 1, 400), rng.normal(0.5, 1, 400)),
    ...     shared=(none, none),
    ... )
    >>> test = biased_gap(errors, null="no gap")
    >>> abs(test.gap) < 0.2, test.p_value > 0.05
    (True, True)
    """
    if errors.n_shared and not any(map(len, (*errors.first, *errors.second))):
        reference, group = (both.difference for both in errors.shared)
        own = Moments.of(group), Moments.of(reference)
        return compare_samples(*own, lambda: (group, reference), null=null)
    # Errors that do not vary do not go together, either.
    if (errors.n_shared or errors.reweighed) and any(_pooled_variances(errors)):
        return _linear_gap(errors, null=null)
    terms = [
        Term(sign * weight, Moments.of(errors.all_of(side, place)), pool)
        for place, sign in ((1, 1.0), (0, -1.0))
        for side, weight, pool in ((1, 1.0, "second"), (0, -1.0, "first"))
    ]
    return contrast_of_means(terms, null=null)


@dataclass(frozen=True, slots=True)
class _Block:
    """Independent rows: what each adds to the gap (a mean), and moves the squared scale by."""

    gap: Floats
    square: Floats

    @property
    def n(self) -> int:
        return len(self.gap)


def biased_estimate(errors: BridgeErrors) -> Estimate:
    """Return the gap across a bridge, with the prediction's errors taken off, and its error."""
    correlation = _correlation(errors)
    blocks = [[*_blocks(errors, place, sign, correlation)] for place, sign in ((0, -1.0), (1, 1.0))]
    # Moments of equal numbers have no variance of rounding errors.
    moments = [[Moments.of(block.gap) for block in of_group] for of_group in blocks]
    sums = [sum(one.mean for one in of_group) for of_group in moments]
    variances = [one.variance / one.n for of_group in moments for one in of_group]
    v, w = _pooled_variances(errors)
    # Without variation, what is left of equal means is rounding.
    equal = not any(variances) and math.isclose(sums[1], -sums[0], rel_tol=ROUNDING)
    return Estimate(
        gap=0.0 if equal else sums[0] + sums[1],
        means=(sums[1], -sums[0]),
        variance=sum(variances),
        dof=satterthwaite(variances, [one.n - 1 for of_group in blocks for one in of_group]),
        scale=math.sqrt(v + w - 2 * correlation * math.sqrt(v * w)),
    )


def _linear_gap(errors: BridgeErrors, *, null: str) -> GapTest:
    """Test a gap to which shared subjects add both their errors."""
    found, correlation = biased_estimate(errors), _correlation(errors)
    blocks = [
        block
        for place, sign in ((1, 1.0), (0, -1.0))
        for block in _blocks(errors, place, sign, correlation)
    ]
    # Delta method: the mean of a block and the sum of what its rows move the squared scale by.
    together = sum(float(np.cov(block.gap, block.square)[0, 1]) for block in blocks)
    of_square = sum(block.n * float(block.square.var()) for block in blocks)
    pivot = RatioPivot(
        gap=found.gap,
        scale=found.scale,
        variance=found.variance,
        covariance=together / (2 * found.scale),
        scale_variance=of_square / (4 * found.scale**2),
        dof=found.dof,
    )
    n = (errors.n_of(1), errors.n_of(0))
    method = LINEAR if errors.reweighed is None else DOUBLY_ROBUST
    return gap_by_ratio(pivot, null=null, n=n, method=method)


def _pooled_variances(errors: BridgeErrors) -> list[float]:
    """Return the variance within groups, of either side."""
    sides = [[errors.all_of(side, place) for place in (0, 1)] for side in (0, 1)]
    return [
        sum(float((_subtract_mean(own) ** 2).sum()) for own in groups)
        / sum(len(own) - 1 for own in groups)
        for groups in sides
    ]


def _subtract_mean(values: Floats) -> Floats:
    """Return distances from the mean, which are zero for equal numbers whatever it rounds to."""
    if not len(values) or values.min() == values.max():
        return np.zeros(len(values))
    centred: Floats = values - values.mean()
    return centred


def _blocks(errors: BridgeErrors, place: int, sign: float, correlation: float) -> Iterator[_Block]:
    """Yield those of either side alone, and the shared subjects of a group."""
    variances = _pooled_variances(errors)
    weights = _weights(errors, place, correlation)
    both = errors.shared[place]
    together: Floats = np.zeros(len(both))
    for side, direction in ((0, -1.0), (1, 1.0)):
        every = errors.all_of(side, place)
        rows = len(errors.all_of(side, 0)) + len(errors.all_of(side, 1)) - 2
        slope = 1.0
        if correlation:
            slope -= correlation * math.sqrt(variances[1 - side] / variances[side])
        square = slope * _subtract_mean(every) ** 2 / rows
        alone = len(every) - len(both)
        together = together + square[alone:]
        if alone:
            share = (1 - weights[side]) * direction * sign
            own = every[:alone]
            if errors.reweighed is not None:
                own = _reweigh(own, errors.reweighed[place], side)
            yield _Block(share * own, square[:alone])
    if len(both):
        combined = weights[1] * both.second - weights[0] * both.first
        moved = -2 * math.sqrt(variances[0] * variances[1]) * _of_correlation(errors, place)
        yield _Block(sign * combined, together + moved)


def _reweigh(errors: Floats, by: Reweighed, side: int) -> Floats:
    r"""Return numbers with the mean and the variance that reweighting gives to one side.

    On the first's side :math:`\mu + w_i (e_i - \mu) + n_0 c_i`, with the weighted mean
    :math:`\mu` and weights of mean 1: the influence of a row on a normalised (Hájek) weighted mean,
    by its error and by the estimated weights. Rows of the second move those weights alone.
    """
    if errors.min() == errors.max():
        return errors
    if side:
        return np.asarray(errors - len(errors) * by.second)
    mean = float(np.average(errors, weights=by.weights))
    return np.asarray(mean + by.weights * (errors - mean) + len(errors) * by.first)


def _of_correlation(errors: BridgeErrors, place: int) -> Floats:
    """Return what each shared subject of a group moves the correlation by."""
    both = errors.shared[place]
    if errors.n_shared < ENOUGH_SHARED:
        return np.zeros(len(both))
    variances = np.diagonal(_sums_of_products(errors)) / (errors.n_shared - 2)
    if not all(variances):
        return np.zeros(len(both))
    first, second = (
        _subtract_mean(own) / math.sqrt(variance)
        for own, variance in zip((both.first, both.second), variances, strict=True)
    )
    moved = first * second - _correlation(errors) * (first**2 + second**2) / 2
    return np.asarray(moved / errors.n_shared)


def _sums_of_products(errors: BridgeErrors) -> Floats:
    sums = np.zeros((2, 2))
    for both in errors.shared:
        centred = np.array([_subtract_mean(both.first), _subtract_mean(both.second)])
        sums += centred @ centred.T
    return sums


def _correlation(errors: BridgeErrors) -> float:
    """Return how the two errors of shared subjects correlate within groups; 0 with too few."""
    if errors.n_shared < ENOUGH_SHARED:
        return 0.0
    sums = _sums_of_products(errors)
    deviations = math.sqrt(sums[0, 0] * sums[1, 1])
    found = sums[0, 1] / deviations if deviations > 0 else 0.0
    return float(np.clip(found, -MOST_CORRELATED, MOST_CORRELATED))


def _weights(errors: BridgeErrors, place: int, correlation: float) -> tuple[float, float]:
    r"""Return what shared subjects weigh in the mean of a group, on the first side and the second.

    Minimises over :math:`w_0, w_1`

    .. math::

        \frac{w_0^2 v_0 + w_1^2 v_1 - 2 w_0 w_1 c}{n}
        + \frac{(1 - w_0)^2 v_0}{m_0} + \frac{(1 - w_1)^2 v_1}{m_1}

    with :math:`n` shared subjects and :math:`m_0, m_1` others, and
    :math:`c = r \sqrt{v_0 v_1}`.
    """
    both = len(errors.shared[place])
    alone = [len(errors.first[place]), len(errors.second[place])]
    if not both:
        return 0.0, 0.0
    v = [Moments.of(errors.all_of(side, place)).variance for side in (0, 1)]
    c = correlation * math.sqrt(v[0] * v[1])
    matrix = np.array([[v[0] / both, -c / both], [-c / both, v[1] / both]])
    target = np.zeros(2)
    # A side with no other subjects has weight 1; solve for the others.
    weights = np.array([0.0 if count else 1.0 for count in alone])
    free = np.flatnonzero(alone)
    for side in free:
        target[side] = v[side] / alone[side]
        matrix[side, side] += target[side]
    if len(free):
        rest = target[free] - (matrix @ weights)[free]
        weights[free] = np.linalg.lstsq(matrix[np.ix_(free, free)], rest, rcond=None)[0]
    first, second = np.clip(weights, 0.0, 1.0).tolist()
    return first, second
