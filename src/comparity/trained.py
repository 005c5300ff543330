"""A trained score: what training came to, and audits of rows it never saw, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from comparity.matrices import PairwiseAccuracy
from comparity.trainings import Training

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

__all__ = ["TrainedScorer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedScorer:
    """What the command that trains did.

    Attributes
    ----------
    output : str
        The model file.
    coefficients : mapping of str to float
        Of the features, in their units.
    training : Training
        What was asked, and what came out on the rows chosen by.
    before, after : PairwiseAccuracy
        Audits of a model without a goal and of the trained one, on rows that neither saw.
    rows : mapping of str to int
        Rows given to training, and rows audited.
    seed : int
        Of whatever was drawn at random.
    """

    output: str
    coefficients: Mapping[str, float]
    training: Training
    before: PairwiseAccuracy
    after: PairwiseAccuracy
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

    def __rich__(self) -> RenderableType:
        from comparity.reporting.terminal import view

        return view(self)

    def __str__(self) -> str:
        from comparity.reporting.terminal import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from comparity.reporting.html import fragment

        return fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "finding": self.finding,
            "output": self.output,
            "seed": self.seed,
            "rows": dict(self.rows),
            "coefficients": dict(self.coefficients),
            "training": self.training.to_dict(),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each kind of pair, with its accuracy before and after."""
        from comparity.reporting.frames import frame_of_rows

        rows = [
            {
                "better": better,
                "worse": worse,
                "before": float(self.before.matrix[i, j]),
                "after": float(self.after.matrix[i, j]),
            }
            for i, better in enumerate(self.after.groups)
            for j, worse in enumerate(self.after.groups)
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix after training as a heat map."""
        return self.after.plot(ax)
