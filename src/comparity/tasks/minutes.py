r"""How many minutes of judging a verdict takes, and which of two tasks takes more.

The fairness question is that of comparative separation: does a model agree with judges equally
often in every cell, the kinds of pairs by the groups of the better and the worse item? Ratings
answer it by the pairs that each judge's ratings order. Let :math:`h_{jc}` of :math:`n_{jc}` ordered
pairs of judge :math:`j` in cell :math:`c` be ordered by the model, too (tied scores count half).
With rates :math:`r_c = \sum_j h_{jc} / n_c` and :math:`u_{jc} = (h_{jc} - r_c n_{jc}) / n_c`, for
:math:`J` judges,

.. math:: \Sigma = \frac{J}{J - 1} \sum_j u_j u_j^\top, \qquad
    V = \frac{2}{C (C - 1)} \big( C \operatorname{tr} \Sigma - 1^\top \Sigma 1 \big)

is the variance of a gap between two of the :math:`C` cells, averaged over all pairs of cells, where
judges are a sample and items are those of the study. Everything that one judge says may hang
together: that pairs share a rating, or that a judge leans. :math:`V` falls with the number of
judges, and so with the minutes :math:`M` that all of them took, so that a gap :math:`\delta` is
found with power :math:`1 - \beta` by

.. math:: T = M V \Big( \frac{z_{1 - \alpha / 2} + z_{1 - \beta}}{\delta} \Big)^2

minutes of judging. Noise of judges shrinks gaps as it shrinks agreement: if every pair is ordered
with :math:`\kappa` times the bias towards the truth, the excess of agreement over chance
:math:`D = 2 \bar r - 1`, and every gap, is :math:`\kappa` times as large. The same unfairness of
the model is therefore a gap :math:`\delta` among comparisons and :math:`\delta D_r / D_c` among
ratings, with :math:`D_r, D_c` as observed, and the ratio of minutes is that of
:math:`M V / D^2`. Asked for the same gap :math:`\delta` in both, the noisier task would seem the
better one: gaps that nobody could see are small.

Errors of the logarithms are from leaving out judges in turn (jackknife).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom
from scipy.stats import t as student

from comparity.inference.gap_tests import Interval
from comparity.tasks.answers import Floats, StudyItems, TaskAnswers
from comparity.tasks.result import RATIO, TaskContrast, TaskEstimate

FEWEST_JUDGES = 5
"""Judges of a task below which nothing is said of others like them."""
MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellCounts:
    """Ordered pairs of each judge by cell, and how many of them the model orders alike.

    Attributes
    ----------
    trials, hits : ndarray of shape (judges, cells)
    minutes : ndarray of shape (judges,)
        What the answers took; ``nan`` where no time of a judge is known.
    """

    trials: Floats
    hits: Floats
    minutes: Floats


def count_cells(answers: TaskAnswers, items: StudyItems) -> CellCounts:
    """Count pairs by judge and cell, ties left out."""
    assert items.group is not None
    assert items.scores is not None
    rows = answers.orders.keep(answers.orders.order != 0)
    up = rows.order > 0
    better, worse = np.where(up, rows.low, rows.high), np.where(up, rows.high, rows.low)
    n_groups = len(items.groups)
    cell = items.group[better] * n_groups + items.group[worse]
    agree = (1 + np.sign(items.scores[better] - items.scores[worse])) / 2
    shape = (answers.n_judges, n_groups**2)
    place = rows.judge * n_groups**2 + cell
    trials, hits = np.zeros(math.prod(shape)), np.zeros(math.prod(shape))
    np.add.at(trials, place, 1.0)
    np.add.at(hits, place, agree)
    per_answer = mean_seconds(answers)
    return CellCounts(
        trials=trials.reshape(shape),
        hits=hits.reshape(shape),
        minutes=answers.n_first * per_answer / MINUTE,
    )


def mean_seconds(answers: TaskAnswers) -> Floats:
    """Return the mean time of each judge; that of all where none of a judge's is known."""
    sums = np.bincount(answers.timed, answers.seconds, answers.n_judges)
    n = np.bincount(answers.timed, minlength=answers.n_judges)
    overall = answers.seconds.mean() if len(answers.seconds) else np.nan
    return np.asarray(np.divide(sums, n, out=np.full(answers.n_judges, overall), where=n > 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingCost:
    """What one task costs, in logarithms, with the errors of others like these judges.

    Attributes
    ----------
    minutes_by_variance : float
        Logarithm of minutes times variance, :math:`M V`.
    strength : float
        Logarithm of the excess of agreement over chance, :math:`D`.
    variances : tuple of float
        Of the first, of the second, and of the first minus twice the second.
    n_judges : int
    """

    minutes_by_variance: float
    strength: float
    variances: tuple[float, float, float]
    n_judges: int


def judging_cost(counts: CellCounts, cells: list[int]) -> JudgingCost:
    """Return what a task costs, from the cells that both tasks have.

    Parameters
    ----------
    counts : CellCounts
    cells : list of int
        At least two.
    """
    judged = counts.trials[:, cells].sum(axis=1) > 0
    trials, hits = counts.trials[judged][:, cells], counts.hits[judged][:, cells]
    minutes = counts.minutes[judged]
    n = len(minutes)
    whole = _logarithms(trials, hits, minutes)
    left = np.array(
        [
            _logarithms(*(np.delete(part, one, axis=0) for part in (trials, hits, minutes)))
            for one in range(n)
        ]
    )
    costs = np.column_stack([left, left[:, 0] - 2 * left[:, 1]])
    spread = (n - 1) / n * ((costs - costs.mean(axis=0)) ** 2).sum(axis=0)
    return JudgingCost(
        minutes_by_variance=whole[0],
        strength=whole[1],
        variances=(float(spread[0]), float(spread[1]), float(spread[2])),
        n_judges=n,
    )


def _logarithms(trials: Floats, hits: Floats, minutes: Floats) -> tuple[float, float]:
    """Return the logarithms of minutes times variance, and of the excess over chance."""
    n, n_cells = trials.sum(axis=0), trials.shape[1]
    if not (n > 0).all():
        return math.nan, math.nan
    rates = hits.sum(axis=0) / n
    u = (hits - rates * trials) / n
    squares, sums = float((u**2).sum()), u.sum(axis=1)
    spread = n_cells * squares - float(sums @ sums)
    variance = 2 / (n_cells * (n_cells - 1)) * spread * len(u) / (len(u) - 1)
    excess = 2 * float(rates.mean()) - 1
    whole = float(minutes.sum()) * variance
    return (
        math.log(whole) if whole > 0 else math.nan,
        math.log(excess) if excess > 0 else math.nan,
    )


def shared_cells(first: CellCounts, second: CellCounts) -> list[int]:
    """Return the cells in which both tasks have pairs of several judges."""
    judged = [(one.trials > 0).sum(axis=0) >= 2 for one in (first, second)]
    return [int(cell) for cell in np.flatnonzero(judged[0] & judged[1])]


def effort_factor(gap: float, power: float, alpha: float) -> float:
    """Return the logarithm of what turns minutes times variance into minutes for a verdict.

    Examples
    --------
    >>> round(math.exp(effort_factor(0.05, 0.8, 0.05)))
    3140
    """
    reach = -float(ndtri(alpha / 2)) + float(ndtri(power))
    return 2 * math.log(reach / gap)


ANY = (-math.inf, math.inf)


class OverJudges(NamedTuple):
    """A number with its variance and degrees of freedom, for other judges."""

    value: float
    variance: float
    dof: float
    n_judges: int


def mean_over_judges(values: Floats) -> OverJudges:
    """Return the mean over judges, each counted once.

    Examples
    --------
    >>> mean_over_judges(np.array([1.0, 2.0, 6.0]))
    OverJudges(value=3.0, variance=2.3333333333333335, dof=2, n_judges=3)
    """
    n = len(values)
    if n < 2:
        return OverJudges(float(values[0]) if n else math.nan, math.nan, math.nan, n)
    return OverJudges(float(values.mean()), float(values.var(ddof=1)) / n, n - 1, n)


def median_over_judges(values: Floats, level: float) -> TaskEstimate:
    """Return the median with the interval between two order statistics, exact for any spread.

    Examples
    --------
    >>> median_over_judges(np.arange(1.0, 11.0), 0.95).interval
    Interval(low=2.0, high=9.0, level=0.95)
    """
    n, tail = len(values), (1 - level) / 2
    cut = max((k for k in range(1, n // 2 + 1) if binom.cdf(k - 1, n, 0.5) <= tail), default=0)
    ordered = np.sort(values)
    ends = (float(ordered[cut - 1]), float(ordered[n - cut])) if cut else (math.nan, math.nan)
    middle = float(np.median(values)) if n else math.nan
    return TaskEstimate(value=middle, interval=Interval(*ends, level), n_judges=n)


def contrast_tasks(
    outcome: str,
    scale: str,
    told: tuple[OverJudges, OverJudges],
    level: float,
    about: str,
    *,
    tested: tuple[OverJudges, OverJudges] | None = None,
    bounds: tuple[float, float] = ANY,
) -> TaskContrast:
    """Compare two tasks by Welch's test; a ratio is tested as a difference of logarithms.

    Parameters
    ----------
    outcome, scale : str
    told : tuple of OverJudges
        What is shown of ratings and comparisons; logarithms where the scale is a ratio.
    level : float
        Of all intervals.
    about : str
    tested : tuple of OverJudges, optional
        What is compared, where it differs from what is shown.
    bounds : tuple of float
        Between which the shown numbers lie.
    """
    first, second = told if tested is None else tested
    parts = (first.variance, second.variance)
    dof = satterthwaite(parts, (first.dof, second.dof))
    whole = OverJudges(first.value - second.value, sum(parts), dof, 0)
    error = math.sqrt(whole.variance) if whole.variance > 0 else math.nan
    p = 2 * float(student.sf(abs(whole.value) / error, dof)) if error > 0 else math.nan
    ratings, comparisons = (
        TaskEstimate(
            value=_on_shown_scale(one.value, scale),
            interval=_interval(one, scale, level, bounds),
            n_judges=one.n_judges,
        )
        for one in told
    )
    return TaskContrast(
        outcome=outcome,
        scale=scale,
        ratings=ratings,
        comparisons=comparisons,
        value=_on_shown_scale(whole.value, scale),
        interval=_interval(whole, scale, level, ANY),
        p_value=p,
        about=about,
    )


def unknown_contrast(outcome: str, scale: str, why: str, level: float) -> TaskContrast:
    """Return a contrast of which nothing is known."""
    none = OverJudges(math.nan, math.nan, math.nan, 0)
    return contrast_tasks(outcome, scale, (none, none), level, why)


def satterthwaite(parts: Sequence[float], dofs: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of variances; ``nan`` where one is not known.

    Examples
    --------
    >>> satterthwaite((2.0, 2.0), (9, 9))
    18.0
    """
    if not all(math.isfinite(one) and one >= 0 for one in parts):
        return math.nan
    below = sum(part**2 / dof for part, dof in zip(parts, dofs, strict=True) if part > 0)
    return sum(parts) ** 2 / below if below > 0 else math.nan


def _interval(one: OverJudges, scale: str, level: float, bounds: tuple[float, float]) -> Interval:
    known = math.isfinite(one.value) and one.variance >= 0 and one.dof > 0
    if not known:
        return Interval(math.nan, math.nan, level)
    reach = float(student.isf((1 - level) / 2, one.dof)) * math.sqrt(one.variance)
    ends = (_on_shown_scale(one.value + side * reach, scale) for side in (-1, 1))
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in ends)
    return Interval(low, high, level)


def _on_shown_scale(value: float, scale: str) -> float:
    """Return a number as it is shown: of a logarithm the power."""
    with np.errstate(over="ignore"):
        return float(np.exp(value)) if scale == RATIO else value
