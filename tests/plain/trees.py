"""A sum of decision trees: every row walks down every tree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

# The single-precision number nearest 1e-35, up to which LightGBM takes numbers for 0.
ZERO = 1.0000000180025095e-35


def sum_trees(trees: Sequence[Mapping[str, Any]], row: Sequence[float]) -> float:
    """Return the score of a row, of trees as model files hold them."""
    # One after the other: from Python 3.12 on the built-in sum corrects its rounding.
    return reduce(add, (_leaf(tree, row) for tree in trees), 0.0)


def _leaf(tree: Mapping[str, Any], row: Sequence[float]) -> float:
    node = 0 if tree["feature"] else -1
    while node >= 0:
        value, missing = row[tree["feature"][node]], tree["missing"][node]
        if abs(value) <= ZERO or (math.isnan(value) and not missing.startswith("nan")):
            value = 0.0
        lost = math.isnan(value) or (missing.startswith("zero") and value == 0.0)
        threshold = math.inf if tree["threshold"][node] is None else tree["threshold"][node]
        to_left = missing.endswith("left") if lost else value <= threshold
        node = tree["left" if to_left else "right"][node]
    return float(tree["leaves"][-node - 1])
