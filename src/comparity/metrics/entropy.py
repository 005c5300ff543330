r"""Inequality of benefits, differential fairness, and how alike the labels of similar items are.

A decision gives the benefit :math:`b = \hat y - y + 1`: 0 to who deserves yes and gets no, 2 to who
gets yes undeserved, 1 to all others. The generalised entropy index of order :math:`\alpha` is

.. math::

    \mathrm{GE}_\alpha(b) = \frac{1}{n \alpha (\alpha - 1)}
        \sum_i \Bigl[ \Bigl( \frac{b_i}{\mu} \Bigr)^\alpha - 1 \Bigr], \qquad
    \mathrm{GE}_1(b) = \frac{1}{n} \sum_i \frac{b_i}{\mu} \ln \frac{b_i}{\mu}

with :math:`\mu` the mean benefit and :math:`0 \ln 0 = 0` [1]_. Between groups, every benefit is
replaced by the mean of its group. A benefit has three values only, so all follow from counts. All
are ``nan`` where the mean benefit is zero.

The coefficient of variation is :math:`\sqrt{2 \mathrm{GE}_2}`, the standard deviation over the
mean. Early releases of AIF360, and with them the published results of [2]_, have
:math:`2 \sqrt{\mathrm{GE}_2}`, which is larger by :math:`\sqrt 2`: ``scale`` chooses.

References
----------
.. [1] Speicher et al. (2018), "A unified approach to quantifying algorithmic unfairness".
.. [2] Majumder et al., "Fair Enough", Table 1, C16-C24.

With smoothed rates :math:`r_g = (n_g^+ + 1/2) / (n_g + 1)` the empirical differential fairness is

.. math::

    \mathrm{EDF} = \max_{g, h} \max \Bigl( \Bigl| \ln \frac{r_g}{r_h} \Bigr|,
        \Bigl| \ln \frac{1 - r_g}{1 - r_h} \Bigr| \Bigr)

over all groups; 0 at parity, without bound, and finite thanks to the smoothing. Of labels it
describes the data; of predictions minus of labels, what a model adds. It grows with the number of
groups by chance alone.

References
----------
.. [1] Foulds, Islam, Keya and Pan (2020), "An intersectional definition of fairness".
.. [2] Majumder et al., "Fair Enough", Table 1, C25 and D1.

Like the other metrics it sees counts only: how many items have a label and so many positive labels
among their neighbours. :mod:`comparity.counts.neighbours` finds the neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from comparity.counts.decisions import GroupedDecisions, NeighbourCounts
from comparity.inference.metric_intervals import (
    Slopes,
    entropy_interval,
    folded_interval,
    maximum_slopes,
    norm_slopes,
    transform_interval,
)
from comparity.metrics.classification import (
    BASE,
    FOLDED,
    LOG_DELTA,
    SELECTION,
    Measure,
    Measured,
    Rate,
    differences,
    divide,
)

Floats = NDArray[np.float64]


STANDARD = 2.0**0.5
"""Times the root of the index: the coefficient of variation as everybody else defines it."""


BENEFITS = np.array([1.0, 2.0, 0.0, 1.0])
"""Of the cells (label, prediction) 00, 01, 10 and 11."""


DOUBLED_ROOT = 2.0
"""Times the root of the index: what early releases of AIF360 computed."""


VARIATIONS = {"standard": STANDARD, "doubled root": DOUBLED_ROOT}


@dataclass(frozen=True, slots=True)
class BenefitEntropy(Measure):
    """Generalised entropy index of the benefits of individuals; order 1 is Theil's index.

    At least 0, and 0 when all benefits are equal: no error at all, or only errors.

    Examples
    --------
    >>> contrast = GroupedDecisions(np.array([[[8.0, 1.0], [1.0, 0.0]]]), np.array([True]))
    >>> round(float(BenefitEntropy(2)(contrast)), 3)
    0.1
    """

    order: int

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        table = contrast.whole
        # Cells in the order of (label, prediction): 00, 01, 10, 11.
        cells = table.reshape(*table.shape[:-2], 4)
        return _entropy(cells, BENEFITS, self.order)

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        table = contrast.whole
        benefits = np.array([table[1, 0], table[0, 0] + table[1, 1], table[0, 1]])
        return Measured(entropy_interval(benefits, self.order, level=level), LOG_DELTA)


@dataclass(frozen=True, slots=True)
class GroupEntropy(Measure):
    """Generalised entropy index of the mean benefits of groups; order 1 is Theil's index.

    At least 0, and 0 when all groups have the same mean benefit, that is the same difference of
    selection and base rate. Groups without members do not count.

    Attributes
    ----------
    order : int
        1 or 2.
    all_groups : bool
        Between all groups, or between the privileged and the unprivileged as two groups.
    """

    order: int
    all_groups: bool

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        sizes, means = _group_benefits(contrast if self.all_groups else contrast.two_camps)
        # A group without members has no mean, and no weight.
        return _entropy(sizes, np.where(sizes > 0, means, 0.0), self.order)

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        # The root of twice an index between groups is a length.
        root = math.sqrt(2 * max(float(self(contrast)), 0.0))
        vectors = [
            _deviations(one if self.all_groups else one.two_camps) for one in (contrast, drawn)
        ]
        # Rounding can leave an index of nothing a little below zero.
        moved = np.sqrt(2 * np.maximum(self(drawn), 0.0)) - root
        slopes = norm_slopes(vectors[0], vectors[1] - vectors[0], moved)
        ends = folded_interval(root, slopes, level=level, least=0.0)
        return Measured(transform_interval(ends, 0.5, 2), FOLDED)


@dataclass(frozen=True, slots=True)
class Variation(Measure):
    """Coefficient of variation: `scale` times the root of an index of benefits of order 2."""

    index: BenefitEntropy | GroupEntropy
    scale: float = STANDARD

    @property
    def sees_all_groups(self) -> bool:
        """Whether it tells all groups apart, and not only the two camps."""
        return self.index.sees_all_groups

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        with np.errstate(invalid="ignore"):
            return self.scale * np.sqrt(self.index(contrast))

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        index, method = self.index.interval(contrast, drawn, level=level)
        return Measured(transform_interval(index, self.scale, 0.5), method)


def _group_benefits(contrast: GroupedDecisions) -> tuple[Floats, Floats]:
    """Return size and mean benefit of each group; an empty group has the mean ``nan``."""
    cells = contrast.cells
    sizes = cells.sum(axis=(-2, -1))
    return sizes, 1 + divide(cells[..., 0, 1] - cells[..., 1, 0], sizes)


def _deviations(contrast: GroupedDecisions) -> Floats:
    """Return the vector whose squared length is twice the index of order 2."""
    sizes, means = _group_benefits(contrast)
    shares = sizes / sizes.sum(axis=-1, keepdims=True)
    means = np.where(sizes > 0, means, 0.0)
    overall = (shares * means).sum(axis=-1, keepdims=True)
    vector: Floats = np.sqrt(shares) * (means / overall - 1)
    return vector


def _entropy(counts: Floats, values: Floats, order: int) -> Floats:
    """Return the index of values that occur `counts` times, over the last axis."""
    with np.errstate(divide="ignore", invalid="ignore"):
        n = counts.sum(axis=-1, keepdims=True)
        mean = (counts * values).sum(axis=-1, keepdims=True) / n
        relative = values / mean
        if order == 1:
            terms = counts * xlogy(relative, relative)
        else:
            # The squares of deviations lose no digits near equality, unlike squares minus one.
            terms = counts * (relative - 1) ** 2 / 2
        index: Floats = (terms / n).sum(axis=-1)
    return index


SMOOTHING = 0.5
"""Half a yes and half a no are added to every group."""


@dataclass(frozen=True, slots=True)
class DifferentialFairness(Measure):
    """Smoothed empirical differential fairness of labels (`BASE`) or predictions (`SELECTION`).

    Examples
    --------
    >>> tables = [[[48.0, 12.0], [20.0, 30.0]], [[55.0, 20.0], [15.0, 60.0]]]
    >>> contrast = GroupedDecisions(np.array(tables), np.array([False, True]))
    >>> round(float(DifferentialFairness(BASE)(contrast)), 4)
    0.0944
    """

    all_groups: ClassVar[bool] = True

    rate: Rate = BASE

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        widest: Floats = np.ptp(_log_rates(contrast, self.rate), axis=-1).max(axis=-1)
        return widest

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        slopes = _log_slopes(self.rate, contrast, drawn)
        value = float(self(contrast))
        return Measured(folded_interval(value, slopes, level=level, least=0.0), FOLDED)


@dataclass(frozen=True, slots=True)
class BiasAmplification(Measure):
    """Differential fairness of predictions minus that of labels.

    Positive where the model tells groups apart more than the labels do. Without bound.
    """

    all_groups: ClassVar[bool] = True
    has_sign: ClassVar[bool] = True

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        predicted = DifferentialFairness(SELECTION)(contrast)
        return predicted - DifferentialFairness(BASE)(contrast)

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        slopes = _log_slopes(SELECTION, contrast, drawn) - _log_slopes(BASE, contrast, drawn)
        return Measured(folded_interval(float(self(contrast)), slopes, level=level), FOLDED)


def _log_rates(contrast: GroupedDecisions, rate: Rate) -> Floats:
    """Return logarithms of the smoothed shares of yes and of no, shape (..., 2, K)."""
    hits, trials = rate.n_hits(contrast.cells), rate.n_trials(contrast.cells)
    yes, no = hits + SMOOTHING, trials - hits + SMOOTHING
    logs: Floats = np.log(np.stack([yes, no], axis=-2) / (trials + 2 * SMOOTHING)[..., None, :])
    return logs


def _log_slopes(rate: Rate, contrast: GroupedDecisions, drawn: GroupedDecisions) -> Slopes:
    yes_no = [
        differences(_log_rates(contrast, rate)[place], _log_rates(drawn, rate)[:, place])
        for place in (0, 1)
    ]
    observed, errors = zip(*yes_no, strict=True)
    return maximum_slopes(np.concatenate(observed), np.concatenate(errors, axis=1))


def consistency(counts: NeighbourCounts) -> float:
    r"""One minus the mean difference between a label and the mean label of nearest neighbours.

    .. math:: 1 - \frac{1}{n} \sum_i \Bigl| y_i - \frac{1}{k} \sum_{j \in N_k(i)} y_j \Bigr|

    An item counts among its own neighbours, as in AIF360, so that the smallest value is 1/k. Items
    at equal distance compete for the last place: with many repeated rows the value depends on
    which of them are taken, in AIF360 as here, and :attr:`NeighbourCounts.tied` says for how many.

    Parameters
    ----------
    counts : NeighbourCounts
        Items by label and number of positive neighbours.

    Returns
    -------
    float
        Between 1/k and 1, 1 where all neighbours have one label; ``nan`` without items.

    References
    ----------
    .. [1] Zemel, Wu, Swersky, Pitassi and Dwork (2013), "Learning fair representations".

    Examples
    --------
    >>> table = np.array([[6, 1, 0], [0, 1, 2]])
    >>> consistency(NeighbourCounts(table=table, dependent_square=0.0))
    0.9
    """
    n = counts.table.sum()
    if not n:
        return float("nan")
    share = np.arange(counts.n_neighbors + 1) / counts.n_neighbors
    away = np.abs(np.array([[0.0], [1.0]]) - share)
    return float(1 - (counts.table * away).sum() / n)
