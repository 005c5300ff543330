r"""Exact tests of sums over strata: of trials drawn at random, and of members who are exchangeable.

If hits have nothing to do with a group, the number of its hits in stratum :math:`s` has a known
distribution :math:`P_s`, and their sum over strata the convolution of these. The p value is
two-sided: the chance of all sums that are at most as likely as the one that was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from comparity.counts.pairs import ROUNDING


def drawn_p_value(strata: Sequence[tuple[int, int, int]], seen: int) -> float:
    """Return the p value of so many hits in a group, if hits are drawn at random in each stratum.

    With one stratum this is Fisher's exact test.

    Parameters
    ----------
    strata : sequence of tuple
        Hits, members of the group, and all trials of each stratum.
    seen : int
        Hits of the group over all strata.

    Examples
    --------
    >>> round(drawn_p_value([(3, 4, 10)], 3), 4)
    0.0333
    """
    return _p_value(
        (
            hypergeom.pmf(np.arange(min(hits, members) + 1), trials, members, hits)
            for hits, members, trials in strata
        ),
        seen,
    )


def exchanged_p_value(counts: Iterable[NDArray[np.int64]], seen: int) -> float:
    """Return the p value of a sum to which each stratum adds one of its counts, all as likely.

    Trials of a stratum may depend on each other in any way: only its members are exchanged.

    Parameters
    ----------
    counts : iterable of ndarray
        In each stratum the counts of all members.
    seen : int
        The sum of the counts of one of them.

    Examples
    --------
    >>> round(exchanged_p_value([np.array([2, 0, 0]), np.array([1, 1, 0])], 3), 4)
    0.5556
    """
    return _p_value((np.bincount(one) / len(one) for one in counts), seen)


def _p_value(distributions: Iterable[NDArray[np.float64]], seen: int) -> float:
    """Return the chance of sums that are at most as likely as what was seen."""
    chances = np.ones(1)
    for one in distributions:
        chances = np.convolve(chances, one)
    if seen >= len(chances):
        raise ValueError("more hits than the strata hold")
    return float(min(1.0, chances[chances <= chances[seen] * (1 + ROUNDING)].sum()))
