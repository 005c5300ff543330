"""Scores from comparisons alone, every evaluator at face value: Bradley-Terry, Elo, win rate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from comparity.errors import OptionError
from comparity.ranking.connectivity import check_seats, diagnose
from comparity.ranking.fit_report import fields_of_fit
from comparity.ranking.fits import (
    MARGINAL_LIKELIHOOD,
    Wish,
    normal_quantile,
    wish_of,
)
from comparity.ranking.judgments import Judgments, count_outcomes, judgments_of
from comparity.ranking.likelihood.penalised_fit import NO_ANCHOR, check_finite, fit
from comparity.ranking.likelihood.search import TOLERANCE, Task
from comparity.ranking.options import RankingModel
from comparity.ranking.result import Ranking, ranking_of
from comparity.tables.typing import Attributes, Column, Comparisons


def bradley_terry(
    comparisons: Comparisons | Judgments,
    *,
    n_items: int | None = None,
    ties: Column | None = None,
    seats: Column | None = None,
    cluster: Attributes | None = None,
    prior: float | str | None = MARGINAL_LIKELIHOOD,
    tolerance: float = TOLERANCE,
    seed: int = 0,
) -> Ranking:
    r"""Score items so that the odds of "i above j" are the exponential of their difference.

    .. math:: P(i \succ j) = \frac{1}{1 + e^{-(s_i - s_j)}}

    The scores maximise the likelihood times a Gaussian prior with mean zero [1]_. Where ties are
    recorded the model is Davidson's [2]_, with :math:`\nu` relative to two equal items,

    .. math:: P(i \succ j) \propto e^{(s_i - s_j)/2},\quad
              P(j \succ i) \propto e^{(s_j - s_i)/2},\quad P(i \sim j) \propto \nu .

    Where seats are recorded, an item shown first gains a constant [3]_.

    Parameters
    ----------
    comparisons : array_like (n, 2), or a frame with columns ``better`` and ``worse``
        Positions of items from 0, or their names, the better one first.
    n_items : int, optional
        How many items there are; one more than the largest position by default.
    ties : array_like of bool, or a column's name, optional
        Which comparisons are ties.
    seats : array_like, or a column's name, optional
        Whether the first item of the row was shown first: true or false, 1, -1 and 0 (unknown).
    cluster : array_like, or a column's name, optional
        What comparisons share, such as the prompt or who judged; those of one cluster are not
        taken to be independent, and errors allow for it
        (:mod:`comparity.ranking.likelihood.sandwich`).
    prior : float, "marginal likelihood", "cross-validation" or None
        Standard deviation of the scores' prior, in logits, how to choose it, or no prior. Without
        one, an item that never lost has no finite score, and asking for it is an error.
    tolerance : float
        Norm of the gradient to reach.
    seed : int
        Of the folds of cross-validation.

    Returns
    -------
    Ranking
        Scores with mean zero, their standard errors, the order, what the graph of comparisons can
        tell. Items in no comparison have score zero and the prior's error.

    Raises
    ------
    NoPriorError
        Without a prior, where some items are not joined to the others both ways.

    References
    ----------
    .. [1] Bradley and Terry (1952), "Rank analysis of incomplete block designs".
    .. [2] Davidson (1970), "On extending the Bradley-Terry model to accommodate ties".
    .. [3] Davidson and Beaver (1977), "On extending the Bradley-Terry model to incorporate
       within-pair order effects".

    Examples
    --------
    >>> fitted = bradley_terry([[0, 1], [0, 1], [1, 0], [1, 2], [1, 2], [2, 1], [0, 2]])
    >>> fitted.ranking.tolist()
    [0, 1, 2]
    """
    judgments = judgments_of(comparisons, n_items=n_items, ties=ties, seats=seats, cluster=cluster)
    check_seats(judgments)
    task = Task(
        judgments=judgments,
        columns=np.zeros((judgments.n_items, 0), dtype=np.int8),
        precision=np.zeros((0, 0)),
        anchor=NO_ANCHOR,
        score_prior=wish_of(prior, "scores", MARGINAL_LIKELIHOOD),
        bias_prior=Wish(of="biases", sd=1.0, chosen_by="default"),
        tolerance=tolerance,
        seed=seed,
    )
    diagnosis = diagnose(judgments)
    check_finite(task, diagnosis)
    fitted = fit(task)
    return Ranking(
        model=BRADLEY_TERRY.name,
        **fields_of_fit(judgments, fitted, fitted.errors(), diagnosis),
        provenance={"prior": prior, "seed": seed},
    )


def log_likelihood_at(judgments: Judgments, scores: NDArray[np.float64]) -> float:
    """Return the log-likelihood of scores in logits; a tie is half a win for each item."""
    margin = scores[judgments.better] - scores[judgments.worse]
    value = log_expit(margin)
    if judgments.tied is not None:
        value = np.where(judgments.tied, (value + log_expit(-margin)) / 2, value)
    return float(value.sum())


BRADLEY_TERRY = RankingModel(
    name="Bradley-Terry",
    fit=bradley_terry,
    about="scores in logits; every evaluator taken at face value",
    source="Bradley and Terry (1952); ties by Davidson (1970)",
    accepts=("ties", "seats", "score_prior", "seed", "cluster"),
    keywords={"score_prior": "prior"},
)


def elo(
    comparisons: Comparisons | Judgments,
    *,
    n_items: int | None = None,
    ties: Column | None = None,
    k_factor: float = 32.0,
    start: float = 1500.0,
    scale: float = 400.0,
) -> Ranking:
    r"""Rate items by Elo's sequential updates.

    Every item starts at the same rating. A comparison of i with j moves both by what it surprises,

    .. math:: r_i \leftarrow r_i + K (y - p), \quad r_j \leftarrow r_j - K (y - p), \qquad
              p = \frac{1}{1 + 10^{-(r_i - r_j) / S}}

    with y = 1 where i is the better item and 1/2 for a tie [1]_. The ratings depend on the order
    of the rows: later comparisons count more, the more so the larger K is. Where the order has no
    meaning, :func:`comparity.bradley_terry` uses all comparisons alike.

    Parameters
    ----------
    comparisons : array_like (n, 2) of int, or a frame with columns ``better`` and ``worse``
        Positions of items from 0, the better one first; rows in the order in which they were made.
    n_items : int, optional
        How many items there are; one more than the largest position by default.
    ties : array_like of bool, or a column's name, optional
        Which comparisons are ties. A tie is half a win for each item.
    k_factor : float
        Most points that one comparison moves a rating by.
    start : float
        Rating of every item before its first comparison, and the mean of all ratings after the
        last.
    scale : float
        Difference of ratings, in points, at which the odds are 10 to 1.

    Returns
    -------
    Ranking
        Ratings in points, without standard errors. The log-likelihood is that of a Bradley-Terry
        model with these ratings. Items in no comparison keep the starting rating.

    References
    ----------
    .. [1] Elo (1978), "The rating of chessplayers, past and present".

    Examples
    --------
    >>> elo([[0, 1], [1, 2]], k_factor=20).scores.round(2).tolist()
    [1510.0, 1500.29, 1489.71]
    """
    judgments = judgments_of(comparisons, n_items=n_items, ties=ties)
    _check_points(k_factor=k_factor, scale=scale)
    if not _is_number(start):
        raise OptionError("start", start, ["a finite number of points"])
    ratings = [float(start)] * judgments.n_items
    won = np.ones(len(judgments)) if judgments.tied is None else 1 - judgments.tied / 2
    rows = zip(judgments.better.tolist(), judgments.worse.tolist(), won.tolist(), strict=True)
    for better, worse, outcome in rows:
        gap = (ratings[better] - ratings[worse]) * math.log(10) / scale
        expected = (1 + math.tanh(gap / 2)) / 2
        ratings[better] += k_factor * (outcome - expected)
        ratings[worse] -= k_factor * (outcome - expected)
    scores, diagnosis = np.array(ratings), diagnose(judgments, bounded=True)
    notes = [
        f"Ratings depend on the order of the rows: each moves two items by up to {k_factor:g} "
        "points. They have no standard errors.",
        *judgments.notes_on_ties,
    ]
    return ranking_of(
        ELO.name,
        judgments,
        diagnosis,
        scores,
        log_likelihood=log_likelihood_at(judgments, scores * math.log(10) / scale),
        unit="points",
        notes=notes,
        provenance={"k_factor": k_factor, "start": start, "scale": scale},
    )


ELO = RankingModel(
    name="Elo",
    fit=elo,
    about="ratings moved by one comparison after the other; the order of the rows matters",
    source="Elo (1978)",
    accepts=("ties",),
)


def _check_points(**given: Any) -> None:
    for option, value in given.items():
        if not _is_number(value) or value <= 0:
            raise OptionError(option, value, ["a positive number of points"])


def _is_number(value: Any) -> bool:
    real = isinstance(value, float | int | np.number) and not isinstance(value, bool)
    return real and math.isfinite(value)


def win_rate(
    comparisons: Comparisons | Judgments, *, n_items: int | None = None, ties: Column | None = None
) -> Ranking:
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
    comparisons : array_like (n, 2), or a frame with columns ``better`` and ``worse``
        Positions of items from 0, or their names, the better one first.
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
        WIN_RATE.name,
        judgments,
        diagnosis,
        shares,
        standard_errors=errors,
        log_likelihood=math.nan,
        unit="share of wins",
        notes=(note, *judgments.notes_on_ties),
    )


WIN_RATE = RankingModel(
    name="Win rate",
    fit=win_rate,
    about="share of comparisons won, ties half, not adjusted for the opponents met",
    source="standard errors by Wilson (1927)",
    accepts=("ties",),
)
