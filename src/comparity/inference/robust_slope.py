r"""How the difference of two decisions changes with a number, such as age.

The difference is regressed on the attribute, :math:`R_\Delta = \alpha + \beta A + e`, with standard
errors that hold when the spread changes with the attribute (HC3). The slope is judged as the gap
between subjects two standard deviations of the attribute apart, in standard deviations of the
residuals:

.. math:: \frac{2 \, \mathrm{sd}(A) \, \hat\beta}{s_e}

The law of t allows for how few subjects the error may rest on: its degrees of freedom are those of
a chi-square with the mean and variance that HC3 has where the spread is equal (Satterthwaite; Bell
and McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
Survey Methodology 28, 2002): n where two groups have equal sizes, about a third of that with a
normal attribute, and 1 where a subject far out draws the line. With n - 2 of them, false alarms at
0.05 would be 0.08 to 0.17 there.

With two groups of equal size coded 0 and 1 that is DPD, so one margin serves both (Gelman,
"Scaling regression inputs by dividing by two standard deviations", Statistics in Medicine 27,
2008). The attribute is taken as given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
        On the scale of the module. No test, and the reason, with fewer than ten subjects, where
        too few differences are off the most common one, or where one subject alone has another
        value of the attribute than all others.

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
    line = Line.over(attribute)
    reason = _impossible(moments, line)
    if reason:
        return untestable(null, (n, n), reason)
    slope = _pivot(differences, line)
    return GapTest(
        null=null,
        gap=slope.gap / slope.scale,
        standard_error=slope.standard_error,
        p_value=slope.p_value(0.0),
        n=(n, n),
        method="regression with HC3 errors",
        pivot=slope,
    )


@dataclass(frozen=True, slots=True)
class Line:
    """What a line over an attribute rests on.

    Attributes
    ----------
    x : ndarray, (n,)
        The attribute about its mean, in units of a power of two.
    squares : float
        Their sum of squares.
    leverages : ndarray, (n,)
        How much of each difference its own fitted value takes over.
    """

    x: Floats
    squares: float
    leverages: Floats

    @classmethod
    def over(cls, attribute: Floats) -> Line:
        """Return the line over an attribute that varies."""
        x = attribute - attribute.mean()
        # In units of a power of two, which changes no digit, so that no square vanishes.
        x = np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))
        squares = float(x @ x)
        return cls(x, squares, 1 / len(x) + x**2 / squares)

    @property
    def dof(self) -> float:
        r"""Degrees of freedom of the HC3 variance of the slope, :math:`(tr G)^2 / tr(G^2)`.

        :math:`G = M D M` with M the residuals' projection and D what the variance multiplies
        squares of residuals with.
        """
        x, n, own = self.x, len(self.x), self.leverages
        d = (x / (1 - own)) ** 2
        d /= d.max()
        # M is the identity less 1/n + x x' / squares, whose square is summed without its diagonal.
        crossed = (d.sum() / n) ** 2 + 2 * (d @ x) ** 2 / (n * self.squares)
        crossed += (d @ x**2 / self.squares) ** 2
        trace_of_square = crossed + d**2 @ ((1 - own) ** 2 - own**2)
        # Less than 1 is rounding, where one subject is all there is.
        return max(1.0, float((d @ (1 - own)) ** 2 / trace_of_square))


FEWEST = 10
ALONE = 1e-5
"""Part of its own residual that the furthest subject keeps at least; of less, rounding decides."""


def _impossible(moments: Moments, line: Line) -> str:
    if moments.n < FEWEST:
        return f"a slope needs {FEWEST} subjects, there are {moments.n}."
    if 1 - line.leverages.max() < ALONE:
        return "one subject alone draws the line: all others have nearly the same value."
    if is_rare(moments):
        return (
            f"only {moments.away} of {moments.n:,} differences are off the most common one, too "
            "few to judge a slope by; the permutation test needs no such number."
        )
    return ""


def _pivot(differences: Floats, line: Line) -> RatioPivot:
    x, squares, n = line.x, line.squares, len(differences)
    slope = float(x @ differences) / squares
    residuals = differences - differences.mean() - slope * x
    # HC3: a subject far out pulls the line towards itself.
    of_slope = x * residuals / (1 - line.leverages) / squares
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
        dof=line.dof,
    )
