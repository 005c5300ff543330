"""Boosted trees as a function of the values of their leaves: splits stay as they were grown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.training.models import Tree, sum_trees
from comparity.training.rows import Rows

Floats = NDArray[np.float64]


class Refitted(NamedTuple):
    """Trees whose leaves have other values than LightGBM gave them."""

    trees: tuple[Tree, ...]


class LeafParameters:
    """A sum of trees as a linear function of its leaves; see :mod:`comparity.training.polish`.

    Parameters
    ----------
    trees : tuple of Tree
        Splits, and the values to begin with.
    rows : Rows
    l2 : float
        Weight of the squares of values.

    Examples
    --------
    >>> from comparity.training.rows import Scale
    >>> up = Tree(
    ...     feature=np.array([0]), threshold=np.array([1.0]), missing=np.array([0]),
    ...     left=np.array([-1]), right=np.array([-2]), leaves=np.array([-0.5, 2.0]),
    ... )
    >>> X, scale = np.array([[1.0], [3.0]]), Scale(centre=np.zeros(1), unit=np.ones(1))
    >>> rows = Rows(
    ...     features=X, scale=scale, pairs=None, parity=None, target=None, weight=np.ones(2)
    ... )
    >>> leaves = LeafParameters((up, up), rows, l2=0.0)
    >>> leaves.scores(leaves.start).tolist(), leaves.scores(np.arange(4.0)).tolist()
    ([-1.0, 4.0], [2.0, 4.0])
    """

    def __init__(self, trees: tuple[Tree, ...], rows: Rows, l2: float) -> None:
        from scipy.sparse import csr_array

        self._trees, self._l2 = trees, l2
        self.start = np.concatenate([tree.leaves for tree in trees])
        sizes = np.array([len(tree.leaves) for tree in trees])
        self._ends = np.cumsum(sizes)
        n, many = len(rows.weight), len(trees)
        column = np.empty((n, many), dtype=np.int64)
        for place, tree in enumerate(trees):
            # With its own number as value of each leaf a tree says where a row ends.
            numbered = tree._replace(leaves=np.arange(sizes[place], dtype=np.float64))
            column[:, place] = sum_trees([numbered], rows.features)
        column += self._ends - sizes
        ones, ends = np.ones(n * many), many * np.arange(n + 1)
        self._falls = csr_array((ones, column.ravel(), ends), shape=(n, len(self.start)))
        self._turned = self._falls.T.tocsr()

    def scores(self, parameters: Floats) -> Floats:
        """Return the scores of all rows."""
        return np.asarray(self._falls @ parameters)

    def pull_back(self, parameters: Floats, slope: Floats) -> Floats:
        """Return the gradient in the values of leaves."""
        return np.asarray(self._turned @ slope)

    def penalty(self, parameters: Floats) -> tuple[float, Floats]:
        """Return what squares cost."""
        return self._l2 * float(parameters @ parameters), 2 * self._l2 * parameters

    def model(self, parameters: Floats) -> Refitted:
        """Return the trees with these values."""
        values = np.split(parameters, self._ends[:-1])
        pairs = zip(self._trees, values, strict=True)
        return Refitted(tuple(tree._replace(leaves=leaves) for tree, leaves in pairs))
