"""Weights that balance labels within groups: by the equation that defines them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity import FairRanker, pairwise_accuracy
from comparity.errors import LabelAbsentError, NonBinaryError, OneGroupError, UnknownGroupError
from comparity.training.weigh import debiasing_weights
from tests.training.simulated import ranking

tables = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=4)


@given(tables, st.data())
def test_every_group_gets_the_proportion_of_the_reference(table, data) -> None:
    group = np.concatenate([[f"g{i}"] * (no + yes) for i, (no, yes) in enumerate(table)])
    y = np.concatenate([[0] * no + [1] * yes for no, yes in table])
    place = data.draw(st.integers(0, len(table) - 1))
    weights = debiasing_weights(y, sensitive_features=group, reference=f"g{place}")
    assert (weights[y == 1] == 1).all()
    for name in set(group):
        ratio = weights[(group == name) & (y == 0)].sum() / ((group == name) & (y == 1)).sum()
        assert ratio == pytest.approx(table[place][0] / table[place][1])


def test_the_largest_group_is_the_reference() -> None:
    weights = debiasing_weights([1, 0, 0, 1, 0], sensitive_features=list("bbbaa"))
    assert weights.tolist() == [1, 1, 1, 1, 2]


def test_where_labels_are_balanced_already_nothing_changes() -> None:
    """Table 1 of Narasimhan et al.: debiased and unconstrained are the same on simulated data."""
    X, y, group, query = ranking(300, np.random.default_rng(0))
    weights = debiasing_weights(y, sensitive_features=group)
    choices = {"goal": None, "steps": 100, "random_state": 0}
    free = FairRanker(**choices).fit(X, y, queries=query)
    debiased = FairRanker(**choices).fit(X, y, queries=query, sample_weight=weights)
    for model in (free, debiased):
        found = pairwise_accuracy(y, model.predict(X), sensitive_features=group, queries=query)
        assert found.overall == pytest.approx(0.92, abs=0.03)
        assert found.matrix[0, 1] - found.matrix[1, 0] == pytest.approx(0.25, abs=0.1)


def test_bad_input_is_named() -> None:
    with pytest.raises(LabelAbsentError, match="no row with label '0' in 'b'"):
        debiasing_weights([1, 0, 1], sensitive_features=list("aab"))
    with pytest.raises(LabelAbsentError, match="no row with label '1' in 'a', 'b'"):
        debiasing_weights([0, 0, 0], sensitive_features=list("aab"))
    with pytest.raises(UnknownGroupError, match="'c'"):
        debiasing_weights([1, 0, 1, 0], sensitive_features=list("aabb"), reference="c")
    with pytest.raises(NonBinaryError):
        debiasing_weights([1, 2, 0, 1], sensitive_features=list("aabb"))
    with pytest.raises(OneGroupError):
        debiasing_weights([1, 0], sensitive_features=list("aa"))
