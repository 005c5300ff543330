"""Consistency and agreement against the definition, and what holds of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from comparity.tasks.answers import Floats, Orders, TaskAnswers
from comparity.tasks.concordance import agreement, consistency
from tests.plain import concordance as plain

N_ITEMS = 5
rows = st.tuples(
    st.integers(0, 3), st.integers(0, 3), st.integers(1, 4), st.integers(-1, 1)
).filter(lambda row: row[1] < row[2])
tables = st.lists(rows, min_size=3, max_size=25, unique_by=lambda row: row[:3])


def answers(orders: list[plain.Order], again: list[plain.Order] | None = None) -> TaskAnswers:
    kept, twice = (
        Orders(**dict(zip(("judge", "low", "high", "order"), np.array(one).T, strict=True)))
        for one in (orders, again or orders)
    )
    return TaskAnswers(
        judges=("a", "b", "c", "d"),
        orders=kept,
        again=twice,
        n_first=np.zeros(4, dtype=np.int64),
        timed=np.zeros(0, dtype=np.int64),
        seconds=np.zeros(0),
        n_answers=len(orders),
        n_pauses=0,
        n_untimed=0,
    )


def weights_of(orders: list[plain.Order]) -> Floats:
    """Return weights that depend on the pair alone."""
    return np.array([1.0 + (3 * low + high) % 4 for _, low, high, _ in orders])


@given(tables)
def test_agreement_is_that_of_all_answers_beside_each_other(orders: list[plain.Order]) -> None:
    weights = weights_of(orders)
    met = plain.between_judges(orders, weights.tolist())
    found = agreement(answers(orders), weights, N_ITEMS)
    assert found.n == len(met)
    if not met:
        assert np.isnan(found.value)
        return
    assert found.value == pytest.approx(plain.mean(met))
    judges = sorted(set().union(*(one[0] for one in met)))
    assert found.judges.tolist() == judges
    means = [plain.mean([one for one in met if judge in one[0]]) for judge in judges]
    assert found.by_judge == pytest.approx(means)


@given(tables)
def test_its_variance_is_the_jackknife_and_what_shares_items(orders: list[plain.Order]) -> None:
    weights = weights_of(orders)
    met = plain.between_judges(orders, weights.tolist())
    judges = set().union(*(one[0] for one in met))
    # Without any one judge some pairs must be left.
    assume(all(any(judge not in one[0] for one in met) for judge in judges) and met)
    found = agreement(answers(orders), weights, N_ITEMS)
    of_judges = plain.judge_variance(met)
    assert found.judge_variance == pytest.approx(of_judges, abs=1e-12)
    expected = of_judges + max(plain.item_covariance(met), 0.0)
    assert found.variance == pytest.approx(expected, abs=1e-12)


@given(tables)
def test_consistency_is_the_mean_over_pairs_seen_twice(products: list[plain.Order]) -> None:
    weights = weights_of(products)
    met = [
        (frozenset((who,)), frozenset((low, high)), (1 + product) / 2, weight)
        for (who, low, high, product), weight in zip(products, weights.tolist(), strict=True)
    ]
    found = consistency(answers(products), weights, N_ITEMS)
    assert found.value == pytest.approx(plain.mean(met))
    assume(len({one[0] for one in met}) > 1)
    of_judges = plain.judge_variance(met)
    assert found.judge_variance == pytest.approx(of_judges, abs=1e-12)
    expected = of_judges + max(plain.item_covariance(met), 0.0)
    assert found.variance == pytest.approx(expected, abs=1e-12)


def test_ties_alone_are_worth_a_coin() -> None:
    tied = [(judge, 0, 1, 0) for judge in range(4)]
    assert agreement(answers(tied), None, N_ITEMS).value == 0.5
    assert consistency(answers(tied), None, N_ITEMS).value == 0.5
