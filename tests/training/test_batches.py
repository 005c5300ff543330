"""Mini-batches and arrays: rows dealt, equality with all rows, and modules called by torch."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from comparity import FairRanker, FairRegressor, NeuralNetwork
from comparity.errors import OptionError
from comparity.tables.features import labelled_items
from comparity.training import models, torch_losses
from comparity.training.comparisons import ComparisonRanker
from comparity.training.game import Constraints
from comparity.training.goals import choices_of, differences, terms_of
from comparity.training.losses import labelled_pairs
from comparity.training.rows import Scale, batches, deal, training_rows
from comparity.training.torch_game import Network, PairwiseProblem, _Player
from comparity.training.torch_losses import ModuleParameters
from tests.training.interaction import interaction

EVERYWHERE: dict[str, Any] = {"validation_fraction": 0, "random_state": 0, "progress": False}


class Small(torch.nn.Module):
    """A convolution, its means, and a line."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.seen = shape
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(shape[0], 4, 3),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(4, 1),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images)


def images(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A good one has an edge somewhere, bright or dark, and group 1 a brighter ground."""
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = 0.3 * rng.normal(size=(n, 1, 8, 8)) + 0.3 * group[:, None, None, None]
    for one in np.flatnonzero(y):
        place, size = rng.integers(0, 7), 1.5 * rng.choice([-1, 1])
        X[one, 0, :, place] += size
        X[one, 0, :, place + 1] -= size
    return X, y, group


def test_every_round_deals_each_row_once_with_even_shares() -> None:
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 200).astype(float), rng.integers(0, 2, 200)
    items = labelled_items(y, y, group)
    part = deal(items, 50, rng)
    assert np.bincount(part).tolist() == [50] * 4
    shares = np.array(
        [np.bincount(2 * group[part == one] + y[part == one].astype(int)) for one in range(4)]
    )
    assert np.ptp(shares, axis=0).max() <= 1
    assert not np.array_equal(part, deal(items, 50, rng))
    query = rng.integers(0, 30, 200)
    part = deal(labelled_items(y, y, group, queries=query), 50, rng)
    assert all(len(set(part[query == one])) == 1 for one in np.unique(query))
    assert 25 <= np.bincount(part).min() <= np.bincount(part).max() <= 75


def test_a_part_has_the_pairs_of_its_rows() -> None:
    X, y, group = interaction(120, seed=0)
    items = labelled_items(y, y, group)
    scale = Scale(centre=np.zeros(3), unit=np.ones(3))
    rows = training_rows(X, items, np.arange(120), scale, choices_of())
    kept, part = next(batches(rows, choices_of(), 40, np.random.default_rng(0)))
    scores = X[kept, 2]
    alone = labelled_pairs(y[kept].astype(float), group[kept], ("0", "1")).sums(scores)
    assert part.accuracy(scores) == pytest.approx(alone.accuracy)


def test_a_batch_of_all_rows_is_no_batch() -> None:
    X, y, group = interaction(150, seed=1)
    # Without a goal the last model, which has seen most, is the best.
    how: dict[str, Any] = {"goal": None, "steps": 15, **EVERYWHERE}
    scores = [
        FairRanker(scorer=NeuralNetwork(batch_size=size), **how).fit(X, y, group).predict(X)
        for size in (None, 150, 40)
    ]
    assert np.array_equal(scores[0], scores[1])
    assert not np.allclose(scores[0], scores[2])


def test_a_kind_of_pair_that_a_batch_lacks_is_not_missed() -> None:
    X, y, group = interaction(40, seed=2)
    scale, choices = Scale(centre=np.zeros(3), unit=np.ones(3)), choices_of(slack=0.02)
    items = labelled_items(y, y, group)
    rows = training_rows(X, items, np.arange(40), scale, choices)
    terms = terms_of("cross-group", rows.pairs, None, ("0", "1"), rows="all")
    network = NeuralNetwork().build(3)
    player = _Player(network, Network(NeuralNetwork().build, X), rows, choices, None)
    # Group 1 has no bad item here: no pair has a better item of group 0 and a worse one of 1.
    kept = np.flatnonzero((group == 0) | (y == 1))
    part = training_rows(X, items, kept, scale, choices)
    problem = PairwiseProblem(player, Constraints(differences([terms])[0], 0.02))
    for parts, lacks in (([(kept, part)], True), ([(slice(None), rows)], False)):
        player._parts = iter(parts)
        (state,) = problem.compute_cmp_state().observed_constraints.values()
        assert bool((state.strict_violation == 0).all()) is lacks
        assert bool((state.violation == 0).all()) is lacks


def test_batches_learn_what_all_rows_teach() -> None:
    train, test = interaction(1200, seed=3), interaction(4000, seed=4)
    network = NeuralNetwork(batch_size=300)
    model = FairRanker(scorer=network, slack=0.03, steps=250, polish=False, random_state=0)
    model.fit(*train)
    assert model.score(test[0], test[1]) > 0.85
    assert model.training_.feasible


@pytest.mark.parametrize("raw", [False, True])
def test_a_module_is_given_arrays_in_their_shape(raw: bool) -> None:
    """Witness: the module itself, called by torch on what it should get."""
    X, y, group = images(120, seed=0)
    X = 100 + 20 * X
    network = NeuralNetwork(module=Small, raw=raw, batch_size=60)
    model = FairRanker(scorer=network, slack=0.2, steps=8, **EVERYWHERE).fit(X, y, group)
    given = X if raw else (X - X.mean(axis=0)) / X.std(axis=0)
    module = Small((1, 8, 8)).double()
    state = {name: torch.as_tensor(one) for name, one in model.model_.state.items()}
    module.load_state_dict(state)
    with torch.no_grad():
        expected = module(torch.as_tensor(given)).numpy().ravel()
    assert model.predict(X) == pytest.approx(expected)
    assert pickle.loads(pickle.dumps(model)).predict(X[:3]) == pytest.approx(expected[:3])
    member = model.stochastic_.predict(X, 0)
    assert member.shape == (120,)
    with pytest.raises(ValueError, match="64 features"):
        model.predict(X[:, :, :4])


@pytest.mark.long
def test_a_small_convolution_finds_what_no_line_can_and_keeps_the_goal() -> None:
    """Edges are anywhere, so that no pixel tells; the ground, which leans, does not help."""
    train, test = images(400, seed=1), images(1500, seed=2)
    network = NeuralNetwork(module=Small, raw=True, batch_size=200)
    model = FairRanker(scorer=network, slack=0.05, steps=80, polish=False, random_state=0)
    model.fit(*train)
    line = FairRanker(slack=0.05, steps=20, polish=False, random_state=0)
    line.fit(train[0].reshape(400, -1), *train[1:])
    assert model.score(test[0], test[1]) > 0.9
    assert line.score(test[0].reshape(1500, -1), test[1]) < 0.7
    # A group has about 375 items of either label: a difference has a standard error of about 0.02.
    assert model.score(test[0], test[1], sensitive_features=test[2]) > 0.9 - 5 * 0.08


def test_the_way_back_in_parts_is_that_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, _ = images(50, seed=3)
    state = {name: one.numpy() for name, one in Small((1, 8, 8)).double().state_dict().items()}
    slope, found = np.random.default_rng(0).normal(size=50), []
    for size in (4096, 7):
        for module in (models, torch_losses):
            monkeypatch.setattr(module, "ROWS_AT_A_TIME", size)
        whole = ModuleParameters(lambda shape: Small(shape).double(), state, X, 0.1)
        scores = whole.scores(whole.start)
        assert next(models.call_module(Small, [state], X)) == pytest.approx(scores)
        found.append((scores, whole.pull_back(whole.start, slope)))
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize(
    ("scorer", "wanted"),
    [
        (NeuralNetwork(raw=True), "beside module="),
        (NeuralNetwork(batch_size=1), "from 2 on"),
        (NeuralNetwork(batch_size="all"), "from 2 on"),
    ],
)
def test_odd_choices_are_refused(scorer: NeuralNetwork, wanted: str) -> None:
    X, y, group = interaction(40, seed=5)
    with pytest.raises(OptionError, match=wanted):
        FairRegressor(scorer=scorer).fit(X, y, group)


def test_judged_pairs_are_not_parted_and_lines_take_no_arrays() -> None:
    X, _, _ = interaction(40, seed=6)
    judged = np.column_stack([np.arange(20), np.arange(20, 40)])
    ranker = ComparisonRanker(scorer=NeuralNetwork(batch_size=8), goal=None, steps=2)
    with pytest.raises(OptionError, match="all at once"):
        ranker.fit(X, judged)
    with pytest.raises(ValueError, match="dim 4"):
        FairRanker().fit(*images(40, seed=0))
