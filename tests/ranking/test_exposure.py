"""Witnesses: the printed formulas worked out by hand, scipy, and means over all orders of ties.

Singh and Joachims (2018) give a place of rank r the worth 1 / log2(1 + r), the discount of DCG, so
scikit-learn's ``dcg_score`` of a group's membership is its exposure times its size. Ferrara et al.
(2024), section 5.2, add 1 to the logarithm.
"""

from itertools import pairwise, permutations, product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import dcg_score

from comparity import exposure
from comparity.errors import (
    LengthMismatchError,
    MissingValueError,
    OneGroupError,
    OptionError,
    UnknownGroupError,
)
from comparity.ranking.exposure import kendall_tau, place_worth
from comparity.ranking.fair_topk import fair_topk

EXTRA = {"singh-joachims": 0, "ferrara": 1}
GROUPED = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from("ab")), min_size=2, max_size=6
).filter(lambda rows: len({group for _, group in rows}) == 2)


def by_hand(order: list[int], groups: list[str], group: str, extra: int) -> float:
    """The formula for an order of items, best first."""
    worth = [1 / (log2(rank + 1) + extra) for rank in range(1, len(order) + 1)]
    members = [w for item, w in zip(order, worth, strict=True) if groups[item] == group]
    return sum(members) / len(members)


@pytest.mark.parametrize("discount", EXTRA)
def test_the_best_item_has_rank_1(discount: str) -> None:
    found = exposure([0.1, 0.9, 0.5], sensitive_features=["a", "b", "a"], discount=discount)
    expected = by_hand([1, 2, 0], ["a", "b", "a"], "b", EXTRA[discount])
    assert found.means["b"] == pytest.approx(expected)
    assert found.means["b"] > found.means["a"]


@given(GROUPED, st.sampled_from(list(EXTRA)))
def test_ties_have_the_mean_over_all_their_orders(
    rows: list[tuple[int, str]], discount: str
) -> None:
    scores, groups = [score for score, _ in rows], [group for _, group in rows]
    orders = [
        order
        for order in permutations(range(len(rows)))
        if all(scores[i] >= scores[j] for i, j in pairwise(order))
    ]
    found = exposure(scores, sensitive_features=groups, discount=discount)
    for group in "ab":
        each = [by_hand(list(order), groups, group, EXTRA[discount]) for order in orders]
        assert found.means[group] == pytest.approx(np.mean(each))
    assert found.tied == sum(scores.count(score) > 1 for score in scores)


def test_the_discount_of_singh_and_joachims_is_that_of_dcg() -> None:
    rng = np.random.default_rng(3)
    scores, groups = rng.normal(size=40), rng.choice(["a", "b", "c"], 40)
    found = exposure(scores, sensitive_features=groups)
    for group in "abc":
        total = dcg_score([(groups == group).astype(float)], [scores])
        assert found.means[group] * found.n_items[group] == pytest.approx(total)


def test_gap_and_ratio_are_those_of_the_means() -> None:
    found = exposure([3, 2, 1, 0], sensitive_features=["a", "b", "c", "a"])
    a, b, c = (found.means[group] for group in "abc")
    assert found.gap("b", "a") == pytest.approx(b - a)
    assert found.ratio("b", "a") == pytest.approx(b / a)
    assert found.largest_gap == pytest.approx(max(a, b, c) - min(a, b, c))
    assert found.smallest_ratio == pytest.approx(min(a, b, c) / max(a, b, c))


@given(st.permutations(range(7)))
def test_swapping_the_groups_turns_the_gap_round(order: list[int]) -> None:
    groups = np.array(list("aabbabb"))
    scores = np.array(order, dtype=float)
    turned = np.where(groups == "a", "b", "a")
    one = exposure(scores, sensitive_features=groups).gap()
    assert exposure(scores, sensitive_features=turned).gap() == pytest.approx(-one)


def test_items_left_out_of_a_top_k_are_not_seen() -> None:
    chosen = fair_topk(
        [4, 3, 2, 1], sensitive_features=list("aabb"), protected="b", k=2, p=0.3, alpha=0.1
    )
    found = exposure(chosen, sensitive_features=list("aabb"))
    assert found.means == {"a": pytest.approx((1 + 1 / log2(3)) / 2), "b": 0.0}
    assert found.unranked == 2
    assert np.isnan(found.ratio("a", "b"))


@pytest.mark.parametrize(("first", "second"), list(product([[1, 2, 3, 4], [1, 1, 2, 3]], repeat=2)))
def test_kendalls_tau_b_is_scipys(first: list[int], second: list[int]) -> None:
    turned = second[::-1]
    assert kendall_tau(first, turned) == pytest.approx(kendalltau(first, turned).statistic)


def test_tau_of_a_constant_score_does_not_exist() -> None:
    assert np.isnan(kendall_tau([1, 1, 1], [1, 2, 3]))
    assert np.isnan(kendall_tau([1], [1]))


def test_bad_input_is_named() -> None:
    with pytest.raises(OneGroupError, match="at least two groups"):
        exposure([1, 2], sensitive_features=["a", "a"])
    with pytest.raises(LengthMismatchError):
        exposure([1, 2, 3], sensitive_features=["a", "b"])
    with pytest.raises(MissingValueError):
        exposure([1, float("nan")], sensitive_features=["a", "b"])
    with pytest.raises(OptionError, match="discount"):
        place_worth([1], discount="linear")
    found = exposure([1, 2, 3], sensitive_features=["a", "b", "c"])
    with pytest.raises(OptionError, match="3 groups"):
        found.gap()
    with pytest.raises(UnknownGroupError, match="'d'"):
        found.gap("a", "d")


def test_an_exposure_prints_and_becomes_data_and_a_picture() -> None:
    found = exposure([3, 2, 2], sensitive_features=["a", "b", "a"], discount="ferrara")
    assert "log2(rank + 1) + 1" in str(found)
    assert "2 tied items" in str(found)
    assert found.to_dict()["means"] == dict(found.means)
    assert list(found.to_frame("pandas")["group"]) == ["a", "b"]
    assert [float(line.get_xdata()[-1]) for line in found.plot().lines[1::2]] == list(
        found.means.values()
    )
    assert "Mean exposure" in found._repr_html_()


@pytest.mark.parametrize(("one", "other"), [(0, 1), ("0", "1"), (np.int64(0), np.int64(1))])
def test_groups_that_are_numbers_are_named_by_numbers_or_their_text(
    one: object, other: object
) -> None:
    found = exposure([3.0, 2.0, 1.0], sensitive_features=[0, 1, 0])
    expected = (1 + 1 / log2(4)) / 2 - 1 / log2(3)
    assert found.gap(one, other) == pytest.approx(expected)
    assert found.ratio(one, other) == pytest.approx((1 + 1 / log2(4)) / 2 * log2(3))
    with pytest.raises(UnknownGroupError, match="'2'"):
        found.gap(one, 2)
