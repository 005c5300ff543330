"""Features that hold the answer: copies of the decisions that a bridge is to predict.

A bridge says what the first would have decided about the second's subjects. Where a feature is a
copy of the first's decisions, of the second's, or nearly one, both decided about everybody after
all: the bridge is a direct comparison, and what it finds says nothing about how well a model
carries over. Often such a column is the decision itself under another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
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
