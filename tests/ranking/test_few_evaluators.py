"""Errors clustered by evaluator: a sum of squares over few of them says little."""

from __future__ import annotations

import numpy as np
import polars
import pytest

from comparity.errors import OptionError
from comparity.ranking.rank import rank_layout


def judgments_by(n_evaluators: int) -> polars.DataFrame:
    """Return a thousand judgments of ten items by evaluators who judge equally often."""
    rng = np.random.default_rng(3)
    pairs = np.array([rng.permutation(10)[:2] for _ in range(1000)])
    judge = np.arange(1000) % n_evaluators
    names = {"better": pairs[:, 0], "worse": pairs[:, 1]}
    return polars.DataFrame({**names, "judge": [f"judge {one}" for one in judge]})


def test_errors_are_clustered_by_thirty_evaluators_and_no_fewer() -> None:
    asked = {"model": "bt", "cluster": "judge"}
    with pytest.raises(OptionError, match="29 evaluators are too few"):
        rank_layout(judgments_by(29), **asked)
    assert rank_layout(judgments_by(30), **asked).ranking.n_clusters == {"judge": 30}
