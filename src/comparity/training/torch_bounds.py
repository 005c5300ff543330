"""Pairwise losses as a torch function.

``pairwise_bounds`` gives the mean losses of wrong and of right orders of every cell as tensors
that torch can differentiate, and the accuracies themselves as tensors that it cannot. Forward and
backward pass each cost about a sort of the scores; no pair is ever listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd.function import once_differentiable

from comparity.errors import NonFiniteScoreError, OptionError
from comparity.tables.values import rows_of
from comparity.training.losses import PairFamily

Floats = NDArray[np.float64]


class CellBounds(NamedTuple):
    """What scores make of the pairs of each cell, as tensors.

    Attributes
    ----------
    wrong, right : Tensor, (C,)
        Mean loss of a wrong order and of a right one; 0 without pairs.
    accuracy : Tensor, (C,)
        Share of pairs in the right order, which has no gradient; 0 without pairs.
    """

    wrong: torch.Tensor
    right: torch.Tensor
    accuracy: torch.Tensor


class _PairwiseBounds(torch.autograd.Function):
    """Losses of all pairs of some families, and the way back to the scores."""

    @staticmethod
    def forward(
        ctx: Any, scores: torch.Tensor, families: Sequence[PairFamily], margin: float, squared: bool
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        ctx.save_for_backward(scores)
        ctx.families, ctx.how = families, {"margin": margin, "squared": squared}
        found = [family.sums(_numbers(scores), both=True, **ctx.how) for family in families]
        # Nothing rests on a cell without pairs.
        rates = np.nan_to_num(np.hstack([(one.wrong, one.right, one.accuracy) for one in found]))
        wrong, right, accuracy = (torch.as_tensor(row).to(scores) for row in rates)
        ctx.mark_non_differentiable(accuracy)
        return wrong, right, accuracy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        (scores,) = ctx.saved_tensors
        values, start = _numbers(scores), 0
        wrong, right = (_numbers(slope) for slope in slopes[:2])
        gradient = np.zeros(len(values))
        for family in ctx.families:
            cells = slice(start, start + len(family.cells))
            gradient += family.sums(
                values, wrong=wrong[cells], right=right[cells], **ctx.how
            ).gradient
            start = cells.stop
        return torch.as_tensor(gradient).to(scores), None, None, None


def _numbers(tensor: torch.Tensor) -> Floats:
    return tensor.detach().to("cpu", torch.float64).numpy()


def pairwise_bounds(
    scores: torch.Tensor, *families: PairFamily, margin: float = 1.0, squared: bool = False
) -> CellBounds:
    """Return the losses of all pairs, by cell, for torch to differentiate.

    Parameters
    ----------
    scores : Tensor, (n,)
        Finite scores of all rows, in any floating precision, on any device; they are summed up in
        double precision.
    *families : PairFamily
        The pairs, as :func:`comparity.training.losses.labelled_pairs` lays them out.
    margin, squared
        Of the hinge, see :meth:`comparity.training.losses.PairFamily.sums`.

    Raises
    ------
    OptionError, NonFiniteScoreError
        Scores are not one floating number for each row, or not finite.

    Examples
    --------
    >>> from comparity.training.losses import labelled_pairs
    >>> y, group = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 1, 0, 1])
    >>> scores = torch.tensor([0.0, 0.5, 0.25, 2.0], requires_grad=True)
    >>> bounds = pairwise_bounds(scores, labelled_pairs(y, group, ("a", "b")))
    >>> bounds.accuracy.tolist(), bounds.wrong.tolist()
    ([1.0, 0.0, 1.0, 1.0], [0.75, 1.25, 0.0, 0.0])
    >>> bounds.wrong[1].backward()
    >>> scores.grad.tolist()
    [0.0, 1.0, -1.0, 0.0]
    """
    _check_scores(scores, families)
    found = _PairwiseBounds.apply(scores, families, margin, squared)  # type: ignore[no-untyped-call]
    return CellBounds(*found)


def _check_scores(scores: torch.Tensor, families: Sequence[PairFamily]) -> None:
    """Refuse scores that are not one finite number for each row: sums would not show it."""
    rows = {family.n_rows for family in families} - {None}
    right = scores.ndim == 1 and scores.is_floating_point()
    if not right or not families or rows - {len(scores)}:
        shape = f"{scores.dtype} of shape {tuple(scores.shape)}"
        many = " or ".join(f"{n:,}" for n in sorted(filter(None, rows))) or "n"
        wanted = f"pairs, and a floating tensor of shape ({many},)"
        raise OptionError("scores", shape, [wanted])
    lost = ~np.isfinite(_numbers(scores))
    if lost.any():
        raise NonFiniteScoreError("scores", "tensor", rows_of(lost))
