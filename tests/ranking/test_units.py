"""Rankings in another unit."""

from __future__ import annotations

import numpy as np
import pytest

from comparity import bradley_terry
from comparity.ranking.rank import _in_unit


def test_scores_in_sds_times_the_sd_are_the_scores_in_logits() -> None:
    pairs = np.array([[0, 1], [0, 2], [1, 2], [2, 1], [2, 0], [0, 1]])
    ranking = bradley_terry(pairs, prior=2.0)
    assert _in_unit(ranking, "logits") is ranking
    other = _in_unit(ranking, "SDs of scores")
    assert other.unit == "SDs of scores"
    assert 2.0 * other.scores == pytest.approx(ranking.scores)
    assert 2.0 * other.standard_errors == pytest.approx(ranking.standard_errors)
