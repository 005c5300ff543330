"""How good a model is to a search: its accuracy, minus a penalty where it misses a goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.metrics import r2_score
from sklearn.utils.metadata_routing import MetadataRequest

from comparity.errors import OptionError
from comparity.errors.fits import MissingSensitiveError
from comparity.tables.features import NAMES, LabelledItems, labelled_items
from comparity.tables.typing import Attributes, Column, Matrix
from comparity.tables.values import as_array, check_lengths, group_codes, numbers
from comparity.training.candidates import goal_terms
from comparity.training.feature_checks import sensitive_column, weigh_rows
from comparity.training.goals import Choices, check_number, choices_of, largest_difference
from comparity.training.losses import labelled_pairs
from comparity.training.rows import Scale, training_rows

Floats = NDArray[np.float64]
Given = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalScore:
    r"""Score models for a search: accuracy, minus a penalty beyond a slack.

    .. math:: A - \pi \max(0, D - \epsilon)

    with :math:`A` the share of pairs that predictions order as labels do (of a regressor
    :math:`R^2`), and :math:`D` the largest difference that the goal speaks of, both on the rows
    given: in a search, those that the model was not trained on. Among models that keep the slack
    the most accurate one wins. The slack is the same for all models, whatever slack each was
    trained with, so that a search over ``slack`` does not prefer the widest one.

    Parameters
    ----------
    slack : float
        :math:`\epsilon`, the largest difference that costs nothing.
    goal, continuous, no_group
        As in :class:`comparity.FairRanker`.
    penalty : float
        :math:`\pi`. With 5, a difference one point beyond the slack costs as much as five points
        of accuracy. It must exceed what a point of difference is worth in accuracy.

    average, pair_weight : str
        How pairs count, as in :class:`comparity.FairRanker`.

    Notes
    -----
    Pass it as ``scoring=`` of a search or of ``cross_validate``, with scikit-learn's metadata
    routing switched on: it asks for ``sensitive_features``, and for ``queries`` and
    ``sample_weight`` where these are given. Or call it on a fitted model, as in the example.

    Examples
    --------
    >>> from comparity import FairRanker
    >>> rng = np.random.default_rng(0)
    >>> group, y = rng.integers(0, 2, 1000), rng.integers(0, 2, 1000)
    >>> X = np.column_stack([y + 1.5 * group, y]) + rng.normal(size=(1000, 2))
    >>> worth = GoalScore(slack=0.05)
    >>> for goal in (None, "cross-group"):
    ...     ranker = FairRanker(goal=goal, slack=0.05, steps=50, random_state=0)
    ...     ranker = ranker.fit(X, y, sensitive_features=group)
    ...     worth(ranker, X, y, sensitive_features=group) > 0.6
    False
    True
    """

    slack: float = 0.01
    goal: str | tuple[str, ...] | None = "cross-group"
    penalty: float = 5.0
    continuous: bool = False
    no_group: Any = None
    average: str = "pairs"
    pair_weight: str = "equal"

    def __post_init__(self) -> None:
        check_number("penalty", self.penalty, low=0)
        self._choices()

    def _choices(self) -> Choices:
        names = ("goal", "slack", "continuous", "average", "pair_weight")
        return choices_of(**{name: getattr(self, name) for name in names})

    def __call__(
        self,
        estimator: Any,
        X: Matrix,
        y: Column,
        sensitive_features: Attributes | None = None,
        queries: Column | None = None,
        sample_weight: Column | None = None,
    ) -> float:
        """Return the score of a fitted model; larger is better, at most 1.

        Parameters
        ----------
        estimator : FairRanker, FairRegressor, or a pipeline that ends in one
            Or any other model whose ``predict`` returns numbers to order items by.
        X, y, sensitive_features, queries, sample_weight
            As for ``fit``.

        Raises
        ------
        MissingSensitiveError
            There is a goal, and no groups were passed.
        EmptyCellError
            The rows given have no pair of a kind that the goal compares.
        """
        column = None if sensitive_features is None else sensitive_column(sensitive_features)
        moved = getattr(estimator, "adjustment_", None) is not None
        known = {"sensitive_features": column} if moved else {}
        label, scores = numbers(as_array(y, "y"), "y", "item"), estimator.predict(X, **known)
        check_lengths({"y": label, "X": scores})
        columns = {"queries": queries, "sensitive_features": column}
        scores, given = weigh_rows(scores, label, columns, sample_weight)
        accuracy = _r_squared if is_regressor(estimator) else self._pairs_in_order
        beyond = self._difference(scores, given) - self.slack if self.goal else 0.0
        return accuracy(scores, given) - self.penalty * max(0.0, beyond)

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask scikit-learn for groups, queries and weights."""
        asked = MetadataRequest(owner=type(self).__name__)
        for name in ("sensitive_features", "queries", "sample_weight"):
            asked.score.add_request(param=name, alias=True)
        return asked

    def _pairs_in_order(self, scores: Floats, given: Given) -> float:
        """Return the share of pairs ordered as labels say; ``nan`` where no two labels differ."""
        nobody = np.zeros(len(scores), dtype=np.int64)
        how: dict[str, Any] = {"average": self.average, "pair_weight": self.pair_weight}
        how |= {"query": query_codes(given.get("queries")), "weights": given.get("sample_weight")}
        return float(labelled_pairs(given["y"], nobody, ("all",), **how).sums(scores).accuracy[0])

    def _difference(self, scores: Floats, given: Given) -> float:
        """Return the largest difference that the goal speaks of."""
        if "sensitive_features" not in given:
            raise MissingSensitiveError(self.goal, scored=True)
        items = labelled_items(
            given["y"],
            scores,
            given["sensitive_features"],
            queries=given.get("queries"),
            weights=given.get("sample_weight"),
            continuous=self.continuous,
            no_group=self.no_group,
            names={**NAMES, "label": "y", "score": "predictions"},
        )
        choices = self._choices()
        check_averaged(self.average, items)
        n, none = len(scores), np.zeros(0)
        scale = Scale(centre=none, unit=none)
        rows = training_rows(np.zeros((n, 0)), items, np.arange(n), scale, choices)
        terms = goal_terms(rows, items.groups, choices, name="scored")
        # No goal rests on a cell without pairs.
        return largest_difference(terms, np.nan_to_num(rows.accuracy(scores)))


def _r_squared(scores: Floats, given: Given) -> float:
    return float(r2_score(given["y"], scores, sample_weight=given.get("sample_weight")))


def check_averaged(average: str, items: LabelledItems) -> None:
    """Refuse means over queries where there are none."""
    if average == "queries" and items.query is None:
        why = "there are no queries to average over"
        raise OptionError("average", average, ["'pairs'", "queries= beside it"], why)


def query_codes(queries: NDArray[Any] | None) -> NDArray[np.int64] | None:
    """Return the number of each item's query; None where there are no queries."""
    if queries is None:
        return None
    return group_codes(queries, "queries", "item", several=False)[0]
