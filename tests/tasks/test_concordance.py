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
    st.integers(0, 4), st.integers(0, 3), st.integers(1, 4), st.integers(-1, 1)
).filter(lambda row: row[1] < row[2])
tables = st.lists(rows, min_size=3, max_size=30, unique_by=lambda row: row[:3])


def answers(orders: list[plain.Order], again: list[plain.Order] | None = None) -> TaskAnswers:
    kept, twice = (
        Orders(**dict(zip(("judge", "low", "high", "order"), np.array(one).T, strict=True)))
        for one in (orders, again or orders)
    )
    return TaskAnswers(
        judges=("a", "b", "c", "d", "e"),
        orders=kept,
        again=twice,
        n_first=np.zeros(5, dtype=np.int64),
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
def test_its_variance_is_that_of_pairs_of_judges(orders: list[plain.Order]) -> None:
    weights = weights_of(orders)
    met = plain.between_judges(orders, weights.tolist())
    judges = set().union(*(one[0] for one in met))
    # Without any one judge some pairs must be left.
    assume(all(any(judge not in one[0] for one in met) for judge in judges))
    pairs = plain.by_two_judges(met) if met else {}
    found = agreement(answers(orders), weights, N_ITEMS)
    if len(pairs) < 5:
        assert np.isnan(found.judge_variance)
        return
    single = sum(e**2 for e in pairs.values())
    jackknife = plain.judge_variance(met) - single
    expected = max(jackknife, single, plain.with_four_imagined(met))
    assert found.judge_variance == pytest.approx(expected, abs=1e-12)
    assert found.variance == pytest.approx(plain.with_items(expected, met), abs=1e-12)


def test_its_degrees_of_freedom_know_how_few_judges_meet() -> None:
    # Judges differ so much that the jackknife decides, and each meets each.
    rng = np.random.default_rng(4)
    quality, noise = rng.normal(size=N_ITEMS), np.linspace(0, 3, 12)
    seen = quality + noise[:, None] * rng.normal(size=(12, N_ITEMS))
    orders = [
        (judge, one, two, int(np.sign(seen[judge, one] - seen[judge, two])))
        for judge in range(12)
        for one in range(N_ITEMS)
        for two in range(one + 1, N_ITEMS)
    ]
    met = plain.between_judges(orders, [1.0] * len(orders))
    found = agreement(answers(orders), None, N_ITEMS)
    single = sum(e**2 for e in plain.by_two_judges(met).values())
    assert found.judge_variance == pytest.approx(plain.judge_variance(met) - single)
    inverse = 1 / 11 + plain.noise_of_judges(met) / (2 * found.judge_variance**2)
    assert found.judge_dof == pytest.approx(1 / inverse)


def test_meetings_that_are_all_alike_do_not_prove_that_others_are() -> None:
    # Six pairs of judges, each about a pair of its own: (6 + 2) of (6 + 4), as Agresti and Coull.
    orders = [(2 * pair + side, pair, pair + 1, 1) for pair in range(6) for side in range(2)]
    found = agreement(answers(orders), None, 7)
    squares = 6 * 0.2**2 + 2 * 0.8**2 + 2 * 0.2**2
    assert found.value == 1
    assert found.judge_variance == pytest.approx(squares / 10 / 6)
    assert found.judge_dof == pytest.approx(11)


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
    assert found.variance == pytest.approx(plain.with_items(of_judges, met), abs=1e-12)


def test_ties_alone_are_worth_a_coin() -> None:
    tied = [(judge, 0, 1, 0) for judge in range(4)]
    assert agreement(answers(tied), None, N_ITEMS).value == 0.5
    assert consistency(answers(tied), None, N_ITEMS).value == 0.5
