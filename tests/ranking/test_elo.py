"""Elo ratings against evalica, and by hand."""

from __future__ import annotations

from typing import Any

import evalica
import numpy as np
import pytest

from comparity import elo
from comparity.errors import OptionError

RNG = np.random.default_rng(8)
PAIRS = np.array([RNG.choice(9, 2, replace=False) for _ in range(400)])
TIED = RNG.random(400) < 0.15


@pytest.mark.parametrize(
    ("k", "start", "scale"), [(32.0, 1500.0, 400.0), (4.0, 1000.0, 400.0), (60.0, 0.0, 173.7)]
)
def test_ratings_equal_those_of_evalica(k: float, start: float, scale: float) -> None:
    found = elo(PAIRS, ties=TIED, k_factor=k, start=start, scale=scale)
    winners = [evalica.Winner.Draw if tie else evalica.Winner.X for tie in TIED]
    peer = evalica.elo(*PAIRS.T.tolist(), winners, initial=start, scale=scale, k=k)
    assert found.scores == pytest.approx(peer.scores.sort_index().to_numpy(), abs=1e-8)


def test_the_order_of_the_rows_matters_and_the_notes_say_so() -> None:
    there, back = elo([[0, 1], [1, 2], [2, 0]]), elo([[2, 0], [1, 2], [0, 1]])
    assert there.ranking.tolist() != back.ranking.tolist()
    assert "order of the rows" in there.notes[0]


def test_the_mean_stays_and_who_never_played_is_there() -> None:
    found = elo(PAIRS, n_items=10, ties=TIED, start=1200)
    assert found.scores.mean() == pytest.approx(1200)
    assert found.scores[9] == 1200
    assert np.isnan(found.standard_errors).all()
    assert found.unit == "points"


@pytest.mark.parametrize(
    "choices",
    [{"k_factor": 0}, {"k_factor": "32"}, {"scale": -1.0}, {"scale": np.nan}, {"start": np.inf}],
)
def test_numbers_of_points_are_checked(choices: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="points"):
        elo([[0, 1]], **choices)


@pytest.mark.parametrize("scale", [400.0, 250.0])
def test_the_likelihood_is_that_of_the_chances_elo_gives(scale: float) -> None:
    pairs = np.array([[0, 1], [1, 2], [2, 0], [0, 2], [0, 1]])
    found = elo(pairs, scale=scale, k_factor=40)
    lead = found.scores[pairs[:, 0]] - found.scores[pairs[:, 1]]
    expected = -np.log1p(10 ** (-lead / scale)).sum()
    assert found.log_likelihood == pytest.approx(expected)
