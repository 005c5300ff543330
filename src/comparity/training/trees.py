"""Sums of decision trees, kept and scored without the library that grew them.

Model files come from strangers. LightGBM trusts its own text and ends the process on a broken one,
so it only grows trees here; what they are is a few arrays, which are checked when a file is read.
Trees give the scores of LightGBM's own ``predict``, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.training.rows import Scale

if TYPE_CHECKING:
    from lightgbm import Booster

__all__ = ["MISSING", "Tree", "TreesModel", "sum_trees", "trees_of"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MISSING = ("none", "zero right", "zero left", "nan right", "nan left")
"""What counts as missing at a split, and where it goes. NaN is 0 wherever it is not missing."""
ZERO = float(np.float32(1e-35))
"""LightGBM takes numbers up to this one for 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tree:
    """A decision tree of m splits and m + 1 leaves.

    Attributes
    ----------
    feature : ndarray of int, (m,)
        Column that each split looks at.
    threshold : ndarray, (m,)
        Values up to it go left; it may be infinite.
    missing : ndarray of int, (m,)
        Positions in :data:`MISSING`.
    left, right : ndarray of int, (m,)
        Where rows go: a later split, or -1, -2, ... for the first leaf, the second, ...
    leaves : ndarray, (m + 1,)
        Scores.
    """

    feature: Codes
    threshold: Floats
    missing: Codes
    left: Codes
    right: Codes
    leaves: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TreesModel:
    """A trained sum of trees.

    Attributes
    ----------
    trees : tuple of Tree
        In the order they were grown.
    scale : Scale
        Trees take features as they were given, and give standardised labels.
    """

    trees: tuple[Tree, ...]
    scale: Scale

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""
        return self.scale.labels(sum_trees(self.trees, X))


def sum_trees(trees: Iterable[Tree], X: Floats) -> Floats:
    """Return the sum of the leaves that each row falls into, one for each tree.

    Parameters
    ----------
    trees : iterable of Tree
    X : ndarray, (n, p)
        Features as they were given.

    Examples
    --------
    >>> at_most_one = Tree(
    ...     feature=np.array([0]), threshold=np.array([1.0]), missing=np.array([0]),
    ...     left=np.array([-1]), right=np.array([-2]), leaves=np.array([-0.5, 2.0]),
    ... )
    >>> sum_trees([at_most_one], np.array([[1.0], [3.0]])).tolist()
    [-0.5, 2.0]
    """
    features, scores = np.ascontiguousarray(X, dtype=np.float64), np.zeros(len(X))
    for tree in trees:
        _add_leaves(
            features,
            tree.feature,
            tree.threshold,
            tree.missing,
            tree.left,
            tree.right,
            tree.leaves,
            scores,
        )
    return scores


@njit(cache=True, nogil=True)
def _add_leaves(  # type: ignore[no-untyped-def]
    features, feature, threshold, missing, left, right, leaves, scores
):
    """Add to every score the leaf of its row. Defined by the walk in ``tests/plain/trees.py``."""
    start = 0 if len(feature) else -1
    for row in range(len(scores)):
        node = start
        while node >= 0:
            value, kind = features[row, feature[node]], missing[node]
            if abs(value) <= ZERO or (np.isnan(value) and kind < 3):
                value = 0.0
            if np.isnan(value) or (1 <= kind <= 2 and value == 0.0):
                goes_left = kind % 2 == 0
            else:
                goes_left = value <= threshold[node]
            node = left[node] if goes_left else right[node]
        scores[row] += leaves[-node - 1]


def trees_of(booster: Booster, n_trees: int) -> tuple[Tree, ...]:
    """Return the first trees that LightGBM grew; those that were never grown add nothing."""
    text = booster.model_to_string(num_iteration=min(n_trees, booster.num_trees()))
    blocks = text.partition("\nend of trees")[0].split("\nTree=")[1:]
    return tuple(map(_tree_of_text, blocks))


def _tree_of_text(block: str) -> Tree:
    """Return a tree from the lines LightGBM writes of it."""
    lines = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    # BoostedTrees asks for neither: splits by category and leaves with slopes are other trees.
    assert lines["num_cat"] == "0", lines["num_cat"]
    assert lines["is_linear"] == "0", lines["is_linear"]
    # Bits of a split: 1 for categories, 2 for missing to the left, 4 for zeros, 8 for NaN.
    bits = _codes(lines, "decision_type")
    missing = np.where(bits >> 2 == 0, 0, 2 * (bits >> 2) - 1 + ((bits & 2) >> 1))
    return Tree(
        feature=_codes(lines, "split_feature"),
        threshold=np.array(lines["threshold"].split(), dtype=np.float64),
        missing=missing,
        left=_codes(lines, "left_child"),
        right=_codes(lines, "right_child"),
        leaves=np.array(lines["leaf_value"].split(), dtype=np.float64),
    )


def _codes(lines: Mapping[str, str], name: str) -> Codes:
    return np.array(lines[name].split(), dtype=np.int64)
