"""Bradley-Terry against choix, evalica, scikit-learn, scipy and known answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import choix
import evalica
import numpy as np
import pytest
from scipy.optimize import minimize

from comparity import bradley_terry
from comparity.errors import NoPriorError, OptionError
from comparity.ranking.rank import rank_frames
from tests.plain import ranking as plain


def simulated(seed: int, n_items: int = 12, n: int = 400, spread: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, spread, n_items)
    pairs = np.array([rng.choice(n_items, 2, replace=False) for _ in range(n)])
    first = rng.random(n) < 1 / (1 + np.exp(-(scores[pairs[:, 0]] - scores[pairs[:, 1]])))
    return np.where(first[:, None], pairs, pairs[:, ::-1])


def log_likelihood(pairs: np.ndarray, scores: np.ndarray) -> float:
    return sum(plain.log_probability(scores[i] - scores[j]) for i, j in pairs.tolist())


@pytest.mark.parametrize("sd", [0.5, 2.0, 10.0])
def test_scores_equal_those_of_choix_with_the_same_penalty(sd: float) -> None:
    pairs = simulated(1)
    found = bradley_terry(pairs, prior=sd, tolerance=1e-9)
    # choix penalises alpha times the sum of squares.
    theirs = choix.opt_pairwise(12, pairs.tolist(), alpha=sd**-2 / 2, tol=1e-12)
    assert found.scores == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_scores_equal_those_of_evalica_without_prior_and_are_as_likely() -> None:
    pairs = simulated(2)
    found = bradley_terry(pairs, prior=None, tolerance=1e-9)
    winners = [evalica.Winner.X] * len(pairs)
    names = [[f"{item:02d}" for item in side] for side in pairs.T.tolist()]
    peer = evalica.bradley_terry(*names, winners, tolerance=1e-10, limit=100_000)
    theirs = np.log(peer.scores.sort_index().to_numpy())
    assert found.scores == pytest.approx(theirs - theirs.mean(), abs=1e-6)
    assert found.log_likelihood >= log_likelihood(pairs, theirs) - 1e-9
    assert found.log_likelihood == pytest.approx(log_likelihood(pairs, found.scores), abs=1e-9)


def test_scipy_from_a_random_start_finds_nothing_better() -> None:
    pairs = simulated(3, n_items=6, n=60)
    found = bradley_terry(pairs, prior=1.5)

    def loss(scores: np.ndarray) -> float:
        return -log_likelihood(pairs, scores) + scores @ scores / (2 * 1.5**2)

    start = np.random.default_rng(0).normal(0, 2, 6)
    other = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    assert loss(found.scores) <= other.fun + 1e-8
    assert found.scores == pytest.approx(other.x, abs=1e-4)
    assert found.converged
    assert found.gradient_norm < 1e-6


def test_standard_errors_are_those_of_the_observed_information() -> None:
    pairs = simulated(4, n_items=5, n=80)
    found = bradley_terry(pairs, prior=2.0)
    information = np.eye(5) / 4
    for i, j in pairs.tolist():
        p = math.exp(plain.log_probability(found.scores[i] - found.scores[j]))
        step = np.zeros(5)
        step[[i, j]] = 1, -1
        information += p * (1 - p) * np.outer(step, step)
    centre = np.eye(5) - 0.2
    expected = np.sqrt(np.diag(centre @ np.linalg.inv(information) @ centre))
    assert found.standard_errors == pytest.approx(expected, rel=1e-5)


def test_errors_of_many_items_in_one_pass_are_close_to_exact_ones(
    errors_by: Callable[[str], None],
) -> None:
    pairs = simulated(5, n_items=300, n=12_000)
    exact = bradley_terry(pairs, prior=1.0)
    errors_by("in passes")
    quick = bradley_terry(pairs, prior=1.0)
    assert quick.scores == pytest.approx(exact.scores, abs=1e-6)
    assert quick.standard_errors == pytest.approx(exact.standard_errors, rel=0.01)


def test_two_items_have_the_log_odds_of_their_wins() -> None:
    found = bradley_terry([[0, 1]] * 30 + [[1, 0]] * 10, prior=None)
    assert found.scores[0] - found.scores[1] == pytest.approx(math.log(3), abs=1e-7)


def test_two_items_with_ties_have_davidsons_closed_form() -> None:
    """With shares w, l, t: margin log(w / l), tie parameter t / sqrt(w l)."""
    pairs = [[0, 1]] * 500 + [[1, 0]] * 300 + [[0, 1]] * 200
    found = bradley_terry(pairs, ties=[False] * 800 + [True] * 200, prior=None, tolerance=1e-9)
    assert found.ties is not None
    # The wide prior of the tie parameter moves it by about its variance times itself / 100.
    assert found.scores[0] - found.scores[1] == pytest.approx(math.log(5 / 3), abs=1e-4)
    assert found.ties.value == pytest.approx(math.log(2 / math.sqrt(15)), abs=1e-3)
    assert found.n_ties == 200


def test_the_order_in_which_a_tie_is_written_does_not_matter() -> None:
    pairs, ties = simulated(6), np.arange(400) % 5 == 0
    turned = np.where(ties[:, None], pairs[:, ::-1], pairs)
    one, two = (bradley_terry(p, ties=ties, prior=1.0, tolerance=1e-9) for p in (pairs, turned))
    assert one.scores == pytest.approx(two.scores, abs=1e-7)


def test_the_seat_effect_is_the_coefficient_of_a_logistic_regression() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(7)
    scores, shown = rng.normal(size=8), np.array([rng.choice(8, 2, False) for _ in range(3000)])
    odds = scores[shown[:, 0]] - scores[shown[:, 1]] + 0.7
    first = rng.random(3000) < 1 / (1 + np.exp(-odds))
    pairs = np.where(first[:, None], shown, shown[:, ::-1])
    found = bradley_terry(pairs, seats=first, prior=3.0, tolerance=1e-9)
    design = np.zeros((3000, 9))
    rows = np.arange(3000)
    design[rows, shown[:, 0]], design[rows, shown[:, 1]] = 1, -1
    design[:, 8] = 10 / 3  # one penalty for all: the seat's prior has SD 10
    peer = LogisticRegression(C=9.0, fit_intercept=False, tol=1e-10, max_iter=5000)
    theirs = peer.fit(design, first).coef_[0]
    assert found.seat is not None
    assert found.seat.value == pytest.approx(theirs[8] * 10 / 3, abs=1e-5)
    assert found.scores == pytest.approx(theirs[:8], abs=1e-5)
    assert found.seat.interval()[0] < 0.7 < found.seat.interval()[1]


def test_an_undefeated_item_needs_a_prior_and_is_named() -> None:
    pairs = [[0, 1], [0, 2], [1, 2], [2, 1], [1, 2]]
    with pytest.raises(NoPriorError, match="Never lost: 0"):
        bradley_terry(pairs, prior=None)
    found = bradley_terry(pairs)
    assert np.isfinite(found.scores).all()
    assert np.isfinite(found.standard_errors).all()
    assert found.diagnosis.undefeated.tolist() == [0]
    assert found.ranking[0] == 0


def test_parts_never_compared_are_named_and_finite() -> None:
    found = bradley_terry([[0, 1], [1, 0], [2, 3], [3, 2]] * 3, n_items=5, prior=1.0)
    assert found.diagnosis.n_components == 3
    assert found.diagnosis.uncompared.tolist() == [4]
    assert any("never compared with each other" in note for note in found.notes)
    assert found.scores == pytest.approx(np.zeros(5), abs=1e-6)
    # An item in no comparison keeps the prior; about the mean of five that is SD sqrt(4 / 5) or so.
    assert 0.8 < found.standard_errors[4] < 1


def test_frames_of_every_engine_give_the_same_ranking_by_name(frame: Any) -> None:
    names = np.array(["ann", "bob", "cid", "dee"])
    pairs = simulated(8, n_items=4, n=50)
    table = frame({"up": names[pairs[:, 0]].tolist(), "down": names[pairs[:, 1]].tolist()})
    found = rank_frames(table, model="bt", better="up", worse="down", prior=1.0).ranking
    assert found.items.tolist() == names.tolist()
    assert found.scores == pytest.approx(bradley_terry(pairs, prior=1.0).scores, abs=1e-9)


def test_ranks_intervals_and_plain_data_agree() -> None:
    found = bradley_terry(simulated(9, spread=2.0), prior=2.0)
    low, high = found.rank_intervals().T
    assert (low <= found.ranks).all()
    assert (found.ranks <= high).all()
    assert found.ranks[found.ranking].tolist() == list(range(1, 13))
    rows = found.to_dict()["ranking"]
    assert [row["item"] for row in rows] == found.ranking.tolist()
    frame = found.to_frame("polars")
    assert frame["score"].to_list() == sorted(found.scores.tolist(), reverse=True)
    assert found.to_dict()["priors"] == [{"of": "scores", "sd": 2.0, "chosen_by": "the caller"}]


def test_rank_intervals_of_many_items_are_no_narrower(monkeypatch: pytest.MonkeyPatch) -> None:
    found = bradley_terry(simulated(10, spread=2.0), prior=2.0)
    exact = found.rank_intervals()
    monkeypatch.setattr("comparity.ranking.intervals.EXACT_RANKS", 5)
    wide = found.rank_intervals()
    assert (wide[:, 0] <= exact[:, 0]).all()
    assert (wide[:, 1] >= exact[:, 1]).all()


def test_an_error_beyond_all_numbers_leaves_any_rank() -> None:
    found = bradley_terry(simulated(10, spread=2.0), prior=2.0)
    errors = np.where(np.arange(12) == 3, 1e308, found.standard_errors)
    assert replace(found, standard_errors=errors).rank_intervals()[3].tolist() == [1, 12]


@pytest.mark.parametrize("level", [0, 1, 95, "high"])
def test_levels_beyond_zero_and_one_are_refused(level: object) -> None:
    with pytest.raises(OptionError, match="a level between 0 and 1"):
        bradley_terry([[0, 1], [1, 0]]).score_intervals(level)
