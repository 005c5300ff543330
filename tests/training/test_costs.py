"""What a goal cost whom: rates against audits, intervals by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from comparity import pairwise_accuracy
from comparity.tables.features import LabelledItems, labelled_items
from comparity.training.costs import ERROR, changes


def world(
    n: int, seed: int, queries: int | None = None
) -> tuple[LabelledItems, np.ndarray, np.ndarray]:
    """Two noisy scores of the same rows; the first leans to one group."""
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, 2, n), rng.normal(size=n)
    shared = y + rng.normal(size=n)
    query = None if queries is None else rng.integers(0, queries, n)
    if query is not None:
        # Rows of a query share an error, which their pairs do not see, and a lean, which they do.
        shared = shared + rng.normal(size=queries)[query] * group
    items = labelled_items(y, y, np.array(["a", "b"])[group], queries=query)
    return items, shared + group, shared + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("queries", "counted"),
    [
        (None, {}),
        (40, {}),
        (40, {"average": "queries"}),
        (None, {"pair_weight": "difference"}),
        (40, {"average": "queries", "pair_weight": "difference"}),
    ],
)
def test_rates_are_those_of_audits(queries: int | None, counted: dict[str, str]) -> None:
    items, before, after = world(400, 0, queries)
    told = {one.what: one for one in changes(items, before, after, predicted=True, **counted)}
    names = np.array(items.groups)[items.group]
    for scores, when in ((before, "before"), (after, "after")):
        audit = pairwise_accuracy(
            items.label, scores, sensitive_features=names, queries=items.query, **counted
        )
        assert getattr(told["all pairs"], when) == pytest.approx(audit.overall)
        assert getattr(told["a > b"], when) == pytest.approx(audit.matrix[0, 1])
        assert getattr(told["b above others"], when) == pytest.approx(audit.row_marginals[1])
        error = np.mean((scores - items.label) ** 2)
        assert getattr(told[ERROR], when) == pytest.approx(error)


@pytest.mark.long
@pytest.mark.parametrize("queries", [None, 60])
def test_intervals_hold_the_truth_as_often_as_they_say(queries: int | None) -> None:
    """120 draws of 300 rows; the truth is the mean of 20 draws of 3,000 with as large queries."""
    large = None if queries is None else 10 * queries
    truth = np.mean(
        [[c.change for c in changes_only(*world(3000, 10_000 + s, large))] for s in range(20)],
        axis=0,
    )
    held = []
    for seed in range(120):
        found = changes(*world(300, seed, queries), predicted=True)
        held.append([one.low <= t <= one.high for one, t in zip(found, truth, strict=True)])
    covered = np.sum(held, axis=0)
    low, high = binom.interval(0.9999, 120, 0.95)
    assert covered.min() >= low - 3
    assert covered.max() <= high


def changes_only(items: LabelledItems, before: np.ndarray, after: np.ndarray) -> tuple:
    """Deal rows into a single pair of parts: only the changes themselves are wanted."""
    from comparity.training import costs

    many, costs.PARTS = costs.PARTS, 2
    try:
        return changes(items, before, after, predicted=True)
    finally:
        costs.PARTS = many


def test_equal_scores_change_nothing() -> None:
    items, before, _ = world(100, 0)
    for one in changes(items, before, before, predicted=False):
        assert (one.change, one.low, one.high) == (0, 0, 0)


def test_a_number_in_place_of_groups_has_two_kinds_of_pairs() -> None:
    rng = np.random.default_rng(0)
    y, age = rng.normal(size=200), rng.normal(size=200)
    items = labelled_items(y, y, age, continuous=True)
    found = changes(items, y + age, y + rng.normal(size=200), predicted=False)
    assert [one.what for one in found] == ["all pairs", "larger > smaller", "smaller > larger"]
