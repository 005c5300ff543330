"""Exposure programs: against a linear program over all rankings, and matrices put together."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from comparity import exposure
from comparity.errors import (
    EmptyTableError,
    ExposureInfeasibleError,
    NoUtilityError,
    OneGroupError,
    OptionError,
    OutOfRangeError,
)
from comparity.training.exposure_program import CRITERIA, birkhoff, exposure_program, rerank
from tests.training.simulated import ranking


def by_listing(u: np.ndarray, z: np.ndarray, criterion: str, slack: float) -> float:
    """Return the best utility over mixtures of all rankings: an unknown for each of them."""
    n, groups = len(u), np.unique(z)
    seen = []
    for order in permutations(range(n)):
        worth = np.empty(n)
        worth[list(order)] = 1 / np.log2(np.arange(n) + 2)
        seen.append(worth)
    seen = np.array(seen)
    terms = []
    for g in groups:
        clicks = u if criterion == "disparate impact" else np.ones(n)
        scale = 1.0 if criterion == "demographic parity" else u[z == g].mean()
        terms.append((seen * clicks)[:, z == g].mean(axis=1) / scale)
    apart = [terms[i] - terms[j] for i in range(len(terms)) for j in range(len(terms)) if i != j]
    limits, right = np.array(apart), np.full(len(apart), slack)
    found = linprog(-seen @ u, limits, right, np.ones((1, len(seen))), [1.0])
    return -found.fun if found.status == 0 else np.nan


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("groups", "slack"), [("aabbb", 0.0), ("ababc", 0.02), ("aaabb", 0.1)])
def test_no_mixture_of_rankings_is_better(criterion: str, groups: str, slack: float) -> None:
    u, z = np.random.default_rng(len(criterion)).uniform(0.3, 0.8, 5), np.array(list(groups))
    best = by_listing(u, z, criterion, slack)
    if np.isnan(best):
        with pytest.raises(ExposureInfeasibleError):
            exposure_program(u, sensitive_features=z, criterion=criterion, slack=slack)
        return
    policy = exposure_program(u, sensitive_features=z, criterion=criterion, slack=slack)
    assert policy.utility == pytest.approx(best, abs=1e-7)
    assert policy.difference <= slack + 1e-7


@pytest.mark.parametrize("criterion", CRITERIA[1:])
@pytest.mark.parametrize("seed", range(4))
def test_no_mixture_is_better_where_relevances_are_negative(criterion: str, seed: int) -> None:
    u, z = np.random.default_rng(seed).normal(-0.5, 1, 5), np.array(list("aaabb"))
    options = {"sensitive_features": z, "criterion": criterion, "signed": True}
    policy = exposure_program(u, slack=None, **options)
    assert policy.utility == pytest.approx(by_listing(u, z, criterion, policy.slack), abs=1e-6)
    wider = exposure_program(u, slack=policy.slack + 0.3, **options)
    assert wider.utility == pytest.approx(by_listing(u, z, criterion, wider.slack), abs=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6, 1e20])
def test_the_unit_of_relevances_does_not_matter(criterion: str, unit: float) -> None:
    """Exposure over relevance is as much smaller as relevances are larger, and so is its slack."""
    u, z = np.array([0.8, 0.7, 0.6, 0.3, 0.5]), np.array(list("aabbb"))
    terms = 1 / unit if criterion == "disparate treatment" else 1.0
    policy = exposure_program(
        u * unit, sensitive_features=z, criterion=criterion, slack=0.1 * terms
    )
    assert policy.utility / unit == pytest.approx(by_listing(u, z, criterion, 0.1))
    assert policy.difference / terms <= 0.1 + 1e-7
    least = exposure_program(u * unit, sensitive_features=z, criterion=criterion, slack=None)
    assert least.slack / terms == pytest.approx(0, abs=1e-7)


def test_a_group_with_next_to_no_relevance_goes_last() -> None:
    policy = exposure_program([0.9, 0.8, 1e-15], sensitive_features=list("aab"), slack=None)
    assert policy.rankings.tolist() == [[0, 1, 2]]


def test_what_groups_see_is_the_mean_over_the_rankings_drawn() -> None:
    u, z = np.array([0.9, 0.5, 0.4, 0.3, 0.8]), list("aabbb")
    policy = exposure_program(u, sensitive_features=z, criterion="demographic parity")
    means = {"a": 0.0, "b": 0.0}
    for order, share in zip(policy.rankings, policy.probabilities, strict=True):
        found = exposure(-np.argsort(order).astype(float), sensitive_features=z).means
        means = {name: means[name] + share * found[name] for name in means}
    assert policy.exposure == pytest.approx(means)
    assert means["a"] == pytest.approx(means["b"])
    drawn = [tuple(policy.draw(seed)) for seed in range(200)]
    assert set(drawn) <= set(map(tuple, policy.rankings))


def test_without_a_limit_items_stand_by_relevance() -> None:
    u = np.array([0.1, 0.9, 0.5, 0.7])
    policy = exposure_program(u, sensitive_features=list("abab"), slack=100.0)
    assert policy.rankings.tolist() == [np.argsort(-u).tolist()]
    assert policy.utility == pytest.approx(policy.best_utility)
    assert policy.best_utility == pytest.approx(np.sort(u)[::-1] @ (1 / np.log2([2, 3, 4, 5])))


def test_the_least_slack_is_the_one_where_it_becomes_feasible() -> None:
    u, z = np.array([0.99, 0.98, 0.02, 0.01]), np.array(list("aabb"))
    policy = exposure_program(u, sensitive_features=z, slack=None)
    least = policy.difference
    assert np.isnan(by_listing(u, z, "disparate treatment", least - 1e-4))
    assert not np.isnan(by_listing(u, z, "disparate treatment", least + 1e-4))
    with pytest.raises(ExposureInfeasibleError, match="least difference") as told:
        exposure_program(u, sensitive_features=z, slack=0.0)
    assert told.value.least == pytest.approx(least, abs=1e-6)


@given(st.lists(st.permutations(range(5)), min_size=1, max_size=6), st.randoms())
def test_a_matrix_is_put_together_again(orders, random) -> None:
    shares = np.array([random.uniform(0.05, 1) for _ in orders])
    matrix = np.zeros((5, 5))
    for order, share in zip(orders, shares / shares.sum(), strict=True):
        matrix[order, range(5)] += share
    rankings, found = birkhoff(matrix)
    again = np.zeros((5, 5))
    for order, share in zip(rankings, found, strict=True):
        again[order, range(5)] += share
    assert again == pytest.approx(matrix, abs=1e-6)
    assert len(found) <= (5 - 1) ** 2 + 1


def test_queries_are_ranked_one_by_one() -> None:
    X, _, group, query = ranking(20, np.random.default_rng(0))
    relevance = 1 / (1 + np.exp(-X[:, 0]))
    ranked = rerank(relevance, sensitive_features=group, queries=query, rng=1)
    assert (ranked == rerank(relevance, sensitive_features=group, queries=query, rng=1)).all()
    for one in range(20):
        rows = query == one
        order = np.argsort(-ranked[rows])
        possible = [np.argsort(-relevance[rows]).tolist()]
        if np.ptp(group[rows]):
            possible = exposure_program(
                relevance[rows], sensitive_features=group[rows], slack=None
            ).rankings.tolist()
        assert order.tolist() in possible
        assert sorted(-ranked[rows]) == list(range(1, 12))


def test_a_policy_prints_and_tells() -> None:
    policy = exposure_program([0.9, 0.1], sensitive_features=["[b]x", "y"], slack=None)
    assert "mixture of" in str(policy)
    assert "[b]x" in str(policy)
    assert policy.to_dict()["criterion"] == "disparate treatment"
    assert policy.to_frame("pandas")["group"].tolist() == ["[b]x", "y"]
    assert "<table" in policy._repr_html_()


def test_bad_input_is_named() -> None:
    with pytest.raises(NoUtilityError, match="utility 0 in 'b'"):
        exposure_program([1.0, 0.0], sensitive_features=["a", "b"])
    with pytest.raises(NoUtilityError, match="1 row"):
        exposure_program([1.0, -0.5], sensitive_features=["a", "b"])
    with pytest.raises(OptionError, match="criterion"):
        exposure_program([1.0, 0.5], sensitive_features=["a", "b"], criterion="parity")
    with pytest.raises(OptionError, match="slack"):
        exposure_program([1.0, 0.5], sensitive_features=["a", "b"], slack=-1)
    with pytest.raises(OptionError, match="slack"):
        exposure_program([1.0, 0.5], sensitive_features=["a", "b"], slack="none")
    with pytest.raises(OutOfRangeError, match="relevance"):
        exposure_program([1e31, 0.5], sensitive_features=["a", "b"])
    with pytest.raises(OneGroupError):
        exposure_program([1.0, 0.5], sensitive_features=["a", "a"])
    with pytest.raises(EmptyTableError):
        exposure_program([], sensitive_features=[])
