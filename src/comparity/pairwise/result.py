"""Frozen answers about all pairs: a matrix of accuracies by group, with two audits of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.inference.gap_tests import Interval, listed, plain
from comparity.results.audit import Audit
from comparity.results.result import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PairwiseAccuracy", "PanelAudit"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairwiseAccuracy(Shown):
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
        Of the matrix over items weighted so that labels have the same law in every group. With
        binary labels both matrices agree, and so do the audits.
    effective_sizes : mapping of str to float
        What the items of each group are worth after weighting.
    imbalance : float
        How far the weighted label laws of two groups are still apart.
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

    @property
    def audit(self) -> Audit:
        """The audit that decides: of the raw matrix for binary labels, else standardised."""
        return self.raw if self.labels == "binary" else self.standardised

    @property
    def finding(self) -> str:
        """The finding of the audit that decides."""
        return self.audit.finding

    @property
    def tests(self) -> tuple[Any, ...]:
        """The tests of the audit that decides."""
        return self.audit.tests

    @property
    def exit_status(self) -> int:
        """What a command that made this audit returns to the shell."""
        return self.audit.exit_status

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; the deciding audit's fields come first."""
        return {
            **self.audit.to_dict(),
            "labels": self.labels,
            "groups": list(self.groups),
            "matrix": listed(self.matrix),
            "n_pairs": listed(self.n_pairs),
            "score_ties": listed(self.score_ties),
            "overall": plain(self.overall),
            "overall_interval": [plain(end) for end in self.overall_interval[:2]],
            "row_marginals": listed(self.row_marginals),
            "column_marginals": listed(self.column_marginals),
            "covariance": listed(self.covariance),
            "notions": {name: plain(value) for name, value in self.notions.items()},
            "effective_sizes": {name: plain(n) for name, n in self.effective_sizes.items()},
            "imbalance": plain(self.imbalance),
            "raw": self.raw.to_dict(),
            "standardised": self.standardised.to_dict(),
        }

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
        from comparity.pairwise.section import plot_matrix

        return plot_matrix(self, ax)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PanelAudit(Shown):
    """An audit of all pairs against a panel's scores, whose error is carried into every test.

    Attributes
    ----------
    audit : Audit
        The audit that decides.
    at_face_value : PairwiseAccuracy
        The same if the panel's scores were the truth: the matrix, and audits without their error.
    reversals : ndarray, (K, K)
        Share of pairs expected to be the other way round in truth, by the groups of the item the
        panel puts higher and of the other one.
    shift_errors : mapping of str to float
        Standard error of the level of each group in the panel's scores.
    allowances : tuple of float
        How far the errors of single items may have moved each gap.
    draws, seed : int
        How often errors were drawn to see that, and from which seed.
    """

    audit: Audit
    at_face_value: PairwiseAccuracy
    reversals: Matrix
    shift_errors: Mapping[str, float]
    allowances: tuple[float, ...]
    draws: int
    seed: int

    @property
    def finding(self) -> str:
        """The finding of the audit that decides."""
        return self.audit.finding

    @property
    def tests(self) -> tuple[Any, ...]:
        """The tests of the audit that decides."""
        return self.audit.tests

    @property
    def exit_status(self) -> int:
        """What a command that made this audit returns to the shell."""
        return self.audit.exit_status

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; the deciding audit's fields come first."""
        return {
            **self.audit.to_dict(),
            "reversals": listed(self.reversals),
            "shift_errors": {name: plain(h) for name, h in self.shift_errors.items()},
            "allowances": [plain(allowance) for allowance in self.allowances],
            "draws": self.draws,
            "seed": self.seed,
            "at_face_value": self.at_face_value.to_dict(),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each test, as a frame of the named engine."""
        return self.audit.to_frame(backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every gap with the interval it was judged by and the margin."""
        return self.audit.plot(ax)
