"""Matched distributions: closed forms, parity over all pairs, and optimal transport by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, wasserstein_distance

from comparity import pairwise_parity
from comparity.errors import EmptyTableError, OneGroupError, UnknownGroupError
from comparity.training.score_transforms import match_histograms

distinct = st.lists(st.integers(-1000, 1000), min_size=5, max_size=5, unique=True)


@given(distinct, distinct)
def test_of_two_equally_large_groups_the_kth_scores_meet_in_the_middle(a, b) -> None:
    scores, group = np.array([*a, *b], dtype=float), ["a"] * 5 + ["b"] * 5
    matched = match_histograms(scores, sensitive_features=group).transform(
        scores, sensitive_features=group
    )
    middle = (np.sort(a) + np.sort(b)) / 2
    assert np.sort(matched[:5]) == pytest.approx(middle)
    assert np.sort(matched[5:]) == pytest.approx(middle)
    assert (np.argsort(matched[:5]) == np.argsort(a)).all()
    assert (np.argsort(matched[5:]) == np.argsort(b)).all()


def test_normal_scores_become_the_normal_with_mean_parameters() -> None:
    """The barycentre of normal distributions has the mean of means and of standard deviations."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [30_000, 10_000])
    scores = np.where(group == "a", rng.normal(0, 1, 40_000), rng.normal(4, 3, 40_000))
    matching = match_histograms(scores, sensitive_features=group)
    matched = matching.transform(scores, sensitive_features=group)
    for name in "ab":
        one = matched[group == name]
        assert one.mean() == pytest.approx(0.75 * 0 + 0.25 * 4, abs=0.05)
        assert one.std() == pytest.approx(0.75 * 1 + 0.25 * 3, abs=0.05)


def test_new_rows_have_parity_within_chance() -> None:
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b", "c"], 6000, p=[0.6, 0.3, 0.1])
    scores = rng.gamma(2, 1 + (group == "b") + 3 * (group == "c"))
    matching = match_histograms(scores[:3000], sensitive_features=group[:3000])
    matched = matching.transform(scores[3000:], sensitive_features=group[3000:])
    before = {name: scores[3000:][group[3000:] == name] for name in "abc"}
    after = {name: matched[group[3000:] == name] for name in "abc"}
    assert ks_2samp(before["a"], before["c"]).pvalue < 1e-6
    assert ks_2samp(after["a"], after["c"]).pvalue > 1e-3
    parity = pairwise_parity(matched, sensitive_features=group[3000:])
    assert all(test.p_value > 1e-3 for test in parity.tests)


def test_a_target_group_keeps_its_scores_and_the_others_get_its_distribution() -> None:
    rng = np.random.default_rng(2)
    group = np.repeat(["a", "b"], [500, 300])
    scores = rng.normal(size=800) + 2 * (group == "b")
    matching = match_histograms(scores, sensitive_features=group, target="a")
    matched = matching.transform(scores, sensitive_features=group)
    assert matched[group == "a"] == pytest.approx(scores[group == "a"])
    moved = wasserstein_distance(matched[group == "b"], scores[group == "a"])
    assert moved < 0.02 < wasserstein_distance(scores[group == "b"], scores[group == "a"])


def test_equal_scores_stay_equal_and_far_ones_move_with_the_nearest() -> None:
    scores, group = [0.0, 0.0, 1.0, 5.0, 6.0, 7.0], list("aaabbb")
    matching = match_histograms(scores, sensitive_features=group)
    again = matching.transform([0.0, 0.0, -9.0, 1.0, 99.0], sensitive_features=list("aaaaa"))
    assert again[0] == again[1] == again[2]
    assert again[3] == again[4]


def test_bad_input_is_named() -> None:
    matching = match_histograms([1.0, 2.0], sensitive_features=["a", "b"])
    assert matching.to_dict()["shares"] == {"a": 0.5, "b": 0.5}
    with pytest.raises(UnknownGroupError, match="'c'"):
        matching.transform([1.0], sensitive_features=["c"])
    with pytest.raises(UnknownGroupError, match="'c'"):
        match_histograms([1.0, 2.0], sensitive_features=["a", "b"], target="c")
    with pytest.raises(OneGroupError):
        match_histograms([1.0, 2.0], sensitive_features=["a", "a"])
    with pytest.raises(EmptyTableError):
        match_histograms([], sensitive_features=[])
