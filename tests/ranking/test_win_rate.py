"""Win rates against their definition, evalica, and scipy's interval by Wilson."""

from __future__ import annotations

import evalica
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from comparity import win_rate
from tests.plain import win_rates as plain

Z = norm.isf(0.025)

games = st.lists(
    st.tuples(st.permutations(range(5)).map(lambda order: order[:2]), st.booleans()), min_size=1
).filter(lambda rows: not all(tied for _, tied in rows))


@given(games)
def test_shares_and_errors_are_those_of_the_definition(rows: list[tuple[list[int], bool]]) -> None:
    pairs, tied = [pair for pair, _ in rows], [tie for _, tie in rows]
    found = win_rate(pairs, n_items=5, ties=tied)
    for item in range(5):
        if outcomes := plain.outcomes_of(item, pairs, tied):
            assert found.scores[item] == pytest.approx(sum(outcomes) / len(outcomes), abs=1e-12)
            error = plain.standard_error(outcomes)
            assert found.standard_errors[item] == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize(("wins", "losses"), [(3, 0), (0, 7), (12, 5), (50, 50)])
def test_intervals_reach_the_farther_end_of_scipys(wins: int, losses: int) -> None:
    found = win_rate([[0, 1]] * wins + [[1, 0]] * losses)
    low, high = binomtest(wins, wins + losses).proportion_ci(method="wilson")
    reach = max(found.scores[0] - low, high - found.scores[0])
    assert found.standard_errors[0] * Z == pytest.approx(reach, abs=1e-12)


def test_counts_and_means_over_opponents_are_those_of_evalica() -> None:
    rng = np.random.default_rng(3)
    pairs = np.array([(i, j) for i in range(6) for j in range(i)] * 4)
    pairs = np.where(rng.random(len(pairs))[:, None] < 0.5, pairs, pairs[:, ::-1])
    tied = rng.random(len(pairs)) < 0.2
    winners = [evalica.Winner.Draw if tie else evalica.Winner.X for tie in tied]
    found = win_rate(pairs, ties=tied).scores
    wins = evalica.counting(*pairs.T.tolist(), winners).scores.sort_index()
    assert found == pytest.approx(wins.to_numpy() / 20, abs=1e-12)
    # Where every two items met equally often, the mean over opponents is the share.
    means = evalica.average_win_rate(*pairs.T.tolist(), winners).scores.sort_index()
    assert found == pytest.approx(means.to_numpy(), abs=1e-12)


def test_an_item_in_no_comparison_may_have_any_share() -> None:
    found = win_rate([[0, 1]], n_items=3)
    assert found.score_intervals()[2] == pytest.approx([0, 1], abs=1e-6)


def test_items_that_always_won_are_not_said_to_have_infinite_scores() -> None:
    said = " ".join(win_rate([[0, 1]] * 3, n_items=3).notes)
    assert "opponents" in said
    assert "In no comparison: 2" in said
    assert "bound" not in said
    assert "infinite" not in said
