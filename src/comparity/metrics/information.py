r"""Separation as information: what scores tell about an attribute that labels do not.

Separation, :math:`\hat Y \perp A \mid Y`, is the same as a conditional mutual information of zero,

.. math:: I(A; \hat Y \mid Y) = E \log \frac{p(a \mid y, \hat y)}{p(a \mid y)},

which is defined for scores and labels of every kind (Steinberg, Reid and O'Callaghan, "Fairness
measures for regression via probabilistic classification", 2020). The probabilities have to be
estimated by models, and three things follow. The estimate on the rows a model was fitted on is
positive by chance alone, by about the number of added coefficients over twice the number of rows.
It depends on the models: where log-odds are not linear in the label, a linear model finds
information in scores that only repeat the label. And it is not comparable between data sets, nor a
difference that a person could feel: a test by permutation says whether it is more than chance, and
pairwise accuracies say how much.
"""

from __future__ import annotations

import math

from comparity.counting.attribute_models import AttributeFit

__all__ = ["relative_separation_information", "separation_information", "separation_odds_ratio"]


def separation_information(fit: AttributeFit) -> float:
    r"""Mean information, in nats, that a score adds about the attribute.

    .. math:: \hat I = \frac1n \sum_i \log \frac{\rho(a_i \mid y_i, \hat y_i)}{\rho(a_i \mid y_i)}

    as printed in Xi, Capak, Stockwell and Yu, "Comparative Separation", section 4.2.2.

    Returns
    -------
    float
        At best 0; at most the entropy of the attribute. Slightly negative values are possible,
        because a ridge holds the larger model back.

    Examples
    --------
    >>> separation_information(AttributeFit(n=10, joint=-5.0, margin=-6.0))
    0.1
    """
    return (fit.joint - fit.margin) / fit.n


def relative_separation_information(fit: AttributeFit) -> float:
    r"""Share of what labels leave unknown about the attribute that a score tells.

    .. math:: \hat I / \hat H(A \mid Y), \qquad
       \hat H(A \mid Y) = -\frac1n \sum_i \log \rho(a_i \mid y_i)

    which is what the authors' code of "Comparative Separation" reports.

    Returns
    -------
    float
        Between 0 and 1, up to chance; ``nan`` where labels tell the attribute entirely. For
        an attribute that is a number the denominator is a differential entropy, which may be
        negative or zero and depends on units: ``nan`` then.

    Examples
    --------
    >>> round(relative_separation_information(AttributeFit(n=10, joint=-5.0, margin=-6.0)), 4)
    0.1667
    """
    return (fit.joint - fit.margin) / -fit.margin if fit.margin < 0 else math.nan


def separation_odds_ratio(fit: AttributeFit) -> float:
    r"""Mean odds ratio of two groups given label and score against given the label.

    .. math:: r_{sep} = \frac1n \sum_i \frac{\rho(1 \mid y_i, \hat y_i)}{\rho(0 \mid y_i, \hat y_i)}
       \cdot \frac{\rho(0 \mid y_i)}{\rho(1 \mid y_i)}

    the density-ratio form of Steinberg et al.: 1 under separation. It is a mean of ratios, which
    few rows with extreme odds can dominate.

    Returns
    -------
    float
        Positive; ``nan`` unless there are two groups.

    Examples
    --------
    >>> separation_odds_ratio(AttributeFit(n=10, joint=-5.0, margin=-6.0, odds_ratio=12.0))
    1.2
    """
    return fit.odds_ratio / fit.n
