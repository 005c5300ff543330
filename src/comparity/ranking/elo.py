"""Elo: ratings moved by one comparison after the other, in the order of the rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from comparity.errors import OptionError
from comparity.ranking.bradley_terry import log_likelihood_at
from comparity.ranking.connectivity import diagnose
from comparity.ranking.judgments import judgments_of
from comparity.ranking.options import RankingModel
from comparity.ranking.result import Ranking, ranking_of

__all__ = ["MODEL", "elo"]


def elo(
    comparisons: Any,
    *,
    n_items: int | None = None,
    ties: Any = None,
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
        MODEL.name,
        judgments,
        diagnosis,
        scores,
        log_likelihood=log_likelihood_at(judgments, scores * math.log(10) / scale),
        unit="points",
        notes=notes,
        provenance={"k_factor": k_factor, "start": start, "scale": scale},
    )


MODEL = RankingModel(
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
