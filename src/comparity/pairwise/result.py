"""Frozen answers about all pairs: a matrix of accuracies by group, with two audits of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.inference.gap_tests import Interval, plain
from comparity.results.audit import Audit, JudgedResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

__all__ = ["PairwiseAccuracy"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairwiseAccuracy(JudgedResult):
    """How often scores order pairs as labels do, by the groups of the better and the worse item.

    Attributes
    ----------
    groups : tuple of str
        Rows and columns of the matrix.
    matrix : ndarray, (K, K)
        Row: group of the better item; column: group of the worse one. ``nan`` without pairs.
    n_pairs, score_ties : ndarray, (K, K)
        Pairs behind each entry, whatever they weigh, and how many of them have equal scores.
    overall : float
        Accuracy over all pairs, those of items in no group included: the AUC for binary labels.
    overall_interval : Interval
        95 % interval of it.
    row_marginals, column_marginals : ndarray, (K,)
        Accuracy where the better, or the worse, item is of the group, whatever the other.
    covariance : ndarray, (K * K, K * K)
        Of the entries of the matrix, row by row.
    notions : mapping of str to float
        Published single numbers that follow from the matrix.
    labels : str
        ``"binary"``, ``"ordinal"`` or ``"continuous"``.
    raw : Audit
        Of the matrix as it is.
    standardised : Audit
        Of the matrix over items weighted so that labels have the same distribution in every group.
        With binary labels both matrices agree, and so do the audits.
    effective_sizes : mapping of str to float
        What the items of each group are worth after weighting.
    imbalance : float
        How far the weighted label distributions of two groups are still apart.
    """

    groups: tuple[str, ...]
    matrix: Matrix
    n_pairs: Matrix
    score_ties: Matrix
    overall: float
    overall_interval: Interval
    row_marginals: Matrix
    column_marginals: Matrix
    covariance: Matrix
    notions: Mapping[str, float]
    labels: str
    raw: Audit
    standardised: Audit
    effective_sizes: Mapping[str, float] = field(default_factory=dict)
    imbalance: float = 0.0

    # The audit that decides, among what else is written.
    DERIVED: ClassVar[Mapping[str, str]] = {
        name: f"audit.{name}"
        for name in (
            *("notion", "finding", "design", "alpha", "margin", "rule", "looks", "unit"),
            *("n", "n_items", "n_evaluators", "tests", "joint_tests", "rates", "summary", "ties"),
            *("notes", "provenance"),
        )
    }

    def __post_init__(self) -> None:
        k = len(self.groups)
        if self.matrix.shape != (k, k) or self.covariance.shape != (k * k, k * k):
            raise ValueError(f"a matrix that is not of {k} groups")
        if not np.isfinite(self.n_pairs).all():
            raise ValueError("pairs that were not counted")
        # Two audits that say the same are one, and are shown once.
        if self.raw == self.standardised:
            object.__setattr__(self, "standardised", self.raw)

    @property
    def audit(self) -> Audit:  # type: ignore[override]
        """The audit that decides: of the raw matrix for binary labels, else standardised."""
        return self.raw if self.labels == "binary" else self.standardised

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.pairwise.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each entry of the matrix, as a frame of the named engine."""
        from comparity.reports.frames import frame_of_rows

        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0)).reshape(self.matrix.shape)
        rows = [
            {
                "better": better,
                "worse": worse,
                "accuracy": plain(self.matrix[i, j]),
                "standard_error": plain(errors[i, j]),
                "pairs": plain(self.n_pairs[i, j]),
                "score_ties": plain(self.score_ties[i, j]),
            }
            for i, better in enumerate(self.groups)
            for j, worse in enumerate(self.groups)
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix as a heat map."""
        from comparity.pairwise.section import matrix_charts
        from comparity.reports.plots import draw

        return draw(next(matrix_charts(self)), ax)
