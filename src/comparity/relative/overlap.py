r"""How alike the subjects of two decision makers are, and weights that make them alike.

Within a group, logistic regression tells subjects of the second from those of the first, by the
prediction and (the first principal components of) the features, on rows it did not see. Its odds
:math:`p / (1 - p)` are the ratio of the two densities but for a factor, and weigh the first's
subjects to look like the second's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.relative.prediction import Predictions
from comparity.relative.subjects import DecidedSubjects, Reweighed

Floats = NDArray[np.float64]

COMPONENTS = 10
"""Principal components of the features that subjects are told apart by."""

FEWEST = 10
"""With fewer subjects in a group of either side nobody is told apart."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubjectOverlap:
    """How alike the subjects of both decision makers are, within groups.

    Attributes
    ----------
    separability, effective_share : mapping of str to float
        As in :class:`comparity.relative.result.BridgeDiagnosis`.
    moved : float
        How far weights move the gap between the mean errors of the first.
    reweighed : tuple of Reweighed or None
        What makes the first's subjects look like the second's; ``None`` where a group has too few.
    """

    separability: Mapping[str, float]
    effective_share: Mapping[str, float]
    moved: float
    reweighed: tuple[Reweighed, Reweighed] | None


def measure_overlap(
    subjects: DecidedSubjects,
    predictions: Predictions,
    features: tuple[Any, Any] | None,
    seed: int,
) -> SubjectOverlap:
    """Tell the subjects of both sides apart within groups, and weigh the first's accordingly."""
    first, second = _summaries(predictions, features)
    error = predictions.first - subjects.decisions[0]
    separability, effective = {}, {}
    moved, found = 0.0, []
    for place, group in enumerate(subjects.groups):
        rows = np.flatnonzero((subjects.group[0] == place) & predictions.judged)
        others = np.flatnonzero(subjects.group[1] == place)
        if min(len(rows), len(others)) < FEWEST:
            separability[group], effective[group] = math.nan, math.nan
            continue
        columns = first[rows], second[others]
        area, chances = _told_apart(*columns, seed)
        one = _reweigh(*columns, chances, error[rows])
        found.append(one)
        weights = one.weights
        separability[group] = area
        effective[group] = float(weights.sum() ** 2 / (len(weights) * (weights @ weights)))
        own = error[rows]
        moved += (1 if place else -1) * float(np.average(own, weights=weights) - own.mean())
    return SubjectOverlap(
        separability=separability,
        effective_share=effective,
        moved=moved,
        reweighed=(found[0], found[1]) if len(found) == 2 else None,
    )


def _reweigh(first: Floats, second: Floats, chances: Floats, errors: Floats) -> Reweighed:
    r"""Return odds as weights, and the influence of every row on them.

    With chances :math:`p` of a logistic regression on columns :math:`z`, the weights are
    :math:`w = p / (1 - p)`, and the weighted mean error :math:`\mu` moves with the coefficients by
    :math:`h = \sum_i w_i z_i (e_i - \mu) / \sum_i w_i`. A row with side :math:`s` (0 or 1)
    moves them by :math:`I^{-1} z (s - p)`, with :math:`I` their information, the penalty included.
    """
    n = len(first)
    columns = np.column_stack([np.ones(len(chances)), np.vstack([first, second])])
    weights = chances[:n] / (1 - chances[:n])
    weights = weights / weights.mean()
    away = weights * (errors - np.average(errors, weights=weights)) / n
    information = (columns * (chances * (1 - chances))[:, None]).T @ columns
    # The penalty of scikit-learn's logistic regression, which spares the intercept.
    information[np.diag_indices(len(information))] += np.r_[1e-9, np.ones(len(information) - 1)]
    pull = columns @ np.linalg.solve(information, columns[:n].T @ away)
    moves = pull * (np.arange(len(chances)) >= n) - pull * chances
    return Reweighed(
        weights=weights,
        first=moves[:n] - moves[:n].mean(),
        second=moves[n:] - moves[n:].mean(),
    )


def _summaries(predictions: Predictions, features: tuple[Any, Any] | None) -> tuple[Floats, Floats]:
    """Return the prediction and the first principal components of the features, standardised."""
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.preprocessing import StandardScaler

    columns = np.concatenate([predictions.first, predictions.second])[:, None]
    n = len(predictions.first)
    if features is not None and features[0].ndim == 2:
        sparse = hasattr(features[0], "tocsr")
        if sparse:
            from scipy.sparse import vstack

            together = vstack(features)
        else:
            together = StandardScaler().fit_transform(np.vstack(features))
        most = min(COMPONENTS, together.shape[1], together.shape[0] - 1)
        if most < together.shape[1]:
            reduce = TruncatedSVD if sparse else PCA
            together = reduce(most, random_state=0).fit_transform(together)
        elif sparse:
            together = together.toarray()
        columns = np.hstack([columns, together])
    scaled = StandardScaler().fit_transform(columns)
    return scaled[:n], scaled[n:]


def _told_apart(first: Floats, second: Floats, seed: int) -> tuple[float, Floats]:
    """Return the area under the curve on unseen rows, and the chance of each to be a second's."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    rows = np.vstack([first, second])
    side = np.repeat([0, 1], [len(first), len(second)])
    parts = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = LogisticRegression(max_iter=1000)
    chance = cross_val_predict(model, rows, side, cv=parts, method="predict_proba")[:, 1]
    return float(roc_auc_score(side, chance)), chance
