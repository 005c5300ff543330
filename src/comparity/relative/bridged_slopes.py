r"""A number, such as age, across a bridge: how the difference of two decision makers changes.

With errors :math:`E_0 = f - R_0` on the first's subjects and :math:`E_1 = f - R_1` on the second's,
both regressed on the attribute,

.. math:: R_0 - R_1 \approx \alpha + (\hat\beta_1 - \hat\beta_0) A

so that whatever slope the errors of :math:`f` have of their own cancels. As on shared subjects
(:mod:`comparity.relative.slopes`) the slope is judged as the gap between subjects two standard
deviations of the attribute apart (here of the second's subjects), in standard deviations of the
difference of two decisions about one subject, as far as residuals of both lines tell it.

Errors that bend with the attribute or a feature have different lines over different subjects. So
where errors are cross-fitted :math:`\hat\beta_0` is a weighted slope: the odds of logistic
regression on the attribute, its square, the prediction and the features weigh the first's subjects
to look like the second's. Errors hold when the spread changes with the attribute (HC3), and know
of the weights that every row helped to estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import OneGroupError
from comparity.inference.gap_tests import GapTest, untested_gap
from comparity.inference.means import RatioPivot, satterthwaite
from comparity.relative.bridge_checks import measure_pull, odds_of_second, summarise
from comparity.relative.judge import Question, null_of, question_of_line
from comparity.relative.prediction import Predictions, errors_of
from comparity.relative.slopes import FEWEST, LEAST_RESIDUAL_SHARE, SlopeFit, gap_by_ratio
from comparity.relative.subjects import SIDES, DecidedSubjects, decided_subjects
from comparity.tables.frames import text_of
from comparity.tables.values import as_array, bounded_numbers, check_lengths

Floats = NDArray[np.float64]

METHOD = "two regressions with HC3 errors"
ROBUST_METHOD = "two regressions with HC3 errors, doubly robust"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SlopeGap:
    """What is found of a number across a bridge.

    Attributes
    ----------
    question : Question
        The contrast before it is judged.
    scale : float
        What DPD divides by.
    moved : float
        How far weights move the gap of the first's errors, on the scale of decisions.
    """

    question: Question
    scale: float
    moved: float


def numbered_subjects(
    decisions: tuple[Any, Any],
    attribute_values: tuple[Any, Any],
    *,
    names: tuple[str, str] = SIDES,
    attribute: str = "sensitive_features",
) -> tuple[DecidedSubjects, tuple[Floats, Floats]]:
    """Check decisions and a number for each of two sets of subjects.

    Groups, by which subjects are dealt out and bridges are diagnosed, are those up to the median of
    all subjects and above it.

    Raises
    ------
    ComparityError
        As :func:`comparity.relative.subjects.decided_subjects`; also where the number does not
        vary, or nobody on one side is above the median, or below it.
    """
    given = [
        as_array(values, attribute, name)
        for values, name in zip(attribute_values, names, strict=True)
    ]
    for decided, values, name in zip(decisions, given, names, strict=True):
        check_lengths({name: as_array(decided, name, name), attribute: values})
    one, two = (
        bounded_numbers(values, attribute, name) for values, name in zip(given, names, strict=True)
    )
    for values in (one, two):
        if values.min() == values.max():
            raise OneGroupError(attribute, [text_of(values[0])])
    every = np.concatenate([one, two])
    middle = float(np.median(every))
    # Where most have the largest value there is, that is the upper half.
    if middle == every.max():
        middle = float(every[every < middle].max())
    halves = np.array([f"{attribute} up to {middle:g}", f"{attribute} above {middle:g}"])
    groups = tuple(halves[(values > middle).astype(np.int64)] for values in (one, two))
    sides = decided_subjects(
        decisions,
        (groups[0], groups[1]),
        names=names,
        attribute=attribute,
        reference=str(halves[0]),
    )
    return sides, (one, two)


def compare_slopes(
    sides: DecidedSubjects,
    values: tuple[Floats, Floats],
    predictions: Predictions,
    features: tuple[Any, Any] | None,
    who: dict[str, str],
    *,
    robust: bool,
    seed: int,
) -> SlopeGap:
    """Ask how the difference of two decision makers changes with a number, across a bridge.

    Parameters
    ----------
    sides : DecidedSubjects
        Decisions of both.
    values : pair of ndarray
        The number, for each subject of the first and of the second.
    predictions : Predictions
        The first's decisions as predicted.
    features : pair, optional
        What predictions were made from.
    who : dict
        Names of ``first``, ``second``, ``attribute`` and ``label``.
    robust : bool
        Whether the first's subjects are weighted to look like the second's.
    seed : int
        Draws the parts in which subjects are told apart.
    """
    judged = predictions.judged
    errors = errors_of(sides, predictions)
    attribute = values[0][judged], values[1]
    null = null_of(who, f"no change with {who['attribute']}", several=False)
    reason = _impossible(attribute)
    if reason:
        sizes = len(attribute[0]), len(attribute[1])
        return SlopeGap(
            question=question_of_line(untested_gap(null, sizes, reason), who), scale=1.0, moved=0.0
        )
    own = errors[0][judged]
    plain = ErrorLine.through(attribute[0], own)
    first, pulls = plain, (np.zeros(len(own)), np.zeros(len(attribute[1])))
    if robust:
        columns = summarise(predictions, features, values)
        chances = odds_of_second(columns[0][judged], columns[1], seed)
        weights = chances[: len(own)] / (1 - chances[: len(own)])
        first = ErrorLine.through(attribute[0], own, weights / weights.mean())
        pulls = measure_pull(columns[0][judged], columns[1], chances, first.moves)
    second = ErrorLine.through(attribute[1], errors[1])
    width = 2 * float(attribute[1].std(ddof=1))
    test = _test(first, second, pulls, width, null=null, robust=robust)
    scale = test.pivot.scale if isinstance(test.pivot, RatioPivot) else 1.0
    return SlopeGap(
        question=question_of_line(test, who), scale=scale, moved=width * (first.slope - plain.slope)
    )


def _impossible(attribute: tuple[Floats, Floats]) -> str:
    for values, side in zip(attribute, SIDES, strict=True):
        if len(values) < FEWEST:
            return f"a slope needs {FEWEST} subjects on either side, the {side} has {len(values)}."
        if (
            values.min() == values.max()
            or 1 - SlopeFit.over(values).leverages.max() < LEAST_RESIDUAL_SHARE
        ):
            return f"one subject of the {side} alone draws the line."
    return ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorLine:
    """A weighted line of errors over an attribute.

    Attributes
    ----------
    slope : float
    residuals : ndarray
        About the line.
    moves : ndarray
        How far each row moves the slope: what its weight multiplies in the estimate.
    influence : ndarray
        The same with HC3's correction for leverage.
    dof : float
        Degrees of freedom of the slope's variance.
    """

    slope: float
    residuals: Floats
    moves: Floats
    influence: Floats
    dof: float

    @classmethod
    def through(cls, x: Floats, y: Floats, weights: Floats | None = None) -> ErrorLine:
        """Return the line of least (weighted) squares."""
        w = np.ones(len(x)) if weights is None else weights
        away = x - np.average(x, weights=w)
        squares = float(w @ away**2)
        slope = float((w * away) @ y) / squares
        residuals = y - np.average(y, weights=w) - slope * away
        moves = w * away * residuals / squares
        leverages = np.minimum(w * (1 / w.sum() + away**2 / squares), 1 - LEAST_RESIDUAL_SHARE)
        # Weighted rows are worth fewer (Kish).
        worth = float(w.sum() ** 2 / (len(w) * (w @ w)))
        return cls(
            slope=slope,
            residuals=residuals,
            moves=moves,
            influence=moves / (1 - leverages),
            dof=max(1.0, worth * SlopeFit.over(x).dof),
        )


def _test(
    first: ErrorLine,
    second: ErrorLine,
    pulls: tuple[Floats, Floats],
    width: float,
    *,
    null: str,
    robust: bool,
) -> GapTest:
    left = first.residuals, second.residuals
    n = len(left[0]), len(left[1])
    squares = [float(one @ one) / (len(one) - 2) for one in left]
    # Errors that lie on their lines have no spread but that of their last digit.
    least = float(np.spacing(max(np.abs(one).max() for one in left)))
    scale = max(math.sqrt(sum(squares)), least)
    of_gap = [width * (-first.influence - pulls[0]), width * (second.influence - pulls[1])]
    of_scale = [(one**2 - np.mean(one**2)) / (2 * scale * len(one)) for one in left]
    variances = [float(one @ one) for one in of_gap]
    pivot = RatioPivot(
        gap=width * (second.slope - first.slope),
        scale=scale,
        variance=sum(variances),
        covariance=sum(float(a @ b) for a, b in zip(of_gap, of_scale, strict=True)),
        scale_variance=sum(float(one @ one) for one in of_scale),
        dof=satterthwaite(variances, [first.dof, second.dof]),
    )
    method = ROBUST_METHOD if robust else METHOD
    return gap_by_ratio(pivot, null=null, n=n, method=method)
