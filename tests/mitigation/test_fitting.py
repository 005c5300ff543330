"""What is done before training: units of features, rows that cannot be trained on."""

from __future__ import annotations

import numpy as np
import pytest

from comparity import FairRanker
from comparity.counting.labelled import labelled_items
from comparity.errors import EmptyCellError
from comparity.mitigation.choices import choices_of
from comparity.mitigation.fitting import prepared
from tests.mitigation.interaction import interaction


@pytest.mark.parametrize("unit", [1e-90, 1e-20, 1e20])
def test_a_feature_counts_alike_in_any_unit(unit: float) -> None:
    X, y, group = interaction(400, seed=0)
    shared = {"steps": 40, "slack": 0.5, "random_state": 0}
    coefficients = FairRanker(**shared).fit(X, y, group).coef_
    scaled = FairRanker(**shared).fit(X * [1, 1, unit], y, group).coef_
    assert scaled * [1, 1, unit] == pytest.approx(coefficients, rel=1e-6)


def test_a_constant_feature_counts_for_nothing() -> None:
    X, y, group = interaction(400, seed=0)
    X[:, 2] = 1e9 + 1e-7
    coefficients = FairRanker(steps=40, slack=0.5, random_state=0).fit(X, y, group).coef_
    assert np.ptp(X @ coefficients - X[:, :2] @ coefficients[:2]) == pytest.approx(0, abs=1e-6)


class Drawn:
    """What draws, told the query to hold out."""

    def __init__(self, query: int) -> None:
        self.query = query

    def uniform(self, size: int) -> np.ndarray:
        return (np.arange(size) != self.query).astype(float)

    def randint(self, high: int) -> int:
        return 0


@pytest.mark.parametrize(("held", "named"), [(0, "training"), (1, "held out")])
def test_a_kind_of_pair_that_either_part_lacks_is_refused(held: int, named: str) -> None:
    """In the second of two queries nobody of group 1 is better than anybody."""
    group, query = np.arange(40) % 2, np.repeat([0, 1], 20)
    y = np.arange(40) // 2 % 2 * ((group == 0) | (query == 0))
    items = labelled_items(y, y, group, queries=query)
    with pytest.raises(EmptyCellError, match=f"do not occur in the {named} rows"):
        prepared(
            np.zeros((40, 1)),
            items,
            choices_of(),
            predicted=False,
            fraction=0.5,
            rng=Drawn(held),
        )
