r"""How the difference of two decisions changes with a number, such as age.

The difference is regressed on the attribute, :math:`R_\Delta = \alpha + \beta A + e`, with standard
errors that hold when the spread changes with the attribute (HC3). The slope is judged as the gap
between subjects two standard deviations of the attribute apart, in standard deviations of the
residuals:

.. math:: \frac{2 \, \mathrm{sd}(A) \, \hat\beta}{s_e}

With two groups of equal size coded 0 and 1 that is DPD, so one margin serves both (Gelman,
"Scaling regression inputs by dividing by two standard deviations", Statistics in Medicine 27,
2008). The attribute is taken as given.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from comparity.differences import Moments
from comparity.inference.means import (
    ConstantPivot,
    RatioPivot,
    is_rare,
    untestable,
    without_variation,
)
from comparity.results import GapTest

__all__ = ["compare_slope"]

Floats = NDArray[np.float64]


def compare_slope(differences: Floats, attribute: Floats, *, null: str) -> GapTest:
    """Test whether the mean difference changes linearly with an attribute.

    Parameters
    ----------
    differences, attribute : ndarray, (n,)
        One entry for each subject; the attribute must vary.
    null : str
        The hypothesis in words.

    Returns
    -------
    GapTest
        On the scale of the module. No test, and the reason, with fewer than ten subjects or where
        too few differences are off the most common one.

    Examples
    --------
    >>> age = np.arange(100.0)
    >>> test = compare_slope(0.01 * age + np.tile([-1.0, 1.0], 50), age, null="slope = 0")
    >>> round(test.gap, 3), test.method
    (0.609, 'regression with HC3 errors')
    """
    n = len(differences)
    moments = Moments.of(differences)
    if moments.m2 == 0 and n >= FEWEST:
        return without_variation(null, (n, n), ConstantPivot(n // 2, n))
    reason = _impossible(moments)
    if reason:
        return untestable(null, (n, n), reason)
    slope = _pivot(differences, attribute)
    return GapTest(
        null=null,
        gap=slope.gap / slope.scale,
        standard_error=slope.standard_error,
        p_value=slope.p_value(0.0),
        n=(n, n),
        method="regression with HC3 errors",
        pivot=slope,
    )


FEWEST = 10


def _impossible(moments: Moments) -> str:
    if moments.n < FEWEST:
        return f"a slope needs {FEWEST} subjects, there are {moments.n}."
    if is_rare(moments):
        return (
            f"only {moments.away} of {moments.n:,} differences are off the most common one, too "
            "few to judge a slope by; the permutation test needs no such number."
        )
    return ""


def _pivot(differences: Floats, attribute: Floats) -> RatioPivot:
    n = len(differences)
    x = attribute - attribute.mean()
    # In units of a power of two, which changes no digit, so that no square vanishes.
    x = np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))
    squares = float(x @ x)
    slope = float(x @ differences) / squares
    residuals = differences - differences.mean() - slope * x
    # HC3: a subject far out pulls the line towards itself.
    pull = 1 / n + x**2 / squares
    of_slope = x * residuals / (1 - pull) / squares
    # Differences that lie on the line have no spread but that of their last digit.
    least = float(np.spacing(np.abs(differences).max()))
    scale = max(math.sqrt(float(residuals @ residuals) / (n - 2)), least)
    of_scale = (residuals**2 - float(residuals @ residuals) / n) / (2 * scale * n)
    width = 2 * math.sqrt(squares / (n - 1))
    return RatioPivot(
        gap=width * slope,
        scale=scale,
        variance=width**2 * float(of_slope @ of_slope),
        covariance=width * float(of_slope @ of_scale),
        scale_variance=float(of_scale @ of_scale),
        dof=n - 2,
    )
