"""Pairwise losses in torch: against finite differences and against pairs listed one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from comparity.errors import NonFiniteScoreError, OptionError
from comparity.training.losses import attribute_pairs, group_pairs, labelled_pairs
from comparity.training.torch_losses import pairwise_bounds

POWERS = pytest.mark.parametrize("squared", [False, True])


def table(n: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, n).astype(float), rng.integers(0, 2, n), rng.normal(size=n)


@POWERS
def test_gradients_equal_finite_differences(squared: bool) -> None:
    """Witness: torch.autograd.gradcheck, over three kinds of pairs at once."""
    y, group, f = table()
    families = (
        labelled_pairs(y, group, ("a", "b")),
        group_pairs(group, ("a", "b")),
        attribute_pairs(y, np.sin(np.arange(24))),
    )
    scores = torch.tensor(f, requires_grad=True)

    def losses(scores: torch.Tensor) -> torch.Tensor:
        found = pairwise_bounds(scores, *families, margin=0.8, squared=squared)
        return torch.cat([found.wrong, found.right])

    assert torch.autograd.gradcheck(losses, scores)


@POWERS
def test_values_and_gradients_equal_those_of_pairs_listed_in_torch(squared: bool) -> None:
    y, group, f = table(40, seed=1)
    fast, slow = (torch.tensor(f, requires_grad=True) for _ in range(2))
    found = pairwise_bounds(fast, labelled_pairs(y, group, ("a", "b")), squared=squared)
    wrong, right, accuracy = [], [], []
    for a, b in product((0, 1), repeat=2):
        better, worse = np.nonzero((y[:, None] > y) & (group[:, None] == a) & (group[None, :] == b))
        apart = slow[better] - slow[worse]
        wrong.append(torch.relu(1 - apart).pow(2 if squared else 1).mean())
        right.append(torch.relu(1 + apart).pow(2 if squared else 1).mean())
        accuracy.append((apart > 0).double().mean())
    weights = torch.tensor([0.3, 1.0, -0.5, 2.0], dtype=torch.float64)
    for one, other in zip(found, (wrong, right, accuracy), strict=True):
        assert torch.allclose(one, torch.stack(other))
    (weights @ found.wrong + weights.flip(0) @ found.right).backward()
    (weights @ torch.stack(wrong) + weights.flip(0) @ torch.stack(right)).backward()
    assert torch.allclose(fast.grad, slow.grad)


def test_accuracies_have_no_gradient_and_numbers_keep_their_type() -> None:
    y, group, f = table()
    scores = torch.tensor(f, dtype=torch.float32, requires_grad=True)
    found = pairwise_bounds(scores, labelled_pairs(y, group, ("a", "b")))
    assert found.wrong.requires_grad
    assert not found.accuracy.requires_grad
    found.wrong.sum().backward()
    assert found.wrong.dtype == scores.grad.dtype == torch.float32


def test_a_cell_without_pairs_loses_nothing() -> None:
    y, group, f = table()
    family = labelled_pairs(y, np.zeros_like(group), ("a", "nobody"))
    found = pairwise_bounds(torch.tensor(f, requires_grad=True), family)
    assert found.wrong[1:].tolist() == found.accuracy[1:].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("scores", "error", "said"),
    [
        (torch.zeros(4, 1), OptionError, r"shape \(4, 1\)"),
        (torch.zeros(5), OptionError, r"shape \(4,\)"),
        (torch.zeros(4, dtype=torch.int64), OptionError, "int64"),
        (torch.tensor([0.0, torch.nan, 0.0, 0.0]), NonFiniteScoreError, "data row 2"),
        (torch.tensor([0.0, 0.0, torch.inf, 0.0]), NonFiniteScoreError, "data row 3"),
    ],
)
def test_scores_whose_sums_would_mean_nothing_are_refused(
    scores: torch.Tensor, error: type[Exception], said: str
) -> None:
    pairs = labelled_pairs(np.array([0.0, 1, 0, 1]), np.array([0, 0, 1, 1]), ("a", "b"))
    with pytest.raises(error, match=said):
        pairwise_bounds(scores, pairs)
