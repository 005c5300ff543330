"""Pictures of rankings: what is drawn where."""

from __future__ import annotations

import numpy as np
import pytest

from comparity import win_rate
from comparity.ranking.pictures import STROKES, plot_scores
from comparity.ranking.rank import RankedPanel

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("more", [0, 1])
def test_many_scores_are_hills_that_stand_on_their_rows(more: int) -> None:
    n = 2 * (STROKES + more)
    pairs = np.array([RNG.permutation(n)[:2] for _ in range(4 * n)])
    panel = RankedPanel(ranking=win_rate(pairs, n_items=n), groups={"sex": np.arange(n) % 2})
    ax = plot_scores(panel)
    hills = [one.get_paths()[0].vertices for one in ax.collections]
    strokes = [line for line in ax.lines if line.get_marker() == "|"]
    assert (len(hills), len(strokes)) == ((2, 0) if more else (0, 2))
    for row, hill in enumerate(hills):
        assert (hill[:, 1].max(), hill[:, 1].min()) == pytest.approx((row, row - 0.8))
    # Rows count downward, and the hill of the first has room.
    assert ax.get_ylim() == (1.5, -0.9)
