"""What is learned from and tested on: rows, how they are split, and how scores are judged."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity import pairwise_accuracy
from comparity.cli.published import one_run_away
from comparity.counts.query_pairs import query_counts
from comparity.errors import InfeasibleGoalWarning
from comparity.pairwise.result import PairwiseAccuracy

__all__ = ["Mixture", "Task", "Tested", "across", "apart", "averages", "deviations", "everywhere"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Columns = dict[str, list[float]]


class Mixture(NamedTuple):
    """Scores of the rows by each member of a mixture, and how often each is drawn."""

    scores: list[Floats]
    probabilities: Floats


class Tested(NamedTuple):
    """What a mixture achieves on average.

    Attributes
    ----------
    matrix : ndarray, (K, K)
        Accuracies by cell.
    accuracy : float
        Over all pairs.
    marginals : ndarray, (K,)
        By the group of the better item.
    squared_error : float
        Where labels are predicted.
    """

    matrix: Floats
    accuracy: float
    marginals: Floats
    squared_error: float = float("nan")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """Rows to learn a score from.

    Attributes
    ----------
    features : ndarray, (n, p)
    label : ndarray, (n,)
    sensitive : ndarray, (n,)
        The group, or a number where `continuous`.
    query : ndarray, (n,), optional
    continuous : bool
    """

    features: Floats
    label: Floats
    sensitive: NDArray[Any]
    query: Codes | None = None
    continuous: bool = False

    def rows(self, kept: NDArray[Any]) -> Task:
        """Return some of the rows."""
        return Task(
            features=self.features[kept],
            label=self.label[kept],
            sensitive=self.sensitive[kept],
            query=None if self.query is None else self.query[kept],
            continuous=self.continuous,
        )

    def split(self, rng: np.random.Generator, share: float = 0.75) -> tuple[Task, Task]:
        """Return rows to train on and to choose by, and rows to test: whole queries if any."""
        unit = np.arange(len(self.label)) if self.query is None else self.query
        known = rng.permutation(np.unique(unit))
        first = np.isin(unit, known[: round(share * len(known))])
        return self.rows(first), self.rows(~first)

    def fitted(self, estimator: Any, sample_weight: Floats | None = None) -> Any:
        """Train on these rows."""
        with warnings.catch_warnings():
            # Held-out rows are few: what keeps the goal elsewhere may miss it there.
            warnings.simplefilter("ignore", InfeasibleGoalWarning)
            return estimator.fit(
                self.features,
                self.label,
                sensitive_features=self.sensitive,
                queries=self.query,
                sample_weight=sample_weight,
            )

    def scored(self, model: Any) -> Mixture:
        """Return the scores of these rows by a trained model."""
        members = model.stochastic_
        scores = [members.predict(self.features, member) for member in range(len(members))]
        return Mixture(scores, members.probabilities)

    def tested(self, mixture: Mixture) -> Tested:
        """Judge scores of these rows, query by query where there are queries, as the paper does."""
        audits = [self._audit(scores) for scores in mixture.scores]
        shares = mixture.probabilities
        errors = [float(((scores - self.label) ** 2).mean()) for scores in mixture.scores]
        return Tested(
            np.tensordot(shares, [audit.matrix for audit in audits], axes=1),
            float(shares @ [audit.overall for audit in audits]),
            np.tensordot(shares, [self._marginals(scores) for scores in mixture.scores], axes=1),
            float(shares @ errors),
        )

    def _audit(self, scores: Floats) -> PairwiseAccuracy:
        return pairwise_accuracy(
            self.label,
            scores,
            sensitive_features=self.sensitive,
            queries=self.query,
            average="pairs" if self.query is None else "queries",
            continuous=self.continuous,
        )

    def _marginals(self, scores: Floats) -> Floats:
        """Return accuracies by the group of the better item, over all pairs."""
        if self.continuous:
            return np.full(1, np.nan)
        query = np.zeros(len(scores), dtype=np.int64) if self.query is None else self.query
        names, group = np.unique(self.sensitive, return_inverse=True)
        trials, hits, _ = query_counts(self.label, scores, group, len(names), query)
        found: Floats = hits.sum(axis=1) / trials.sum(axis=1)
        return found


def across(found: Tested) -> float:
    """Return the difference of the two accuracies across groups, or along a number."""
    return float(abs(found.matrix[0, 1] - found.matrix[1, 0]))


def everywhere(found: Tested) -> float:
    """Return the larger of the differences across and within two groups."""
    return max(across(found), float(abs(found.matrix[0, 0] - found.matrix[1, 1])))


def apart(found: Tested) -> float:
    """Return the largest difference of two marginals."""
    return float(np.ptp(found.marginals))


def averages(found: Mapping[str, Columns]) -> dict[str, dict[str, float]]:
    """Return means over runs, by row and column."""
    return {
        row: {column: float(np.mean(values)) for column, values in columns.items()}
        for row, columns in found.items()
    }


def deviations(found: Mapping[str, Columns]) -> dict[str, dict[str, float]]:
    """Return standard deviations of one run, by row and column."""
    return {
        row: {
            column: float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            for column, values in columns.items()
        }
        for row, columns in found.items()
    }


def coin(column: str) -> float:
    """Return what a number would be by the toss of a coin: 0.5 for accuracies, 0 for violations."""
    return 0.5 if "AUC" in column or ">" in column or "<" in column else 0.0


def one_run_by_row(found: Mapping[str, Columns]) -> dict[str, float]:
    """Return by how many standard deviations one further run may differ, by row."""
    return {
        row: one_run_away(min(len(values) for values in columns.values()))
        for row, columns in found.items()
    }
