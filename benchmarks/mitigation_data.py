"""Data and measures of the comparison of mitigation methods: same splits and features.

Every data set has a binary label, a binary group and standardised features, the group among them.
Two of them also have the number that the label was cut from, for regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from comparity.datasets.preparations import PreparedData, load_dataset

Floats = NDArray[np.float64]

MOST_ROWS = 5000
"""So many rows of a larger data set are drawn for each split."""
TEST_SHARE = 0.4
SOURCES = {
    "german": ("german", "comparative-separation", "sex"),
    "compas": ("compas", "comparative-separation", "race"),
    "adult": ("adult", "fair-enough", "sex"),
    "law school": ("law_school_full", "pairwise-fairness", "gender"),
    "crime": ("communities_crime", "pairwise-fairness", "racepctblack"),
}
"""Name, preparation and sensitive attribute of each data set."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """Rows of a split.

    Attributes
    ----------
    X : ndarray
        Features, standardised on the training rows, the group among them.
    blind : ndarray
        The same without columns that are the group.
    y, group : ndarray of int
        Label and group, 0 or 1.
    target : ndarray or None
        The number that the label was cut from.
    """

    X: Floats
    blind: Floats
    y: NDArray[np.int64]
    group: NDArray[np.int64]
    target: Floats | None


def load(name: str) -> tuple[Floats, NDArray[np.bool_], Part]:
    """Return raw features, which columns of them tell the group, and all rows."""
    source, preparation, attribute = SOURCES[name]
    data = load_dataset(source, preparation=preparation)
    # Hundreds of rare wordings of charges make COMPAS a task of memory.
    kept = [at for at, one in enumerate(data.feature_names) if not one.startswith("c_charge_desc")]
    X = data.features[:, kept]
    group = _groups(data, attribute)
    y, target = data.labels, None
    if len(np.unique(y)) > 2:
        target = y
        # The authors of the ranking task cut crime rates at the 70th percentile.
        y = (y > np.quantile(y, 0.7 if name == "crime" else 0.5)).astype(float)
    everything = Part(X=X, blind=X, y=y.astype(np.int64), group=group, target=target)
    return X, _tells_group(X, group), everything


def _groups(data: PreparedData, attribute: str) -> NDArray[np.int64]:
    column = data.sensitive[attribute]
    if attribute in data.privileged:
        return (column == data.privileged[attribute]).astype(np.int64)
    return (column > np.median(column)).astype(np.int64)


def _tells_group(X: Floats, group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which columns give the group away: by a threshold every row can be told."""
    found = []
    for column in X.T:
        first, second = column[group == 0], column[group == 1]
        found.append(first.max() < second.min() or second.max() < first.min())
    return np.array(found)


def split(name: str, number: int) -> tuple[Part, Part]:
    """Return training and test rows of one split: a function of the name and the number alone."""
    X, telling, rows = load(name)
    rng = np.random.default_rng([number, *name.encode()])
    order = rng.permutation(len(X))[:MOST_ROWS]
    cut = round((1 - TEST_SHARE) * len(order))
    train = order[:cut]
    varied = X[train].std(axis=0) > 1e-9
    centre, unit = X[train].mean(axis=0), X[train].std(axis=0)
    Z = (X[:, varied] - centre[varied]) / unit[varied]
    parts = []
    for at in (train, order[cut:]):
        target = None if rows.target is None else rows.target[at]
        blind = Z[at][:, ~telling[varied]]
        parts.append(Part(X=Z[at], blind=blind, y=rows.y[at], group=rows.group[at], target=target))
    return parts[0], parts[1]


def decision_facts(decided: Floats, rows: Part) -> dict[str, dict[str, float]]:
    """Return loss and violation by notion, of decisions or of their probabilities."""
    y, group = rows.y, rows.group
    error = float(np.mean(np.where(y == 1, 1 - decided, decided)))
    sides = [decided[(y == label) & (group == g)].mean() for label in (0, 1) for g in (0, 1)]
    gap = float(decided[group == 0].mean() - decided[group == 1].mean())
    odds = max(sides[0] - sides[1], sides[2] - sides[3], key=abs)
    return {
        "demographic parity": _facts(error, gap),
        "equalized odds": _facts(error, float(odds)),
    }


def _facts(loss: float, gap: float) -> dict[str, float]:
    return {"loss": loss, "violation": abs(gap), "gap": gap}


def score_facts(scores: Floats, rows: Part) -> dict[str, dict[str, float]]:
    """Return loss and violation by notion, of scores; a tie counts half."""
    y, group = rows.y, rows.group
    loss = 1 - float(roc_auc_score(y, scores))
    across = [
        _share_above(scores[(y == 1) & (group == g)], scores[(y == 0) & (group == 1 - g)])
        for g in (0, 1)
    ]
    above = _share_above(scores[group == 1], scores[group == 0])
    return {
        "cross-group": _facts(loss, across[0] - across[1]),
        "pairwise parity": _facts(loss, 2 * above - 1),
    }


def _share_above(first: Floats, second: Floats) -> float:
    """Return how often a number of the first is above one of the second."""
    labels = np.repeat([1, 0], [len(first), len(second)])
    return float(roc_auc_score(labels, np.concatenate([first, second])))


def regression_facts(predicted: Floats, rows: Part) -> dict[str, dict[str, float]]:
    """Return squared error, and the difference of both accuracies across groups."""
    assert rows.target is not None
    error = float(np.mean((predicted - rows.target) ** 2))
    rates = []
    for g in (0, 1):
        better, worse = rows.group == g, rows.group == 1 - g
        above = rows.target[better][:, None] > rows.target[worse]
        right = predicted[better][:, None] > predicted[worse]
        rates.append(float(right[above].mean()))
    return {"cross-group, squared error": _facts(error, rates[0] - rates[1])}
