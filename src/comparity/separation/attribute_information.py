r"""Information about an attribute given the label, and its test by permutation.

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

Where separation holds, the attribute carries no mark of the score among rows with the same label:
dealing it out anew among them changes nothing. Labels of few values are kept exactly, and the test
is exact. Among many values, rows with neighbouring labels take the place of rows with the same
one: the attribute is dealt out anew within blocks of neighbours, which is nearly exact where the
label changes little within a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from comparity.counts.densities import AttributeFit
from comparity.inference.permutation import PermutationTest

__all__ = [
    "blocks_of",
    "permuted_within",
    "relative_separation_information",
    "separation_by_permutation",
    "separation_information",
    "separation_odds_ratio",
]


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


Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


Fit = Callable[[NDArray[np.generic]], AttributeFit]


LEVELS = 20
"""Labels of at most so many values are kept exactly."""


BLOCK = 10
"""Neighbours by label that an attribute is dealt out anew among."""


# Two statistics this close are one number reached by sums in another order.
SAME = 1e-10


def blocks_of(y: Floats) -> Codes:
    """Return a code for rows with the same label, or with neighbouring ones where many differ.

    Examples
    --------
    >>> blocks_of(np.array([0.0, 1.0, 0.0])).tolist()
    [0, 1, 0]
    >>> np.bincount(blocks_of(np.arange(45.0))).tolist()
    [10, 10, 10, 15]
    """
    values, code = np.unique(y, return_inverse=True)
    if len(values) <= LEVELS:
        return code.reshape(-1).astype(np.int64)
    rank = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return np.minimum(rank // BLOCK, max(len(y) // BLOCK - 1, 0))


def permuted_within(
    blocks: Codes, attribute: NDArray[np.generic], rng: np.random.Generator
) -> NDArray[np.generic]:
    """Deal an attribute out anew among the rows of each block."""
    order = np.argsort(blocks, kind="stable")
    drawn = np.lexsort((rng.random(len(blocks)), blocks))
    dealt = np.empty_like(attribute)
    dealt[order] = attribute[drawn]
    return dealt


def separation_by_permutation(
    fit: Fit,
    y: Floats,
    attribute: NDArray[np.generic],
    *,
    permutations: int,
    rng: np.random.Generator,
) -> tuple[PermutationTest, float]:
    """Test whether scores tell anything about an attribute that labels do not.

    Parameters
    ----------
    fit : callable
        From an attribute to the log-likelihoods of its models; labels and scores stay.
    y : ndarray
        Labels.
    attribute : ndarray
        Groups as codes, or numbers.
    permutations : int
        How often it is dealt out anew; the smallest possible p value is one over this plus 1.
    rng : numpy.random.Generator

    Returns
    -------
    test : PermutationTest
        Of the mean information.
    by_chance : float
        Mean of the mean information over the permutations.
    """
    observed = separation_information(fit(attribute))
    blocks = blocks_of(y)
    drawn = np.array(
        [
            separation_information(fit(permuted_within(blocks, attribute, rng)))
            for _ in range(permutations)
        ]
    )
    beyond = int((drawn >= observed - SAME).sum())
    test = PermutationTest(
        null="score independent of the attribute, given the label",
        name="mutual information",
        statistic=observed,
        p_value=(1 + beyond) / (1 + permutations),
        permutations=permutations,
    )
    return test, float(drawn.mean())
