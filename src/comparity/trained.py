"""A trained score: what training came to, and audits of rows it never saw, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.matrices import PairwiseAccuracy
from comparity.results import Audit
from comparity.showing import Shown, listed, plain
from comparity.trainings import Training

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ScorerAudit", "TrainedScorer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerAudit:
    """What audits say of a score, of what its training was asked for.

    Attributes
    ----------
    finding : str
        Of all tests that decide.
    exit_status : int
        What a command returns to the shell.
    accuracy : PairwiseAccuracy
        Over pairs that labels imply; it decides unless statistical parity alone was asked for.
    parity : Audit or None
        Over pairs of groups, whatever their labels, where that was asked for.
    """

    finding: str
    exit_status: int
    accuracy: PairwiseAccuracy
    parity: Audit | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; the matrix and its tests come first."""
        found = {**self.accuracy.to_dict(), "finding": self.finding}
        return found | ({"parity": self.parity.to_dict()} if self.parity else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedScorer(Shown):
    """What the command that trains did.

    Attributes
    ----------
    output : str
        The model file.
    coefficients : mapping of str to float
        Of the features, in their units; empty where the score is not linear.
    training : Training
        What was asked, and what came out on the rows chosen by.
    before, after : ScorerAudit
        Audits of a model without a goal and of the trained one, on rows that neither saw.
    rows : mapping of str to int
        Rows given to training, and rows audited.
    seed : int
        Of whatever was drawn at random.
    """

    output: str
    coefficients: Mapping[str, float]
    training: Training
    before: ScorerAudit
    after: ScorerAudit
    rows: Mapping[str, int]
    seed: int

    @property
    def finding(self) -> str:
        """The finding of the audit after training."""
        return self.after.finding

    @property
    def exit_status(self) -> int:
        """What a command returns to the shell: that of the audit after training."""
        return self.after.exit_status

    @property
    def overall_change(self) -> float:
        """Accuracy over all pairs after training less that before."""
        return self.after.accuracy.overall - self.before.accuracy.overall

    @property
    def changes(self) -> NDArray[np.float64]:
        """Accuracy of every kind of pair after training less that before."""
        return self.after.accuracy.matrix - self.before.accuracy.matrix

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "finding": self.finding,
            "output": self.output,
            "seed": self.seed,
            "rows": dict(self.rows),
            "coefficients": {name: float(one) for name, one in self.coefficients.items()},
            "training": self.training.to_dict(),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "change": {"overall": plain(self.overall_change), "matrix": listed(self.changes)},
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each kind of pair, with its accuracy before and after."""
        from comparity.reporting.frames import frame_of_rows

        before, after = self.before.accuracy, self.after.accuracy
        rows = [
            {
                "better": better,
                "worse": worse,
                "before": float(before.matrix[i, j]),
                "after": float(after.matrix[i, j]),
            }
            for i, better in enumerate(after.groups)
            for j, worse in enumerate(after.groups)
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix after training as a heat map."""
        return self.after.accuracy.plot(ax)
