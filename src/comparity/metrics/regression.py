r"""Errors of predictions that are numbers, by group: their mean, their size, and what they follow.

With residuals :math:`e = \hat y - y` of one group,

=====================  =============================================  ==========================
mean error             :math:`E\,e`                                   does it guess too high?
mean absolute error    :math:`E|e|`                                   how far off is it?
residual correlation   :math:`\operatorname{corr}(e, \hat y)`         are high predictions too high?
=====================  =============================================  ==========================

Means have intervals by Student's t, and their gaps by Welch's test. A correlation has the variance
of its influence function, whatever the distribution: with standardised :math:`u` and :math:`v`,
:math:`\psi = u v - r (u^2 + v^2) / 2` and :math:`V(r) = \overline{\psi^2} / n`; its interval is
that of Fisher's transform. None of the three is separation: groups whose labels lie elsewhere have
other mean errors by regression to the mean alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from comparity.errors import OptionError
from comparity.inference.gap_tests import Interval
from comparity.inference.means import satterthwaite
from comparity.inference.multiplicity import holm
from comparity.metrics.audit import join_attributes
from comparity.metrics.options import RegressionForm, RegressionOptions
from comparity.metrics.regression_result import ErrorGap, GroupError, RegressionMetrics
from comparity.results.options import provenance, shows
from comparity.tables.columns import labelled_columns
from comparity.tables.features import as_array, check_apart
from comparity.tables.files import file_facts, read_table
from comparity.tables.typing import Attributes, Column
from comparity.tables.values import bounded_numbers, check_groups, check_lengths, group_codes

Floats = NDArray[np.float64]

FEWEST = {"mean error": 2, "mean absolute error": 2, "residual correlation": 4}
"""Rows of a group that a measure needs."""


@shows(RegressionOptions)
def regression_metrics(
    y_true: Column, y_pred: Column, *, sensitive_features: Attributes, **choices: Any
) -> RegressionMetrics:
    """Compare the errors of predictions that are numbers between groups.

    Parameters
    ----------
    y_true, y_pred : array-like
        Numbers: what is right, and what was predicted.
    sensitive_features : array-like, mapping or frame
        The group of each row; of several attributes the combinations are the groups.
    level : float
        Level of the intervals.

    Returns
    -------
    RegressionMetrics
        Mean error, mean absolute error and residual correlation of each group, with intervals, and
        the gaps of every two groups with corrected p values: one family.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, y = np.repeat(["a", "b"], 500), rng.normal(size=1000)
    >>> predicted = y + rng.normal(size=1000) + 0.3 * (group == "b")
    >>> found = regression_metrics(y, predicted, sensitive_features=group)
    >>> gap = found.gaps[0]
    >>> gap.measure, round(gap.gap, 2), gap.p_adjusted < 0.05
    ('mean error', -0.18, True)
    """
    attribute, groups = join_attributes(sensitive_features)
    columns = {
        "y_true": as_array(y_true, "y_true"),
        "y_pred": as_array(y_pred, "y_pred"),
        attribute: np.asarray(groups),
    }
    return _compare(columns, "array", RegressionOptions(**choices))


def regression_frame(frame: Any, **choices: Any) -> RegressionMetrics:
    """Compare errors in a frame of any engine; `choices` are those of :class:`RegressionForm`."""
    form = RegressionForm(**choices)
    check_apart(form.sensitive, (form.label, form.prediction))
    if form.label == form.prediction:
        raise OptionError("prediction", form.label, ["another column than the label"])
    found = labelled_columns(frame, [form.label, form.prediction, *form.sensitive])
    attribute, groups = join_attributes({name: found[name] for name in form.sensitive})
    columns = {name: found[name] for name in (form.label, form.prediction)} | {attribute: groups}
    options = form.narrow(RegressionOptions)
    data = {"label": form.label, "prediction": form.prediction, "sensitive": list(form.sensitive)}
    return replace(_compare(columns, "items", options), provenance=provenance(options, **data))


def regression_file(path: str | Path, **choices: Any) -> RegressionMetrics:
    """Compare errors in a file; `choices` as in :func:`regression_frame`."""
    found = regression_frame(read_table(path), **choices)
    files = file_facts(path)
    data = {**found.provenance["data"], "files": files}
    return replace(found, provenance={**found.provenance, "data": data})


class ErrorEstimate(NamedTuple):
    """A measure of one group: its value, its variance and how much is behind that."""

    value: float
    variance: float
    dof: float


def _mean(errors: Floats, _: Floats) -> ErrorEstimate:
    return ErrorEstimate(
        float(errors.mean()), float(errors.var(ddof=1)) / len(errors), len(errors) - 1
    )


def _mean_size(errors: Floats, predicted: Floats) -> ErrorEstimate:
    return _mean(np.abs(errors), predicted)


def _correlation(errors: Floats, predicted: Floats) -> ErrorEstimate:
    n = len(errors)
    u, v = errors - errors.mean(), predicted - predicted.mean()
    scale = u.std(), v.std()
    # What varies by rounding alone has no correlation.
    if min(scale[0] / max(np.abs(errors).max(), 1e-300), scale[1]) < 1e-12:
        return ErrorEstimate(math.nan, math.nan, math.nan)
    u, v = u / scale[0], v / scale[1]
    r = float((u * v).mean())
    influence = u * v - r * (u**2 + v**2) / 2
    return ErrorEstimate(r, float((influence**2).sum()) / (n * (n - 2)), n - 2)


ESTIMATES: Mapping[str, Callable[[Floats, Floats], ErrorEstimate]] = {
    "mean error": _mean,
    "mean absolute error": _mean_size,
    "residual correlation": _correlation,
}


def _compare(
    columns: Mapping[str, NDArray[Any]], table: str, options: RegressionOptions
) -> RegressionMetrics:
    """ErrorEstimate every measure of every group, and compare every two groups."""
    check_lengths(dict(columns))
    (label, right), (prediction, guess), (attribute, groups) = columns.items()
    y, predicted = (
        bounded_numbers(column, name, table)
        for column, name in ((right, label), (guess, prediction))
    )
    codes, names = group_codes(groups, attribute, table)
    check_groups({attribute: names})
    parts = [
        (predicted[kept] - y[kept], predicted[kept])
        for kept in (codes == place for place in range(len(names)))
    ]
    found = {
        (measure, name): estimate(*part) if len(part[0]) >= FEWEST[measure] else NOTHING
        for measure, estimate in ESTIMATES.items()
        for name, part in zip(names, parts, strict=True)
    }
    sizes = dict(zip(names, np.bincount(codes).tolist(), strict=True))
    return RegressionMetrics(
        errors=tuple(
            GroupError(
                measure=measure,
                group=name,
                value=one.value,
                interval=_interval(measure, one, options.level),
                n=sizes[name],
            )
            for (measure, name), one in found.items()
        ),
        gaps=tuple(_gaps(found, names, options.level)),
        groups=tuple(names),
        level=options.level,
        n=len(y),
        provenance=provenance(options),
    )


NOTHING = ErrorEstimate(math.nan, math.nan, math.nan)


def _interval(measure: str, one: ErrorEstimate, level: float) -> Interval:
    """Return the t interval of a measure; that of a correlation by Fisher's transform."""
    reach = float(stdtrit(one.dof, (1 + level) / 2)) * math.sqrt(one.variance)
    if measure != "residual correlation":
        return Interval(one.value - reach, one.value + reach, level)
    if abs(one.value) >= 1:
        return Interval(one.value, one.value, level)
    centre, stretch = math.atanh(one.value), reach / (1 - one.value**2)
    return Interval(math.tanh(centre - stretch), math.tanh(centre + stretch), level)


def _gaps(
    found: Mapping[tuple[str, str], ErrorEstimate], names: Sequence[str], level: float
) -> Iterator[ErrorGap]:
    """Yield the gaps of every two groups, corrected over all of them."""
    asked = [(measure, *pair) for measure in ESTIMATES for pair in combinations(names, 2)]
    tests = [_welch(found[measure, one], found[measure, two]) for measure, one, two in asked]
    outcome = holm([test[1] for test in tests], 1 - level)
    made = max(sum(test[1] == test[1] for test in tests), 1)
    each = 1 - (1 - level) / made
    for (measure, one, two), (gap, p, pooled), adjusted in zip(
        asked, tests, outcome.adjusted, strict=True
    ):
        reach = float(stdtrit(pooled.dof, (1 + each) / 2)) * math.sqrt(pooled.variance)
        yield ErrorGap(
            measure=measure,
            first=one,
            second=two,
            gap=gap,
            interval=Interval(gap - reach, gap + reach, each),
            p_value=p,
            p_adjusted=adjusted,
        )


def _welch(first: ErrorEstimate, second: ErrorEstimate) -> tuple[float, float, ErrorEstimate]:
    """Return the gap of two estimates, its p value, and what its error rests on."""
    gap, variances = first.value - second.value, (first.variance, second.variance)
    dof = satterthwaite(variances, (first.dof, second.dof))
    pooled = ErrorEstimate(gap, sum(variances), dof)
    if not pooled.variance > 0:
        return gap, math.nan, NOTHING
    return gap, float(2 * stdtr(dof, -abs(gap) / math.sqrt(pooled.variance))), pooled
