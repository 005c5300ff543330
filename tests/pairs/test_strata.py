"""Kinds of pairs, how many of each, and pairs that use items evenly, against plain definitions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from comparity.pairs.strata import (
    PairKind,
    allocate,
    draw_even_pairs,
    even_items,
    kinds_of,
    neyman_shares,
    pair_keys,
)


@given(st.integers(2, 40))
def test_places_of_pairs_within_a_group_are_all_its_pairs(n: int) -> None:
    items = np.arange(100, 100 + n)
    kind = PairKind(name="f and f", first=items, second=items)
    first, second = kind.pair_at(np.arange(kind.n_pairs))
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == set(
        combinations(items.tolist(), 2)
    )


@pytest.mark.parametrize("n", [10**5, 3_000_000])
def test_the_last_pairs_of_large_groups_are_found_exactly(n: int) -> None:
    items = np.arange(n)
    kind = PairKind(name="f and f", first=items, second=items)
    places = kind.n_pairs - np.arange(1, 4)
    first, second = kind.pair_at(places)
    assert second.tolist() == [n - 1] * 3
    assert first.tolist() == [n - 2, n - 3, n - 4]


def test_pairs_of_two_groups_are_all_pairs_of_both() -> None:
    kind = kinds_of(np.array([0, 1, 0, 1, 1]), ["f", "m"], "across")[0]
    first, second = kind.pair_at(np.arange(kind.n_pairs))
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == {
        (i, j) for i in (0, 2) for j in (1, 3, 4)
    }


def test_kinds_are_those_that_hypotheses_are_about() -> None:
    group = np.array([0, 0, 1, 1, 2])
    kinds = {
        which: [kind.name for kind in kinds_of(group, ["a", "b", "c"], which)]
        for which in ("all", "across", "within")
    }
    assert kinds["across"] == ["a and b", "a and c", "b and c"]
    # One item of c makes no pair.
    assert kinds["within"] == ["a and a", "b and b"]
    assert sorted(kinds["all"]) == sorted(kinds["across"] + kinds["within"])


def test_shares_minimise_the_sum_of_variances() -> None:
    """Neyman's closed form against a numerical search over all shares."""
    agreed = [np.array([450.0]), np.array([300.0, 120.0]), np.array([260.0])]
    judged = [np.array([500.0]), np.array([350.0, 250.0]), np.array([500.0])]
    rates = [(a + 1) / (n + 2) for a, n in zip(agreed, judged, strict=True)]
    parts = [(n + 1) / (n + 1).sum() for n in judged]

    def variance(logits: np.ndarray) -> float:
        shares = np.exp(logits) / np.exp(logits).sum()
        return sum(
            float((r * (1 - r) / (share * p)).sum())
            for r, p, share in zip(rates, parts, shares, strict=True)
        )

    best = minimize(variance, np.zeros(3), tol=1e-12).x
    assert neyman_shares(agreed, judged) == pytest.approx(
        np.exp(best) / np.exp(best).sum(), abs=1e-5
    )


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 50)), min_size=1, max_size=6),
    st.integers(1, 200),
)
def test_allocation_spends_the_budget_and_no_kind_gets_less_than_nothing(
    kinds: list[tuple[int, int]], budget: int
) -> None:
    shares = np.array([share for share, _ in kinds], dtype=float)
    asked = allocate(shares / shares.sum(), np.array([old for _, old in kinds]), budget)
    assert asked.sum() == budget
    assert (asked >= 0).all()


def test_allocation_reaches_the_shares_where_it_can() -> None:
    given = np.array([10, 70, 20])
    asked = allocate(np.array([0.2, 0.5, 0.3]), given, 100)
    assert (given + asked).tolist() == [40, 100, 60]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 60), st.integers(0, 9))
def test_items_are_drawn_as_evenly_as_can_be(uses: list[int], n: int, seed: int) -> None:
    drawn = even_items(np.array(uses), n, np.random.default_rng(seed))
    after = np.array(uses) + np.bincount(drawn, minlength=len(uses))
    assert len(drawn) == n
    # Whoever was drawn is not used more than anybody by two or more.
    assert all(after[item] <= after.min() + 1 for item in set(drawn.tolist()))


@pytest.mark.parametrize("which", ["within", "across"])
def test_drawn_pairs_differ_and_leave_out_what_was_seen(which: str) -> None:
    rng = np.random.default_rng(3)
    kind = kinds_of(np.arange(40) % 2, ["f", "m"], which)[0]
    uses = np.zeros(40, dtype=np.int64)
    old = draw_even_pairs(kind, 60, uses, np.zeros(0, np.int64), rng)
    seen = pair_keys(*old, 40)
    first, second = draw_even_pairs(kind, 60, uses, seen, rng)
    keys = pair_keys(first, second, 40)
    assert (first != second).all()
    assert len(set(keys.tolist())) == 60
    assert not set(keys.tolist()) & set(seen.tolist())
    used = np.bincount(np.concatenate([first, second]), minlength=40)
    members = kind.first if which == "within" else np.arange(40)
    assert np.ptp(used[members]) <= 1


def test_pairs_of_a_kind_are_equally_likely() -> None:
    """A chi-squared test over all 15 pairs of six items, 3,000 draws of three pairs."""
    rng = np.random.default_rng(11)
    items = np.arange(6)
    kind = PairKind(name="f and f", first=items, second=items)
    counts = np.zeros(36)
    none, uses = np.zeros(0, np.int64), np.zeros(6, np.int64)
    for _ in range(3000):
        np.add.at(counts, pair_keys(*draw_even_pairs(kind, 3, uses, none, rng), 6), 1)
    found = counts[counts > 0]
    assert len(found) == 15
    # Disjoint pairs of one draw make the sum smaller than for single pairs, never larger.
    assert ((found - 600) ** 2 / 600).sum() < 36.1  # 0.999 quantile, 14 degrees of freedom
