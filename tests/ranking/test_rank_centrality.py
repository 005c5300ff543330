"""Witnesses: choix, numpy's eigenvectors, and walks whose stationary distribution is known."""

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from comparity import rank_centrality
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.errors import NoPriorError, OptionError
from comparity.ranking.rank import rank_frames


def cycle(n: int, extra: int, seed: int) -> NDArray[np.int64]:
    """Return random comparisons in which every item beats the next one in a circle."""
    rng = np.random.default_rng(seed)
    ring = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])
    first = rng.integers(n, size=extra)
    return np.vstack([ring, np.column_stack([first, (first + rng.integers(1, n, extra)) % n])])


def centred(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return scores - scores.mean()


@settings(max_examples=25)
@given(st.integers(3, 30), st.integers(0, 200), st.integers(0, 10**6))
def test_without_smoothing_scores_are_those_of_choix(n: int, extra: int, seed: int) -> None:
    pairs = cycle(n, extra, seed)
    theirs = choix.rank_centrality(n, pairs.tolist())
    fit = rank_centrality(pairs, n_items=n, smoothing=0)
    assert fit.scores == pytest.approx(centred(theirs), abs=1e-8)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 2.0])
def test_smoothing_all_pairs_is_the_regularisation_of_choix(alpha: float) -> None:
    panel = simulate_comparisons(rng=np.random.default_rng(1), n_evaluators=5)
    theirs = choix.rank_centrality(100, panel.comparisons.tolist(), alpha=alpha)
    fit = rank_centrality(panel.comparisons, n_items=100, smoothing=alpha, smoothed="all")
    assert fit.scores == pytest.approx(centred(theirs), abs=1e-8)
    assert fit.converged


@pytest.mark.parametrize("options", [{"smoothing": 0.0}, {"smoothing": 0.1, "smoothed": "all"}])
def test_many_items_give_the_scores_of_choix_too(options: dict[str, float]) -> None:
    """More items than the dense solve takes."""
    pairs = cycle(700, 6000, 3)
    theirs = choix.rank_centrality(700, pairs.tolist(), alpha=options["smoothing"])
    assert rank_centrality(pairs, **options).scores == pytest.approx(centred(theirs), abs=1e-8)


def matrix(pairs: NDArray[np.int64], n: int, smoothing: float) -> NDArray[np.float64]:
    """Return the proper transition matrix by its definition."""
    wins = np.zeros((n, n))
    for better, worse in pairs:
        wins[worse, better] += 1
    met = wins + wins.T
    rates = np.where(met > 0, (wins + smoothing) / np.where(met > 0, met + 2 * smoothing, 1), 0)
    walk = rates / rates.sum(axis=1).max()
    return walk + np.diag(1 - walk.sum(axis=1))


def test_the_law_is_stationary_for_a_proper_walk() -> None:
    panel = simulate_comparisons(rng=np.random.default_rng(2), bias=norm(2, 1))
    walk = matrix(panel.comparisons, 100, 0.5)
    stationary = rank_centrality(panel.comparisons, n_items=100).parameters["stationary"]
    assert (walk > -1e-12).all()
    assert walk.sum(axis=1) == pytest.approx(np.ones(100))
    assert stationary @ walk == pytest.approx(stationary, rel=1e-9)
    assert stationary.sum() == pytest.approx(1)


def test_the_published_matrix_with_negative_loops_has_the_law_of_teleport_1() -> None:
    """Win shares plus 1 in every cell over 99, the diagonal 1 less the row: down to -0.7."""
    panel = simulate_comparisons(rng=np.random.default_rng(3), bias=norm(1, 0.1))
    wins = np.zeros((100, 100))
    np.add.at(wins, (panel.comparisons[:, 1], panel.comparisons[:, 0]), 1)
    met = wins + wins.T
    published = (np.divide(wins, met, out=np.zeros_like(wins), where=met > 0) + 1) / 99
    np.fill_diagonal(published, 0)
    np.fill_diagonal(published, 1 - published.sum(axis=1))
    assert published.diagonal().min() < -0.3
    values, vectors = np.linalg.eig(published.T)
    leading = np.abs(vectors[:, np.argmax(values.real)].real)
    fit = rank_centrality(panel.comparisons, n_items=100, smoothing=0, teleport=1)
    assert fit.scores == pytest.approx(centred(np.log(leading)), abs=1e-8)


def test_shares_of_a_bradley_terry_model_give_its_scores_exactly() -> None:
    """Items of strength 1, 2, 3 and 6 that win exactly as often as they should."""
    strength = [1, 2, 3, 6]
    pairs = [[i, j] for i in range(4) for j in range(4) if i != j for _ in range(strength[i])]
    fit = rank_centrality(pairs, smoothing=0)
    assert fit.parameters["stationary"] == pytest.approx(np.array(strength) / 12)


def test_a_long_chain_has_the_law_of_a_birth_and_death_process() -> None:
    """Neighbours only: the probability changes from item to item by the ratio of the two rates."""
    n, rng = 1500, np.random.default_rng(4)
    forward = rng.integers(1, 4, n - 1)
    up = np.repeat(np.column_stack([np.arange(1, n), np.arange(n - 1)]), forward, axis=0)
    down = np.repeat(np.column_stack([np.arange(n - 1), np.arange(1, n)]), 4 - forward, axis=0)
    fit = rank_centrality(np.vstack([up, down]), smoothing=0)
    expected = np.concatenate([[0.0], np.cumsum(np.log(forward / (4 - forward)))])
    assert fit.scores == pytest.approx(centred(expected), abs=1e-6)


def test_a_tie_is_half_a_win_for_each() -> None:
    tied = rank_centrality([[0, 1], [0, 1], [1, 2]], ties=[False, True, False])
    halves = rank_centrality([[0, 1]] * 3 + [[1, 0]] + [[1, 2]] * 2, smoothing=1.0)
    assert tied.scores == pytest.approx(halves.scores)
    assert tied.n_ties == 1


def test_the_log_likelihood_is_that_of_bradley_terry() -> None:
    pairs = cycle(8, 40, 5)
    fit = rank_centrality(pairs)
    d = fit.scores[pairs[:, 0]] - fit.scores[pairs[:, 1]]
    assert fit.log_likelihood == pytest.approx(np.log(1 / (1 + np.exp(-d))).sum())


def test_parts_never_compared_have_mean_zero_each() -> None:
    fit = rank_centrality([[0, 1], [0, 1], [3, 2]], n_items=5)
    assert fit.diagnosis.n_components == 3
    assert fit.scores[:2].sum() == pytest.approx(0)
    assert fit.scores[2:4].sum() == pytest.approx(0)
    assert fit.scores[4] == pytest.approx(0)
    # Won 2 of 2, smoothed to 2.5 of 3.
    assert fit.scores[0] - fit.scores[1] == pytest.approx(np.log(2.5 / 0.5))


def test_without_smoothing_an_undefeated_item_is_refused() -> None:
    with pytest.raises(NoPriorError, match="2 parts"):
        rank_centrality([[0, 1], [0, 1]], smoothing=0)


@pytest.mark.parametrize(
    "options",
    [{"smoothing": -1}, {"smoothing": None}, {"teleport": float("nan")}, {"smoothed": "some"}],
)
def test_impossible_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        rank_centrality([[0, 1], [1, 0]], **options)


def test_tables_that_name_items_give_the_same_scores() -> None:
    import polars

    pairs = cycle(9, 30, 6)
    names = np.array(list("abcdefghi"))
    frame = polars.DataFrame({"better": names[pairs[:, 0]], "worse": names[pairs[:, 1]]})
    fit = rank_frames(frame, model="rankcentrality", smoothing=0.2).ranking
    assert fit.scores == pytest.approx(rank_centrality(pairs, smoothing=0.2).scores)
    assert fit.items.tolist() == names.tolist()
