"""How far each evaluator's judgments are from what a ranking of all leads one to expect."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from comparity.ranking.judgments import Judgments

Floats = NDArray[np.float64]


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
