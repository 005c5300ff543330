r"""What a bridge rests on: subjects who are alike, and features that do not hold the answer.

Within a group, logistic regression tells subjects of the second from those of the first, by the
prediction and (the first principal components of) the features, on rows it did not see. Its odds
:math:`p / (1 - p)` are the ratio of the two densities but for a factor, and weigh the first's
subjects to look like the second's. They follow shifts of features, not other spreads; what that
leaves is foretold by a regression of the first's errors on columns, squares and cubes.

A bridge says what the first would have decided about the second's subjects. Where a feature is a
copy of the first's decisions, of the second's, or nearly one, both decided about everybody after
all: the bridge is a direct comparison, and what it finds says nothing about how well a model
carries over. Often such a column is the decision itself under another name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.relative.prediction import Predictions
from comparity.relative.subjects import DecidedSubjects, Reweighed

Floats = NDArray[np.float64]

COMPONENTS = 10
"""Principal components of the features that subjects are told apart by."""

ROWS_TO_A_FUNCTION = 10
"""So many subjects of a group, on either side, there are to each function of the regression."""

COLLINEAR = 1e-8
"""Directions of functions that vary less than this, relatively, are left out."""

FEWEST = 10
"""With fewer subjects in a group of either side nobody is told apart."""


class Left(NamedTuple):
    """What weights leave out of balance, in terms of a gap, and the variance of that number."""

    gap: float
    variance: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubjectOverlap:
    """How alike the subjects of both decision makers are, within groups.

    Attributes
    ----------
    separability, effective_share : mapping of str to float
        As in :class:`comparity.relative.result.BridgeDiagnosis`.
    moved : float
        How far weights move the gap between the mean errors of the first.
    left : Left
        How far the gap would move on if squares and cubes of columns were made alike, too.
    reweighed : tuple of Reweighed or None
        What makes the first's subjects look like the second's; ``None`` where a group has too few.
    """

    separability: Mapping[str, float]
    effective_share: Mapping[str, float]
    moved: float
    left: Left
    reweighed: tuple[Reweighed, Reweighed] | None


def measure_overlap(
    subjects: DecidedSubjects,
    predictions: Predictions,
    features: tuple[Any, Any] | None,
    seed: int,
) -> SubjectOverlap:
    """Model which side subjects are from, within groups, and weight the first side by it."""
    first, second = summarise(predictions, features)
    error = predictions.first - subjects.decisions[0]
    separability, effective = {}, {}
    moved, left, found = 0.0, Left(0.0, 0.0), []
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
        sign = 1 if place else -1
        moved += sign * float(np.average(own, weights=weights) - own.mean())
        more = _left_by(*columns, weights, own)
        left = Left(left.gap + sign * more.gap, left.variance + more.variance)
    return SubjectOverlap(
        separability=separability,
        effective_share=effective,
        moved=moved,
        left=left,
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
    weights = chances[:n] / (1 - chances[:n])
    weights = weights / weights.mean()
    away = weights * (errors - np.average(errors, weights=weights)) / n
    moved, others = measure_pull(first, second, chances, away)
    return Reweighed(weights=weights, first=moved, second=others)


def measure_pull(
    first: Floats, second: Floats, chances: Floats, away: Floats
) -> tuple[Floats, Floats]:
    """Return how far each row of either side moves an estimate by moving the weights.

    Parameters
    ----------
    first, second : ndarray, (n, columns)
        What subjects are told apart by.
    chances : ndarray
        Chance of each row, of both sides, to be one of the second's.
    away : ndarray
        For each row of the first, its weight times how far the estimate moves with that weight.
    """
    n = len(first)
    columns = np.column_stack([np.ones(len(chances)), np.vstack([first, second])])
    information = (columns * (chances * (1 - chances))[:, None]).T @ columns
    # The penalty of scikit-learn's logistic regression, which spares the intercept.
    information[np.diag_indices(len(information))] += np.r_[1e-9, np.ones(len(information) - 1)]
    pull = columns @ np.linalg.solve(information, columns[:n].T @ away)
    moves = pull * (np.arange(len(chances)) >= n) - pull * chances
    return moves[:n] - moves[:n].mean(), moves[n:] - moves[n:].mean()


def _left_by(first: Floats, second: Floats, weights: Floats, errors: Floats) -> Left:
    r"""Return how much of the first's errors weighting has not made alike, within a group.

    With functions :math:`x` (columns, their squares and cubes), coefficients :math:`c` of a
    weighted regression of errors on them, and means :math:`\bar x_1` over the second's subjects
    and :math:`\bar x_w` over the weighted first's, that is :math:`c^\top d` with
    :math:`d = \bar x_1 - \bar x_w`: nothing if errors do not depend on :math:`x`, or if
    weights make both alike. Its variance is
    :math:`d^\top \hat V(c) d + c^\top \hat V(d) c`, by squared residuals.
    """
    n, share = len(first), weights / weights.sum()
    functions = _functions(np.vstack([first, second]), min(n, len(second)) // ROWS_TO_A_FUNCTION)
    own, others = functions[:n] - share @ functions[:n], functions[n:] - share @ functions[:n]
    inverse = np.linalg.pinv((own * share[:, None]).T @ own, rcond=COLLINEAR, hermitian=True)
    away = errors - share @ errors
    coefficients = inverse @ (own.T @ (share * away))
    apart = others.mean(axis=0)
    residual = share * (away - own @ coefficients) * (own @ (inverse @ apart))
    explained = share * (own @ coefficients)
    foretold = (others - apart) @ coefficients / len(others)
    variance = sum(float(part @ part) for part in (residual, explained, foretold))
    return Left(float(coefficients @ apart), variance)


def _functions(columns: Floats, most: int) -> Floats:
    """Return columns, their squares and their cubes, standardised: as many as asked for."""
    powers = np.hstack([columns, columns**2, columns**3])[:, :most]
    spread = powers.std(axis=0)
    varying: Floats = powers[:, spread > 0] / spread[spread > 0]
    return varying


def summarise(
    predictions: Predictions,
    features: tuple[Any, Any] | None,
    numbers: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Return the prediction and the first principal components of the features, standardised.

    With them a number of each subject and its square, where it is given.
    """
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
    if numbers is not None:
        line = StandardScaler().fit_transform(np.concatenate(numbers)[:, None])
        columns = np.hstack([columns, line, line**2])
    scaled = StandardScaler().fit_transform(columns)
    return scaled[:n], scaled[n:]


def odds_of_second(first: Floats, second: Floats, seed: int) -> Floats:
    """Return the chance of each row of both sides to be one of the second's, as rows unseen."""
    return _told_apart(first, second, seed)[1]


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


Leaks = Mapping[str, Mapping[str, float]]

COPIED = 0.99
"""A feature that alone explains more of the variance of decisions is taken for a copy of them."""


def find_leaks(features: Any, decisions: Floats, names: Sequence[str] = ()) -> dict[str, float]:
    """Return features that each explain more than 0.99 of the variance of decisions.

    Parameters
    ----------
    features : array or sparse matrix, (n, k)
        What predictions are made from. Texts, which have one dimension, hold no columns to look at.
    decisions : ndarray of float, (n,)
        Decisions about the same subjects.
    names : sequence of str
        What the columns are called; their numbers from 0 on where there are none.

    Returns
    -------
    dict of str to float
        Squared correlation with the decisions, by feature.

    Examples
    --------
    >>> rating = np.array([1.0, 2.0, 4.0, 5.0])
    >>> find_leaks(np.column_stack([rating**2, 7 - rating]), rating, ["square", "reversed"])
    {'reversed': 1.0}
    """
    if getattr(features, "ndim", 2) != 2:
        return {}
    shares = explained_by_each(features, decisions)
    called = names or [f"column {place}" for place in range(len(shares))]
    places = np.flatnonzero(shares > COPIED).tolist()
    return {called[place]: float(shares[place]) for place in places}


def explained_by_each(features: Any, decisions: Floats) -> Floats:
    """Return the squared correlation of decisions with each column; 0 where one does not vary."""
    away = decisions - decisions.mean()
    together = np.asarray(features.T @ away).reshape(-1) / len(away)
    if hasattr(features, "tocsr"):
        mean = np.asarray(features.mean(axis=0)).reshape(-1)
        variance = np.asarray(features.multiply(features).mean(axis=0)).reshape(-1) - mean**2
    else:
        variance = features.var(axis=0)
    product = variance * (away @ away / len(away))
    shares = np.divide(together**2, product, out=np.zeros(len(product)), where=product > 0)
    found: Floats = np.minimum(shares, 1.0)
    return found


def leak_notes(leaks: Leaks, explained: float = 0.0) -> Iterator[str]:
    """Yield warnings that name every copy, or say that features together are one.

    Parameters
    ----------
    leaks : mapping of str to mapping
        By decision maker, its copies among the features.
    explained : float
        Share of the first's variance that all features explain for subjects the model did not see.
    """
    for maker, found in leaks.items():
        if found:
            copies = ", ".join(f"{name!r} ({share:.3f})" for name, share in found.items())
            yield (
                f"WARNING: features hold the answer. Copies of the decisions of {maker!r}, with "
                f"the share of their variance that each explains alone: {copies}. Leave them out."
            )
    if explained > COPIED and not any(leaks.values()):
        yield (
            f"WARNING: features together explain {explained:.3f} of the first's decisions; look "
            "whether they were made from these decisions, or these from them."
        )
