r"""How reliable a ranking is, how much would come back with other judges, and who does not fit it.

Three numbers of studies of comparative judgment. *Scale separation reliability* is the share of the
variance of true scores that estimated ones reproduce,

.. math:: \frac{\mathrm{Var}(\hat s)}{\mathrm{Var}(\hat s) + \overline{\mathrm{SE}^2}} ,

which is the squared correlation of both if the model holds. *Split-half reliability* fits two
halves of the judges apart and correlates their scores, stepped up to the whole panel by Spearman
and Brown's formula; it needs no model to hold. *Agreement* is how often two judges order a pair
alike. All of them are about pairs drawn at random: pairs that were chosen to be close make a
ranking look more reliable. *Infit* tells how far the judgments of one evaluator are from what a
ranking of all leads one to expect.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

from comparity.inference.gap_tests import Interval
from comparity.ranking.judgments import Judgments, judgments_of
from comparity.ranking.simple_models import bradley_terry
from comparity.reports.charts import Axis, Mark, Row, RowChart, Tick
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, count, interval, percent, rate, several
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Floats = NDArray[np.float64]

JACKKNIFE_GROUPS = 20
"""Groups of judges that are left out in turn to see how sure a number is."""
FEWEST_JUDGES = 5
"""Judges below which nothing is said of other judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityCoefficient:
    """One number between -1 and 1.

    Attributes
    ----------
    name : str
    value : float
        ``nan`` where it cannot be had.
    interval : Interval
        By leaving out judges in turn; ``nan`` where they are too few.
    about : str
        What it is a share or a correlation of, or why it cannot be had.
    """

    name: str
    value: float
    interval: Interval
    about: str

    @property
    def mark(self) -> Mark:
        """Where it stands in a picture; without an interval, on its own."""
        ends = self.interval if math.isfinite(self.interval.low) else (self.value, self.value)
        low, high = (min(max(end, 0.0), 1.0) for end in ends[:2])
        return Mark(kind="plain", x=min(max(self.value, 0.0), 1.0), low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingReliability(Result):
    """How much of a ranking would come back with other judges.

    Attributes
    ----------
    separation, split_half, agreement, consistency : ReliabilityCoefficient
        Scale separation reliability, split-half reliability, agreement between two judges of one
        pair, and between two answers of one judge about it.
    n, n_items, n_evaluators : int
    level : float
        Of the intervals.
    """

    separation: ReliabilityCoefficient
    split_half: ReliabilityCoefficient
    agreement: ReliabilityCoefficient
    consistency: ReliabilityCoefficient
    n: int
    n_items: int
    n_evaluators: int
    level: float = 0.95

    @property
    def coefficients(self) -> tuple[ReliabilityCoefficient, ...]:
        """All of the numbers, in the order they are told."""
        return self.separation, self.split_half, self.agreement, self.consistency

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each number."""
        return [
            {
                **{"name": one.name, "value": one.value},
                **{"low": one.interval.low, "high": one.interval.high, "about": one.about},
            }
            for one in self.coefficients
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each number, as a frame of the named engine."""
        return frame_of_rows(self.rows(), backend)

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        known = self.split_half if math.isfinite(self.split_half.value) else self.separation
        ends = known.interval
        sure = f" ({percent(self.level)} interval {ends.low:.2f} to {ends.high:.2f})"
        return Section(
            headline=f"Reliability of the ranking: {known.value:.2f}",
            sentences=(
                f"{known.name} is {known.value:.2f}{sure if math.isfinite(ends.low) else ''}: "
                f"{known.about}. From {several(self.n, 'judgment')} of {count(self.n_items)} items "
                f"by {several(self.n_evaluators, 'judge')}, of pairs that were not chosen by "
                "earlier answers.",
            ),
            charts=(self._chart(),),
            grids=(
                Grid(
                    title="Reliability",
                    header=("", "value", f"{percent(self.level)} interval", "what it is"),
                    rows=tuple(
                        (
                            one.name,
                            rate(one.value),
                            interval(*one.interval[:2], sign=False),
                            one.about,
                        )
                        for one in self.coefficients
                    ),
                ),
            ),
        )

    def _chart(self) -> RowChart:
        return RowChart(
            title=f"Reliability of the ranking, with {percent(self.level)} intervals",
            about="; ".join(f"{one.name}: {one.value:.2f}" for one in self.coefficients),
            axis=Axis(
                label="correlation, or share of pairs ordered alike",
                low=0.0,
                high=1.0,
                ticks=tuple(Tick(at / 5, f"{at / 5:g}") for at in range(6)),
            ),
            rows=tuple(Row(label=one.name, marks=(one.mark,)) for one in self.coefficients),
            line=1.0,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the numbers with their intervals."""
        return draw(self._chart(), ax)


def ranking_reliability(
    comparisons: Any,
    *,
    evaluators: Any = None,
    ties: Any = None,
    splits: int = 10,
    level: float = 0.95,
    seed: int = 0,
) -> RankingReliability:
    """Estimate how well a Bradley-Terry ranking would be reproduced by other judges.

    Parameters
    ----------
    comparisons : array_like (n, 2), frame or Judgments
        Positions or names of items, the better one first; of pairs drawn at random.
    evaluators : array_like or str, optional
        Who made each comparison. Without them halves are of comparisons, and there are no
        intervals.
    ties : array_like of bool or str, optional
        Which comparisons are ties.
    splits : int
        Random halves that are averaged over.
    level : float
        Of the intervals.
    seed : int
        Of the halves.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.normal(0, 2, 30)
    >>> pairs = np.array([rng.choice(30, 2, replace=False) for _ in range(1200)])
    >>> chance = 1 / (1 + np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]]))
    >>> first = (rng.random(1200) < chance)[:, None]
    >>> found = ranking_reliability(np.where(first, pairs, pairs[:, ::-1]),
    ...     evaluators=np.arange(1200) % 12)
    >>> bool(found.separation.value > 0.9), bool(found.split_half.value > 0.9)
    (True, True)
    """
    judged = judgments_of(comparisons, evaluators=evaluators, ties=ties)
    groups = _judge_groups(judged, np.random.default_rng(seed))

    def coefficient(
        name: str, about: str, value: Callable[[Judgments], float]
    ) -> ReliabilityCoefficient:
        found = value(judged)
        ends = Interval(math.nan, math.nan, level)
        if groups is not None and math.isfinite(found):
            ends = _jackknife(judged, groups, value, found, level)
        return ReliabilityCoefficient(name=name, value=found, interval=ends, about=about)

    halves = "judges" if judged.n_evaluators > 1 else "the judgments"
    return RankingReliability(
        separation=coefficient(
            "scale separation reliability",
            "share of the variance of true scores that these scores reproduce, if the model holds",
            _separation,
        ),
        split_half=coefficient(
            "split-half reliability",
            f"correlation of scores between two panels like this one, from halves of {halves}",
            lambda one: _split_half(one, splits, np.random.default_rng(seed)),
        ),
        agreement=coefficient(
            "agreement between judges",
            "how often two judges of one pair order it alike",
            lambda one: _agreement(one, same_judge=False),
        ),
        consistency=coefficient(
            "consistency of judges",
            "how often a judge who sees a pair twice orders it alike",
            lambda one: _agreement(one, same_judge=True),
        ),
        n=len(judged),
        n_items=judged.n_items,
        n_evaluators=judged.n_evaluators,
        level=level,
    )


def _judge_groups(judged: Judgments, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Return the group of each comparison's judge; None where judges are too few."""
    if judged.evaluator is None or judged.n_evaluators < FEWEST_JUDGES:
        return None
    n = min(judged.n_evaluators, JACKKNIFE_GROUPS)
    group = rng.permutation(np.arange(judged.n_evaluators) % n)
    return np.asarray(group[judged.evaluator], dtype=np.int64)


def _jackknife(
    judged: Judgments,
    groups: NDArray[np.int64],
    value: Callable[[Judgments], float],
    found: float,
    level: float,
) -> Interval:
    """Return an interval on Fisher's scale, from leaving out one group of judges at a time."""
    n = int(groups.max()) + 1
    left = np.array([value(judged.subset(groups != one)) for one in range(n)])
    scale = np.arctanh(np.clip(left, -1 + 1e-9, 1 - 1e-9))
    error = math.sqrt((n - 1) / n * float(((scale - scale.mean()) ** 2).sum()))
    if not math.isfinite(error):
        return Interval(math.nan, math.nan, level)
    middle = math.atanh(min(max(found, -1 + 1e-9), 1 - 1e-9))
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return Interval(math.tanh(middle - reach), math.tanh(middle + reach), level)


def _separation(judged: Judgments) -> float:
    fit = bradley_terry(judged)
    spread, error = float(fit.scores.var()), float((fit.standard_errors**2).mean())
    return spread / (spread + error) if spread + error > 0 else math.nan


def _split_half(judged: Judgments, splits: int, rng: np.random.Generator) -> float:
    """Return the mean correlation of two halves, stepped up to the whole."""
    unit = np.arange(len(judged)) if judged.n_evaluators < 2 else judged.evaluator
    assert unit is not None
    n = int(unit.max()) + 1
    found = []
    for _ in range(splits):
        first = (rng.permutation(n) < n // 2)[unit]
        if not first.any() or first.all():
            continue
        scores = [bradley_terry(judged.subset(half)).scores for half in (first, ~first)]
        if min(float(one.std()) for one in scores) > 0:
            found.append(float(np.corrcoef(scores[0], scores[1])[0, 1]))
    if not found:
        return math.nan
    # Correlations are averaged on Fisher's scale, and stepped up by Spearman and Brown's formula.
    half = math.tanh(float(np.arctanh(np.clip(found, -1 + 1e-9, 1 - 1e-9)).mean()))
    # Of halves that contradict each other the formula makes numbers that no correlation has.
    return max(2 * half / (1 + half), -1.0)


def _agreement(judged: Judgments, *, same_judge: bool) -> float:
    """Return how often two decided judgments of one pair agree, each pair of items counted once."""
    if judged.evaluator is None:
        return math.nan
    decided = np.ones(len(judged), bool) if judged.tied is None else ~judged.tied
    better, worse = (side[decided].astype(np.int64) for side in (judged.better, judged.worse))
    who = judged.evaluator[decided].astype(np.int64)
    pair = np.minimum(better, worse) * judged.n_items + np.maximum(better, worse)
    up = (better < worse).astype(np.int64)
    alike, compared = _pairs_and_matches(pair * (int(who.max(initial=0)) + 1) + who, up, pair)
    if not same_judge:
        whole = _pairs_and_matches(pair, up, pair)
        alike, compared = whole[0] - alike, whole[1] - compared
    rates = alike[compared > 0] / compared[compared > 0]
    return float(rates.mean()) if len(rates) else math.nan


def _pairs_and_matches(
    key: NDArray[np.int64], up: NDArray[np.int64], pair: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return, for each pair of items, how many two judgments of one key match, and of how many."""
    _, place = np.unique(key, return_inverse=True)
    pairs, owner = np.unique(pair, return_inverse=True)
    ups = np.bincount(place, up)
    all_of = np.bincount(place)
    home = np.zeros(len(all_of), np.int64)
    home[place] = owner
    downs = all_of - ups
    match = (ups * (ups - 1) + downs * (downs - 1)) / 2
    of = all_of * (all_of - 1) / 2
    alike, compared = (np.bincount(home, one, len(pairs)).astype(float) for one in (match, of))
    return alike, compared


def infit(judgments: Judgments, scores: Floats) -> Floats:
    r"""Return the weighted mean square of each evaluator's residuals [1]_, [2]_.

    .. math:: v_k = \frac{\sum_j (1 - p_j)^2}{\sum_j p_j (1 - p_j)}

    over the judgments of evaluator :math:`k`, where :math:`p_j = 1 / (1 + \exp(s_w - s_b))` is the
    chance of the answer by the scores of the better and the worse item. It is about 1 for an
    evaluator who judges as the model says, more for one who often contradicts it where it is
    sure, and less for one who hardly ever does. Scores that were fitted to the same judgments
    make it smaller for all.

    Parameters
    ----------
    judgments : Judgments
        With evaluators. Ties have no answer to expect and are left out.
    scores : ndarray of shape (items,)
        In logits.

    Returns
    -------
    ndarray of shape (evaluators,)
        ``nan`` for who judged nothing but ties.

    References
    ----------
    .. [1] Wright and Masters, "Rating Scale Analysis", 1982, chapter 5.
    .. [2] Pollitt, "The method of Adaptive Comparative Judgement", 2012.

    Examples
    --------
    >>> from comparity.ranking.judgments import judgments_of
    >>> pairs = [[0, 1], [0, 1], [0, 1], [1, 0]]
    >>> judged = judgments_of(pairs, evaluators=["ann", "ann", "ben", "ben"])
    >>> infit(judged, np.log([4.0, 1.0])).round(3).tolist()
    [0.25, 2.125]
    """
    assert judgments.evaluator is not None, "misfit is of evaluators"
    chance = expit(scores[judgments.better] - scores[judgments.worse])
    decided = np.ones(len(judgments), bool) if judgments.tied is None else ~judgments.tied
    who, p, n = judgments.evaluator[decided], chance[decided], judgments.n_evaluators
    squares = np.bincount(who, (1 - p) ** 2, n)
    expected = np.bincount(who, p * (1 - p), n)
    found: Floats = np.full(n, np.nan)
    return np.divide(squares, expected, out=found, where=expected > 0)
