"""Whether scores tell more about an attribute than chance would, by permutation.

Where separation holds, the attribute carries no mark of the score among rows with the same label:
dealing it out anew among them changes nothing. Labels of few values are kept exactly, and the test
is exact. Among many values, rows with neighbouring labels take the place of rows with the same
one: the attribute is dealt out anew within blocks of neighbours, which is nearly exact where the
label changes little within a block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from comparity.counting.attribute_models import AttributeFit
from comparity.metrics.information import separation_information
from comparity.relative import PermutationTest

__all__ = ["blocks_of", "permuted_within", "separation_by_permutation"]

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
