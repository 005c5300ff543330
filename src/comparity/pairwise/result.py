"""Frozen answers about all pairs: a matrix of accuracies by group, with two audits of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.counts.pairs import Cell
from comparity.errors.spelling import visible
from comparity.inference.gap_tests import Interval, plain
from comparity.reports.audit_tables import audit_grids, raw_and_standardised_grid
from comparity.reports.audits import gap_charts
from comparity.reports.charts import Chart
from comparity.reports.heat import HeatMap
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, count, rate, short
from comparity.results.audit import Audit, JudgedResult
from comparity.results.result import frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Matrix = NDArray[np.float64]

# A heat map of more groups than this is wider than paper as a table.
AS_TABLE = 6


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
    bound : float
        Every entry of the matrix is within this of the exact one, for certain; 0 where all are
        exact. Tables that stay on their engine may be counted by bins of scores.
    n_sampled : int
        Items that were drawn to be standardised, where all do not fit into memory; otherwise 0.
        The numbers of the standardised audit are then those of these items.
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
    bound: float = 0.0
    n_sampled: int = 0

    # The audit that decides, among what else is written.
    DERIVED: ClassVar[Mapping[str, str]] = {
        name: f"audit.{name}"
        for name in (
            *("notion", "finding", "design", "alpha", "margin", "rule", "looks", "unit"),
            *("n", "n_items", "n_evaluators", "tests", "joint_tests", "rates", "summary", "ties"),
            *("notes", "provenance"),
        )
    } | {"exact": "is_exact"}

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
    def is_exact(self) -> bool:
        """Whether the accuracies of the matrix are exact, not known up to a bound."""
        return not self.bound

    @property
    def audit(self) -> Audit:  # type: ignore[override]
        """The audit that decides: of the raw matrix for binary labels, else standardised."""
        return self.raw if self.labels == "binary" else self.standardised

    def section(self) -> Section:
        """Return a section of a report: the audit that decides, and the matrix."""
        matrices = tuple(matrix_charts(self))
        charts: tuple[Chart, ...] = tuple(gap_charts(self.audit))
        grids = tuple(_pairwise_grids(self))
        if len(self.groups) > AS_TABLE:
            charts = (*charts, *matrices)
        else:
            grids = (*(one.grid for one in matrices), *grids)
        return replace(self.audit.section(), charts=charts, grids=grids)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each entry of the matrix, as a frame of the named engine."""
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
        return draw(next(matrix_charts(self)), ax)


def matrix_charts(result: PairwiseAccuracy) -> Iterator[HeatMap]:
    """Yield the matrices as heat maps: the darker, the less scores agree with labels."""
    matrices = {"Raw": (result.matrix.tolist(), result.n_pairs.tolist())}
    if result.raw is not result.standardised:
        found = {one.of: one for one in result.standardised.rates}
        cells = [[str(Cell(better, worse)) for worse in result.groups] for better in result.groups]
        rates = [[found[of].rate if of in found else math.nan for of in row] for row in cells]
        pairs = result.n_pairs.tolist()
        if result.n_sampled:
            pairs = [[found[of].trials if of in found else 0 for of in row] for row in cells]
        matrices["Standardised"] = rates, pairs
    known = [
        value for rows, _ in matrices.values() for row in rows for value in row if value == value
    ]
    for name, (rows, pairs) in matrices.items():
        yield HeatMap(
            title=f"{name} accuracy, group of the better item (row) and of the worse (column)",
            about="the tables have all numbers",
            heading="How often scores order pairs as labels do: "
            f"{count(round(float(np.sum(pairs))))} pairs, {name.lower()}",
            under="group of the worse item",
            names=tuple(map(visible, result.groups)),
            values=tuple(map(tuple, rows)),
            cells=tuple(
                tuple(f"{rate(value)}\nn {short(n)}" for value, n in zip(*both, strict=True))
                for both in zip(rows, pairs, strict=True)
            ),
            # Half of the scale is left out where no entry is worse than a coin.
            low=0.5 if min(known, default=0.0) >= 0.5 else 0.0,
            high=1.0,
            unit="pairwise accuracy",
            beside="group of the better item",
        )


def _pairwise_grids(result: PairwiseAccuracy) -> Iterator[Grid]:
    """Yield the tables of all pairs: the deciding audit's, both matrices, marginals, notions."""
    yield from audit_grids(result.audit)
    if result.labels != "binary" and result.raw is not result.standardised:
        apart, sizes = result.imbalance, result.effective_sizes
        yield raw_and_standardised_grid(result.raw, result.standardised, apart, sizes)
    yield Grid(
        title=f"Overall accuracy {rate(result.overall)}, and by the group of one item",
        header=("group", "better item", "worse item"),
        rows=tuple(
            (visible(group), rate(row), rate(column))
            for group, row, column in zip(
                result.groups, result.row_marginals, result.column_marginals, strict=True
            )
        ),
    )
    rows = tuple((name, rate(value)) for name, value in result.notions.items())
    yield Grid(title="Notions of the raw matrix", header=("notion", "value"), rows=rows)
