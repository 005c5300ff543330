r"""Scores of single answers: what a log tells of a judge who compares nothing.

Two answers to one prompt are compared by their scores (``LogBuilder``). The scores of one answerer
alone say how they are spread, and how often there is none. With :math:`n_p` scores of prompt
:math:`p` that sum to :math:`s_p`, the mean :math:`m = \sum s_p / \sum n_p` has the variance

.. math:: \frac{G}{G-1} \frac{\sum_p (s_p - m n_p)^2}{(\sum_p n_p)^2}

over :math:`G` prompts, and Student's distribution with :math:`G - 1` degrees of freedom.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from comparity.inference.gap_tests import Interval
from comparity.judges.rates import NOWHERE, rate_of
from comparity.judges.readers import UNPARSED, Score
from comparity.reports.sections import MISSING, Grid, clip, count


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSummary:
    """Scores that one judge gave to single answers of one answerer.

    Attributes
    ----------
    judge, answerer : str
    scores, prompts : int
        How many answers have a score, and to how many prompts they are.
    missing : mapping of str to int
        Answers without a score, by reason.
    mean : float
        ``nan`` without scores.
    interval : Interval
        Of the mean, with prompts as clusters; ``nan`` where all scores are equal, unless the mean
        is a rate: scores are 0 and 1, by their format or because the judge gives both and no other.
    lowest, highest : float
    """

    judge: str
    answerer: str
    scores: int
    prompts: int
    missing: Mapping[str, int]
    mean: float
    interval: Interval
    lowest: float
    highest: float


def summarise_scores(scores: Iterable[Score], level: float = 0.95) -> tuple[ScoreSummary, ...]:
    """Return the scores of each judge and answerer, in the order of the log.

    Examples
    --------
    >>> grades = [Score("j", f"q{k}", "m", value) for k, value in enumerate([2, 4, 4, 6])]
    >>> (told,) = summarise_scores(grades)
    >>> told.mean, [round(end, 1) for end in told.interval[:2]]
    (4.0, [1.4, 6.6])
    """
    found: defaultdict[tuple[str, str], list[Score]] = defaultdict(list)
    given: defaultdict[str, set[float]] = defaultdict(set)
    for one in scores:
        found[one.judge, one.answerer].append(one)
        if not math.isnan(one.score):
            given[one.judge].add(one.score)
    # Ones alone may be the lowest grade of ten.
    passing = {judge for judge, values in given.items() if values in ({0.0}, {0.0, 1.0})}
    return tuple(
        _summarise(own, level, judge in passing or all(one.is_grade for one in own))
        for (judge, _), own in found.items()
    )


def _summarise(scores: Sequence[Score], level: float, is_rate: bool) -> ScoreSummary:
    scored = [one for one in scores if not math.isnan(one.score)]
    values = np.array([one.score for one in scored], dtype=np.float64)
    prompts, prompt = np.unique([one.prompt for one in scored], return_inverse=True)
    absent = Counter(one.reason or UNPARSED for one in scores if math.isnan(one.score))
    # Right and wrong, passed and failed: the mean is a rate, known of equal scores, too.
    is_rate = is_rate and len(values) > 0 and bool(np.isin(values, (0.0, 1.0)).all())
    return ScoreSummary(
        judge=scores[0].judge,
        answerer=scores[0].answerer,
        scores=len(values),
        prompts=len(prompts),
        missing=dict(absent),
        mean=float(values.mean()) if len(values) else math.nan,
        interval=(_interval_of_rate if is_rate else _interval_of_mean)(values, prompt, level),
        lowest=float(values.min()) if len(values) else math.nan,
        highest=float(values.max()) if len(values) else math.nan,
    )


def _interval_of_rate(
    values: NDArray[np.float64], prompt: NDArray[np.intp], level: float
) -> Interval:
    hits = np.bincount(prompt, values).astype(np.int64)
    return rate_of(hits, np.bincount(prompt), level).interval


def _interval_of_mean(
    values: NDArray[np.float64], prompt: NDArray[np.intp], level: float
) -> Interval:
    n, sums = np.bincount(prompt), np.bincount(prompt, values)
    if len(n) < 2 or not np.ptp(values):
        return NOWHERE
    mean = float(values.mean())
    squares = float(np.sum((sums - mean * n) ** 2))
    error = math.sqrt(len(n) / (len(n) - 1) * squares) / len(values)
    half = float(t.isf((1 - level) / 2, len(n) - 1)) * error
    return Interval(mean - half, mean + half, level)


def score_grids(scores: Sequence[ScoreSummary]) -> Iterator[Grid]:
    """Yield the table of scores, where there are any."""
    rows = tuple(
        (
            *(clip(one.judge), clip(one.answerer), count(one.scores)),
            count(sum(one.missing.values())),
            _number(one.mean),
            _interval_cell(one.interval),
            *map(_number, (one.lowest, one.highest)),
        )
        for one in scores
    )
    header = ("judge", "answerer", "scores", "missing", "mean", "interval", "from", "to")
    if rows:
        yield Grid(title="Scores of single answers", header=header, rows=rows, most=20)


def _number(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:.3g}"


def _interval_cell(found: Interval) -> str:
    low, high = found[:2]
    return MISSING if math.isnan(low) else f"[{low:.3g}, {high:.3g}]"
