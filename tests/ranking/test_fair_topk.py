"""Witnesses: published tables of FA*IR, and brute force over all rankings.

Zehlike et al. (2017) print a table of the numbers of protected items required at alpha 0.1. The
tests of the authors' library (fair-search/fairsearch-fair-python, tests/test_fair.py) state
unadjusted and adjusted tables, adjusted levels and failure probabilities; their adjustment takes
the failure probability closest to alpha, which may lie above it.
"""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from comparity import fair_topk
from comparity.errors import (
    LengthMismatchError,
    NonFiniteScoreError,
    OneGroupError,
    OptionError,
    UnknownGroupError,
)
from comparity.ranking.fair_topk import FairTopK, failure_probability, required_protected

LIBRARY = [
    # k, p, alpha, adjusted table, its failure probability
    (10, 0.2, 0.15, [0] * 8 + [1, 1], 0.13421772800000065),
    (20, 0.25, 0.1, [0] * 8 + [1] * 7 + [2] * 5, 0.10515247355215251),
    (30, 0.3, 0.05, [0] * 10 + [1] * 6 + [2] * 5 + [3] * 4 + [4] * 5, 0.04877730797178359),
]


def adjusted(k: int, p: float, alpha: float, correction: str = "at most") -> FairTopK:
    """Rank 2k items of which the better half is not protected."""
    return fair_topk(
        np.arange(2 * k)[::-1],
        sensitive_features=["m"] * k + ["f"] * k,
        protected="f",
        k=k,
        p=p,
        alpha=alpha,
        correction=correction,
    )


def test_the_table_of_one_half_is_the_published_one() -> None:
    """Zehlike et al. (2017), Table 2, row p = 0.5."""
    assert required_protected(10, 0.5, 0.1).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(7, 10)])
@pytest.mark.parametrize("alpha", [Fraction(1, 10), Fraction(1, 8), Fraction(1, 4)])
def test_required_numbers_follow_from_exact_sums(p: Fraction, alpha: Fraction) -> None:
    for i, found in enumerate(required_protected(25, float(p), float(alpha)).tolist(), start=1):
        mass = [comb(i, x) * p**x * (1 - p) ** (i - x) for x in range(i + 1)]
        assert found == next(x for x in range(i + 1) if sum(mass[: x + 1]) > alpha)


@pytest.mark.parametrize(
    ("k", "p", "alpha", "table"),
    [
        (10, 0.2, 0.15, [0] * 8 + [1, 1]),
        (20, 0.25, 0.1, [0] * 8 + [1] * 6 + [2] * 5 + [3]),
        (30, 0.3, 0.05, [0] * 8 + [1] * 5 + [2] * 5 + [3] * 5 + [4] * 4 + [5] * 3),
    ],
)
def test_unadjusted_tables_are_those_of_the_authors_library(
    k: int, p: float, alpha: float, table: list[int]
) -> None:
    found = adjusted(k, p, alpha, "none")
    assert found.table.tolist() == table
    assert found.adjusted_alpha == alpha


@pytest.mark.parametrize(("k", "p", "alpha", "table", "failure"), LIBRARY)
def test_adjusted_tables_are_those_of_the_authors_library(
    k: int, p: float, alpha: float, table: list[int], failure: float
) -> None:
    found = adjusted(k, p, alpha, "closest")
    assert found.table.tolist() == table
    assert found.failure_probability == pytest.approx(failure, abs=1e-12)


def test_the_adjusted_level_of_the_authors_library_gives_the_same_table() -> None:
    found = adjusted(20, 0.25, 0.1, "closest")
    assert found.table.tolist() == required_protected(20, 0.25, 0.078125).tolist()


def test_the_search_of_the_authors_library_may_stop_before_the_closest_level() -> None:
    """Their tests state 0.0796875 for k = 30, p = 0.3, alpha = 0.15."""
    theirs = failure_probability(required_protected(30, 0.3, 0.0796875), 0.3)
    ours = adjusted(30, 0.3, 0.15, "closest").failure_probability
    assert abs(ours - 0.15) < abs(theirs - 0.15)


@given(st.integers(1, 9), st.floats(0.05, 0.95), st.floats(0.01, 0.5))
def test_the_failure_probability_is_that_of_all_rankings(k: int, p: float, alpha: float) -> None:
    table = required_protected(k, p, alpha)
    failed = 0.0
    for ranking in product([0, 1], repeat=k):
        if (np.cumsum(ranking) < table).any():
            failed += float(np.prod([p if place else 1 - p for place in ranking]))
    assert failure_probability(table, p) == pytest.approx(failed, abs=1e-12)


@given(st.integers(1, 8), st.floats(0.05, 0.95), st.floats(0.01, 0.5))
def test_no_larger_level_would_keep_alpha(k: int, p: float, alpha: float) -> None:
    found = adjusted(k, p, alpha)
    assert found.failure_probability <= alpha
    levels = {binom.cdf(x, i, p) for i in range(1, k + 1) for x in range(i + 1)}
    larger = [level for level in (*levels, alpha) if found.adjusted_alpha < level <= alpha]
    tables = [required_protected(k, p, level) for level in larger]
    other = [table for table in tables if table.tolist() != found.table.tolist()]
    assert all(failure_probability(table, p) > alpha for table in other)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=4, max_size=12).filter(
        lambda rows: 0 < sum(flag for _, flag in rows) < len(rows)
    ),
    st.floats(0.2, 0.8),
    st.data(),
)
def test_each_place_has_the_best_item_the_table_allows(
    rows: list[tuple[int, bool]], p: float, data: st.DataObject
) -> None:
    scores, flags = zip(*rows, strict=True)
    k = data.draw(st.integers(1, len(rows)))
    found = fair_topk(scores, sensitive_features=flags, protected=True, k=k, p=p, correction="none")
    left = sorted(range(len(rows)), key=lambda item: -scores[item])
    held = 0
    for place, item in enumerate(found.ranking):
        forced = held < found.table[place] and any(flags[other] for other in left)
        allowed = [other for other in left if flags[other]] if forced else left
        assert item == allowed[0]
        left.remove(item)
        held += flags[item]
    assert found.satisfied == (np.cumsum(found.protected) >= found.table).all()


def test_a_ranking_that_passes_is_left_alone() -> None:
    found = fair_topk(
        [4, 3, 2, 1], sensitive_features=list("fmfm"), protected="f", k=4, p=0.5, alpha=0.1
    )
    assert found.passed
    assert found.failed_at is None
    assert found.ranking.tolist() == [0, 1, 2, 3]


def test_a_group_that_is_too_small_is_reported() -> None:
    groups = ["m"] * 19 + ["f"]
    found = fair_topk(np.arange(20), sensitive_features=groups, protected="f", k=20, p=0.5)
    assert not found.satisfied
    assert sorted(found.ranking) == list(range(20))
    assert "too small" in str(found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 5}, "there are 4 items"),
        ({"k": 0}, "whole number"),
        ({"k": 1.5}, "whole number"),
        ({"p": 0.0}, "p cannot be 0.0"),
        ({"p": 1.0}, "p cannot be 1.0"),
        ({"alpha": 1.2}, "alpha cannot be 1.2"),
        ({"correction": "bonferroni"}, "correction"),
    ],
)
def test_impossible_options_are_refused(change: dict[str, object], words: str) -> None:
    options = {"k": 2, "p": 0.5, "alpha": 0.1, "protected": "f"} | change
    with pytest.raises(OptionError, match=words):
        fair_topk([4, 3, 2, 1], sensitive_features=list("fmfm"), **options)


def test_broken_columns_are_named() -> None:
    with pytest.raises(OneGroupError):
        fair_topk([2, 1], sensitive_features=["f", "f"], protected="f", k=1, p=0.5)
    with pytest.raises(UnknownGroupError, match="'F'"):
        fair_topk([2, 1], sensitive_features=["f", "m"], protected="F", k=1, p=0.5)
    with pytest.raises(LengthMismatchError):
        fair_topk([2, 1, 0], sensitive_features=["f", "m"], protected="f", k=1, p=0.5)
    with pytest.raises(NonFiniteScoreError):
        fair_topk([2, float("inf")], sensitive_features=["f", "m"], protected="f", k=1, p=0.5)


def test_a_result_prints_and_becomes_data() -> None:
    found = adjusted(25, 0.5, 0.1)
    assert "failed at place" in str(found)
    assert "the first 20 of 25" in str(found)
    assert found.to_dict()["table"] == found.table.tolist()
    frame = found.to_frame("pandas")
    assert (frame["held"] >= frame["needed"]).all()
    assert found.ranks[found.ranking[0]] == 1
    assert np.isnan(found.ranks).sum() == 25
