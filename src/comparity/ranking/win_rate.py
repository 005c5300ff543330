"""Win rate: the share of its comparisons that an item won, whoever the opponents were."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from comparity.ranking.connectivity import diagnose
from comparity.ranking.fits import normal_quantile
from comparity.ranking.judgments import count_outcomes, judgments_of
from comparity.ranking.options import RankingModel
from comparity.ranking.result import Ranking, ranking_of

__all__ = ["MODEL", "win_rate"]


def win_rate(comparisons: Any, *, n_items: int | None = None, ties: Any = None) -> Ranking:
    r"""Score items by the share of their comparisons that they won; a tie is half a win.

    .. math:: p_i = \frac{w_i + t_i / 2}{n_i}

    with :math:`w_i` wins and :math:`t_i` ties in :math:`n_i` comparisons. The standard error is the
    distance from the share to the farther end of Wilson's interval at 95 % [1]_, over its quantile
    z = 1.96, so that an item that always won has an error, too:

    .. math:: \frac{z\, |p_i - 1/2| + \sqrt{n_i v_i + z^2 / 4}}{n_i + z^2}, \qquad
              v_i = \frac{w_i + t_i / 4}{n_i} - p_i^2 .

    Here :math:`v_i` is the variance of the outcomes 1, 1/2 and 0; without ties it is
    :math:`p_i (1 - p_i)`.

    Parameters
    ----------
    comparisons : array_like (n, 2) of int, or a frame with columns ``better`` and ``worse``
        Positions of items from 0, the better one first.
    n_items : int, optional
        How many items there are; one more than the largest position by default.
    ties : array_like of bool, or a column's name, optional
        Which comparisons are ties.

    Returns
    -------
    Ranking
        Shares between 0 and 1 with standard errors; the log-likelihood is ``nan``, because there is
        no model behind them. Items in no comparison have a share of 1/2, and the error that
        Wilson's interval tends to, (0, 1).

    Notes
    -----
    A share says as much about the opponents as about the item: compare shares only where opponents
    were drawn alike, and use :func:`comparity.bradley_terry` elsewhere.

    References
    ----------
    .. [1] Wilson (1927), "Probable inference, the law of succession, and statistical inference".

    Examples
    --------
    >>> win_rate([[0, 1], [0, 2], [1, 2], [2, 1]]).scores.round(3).tolist()
    [1.0, 0.333, 0.333]
    """
    judgments = judgments_of(comparisons, n_items=n_items, ties=ties)
    tied = np.zeros(len(judgments), dtype=bool) if judgments.tied is None else judgments.tied
    better, worse, n_items = judgments.better, judgments.worse, judgments.n_items
    wins, losses = count_outcomes(better[~tied], worse[~tied], n_items)
    draws = count_outcomes(better[tied], worse[tied], n_items).sum(axis=0)
    n = wins + losses + draws
    compared, z = n > 0, normal_quantile(0.95)
    shares, variances = np.full(n_items, 0.5), np.zeros(n_items)
    np.divide(wins + draws / 2, n, out=shares, where=compared)
    np.divide(wins + draws / 4, n, out=variances, where=compared)
    variances[compared] -= shares[compared] ** 2
    half_width = np.sqrt(np.maximum(variances, 0) * n + z**2 / 4)
    errors = (z * np.abs(shares - 0.5) + half_width) / (n + z**2)
    diagnosis = diagnose(judgments, bounded=True)
    note = "A share of wins depends on which opponents an item met; it is not adjusted for them."
    return ranking_of(
        MODEL.name,
        judgments,
        diagnosis,
        shares,
        standard_errors=errors,
        log_likelihood=math.nan,
        unit="share of wins",
        notes=(note, *judgments.notes_on_ties),
    )


MODEL = RankingModel(
    name="Win rate",
    fit=win_rate,
    about="share of comparisons won, ties half, not adjusted for the opponents met",
    source="standard errors by Wilson (1927)",
    accepts=("ties",),
)
